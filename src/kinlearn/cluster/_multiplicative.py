"""Symmetric NMF by multiplicative updates, as printed (Al-Stouhi 2013, algorithm 4).

With W the affinity and P the contrasts of the clusters' sums S in a row's task, all
entries of V are multiplied at once::

    V <- 1/2 V o (1 + (W V - alpha S P) / (V V' V)),
    alpha = balance * min of W V / (S P) over the entries where S P > 0,

so that alpha, the penalty's weight, is in every step as large as leaves V at 0 or
above. Tasks that have nothing to do with each other have each an alpha; rows without
affinity, whose V stays 0, have no say. There is no one objective: the loss without the
penalty is what starts are compared by.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kinlearn.cluster._solver import Problem, Solution, contrasts

__all__ = ["multiply", "penalised"]


def _push(problem: Problem, V: np.ndarray, form: np.ndarray) -> np.ndarray:
    """The penalty's half gradient, for a weight of 1."""
    return np.einsum("tjm,tm->tj", form, problem.sums(V))[problem.task]


def _form(problem: Problem, shares: np.ndarray) -> np.ndarray:
    """The penalty of each task; none where it has too few rows for all clusters."""
    counts = np.bincount(problem.task, minlength=problem.n_tasks)
    form = contrasts(problem.n_clusters, shares)
    form[counts < problem.n_clusters] = 0.0
    return form


def _alpha(
    problem: Problem, pull: np.ndarray, push: np.ndarray, balance: float
) -> np.ndarray:
    """The penalty's weight in each task, the same within a component of tasks."""
    greatest = np.full(len(problem.constant), np.inf)
    rows, clusters = np.nonzero(push[problem.order] > 0)
    rows = problem.order[rows]
    component = problem.component[problem.task[rows]]
    np.minimum.at(greatest, component, pull[rows, clusters] / push[rows, clusters])
    greatest[np.isinf(greatest)] = 0.0
    return balance * greatest[problem.component]


def multiply(
    problem: Problem,
    V: np.ndarray,
    shares: np.ndarray,
    balance: float,
    *,
    tol: float,
    max_iter: int,
    stop: Callable[[], bool] = lambda: False,
) -> Solution:
    """Update V until the loss changes little, or goes to and fro between two values.

    Parameters
    ----------
    problem : Problem
        The loss, without a penalty.
    V : float64 array of shape (n, k)
        Where to start.
    shares : float64 array of shape (n_tasks, k)
        Shares of the clusters that the penalty aims at.
    balance : float
        Fraction of the greatest weight of the penalty, up to 1.
    tol : float
        Change of the loss to end at, as a fraction of that of V = 0.
    max_iter : int
        Updates at the most.
    stop : callable
        Called between updates; True ends them.

    Returns
    -------
    Solution
        With the loss as its objective.
    """
    form = _form(problem, shares)
    least = tol * float(problem.constant.sum())
    pull = problem.affinity.product(V)
    loss = problem.objectives(V, pull)
    before, last = np.inf, loss.sum()  # two updates ago and one
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged and not stop():
        push = _push(problem, V, form)
        inside = np.einsum("ij,ijm->im", V, problem.mixed_grams(V)[problem.task])
        alpha = _alpha(problem, pull, push, balance)[problem.task]
        change = pull - alpha[:, None] * push
        ratio = np.divide(change, inside, out=np.zeros_like(V), where=inside > 0)
        V = np.maximum(0.5 * V * (1.0 + ratio), 0.0)
        pull = problem.affinity.product(V)
        loss = problem.objectives(V, pull)
        # a large and a small alpha may take turns for ever
        gap = min(abs(loss.sum() - last), abs(loss.sum() - before))
        before, last = last, loss.sum()
        converged = gap <= least
        n_iter += 1
    return Solution(V, loss, n_iter, converged)


def penalised(
    problem: Problem, V: np.ndarray, shares: np.ndarray, balance: float
) -> Problem:
    """The objective with the penalty's weight that the next update would have."""
    form = _form(problem, shares)
    pull = problem.affinity.product(V)
    alpha = _alpha(problem, pull, _push(problem, V, form), balance)
    return replace(problem, penalty=np.ascontiguousarray(alpha[:, None, None] * form))
