"""The rows that are boosted: which, their weights, and their statistics for a round.

Statistics are sums of whole numbers, or extremes, so that neither the order of the rows
nor how they are divided into partitions changes anything. Weights are kept as
logarithms, so that many rounds lose nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from kinlearn._kernels.boosting.stumps._search_binary import N_LANES, fill_lanes
from kinlearn._kernels.boosting.stumps._search_binary import histogram as sign_histogram
from kinlearn._kernels.boosting.stumps._search_multiclass import (
    LabelWeights,
    task_sums,
)
from kinlearn._kernels.boosting.stumps._search_multiclass import (
    histogram as label_histogram,
)
from kinlearn._kernels.boosting.stumps._stumps import Cells, send_rows
from kinlearn._partitions import Weighed
from kinlearn.boosting._start_weights import row_weights, start_weights
from kinlearn.boosting.stumps._model import Node
from kinlearn.tasks import LabelSets
from kinlearn.utils import group_rows

__all__ = [
    "MOST_WHOLE",
    "BoostedRows",
    "LogWeights",
    "RoundRows",
    "Scale",
    "Sums",
    "TableRows",
    "exact_parts",
    "exact_total",
    "split_weights",
]

# Integer weights with a larger sum are not counted as repeated rows.
MOST_WHOLE = 2.0**28


def exact_parts(values: np.ndarray) -> tuple[int, int]:
    """A sum that does not depend on the order of the numbers, as two whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting.stumps._rows import exact_parts, exact_total
    >>> values = np.array([0.1, 1e-14, 0.9])
    >>> exact_total(*exact_parts(values)) == exact_total(*exact_parts(values[::-1]))
    True
    """
    fine = values * 2.0**30
    high = np.floor(fine)
    low = np.rint((fine - high) * 2.0**30)
    return int(high.astype(np.int64).sum()), int(low.astype(np.int64).sum())


def exact_total(high: int, low: int) -> float:
    """The sum of what `exact_parts` gave, perhaps of several partitions together."""
    return ((int(high) << 30) + int(low)) / (1 << 60)


@dataclass(frozen=True, eq=False)
class BoostedRows:
    """Rows of the tasks that have something to learn, in the order of the tasks.

    Rows of weight 0 are left out, and tasks with one class, which is predicted.
    """

    tasks: np.ndarray  # (n_boosted,) codes of the tasks that are boosted
    indptr: np.ndarray  # (n_boosted + 1,) boundaries of these tasks in the rows
    order: np.ndarray  # (n,) numbers of the rows in the data
    label: np.ndarray  # (n,) class of each row, counted within its task
    start: np.ndarray  # (n,) weights to begin with, which sum to one
    # (n,) how many rows each stands for; all one if weights are not integers
    unit: np.ndarray
    n_labels: np.ndarray  # (n_boosted,) classes of each task
    # (n_weights,) whether a row has each label of its task, where it may have several;
    # then `label` means nothing
    own: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        label_sets: LabelSets,
        rows: np.ndarray,
        init: str,
        indicators: Any = None,
    ) -> Self:
        """The rows in the form in which they are boosted."""
        weight = row_weights(data)
        n_labels = np.diff(label_sets.indptr)
        fewest = 2 if indicators is None else 1
        taken = np.flatnonzero(rows & (weight > 0) & (n_labels[data.task] >= fewest))
        tasks = np.unique(data.task[taken])
        code = np.full(data.n_tasks, -1, dtype=np.int32)
        code[tasks] = np.arange(len(tasks), dtype=np.int32)
        indptr, by_task = group_rows(code[data.task[taken]], len(tasks))
        order = taken[by_task]
        task, y, weight = data.task[order], data.y[order], weight[order]
        whole = weight.sum() < MOST_WHOLE and bool((weight == np.rint(weight)).all())
        if indicators is None:
            place = np.zeros((data.n_tasks, label_sets.n_classes), dtype=np.int32)
            owner = np.repeat(np.arange(data.n_tasks), n_labels)
            place[owner, label_sets.codes] = (
                np.arange(len(owner)) - label_sets.indptr[owner]
            )
            own, label = None, place[task, y]
        else:
            own = indicators.own(label_sets, task, order)
            label = np.zeros(len(order), dtype=np.int32)
        return cls(
            tasks=tasks,
            indptr=indptr,
            order=order.astype(np.int32),
            label=label,
            start=start_weights(task, y, weight, init) if len(order) else weight,
            unit=weight if whole else np.ones(len(order)),
            n_labels=n_labels[tasks].astype(np.int32),
            own=own,
        )

    @property
    def task(self) -> np.ndarray:
        """Task code of each row."""
        return np.repeat(self.tasks, np.diff(self.indptr)).astype(np.int32)


def split_weights(
    first: np.ndarray, n_labels: np.ndarray, own: np.ndarray, whole: np.ndarray
) -> LabelWeights:
    """Weights of rows that may have several labels, as the kernels read sums.

    A row has a weight for each label of its task, which becomes two: that for the
    label, if the row has it, and that against it.
    """
    sizes = np.repeat(n_labels, np.diff(first)).astype(np.intp)
    at = np.arange(len(whole))
    label = (at - np.repeat(first[:-1], np.diff(first))) % sizes
    place = 2 * at - label + np.where(own, 0, sizes)
    weight = np.zeros(2 * len(whole))
    weight[place] = whole
    return LabelWeights(2 * first, n_labels, None, weight)


@dataclass(frozen=True)
class Scale:
    """What weights are divided by in a round."""

    peak: float  # the greatest logarithm of a weight
    total: float  # sum of all weights over the greatest


@dataclass(frozen=True, eq=False)
class LogWeights(Weighed):
    """Weights of the rows of a partition."""

    log: np.ndarray  # (n_weights,) logarithms
    # what the last round did: the sum of the weights after it as `exact_parts`, the
    # least and greatest change of a logarithm, and the greatest logarithm
    done: tuple[int, int, float, float, float]


@dataclass(frozen=True, eq=False)
class Sums(Weighed):
    """Sums of weights, by cell of the table that is searched, and by task.

    In memory each row is by itself.
    """

    cells: np.ndarray
    tasks: np.ndarray
    # of the weights in any case, whatever their label
    size: np.ndarray | None = None
    task_size: np.ndarray | None = None

    def __add__(self, other: "Sums") -> "Sums":
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return Sums(*(None if a is None else a + b for a, b in pairs))  # type: ignore[arg-type]  # sizes alone may be None


@dataclass(eq=False, kw_only=True)
class RoundRows(Weighed, ABC):
    """Rows of a partition, task by task, in rounds.

    A row has one weight if its predictions are signs (MTAA), otherwise one for each
    label of its task (MH), which stand together. Methods take the logarithms of the
    weights, which change from round to round.
    """

    indptr: np.ndarray  # (n_tasks + 1,) boundaries of the tasks in the rows
    label: np.ndarray  # (n,) labels, counted within the task
    n_labels: np.ndarray  # (n_tasks,) labels of each task
    binary: bool  # whether predictions are signs
    start: np.ndarray  # (n,) weights to begin with
    unit: np.ndarray | None  # (n_weights,) how many rows each stands for; None is one
    first: np.ndarray  # (n_tasks + 1,) where the weights of each task begin
    own: np.ndarray  # (n_weights,) whether a row has the label; for signs the second
    several: bool = False  # whether a row may have several labels

    @staticmethod
    def fields_of(
        indptr: np.ndarray,
        label: np.ndarray,
        n_labels: np.ndarray,
        binary: bool,
        start: np.ndarray,
        unit: np.ndarray | None,
        own: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """All fields, from those that have a place for each row."""
        n_rows = np.diff(indptr)
        sizes = np.ones_like(n_labels) if binary else n_labels
        of_row = np.repeat(sizes, n_rows)
        first = np.concatenate([[0], np.cumsum(n_rows * sizes)]).astype(np.intp)
        several = own is not None
        if binary:
            own = label == 1
        elif own is None:
            begin = np.cumsum(of_row) - of_row
            place = np.arange(first[-1]) - np.repeat(begin, of_row)
            own = place == np.repeat(label, of_row)
        if unit is not None:
            unit = None if (unit == 1).all() else np.repeat(unit, of_row)
        return {
            "indptr": indptr,
            "label": label,
            "n_labels": n_labels,
            "binary": binary,
            "start": start,
            "unit": unit,
            "first": first,
            "own": own,
            "several": several,
        }

    @property
    def cells(self) -> Cells:
        """The cells of the rows, sorted."""
        raise NotImplementedError

    @abstractmethod
    def cell_sums(self, weights: LogWeights, scale: Scale) -> Sums:
        """Sums of the weights, to search roots in."""

    @abstractmethod
    def left_sums(self, weights: LogWeights, scale: Scale, roots: np.ndarray) -> Sums:
        """The same of the rows on the left of roots, to search children in.

        The first axis is that of roots; signs have them by 16, on the last axis.
        """

    # -------------------------------------------------------------------- weights

    def begin(self, scores: np.ndarray | None = None) -> LogWeights:
        """Weights before the first round, perhaps after others that gave scores."""
        n_rows = np.diff(self.indptr)
        if self.binary:
            log = np.log(self.start)
        else:
            of_row = np.repeat(self.n_labels, n_rows)
            log = np.repeat(np.log(self.start / of_row), of_row)
        if scores is not None:
            if not self.binary:
                scores = scores[np.arange(scores.shape[1]) < of_row[:, None]]
            log += np.where(self.own, -scores.ravel(), scores.ravel())
        peak = float(log.max()) if len(log) else -np.inf
        return LogWeights(log, (0, 0, np.inf, -np.inf, peak))

    def mass(self, weights: LogWeights, peak: float) -> tuple[int, int]:
        """Sum of the weights over the greatest; see `exact_parts`."""
        return exact_parts(self._over_peak(weights.log, peak))

    def _over_peak(self, log: np.ndarray, peak: float) -> np.ndarray:
        return np.exp(log - peak)

    def _fractions(self, weights: LogWeights, scale: Scale) -> np.ndarray:
        """Weights that sum to one."""
        return self._over_peak(weights.log, scale.peak) / scale.total

    def _whole(self, weights: LogWeights, scale: Scale) -> np.ndarray:
        """Weights as whole numbers that sum to about 2^30, with signs, or to 2^50.

        A row of weight 2 gets twice what each of two equal rows would get, to the last
        digit, so that integer weights and repeated rows give the same model.
        """
        fraction, whole = self._fractions(weights, scale), 2.0**50
        if self.binary:
            whole = 2.0**30
        if self.unit is None:
            out = np.rint(fraction * whole)
        else:
            out = np.rint(fraction / self.unit * whole) * self.unit
        if self.binary:
            return np.where(self.own, out, -out).astype(np.int32)
        return out

    def move(
        self,
        weights: LogWeights,
        scale: Scale,
        nodes: Sequence[Node | None],
        idle: float,
    ) -> LogWeights:
        """The weights after a round, which adds `idle` where the stump abstains."""
        if not len(weights.log):
            return weights
        change = np.full(len(weights.log), idle)
        for node, predicted, left in self._predicted(nodes):
            place = slice(self.first[node.task], self.first[node.task + 1])
            vote = np.where(left[:, None], *node.values)
            signed = np.where(self.own[place].reshape(vote.shape), -vote, vote)
            moved = predicted[:, None] & (vote != 0)
            np.copyto(change[place].reshape(vote.shape), signed, where=moved)
        log = weights.log + change
        high, low = exact_parts(self._fractions(weights, scale) * np.exp(change))
        extremes = float(change.min()), float(change.max()), float(log.max())
        return LogWeights(log, (high, low, *extremes))

    def _predicted(
        self, nodes: Sequence[Any]
    ) -> Iterator[tuple[Node, np.ndarray, np.ndarray]]:
        """(node, which rows of its task it predicts, which of them go left)."""
        root, cells = nodes[0], self.cells
        side = np.empty(len(self.label), dtype=np.uint8)
        for at, node in enumerate(nodes):
            if node is None or node.task < 0:
                continue
            rows = slice(self.indptr[node.task], self.indptr[node.task + 1])
            predicted = np.ones(rows.stop - rows.start, dtype=bool)
            if at:
                send_rows(cells, *root.test, node.task, side)
                predicted = side[rows] == (at == 1)
            send_rows(cells, *node.test, node.task, side)
            yield node, predicted, side[rows] == 1

    # ----------------------------------------------------------------- statistics

    def histograms(
        self,
        weights: LogWeights,
        scale: Scale,
        root: np.ndarray,
        wanted: Sequence[tuple[int, int, int]],
    ) -> np.ndarray:
        """Sums by bin below a root, for each (task, feature, branch) that is wanted.

        Branch 1 is the left one, 0 the right one, and -1 is both. The sums are those
        that `best_cut` takes.
        """
        cells, whole = self.cells, self._whole(weights, scale)
        width = 1 if self.binary else 2 * int(self.n_labels.max())
        out = np.zeros((len(wanted), 256, width + 2))
        side, bins = np.empty((2, len(self.label)), dtype=np.uint8)
        test = [int(root[name][0]) for name in ("feature", "cut", "missing_left")]
        labels = whole if self.binary else self._labels(whole)
        fill = sign_histogram if self.binary else label_histogram
        for sums, (task, feature, branch) in zip(out, wanted, strict=True):
            if branch >= 0:
                send_rows(cells, *test, task, side)
            fill(cells, task, feature, labels, side, branch, bins, sums)
        return out

    def _labels(self, whole: np.ndarray) -> LabelWeights:
        if not self.several:
            return LabelWeights(self.first, self.n_labels, self.label, whole)
        return split_weights(self.first, self.n_labels, self.own, whole)

    def _task_sums(self, whole: np.ndarray, side: np.ndarray | None) -> np.ndarray:
        """Weights by task: for each label, then against each."""
        out = np.zeros((len(self.n_labels), 2 * int(self.n_labels.max())))
        task_sums(self.cells, self._labels(whole), side, out)
        return out

    def _by_task(self, values: np.ndarray) -> np.ndarray:
        """Sums of the stretches of each task."""
        out = np.zeros((len(self.n_labels), *values.shape[1:]), dtype=values.dtype)
        there = self.indptr[:-1] < self.indptr[1:]
        out[there] = np.add.reduceat(values, self.indptr[:-1][there], axis=0)
        return out

    def _left(self, root: np.void) -> np.ndarray:
        """1 for the rows on the left of a root."""
        side = np.empty(len(self.label), dtype=np.uint8)
        test = (int(root[name]) for name in ("feature", "cut", "missing_left"))
        send_rows(self.cells, *test, -1, side)
        return side


@dataclass(eq=False, kw_only=True)
class TableRows(RoundRows):
    """All rows, in memory: the search reads them one by one, and nothing is summed."""

    table: Cells
    lanes: np.ndarray  # memory for weights on the left of roots

    def __post_init__(self) -> None:
        self._last: dict[str, tuple[Any, np.ndarray]] = {}

    @classmethod
    def of(cls, rows: BoostedRows, cells: Cells, binary: bool) -> Self:
        """Rows of one table."""
        names = ("indptr", "label", "n_labels", "start", "unit", "own")
        fields = {name: getattr(rows, name) for name in names}
        n = len(rows.order) if binary else 0
        return cls(
            **cls.fields_of(**fields, binary=binary),
            table=cells,
            lanes=np.empty((n, N_LANES), dtype=np.int32),
        )

    @property
    def cells(self) -> Cells:
        return self.table

    # What a round needs several times is computed once.

    def _once(self, name: str, key: Any, compute: Callable[[], np.ndarray]) -> Any:
        if self._last.get(name, (None,))[0] is not key:
            self._last[name] = key, compute()
        return self._last[name][1]

    def _over_peak(self, log: np.ndarray, peak: float) -> np.ndarray:
        return self._once("log", log, lambda: RoundRows._over_peak(self, log, peak))

    def _fractions(self, weights: LogWeights, scale: Scale) -> np.ndarray:
        return self._once(
            "fraction", scale, lambda: RoundRows._fractions(self, weights, scale)
        )

    def _whole(self, weights: LogWeights, scale: Scale) -> np.ndarray:
        return self._once(
            "whole", scale, lambda: RoundRows._whole(self, weights, scale)
        )

    def cell_sums(self, weights: LogWeights, scale: Scale) -> Sums:
        whole = self._whole(weights, scale)
        if self.binary:
            size = np.abs(whole)
            tasks, task_size = (
                np.add.reduceat(each, self.indptr[:-1], dtype=np.int32)
                for each in (whole, size)
            )
            return Sums(whole, tasks, size, task_size)
        tasks = self._task_sums(whole, None)
        per_row = np.repeat(self.n_labels, np.diff(self.indptr))
        size = np.add.reduceat(whole, np.cumsum(per_row) - per_row)
        return Sums(whole, tasks, size, tasks.sum(axis=1))

    def left_sums(self, weights: LogWeights, scale: Scale, roots: np.ndarray) -> Sums:
        whole = self._whole(weights, scale)
        if self.binary:  # no more than 16 roots are requested
            tasks = np.empty((1, len(self.n_labels), N_LANES), dtype=np.int32)
            fill_lanes(self.cells, roots, whole, self.lanes, tasks[0])
            return Sums(self.lanes[None], tasks)
        side = self._left(roots[0])  # and one here
        return Sums(side[None], self._task_sums(whole, side)[None])
