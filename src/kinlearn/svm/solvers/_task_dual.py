"""The dual of SVM+MTL by interior points, whatever solves their Newton systems.

The two systems, of linear kernels and of whole matrices, share how an iterate becomes
a solution that keeps all constraints, how far that is from the optimum, and the loop.

Symbols: a in [0, c] are the variables, b = sum of sign * a the coefficient of each row
(two variables for a row with a tube, one for a row with a class).
"""

import itertools
from typing import Protocol

import numpy as np

from kinlearn.svm._problem import Problem, Solution
from kinlearn.svm.solvers._interior import MAX_STEPS, InteriorPoint, NewtonSystem

__all__ = [
    "TaskSegments",
    "TaskSystem",
    "free_rows",
    "solve_interior",
    "task_violation",
]

# A variable is put on its bound if that changes its row's value by less than so many
# times its price: enough for those that are still on the way, too few for free ones.
_SNAP = 100.0
_HALVINGS = 100  # of an interval: to the last digit
_ROUNDING = 1e-14  # of a sum, by the sum of its terms' sizes
_SHORTEN = 0.9  # a multiple below which coefficients are too large


class TaskSegments:
    """The rows of a problem task by task.

    Attributes
    ----------
    has_bias : bool
        Whether coefficients sum to 0 in each task.
    segments : list of slice
        The rows of each task that has any.
    codes : int array of shape (n_segments,)
        Their codes.
    of_row : intp array of shape (n,)
        The segment of each row.
    """

    def __init__(self, problem: Problem, has_bias: bool) -> None:
        self.has_bias = has_bias
        bounds = np.searchsorted(problem.group, np.arange(problem.n_groups + 1))
        self.segments = [slice(a, b) for a, b in itertools.pairwise(bounds) if b > a]
        self.codes = problem.group[[segment.start for segment in self.segments]]
        self.of_row = np.repeat(
            np.arange(len(self.segments)),
            [segment.stop - segment.start for segment in self.segments],
        )

    def totals(self, b: np.ndarray) -> np.ndarray:
        """The sum of b in each segment."""
        return np.bincount(self.of_row, weights=b, minlength=len(self.segments))


class TaskSystem(NewtonSystem, Protocol):
    """A dual as a `NewtonSystem`, and what its solutions need.

    Attributes
    ----------
    tasks : TaskSegments
        The rows.
    sign, linear, cost : float64 arrays of shape (1 or 2, n)
        As in `Sides`.
    curvature : float64 array of shape (n,)
        By which a row's coefficient changes its own value, or what is usual.
    values : float64 array of shape (n,)
        Values of the rows at the iterate, without biases.
    """

    @property
    def tasks(self) -> TaskSegments: ...

    sign: np.ndarray
    linear: np.ndarray
    cost: np.ndarray
    curvature: np.ndarray
    values: np.ndarray

    def values_of(self, beta: np.ndarray) -> np.ndarray:
        """Values of the rows for coefficients, without biases."""

    def polish(self, problem: Problem, beta: np.ndarray) -> np.ndarray:
        """Free coefficients moved to make up for those that were put on bounds."""


def task_violation(
    problem: Problem, beta: np.ndarray, values: np.ndarray, tasks: TaskSegments
) -> tuple[float, np.ndarray]:
    """Greatest violation at coefficients, and the best bias of each task."""
    slope = values - problem.y
    eps = problem.epsilon
    rise = np.where(beta < problem.high, slope + np.where(beta >= 0, eps, -eps), np.inf)
    fall = np.where(beta > problem.low, slope + np.where(beta > 0, eps, -eps), -np.inf)
    starts = [segment.start for segment in tasks.segments]
    if not tasks.has_bias:
        return max(fall.max(), -rise.min(), 0.0), np.zeros(len(starts))
    least = np.minimum.reduceat(rise, starts)
    most = np.maximum.reduceat(fall, starts)
    free = rise == fall
    count = np.bincount(tasks.of_row, weights=free, minlength=len(starts))
    total = np.bincount(
        tasks.of_row, weights=np.where(free, -slope, 0.0), minlength=len(starts)
    )
    shift = np.where(free, np.where(beta > 0, eps, -eps), 0.0)
    total -= np.bincount(tasks.of_row, weights=shift, minlength=len(starts))
    with np.errstate(invalid="ignore"):
        middle = np.where(
            np.isinf(least),
            -most,
            np.where(np.isinf(most), -least, -(least + most) / 2),
        )
    bias = np.where(count > 0, total / np.maximum(count, 1), middle)
    return max((most - least).max(), 0.0), bias


def solve_interior(
    problem: Problem, system: TaskSystem, tol: float, max_iter: int
) -> Solution:
    """Take steps until a solution is found.

    Parameters
    ----------
    problem : Problem
        What to solve.
    system : TaskSystem
        Its matrix.
    tol : float
        Violation to stop at.
    max_iter : int
        Steps at the most; -1 is `MAX_STEPS`.

    Returns
    -------
    Solution
        What was found.
    """
    tasks = system.tasks
    prices = np.maximum(1.0, np.abs(system.linear))
    prices = np.maximum(prices, np.abs(system.values).mean())
    point = InteriorPoint(system, 0.5 * system.cost, prices, system.cost)
    limit = max_iter if max_iter >= 0 else MAX_STEPS
    found = []
    for n_iter in range(limit + 1):
        beta = _coefficients(system, point)
        if task_violation(problem, beta, system.values, tasks)[0] <= tol:
            found.append(_solution(problem, system, beta, n_iter, tol))
            if found[-1].converged:
                return found[-1]
        stalled = n_iter < limit and not point.step()
        if stalled:
            break
    found.append(_solution(problem, system, beta, n_iter, tol, stalled))
    return min(found, key=lambda solution: solution.violation)


def _coefficients(system: TaskSystem, point: InteriorPoint) -> np.ndarray:
    """The coefficient of each row from its variables, those near a bound put on it.

    A variable is near its bound if putting it there changes the row's own value by not
    much more than its price, which other rows then make up for. (A fraction of c
    would not do: where C is large, all of the solution may be less.)
    """
    a, s = distances = point.distances
    near = distances * system.curvature < _SNAP * point.prices
    a = np.where((a <= s) & near[0], 0.0, a)
    a = np.where((a > s) & near[1], system.cost, a)
    if len(a) == 2:  # a row is above its tube or below it, never both
        a = a - a.min(axis=0)
    return (system.sign * a).sum(axis=0)


def _solution(
    problem: Problem,
    system: TaskSystem,
    beta: np.ndarray,
    n_iter: int,
    tol: float,
    stalled: bool = False,
) -> Solution:
    """An iterate as a solution that keeps all constraints.

    The iterate's values and its coefficients agree only in the end, so all that is
    reported of a solution is computed from the coefficients that it has.
    """
    tasks = system.tasks
    beta = _balance(problem, tasks, system.polish(problem, beta))
    values = system.values_of(beta)
    violation, bias = task_violation(problem, beta, values, tasks)
    if violation > tol:
        # Far from the optimum all coefficients may be too large. A smaller multiple
        # keeps the constraints; it is left alone where it would gain next to nothing,
        # since it takes coefficients off their bounds.
        gain = beta @ problem.y - problem.epsilon * np.abs(beta).sum()
        factor = max(gain, 0.0) / max(beta @ values, 1e-300)
        if factor < _SHORTEN:
            beta, values = factor * beta, factor * values
            violation, bias = task_violation(problem, beta, values, tasks)
    intercept = np.zeros(problem.n_groups)
    intercept[tasks.codes] = bias
    objective = 0.5 * beta @ values - beta @ problem.y
    objective += problem.epsilon * np.abs(beta).sum()
    return Solution(
        beta,
        intercept,
        n_iter,
        float(objective),
        float(violation),
        bool(violation <= tol),
        stalled and bool(violation > tol),
    )


def free_rows(problem: Problem, beta: np.ndarray, segment: slice) -> np.ndarray:
    """Rows of a task that are at no bound and not at the corner of the tube."""
    low, high, beta = problem.low[segment], problem.high[segment], beta[segment]
    return segment.start + np.flatnonzero((beta > low) & (beta < high) & (beta != 0))


def _balance(problem: Problem, tasks: TaskSegments, beta: np.ndarray) -> np.ndarray:
    """Make coefficients sum to 0 in each task: the free ones, or if need be all."""
    beta = beta.copy()
    if not tasks.has_bias:
        return beta
    for segment in tasks.segments:
        for rows in (free_rows(problem, beta, segment), segment):
            total = beta[segment].sum()
            if abs(total) <= _ROUNDING * np.abs(beta[segment]).sum():
                break
            low, high = problem.low[rows], problem.high[rows]
            beta[rows] = _shift(beta[rows], low, high, beta[rows].sum() - total)
    return beta


def _shift(
    beta: np.ndarray, low: np.ndarray, high: np.ndarray, goal: float
) -> np.ndarray:
    """Subtract one number, within the bounds, so that the sum is `goal`."""
    left, right = (beta - high).min(initial=0.0), (beta - low).max(initial=0.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        if np.clip(beta - middle, low, high).sum() > goal:
            left = middle
        else:
            right = middle
    return np.clip(beta - right, low, high)
