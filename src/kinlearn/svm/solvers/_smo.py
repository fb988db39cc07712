"""SVM+MTL by sequential minimal optimisation, and where it may start."""

import numpy as np

from kinlearn._kernels.svm._task_smo import TaskSMO
from kinlearn.svm._kernel import SINGLE_FROM
from kinlearn.svm._matrices import TaskKernel
from kinlearn.svm._problem import Problem, Solution

__all__ = ["feasible_start", "solve_smo"]

# Rows of Q are kept in single precision. What is found with them is looked at again in
# double precision, from which moves go on, unless the error of the rows' values cannot
# show in `tol`: by the usual sum of so many roundings of either sign, or by some rows.
_CELL = 2.0**-24  # of a cell
_MOST_SINGLE = 1e37  # cells, of which there are sums; no move is made beyond
_SINGLE = 4.0  # more where the data are in single precision as well
_NEGLIGIBLE = 0.05
_LOOKS = 128
_TRIES = 3  # that end further from the optimum: rounding moves there what is left


def feasible_start(problem: Problem, beta: np.ndarray | None) -> np.ndarray:
    """An old solution, made smaller task by task until it keeps the bounds.

    Parameters
    ----------
    problem : Problem
        The new problem.
    beta : float64 array of shape (n_samples,) or None
        An old solution by row of the data, whose sums by task are zero.

    Returns
    -------
    float64 array of shape (n,)
        Where to start; zeros for tasks whose labels have changed.
    """
    if beta is None:
        return np.zeros(len(problem.rows))
    start = beta[problem.rows]
    outside = np.bincount(problem.group, weights=start, minlength=problem.n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = np.where(start > 0, problem.high / start, problem.low / start)
    slack[start == 0] = np.inf
    factor = np.ones(problem.n_groups)
    np.minimum.at(factor, problem.group, slack)
    scale = np.abs(start).max(initial=0.0)
    factor[np.abs(outside) > 1e-9 * max(scale, 1.0)] = 0.0  # rows were left out
    return np.clip(start * factor[problem.group], problem.low, problem.high)


def solve_smo(
    problem: Problem,
    kernel: TaskKernel,
    *,
    tol: float,
    max_iter: int,
    cache_size: float,
    shrinking: bool,
    fit_intercept: bool,
    start: np.ndarray,
) -> Solution:
    """Solve by sequential minimal optimisation.

    Parameters
    ----------
    problem : Problem
        What to solve.
    kernel : TaskKernel
        Q.
    tol : float
        Violation to stop at.
    max_iter : int
        Steps at the most; -1 is 10 million, or 100 for each row if that is more.
    cache_size : float
        Megabytes for rows of Q.
    shrinking : bool
        Whether to set rows aside that look settled.
    fit_intercept : bool
        Whether tasks have biases.
    start : float64 array of shape (n,)
        Where to start; feasible.

    Returns
    -------
    Solution
        What was found; nothing, and infinite violation, where cells are too large.
    """
    rows, group, n_groups = problem.rows, problem.group, problem.n_groups
    source = kernel.rows(rows, group, n_groups)
    diagonal = np.abs(source.diagonals())
    most = diagonal.max(initial=0.0)
    if not most < _MOST_SINGLE:
        if not np.isfinite(most):
            raise ValueError(
                "The kernel of the rows is not finite. Scale the features, or make "
                "gamma, coef0 or degree less."
            )
        origin = np.zeros(len(rows)), np.zeros(n_groups)
        return Solution(*origin, 0, 0.0, np.inf, converged=False, stalled=True)
    solver = TaskSMO(
        source,
        int(min(cache_size, 2**30) * 2**20),  # more than any machine has
        problem.y,
        problem.low,
        problem.high,
        start,
        problem.epsilon,
        tol,
        fit_intercept,
    )
    limit = max_iter if max_iter >= 0 else max(10_000_000, 100 * len(rows))
    # a cell is at most the root of both rows' diagonals
    rounding = _CELL * np.sqrt(most * diagonal)
    if len(rows) >= SINGLE_FROM:
        rounding *= _SINGLE
    beta, intercept = solver.solve(limit, shrinking)
    best, n_worse = np.inf, 0
    everywhere = np.arange(len(rows))
    some = everywhere[:: max(len(rows) // _LOOKS, 1)]
    while np.linalg.norm(rounding * beta) > _NEGLIGIBLE * tol:
        if solver.converged and len(some) < len(rows):
            exact = kernel.values(rows, group, n_groups, beta, some)
            if np.abs(solver.values[some] - exact).max() <= _NEGLIGIBLE * tol:
                break
        exact = kernel.values(rows, group, n_groups, beta, everywhere)
        solver.go_on_from(exact)
        n_iter = solver.n_iter
        _, intercept = solver.solve(n_iter, shrinking)  # no step: looks at the values
        n_worse = 0 if solver.violation < best else n_worse + 1
        best = min(best, solver.violation)
        if solver.converged or n_iter >= limit or n_worse == _TRIES:
            break
        beta, intercept = solver.solve(limit, shrinking)
    return Solution(
        beta,
        intercept,
        solver.n_iter,
        solver.objective,
        solver.violation,
        solver.converged,
        not solver.converged and solver.n_iter < limit,
    )
