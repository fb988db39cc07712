"""From parts of a table to shares that trees are grown from.

Each part is read once and checked as any X is; what the parts have to agree on (task
codes, class codes, units of sums) comes from small summaries.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from kinlearn.tasks import (
    TaskColumns,
    check_task_data,
    class_codes,
    encode_tasks,
    find_label_sets,
    remember_columns,
)
from kinlearn.trees._forest import as_float32
from kinlearn.trees._growth import exact_unit, short_number, unit_labels
from kinlearn.trees._pilot import pilot_rows, row_hashes
from kinlearn.trees._questions import Totals, Weighed
from kinlearn.trees._shares import Share
from kinlearn.utils._typing import ArrayLike, LabelRule, Table

__all__ = [
    "Coded",
    "Common",
    "Part",
    "Sample",
    "Units",
    "agree",
    "prepare",
    "read_part",
    "remember_common",
    "summarize",
]


@dataclass(frozen=True, eq=False)
class Part(Weighed):
    """Checked rows of one part, with codes of its own."""

    columns: np.ndarray  # feature by feature
    task: np.ndarray
    tasks: np.ndarray
    y: np.ndarray
    classes: np.ndarray | None
    sample_weight: np.ndarray | None
    table: TaskColumns

    def summary(self) -> dict[str, Any]:
        """What the driver has to know of a part, before codes are agreed on."""
        pairs, count, weight = self._pairs()
        return {
            "n_rows": len(self.task),
            "tasks": self.tasks,
            "classes": self.classes,
            "pairs": pairs,
            "count": count,
            "weight": weight,
            "has_missing": np.isnan(self.columns).any(axis=1),
            "dtype": self.columns.dtype,
            "table": self.table,
            "weighted": self.sample_weight is not None,
        }

    def _pairs(self) -> tuple[Any, Any, Any]:
        """Pairs of task and class, with the numbers and weights of their rows."""
        if self.classes is None:
            return None, None, None
        n = len(self.classes)
        pair, place, count = np.unique(
            self.task.astype(np.int64) * n + self.y,
            return_inverse=True,
            return_counts=True,
        )
        weight = np.bincount(place, self.sample_weight).astype(np.float64)
        return np.stack([pair // n, pair % n], axis=1), count, weight

    def coded(self, common: "Common") -> "Coded":
        """The same rows with the codes of all parts, and weights.

        Parameters
        ----------
        common : Common
            What the parts agreed on.

        Returns
        -------
        Coded
            The rows.
        """
        task = _places(common.tasks, self.tasks)[self.task]
        y, weight = self.y, self.sample_weight
        if self.classes is not None:
            y = _places(common.classes, self.classes)[self.y]
        if common.class_weight is not None:
            of_class = common.class_weight[y]
            weight = of_class if weight is None else weight * of_class
        return Coded(self.columns, task, y, weight)


@dataclass(frozen=True, eq=False)
class Coded(Weighed):
    """Rows of a part with the codes that all parts share."""

    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None

    def sums(self) -> tuple[float, float]:
        """Weight of the rows, and weighted sum of y."""
        w = self.weight
        weight = float(len(self.y)) if w is None else float(w.sum())
        total = float(self.y.sum() if w is None else w @ self.y)
        return weight, total

    def spread(self, center: float) -> float:
        """Sum of the magnitudes of ``weight * (y - center)``."""
        spread = np.abs(self.y - center)
        return float((spread if self.weight is None else self.weight * spread).sum())

    def share(self, common: "Common", units: "Units") -> Share:
        """The rows as the kernels take them.

        Parameters
        ----------
        common : Common
            What the parts agreed on.
        units : Units
            Of weights and sums.

        Returns
        -------
        Share
            Like ``Growth.labels``.
        """
        n_classes = 0 if common.classes is None else len(common.classes)
        return Share(
            columns=self.columns,
            has_missing=common.has_missing.astype(np.uint8),
            task=self.task,
            n_tasks=len(common.tasks),
            n_classes=n_classes if n_classes > 2 else 0,
            **unit_labels(
                self.y,
                self.weight,
                n_classes,
                w_unit=units.weight,
                b_unit=units.total,
                center=units.center,
            ),
            weight=self.weight,
            center=units.center,
        )

    def sample(self) -> "Sample":
        """The rows that pilot forests may want; see `pilot_rows`."""
        rows = np.arange(len(self.y))
        if self.weight is not None:
            rows = np.flatnonzero(self.weight > 0)
        hashes = row_hashes(self.columns[:, rows], self.y[rows])
        kept = pilot_rows(hashes)
        rows = rows[kept]
        return Sample(
            hashes[kept],
            self.columns[:, rows],
            self.task[rows],
            self.y[rows],
            None if self.weight is None else self.weight[rows],
        )


@dataclass(frozen=True, eq=False)
class Sample(Weighed):
    """Rows for pilot forests."""

    hashes: np.ndarray
    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None

    @classmethod
    def merge(cls, samples: Sequence[Self]) -> Self:
        """The rows that a pilot takes of all parts, in the order of the parts."""
        weight = None
        if samples[0].weight is not None:
            weight = np.concatenate([s.weight for s in samples])
        hashes = np.concatenate([s.hashes for s in samples])
        rows = np.flatnonzero(pilot_rows(hashes))
        columns = np.concatenate([s.columns for s in samples], axis=1)
        return cls(
            hashes[rows],
            np.ascontiguousarray(columns[:, rows]),
            np.concatenate([s.task for s in samples])[rows],
            np.concatenate([s.y for s in samples])[rows],
            None if weight is None else weight[rows],
        )


@dataclass(frozen=True, eq=False)
class Common:
    """What the parts agreed on.

    Attributes
    ----------
    n_rows : int
        Of all parts.
    tasks : ndarray
        Task values, ascending.
    classes : ndarray or None
        Class labels, ascending.
    label_sets : LabelSets or None
        Which task has which classes.
    class_count : int64 array of shape (n_classes,), or None
        Rows of each class.
    has_missing : bool array of shape (n_features,)
        Whether a feature has NaN in any part.
    table : TaskColumns
        The columns.
    class_weight : float64 array of shape (n_classes,), or None
        Weights of the classes.
    """

    n_rows: int
    tasks: np.ndarray
    classes: Any
    label_sets: Any
    class_count: np.ndarray | None
    has_missing: np.ndarray
    table: TaskColumns
    class_weight: np.ndarray | None = None


@dataclass(frozen=True)
class Units:
    """What sums are integer multiples of, so that they add up in any order.

    Attributes
    ----------
    weight, total : float
        Powers of two.
    center : float
        What is taken off numbers first.
    all_weight : float
        Sum of the rows' weights.
    """

    weight: float
    total: float
    center: float
    all_weight: float

    @classmethod
    def of(
        cls,
        sums: Sequence[tuple[float, float]],
        spreads: Callable[[float], Iterable[float]],
        *,
        weighted: bool,
        numbers: bool,
    ) -> Self:
        """From the sums of all parts.

        Parameters
        ----------
        sums : list of (float, float)
            Of each part; see `Coded.sums`.
        spreads : callable
            Gives, for a center, each part's `Coded.spread`.
        weighted, numbers : bool
            Whether rows have weights, and labels are numbers.

        Returns
        -------
        Units
            The same as ``Growth.labels`` finds, up to the rounding of sums.
        """
        weight = math.fsum(w for w, _ in sums)
        w_unit = exact_unit(weight) if weighted else 1.0
        if not numbers:
            return cls(w_unit, w_unit, 0.0, weight)
        center = float(short_number(math.fsum(t for _, t in sums) / weight))
        total = math.fsum(spreads(center))
        return cls(w_unit, exact_unit(total), center, weight)


def _places(known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Codes of values among known ones, which hold them all."""
    place = {v: i for i, v in enumerate(known.tolist())}
    return np.array([place[v] for v in values.tolist()], dtype=np.int32)


def read_part(
    X: Table,
    y: Any,
    sample_weight: ArrayLike | None,
    number: int,
    options: dict[str, Any],
    *,
    narrow: bool = True,
) -> Part | None:
    """Check the rows of a part.

    Parameters
    ----------
    X, y, sample_weight : as in fit
        The part.
    number : int
        Of the part, for messages.
    options : dict
        For :func:`kinlearn.tasks.check_task_data`.
    narrow : bool, default=True
        Whether features become float32.

    Returns
    -------
    Part or None
        None if there are no rows.
    """
    if len(X) == 0:
        return None
    if len(y) != len(X):
        raise ValueError(
            f"Partition {number} of X has {len(X)} rows, but that of y has {len(y)}. "
            "Divide both in the same way, for example by repartition or rechunk."
        )
    # Other parts may have rows of weight where this one has none.
    weightless = sample_weight is not None and not np.any(sample_weight)
    try:
        data = check_task_data(X, y, None if weightless else sample_weight, **options)
        X = as_float32(data.X) if narrow else data.X
        if data.categorical is not None:
            raise ValueError(
                f"{data.feature_names[data.categorical].tolist()} are categories, "
                "which rows in partitions cannot have. Replace them by numbers, such "
                "as one-hot codes, and set categorical_features=None; or fit the local "
                "class to rows in one place."
            )
    except (TypeError, ValueError) as error:
        raise type(error)(f"In partition {number} of the data: {error}") from error
    return Part(
        columns=np.ascontiguousarray(X.T),
        task=data.task,
        tasks=data.tasks,
        y=data.y,
        classes=data.classes,
        sample_weight=np.zeros(len(X)) if weightless else data.sample_weight,
        table=data.columns,
    )


def _class_weights(
    class_weight: dict[Any, float] | Literal["balanced"] | None,
    classes: np.ndarray,
    count: np.ndarray,
) -> np.ndarray | None:
    if class_weight is None:
        return None
    if class_weight == "balanced":
        return count.sum() / (len(count) * count)
    return compute_class_weight(class_weight, classes=classes, y=classes)


def agree(
    summaries: Sequence[dict[str, Any]],
    class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    label_rule: LabelRule = "connected",
    counting: bool = False,
) -> Common:
    """Common codes for all parts.

    Parameters
    ----------
    summaries : list of dict
        Of the parts that have rows; see `Part.summary`.
    class_weight : dict, "balanced" or None, default=None
        As in scikit-learn.
    label_rule : {"connected", "observed"} or mapping, default="connected"
        Which classes a task has; see :func:`~kinlearn.tasks.find_label_sets`.
    counting : bool, default=False
        Whether rows of weight 0 show no class of their task.

    Returns
    -------
    Common
        What all parts use.
    """
    first = summaries[0]
    for other in summaries[1:]:
        if other["table"] != first["table"]:
            raise ValueError(
                "The partitions of X do not have the same columns: "
                f"{list(first['table'].all_names)} and "
                f"{list(other['table'].all_names)}."
            )
    tasks, _ = encode_tasks(
        np.concatenate([s["tasks"] for s in summaries]), "The task column"
    )
    classes = sets = count = weights = None
    if first["classes"] is not None:
        classes, _ = class_codes(
            np.concatenate([s["classes"] for s in summaries]), "The estimator"
        )
        count = np.zeros((len(tasks), len(classes)), dtype=np.int64)
        weight = np.zeros(count.shape)
        for s in summaries:
            task, label = s["pairs"].T
            at = _places(tasks, s["tasks"])[task], _places(classes, s["classes"])[label]
            count[at] += s["count"]
            weight[at] += s["weight"]
        task, label = np.nonzero(count)
        count = count.sum(axis=0)
        weights = _class_weights(class_weight, classes, count)
        if weights is not None:
            weight *= weights
        sets = find_label_sets(
            task, label, tasks, classes, label_rule, weight[task, label]
        )
        if counting:
            sets = sets.counting(task, label, weight[task, label])
    return Common(
        n_rows=sum(s["n_rows"] for s in summaries),
        tasks=tasks,
        classes=classes,
        label_sets=sets,
        class_count=count,
        has_missing=np.any([s["has_missing"] for s in summaries], axis=0),
        table=first["table"],
        class_weight=weights,
    )


def prepare(
    engine: Any,
    parts: list[Any],
    class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    label_rule: LabelRule = "connected",
) -> tuple[Common, Totals, Units, list[Any]]:
    """Make shares of parts that were read.

    Parameters
    ----------
    engine : LocalParts or the like
        Gets the shares.
    parts : list
        Handles of what `read_part` gave.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    label_rule : {"connected", "observed"} or mapping, default="connected"
        Which classes a task has.

    Returns
    -------
    common : Common
        What the parts agreed on.
    totals : Totals
        Sums over all rows.
    units : Units
        Of the sums.
    coded : list
        Handles of the coded rows, for samples.
    """
    summaries, parts = summarize(engine, parts)
    common = agree(summaries, class_weight, label_rule, counting=True)
    coded = engine.map(Part.coded, parts, common)
    sums = engine.collect(Coded.sums, coded)
    weighted = common.class_weight is not None or summaries[0]["weighted"]
    if not math.fsum(weight for weight, _ in sums) > 0:
        raise ValueError("The weights of all rows are 0; some must be positive.")
    numbers = common.classes is None
    units = Units.of(
        sums,
        lambda center: engine.collect(Coded.spread, coded, center),
        weighted=weighted,
        numbers=numbers,
    )
    engine.keep(
        engine.map(Coded.share, coded, common, units),
        [summary["n_rows"] for summary in summaries],
    )
    totals = Totals.of(
        engine.collect(Share.sums, engine.shares),
        n_features=len(common.table.features),
        n_tasks=len(common.tasks),
        n_classes=0 if numbers else len(common.classes),
        weighted=weighted,
        units=units,
    )
    return common, totals, units, coded


def summarize(engine: Any, parts: list[Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    """Summaries of the parts that have rows, and the handles of these.

    Parameters
    ----------
    engine : LocalParts or the like
        Where the parts are.
    parts : list
        Handles of what `read_part` gave.

    Returns
    -------
    summaries : list of dict
        See `Part.summary`.
    parts : list
        Handles.
    """
    summaries = engine.collect(_summary, parts)
    kept = [i for i, summary in enumerate(summaries) if summary is not None]
    if not kept:
        raise ValueError(
            f"Found no rows in the {len(parts)} partition(s) of X; at least 1 is "
            "required."
        )
    return [summaries[i] for i in kept], [parts[i] for i in kept]


def _summary(part: Part | None) -> dict[str, Any] | None:
    return None if part is None else part.summary()


def remember_common(model: Any, common: Common) -> None:
    """Set the fitted attributes that all models share; see ``TaskMixin._fit_data``.

    Parameters
    ----------
    model : estimator
        Gets them.
    common : Common
        What the parts agreed on.
    """
    remember_columns(model, common.table)
    model.tasks_ = common.tasks
    model.feature_names_ = common.table.feature_names
    model.is_categorical_ = None
    if common.classes is not None:
        model.classes_ = common.classes
        model.task_classes_ = common.label_sets.by_task(common.tasks, common.classes)
        model._label_sets = common.label_sets
