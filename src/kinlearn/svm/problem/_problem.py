"""SVM+MTL as numbers for the solvers: one problem in beta, and its solution.

Classes and numbers are the same problem (beta_i is y_i a_i, or lambda_i):

    min  beta'Q beta / 2 - beta'y + eps sum |beta_i|,
    low_i <= beta_i <= high_i,  sum over each task beta = 0,

with Q = K + [same task] K* / correction_penalty.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Solution", "TaskProblem", "classification", "regression"]


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
