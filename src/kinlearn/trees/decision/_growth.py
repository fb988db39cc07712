"""Rows as multi-task decision trees are grown from them, and the growth.

Rows that lie in one place are bins, a cell each (the pair of task and label) and whole
weights. The kernel grows a tree of them to the end; rows in partitions come together in
the same form, node by node (:mod:`kinlearn.trees.decision.partitions`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from kinlearn._binning import (
    MAX_BINS,
    Bins,
    bin_features,
    bin_sparse,
    by_columns,
    check_cells,
    in_units,
    is_whole,
    weight_unit,
)
from kinlearn._kernels._random import stream_state
from kinlearn._kernels.trees.decision._growth import Settings, grow_tree
from kinlearn._partitions import Weighed
from kinlearn.tasks import LabelSets, TaskData, check_class_weight, check_total_weight
from kinlearn.trees._sparse import INSTEAD
from kinlearn.trees.decision._model import MultiTaskTree, tree_of
from kinlearn.utils import group_rows

__all__ = [
    "CRITERIA",
    "Rows",
    "Sampler",
    "Scheme",
    "Settings",
    "cell_factors",
    "check_tasks_weigh",
    "weighed_by_class",
    "whole_weights",
]

CRITERIA = ("joint", "sum", "max")  # in the order of the kernel's numbers

ClassWeight: TypeAlias = dict[Any, float] | Literal["balanced"] | None

# Draws of a bootstrap sample that are made at a time.
_PORTION = 2**20


@dataclass(frozen=True, eq=False)
class Scheme(Weighed):
    """What all rows have in common."""

    bins: Bins  # edges of the bins
    # int32 (n_cells,): what the cells stand for
    cell_task: np.ndarray
    cell_label: np.ndarray
    n_tasks: int
    unit: float  # what a whole weight of 1 stands for
    row_weight: float  # what a row weighs in a tree, by and large
    task_rows: np.ndarray  # int64 (n_tasks,): rows that count
    # uint8 (n_features,), or None: which features are categories
    categorical: np.ndarray | None

    @classmethod
    def of(
        cls,
        bins: Bins,
        sets: LabelSets,
        unit: float,
        task_rows: np.ndarray,
        *,
        bootstrap: bool,
        categorical: np.ndarray | None = None,
    ) -> Self:
        """The cells are the labels that are observed in each task."""
        return cls(
            bins=bins,
            cell_task=sets.owner.astype(np.int32),
            cell_label=sets.codes.astype(np.int32),
            n_tasks=sets.n_tasks,
            unit=unit,
            # a row of a bootstrap sample is there 1.6 times on average
            row_weight=(1.5 if bootstrap else 1.0) / unit,
            task_rows=task_rows,
            categorical=None if categorical is None else categorical.astype(np.uint8),
        )

    def tree(self, grown: tuple[np.ndarray, ...]) -> MultiTaskTree:
        """What the kernel has grown as a tree with real thresholds and weights."""
        return tree_of(grown, self.bins, self.unit, self.categorical)


@dataclass(frozen=True, eq=False)
class Rows(Weighed):
    """Rows in one place: all that there are, a partition, or those of a node."""

    bins: np.ndarray  # uint8 (n, n_features), column-major: bins of the features
    cells: np.ndarray  # int32 (n,): pair of task and label
    weight: np.ndarray | None  # int64 (n,), or None: whole weights; None is 1
    scheme: Scheme
    # the bins, row-major; None where no trees are grown from these rows alone
    lines: np.ndarray | None = None

    @classmethod
    def of(cls, data: TaskData, class_weight: ClassWeight, *, bootstrap: bool) -> Self:
        """Bin the features and encode the rest."""
        sets = data.label_sets.observed
        cells = (data.task_class_indptr[data.task] + data.y_in_task).astype(np.int32)
        weight, unit = whole_weights(data.sample_weight)
        if sp.issparse(data.X):
            check_cells(data.X, "a tree", INSTEAD, 2)  # columns, and lines
            bins, columns = bin_sparse(by_columns(data.X), weight, MAX_BINS)
        else:
            bins, columns = bin_features(data.X, weight)
        factor = cell_factors(
            class_weight,
            data.classes,
            sets,
            lambda: np.bincount(cells, weight, minlength=len(sets.codes)),
        )
        if factor is not None:
            weight, unit = whole_weights(
                weighed_by_class(data.sample_weight, factor, cells)
            )
        task_rows = np.bincount(
            data.task if weight is None else data.task[weight > 0],
            minlength=data.n_tasks,
        )
        check_tasks_weigh(data.tasks, task_rows)
        scheme = Scheme.of(
            bins,
            sets,
            unit,
            task_rows,
            bootstrap=bootstrap,
            categorical=data.categorical,
        )
        return cls(columns, cells, weight, scheme, np.ascontiguousarray(columns))

    def cell_weight(self) -> np.ndarray:
        """Weight of each cell; exact, as weights are whole."""
        n_cells = len(self.scheme.cell_task)
        return np.bincount(self.cells, self.weight, minlength=n_cells)

    def tree(
        self, settings: Settings, seed: int, counts: np.ndarray | None = None
    ) -> MultiTaskTree:
        """Grow one tree; `counts` says how often each row is in its sample."""
        weight = self.weight
        if weight is None:
            weight = np.ones(len(self.cells), dtype=np.int64)
        if counts is not None:
            weight = weight * counts
        least = np.ceil(settings.min_weight_fraction_leaf * weight.sum())
        grown = self.grow(settings, weight, int(least), stream_state(seed, 0))
        return self.scheme.tree(grown)

    def grow(
        self,
        settings: Settings,
        weight: np.ndarray,
        min_weight_leaf: int,
        stream: int,
        depth: int = 0,
    ) -> tuple[np.ndarray, ...]:
        """Grow a tree, or a branch of one, to the end."""
        scheme = self.scheme
        return grow_tree(
            self.bins,
            self.lines,
            scheme.bins.n_bins,
            self.cells,
            weight,
            scheme.cell_task,
            scheme.cell_label,
            scheme.n_tasks,
            settings,
            min_weight_leaf,
            stream,
            depth,
            scheme.categorical,
            scheme.row_weight,
        )


class Sampler:
    """Bootstrap samples within each task, of rows with a positive weight.

    A task has as many draws as it has such rows, here and elsewhere. Where the rows lie
    in partitions, each finds its own in the sample of all.

    Parameters
    ----------
    task : int array of shape (n,)
        Task codes of the rows here.
    weight : int array of shape (n,), or None
        Their weights.
    task_rows : int64 array of shape (n_tasks,)
        Rows that count, of each task.
    before : int64 array of shape (n_tasks_here,), default=None
        How many of them are in the partitions before this one, of the tasks that have
        such rows here. None is none.
    """

    def __init__(
        self,
        task: np.ndarray,
        weight: np.ndarray | None,
        task_rows: np.ndarray,
        before: np.ndarray | None = None,
    ) -> None:
        rows = np.arange(len(task)) if weight is None else np.flatnonzero(weight)
        first, order = group_rows(task[rows], len(task_rows))
        self.n_rows = len(task)
        self.by_task = rows[order]
        self.tasks = np.flatnonzero(np.diff(first))
        self.n_here = np.diff(first)[self.tasks]
        # what is added to a draw, a place among the rows of its task
        self.shift = first[self.tasks] - (0 if before is None else before)
        self.first = first[self.tasks]
        self.indptr = np.concatenate([[0], np.cumsum(task_rows)])

    def counts(self, seed: int) -> np.ndarray:
        """How often each row is in the sample that belongs to `seed`."""
        source = np.random.PCG64(seed)  # as of default_rng
        random = np.random.Generator(source)
        drawn = np.zeros(len(self.by_task), dtype=np.int64)
        done = 0
        for first, last in self._portions():
            source.advance(int(first - done))  # draws for tasks without a row here
            uniform = random.random(last - first)
            done = last
            low = np.searchsorted(self.indptr, first, side="right") - 1
            high = np.searchsorted(self.indptr, last)
            length = np.diff(np.clip(self.indptr[low : high + 1], first, last))
            here = np.searchsorted(self.tasks, np.arange(low, high))
            n_all = np.repeat(np.diff(self.indptr[low : high + 1]), length)
            place = (uniform * n_all).astype(np.int64)
            place += np.repeat(self.shift[here], length)
            if len(self.by_task) < self.indptr[-1]:  # some are in other partitions
                start = np.repeat(self.first[here], length)
                end = start + np.repeat(self.n_here[here], length)
                place = place[(place >= start) & (place < end)]
            drawn += np.bincount(place, minlength=len(drawn))
        out = np.zeros(self.n_rows, dtype=np.int32)
        out[self.by_task] = drawn
        return out

    def _portions(self) -> Iterator[tuple[int, int]]:
        """Stretches of the draws of the tasks here, ascending, none of them long."""
        gaps = np.flatnonzero(np.diff(self.tasks) != 1) + 1
        for tasks in np.split(self.tasks, gaps):
            if len(tasks):
                first, last = self.indptr[tasks[0]], self.indptr[tasks[-1] + 1]
                yield from pairwise([*range(first, last, _PORTION), last])


def whole_weights(weight: np.ndarray | None) -> tuple[np.ndarray | None, float]:
    """Weights as whole numbers, and what one of them stands for."""
    check_total_weight(weight)
    if weight is None:
        return None, 1.0
    unit = weight_unit(weight.sum(), is_whole(weight))
    return in_units(weight, unit), unit


def cell_factors(
    class_weight: ClassWeight,
    classes: np.ndarray,
    label_sets: LabelSets,
    cell_weight: Callable[[], np.ndarray],
) -> np.ndarray | None:
    """What the class weights multiply each pair of a task and a label by."""
    check_class_weight(class_weight)
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        of_cell = cell_weight()
        first, n_labels = label_sets.indptr[:-1], np.diff(label_sets.indptr)
        of_task = np.repeat(np.add.reduceat(of_cell, first), n_labels)
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = of_task / (np.repeat(n_labels, n_labels) * of_cell)
        return np.where(of_cell > 0, factor, 0.0)
    names = classes.tolist()
    strange = [c for c in class_weight if c not in names]
    if strange and not all(c in class_weight for c in names):
        raise ValueError(
            f"class_weight names classes that are not in y, {strange!r}, and lacks "
            f"some that are: y has {names!r}. Name the classes as in y."
        )
    return np.array([class_weight.get(c, 1.0) for c in names])[label_sets.codes]


def weighed_by_class(
    weight: np.ndarray | None, factor: np.ndarray | None, cells: np.ndarray
) -> np.ndarray | None:
    """Weights times the factors of the rows' cells; either may be None, for 1."""
    if factor is None:
        return weight
    return factor[cells] if weight is None else weight * factor[cells]


def check_tasks_weigh(tasks: np.ndarray, weight: np.ndarray) -> None:
    """Refuse tasks without a row that counts."""
    without = np.flatnonzero(weight == 0)
    if len(without):
        name = tasks.tolist()[without[0]]
        raise ValueError(
            f"Task {name!r} has no row of positive weight ({len(without)} of "
            f"{len(tasks)} tasks are like that). Drop its rows, or weight them."
        )
