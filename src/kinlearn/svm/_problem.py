"""What a support vector machine solves, as numbers: one problem, and its solution.

Classes and numbers are the same problem: a row of class y has the bounds 0 and y c of
its coefficient beta, a row with a number -c and c and a tube of epsilon. SVM+MTL solves

    min  beta'Q beta / 2 - beta'y + eps sum |beta_i|,
    low_i <= beta_i <= high_i,  sum over each task beta = 0,

with Q = K + [same task] K* / correction_penalty. SVM+ has other constraints; see
`kinlearn.svm.solvers`. Several classes are several problems, one against one, or one
against the rest.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

__all__ = [
    "Problem",
    "Sides",
    "Solution",
    "class_pairs",
    "class_scores",
    "classification",
    "regression",
    "signs_of_pair",
]


@dataclass(frozen=True)
class Sides:
    """A problem in variables above 0: beta is the sum of sign times them.

    Attributes
    ----------
    sign : float64 array of shape (1 or 2, n)
        1 or -1: that of a row's class, or both for a number, too low and too high.
    linear : float64 array of the same shape
        Slope of the objective at 0.
    cost : float64 array of the same shape
        C times the weight of the row.
    """

    sign: np.ndarray
    linear: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True)
class Problem:
    """The dual of one machine, without its kernels.

    Attributes
    ----------
    rows : intp array of shape (n,)
        The rows of the data that take part, group by group.
    group : int32 array of shape (n,)
        Their tasks, or groups of SVM+, ascending.
    n_groups : int
        Number of groups; some may have no row here.
    y, low, high : float64 arrays of shape (n,)
        Targets, and bounds of beta.
    epsilon : float
        Half the width of the tube; 0 for classes.
    """

    rows: np.ndarray
    group: np.ndarray
    n_groups: int
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    epsilon: float = 0.0

    @property
    def sides(self) -> Sides:
        """The same in variables above 0, one for each row, or two if it has a tube."""
        if ((self.low < 0) & (self.high > 0)).any():
            sign = np.repeat([[1.0], [-1.0]], len(self.rows), axis=1)
            cost = np.stack([self.high, self.high])
        else:
            sign = np.where(self.high > 0, 1.0, -1.0)[None]
            cost = (self.high - self.low)[None]
        return Sides(sign, self.epsilon - sign * self.y, cost)


@dataclass(frozen=True)
class Solution:
    """What a solver found.

    Attributes
    ----------
    beta : float64 array of shape (n,)
        One coefficient for each row of the problem.
    intercept : float64 array of shape (n_groups,) or (1,)
        Bias of each task; SVM+ has one for all groups.
    n_iter : int
        Moves, Newton and interior-point steps.
    objective, violation : float
        Dual objective, which is minimised, and the greatest violation of the
        conditions for its optimum.
    converged : bool
        Whether the violation is at most `tol`.
    stalled : bool
        Whether rounding ended it before that: no step gets any closer.
    variables : pair of float64 arrays or None
        SVM+: both variables of each row of its dual.
    slack : float64 array of shape (1 or 2, n) or None
        SVM+: correcting functions on the rows, by side.
    """

    beta: np.ndarray
    intercept: np.ndarray
    n_iter: int
    objective: float
    violation: float
    converged: bool
    stalled: bool = False
    variables: Any = None
    slack: Any = None


def _by_group(group: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Rows that have a cost, group by group."""
    rows = np.flatnonzero(cost > 0)
    return rows[np.argsort(group[rows], kind="stable")]


def classification(
    group: np.ndarray, n_groups: int, sign: np.ndarray, cost: np.ndarray
) -> Problem:
    """The problem of two classes.

    Parameters
    ----------
    group : int array of shape (n,)
        Codes of tasks or groups.
    n_groups : int
        Number of them.
    sign : array of shape (n,)
        1 or -1; 0 leaves a row out.
    cost : float64 array of shape (n,)
        C times the weight of each row; 0 leaves it out.

    Returns
    -------
    Problem
        The problem.
    """
    rows = _by_group(group, np.where(sign != 0, cost, 0.0))
    y, cost = sign[rows].astype(np.float64), cost[rows]
    low, high = np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0)
    return Problem(rows, group[rows], n_groups, y, low, high)


def regression(
    group: np.ndarray, n_groups: int, y: np.ndarray, cost: np.ndarray, epsilon: float
) -> Problem:
    """The problem of numbers.

    Parameters
    ----------
    group, n_groups, cost : int array, int, float64 array
        As in `classification`.
    y : float64 array of shape (n,)
        Targets.
    epsilon : float
        Half the width of the tube.

    Returns
    -------
    Problem
        The problem.
    """
    rows = _by_group(group, cost)
    cost = cost[rows]
    return Problem(rows, group[rows], n_groups, y[rows], -cost, cost, epsilon)


def class_pairs(n_classes: int, multi_class: str) -> list[tuple[int, int]]:
    """The two classes of each machine.

    Parameters
    ----------
    n_classes : int
        Number of classes, two or more.
    multi_class : {"ovo", "ovr"}
        A machine for each pair of classes, or for each class against the rest.

    Returns
    -------
    list of tuple
        (negative class, positive class); -1 is the rest.
    """
    if n_classes > 2 and multi_class == "ovr":
        return [(-1, c) for c in range(n_classes)]
    return list(combinations(range(n_classes), 2))


def signs_of_pair(y: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    """The rows of one machine as 1, -1, and 0 for those that it does not see.

    Parameters
    ----------
    y : int array of shape (n,)
        Class codes.
    pair : tuple
        As from :func:`class_pairs`.

    Returns
    -------
    int array of shape (n,)
        Signs.
    """
    negative = y != pair[1] if pair[0] < 0 else y == pair[0]
    return np.where(y == pair[1], 1, np.where(negative, -1, 0))


def class_scores(
    values: np.ndarray,
    n_classes: int,
    multi_class: str,
    allowed: np.ndarray | None = None,
) -> np.ndarray:
    """A score of each class, from the values of the machines.

    Parameters
    ----------
    values : array of shape (n, n_machines)
        Decision values, in the order of :func:`class_pairs`.
    n_classes, multi_class : int, str
        As there.
    allowed : bool array of shape (n, n_classes), default=None
        Classes that the row's task has; None is all.

    Returns
    -------
    array of shape (n,) for two classes, or (n, n_classes)
        Votes and a fraction of the summed values ("ovo"), or the values; of classes
        that are not allowed, one less than the least of the others.
    """
    if n_classes == 2:
        return values[:, 0]
    scores = values
    if multi_class == "ovo":
        votes, sums = np.zeros((2, len(values), n_classes))
        pairs = class_pairs(n_classes, "ovo")
        for value, (one, two) in zip(values.T, pairs, strict=True):
            if allowed is not None:
                value = np.where(allowed[:, one] & allowed[:, two], value, 0.0)
            sums[:, one] -= value
            sums[:, two] += value
            votes[:, one] += value < 0
            votes[:, two] += value > 0
        scores = votes + sums / (3 * (np.abs(sums) + 1))  # less than a third of a vote
    if allowed is None:
        return scores
    least = np.where(allowed, scores, np.inf).min(axis=1)
    return np.where(allowed, scores, least[:, None] - 1)
