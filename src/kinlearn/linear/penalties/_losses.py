"""Losses of pairs: squared, logistic, and of several classes, with their duals.

Each sums weighted losses of scores s; weights of a task's rows sum to 1. The dual point
of scores is theta = -loss'(s), and the dual value of a point is -loss*(-theta).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, xlogy

from kinlearn.linear.penalties._design import Layout

__all__ = ["ClassLoss", "Loss", "SquaredLoss", "TwoClassLoss"]

_LEAST_SLOPE = 1e-5  # of a curvature, so that sure pairs still count a little
_MOST_BALANCING = 100


@dataclass(frozen=True, eq=False)
class Loss(ABC):
    """What a solver needs of a loss.

    Attributes
    ----------
    layout : Layout
        Where the pairs lie.
    y : float64 array of shape (n_pairs,)
        Targets; 0 and 1 for classes.
    weight : float64 array of shape (n_pairs,)
        Weights, which sum to 1 over the rows of a task.
    """

    layout: Layout
    y: np.ndarray
    weight: np.ndarray

    most_curvature = 1.0  # second derivatives are at most this, times the weights
    is_separate = True  # the second derivatives are those of pairs, and no bound

    @property
    def is_quadratic(self) -> bool:
        """Whether curvatures do not depend on the scores."""
        return False

    @abstractmethod
    def value(self, scores: np.ndarray) -> float:
        """The loss of scores."""

    @abstractmethod
    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The dual point, and second derivatives or a bound of them by pair."""

    def dual_point(self, scores: np.ndarray) -> np.ndarray:
        """Minus the derivatives."""
        return self.derivatives(scores)[0]

    @abstractmethod
    def dual_value(self, point: np.ndarray) -> float:
        """The dual objective's part of the loss."""

    def balance(
        self, scores: np.ndarray, intercept: np.ndarray, tol: float = 1e-12
    ) -> tuple[np.ndarray, np.ndarray]:
        """Move the intercepts to where the loss is least; scores and intercepts."""
        where = self.layout
        for _ in range(_MOST_BALANCING):
            point, slope = self.derivatives(scores)
            pull = where.sums(point)
            if np.all(np.abs(pull) <= tol):
                break
            slope = where.sums(slope)
            step = np.clip(pull / np.where(slope > 0, slope, 1.0), -2.0, 2.0)
            scores = scores + step[where.pair_output]
            intercept = intercept + step
        return scores, intercept


@dataclass(frozen=True, eq=False)
class SquaredLoss(Loss):
    """Half of squared errors."""

    @property
    def is_quadratic(self) -> bool:
        return True

    def value(self, scores: np.ndarray) -> float:
        return 0.5 * float(self.weight @ (self.y - scores) ** 2)

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.weight * (self.y - scores), self.weight

    def dual_value(self, point: np.ndarray) -> float:
        return float(point @ self.y - 0.5 * (point / self.weight) @ point)

    def balance(
        self, scores: np.ndarray, intercept: np.ndarray, tol: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        step = self.layout.sums(self.dual_point(scores))  # weights sum to 1
        return scores + step[self.layout.pair_output], intercept + step


@dataclass(frozen=True, eq=False)
class TwoClassLoss(Loss):
    """Logistic loss of two classes."""

    most_curvature = 0.25

    def value(self, scores: np.ndarray) -> float:
        return float(self.weight @ (np.logaddexp(0.0, scores) - self.y * scores))

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        proba = expit(scores)
        slope = self.weight * np.maximum(proba * (1 - proba), _LEAST_SLOPE)
        return self.weight * (self.y - proba), slope

    def dual_value(self, point: np.ndarray) -> float:
        proba = np.clip(self.y - point / self.weight, 0.0, 1.0)
        return -float(self.weight @ (xlogy(proba, proba) + xlogy(1 - proba, 1 - proba)))


@dataclass(frozen=True, eq=False)
class ClassLoss(Loss):
    """Logistic loss of several classes: minus the log of the class's softmax.

    The Hessian of a row, diag(p) - pp', is at most 2 diag(p (1 - p)): their difference
    is diagonally dominant. That bound has no pairs of classes, so outputs can be
    treated as if they were tasks.
    """

    most_curvature = 0.5
    is_separate = False

    @cached_property
    def _turns(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Pairs and rows of each task's first outputs, of the second, and so on."""
        where = self.layout
        place = np.arange(where.n_outputs) - where.out_ptr[where.output_task]
        found = []
        for turn in range(int(place.max(initial=-1)) + 1):
            pairs = np.flatnonzero(place[where.pair_output] == turn)
            found.append((pairs, where.pair_row[pairs]))
        return found

    def _log_sums(self, scores: np.ndarray) -> np.ndarray:
        """The log of the sum of exp(scores), of each row."""
        n_rows = self.layout.row_ptr[-1]
        most, total = np.full(n_rows, -np.inf), np.zeros(n_rows)
        for pairs, rows in self._turns:
            most[rows] = np.maximum(most[rows], scores[pairs])
        for pairs, rows in self._turns:
            total[rows] += np.exp(scores[pairs] - most[rows])
        return most + np.log(np.maximum(total, 1e-300))

    def value(self, scores: np.ndarray) -> float:
        own = self.weight * self.y
        return float(own @ (self._log_sums(scores)[self.layout.pair_row] - scores))

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        proba = np.exp(scores - self._log_sums(scores)[self.layout.pair_row])
        slope = 2 * self.weight * np.maximum(proba * (1 - proba), _LEAST_SLOPE)
        return self.weight * (self.y - proba), slope

    def dual_value(self, point: np.ndarray) -> float:
        proba = np.clip(self.y - point / self.weight, 0.0, 1.0)
        return -float(self.weight @ xlogy(proba, proba))
