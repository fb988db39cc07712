"""Where the rows of a partition are in the rounds, and requests about them.

Scores, gradients and the leaves of the trees that grow are kept in memory and changed
in place. All of it follows from the partition and the rounds so far: a partition that
is read again adds the trees of these rounds, and the round at hand begins anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn._binning import in_units
from kinlearn._kernels.boosting.gradient._gradients import largest
from kinlearn._kernels.boosting.gradient._leaf_rows import LeafRows
from kinlearn._partitions import Statistics, Weighed
from kinlearn.boosting.gradient._model import Trees
from kinlearn.boosting.gradient._rounds import Problem, Settings, Watch, drawn_rows
from kinlearn.boosting.gradient._start import Start, Units, gradient_memory
from kinlearn.boosting.gradient.partitions._quantiles import (
    KeyedRows,
    Prefixes,
    as_keys,
)

__all__ = [
    "AHEAD",
    "Children",
    "Gradients",
    "LeafResiduals",
    "Parting",
    "Roots",
    "Round",
    "RoundRows",
]

AHEAD = 2  # leaves that a tree which is grown ahead may have, for each of a tree


@dataclass(frozen=True, eq=False)
class Round(Weighed):
    """A round that was played."""

    number: int
    trees: Trees  # one for each output
    # of each output, the leaf that each of the numbered sets of rows belongs to
    leaf_of: list


class RoundRows:
    """Rows of a partition between and in rounds."""

    def __init__(
        self,
        problem: Problem,
        start: Start,
        watch: Watch | None,
        settings: Settings,
        first: int,
    ) -> None:
        self.problem, self.watch, self.settings = problem, watch, settings
        self.first = first
        self.scores = start.scores_of(problem)
        self.rows = [problem.rows(k) for k in range(problem.loss.n_outputs)]
        self.n_added = 0  # rounds that are in the scores
        self.growing = -1  # the round whose trees grow
        self.drawn: np.ndarray | None = None
        # pairs of integers, gradients and curvatures
        self.memory: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self.leaves: list[LeafRows | None] = [None] * len(self.rows)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.scores.nbytes

    # ------------------------------------------------------------------ growth

    def look_at_gradients(self, number: int) -> None:
        """Gradients of a round, and the rows it is to grow with."""
        self.growing = number
        problem = self.problem
        n, n_outputs = len(problem.task), len(self.rows)
        if self.memory is None:
            self.memory = gradient_memory(n, n_outputs)
        problem.loss.fill_gradients(self.scores, slice(0, n), *self.memory[1:])
        self.drawn = None
        if self.settings.subsample < 1:
            self.drawn = drawn_rows(self.settings, number, self.first, n)

    def begin_tree(
        self, output: int, units: Units, every: bool, max_leaves: int
    ) -> tuple[Any, Any]:
        """Bring the rows to the root of an output's tree; sums for noise and root."""
        problem, rows = self.problem, self.rows[output]
        if every:
            self.drawn = None
        if self.drawn is not None:
            rows = rows[self.drawn[rows]]
        pairs, g, h = self.memory  # type: ignore[misc]  # requests come in order
        if len(self.rows) > 1:  # trees of all outputs grow together
            pairs = np.empty_like(pairs)
        noise = units.fill(pairs, g[output], h[output], problem.n_rows, rows)
        leaves = self.leaves[output]
        if leaves is None:
            leaves = self.leaves[output] = LeafRows(
                problem.binned.bins,
                problem.binned.features.n_bins,
                problem.task,
                problem.n_tasks,
                max_leaves,
            )
        sums = np.empty(2, dtype=np.int64)
        leaves.begin(pairs, rows, sums)
        return noise, sums

    def leaf_rows(self, output: int, n_sets: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of an output's tree, and the number of the set of each."""
        start = np.empty(n_sets + 1, dtype=np.int32)
        rows = np.empty(len(self.problem.task), dtype=np.int32)
        self.leaves[output].leaf_rows(rows, start)  # type: ignore[union-attr]
        return rows[: start[-1]], np.repeat(np.arange(n_sets), np.diff(start))

    # ------------------------------------------------------------------ rounds

    def add(self, played: Round) -> None:
        """Add the trees of a round to the scores."""
        if played.number < self.n_added:
            return
        trees, problem = played.trees, self.problem
        grown = self.growing == played.number
        for k, rows in enumerate(self.rows):
            if grown:
                values, departures = trees.leaf_tables(k)
                at = played.leaf_of[k]
                leaves: Any = self.leaves[k]
                leaves.add_values(
                    values[at],
                    departures[at] if len(departures) else departures,
                    self.scores[:, k],
                )
                rows = rows[:0] if self.drawn is None else rows[~self.drawn[rows]]
            trees.add_scores(
                problem.binned.bins,
                problem.task,
                self.scores,
                rows=rows,
                first=k,
                last=k + 1,
            )
        if self.watch is not None:
            trees.add_scores(self.watch.bins, self.watch.task, self.watch.scores)
        self.n_added, self.growing = played.number + 1, -1


def _by_node(n: int, **arrays: np.ndarray) -> Statistics:
    return Statistics(np.arange(n + 1), by_node=arrays)


@dataclass(frozen=True, eq=False)
class Gradients(Weighed):
    """The largest gradients and curvatures of a round, and how many rows are drawn.

    Before that, the round before is added; and the loss of the rows that are held back
    is found.
    """

    number: int
    before: Round | None

    def look(self, rows: RoundRows) -> Statistics:
        """From the rows of a partition."""
        if self.before is not None:
            rows.add(self.before)
        rows.look_at_gradients(self.number)
        memory: Any = rows.memory
        pairs = zip(*memory[1:], strict=True)
        high = np.array([largest(*pair, rows.problem.loss.weight) for pair in pairs])
        n = 0
        if rows.drawn is not None:
            n = int(np.count_nonzero(rows.drawn & (rows.problem.n_rows > 0)))
        watched = np.zeros((len(high), 2), dtype=object)
        if rows.watch is not None:
            watched[0] = rows.watch.loss.value_sums(rows.watch.scores)
        n_drawn = np.full(len(high), n)
        return _by_node(len(high), high=high, rows=n_drawn, total=watched)


@dataclass(frozen=True)
class Roots:
    """Sums of the roots of a round's trees."""

    units: Sequence[Units]
    every: bool  # all rows count, though some were drawn
    task_sums: bool  # whether sums by task are wanted
    max_leaves: int  # of the trees that are grown ahead

    def look(self, rows: RoundRows) -> Statistics:
        """From the rows of a partition."""
        begun = [
            rows.begin_tree(k, unit, self.every, self.max_leaves)
            for k, unit in enumerate(self.units)
        ]
        noise, sums = (np.array(each) for each in zip(*begun, strict=True))
        cells, tasks = _empty(rows, len(begun), self.task_sums)
        for k in range(len(begun)):
            leaves: Any = rows.leaves[k]
            leaves.fill_leaf(0, cells[k], tasks[k])
        return _by_node(len(begun), squares=noise, total=sums, hist=cells, tasks=tasks)


def _empty(rows: RoundRows, n: int, task_sums: bool) -> tuple[np.ndarray, np.ndarray]:
    n_cells = int((rows.problem.binned.features.n_bins + 1).sum())
    n_tasks = rows.problem.n_tasks if task_sums else 0
    cells = np.empty((n, n_cells, 2), dtype=np.int64)
    return cells, np.empty((n, n_tasks, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Parting(Weighed):
    """The split of a set of rows in two, one of which is summed up."""

    output: int
    number: int  # of the set; what goes left keeps it
    other: int  # of what goes right
    summed: int  # of the two
    split: np.ndarray
    bits: np.ndarray


@dataclass(frozen=True, eq=False)
class Children(Weighed):
    """Sums of one side of each of some splits."""

    partings: Sequence[Parting]
    task_sums: bool

    def look(self, rows: RoundRows) -> Statistics:
        """From the rows of a partition."""
        n = len(self.partings)
        cells, tasks = _empty(rows, n, self.task_sums)
        for i, part in enumerate(self.partings):
            leaves: Any = rows.leaves[part.output]
            leaves.part_leaf(part.number, part.other, part.split, part.bits)
            leaves.fill_leaf(part.summed, cells[i], tasks[i])
        return _by_node(n, hist=cells, tasks=tasks)


@dataclass(frozen=True, eq=False)
class LeafResiduals(Weighed):
    """Weights of what is left of the targets, for quantiles in leaves."""

    leaf_of: np.ndarray  # the leaf of each numbered set of rows
    by_task: bool
    unit: float  # of weights
    prefixes: Prefixes

    def look(self, rows: RoundRows) -> Statistics:
        """From the rows of a partition."""
        problem, loss = rows.problem, rows.problem.loss
        at, number = rows.leaf_rows(0, len(self.leaf_of))
        group = self.leaf_of[number]
        if self.by_task:
            group = group * problem.n_tasks + problem.task[at]
        keys = as_keys(loss.y[at] - rows.scores[at, 0])
        weight: Any = in_units(loss.weight[at], self.unit)
        return KeyedRows(keys, weight, group).counted(self.prefixes)
