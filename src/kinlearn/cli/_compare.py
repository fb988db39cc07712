"""``kin compare``: does sharing help here, whom, and by how much?"""

import shlex
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table
from rich.text import Text

from kinlearn.audit import compare_sharing, default_contenders
from kinlearn.cli._console import Output, make_table, progress_on
from kinlearn.cli._errors import UserError, data_errors, one_line, suggest
from kinlearn.cli._files import replacing
from kinlearn.cli._training import Training
from kinlearn.exceptions import SuspectColumnWarning
from kinlearn.report import write_page

__all__ = [
    "check_models",
    "compare_table",
    "fit_command",
    "fit_in_python",
    "save_page",
    "show_result",
]

_SHOWN_TASKS = 30
_NAMES = (
    ("n_splits=", "--folds "),
    ("n_splits", "--folds"),
    ("n_repeats", "--repeats"),
    ("scoring=", "--metric "),
    ("scoring", "--metric"),
    ("store=", "--store "),
    (", or pass a function of y_true and y_pred", ""),
)
_KIN = "Kin"
_COST = (
    "Kin, which weighs many models, is evaluated last, and takes several times as "
    "long as all others together; --no-kin leaves it out."
)
_ALONE = ", alone"  # how names of models of each task alone end
_STYLES = {"helped": "green", "hurt": "red", "unclear": "", "not scored": "dim"}


def compare_table(
    training: Training,
    output: Output,
    *,
    out: Path | None,
    store: Path | None,
    n_splits: int,
    n_repeats: int | None,
    metric: str | None,
    models: str | None,
    no_kin: bool,
    curve: bool,
    n_jobs: int | None,
    seed: int,
    columns: dict[str, Any],
) -> None:
    """Compare the contenders on a table, show the result, write the page."""
    output.note(f"{training.describe()}.")
    X = training.encoder(categories="category").fit_transform(training.X)
    y: Any = training.y
    estimators = _choose(X, training, models, no_kin, seed)
    if _KIN in estimators:
        output.note(_COST)
    # the notes name these columns already
    ignored = warnings.catch_warnings(action="ignore", category=SuspectColumnWarning)
    with ignored, _comparison_errors(metric), progress_on(output) as progress:
        result = compare_sharing(
            X,
            y,
            task=training.task,
            kind=training.kind,
            estimators=estimators,
            scoring=metric,
            n_splits=n_splits,
            n_repeats=n_repeats,
            curve=curve,
            n_jobs=n_jobs,
            random_state=seed,
            store=store,
            progress=progress,
            so_far=partial(_report_so_far, output, progress),
        )
    document = result.to_dict()
    document["data"]["target_name"] = training.target
    document["suspects"] = training.suspect_records
    best = document["contenders"][0]["name"]
    document["run"]["code"] = fit_in_python(best, training, seed)
    options = {**columns, "seed": seed or None}
    document["run"]["command"] = fit_command(best, training, options)
    show_result(document, output)
    if out is not None:
        save_page(document, out, output)
    output.print_json(document)


@contextmanager
def _comparison_errors(metric: str | None) -> Iterator[None]:
    """What the comparison refuses, in the words of the command line."""
    try:
        with data_errors(_NAMES):
            yield
    except RuntimeError as error:  # every contender failed
        hint = "" if metric is None else f"Does --metric {metric} suit the target? "
        raise UserError(f"{hint}{one_line(error, 200)}") from error


def _report_so_far(output: Output, progress: Any, sentence: str) -> None:
    """Report the scores of all others while Kin is still to come."""
    output.note(f"Before {_KIN}: {sentence} The verdict comes with {_KIN}.")
    output.print_notes()
    progress.begin_anew(_KIN)


def check_models(models: str | None, no_kin: bool) -> None:
    """Refuse options that contradict each other, before anything is read."""
    if no_kin and models is not None and "kin" in map(_word, models.split(",")):
        raise UserError(
            f"--models {models} requests {_KIN}, and --no-kin leaves it out. Drop one "
            "of them."
        )


def _word(text: str) -> str:
    """As it is looked for in names."""
    return text.strip().lower().replace("-", " ")


def _choose(
    X: pd.DataFrame, training: Training, models: str | None, no_kin: bool, seed: int
) -> dict[str, Any]:
    """The default contenders whose name has one of the words of `models`.

    Models of each task alone are always among them.
    """
    y: Any = training.y
    with data_errors():
        known = default_contenders(
            X,
            y,
            task=training.task,
            kind=training.kind,
            random_state=seed,
            on_request=not no_kin,
            unknown_task="error",  # there are none: spares a model
        )
    if models is None:
        return known
    chosen: dict = {}
    for text in models.split(","):
        word = {"linear": "regression"}.get(_word(text), _word(text))
        found = {n: e for n, e in known.items() if word and word in _word(n)}
        if not found:
            families = dict.fromkeys(name.partition(",")[0] for name in known)
            raise UserError(
                f"--models {text.strip()!r}: no such. {suggest(word, families)}"
            )
        chosen |= found
    if not any(name.endswith(_ALONE) for name in chosen):
        # such as --models kin: without these there is nothing to compare with
        chosen |= {n: e for n, e in known.items() if n.endswith(_ALONE)}
    return chosen


def save_page(document: dict[str, Any], out: Path, output: Output) -> None:
    """Write the page and print where."""
    with replacing(out) as temporary:
        write_page(document, temporary)
    output.show(f"Report with charts: {out}")


def show_result(document: dict[str, Any], output: Output) -> None:
    """Print the verdict, the leaderboard and the table of the tasks."""
    output.show(_leaderboard(document), _by_task(document))
    verdict = document["verdict"]
    output.show(Text(verdict["sentence"], style="bold"))
    output.show(*(f"- {detail}" for detail in verdict["details"]))


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _score(value: float | None, document: dict[str, Any]) -> str:
    """A score as its metric is written: the result holds errors as negative."""
    sign = 1 if document["metric"]["greater_is_better"] else -1
    return "" if value is None else _number(sign * value)


def _with_error(entry: dict[str, Any], document: dict[str, Any]) -> str:
    if entry["macro"] is None:
        return "" if entry["error"] is None else "failed"
    spread = entry["macro_se"]
    macro = _score(entry["macro"], document)
    return macro if spread is None else f"{macro} ± {spread:.3f}"


def _leaderboard(document: dict[str, Any]) -> Table:
    label = document["metric"]["label"]
    entries = sorted(
        document["contenders"],
        key=lambda c: (c["macro"] is None, -(c["macro"] or 0.0)),
    )
    rows = []
    for place, entry in enumerate(entries):
        failed, name = entry["error"] is not None, entry["name"]
        if failed:
            name = f"{name}: {one_line(entry['error'], 60)}"
        style = "red" if failed else "bold" if place == 0 else ""
        rows.append(
            (
                Text(name, style=style),
                _with_error(entry, document),
                _score(entry["micro"], document),
                _number(entry["mean_rank"], 1),
                _number(entry["fit_seconds"], 1),
            )
        )
    cv = document["cv"]
    times = f", {cv['n_repeats']} times" if cv["n_repeats"] > 1 else ""
    return make_table(
        f"{label} of {len(entries)} contenders, {cv['n_splits']} folds{times}",
        ("contender", ">mean of tasks", ">all rows", ">mean rank", ">fit s"),
        rows,
        "mean of tasks: every task counts alike; ± is a standard error",
    )


def _by_task(document: dict[str, Any]) -> Table:
    headline, task_name = document["headline"], document["data"]["task_name"]
    scored = [gain for gain in document["gains"] if gain["gain"] is not None]
    order = sorted(scored, key=lambda gain: -gain["gain"])
    order += [gain for gain in document["gains"] if gain["gain"] is None]
    remark = (
        "alone, sharing: in each fold, the models that the other folds chose, mostly "
        f"{headline['alone']} and {headline['sharing']}"
    )
    if len(order) > _SHOWN_TASKS:  # both ends: who is helped most, who is hurt most
        half = min(_SHOWN_TASKS, len(scored)) // 2
        remark += f"; {len(order) - 2 * half} tasks are left out here"
        order = order[:half] + order[len(scored) - half : len(scored)]
    rows = []
    for gain in order:
        rows.append(
            (
                str(gain["task"]),
                f"{gain['n_rows']}",
                _score(gain["alone"], document),
                _score(gain["sharing"], document),
                _gain(gain["gain"]),
                _interval(gain),
                Text(gain["verdict"], style=_STYLES.get(gain["verdict"], "")),
            )
        )
    if scored:  # what the verdict says of all of them
        rows.append(
            (
                f"mean of {len(scored)}",
                "",
                _score(headline["macro_alone"], document),
                _score(headline["macro_sharing"], document),
                _gain(headline["gain"]),
                _interval(headline),
                Text(""),
            )
        )
    # an error that falls is a gain
    gained = "gain" if document["metric"]["greater_is_better"] else "saved"
    return make_table(
        "Who gains from sharing",
        (
            *(task_name, ">rows", ">alone", ">sharing", f">{gained}"),
            *("95% interval", "verdict"),
        ),
        rows,
        remark,
    )


def _gain(value: float | None) -> str:
    return "" if value is None else f"{round(value, 3) + 0.0:+.3f}"


def _interval(found: dict[str, Any]) -> str:
    """The interval of a gain, or why there is none."""
    if found["low"] is None or found["high"] is None:
        return (found["reason"] or "").partition(":")[0]
    return f"{_gain(found['low'])} to {_gain(found['high'])}"


_READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".feather": "read_feather",
    ".arrow": "read_feather",
    ".ipc": "read_feather",
}


def fit_command(winner: str, training: Training, options: Mapping[str, Any]) -> str:
    """The call of ``kin fit`` that saves the winner."""
    source: Any = training.source
    arguments = ["kin", "fit", str(source.path), "--target", str(training.target)]
    arguments += ["--task", training.task, f"--{training.kind}"]
    arguments += ["--model", "kin" if winner == "Kin" else winner]
    for name, value in options.items():
        values = value if isinstance(value, list | tuple) else [value]
        arguments += [w for v in values if v is not None for w in (f"--{name}", str(v))]
    return shlex.join([*arguments, "--save", "model.skops"])


def fit_in_python(winner: str, training: Training, seed: int) -> str:
    """Python that reads the file and fits the winner."""
    source: Any = training.source
    target, task = training.target, training.task
    reader = _READERS.get(source.path.suffix.lower(), "read_csv")
    arguments = [repr(str(source.path))]
    if reader == "read_csv":
        usual = {"sep": ",", "encoding": "utf-8"}
        arguments += [f"{k}={v!r}" for k, v in source.reading.items() if v != usual[k]]
        text = [kind["name"] for kind in training.kinds if kind["kind"] == "category"]
        text += [task] if training.tasks.dtype == object else []
        arguments += [f"dtype={dict.fromkeys(text, 'str')!r}"] if text else []
        arguments += ["skipinitialspace=True"]
    columns = [kind["name"] for kind in training.kinds if kind["kind"] != "dropped"]
    y = f"table[{target!r}]"
    if training.kind == "regression" and not _is_number(source.frame[target]):
        y += '.str.replace(",", ".").astype(float)'
    options = f"task={task!r}, kind={training.kind!r}"
    options += f", random_state={seed}" if seed else ""
    options += ", on_request=True" if winner == "Kin" else ""
    return "\n".join(
        [
            "import pandas as pd",
            "from kinlearn.audit import default_contenders",
            "",
            f"table = pd.{reader}({', '.join(arguments)})",
            f"table = table.dropna(subset={[target, task]!r})",
            f"X, y = table[{[*columns, task]!r}], {y}",
            f"model = default_contenders(X, y, {options})[{winner!r}].fit(X, y)",
        ]
    )


def _is_number(column: Any) -> bool:
    """Whether ``pandas.read_csv`` would take it for numbers."""
    try:
        column.dropna().astype(float)
    except ValueError:
        return False
    return True
