"""From checked rows in one place to grown trees: labels as integers, seeds, threads.

Rows that lie in partitions have the same methods; see
:mod:`kinlearn.trees.extra.partitions`.
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np

from kinlearn._binning import FeatureBytes, feature_bytes
from kinlearn._kernels._random import stream_state
from kinlearn._kernels.trees.extra._grow_forest import (
    Workspace,
    bootstrap_counts,
    grow_tree,
)
from kinlearn.tasks import TaskData
from kinlearn.trees.extra._model import Forest
from kinlearn.utils import as_float32

__all__ = [
    "Growth",
    "Labels",
    "Settings",
    "Units",
    "draw_rows",
    "exact_integers",
    "exact_unit",
    "grow_trees",
    "leaf_sums",
    "smooth_leaves",
    "spread",
    "weight_and_total",
]

_BOOTSTRAP = 3  # the number of a tree's stream that draws its rows
# X up to this size is kept both by rows and by columns: 0.85 of the time at
# 100,000 x 50. Larger X is not copied as a whole: trees copy the rows of a branch when
# it has become small enough.
_BOTH_WAYS_BYTES = 64 * 2**20
_ROWS_AT_ONCE = 65_536
_FEW_ROWS = 500  # of which a tree takes less than a tenth of a millisecond
# Large nodes of it are read as bytes, if it has so many rows; and if not more features
# for each one that a node draws, or few of their bytes would ever be read. That takes
# 0.81 of the time at 1,000,000 x 50.
_BYTES_ROWS = 65_536
_BYTES_FEATURES = 32


def exact_integers(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Values as integer multiples of a unit, so that sums are exact.

    Sums of such integers do not depend on the order of the rows, so neither do the
    splits that are chosen by them. The unit is the power of two that keeps the sum
    of all magnitudes below 2**53.
    """
    unit = exact_unit(np.abs(values).sum())
    return np.rint(values / unit).astype(np.int64), unit


def exact_unit(total: float) -> float:
    """The unit of values whose magnitudes sum to `total`; see `exact_integers`."""
    return 2.0 ** (np.ceil(np.log2(total)) - 52) if total > 0 else 1.0


def _short_number(value: float) -> float:
    """A number of few digits near the value, so that differences are exact."""
    fraction, exponent = np.frexp(value)
    return float(np.ldexp(float(np.float32(fraction)), exponent))


def weight_and_total(rows: Any) -> tuple[float, float]:
    """Weight of some rows, and weighted sum of y."""
    w, y = rows.weight, rows.y
    if w is None:
        return float(len(y)), float(y.sum())
    return float(w.sum()), float((w * y).sum())


def spread(rows: Any, center: float) -> float:
    """Sum of the magnitudes of ``weight * (y - center)``."""
    apart = np.abs(rows.y - center)
    return float((apart if rows.weight is None else rows.weight * apart).sum())


@dataclass(frozen=True)
class Units:
    """What sums are integer multiples of, so that they add up in any order.

    Attributes
    ----------
    w_unit, b_unit : float
        Of weights, and of labels times weights: powers of two.
    center : float
        What is taken off numbers first: near zero, sums of squares lose nothing to a
        large mean.
    """

    w_unit: float = 1.0
    b_unit: float = 1.0
    center: float = 0.0

    @staticmethod
    def center_of(sums: Sequence[tuple[float, float]]) -> float:
        """From the weights of partitions, and their sums of y."""
        weight, total = (math.fsum(values) for values in zip(*sums, strict=True))
        return _short_number(total / weight)

    @classmethod
    def of(
        cls,
        sums: Sequence[tuple[float, float]],
        spreads: Callable[[float], Sequence[float]],
        *,
        weighted: bool,
        n_classes: int,
    ) -> Self:
        """From `weight_and_total` and `spread` of each partition."""
        w_unit = exact_unit(math.fsum(w for w, _ in sums)) if weighted else 1.0
        if n_classes > 0:
            return cls(w_unit, w_unit)
        center = cls.center_of(sums)
        return cls(w_unit, exact_unit(math.fsum(spreads(center))), center)


class Labels(NamedTuple):
    """Labels as `grow_tree` takes them."""

    y: np.ndarray | None
    number: np.ndarray | None
    b: np.ndarray | None
    w: np.ndarray | None
    w_unit: float
    b_unit: float
    n_classes: int

    @classmethod
    def of(
        cls, y: np.ndarray, weight: np.ndarray | None, n_classes: int, units: Units
    ) -> Self:
        """In given units; `n_classes` is 0 for numbers."""
        w = None if weight is None else np.rint(weight / units.w_unit).astype(np.int64)
        kept, number, b = None, None, None
        if n_classes == 0:
            apart = y - units.center
            apart = apart if weight is None else weight * apart
            number, b = y, np.rint(apart / units.b_unit).astype(np.int64)
        elif n_classes > 2 or w is None:
            kept = y
        else:
            b = w * y
        many = n_classes if n_classes > 2 else 0
        return cls(kept, number, b, w, units.w_unit, units.b_unit, many)


@dataclass(frozen=True)
class Settings:
    """How to grow, in the kernel's terms; see the estimators' parameters."""

    criterion: int
    max_features: int
    n_cuts: int
    max_depth: int
    task_split_prob: float
    task_smoothing: float
    min_weight_split: float
    min_weight_leaf: float
    min_impurity_decrease: float
    # uint8 array of shape (n_features,): which features are categories; None if none is
    categorical: Any = field(default=None, compare=False)


@dataclass(frozen=True, eq=False)
class Growth:
    """Training rows in one place, as the kernel takes them.

    Attributes
    ----------
    columns : float32 array of shape (n_features, n_samples)
        X transposed: a copy in which the values of a feature lie together, or a view.
    task : int32 array of shape (n_samples,)
        Task codes.
    y : int32 or float64 array of shape (n_samples,)
        Class codes, or numbers.
    weight : float64 array of shape (n_samples,), or None
        Weights of the rows; None is 1 for all.
    has_missing : uint8 array of shape (n_features,)
        Whether a feature has NaN.
    n_classes : int
        0 for numbers.
    n_tasks : int
        Number of tasks.
    settings : Settings
        How to grow.
    leaf_smoothing : float or None
        Weight of a leaf's value in the values for its tasks.
    by_row : float32 array of shape (n_samples, n_features), or None
        X, if the values of a row lie together and `columns` has the other order.
    feature_bytes : FeatureBytes or None
        Of large X whose rows lie together.
    known_units : Units or None
        Those of the rows of all partitions, if these are but some; None: of these rows.
    whole_weight : float
        Weight of the rows of all partitions; 0 if these are all.
    rest : object or None
        The rows in partitions that these are a sample of; see `Pilot`.
    """

    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    has_missing: np.ndarray
    n_classes: int
    n_tasks: int
    settings: Settings
    leaf_smoothing: float | None
    by_row: np.ndarray | None = None
    feature_bytes: FeatureBytes | None = None
    known_units: Units | None = None
    whole_weight: float = 0.0
    rest: Any = None

    @classmethod
    def from_data(
        cls,
        data: TaskData,
        n_classes: int,
        weight: np.ndarray | None,
        settings: Settings,
        leaf_smoothing: float | None,
    ) -> Self:
        """Lay out checked data; X is copied once at the most, if it is large."""
        X = as_float32(data.X)
        if X.itemsize not in X.strides or any(s % X.itemsize for s in X.strides):
            X = np.ascontiguousarray(X)
        columns, by_row = X.T, None
        if X.nbytes <= _BOTH_WAYS_BYTES:
            columns, by_row = np.ascontiguousarray(columns), np.ascontiguousarray(X)
        as_bytes = None
        if (
            settings.n_cuts > 0  # all cuts are found by values
            and columns.strides[1] != X.itemsize
            and len(X) >= _BYTES_ROWS
            and X.shape[1] <= _BYTES_FEATURES * settings.max_features
        ):
            as_bytes = feature_bytes(X)
            has_missing = as_bytes.has_missing
        else:
            has_missing = np.zeros(X.shape[1], dtype=np.uint8)
            for start in range(0, len(X), _ROWS_AT_ONCE):
                has_missing |= np.isnan(X[start : start + _ROWS_AT_ONCE]).any(axis=0)
        return cls(
            columns=columns,
            task=data.task,
            y=data.y,
            weight=weight,
            has_missing=has_missing,
            n_classes=n_classes,
            n_tasks=data.n_tasks,
            settings=settings,
            leaf_smoothing=leaf_smoothing,
            by_row=by_row,
            feature_bytes=as_bytes,
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows."""
        return self.whole_weight or weight_and_total(self)[0]

    def collect(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The value of ``function(rows, *args)`` of every partition: of the one."""
        return [function(self, *args)]

    def pilot_rows(self) -> "Growth":
        """The rows that pilot forests compare settings by: all."""
        return self

    def without(self, baseline: Any, settings: Settings) -> Self:
        """What a baseline leaves of y, to be grown with these settings."""
        y = baseline.take_off(self.columns, self.task, self.y)
        return replace(self, y=y, settings=settings)

    def grow(
        self, seeds: Sequence[int], *, bootstrap: bool, n_jobs: int
    ) -> Iterator[Forest]:
        """Yield trees in the order of their seeds."""
        return grow_trees(self, seeds, bootstrap=bootstrap, n_jobs=n_jobs)

    @cached_property
    def units(self) -> Units:
        """What weights and sums are multiples of; see `exact_integers`."""
        return self.known_units or Units.of(
            self.collect(weight_and_total),
            lambda center: self.collect(spread, center),
            weighted=self.weight is not None,
            n_classes=self.n_classes,
        )

    @cached_property
    def labels(self) -> Labels:
        """The labels of the kernel."""
        return Labels.of(self.y, self.weight, self.n_classes, self.units)

    def tree(
        self, seed: int, stop: np.ndarray, workspace: Workspace, bootstrap: bool = False
    ) -> Forest | None:
        """Grow one tree."""
        growth = self
        if bootstrap:
            n = len(self.y)
            drawn = draw_rows(seed, n, self.weight)
            if not drawn.any():  # only rows of no weight were drawn
                drawn = np.ones(n) if self.weight is None else self.weight
            growth = replace(self, weight=drawn)
        return growth.branch(stream_state(seed, 0), stop, workspace)

    def branch(self, key: int, stop: np.ndarray, workspace: Workspace) -> Forest | None:
        """Grow a tree from the node that has this key and these rows."""
        grown = grow_tree(
            self, self.labels, self.settings, key, self.whole_weight, stop, workspace
        )
        if grown is None:
            return None
        *of_forest, values, rows, leaf_start, cut, mean, split_class, sets = grown
        nodes, default_left, weight, impurity, exception_start, exceptions = of_forest
        of_categories = {}
        if self.settings.categorical is not None:
            of_categories = {
                "set_start": np.array([0, len(sets)]),
                "category_sets": sets,
            }
        forest = Forest(
            nodes=nodes,
            default_left=default_left,
            weight=weight,
            impurity=impurity,
            values=values,
            tree_start=np.array([0, len(nodes)]),
            leaf_start=np.array([0, len(values)]),
            split_start=np.array([0, len(cut)]),
            exception_start=exception_start,
            exceptions=exceptions,
            split_cut=cut + self.units.center,
            split_mean=mean + self.units.center,
            split_class=split_class,
            **of_categories,
        )
        if self.leaf_smoothing is None:
            return forest
        leaf = np.repeat(np.arange(len(leaf_start) - 1), np.diff(leaf_start))
        sums = leaf_sums(
            leaf,
            self.task[rows],
            self.y[rows],
            np.ones(len(rows)) if self.weight is None else self.weight[rows],
            n_each=forest.values.shape[1],
            n_tasks=self.n_tasks,
        )
        pair_leaf, task, values = smooth_leaves(
            sums, forest.values, self.n_tasks, self.leaf_smoothing
        )
        n_tasks = np.bincount(pair_leaf, minlength=len(forest.values))
        return replace(
            forest,
            own_start=np.concatenate([[0], np.cumsum(n_tasks)]).astype(np.int64),
            own_task=task,
            own_values=values,
        )


def leaf_sums(
    leaf: np.ndarray,
    task: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    n_each: int,
    n_tasks: int,
) -> dict[str, np.ndarray]:
    """Sums by leaf and task, of numbers themselves, not of multiples of a unit.

    The `key` is the leaf times the number of tasks, plus the task; `total` has a column
    for each of `n_each` classes if these are more than one.
    """
    key, place = np.unique(leaf * n_tasks + task, return_inverse=True)
    total = np.empty((len(key), n_each))
    for c in range(n_each):
        label = y == c if n_each > 1 else y
        total[:, c] = np.bincount(place, weights=weight * label)
    return {"key": key, "weight": np.bincount(place, weights=weight), "total": total}


def smooth_leaves(
    sums: dict[str, np.ndarray], values: np.ndarray, n_tasks: int, a: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leaf, task and values for each task present in a leaf that tasks share.

    A value is ``(sum of the task's labels + a * value of the leaf) / (weight of the
    task's rows + a)``. `sums` are those of `leaf_sums`.
    """
    leaf, task = np.divmod(sums["key"], n_tasks)
    of_task = (sums["total"] + a * values[leaf]) / (sums["weight"][:, None] + a)
    shared = np.bincount(leaf, minlength=len(values))[leaf] > 1
    return leaf[shared], task[shared].astype(np.int32), of_task[shared]


def draw_rows(
    seed: int, n_rows: int, weight: np.ndarray | None = None, which: slice | None = None
) -> np.ndarray:
    """How often each row is drawn for the tree of this seed, times its weight.

    Of `n_rows` rows, those of a partition: `which`, and their weights.
    """
    first, last, _ = (which or slice(None)).indices(n_rows)
    counts = np.empty(last - first, dtype=np.int64)
    bootstrap_counts(stream_state(seed, _BOOTSTRAP), n_rows, first, counts)
    return counts.astype(np.float64) if weight is None else counts * weight


def grow_trees(
    growth: Growth, seeds: Sequence[int], *, bootstrap: bool, n_jobs: int
) -> Iterator[Forest]:
    """Yield trees in the order of their seeds, grown on threads.

    The caller's thread only waits, so Ctrl-C reaches it at once; then all growth
    stops. Trees of few rows take less time than a thread's start: without others to
    work beside, the caller's thread grows them.
    """
    stop = np.zeros(1, dtype=np.int32)
    if n_jobs == 1 and len(growth.y) <= _FEW_ROWS:
        workspace = Workspace()
        for seed in seeds:
            # never None: nobody sets `stop`
            yield cast(Forest, growth.tree(seed, stop, workspace, bootstrap))
        return
    local = threading.local()

    def start() -> None:
        local.workspace = Workspace()

    def grow(seed: int) -> Any:
        return growth.tree(seed, stop, local.workspace, bootstrap)

    pool = ThreadPoolExecutor(n_jobs, initializer=start)
    try:
        waiting = [pool.submit(grow, seed) for seed in seeds]
        waiting.reverse()
        while waiting:
            yield waiting.pop().result()
    finally:
        stop[0] = 1
        pool.shutdown(cancel_futures=True)
