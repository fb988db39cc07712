"""Probabilities from the scores of boosting, by rows that were left out.

Boosting goes on after the training rows are right, and its scores grow with the
rounds. So a factor for all scores is learned from rows that they were not learned from
(:class:`Calibration`). Where boosting began with equal weight for all classes of a
task, the classes' fractions come in as well.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from kinlearn.utils import row_groups
from kinlearn.utils._loaded import demand

__all__ = ["Calibration", "deal_rows", "log_fractions", "softmax_over"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """What scores become before their softmax is taken.

    Attributes
    ----------
    factor : float
        Scores are multiplied by it.
    of_fractions : float
        What the logarithms of the classes' fractions in a task are multiplied by.
    """

    factor: float = 1.0
    of_fractions: float = 0.0

    def check(self) -> None:
        """Refuse numbers of a loaded model that are not finite."""
        demand(np.isfinite([self.factor, self.of_fractions]).all(), "calibration")

    @classmethod
    def learn(
        cls,
        scores: np.ndarray,
        offset: np.ndarray,
        allowed: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
    ) -> Self:
        """The least log loss on rows that were left out.

        Parameters
        ----------
        scores, offset : float64 arrays of shape (n, n_classes)
            Scores, and logarithms of fractions; the latter all 0 if they do not count.
        allowed : bool array of shape (n, n_classes)
            Which classes a row may have.
        y : int array of shape (n,)
            Class codes.
        weight : float64 array of shape (n,)
            Weights.
        """
        every = np.arange(len(y))
        weight = weight / weight.sum()

        def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
            logits = np.exp(at[0]) * scores + at[1] * offset
            proba = softmax_over(logits, allowed)
            p = np.maximum(proba[every, y], 1e-300)
            error = proba.copy()
            error[every, y] -= 1.0
            error = np.where(allowed, error, 0.0) * weight[:, None]
            slope = [np.exp(at[0]) * (error * scores).sum(), (error * offset).sum()]
            return float(-(weight * np.log(p)).sum()), np.array(slope)

        free = (0.0, 1.5) if offset.any() else (0.0, 0.0)
        start = np.array([0.0, free[1] / 2])
        # a factor of 0.001 says that scores are worth nothing
        found = minimize(loss, start, jac=True, bounds=[(-7.0, 3.0), free])
        return cls(float(np.exp(found.x[0])), float(found.x[1]))

    def apply(self, scores: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Scores whose softmax are probabilities."""
        return self.factor * scores + self.of_fractions * offset


def softmax_over(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Softmax of scores over the classes that each row may have."""
    shown = np.where(allowed, scores, -np.inf)
    shown = np.exp(shown - shown.max(axis=1, keepdims=True))
    return shown / shown.sum(axis=1, keepdims=True)


def log_fractions(mass: np.ndarray) -> np.ndarray:
    """Logarithms of the fractions of classes; those without weight count half a row."""
    mass = np.maximum(mass, 0.5)
    return np.log(mass / mass.sum(axis=-1, keepdims=True))


def deal_rows(X: Any, task: np.ndarray, y: np.ndarray, n_folds: int) -> np.ndarray:
    """Deal rows to folds, each class of each task evenly.

    Neither the order of the rows nor repeated rows change who is in one fold with whom.

    Parameters
    ----------
    X : array or sparse array of shape (n, n_features)
        Features.
    task, y : int arrays of shape (n,)
        Task and class codes.
    n_folds : int
        How many.

    Returns
    -------
    int array of shape (n,)
        Folds; -1 for rows of a class that has one row, or copies of one, in its task.
    """
    columns = _columns(X)
    cell = task.astype(np.int64) * (int(y.max()) + 1) + y
    unit = row_groups(columns, cell)
    first = np.unique(unit, return_index=True)[1]  # a row of each unit, in their order
    order = np.argsort(cell[first], kind="stable")
    size = np.unique(cell[first], return_counts=True)[1]
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first)) - np.repeat(np.cumsum(size) - size, size)
    # cells begin with different folds, so that small ones do not fill the first
    begin = np.empty(len(first), dtype=np.int64)
    begin[order] = np.repeat(np.arange(len(size)), size)
    fold = (rank + begin) % n_folds
    fold[order[np.repeat(size == 1, size)]] = -1
    return fold[unit]


def _columns(X: Any) -> Any:
    if sp.issparse(X):
        X = sp.csc_array(X, dtype=np.float32)
        return (X[:, [f]].toarray().ravel() for f in range(X.shape[1]))
    return (np.ascontiguousarray(c, dtype=np.float32) for c in np.asarray(X).T)
