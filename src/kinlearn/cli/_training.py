"""From a file to what a model learns from: features, tasks and target."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from kinlearn.cli._errors import UserError, listed
from kinlearn.cli._files import Source, as_numbers, as_text
from kinlearn.tables import Suspect, TableEncoder, find_meanings, find_suspects

__all__ = ["Training", "open_features", "open_training", "task_column"]

_MANY_CLASSES = 100
_FEW_NUMBERS = 10
_KINDS = (
    ("number", "number", "numbers"),
    ("yes/no", "yes/no", "yes/no"),
    ("category", "category", "categories"),
    ("date", "date", "dates"),
)
_INTEGER = r"-?(?:0|[1-9]\d{0,17})"


@dataclass(frozen=True, eq=False)
class Training:
    """A table that a model can learn from.

    - `X`: Features that are used, as they came, and the task column last.
    - `y`: Classes (text or integers) or numbers; None where there is no target.
    - `kind`: "classification" or "regression".
    - `kinds`: What the feature columns mean.
    - `task`, `target`: Names of columns; the target may be None.
    - `tasks`: The different tasks.
    - `remarks`: What was decided that a user should know.
    - `suspects`: Columns that may tell a model too much; those that are certain are
      left out.
    - `source`: Where it came from.
    - `target_remark`: What the target was taken for, and why.
    """

    X: pd.DataFrame
    y: np.ndarray | None
    kind: Literal["classification", "regression"] | None
    kinds: list
    task: str
    target: str | None
    tasks: np.ndarray
    remarks: list
    suspects: list[Suspect] = field(default_factory=list)
    source: Source | None = None
    target_remark: str | None = None

    @property
    def suspect_records(self) -> list[dict[str, Any]]:
        """The same as plain data."""
        return [{**s.to_dict(), "left_out": s.certain} for s in self.suspects]

    @property
    def suspicions(self) -> list[str]:
        """A sentence on each that is used."""
        return [suspect.sentence for suspect in self.suspects if not suspect.certain]

    @property
    def classes(self) -> list[Any] | None:
        """The classes as plain values, or None."""
        if self.y is None or self.kind != "classification":
            return None
        return np.unique(self.y).tolist()

    def encoder(self, **settings: Any) -> TableEncoder:
        """What reads X as these columns mean, not fitted."""
        names = [kind["name"] for kind in self.kinds if kind["kind"] == "category"]
        return TableEncoder(self.task, categorical=names, **settings)

    def describe(self) -> str:
        """One line on what there is."""
        used = [kind["kind"] for kind in self.kinds if kind["kind"] != "dropped"]
        counts = [
            f"{used.count(kind)} {one if used.count(kind) == 1 else many}"
            for kind, one, many in _KINDS
            if kind in used
        ]
        return (
            f"{len(self.X)} rows, {len(self.tasks)} tasks ({self.task}), "
            f"{len(used)} column{'s' * (len(used) != 1)} ({', '.join(counts)})"
        )


def open_training(
    source: Source,
    *,
    target: str,
    task: str,
    wanted: Literal["classification", "regression"] | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    categorical: Sequence[str] = (),
) -> Training:
    """Features, tasks and target of a table."""
    source.need(target, "--target")
    source.need(task, "--task")
    if target == task:
        raise UserError(
            f"--target and --task both name {target!r}. The task is the group "
            "of a row, the target what to predict: name two columns."
        )
    frame, remarks = source.frame, []
    present = frame[target].notna()
    if not present.any():
        raise UserError(f"The target {target!r} is missing in every row. Fill it in.")
    if not present.all():
        lost = int((~present).sum())
        remarks.append(f"Rows without a target ({target}) are left out: {lost}.")
        frame = frame[present]
    rest = open_features(
        source, frame, task=task, drop=drop, keep=keep, categorical=categorical,
        aside=(target,),
    )  # fmt: skip
    y, kind, remark = _read_target(frame.loc[rest.X.index, target], target, wanted)
    known = [*keep, *categorical]
    suspects = [suspect for suspect in rest.suspects if suspect.certain]
    suspects += find_suspects(rest.X, y, task=task, kind=kind, keep=known)
    return Training(
        X=rest.X.reset_index(drop=True),
        y=y,
        kind=kind,
        kinds=rest.kinds,
        task=task,
        target=target,
        tasks=rest.tasks,
        remarks=[*remarks, *rest.remarks],
        target_remark=remark,
        suspects=suspects,
        source=source,
    )


def open_features(
    source: Source,
    frame: pd.DataFrame,
    *,
    task: str,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    categorical: Sequence[str] = (),
    aside: Sequence[str] = (),
) -> Training:
    """Features and tasks of a table."""
    source.need(task, "--task")
    options = (("--drop", drop), ("--keep", keep), ("--categorical", categorical))
    for option, names in options:
        for name in names:
            source.need(name, option)
            if name == task or name in aside:
                what = "task" if name == task else "target"
                raise UserError(f"{option} {name}: that is the {what}. Leave it out.")
    both = [name for name in drop if name in keep or name in categorical]
    if both:
        raise UserError(
            f"{listed(both)} is to be dropped and to be used. Decide: --drop, or "
            "--keep and --categorical."
        )
    remarks = []
    values = as_text(frame[task])
    if values.isna().any():
        lost = int(values.isna().sum())
        if lost == len(values):
            raise UserError(f"The task {task!r} is missing in every row. Fill it in.")
        remarks.append(f"Rows without a task ({task}) are left out: {lost}.")
        frame, values = frame[values.notna()], values.dropna()
    tasks = task_column(values)
    different = np.unique(tasks)
    _check_tasks(task, different, len(tasks))

    features = frame.drop(columns=[task, *drop, *aside])
    # pandas would keep the name of a categorical column that is no more
    X = features.assign(**{task: tasks})
    suspects = find_suspects(X, task=task, keep=[*keep, *categorical])
    kinds = find_meanings(features, keep=keep, categorical=categorical)
    certain = {suspect.column: suspect.why for suspect in suspects if suspect.certain}
    for kind in kinds:
        name = kind["name"]
        if name in certain and kind["kind"] != "dropped":
            kind["kind"] = "dropped"
            kind["why"] = f"it {certain[name]} (--keep {name!r} uses it)"
    useless = [kind for kind in kinds if kind["kind"] == "dropped"]
    remarks += [
        f"Column {kind['name']!r} is not used: {kind['why']}." for kind in useless
    ]
    remarks += [
        f"Column {kind['name']!r}: {kind['remark']}."
        for kind in kinds
        if "remark" in kind and kind["kind"] != "dropped"
    ]
    if len(useless) == len(kinds):
        why = [f" ({kind['name']}: {kind['why']})" for kind in useless[:1]]
        raise UserError(
            f"No column of {source.path.name} is left to learn from{''.join(why)}. "
            "See --keep and --drop."
        )
    gone = {kind["name"] for kind in useless}
    X = X.drop(columns=list(gone))
    suspects = [s for s in suspects if s.certain or s.column not in gone]
    return Training(X, None, None, kinds, task, None, different, remarks, suspects)


def task_column(values: pd.Series) -> np.ndarray:
    """Tasks as integers where all are written as such, else as text."""
    if values.astype("str").str.fullmatch(_INTEGER).all():
        return values.astype("int64").to_numpy()
    return values.to_numpy(object)


def _check_tasks(name: str, tasks: np.ndarray, n_rows: int) -> None:
    if len(tasks) == 1:
        raise UserError(
            f"The column {name!r} holds one task only ({tasks.tolist()[0]!r}): nothing "
            "can be shared. Name another column by --task."
        )
    if len(tasks) == n_rows:
        raise UserError(
            f"Every one of the {n_rows} rows has a task of its own in {name!r}. Name "
            "the column that groups the rows by --task."
        )


def _read_target(
    column: pd.Series, name: str, wanted: Literal["classification", "regression"] | None
) -> tuple[np.ndarray, Literal["classification", "regression"], str]:
    """y, what kind of target it is, and a remark on it."""
    text = as_text(column).astype("str")
    numbers = as_numbers(column)
    if np.isnan(numbers).all() and text.str.fullmatch(r"[-+]?\d*,?\d+").all():
        numbers = as_numbers(column, comma=True)
    n_values = text.nunique()
    kind = wanted or _guess(text, numbers, n_values)
    if kind == "regression":
        y: Any = numbers
        bad = np.isnan(numbers)
        if bad.any():
            raise UserError(
                f"--regression needs numbers, but the target {name!r} holds "
                f"{text[bad].iloc[0][:30]!r} ({int(bad.sum())} such rows). Use "
                "--classification."
            )
        if n_values == 1:
            raise UserError(f"The target {name!r} is {y[0]:g} in every row.")
        remark = f"{name}: numbers from {y.min():g} to {y.max():g}, so regression"
        other = "--classification"
    else:
        y = task_column(text)
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) == 1:
            raise UserError(
                f"The target {name!r} has one class only ({classes.tolist()[0]!r}) in "
                f"the {len(y)} rows that have a task and a target. Two at least are "
                "needed: name other columns by --target and --task."
            )
        if len(classes) > _MANY_CLASSES and 2 * len(classes) > len(y):
            raise UserError(
                f"The target {name!r} has {len(classes)} different values in {len(y)} "
                "rows, too many for classes. Name another column, or use --regression."
            )
        shown = ", ".join(
            f"{str(c)[:20]} ({n})" for c, n in zip(classes[:4], counts, strict=False)
        )
        more = f" and {len(classes) - 4} more" if len(classes) > 4 else ""
        remark = f"{name}: classes {shown}{more}, so classification"
        other = "--regression"
    if wanted:
        return y, kind, f"{remark.rpartition(', so ')[0]}; {kind}, as requested."
    can_be = kind == "regression" or not np.isnan(numbers).any()
    return y, kind, f"{remark}{f' ({other} decides otherwise)' if can_be else ''}."


def _guess(
    text: pd.Series, numbers: np.ndarray, n_values: int
) -> Literal["classification", "regression"]:
    if np.isnan(numbers).any() or n_values <= 2:
        return "classification"
    whole = (numbers == np.floor(numbers)).all()
    return "classification" if whole and n_values <= _FEW_NUMBERS else "regression"
