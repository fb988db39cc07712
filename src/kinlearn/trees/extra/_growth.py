"""From checked data to grown trees: labels as integers, seeds, threads."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kinlearn._kernels._random import fill_below, stream_state
from kinlearn._kernels.trees.extra._grow_forest import Workspace, grow_tree
from kinlearn.tasks import TaskData
from kinlearn.trees.extra._feature_bytes import Codes, code_features
from kinlearn.trees.extra._model import Forest
from kinlearn.utils import as_float32

__all__ = [
    "Growth",
    "Settings",
    "bootstrap_counts",
    "exact_integers",
    "exact_unit",
    "grow_trees",
    "short_number",
    "unit_labels",
]

_BOOTSTRAP = 3  # the number of a tree's stream that draws its rows
# X up to this size is kept both by rows and by columns. Larger X is not copied as a
# whole: trees copy the rows of a branch when it has become small enough.
_BOTH_WAYS_BYTES = 64 * 2**20
_ROWS_AT_ONCE = 65_536
# Large nodes of it are read through codes, if it has so many rows; and if not more
# features for each one that a node draws, or few of their codes would ever be read.
_CODED_ROWS = 65_536
_CODED_FEATURES = 32


def exact_integers(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Values as integer multiples of a unit, so that sums are exact.

    Sums of such integers do not depend on the order of the rows, so neither do the
    splits that are chosen by them. The unit is the power of two that keeps the sum
    of all magnitudes below 2**53.
    """
    unit = exact_unit(np.abs(values).sum())
    return np.rint(values / unit).astype(np.int64), unit


def unit_labels(
    y: np.ndarray,
    weight: np.ndarray | None,
    n_classes: int,
    *,
    w_unit: float,
    b_unit: float,
    center: float,
) -> dict[str, np.ndarray | None]:
    """`y`, `number`, `b` and `w` as `grow_tree` takes them, in given units.

    `center` is taken off numbers: near zero, sums of squares lose nothing to a large
    mean.
    """
    w = None if weight is None else np.rint(weight / w_unit).astype(np.int64)
    labels = {"y": None, "number": None, "b": None, "w": w}
    if n_classes == 0:
        spread = y - center
        spread = spread if weight is None else weight * spread
        labels["number"] = y
        labels["b"] = np.rint(spread / b_unit).astype(np.int64)
    elif n_classes > 2 or w is None:
        labels["y"] = y
    else:
        labels["b"] = w * y
    return labels


def short_number(value: float) -> float:
    """A number of few digits near the value, so that differences are exact."""
    fraction, exponent = np.frexp(value)
    return np.ldexp(float(np.float32(fraction)), exponent)


def exact_unit(total: float) -> float:
    """The unit of values whose magnitudes sum to `total`; see `exact_integers`."""
    return 2.0 ** (np.ceil(np.log2(total)) - 52) if total > 0 else 1.0


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
    """Training rows as the kernel takes them.

    Attributes
    ----------
    columns : float32 array of shape (n_features, n_samples)
        X transposed: a copy in which the values of a feature lie together, or a view.
    by_row : float32 array of shape (n_samples, n_features), or None
        X, if the values of a row lie together and `columns` has the other order.
    codes : Codes or None
        Of large X whose rows lie together.
    has_missing : uint8 array of shape (n_features,)
        Whether a feature has NaN.
    y : int32 or float64 array of shape (n_samples,)
        Class codes, or numbers.
    n_classes : int
        0 for numbers.
    weight : float64 array of shape (n_samples,), or None
        Weights of the rows; None is 1 for all.
    task : int32 array of shape (n_samples,)
        Task codes.
    n_tasks : int
        Number of tasks.
    settings : Settings
        How to grow.
    leaf_smoothing : float or None
        Weight of a leaf's value in the values for its tasks.
    """

    columns: np.ndarray
    by_row: np.ndarray | None
    codes: Codes | None
    has_missing: np.ndarray
    y: np.ndarray
    n_classes: int
    weight: np.ndarray | None
    task: np.ndarray
    n_tasks: int
    settings: Settings
    leaf_smoothing: float | None

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
        codes = None
        if (
            columns.strides[1] != X.itemsize
            and len(X) >= _CODED_ROWS
            and X.shape[1] <= _CODED_FEATURES * settings.max_features
        ):
            codes = code_features(X)
            has_missing = codes.has_missing
        else:
            has_missing = np.zeros(X.shape[1], dtype=np.uint8)
            for start in range(0, len(X), _ROWS_AT_ONCE):
                has_missing |= np.isnan(X[start : start + _ROWS_AT_ONCE]).any(axis=0)
        return cls(
            columns=columns,
            by_row=by_row,
            codes=codes,
            has_missing=has_missing,
            y=data.y,
            n_classes=n_classes,
            weight=weight,
            task=data.task,
            n_tasks=data.n_tasks,
            settings=settings,
            leaf_smoothing=leaf_smoothing,
        )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def total_weight(self) -> float:
        """Sum of the rows' weights."""
        return self.n_samples if self.weight is None else self.weight.sum()

    @cached_property
    def center(self) -> Any:
        """What is taken off numbers before they are summed."""
        if self.n_classes > 0:
            return np.float32(0)
        return short_number(np.average(self.y, weights=self.weight))

    @cached_property
    def labels(self) -> dict[str, Any]:
        """The label arrays of the kernel; see `grow_tree`."""
        units = self.units
        return {
            **unit_labels(
                self.y, self.weight, self.n_classes, **units, center=self.center
            ),
            **units,
            "n_classes": self.n_classes if self.n_classes > 2 else 0,
        }

    @property
    def units(self) -> dict[str, float]:
        """What weights and sums are multiples of; see `exact_integers`."""
        w_unit = 1.0 if self.weight is None else exact_unit(self.weight.sum())
        if self.n_classes > 0:
            return {"w_unit": w_unit, "b_unit": w_unit}
        spread = np.abs(self.y - self.center)
        spread = spread if self.weight is None else self.weight * spread
        return {"w_unit": w_unit, "b_unit": exact_unit(spread.sum())}

    @property
    def _codes(self) -> dict[str, Any]:
        """The codes as the kernel takes them."""
        if self.codes is None:
            return {"codes": None, "lowest": None, "highest": None}
        return vars(self.codes)

    def tree(
        self, seed: int, stop: np.ndarray, workspace: Workspace, bootstrap: bool = False
    ) -> Forest | None:
        """Grow one tree."""
        growth = self
        if bootstrap:
            counts = bootstrap_counts(seed, self.n_samples).astype(np.float64)
            drawn = counts if self.weight is None else counts * self.weight
            if not drawn.any():  # only rows of no weight were drawn
                drawn = np.ones(self.n_samples) if self.weight is None else self.weight
            growth = replace(self, weight=drawn)
        return growth.branch(stream_state(seed, 0), stop, workspace)

    @property
    def whole_weight(self) -> float:
        """Weight of all rows of a tree, if some are elsewhere; else 0."""
        return 0.0

    def branch(self, key: int, stop: np.ndarray, workspace: Workspace) -> Forest | None:
        """Grow a tree from the node that has this key and these rows."""
        grown = grow_tree(
            self.columns,
            self.by_row,
            **self._codes,
            has_missing=self.has_missing,
            task=self.task,
            n_tasks=self.n_tasks,
            key=key,
            whole_weight=self.whole_weight,
            stop=stop,
            workspace=workspace,
            **self.labels,
            **vars(self.settings),
        )
        if grown is None:
            return None
        nodes, default_left, weight, impurity, start, exceptions, values = grown[:7]
        rows, leaf_start, cut, mean, split_class, sets = grown[7:]
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
            split_start=np.array([0, len(start) - 1]),
            exception_start=start,
            exceptions=exceptions,
            split_cut=cut + self.center,
            split_mean=mean + self.center,
            split_class=split_class,
            **of_categories,
        )
        if self.leaf_smoothing is None:
            return forest
        return self.smoothed(forest, rows, leaf_start, self.leaf_smoothing)

    def smoothed(
        self, forest: Forest, rows: np.ndarray, leaf_start: np.ndarray, a: float
    ) -> Forest:
        """Add values for each task present in a leaf that tasks share.

        A value is ``(sum of the task's labels + a * value of the leaf) / (weight of the
        task's rows + a)``. `rows` are the training rows, leaf by leaf.
        """
        n_leaves = len(leaf_start) - 1
        leaf = np.repeat(np.arange(n_leaves), np.diff(leaf_start))
        pairs, place = np.unique(
            leaf * self.n_tasks + self.task[rows], return_inverse=True
        )
        pair_leaf = pairs // self.n_tasks
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        y = self.y[rows]
        n_values = forest.values.shape[1]
        sums = np.empty((len(pairs), n_values))
        for c in range(n_values):
            label = y == c if n_values > 1 else y
            sums[:, c] = np.bincount(place, weights=weight * label)
        n = np.bincount(place, weights=weight)[:, None]
        own = (sums + a * forest.values[pair_leaf]) / (n + a)
        tasks_of_leaf = np.bincount(pair_leaf, minlength=n_leaves)
        shared = tasks_of_leaf[pair_leaf] > 1
        kept = np.where(tasks_of_leaf > 1, tasks_of_leaf, 0)
        return replace(
            forest,
            own_start=np.concatenate([[0], np.cumsum(kept)]).astype(np.int64),
            own_task=(pairs[shared] % self.n_tasks).astype(np.int32),
            own_values=np.ascontiguousarray(own[shared]),
        )


def bootstrap_counts(seed: int, n_samples: int) -> np.ndarray:
    """How often each row is drawn for the tree of this seed."""
    drawn = np.empty(n_samples, dtype=np.int64)
    fill_below(stream_state(seed, _BOOTSTRAP), n_samples, drawn)
    return np.bincount(drawn, minlength=n_samples)


def grow_trees(
    growth: Growth, seeds: Sequence[int], *, bootstrap: bool, n_jobs: int
) -> Iterator[Forest]:
    """Yield trees in the order of their seeds, grown on threads.

    The caller's thread only waits, so Ctrl-C reaches it at once; then all growth
    stops.
    """
    stop = np.zeros(1, dtype=np.int32)
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
