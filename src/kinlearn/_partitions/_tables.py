"""Tables that lie in partitions: read, checked, and brought to common codes.

Each partition is read once and checked as any X is; what the partitions have to agree
on (task codes, class codes) comes from small summaries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from kinlearn._partitions._protocol import Weighed
from kinlearn.tables.internal import known_codes
from kinlearn.tasks import (
    TaskColumns,
    check_task_data,
    class_codes,
    encode_tasks,
    find_label_sets,
    remember_columns,
)
from kinlearn.utils import as_float32
from kinlearn.utils._typing import ArrayLike, LabelRule, Table

__all__ = [
    "Coded",
    "Common",
    "Partition",
    "agree",
    "read_partition",
    "remember_common",
    "summarize",
]


@dataclass(frozen=True, eq=False)
class Partition(Weighed):
    """Checked rows of one partition, with codes of its own."""

    columns: np.ndarray  # feature by feature
    task: np.ndarray
    tasks: np.ndarray
    y: np.ndarray
    classes: np.ndarray | None
    sample_weight: np.ndarray | None
    table: TaskColumns
    # bool (n_features,), or None: which are categories; and what codes they have here
    categorical: np.ndarray | None = None
    known_codes: np.ndarray | None = None

    def summary(self) -> dict[str, Any]:
        """What the driver has to know of a partition, before codes are agreed on."""
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
            "categorical": self.categorical,
            "known_codes": self.known_codes,
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
        """The same rows with the codes of all partitions, and weights.

        Parameters
        ----------
        common : Common
            What the partitions agreed on.

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
    """Rows of a partition with the codes that all partitions share."""

    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Common:
    """What the partitions agreed on.

    Attributes
    ----------
    n_rows : int
        Of all partitions.
    tasks : ndarray
        Task values, ascending.
    classes : ndarray or None
        Class labels, ascending.
    label_sets : LabelSets or None
        Which task has which classes.
    class_count : int64 array of shape (n_classes,), or None
        Rows of each class.
    has_missing : bool array of shape (n_features,)
        Whether a feature has NaN in any partition.
    table : TaskColumns
        The columns.
    class_weight : float64 array of shape (n_classes,), or None
        Weights of the classes.
    categorical : bool array of shape (n_features,), or None
        Which features are categories.
    known_codes : bool array of shape (n_categorical, 254), or None
        Which codes they have.
    """

    n_rows: int
    tasks: np.ndarray
    classes: Any
    label_sets: Any
    class_count: np.ndarray | None
    has_missing: np.ndarray
    table: TaskColumns
    class_weight: np.ndarray | None = None
    categorical: np.ndarray | None = None
    known_codes: np.ndarray | None = None


def _places(known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Codes of values among known ones, which hold them all."""
    place = {v: i for i, v in enumerate(known.tolist())}
    return np.array([place[v] for v in values.tolist()], dtype=np.int32)


def read_partition(
    X: Table,
    y: Any,
    sample_weight: ArrayLike | None,
    number: int,
    options: dict[str, Any],
    *,
    narrow: bool = True,
    categories: bool = False,
) -> Partition | None:
    """Check the rows of a partition.

    Parameters
    ----------
    X, y, sample_weight : as in fit
        The partition.
    number : int
        Of the partition, for messages.
    options : dict
        For :func:`kinlearn.tasks.check_task_data`.
    narrow : bool, default=True
        Whether features become float32.
    categories : bool, default=False
        Whether features may be categories.

    Returns
    -------
    Partition or None
        None if there are no rows.
    """
    if len(X) == 0:
        return None
    if len(y) != len(X):
        raise ValueError(
            f"Partition {number} of X has {len(X)} rows, but that of y has {len(y)}. "
            "Divide both in the same way, for example by repartition or rechunk."
        )
    # Other partitions may have rows of weight where this one has none.
    weightless = sample_weight is not None and not np.any(sample_weight)
    try:
        data = check_task_data(X, y, None if weightless else sample_weight, **options)
        X = as_float32(data.X) if narrow else data.X
        known = None
        if data.categorical is not None and not categories:
            raise ValueError(
                f"{data.feature_names[data.categorical].tolist()} are categories, "
                "which rows in partitions cannot have. Replace them by numbers, such "
                "as one-hot codes, and set categorical_features=None; or fit the local "
                "class to rows in one place."
            )
        if data.categorical is not None:
            weight = np.zeros(len(X)) if weightless else data.sample_weight
            names, estimator = data.feature_names, options.get("estimator", "")
            known = known_codes(X, data.categorical, names, estimator, weight)
    except (TypeError, ValueError) as error:
        raise type(error)(f"In partition {number} of the data: {error}") from error
    return Partition(
        columns=np.ascontiguousarray(X.T),
        task=data.task,
        tasks=data.tasks,
        y=data.y,
        classes=data.classes,
        sample_weight=np.zeros(len(X)) if weightless else data.sample_weight,
        table=data.columns,
        categorical=data.categorical,
        known_codes=known,
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
    """Common codes for all partitions.

    Parameters
    ----------
    summaries : list of dict
        Of the partitions that have rows; see `Partition.summary`.
    class_weight : dict, "balanced" or None, default=None
        As in scikit-learn.
    label_rule : {"connected", "observed"} or mapping, default="connected"
        Which classes a task has; see :func:`~kinlearn.tasks.find_label_sets`.
    counting : bool, default=False
        Whether rows of weight 0 show no class of their task.

    Returns
    -------
    Common
        What all partitions use.
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
        categorical=first["categorical"],
        known_codes=None
        if first["categorical"] is None
        else np.any([s["known_codes"] for s in summaries], axis=0),
    )


def summarize(
    engine: Any, partitions: list[Any]
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Summaries of the partitions that have rows, and the handles of these.

    Parameters
    ----------
    engine : LocalPartitions or the like
        Where the partitions are.
    partitions : list
        Handles of what `read_partition` gave.

    Returns
    -------
    summaries : list of dict
        See `Partition.summary`.
    partitions : list
        Handles.
    """
    summaries = engine.collect(_summary, partitions)
    kept = [i for i, summary in enumerate(summaries) if summary is not None]
    if not kept:
        raise ValueError(
            f"Found no rows in the {len(partitions)} partition(s) of X; at least 1 is "
            "required."
        )
    return [summaries[i] for i in kept], [partitions[i] for i in kept]


def _summary(partition: Partition | None) -> dict[str, Any] | None:
    return None if partition is None else partition.summary()


def remember_common(model: Any, common: Common) -> None:
    """Set the fitted attributes that all models share; see ``TaskMixin._fit_data``.

    Parameters
    ----------
    model : estimator
        Gets them.
    common : Common
        What the partitions agreed on.
    """
    remember_columns(model, common.table)
    model.tasks_ = common.tasks
    model.feature_names_ = common.table.feature_names
    model.is_categorical_ = common.categorical
    model._known_codes = common.known_codes
    if common.classes is not None:
        model.classes_ = common.classes
        model.task_classes_ = common.label_sets.by_task(common.tasks, common.classes)
        model._label_sets = common.label_sets
