"""One part of the rows of a multi-task random forest, and its sums.

The features are bins here, one byte each. A part counts the cells, pairs of a task and
a label, in the bins of a feature at a node; the sums of all parts are what a split is
chosen by. It also gives away the rows of nodes that have become small, so that the rest
of their trees is grown in one place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kinlearn._kernels.trees._mt_level import count_cells, move_bins
from kinlearn.trees._binning import Bins
from kinlearn.trees._questions import Answer, Weighed

__all__ = ["BinPlan", "BinnedShare", "CellQuestion", "Piece", "Roots", "Scheme"]

N_BINS = 256

# Draws of a bootstrap sample that are made at a time.
_PORTION = 2**20


@dataclass(frozen=True, eq=False)
class Scheme(Weighed):
    """What all parts share.

    Attributes
    ----------
    bins : Bins
        Edges of the bins.
    cell_task, cell_label : int32 arrays of shape (n_cells,)
        What the cells stand for.
    bag_indptr : int64 array of shape (n_tasks + 1,)
        Draws of each task in a bootstrap sample: as many as it has rows that count.
    unit : float
        What a whole weight of 1 stands for.
    """

    bins: Bins
    cell_task: np.ndarray
    cell_label: np.ndarray
    bag_indptr: np.ndarray
    unit: float

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.bag_indptr) - 1


@dataclass(frozen=True, eq=False)
class Roots(Weighed):
    """Trees that begin: their seeds, and whether each has a bootstrap sample."""

    seeds: list
    bootstrap: bool


@dataclass(frozen=True, eq=False)
class CellQuestion(Weighed):
    """Sums by bin and cell of features at open nodes.

    Attributes
    ----------
    nodes : int array of shape (n_nodes,)
        Which of the open nodes this is about.
    tree : int32 array of shape (n_nodes,)
        Their trees.
    start : int64 array of shape (n_nodes + 1,)
        Where each node's requests begin.
    feature : int32 array
        Requested features; -1 is all rows in one bin.
    """

    nodes: np.ndarray
    tree: np.ndarray
    start: np.ndarray
    feature: np.ndarray


@dataclass(frozen=True, eq=False)
class BinPlan(Weighed):
    """The splits of all open nodes; see the kernel `move_bins`."""

    tree: np.ndarray
    feature: np.ndarray
    cut: np.ndarray
    missing_left: np.ndarray
    child: np.ndarray
    gone_start: np.ndarray
    gone: np.ndarray

    @property
    def n_opened(self) -> int:
        """Open nodes of the next level."""
        return len(self.gone_start) - 1


@dataclass(frozen=True, eq=False)
class BinPlaces(Weighed):
    """Where the rows of a part are in some trees.

    Attributes
    ----------
    order : int32 array of shape (n_trees, n_rows)
        Rows, those of an open node next to each other and ascending.
    opened : int32 array of shape (2, n_open)
        Start and end of each open node's stretch.
    counts : int32 array of shape (n_trees, n_rows), or None
        How often each row is in the tree's sample; None is once.
    """

    order: np.ndarray
    opened: np.ndarray
    counts: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Piece(Weighed):
    """Rows of some nodes, node by node.

    Attributes
    ----------
    start : int64 array of shape (n_nodes + 1,)
        Where each node's rows begin.
    lines : uint8 array of shape (n, n_features)
        Their bins.
    cells : int32 array of shape (n,)
        Their cells.
    weight : int64 array of shape (n,)
        Their weights in the tree.
    """

    start: np.ndarray
    lines: np.ndarray
    cells: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class BinnedShare(Weighed):
    """The rows of one part, as the kernels take them.

    Attributes
    ----------
    bins : uint8 array of shape (n_rows, n_features), column-major
        Bins of the features.
    cells : int32 array of shape (n_rows,)
        Pair of task and label.
    weight : int64 array of shape (n_rows,), or None
        Whole weights; None is 1.
    tasks, before : int64 arrays of shape (n_here,)
        Tasks with rows that count here, and how many such rows of each are in the
        parts before this one.
    scheme : Scheme
        What all parts share.
    """

    bins: np.ndarray
    cells: np.ndarray
    weight: np.ndarray | None
    tasks: np.ndarray
    before: np.ndarray
    scheme: Scheme

    def lay_out(self, by_rows: bool) -> None:
        """Nothing: bins are small."""

    def begin(self, roots: Roots) -> BinPlaces:
        """The rows at the roots of some trees.

        Parameters
        ----------
        roots : Roots
            The trees.

        Returns
        -------
        BinPlaces
            Their open nodes are the roots.
        """
        n, n_trees = len(self.cells), len(roots.seeds)
        counts = None
        if roots.bootstrap:
            counts = np.empty((n_trees, n), dtype=np.int32)
            draws = self._draws()
            for i, seed in enumerate(roots.seeds):
                counts[i] = draws(seed)
        order = np.zeros((n_trees, n), dtype=np.int32)
        opened = np.zeros((2, n_trees), dtype=np.int32)
        for i in range(n_trees):
            there = np.ones(n, dtype=bool) if counts is None else counts[i] > 0
            if self.weight is not None:
                there &= self.weight > 0
            rows = np.flatnonzero(there)
            order[i, : len(rows)] = rows
            opened[1, i] = len(rows)
        return BinPlaces(order, opened, counts)

    def _draws(self) -> Callable[[int], np.ndarray]:
        """A function that counts how often each row is in the sample of a seed.

        The samples are those of all rows in one place: every draw is a place among the
        rows of its task. Draws for tasks without a row here are skipped.
        """
        indptr = self.scheme.bag_indptr
        counting = np.arange(len(self.cells))
        if self.weight is not None:
            counting = np.flatnonzero(self.weight > 0)
        task = self.scheme.cell_task[self.cells[counting]]
        by_task = counting[np.argsort(task, kind="stable")]
        n_here = np.bincount(np.searchsorted(self.tasks, task), minlength=1)
        first_here = np.cumsum(n_here) - n_here

        def counts(seed: int) -> np.ndarray:
            source = np.random.PCG64(seed)  # as of default_rng
            random = np.random.Generator(source)
            drawn = np.zeros(len(counting), dtype=np.int64)
            done = 0
            for first, last in _portions(indptr, self.tasks):
                source.advance(int(first - done))
                uniform = random.random(last - first)
                done = last
                low = np.searchsorted(indptr, first, side="right") - 1
                high = np.searchsorted(indptr, last)
                length = np.diff(np.clip(indptr[low : high + 1], first, last))
                here = np.searchsorted(self.tasks, np.arange(low, high))
                place = (uniform * np.repeat(np.diff(indptr)[low:high], length)).astype(
                    np.int64
                )
                place -= np.repeat(self.before[here], length)
                mine = (place >= 0) & (place < np.repeat(n_here[here], length))
                place += np.repeat(first_here[here], length)
                drawn += np.bincount(place[mine], minlength=len(drawn))
            out = np.zeros(len(self.cells), dtype=np.int32)
            out[by_task] = drawn
            return out

        return counts

    def move(self, places: BinPlaces, plan: BinPlan) -> BinPlaces:
        """Carry out splits.

        Parameters
        ----------
        places : BinPlaces
            Before; left as it is, so that it can be done again.
        plan : BinPlan
            What happens to the open nodes.

        Returns
        -------
        BinPlaces
            Afterwards.
        """
        order = places.order.copy()
        opened = np.zeros((2, plan.n_opened), dtype=np.int32)
        move_bins(
            self.bins,
            self.cells,
            self.scheme.cell_task,
            self.scheme.n_tasks,
            order,
            tree=plan.tree,
            start=places.opened[0],
            end=places.opened[1],
            feature=plan.feature,
            cut=plan.cut,
            missing_left=plan.missing_left,
            child=plan.child,
            gone_start=plan.gone_start,
            gone=plan.gone,
            opened=opened,
        )
        return BinPlaces(order, opened, places.counts)

    def answer(self, places: BinPlaces, question: CellQuestion) -> Answer:
        """The result of a request, from the rows here.

        Parameters
        ----------
        places : BinPlaces
            Where the rows are.
        question : CellQuestion
            What the driver wants to know.

        Returns
        -------
        Answer
            Sums by request, bin and cell.
        """
        start, end = np.ascontiguousarray(places.opened[:, question.nodes])
        n_cells = len(self.scheme.cell_task)
        most = np.minimum(end - start, N_BINS * n_cells) @ np.diff(question.start)
        key, weight, rows = np.empty((3, most), dtype=np.int64)
        n = count_cells(
            self.bins,
            self.cells,
            self.weight,
            places.counts,
            places.order,
            tree=question.tree,
            start=start,
            end=end,
            request_start=question.start,
            feature=question.feature,
            n_cells=n_cells,
            key=key,
            weight=weight,
            rows=rows,
        )
        order = np.argsort(key[:n])  # runs are quick to merge
        answer = Answer(question.start)
        answer.by_group.update(key=key[order], weight=weight[order], rows=rows[order])
        return answer

    def piece(self, places: BinPlaces, job: Any) -> Piece:
        """The rows of some nodes.

        Parameters
        ----------
        places : BinPlaces
            Where the rows are.
        job : Job
            Which nodes; see ``_mt_subtrees``.

        Returns
        -------
        Piece
            Copies of the rows.
        """
        start, end = places.opened[:, job.nodes]
        stretches = [
            places.order[t, a:b] for t, a, b in zip(job.tree, start, end, strict=True)
        ]
        rows = np.concatenate(stretches)
        weight = np.ones(len(rows), np.int64)
        if self.weight is not None:
            weight = self.weight[rows]
        if places.counts is not None:
            weight = weight * places.counts[np.repeat(job.tree, end - start), rows]
        return Piece(
            start=np.concatenate([[0], np.cumsum(end - start)]),
            lines=np.ascontiguousarray(self.bins[rows]),
            cells=self.cells[rows],
            weight=weight,
        )


def _portions(indptr: np.ndarray, tasks: np.ndarray) -> Iterator[tuple[int, int]]:
    """Stretches of the draws of some tasks, ascending, none of them long."""
    for t in np.split(tasks, np.flatnonzero(np.diff(tasks) != 1) + 1):
        if len(t):
            first, last = indptr[t[0]], indptr[t[-1] + 1]
            yield from pairwise([*range(first, last, _PORTION), last])
