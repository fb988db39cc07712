"""Corrections of tasks whose rows come after fit: the common part stays fixed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinlearn.svm._matrices import TaskKernel
from kinlearn.svm._problem import Problem, Solution
from kinlearn.svm.estimators._machines import Correction, Machines
from kinlearn.svm.solvers import feasible_start, solve_tasks

__all__ = ["keep_bounding_rows", "near_common_bias", "solve_correction"]


def near_common_bias(problem: Problem, bias: np.ndarray, common: float) -> np.ndarray:
    """Biases, where rows of one side alone leave them open, close to the common one.

    Such rows bound the bias of their task from one side, and the solver puts it at the
    bound, however far that is.

    Parameters
    ----------
    problem : Problem
        A machine's problem.
    bias : float64 array of shape (n_tasks,)
        By the solver.
    common : float
        The common bias.

    Returns
    -------
    float64 array of shape (n_tasks,)
        The biases.
    """
    rise, fall = (
        np.bincount(problem.group, weights=side, minlength=problem.n_groups) > 0
        for side in (problem.high > 0, problem.low < 0)
    )
    bias = np.where(rise & ~fall, np.maximum(bias, common), bias)
    return np.where(fall & ~rise, np.minimum(bias, common), bias)


def _bounding_rows(
    problem: Problem, beta: np.ndarray, common: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Rows that bound the biases of tasks where no row has a coefficient.

    The bias is at least ``y - common`` of rows whose coefficient may grow, and at most
    that of rows whose coefficient may fall (less and more the tube).

    Parameters
    ----------
    problem : Problem
        A machine's problem.
    beta : float64 array of shape (n,)
        Its solution.
    common : callable
        Returns values of the common part for some of ``problem.rows``.

    Returns
    -------
    intp array
        Rows of the data.
    """
    used = np.bincount(problem.group, weights=beta != 0, minlength=problem.n_groups)
    idle = np.flatnonzero(used[problem.group] == 0)
    rows, task = problem.rows[idle], problem.group[idle]
    if len(rows) == 0:
        return rows
    rest = problem.y[idle] - common(rows)
    found = []
    for may_bound, height in (
        (problem.high[idle] > 0, rest),
        (problem.low[idle] < 0, -rest),
    ):
        those = np.flatnonzero(may_bound)
        order = those[np.lexsort((height[those], task[those]))]
        found.append(rows[order[np.diff(task[order], append=-1) != 0]])
    return np.concatenate(found)


def keep_bounding_rows(
    machines: Machines,
    problems: Sequence[Problem],
    beta: np.ndarray,
    X: Any,
    task: np.ndarray,
    y: np.ndarray,
    cost: np.ndarray,
) -> Machines:
    """Keep rows of the tasks that have no support vectors in some machine.

    Without them, nothing of these tasks would be left for `partial_fit`.

    Parameters
    ----------
    machines : Machines
        Fitted machines, not of precomputed kernels.
    problems : list of Problem
        What they solve.
    beta : float64 array of shape (n_machines, n_samples)
        Coefficients.
    X, task, y, cost : arrays with n_samples rows
        The training data.

    Returns
    -------
    Machines
        The same, with these rows in `later`.
    """
    kept = []
    for m, problem in enumerate(problems):

        def common(rows: np.ndarray, m: int = m) -> np.ndarray:
            return machines.common(X[rows])[:, m]

        kept.append(_bounding_rows(problem, beta[m, problem.rows], common))
    rows = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *kept]))
    rows = np.setdiff1d(rows, machines.support)
    later = {}
    for t in np.unique(task[rows]).tolist():
        mine = rows[task[rows] == t]
        later[t] = machines.correction_of(t).and_rows(X[mine], y[mine], cost[mine])
    return replace(machines, later=later)


def solve_correction(
    machines: Machines,
    t: int | None,
    name: Any,
    rows: Correction,
    problems: Sequence[Problem],
    bias: np.ndarray,
    **options: Any,
) -> tuple[Correction, np.ndarray, list[Solution]]:
    """The correction of one task in each machine, from its rows.

    Parameters
    ----------
    machines : Machines
        The common part, the correcting kernel and its price.
    t : int or None
        The task's code in them; None is a new task.
    name : object
        Its name, by which a new one may have a kernel of its own.
    rows : Correction
        The rows; the solver starts from their coefficients.
    problems : list of Problem
        The machines' problems of these rows, without a common part.
    bias : float64 array of shape (n_machines,)
        What the task added to the common biases so far, for machines without rows.
    **options
        For :func:`solve_tasks`.

    Returns
    -------
    correction : Correction
        With the rows that it rests on.
    bias : float64 array of shape (n_machines,)
        What the task adds to the common biases.
    solutions : list of Solution
        Of the machines that have rows.
    """
    common = machines.common(rows.vectors)
    _, corrected = machines.blocks.split(rows.vectors)
    space = machines.correction.of(t, name)
    kernel = TaskKernel(space, space, corrected, corrected, np.inf)
    # Q is K* / correction_penalty: solved for beta / correction_penalty, with K* alone.
    inverse_penalty = machines.inverse_penalty
    beta, bias = np.zeros_like(rows.dual_coef), bias.copy()
    used = np.zeros(len(rows.y), dtype=bool)
    solutions = []
    for m, problem in enumerate(problems):
        if len(problem.rows) == 0:
            continue
        shifted = replace(
            problem,
            y=problem.y - common[problem.rows, m],
            low=inverse_penalty * problem.low,
            high=inverse_penalty * problem.high,
        )
        start = feasible_start(shifted, inverse_penalty * rows.dual_coef[m])
        solution = solve_tasks(shifted, kernel, start=start, **options)
        beta[m, problem.rows] = solution.beta / inverse_penalty
        bias[m] = solution.intercept[0]
        if options["fit_intercept"]:
            bias[m] = near_common_bias(problem, bias[[m]], 0.0)[0]
        solutions.append(solution)
        of_machine = common[:, m].__getitem__
        used[_bounding_rows(problem, solution.beta, of_machine)] = True
    used |= (beta != 0).any(axis=0)
    solved = replace(rows, dual_coef=beta).take(np.flatnonzero(used))
    return solved, bias, solutions
