"""Where scores begin: the best constant, and what each task adds to it.

Everything here is made of sums, extremes and quantiles over rows that no order of
rows changes. A `Gather` gets them, from rows in one place or in partitions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, log2
from typing import Any, Protocol, Self

import numpy as np

from kinlearn._binning import in_units
from kinlearn._kernels.boosting.gradient._gradients import (
    fill_numbers,
    fill_pairs,
    largest,
)
from kinlearn.boosting.gradient._departures import departure_penalty, fraction_of
from kinlearn.boosting.gradient._exact import (
    as_number,
    exact_sum,
    exact_weight_unit,
    group_quantiles,
    weight_sums,
)
from kinlearn.utils._loaded import check_finite, check_numbers

__all__ = [
    "MOST_STEP",
    "NEWTON_STEPS",
    "Gather",
    "RowsHere",
    "Start",
    "Totals",
    "Units",
    "find_start",
    "gradient_memory",
    "merge_largest",
    "merge_sums",
]

# Bits of sums: 62 for gradients; as many for curvatures and, below them, counts.
_BITS = 62
NEWTON_STEPS = 8  # for the intercepts of tasks
_BASE_STEPS = 3  # for constants of classes beside a line
MOST_STEP = 1.0  # each, of scores that are logarithms
_ROWS = 2**16  # at a time: their gradients, and what else they take, are memory


@dataclass(frozen=True, eq=False)
class Start:
    """Where scores begin: the same for all tasks, and what each adds.

    Attributes
    ----------
    base : float64 array of shape (n_outputs,)
        The best constant scores.
    intercepts : float64 array of shape (n_tasks, n_outputs)
        Departures of the tasks, shrunken.
    penalty : float64 array of shape (n_outputs,)
        The penalty on them.
    line : Line, default=None
        A line through the features; None is none.
    lengths : float64 array of shape (n_tasks, n_outputs), default=None
        What the line is multiplied by for each task; None is 1 for all.
    """

    base: np.ndarray
    intercepts: np.ndarray
    penalty: np.ndarray
    line: Any = None
    lengths: np.ndarray | None = None

    def check(self, n_tasks: int, n_bins: np.ndarray) -> None:
        """Refuse arrays that do not fit the model, whose features have so many bins."""
        n = len(self.base)
        check_numbers("base", self.base, np.float64, (n,))
        check_numbers("intercepts", self.intercepts, np.float64, (n_tasks, n))
        check_finite("base", self.base)
        check_finite("intercepts", self.intercepts)
        check_numbers("penalty", self.penalty, np.float64, (n,))
        if self.line is not None:
            self.line.check(n_bins, n)
        if self.lengths is not None:
            check_numbers("lengths", self.lengths, np.float64, (n_tasks, n))
            check_finite("lengths", self.lengths)

    def scores(
        self, bins: np.ndarray, task: np.ndarray, offset: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores of rows before the first round; -1 is an unknown task."""
        of_task = np.vstack([self.intercepts, np.zeros(len(self.base))])
        out = self.base + of_task[task]
        if offset is not None:
            out += offset[:, None]
        if self.line is not None:
            along = np.zeros_like(out)
            self.line.add(bins, along)
            if self.lengths is not None:
                along *= np.vstack([self.lengths, np.ones(len(self.base))])[task]
            out += along
        return out

    def scores_of(self, problem: Any) -> np.ndarray:
        """The same for the rows of a problem."""
        return self.scores(problem.binned.bins, problem.task, problem.offset)


class Gather(Protocol):
    """What all rows have in common, wherever they lie."""

    def reduce(
        self, combine: Callable[[Sequence[Any]], Any], function: Any, *args: Any
    ) -> Any:
        """``combine(values)`` of ``function(problem, *args)``."""

    def quantiles(
        self, q: float, n_groups: int, function: Any, *args: Any
    ) -> np.ndarray:
        """Quantiles of groups: of values, whole weights and groups of the rows."""


class RowsHere:
    """Rows in one place."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem

    def reduce(
        self, combine: Callable[[Sequence[Any]], Any], function: Any, *args: Any
    ) -> Any:
        """See `Gather`."""
        n = len(self.problem.task)
        if n <= _ROWS:
            return function(self.problem, *args)
        blocks = [slice(i, i + _ROWS) for i in range(0, n, _ROWS)]
        return combine([function(self.problem.part(some), *args) for some in blocks])

    def quantiles(
        self, q: float, n_groups: int, function: Any, *args: Any
    ) -> np.ndarray:
        """See `Gather`."""
        values, weight, group = function(self.problem, *args)
        return group_quantiles(values, weight, group, n_groups, q)


@dataclass(frozen=True)
class Totals:
    """How many rows there are."""

    n: int  # with those that do not count
    n_rows: int  # that those which count stand for
    mean_weight: float
    weight_unit: float  # what the weights of quantiles are multiples of

    @classmethod
    def of(cls, gather: Gather) -> Self:
        """Count the rows."""
        n, n_rows, weight, n_broken = gather.reduce(merge_sums, _count)
        return cls(
            n=n,
            n_rows=n_rows,
            mean_weight=as_number(weight) / max(n_rows, 1) or 1.0,
            weight_unit=exact_weight_unit(weight, n_broken),
        )

    @property
    def bits(self) -> int:
        """As many as the count of all rows has."""
        return self.n_rows.bit_length()


@dataclass(frozen=True)
class Units:
    """What gradients and curvatures are multiples of."""

    g: float
    h: float
    bits: int
    most_g: float  # the largest magnitude of a gradient

    @classmethod
    def of(cls, most: np.ndarray, totals: Totals) -> Self:
        """From the largest gradient, and gradient and curvature by weight, of all rows.

        No sum over rows is larger than what is largest by weight, times all weight.
        """
        weight = totals.mean_weight * totals.n_rows
        return cls(
            g=_unit(most[1] * weight, _BITS),
            h=_unit(most[2] * weight, _BITS - totals.bits),
            bits=totals.bits,
            most_g=float(most[0]),
        )

    @property
    def _square(self) -> float:
        """Of squared gradients, whose sum is then no larger than that of gradients."""
        return self.most_g * self.g if self.most_g > 0 else 1.0

    def fill(
        self, pairs: np.ndarray, g: np.ndarray, h: np.ndarray, n_rows: Any, rows: Any
    ) -> np.ndarray:
        """Gradients as integers; returns whole sums that `noise` takes."""
        sums = fill_pairs(
            g,
            h,
            n_rows,
            rows,
            g_unit=self.g,
            h_unit=self.h,
            bits=self.bits,
            square_unit=self._square,
            pairs=pairs,
        )
        return np.array(sums, dtype=np.int64)

    def numbers(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and curvatures of whole sums, of shape (n, m, 2)."""
        g, h = np.empty((2, *sums.shape[:2]))
        fill_numbers(sums, g, h, g_unit=self.g, h_unit=self.h, bits=self.bits)
        return g, h

    def noise(self, sums: np.ndarray) -> float:
        """Variance of gradients, in units of the curvature."""
        squares, curvature = int(sums[0]), int(sums[1])
        if curvature <= 0:
            return 0.0
        return squares * self._square / (curvature * self.h)


def gradient_memory(
    n: int, n_outputs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Memory for pairs of integers, and for gradients and curvatures.

    Of one output, they lie where the pairs will: 16 bytes less for each row.
    """
    pairs = np.empty((n, 2), dtype=np.int64)
    if n_outputs == 1:
        g, h = pairs.view(np.float64).T[:, None]
    else:
        g, h = np.empty((2, n_outputs, n))
    return pairs, g, h


def _unit(total: float, bits: int) -> float:
    """The power of two of which `total` is less than 2^bits."""
    if not 0 < total < inf:
        return total if total == inf else 1.0
    return 2.0 ** (ceil(log2(total)) - bits + 1)


def merge_sums(arrays: Sequence[Any]) -> Any:
    """The sum."""
    return sum(arrays[1:], start=arrays[0])


def merge_largest(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The largest."""
    return arrays[0] if len(arrays) == 1 else np.max(arrays, axis=0)


# ------------------------------------------------------------------- of some rows


def _count(problem: Any) -> np.ndarray:
    counts = problem.n_rows > 0
    weight = problem.loss.weight[counts]
    n_rows = int(problem.n_rows.sum())
    return np.array([len(problem.task), n_rows, *weight_sums(weight)], dtype=object)


def _start_sums(problem: Any, line: Any) -> np.ndarray:
    if line is None:
        return problem.loss.start_sums(problem.offset)
    n = len(problem.task)
    shift = np.zeros((n, 1)) if problem.offset is None else problem.offset[:, None] + 0
    line.add(problem.binned.bins, shift)
    return problem.loss.start_sums(shift[:, 0])


def _gradients(problem: Any, start: Start) -> tuple[np.ndarray, np.ndarray]:
    return problem.loss.gradients(start.scores_of(problem))


def _largest(problem: Any, start: Start) -> np.ndarray:
    pairs = zip(*_gradients(problem, start), strict=True)
    return np.array([largest(*pair, problem.loss.weight) for pair in pairs])


def _task_sums(problem: Any, start: Start, units: Sequence[Units]) -> np.ndarray:
    """Sums of gradients, curvatures and counts, by output and task."""
    n = len(problem.task)
    pairs, g, h = gradient_memory(n, len(units))
    scores = start.scores_of(problem)
    problem.loss.fill_gradients(scores, slice(0, n), g, h)
    sums = np.zeros((len(units), 3, problem.n_tasks), dtype=np.int64)
    for k, unit in enumerate(units):
        rows = problem.rows(k)
        unit.fill(pairs, g[k], h[k], problem.n_rows, rows)
        some = slice(None) if len(rows) == n else rows  # all rows are not copied
        task = problem.task[some]
        np.add.at(sums[k, 0], task, pairs[some, 0])
        np.add.at(sums[k, 1], task, pairs[some, 1] >> unit.bits)
        np.add.at(sums[k, 2], task, problem.n_rows[some])
    return sums


def _squares_within(problem: Any, start: Start, step: np.ndarray) -> np.ndarray:
    """Squares of gradients less what the tasks' steps explain, by output."""
    g, h = _gradients(problem, start)
    out = np.empty(len(g), dtype=object)
    for k in range(len(g)):
        rows = problem.rows(k)
        some = slice(None) if len(rows) == len(problem.task) else rows
        left = g[k][some] - h[k][some] * step[k][problem.task[some]]
        out[k] = exact_sum(left**2 / problem.n_rows[some])
    return out


def _residuals(problem: Any, start: Start, unit: float, by_task: bool) -> Any:
    """What is left of the targets, whole weights, and groups."""
    rows = problem.rows(0)
    scores = start.scores_of(problem)
    left = problem.loss.y[rows] - scores[rows, 0]
    group = problem.task[rows] if by_task else np.zeros(len(rows), dtype=np.intp)
    return left, in_units(problem.loss.weight[rows], unit), group


# ----------------------------------------------------------------- of all of them


def find_start(
    gather: Gather,
    loss: Any,
    totals: Totals,
    n_tasks: int,
    task_values: bool,
    line: Any = None,
) -> Start:
    """The best constant scores, and the intercepts of the tasks, beside a line.

    `loss` may be one of no rows: those of the rows are with them.
    """
    nothing = np.zeros((n_tasks, loss.n_outputs))
    no_penalty = np.full(loss.n_outputs, np.inf)
    has_intercepts = n_tasks > 1 and task_values
    if loss.by_quantile:
        zero = Start(np.zeros(1), nothing, no_penalty, line)
        unit = totals.weight_unit
        base = gather.quantiles(loss.quantile, 1, _residuals, zero, unit, False)
        start = Start(base, nothing, no_penalty, line)
        if has_intercepts:
            (sum_g, sum_h, noise) = _by_task(gather, start, totals)[0]
            penalty = departure_penalty(sum_g[None], sum_h[None], noise)
            found = gather.quantiles(
                loss.quantile, n_tasks, _residuals, start, unit, True
            )
            intercepts = (found * fraction_of(sum_h, penalty))[:, None]
            start = Start(base, intercepts, np.array([penalty]), line)
        return start
    base = _best_base(gather, loss, totals, nothing, line)
    start = Start(base, nothing, no_penalty, line)
    penalties: list[float] | None = None
    for _ in range(NEWTON_STEPS if has_intercepts else 0):
        of_task = _by_task(gather, start, totals, with_noise=penalties is None)
        if penalties is None:
            penalties = [
                departure_penalty(sum_g[None], sum_h[None], noise)
                for sum_g, sum_h, noise in of_task
            ]
        intercepts = _newton_step(start.intercepts, of_task, penalties, loss)
        start = Start(base, intercepts, np.array(penalties), line)
        if not loss.is_curved:
            break
    return start


def _best_base(
    gather: Gather, loss: Any, totals: Totals, nothing: np.ndarray, line: Any
) -> np.ndarray:
    """The best constants, beside a line."""
    if line is None or loss.has_start_of_offset:
        return loss.start_of(gather.reduce(merge_sums, _start_sums, line))
    base = loss.start_of(gather.reduce(merge_sums, _start_sums, None))
    for _ in range(_BASE_STEPS):  # of classes: from where it is without the line
        start = Start(base, nothing, np.full(len(base), np.inf), line)
        of_task = _by_task(gather, start, totals, with_noise=False)
        g = np.array([of_g.sum() for of_g, _, _ in of_task])
        h = np.array([of_h.sum() for _, of_h, _ in of_task])
        step = np.divide(-g, h, out=np.zeros_like(g), where=h > 0)
        base = base + np.clip(step, -MOST_STEP, MOST_STEP)
    return base


def _newton_step(
    intercepts: np.ndarray, of_task: Sequence[Any], penalty: Sequence[float], loss: Any
) -> np.ndarray:
    a = intercepts.copy()
    for k, (sum_g, sum_h, _) in enumerate(of_task):
        if not np.isfinite(penalty[k]):
            continue
        below = np.maximum(sum_h + penalty[k], 1e-300)
        change = -(sum_g + penalty[k] * a[:, k]) / below
        change[sum_h == 0] = 0.0
        if loss.is_curved:
            change = np.clip(change, -MOST_STEP, MOST_STEP)
        a[:, k] += change
    return a


def _by_task(
    gather: Gather, start: Start, totals: Totals, with_noise: bool = True
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Of each output: sums of each task, and the noise within tasks.

    Levels of tasks may differ far: what counts is the noise within them.
    """
    most = gather.reduce(merge_largest, _largest, start)
    units = [Units.of(one, totals) for one in most]
    sums = gather.reduce(merge_sums, _task_sums, start, units)
    sum_g = sums[:, 0] * np.array([[unit.g] for unit in units])
    sum_h = sums[:, 1] * np.array([[unit.h] for unit in units])
    if not with_noise:
        return [(g, h, np.inf) for g, h in zip(sum_g, sum_h, strict=True)]
    step = np.divide(sum_g, sum_h, out=np.zeros_like(sum_g), where=sum_h > 0)
    squares = gather.reduce(merge_sums, _squares_within, start, step)
    found = []
    for k, count in enumerate(sums[:, 2].sum(axis=1).tolist()):
        n_free = count - np.count_nonzero(sum_h[k])
        noise = np.inf
        if n_free > 0:
            within = as_number(squares[k])
            noise = within * count / max(n_free * sum_h[k].sum(), 1e-300)
        found.append((sum_g[k], sum_h[k], noise))
    return found
