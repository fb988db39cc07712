"""Where scores begin if they begin with a line: ridge regression beside the tasks.

A few Newton steps of a penalised regression with slopes that all tasks have in common,
and the tasks' intercepts beside them as random effects. Features are whole numbers
(`BinValues`), and so are gradients and curvatures, in units that leave every sum of
their products below 2^53: no order of rows changes the sums, nor do partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn._binning import in_units
from kinlearn._kernels.boosting.gradient._gradients import largest
from kinlearn.boosting.gradient._bins import FeatureBins
from kinlearn.boosting.gradient._exact import as_number, exact_sum
from kinlearn.boosting.gradient._start import (
    Gather,
    Start,
    Totals,
    find_start,
    merge_largest,
    merge_sums,
)
from kinlearn.boosting.gradient.linear_part._line import (
    STEPS_OF_ONE,
    BinValues,
    Line,
)

__all__ = ["find_start_with_line", "ridge"]

_PENALTIES = 10.0 ** np.arange(-5, 1.5, 0.5)  # in units of all curvature
# A coefficient counts as so many in the score. With 1, the plain score, few rows tend
# to penalties far too small: Kim and Gu (2004).
_PRICE = 1.4
_STEPS = 3  # of Newton, where the loss is curved; otherwise two, for the intercepts
_MOST_STEP = 4.0  # for the score of a row: steps beyond are too long for what is curved
_LEAST_GAIN = 1e-3  # of the loss: less than that is no reason for a further step
_FAR = 4.5  # typical residuals, from where on they pull a line of quantiles no more
_DIGITS = 24  # binary, of coefficients: the rest depends on how BLAS adds
_BITS_OF_SUMS = 53
_BITS_OF_VALUES = 10  # 8 deviations of 128 steps
_ROWS = 2**12  # at a time

# With linear_part="auto" there is none beyond: products, and sums by task.
_MOST_PRODUCTS = 2**27
_MOST_TASK_SUMS = 2**22


def find_start_with_line(
    gather: Gather,
    loss: Any,
    totals: Totals,
    n_tasks: int,
    bins: FeatureBins,
    settings: Any,
) -> Start:
    """Where scores begin, with a line if `settings` want it, or if it is worth it."""
    by_tasks = settings.task_values
    start = find_start(gather, loss, totals, n_tasks, by_tasks)
    wanted = settings.linear_part
    if wanted is False or totals.n_rows == 0:
        return start
    numbers = np.count_nonzero((bins.n_bins > 1) & ~bins.categorical)
    too_large = (
        totals.n * float(numbers) ** 2 * loss.n_outputs > _MOST_PRODUCTS
        or n_tasks * numbers > _MOST_TASK_SUMS
    )
    # of tasks of one row each, nothing tells slopes from levels
    no_noise = by_tasks and 1 < n_tasks >= totals.n_rows
    if numbers == 0 or (wanted == "auto" and (too_large or no_noise)):
        return start
    counts = gather.reduce(merge_sums, _bin_counts)
    values = BinValues.of(bins, counts)
    if len(values.features) == 0:
        return start
    direction = settings.direction
    fit = _LineFit(
        gather=gather,
        loss=loss,
        totals=totals,
        n_tasks=n_tasks,
        by_tasks=by_tasks and n_tasks > 1,
        values=values,
        n_features=len(bins.n_bins),
        rate=settings.learning_rate,
        direction=None if direction is None else direction[values.features],
        always=wanted is True,
    )
    return fit.start_after(start)


@dataclass(frozen=True, eq=False)
class _LineFit:
    """Rows wherever they lie, and the features of a line."""

    gather: Gather
    loss: Any
    totals: Totals
    n_tasks: int
    by_tasks: bool
    values: BinValues
    n_features: int
    rate: float
    direction: np.ndarray | None
    always: bool  # also where it promises no less error

    def start_after(self, start: Start) -> Start:
        """The start with a line, if it lowers the loss; else the one without."""
        is_checked = self.loss.is_curved or self.loss.by_quantile
        n_steps = _STEPS if self.loss.is_curved and not self.loss.by_quantile else 2
        coef = np.zeros((len(self.values.features), self.loss.n_outputs))
        best, best_loss = start, self._loss_at(start) if is_checked else np.inf
        for _ in range(n_steps):
            sums = self._sums(best)
            if sums is None:
                break
            new, gain = self._step(sums, best, coef)
            if self.loss.is_curved:
                new = self._no_further(new, coef)
            if not new.any():
                break
            found = self._start_with(new, gain)
            if is_checked:
                loss = self._loss_at(found)
                if not loss < best_loss:
                    break
                small = best_loss - loss < _LEAST_GAIN * abs(best_loss)
                best_loss = loss
            best, coef = found, new
            if is_checked and small:
                break
        if best.line is None or not self.by_tasks:
            return best
        return self._shortened(best, coef)

    def _start_with(self, coef: np.ndarray, gain: np.ndarray) -> Start:
        line = self.values.line(coef, gain, self.n_features)
        return find_start(
            self.gather, self.loss, self.totals, self.n_tasks, self.by_tasks, line
        )

    def _loss_at(self, start: Start) -> float:
        return self.loss.value_of(self.gather.reduce(merge_sums, _values, start))

    # ------------------------------------------------------------ Newton steps

    def _units(self, start: Start, far: float) -> list[tuple[float, float]] | None:
        """What gradients and curvatures are multiples of; None if there are none."""
        most = self.gather.reduce(merge_largest, _largest, start, far)
        if not np.isfinite(most).all():
            return None
        total = self.totals.mean_weight * self.totals.n_rows
        bits = _BITS_OF_SUMS - 1 - _BITS_OF_VALUES
        return [
            (_unit(g * total, bits), _unit(h * total, bits - _BITS_OF_VALUES))
            for _, g, h in most
        ]

    def _sums(self, start: Start) -> list[Any] | None:
        """Sums over rows of each output; None if there is nothing to learn."""
        far = self._far(start)
        if not far > 0:
            return None
        units = self._units(start, far)
        if units is None:
            return None
        return self.gather.reduce(
            _merge_outputs, _line_sums, start, far, units, self.values
        )

    def _far(self, start: Start) -> float:
        """Beyond which residuals pull no more; infinite, but for quantiles."""
        if not self.loss.by_quantile:
            return np.inf
        unit = self.totals.weight_unit
        return _FAR * float(self.gather.quantiles(0.5, 1, _sizes, start, unit)[0])

    def _step(
        self, sums: Sequence[Any], start: Start, coef: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients after a Newton step, and what each feature gains."""
        new = np.zeros_like(coef)
        gain = np.zeros(len(coef))
        for k, (count, squares, of_task, gram, moment) in enumerate(sums):
            if count < 2:
                continue
            gram, moment, total, free = _beside_tasks(
                gram,
                moment,
                as_number(squares),
                of_task,
                start.intercepts[:, k],
                start.penalty[k],
            )
            total += coef[:, k] @ (2 * moment + gram @ coef[:, k])
            moment = moment + gram @ coef[:, k]
            n_free = count - 1 - free
            scale = of_task[:, 1].sum() * STEPS_OF_ONE**2
            new[:, k] = self._ridge(gram, moment, total, n_free, scale)
            # as trees would have gained it, a part in each round
            gain += new[:, k] ** 2 * np.diag(gram) / (2 * self.rate * (2 - self.rate))
        return new, gain

    def _no_further(self, new: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Coefficients of a step that is not too long for any row."""
        nothing = np.zeros(len(new))
        line = self.values.line(new - coef, nothing, self.n_features)
        length = self.gather.reduce(merge_largest, _longest, line)
        part = np.minimum(1.0, _MOST_STEP / np.maximum(length, _MOST_STEP))
        return np.where(part < 1, _rounded(coef + part * (new - coef)), new)

    def _ridge(
        self,
        gram: np.ndarray,
        moment: np.ndarray,
        total: float,
        n_free: float,
        scale: float,
    ) -> np.ndarray:
        """Coefficients that keep to the directions of features."""
        some = np.ones(len(moment), dtype=bool)
        while True:
            found = np.zeros(len(moment))
            found[some] = ridge(
                gram[np.ix_(some, some)],
                moment[some],
                total,
                n_free,
                scale,
                self.always,
            )
            if self.direction is None:
                return found
            against = found * self.direction < 0
            if not against.any():
                return found
            some &= ~against

    # --------------------------------------------------------- tasks that differ

    def _shortened(self, start: Start, coef: np.ndarray) -> Start:
        """The line as long as it is in the mean of the tasks, if they differ.

        A task of many rows must not show a line to tasks that do not have it.
        """
        far = self._far(start)
        units = self._units(start, far)
        if units is None:
            return start
        sums = self.gather.reduce(
            _merge_outputs, _along_sums, start, far, units, _spans(start.line)
        )
        lengths, penalty = np.array([_mean_length(*each) for each in sums]).T
        if (lengths < 1).any():
            if not (coef * lengths).any():
                return find_start(
                    self.gather, self.loss, self.totals, self.n_tasks, self.by_tasks
                )
            gain = start.line.gain[self.values.features] * lengths.mean() ** 2
            start = self._start_with(_rounded(coef * lengths), gain)
        return replace(start, line=replace(start.line, penalty=penalty))


def _beside_tasks(
    gram: np.ndarray,
    moment: np.ndarray,
    total: float,
    of_task: np.ndarray,
    intercepts: np.ndarray,
    penalty: float,
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Least squares beside a constant, and intercepts with their penalty.

    Returns products of the features, and of these with what is unexplained, the square
    of that, and how many coefficients the intercepts count as.
    """
    g, h, s = of_task[:, 0], of_task[:, 1], of_task[:, 2:]
    left = h * intercepts - g  # of each task, with its intercept taken off no more
    moment = moment + intercepts @ s
    total += intercepts @ (left - g)
    share = 1 / (h + penalty) if np.isfinite(penalty) else np.zeros_like(h)
    share = np.where(h > 0, share, 0.0)
    gram = gram - (s.T * share) @ s
    moment = moment - (share * left) @ s
    total -= share @ left**2
    h0, s0 = (h - share * h**2).sum(), s.sum(axis=0) - (share * h) @ s
    left0 = (left - share * h * left).sum()
    if h0 > 0:
        gram = gram - np.outer(s0, s0) / h0
        moment = moment - s0 * (left0 / h0)
        total -= left0**2 / h0
    return gram, moment, total, float(share @ h)


def ridge(
    gram: np.ndarray,
    moment: np.ndarray,
    total: float,
    n_free: float,
    scale: float,
    always: bool = False,
) -> np.ndarray:
    """Coefficients of the penalty with the least error by generalised cross-validation.

    Parameters
    ----------
    gram, moment : float64 arrays
        Products of features with each other, and with targets.
    total : float
        Squares of the targets.
    n_free : float
        Rows, less what else is estimated from them.
    scale : float
        The square of a typical feature, which penalties are multiples of.
    always : bool, default=False
        Whether to take it also where no coefficients at all have less error.

    Returns
    -------
    float64 array
        The coefficients, rounded to 24 binary digits.
    """
    nothing = np.zeros(len(moment))
    if not (n_free > 0 and total > 0 and scale > 0):
        return nothing
    value, vector = np.linalg.eigh(gram)
    value = np.maximum(value, 0.0)
    along = vector.T @ moment
    best, least = nothing, np.inf if always else total / n_free**2
    for penalty in _PENALTIES * scale:
        coef = along / (value + penalty)
        left = n_free - _PRICE * (value / (value + penalty)).sum()
        if left <= 0:
            continue
        error = (total - 2 * coef @ along + value @ coef**2) / left**2
        if error < least:
            least, best = error, vector @ coef
    return _rounded(best)


def _mean_length(count: int, squares: int, of_task: np.ndarray) -> tuple[float, float]:
    """The mean slope of the tasks along the line, and the penalty on departures.

    As random effects; 1 at the most, and without departures where tasks do not differ
    by more than chance.
    """
    g, h, of_h, of_g, of_square = of_task.T
    mean = np.divide(of_h, h, out=np.zeros_like(h), where=h > 0)
    curvature = of_square - mean * of_h
    some = curvature > 1e-9 * curvature.max(initial=0.0)
    curvature = curvature[some]
    if len(curvature) < 2:
        return 1.0, np.inf
    slope = 1 - (of_g - mean * g)[some] / curvature
    noise = as_number(squares) / count
    total = curvature.sum()
    spread = curvature @ (slope - curvature @ slope / total) ** 2
    free = total - (curvature**2).sum() / total
    variance = (spread - (len(slope) - 1) * noise) / free
    if not variance > 0:
        return 1.0, np.inf
    weight = 1 / (variance + noise / curvature)
    length = float(_rounded(np.clip(weight @ slope / weight.sum(), 0.0, 1.0)))
    return length, noise / variance * length**2


def _rounded(values: Any) -> Any:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissa, _DIGITS)), exponent - _DIGITS)


def _unit(total: float, bits: int) -> float:
    """The power of two of which `total` is less than 2^bits."""
    return 2.0 ** (np.ceil(np.log2(total)) - bits + 1) if total > 0 else 1.0


def _spans(line: Line) -> np.ndarray:
    """Of each output, no less than the most that the line adds."""
    span = np.zeros(line.table.shape[1])
    for _, table in line.tables():
        span += np.abs(table).max(axis=0)
    return span


# ------------------------------------------------------------------- of some rows


def _bin_counts(problem: Any) -> np.ndarray:
    """Rows in the bins of all features, one after another."""
    n_bins = problem.binned.features.n_bins
    counts = [
        np.bincount(problem.binned.bins[:, f], problem.n_rows, int(n) + 1)
        for f, n in enumerate(n_bins)
    ]
    return np.concatenate(counts)


def _values(problem: Any, start: Start) -> np.ndarray:
    return problem.loss.value_sums(start.scores_of(problem))


def _longest(problem: Any, line: Line) -> np.ndarray:
    """The largest magnitude of what a line adds to the rows, by output."""
    out = np.zeros((len(problem.task), line.table.shape[1]))
    line.add(problem.binned.bins, out)
    return np.abs(out).max(axis=0, initial=0.0)


def _sizes(problem: Any, start: Start, unit: float) -> Any:
    """How far targets are from scores, whole weights, and one group."""
    rows = problem.rows(0)
    left = np.abs(problem.loss.y[rows] - start.scores_of(problem)[rows, 0])
    weight = in_units(problem.loss.weight[rows], unit)
    return left, weight, np.zeros(len(rows), dtype=np.intp)


def _derivatives(
    problem: Any, start: Start, far: float
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients and curvatures; of quantiles, those of squares of near residuals."""
    loss, scores = problem.loss, start.scores_of(problem)
    if not loss.by_quantile:
        return loss.gradients(scores)
    g = loss.weight * np.clip(scores[:, 0] - loss.y, -far, far)
    return g[None], loss.weight[None] + 0.0


def _largest(problem: Any, start: Start, far: float) -> np.ndarray:
    pairs = zip(*_derivatives(problem, start, far), strict=True)
    return np.array([largest(*pair, problem.loss.weight) for pair in pairs])


def _whole(values: np.ndarray, n_rows: np.ndarray, unit: float) -> np.ndarray:
    """In units: a row that stands for two has twice what one has."""
    return np.rint(values / n_rows / unit) * n_rows


@dataclass(frozen=True, eq=False)
class _Whole:
    """Gradients and curvatures of one output, of the rows that count."""

    rows: np.ndarray
    task: np.ndarray
    g: np.ndarray
    h: np.ndarray
    squares: int  # of gradients over curvatures

    @classmethod
    def of(
        cls, problem: Any, output: int, g: np.ndarray, h: np.ndarray, units: Any
    ) -> "_Whole":
        """With rows of a task together."""
        rows = problem.rows(output)
        rows = rows[np.argsort(problem.task[rows], kind="stable")]
        n_rows = problem.n_rows[rows]
        g, h = g[rows], h[rows]
        over = np.divide(g**2, h, out=np.zeros_like(g), where=h > 0)
        return cls(
            rows=rows,
            task=problem.task[rows],
            g=_whole(g, n_rows, units[0]),
            h=_whole(h, n_rows, units[1]),
            squares=exact_sum(over) if len(rows) else 0,
        )

    def by_task(self, some: slice, columns: np.ndarray, sums: np.ndarray) -> None:
        """Add columns of some rows to the sums of their tasks."""
        task = self.task[some]
        first = np.flatnonzero(np.append(True, task[1:] != task[:-1]))
        sums[task[first]] += np.add.reduceat(columns, first, axis=0)


def _line_sums(
    problem: Any, start: Start, far: float, units: Any, values: BinValues
) -> list[Any]:
    """Of each output: rows, squares, sums by task, and products of features."""
    g, h = _derivatives(problem, start, far)
    m, found = len(values.features), []
    for k, unit in enumerate(units):
        whole = _Whole.of(problem, k, g[k], h[k], unit)
        of_task = np.zeros((problem.n_tasks, m + 2))
        gram, moment = np.zeros((m, m)), np.zeros(m)
        for first in range(0, len(whole.rows), _ROWS):
            some = slice(first, first + _ROWS)
            x = values.rows(problem.binned.bins[whole.rows[some]])
            weighted = x * whole.h[some, None]
            gram += weighted.T @ x
            moment -= whole.g[some] @ x
            columns = np.column_stack([whole.g[some], whole.h[some], weighted])
            whole.by_task(some, columns, of_task)
        scale = np.append([unit[0], unit[1]], np.full(m, unit[1]))
        count = int(problem.n_rows[whole.rows].sum())
        found.append(
            [count, whole.squares, of_task * scale, gram * unit[1], moment * unit[0]]
        )
    return found


def _along_sums(
    problem: Any, start: Start, far: float, units: Any, spans: np.ndarray
) -> list[Any]:
    """Of each output: rows, squares, and sums by task along the line."""
    g, h = _derivatives(problem, start, far)
    line = np.zeros((len(problem.task), len(units)))
    start.line.add(problem.binned.bins, line)
    found = []
    for k, unit in enumerate(units):
        whole = _Whole.of(problem, k, g[k], h[k], unit)
        per = spans[k] / 2**_BITS_OF_VALUES or 1.0
        along = np.rint(line[whole.rows, k] / per)
        columns = [whole.g, whole.h, whole.h * along]
        columns += [whole.g * along, whole.h * along**2]
        of_task = np.zeros((problem.n_tasks, len(columns)))
        if len(along):
            whole.by_task(slice(None), np.column_stack(columns), of_task)
        scale = [unit[0], unit[1], unit[1] * per, unit[0] * per, unit[1] * per**2]
        count = int(problem.n_rows[whole.rows].sum())
        found.append([count, whole.squares, of_task * np.array(scale)])
    return found


def _merge_outputs(found: Sequence[Sequence[Sequence[Any]]]) -> list[Any]:
    """Sums of each output, from several partitions."""
    return [
        [merge_sums(each) for each in zip(*outputs, strict=True)]
        for outputs in zip(*found, strict=True)
    ]
