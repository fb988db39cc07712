"""SVM+MTL as numbers for the solvers: one problem in beta, and its solution.

Classes and numbers are the same problem (beta_i is y_i a_i, or lambda_i):

    min  beta'Q beta / 2 - beta'y + eps sum |beta_i|,
    low_i <= beta_i <= high_i,  sum over each task beta = 0,

with Q = K + [same task] K* / correction_penalty.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn._kernels.svm._rows import TaskRows
from kinlearn._kernels.svm._task_smo import TaskSMO
from kinlearn.svm._space import Space

__all__ = [
    "Solution",
    "TaskKernel",
    "TaskProblem",
    "classification",
    "feasible_start",
    "regression",
    "solve_smo",
]


@dataclass(frozen=True)
class TaskKernel:
    """K and K*, with the data that each works on.

    Attributes
    ----------
    decision, correction : Space
        Kernels.
    X, X_correction : ndarray or sparse matrix
        Rows of the training data, or precomputed matrices; may be the same.
    penalty : float
        Weight of the tasks' own functions, the thesis's gamma.
    """

    decision: Space
    correction: Space
    X: Any
    X_correction: Any
    penalty: float

    @property
    def same(self) -> bool:
        """Whether the correcting kernel is the decision kernel again."""
        return self.decision == self.correction and self.X is self.X_correction

    def rows(self, problem: "TaskProblem") -> TaskRows:
        """Rows of Q for the native solver.

        Parameters
        ----------
        problem : TaskProblem
            Which rows of the data, and of which tasks.

        Returns
        -------
        TaskRows
            Q.
        """
        share = 1.0 / self.penalty
        correction = None
        if share > 0.0 and not self.same:
            correction = self.correction.rows(self.X_correction, problem.rows)
        return TaskRows(
            self.decision.rows(self.X, problem.rows),
            correction,
            share,
            problem.task,
            problem.n_tasks,
        )


@dataclass(frozen=True)
class TaskProblem:
    """A problem in beta.

    Attributes
    ----------
    rows : intp array of shape (n,)
        The rows of the data that take part, task by task.
    task : int32 array of shape (n,)
        Their tasks, ascending.
    n_tasks : int
        Number of tasks; some may have no row here.
    y, low, high : float64 arrays of shape (n,)
        Targets and bounds.
    epsilon : float
        Half the width of the tube; 0 for classes.
    """

    rows: np.ndarray
    task: np.ndarray
    n_tasks: int
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    epsilon: float = 0.0


@dataclass(frozen=True)
class Solution:
    """What a solver found.

    Attributes
    ----------
    beta : float64 array of shape (n,)
        One coefficient for each row of the problem.
    intercept : float64 array of shape (n_tasks,)
        Bias of each task.
    n_iter : int
        Steps, of SMO or of interior points.
    objective, violation : float
        Dual objective, which is minimised, and the greatest violation of the
        conditions for its optimum.
    converged : bool
        Whether the violation is at most `tol`.
    stalled : bool
        Whether rounding ended it before that: no step gets any closer.
    """

    beta: np.ndarray
    intercept: np.ndarray
    n_iter: int
    objective: float
    violation: float
    converged: bool
    stalled: bool = False


def _by_task(task: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Rows that have a cost, task by task."""
    rows = np.flatnonzero(cost > 0)
    return rows[np.argsort(task[rows], kind="stable")]


def classification(
    task: np.ndarray, n_tasks: int, sign: np.ndarray, cost: np.ndarray
) -> TaskProblem:
    """The problem of two classes.

    Parameters
    ----------
    task : int array of shape (n,)
        Task codes.
    n_tasks : int
        Number of tasks.
    sign : array of shape (n,)
        1 or -1; 0 leaves a row out.
    cost : float64 array of shape (n,)
        C times the weight of each row.

    Returns
    -------
    TaskProblem
        The problem.
    """
    rows = _by_task(task, np.where(sign != 0, cost, 0.0))
    y, cost = sign[rows].astype(np.float64), cost[rows]
    low, high = np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0)
    return TaskProblem(rows, task[rows], n_tasks, y, low, high)


def regression(
    task: np.ndarray, n_tasks: int, y: np.ndarray, cost: np.ndarray, epsilon: float
) -> TaskProblem:
    """The problem of numbers.

    Parameters
    ----------
    task : int array of shape (n,)
        Task codes.
    n_tasks : int
        Number of tasks.
    y : float64 array of shape (n,)
        Targets.
    cost : float64 array of shape (n,)
        C times the weight of each row.
    epsilon : float
        Half the width of the tube.

    Returns
    -------
    TaskProblem
        The problem.
    """
    rows = _by_task(task, cost)
    cost = cost[rows]
    return TaskProblem(rows, task[rows], n_tasks, y[rows], -cost, cost, epsilon)


def feasible_start(problem: TaskProblem, beta: np.ndarray | None) -> np.ndarray:
    """An old solution, made smaller task by task until it keeps the bounds.

    Parameters
    ----------
    problem : TaskProblem
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
    outside = np.bincount(problem.task, weights=start, minlength=problem.n_tasks)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(start > 0, problem.high / start, problem.low / start)
    room[start == 0] = np.inf
    factor = np.ones(problem.n_tasks)
    np.minimum.at(factor, problem.task, room)
    scale = np.abs(start).max(initial=0.0)
    factor[np.abs(outside) > 1e-9 * max(scale, 1.0)] = 0.0  # rows were left out
    return np.clip(start * factor[problem.task], problem.low, problem.high)


def solve_smo(
    problem: TaskProblem,
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
    problem : TaskProblem
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
        What was found.
    """
    solver = TaskSMO(
        kernel.rows(problem),
        int(cache_size * 2**20),
        problem.y,
        problem.low,
        problem.high,
        start,
        problem.epsilon,
        tol,
        fit_intercept,
    )
    limit = max_iter if max_iter >= 0 else max(10_000_000, 100 * len(problem.rows))
    beta, intercept = solver.solve(limit, shrinking)
    return Solution(
        beta,
        intercept,
        solver.n_iter,
        solver.objective,
        solver.violation,
        solver.converged,
    )
