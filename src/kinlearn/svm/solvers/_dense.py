"""SVM+MTL with the whole matrix, by interior points.

For problems that are small, or hard for moves of a few rows: a large C, a small
correction penalty. Every step factors a matrix of all rows, in double precision, and a
few dozen steps suffice.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kinlearn.svm._matrices import TaskKernel
from kinlearn.svm._problem import Problem, Solution
from kinlearn.svm.solvers._smo import solve_smo
from kinlearn.svm.solvers._task_dual import TaskSegments, free_rows, solve_interior

__all__ = ["solve_dense", "solve_tasks"]

# Up to so many rows: the matrix and its factor take 72 MB each.
_ROWS = 3000
# Moves before that, by the square of the rows: all steps together take as long.
_PATIENCE = 1 / 3
_LEAST_MOVES = 10  # for each row: easy problems end before
_RIDGE = 1e-14  # of the mean curvature, so that singular systems can be solved
_REFINEMENTS = 2  # of a direction, by what is left of its right side
_POLISH_RIDGE = 1e-12
_POLISH_ROUNDS = 10  # each puts rows on their bounds


class _DenseSystem:
    """The dual as a `NewtonSystem`, with the biases as multipliers.

    A variable's change is its weight's inverse times what its slope leaves, which gives
    (Q + 1 / sum of inverses) db + bias = rho / sum of inverses, with a right side rho.
    """

    n_corrections = 2  # each costs two products with the matrix, a factor many

    def __init__(self, tasks: TaskSegments, problem: Problem, Q: np.ndarray) -> None:
        self.tasks, self.Q = tasks, Q
        sides = problem.sides
        self.sign, self.linear, self.cost = sides.sign, sides.linear, sides.cost
        diagonal = np.diag(Q)
        self.curvature = diagonal + diagonal.mean()
        self.ridge = _RIDGE * max(diagonal.mean(), 1e-300)
        self.bias = np.zeros(len(tasks.segments))
        self.values = Q @ (self.sign * 0.5 * self.cost).sum(axis=0)
        self.members = np.zeros((len(Q), len(tasks.segments)))
        self.members[np.arange(len(Q)), tasks.of_row] = 1.0

    def slope(self, x: np.ndarray) -> np.ndarray:
        return self.sign * (self.values + self.bias[self.tasks.of_row]) + self.linear

    def factor(self, x: np.ndarray, weight: np.ndarray, mu: float) -> None:
        self.inverse = 1.0 / weight
        self.diagonal = 1.0 / self.inverse.sum(axis=0)
        system = self.Q.copy()
        system.flat[:: len(system) + 1] += self.diagonal + self.ridge
        self.lower = cho_factor(
            system, lower=True, overwrite_a=True, check_finite=False
        )
        if self.tasks.has_bias:
            self.by_bias = cho_solve(self.lower, self.members, check_finite=False)
            between = self.members.T @ self.by_bias
            self.between = cho_factor(between, lower=True)
        self.gap = self.tasks.totals((self.sign * x).sum(axis=0))

    def _solve(
        self, right: np.ndarray, gap: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Changes of coefficients, which sum to minus the gap by task, and biases."""
        by_beta = cho_solve(self.lower, right, check_finite=False)
        if not self.tasks.has_bias:
            return by_beta, np.zeros_like(gap)
        by_bias = cho_solve(self.between, self.tasks.totals(by_beta) + gap)
        return by_beta - self.by_bias @ by_bias, by_bias

    def direction(self, right: np.ndarray, final: bool) -> tuple[np.ndarray, Any]:
        of_row, diagonal = self.tasks.of_row, self.diagonal
        right_beta = diagonal * (self.sign * self.inverse * right).sum(axis=0)
        by_beta, by_bias = self._solve(right_beta, self.gap)
        by_values = self.Q @ by_beta
        for _ in range(_REFINEMENTS if final else 0):
            left = right_beta - by_values - by_bias[of_row] - diagonal * by_beta
            more, more_bias = self._solve(left, self.gap + self.tasks.totals(by_beta))
            by_beta, by_bias = by_beta + more, by_bias + more_bias
            by_values += self.Q @ more
        if not np.isfinite(by_values).all():
            raise LinAlgError("no direction: values are not finite")
        total = by_values + by_bias[of_row]
        return self.inverse * (right - self.sign * total), (by_values, by_bias)

    def advance(self, length: float, change: Any) -> None:
        self.values = self.values + length * change[0]
        self.bias = self.bias + length * change[1]

    def values_of(self, beta: np.ndarray) -> np.ndarray:
        return self.Q @ beta

    def polish(self, problem: Problem, beta: np.ndarray) -> np.ndarray:
        """Newton steps of the free coefficients; what meets a bound stays there."""
        beta = beta.copy()
        for _ in range(_POLISH_ROUNDS):
            rows = free_rows(problem, beta, slice(0, len(beta)))
            if not len(rows):
                break
            slope = self.Q[rows] @ beta - problem.y[rows]
            slope += problem.epsilon * np.sign(beta[rows])
            change = self._newton(rows, slope, self.tasks.totals(beta))
            if change is None:
                break
            moved = beta[rows] + change
            low = np.where(beta[rows] > 0, 0.0, problem.low[rows])
            high = np.where(beta[rows] < 0, 0.0, problem.high[rows])
            beta[rows] = np.clip(moved, low, high)
            if (beta[rows] == moved).all():
                break
        return beta

    def _newton(
        self, rows: np.ndarray, slope: np.ndarray, gap: np.ndarray
    ) -> np.ndarray | None:
        """To the minimum over some rows, with sums of 0; None if rounding prevails."""
        P = self.Q[np.ix_(rows, rows)]
        P.flat[:: len(rows) + 1] += _POLISH_RIDGE * np.diag(P).mean()
        try:
            lower = cho_factor(P, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        change = -cho_solve(lower, slope, check_finite=False)
        if self.tasks.has_bias:
            free = np.unique(self.tasks.of_row[rows])
            members = self.members[np.ix_(rows, free)]
            by_bias = cho_solve(lower, members, check_finite=False)
            missing = members.T @ change + gap[free]
            change -= by_bias @ np.linalg.lstsq(members.T @ by_bias, missing)[0]
        return change


def solve_dense(
    problem: Problem,
    kernel: TaskKernel,
    *,
    tol: float,
    max_iter: int,
    fit_intercept: bool,
) -> Solution:
    """Solve a problem with its whole matrix.

    Parameters
    ----------
    problem : Problem
        What to solve.
    kernel : TaskKernel
        Q.
    tol : float
        Violation to stop at.
    max_iter : int
        Steps at the most; -1 is as many as may help.
    fit_intercept : bool
        Whether tasks have biases.

    Returns
    -------
    Solution
        What was found.
    """
    tasks = TaskSegments(problem, fit_intercept)
    system = _DenseSystem(tasks, problem, kernel.matrix(problem.rows, problem.group))
    return solve_interior(problem, system, tol, max_iter)


def solve_tasks(
    problem: Problem,
    kernel: TaskKernel,
    *,
    tol: float,
    max_iter: int,
    fit_intercept: bool,
    **options: Any,
) -> Solution:
    """Solve by moves, and with the whole matrix if these take too long.

    Parameters
    ----------
    problem : Problem
        What to solve.
    kernel : TaskKernel
        Q.
    tol, max_iter, fit_intercept, **options
        As of :func:`solve_smo`.

    Returns
    -------
    Solution
        What was found.
    """
    options = {"tol": tol, "fit_intercept": fit_intercept, **options}
    n = len(problem.rows)
    patience = max(_LEAST_MOVES * n, int(_PATIENCE * n**2))
    if n > _ROWS or 0 <= max_iter <= patience:
        return solve_smo(problem, kernel, max_iter=max_iter, **options)
    moved = solve_smo(problem, kernel, max_iter=patience, **options)
    if moved.converged:
        return moved
    most = -1 if max_iter < 0 else max_iter - moved.n_iter
    try:
        found = solve_dense(
            problem, kernel, tol=tol, max_iter=most, fit_intercept=fit_intercept
        )
    except (LinAlgError, ValueError):  # numbers of too different sizes for a factor
        found = replace(moved, n_iter=0)
    total = moved.n_iter + found.n_iter
    if not found.converged:
        best = min(moved, found, key=lambda solution: solution.violation)
        most = -1 if max_iter < 0 else max(max_iter - total, 0)
        options["start"] = best.beta
        moved = solve_smo(problem, kernel, max_iter=most, **options)
        total += moved.n_iter
        found = min(best, moved, key=lambda solution: solution.violation)
    return replace(found, n_iter=total)
