r"""The covariance of the tasks' weights, as a low rank and a ridge.

With the weights :math:`W` of the rounds (a row each) and a ridge :math:`\epsilon`,

.. math::

    \Omega = \frac{(W^\top W + \epsilon^2 I)^{1/2}}
                  {\operatorname{tr} (W^\top W + \epsilon^2 I)^{1/2}}

minimises :math:`\operatorname{tr}(\Omega^{-1} (W^\top W + \epsilon^2 I))` among the
positive matrices of trace 1. With the singular values :math:`\sigma` and right singular
vectors V of W, the root is :math:`V (\sqrt{\sigma^2 + \epsilon^2} - \epsilon) V^\top +
\epsilon I`: after t rounds of m tasks it is known by r = min(t, m) vectors, a new round
costs :math:`r^2 m` rather than :math:`m^3`, and the matrix itself is never made.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve

__all__ = ["TaskCovariance"]


@dataclass(frozen=True, eq=False)
class TaskCovariance:
    """The matrix Omega, factored.

    Attributes
    ----------
    vectors : float64 array of shape (n_tasks, rank)
        V, orthonormal columns.
    values : float64 array of shape (rank,)
        Singular values of the rounds' weights.
    ridge : float
        Epsilon, positive.
    """

    vectors: np.ndarray
    values: np.ndarray
    ridge: float

    @classmethod
    def start(cls, n_tasks: int, ridge: float) -> Self:
        """Before the first round: all tasks alike and apart, I / m."""
        return cls(np.empty((n_tasks, 0)), np.empty(0), ridge)

    @classmethod
    def of(cls, weights: np.ndarray, ridge: float) -> Self:
        """After rounds with weights of shape (n_rounds, n_tasks), all at once."""
        _, values, vectors = np.linalg.svd(weights, full_matrices=False)
        return cls(np.ascontiguousarray(vectors.T), values, ridge)

    @property
    def _above(self) -> np.ndarray:
        """Eigenvalues of the root, less the ridge that all directions have."""
        return np.hypot(self.values, self.ridge) - self.ridge

    @property
    def trace(self) -> float:
        """Trace of the root, which the matrix is divided by."""
        return self._above.sum() + self.ridge * len(self.vectors)

    @property
    def penalty(self) -> float:
        """The least of tr(inverse (W'W + ridge^2 I)), which is the trace squared."""
        return self.trace**2

    def with_round(self, weights: np.ndarray) -> "TaskCovariance":
        """The matrix after one more round; this one stays as it is."""
        inside = self.vectors.T @ weights
        outside = weights - self.vectors @ inside
        # twice is enough for orthogonality in double precision
        again = self.vectors.T @ outside
        inside, outside = inside + again, outside - self.vectors @ again
        basis, rank = self.vectors, len(self.values)
        length = np.linalg.norm(outside)
        if rank < len(weights) and length > 1e-12 * np.linalg.norm(weights):
            basis = np.column_stack([basis, outside / length])
            inside = np.append(inside, length)
        # [S 0; inside] has the singular values of all rounds' weights
        small = np.zeros((rank + 1, len(inside)))
        small[np.arange(rank), np.arange(rank)] = self.values
        small[rank] = inside
        _, values, turned = np.linalg.svd(small, full_matrices=False)
        return TaskCovariance(basis @ turned.T, values, self.ridge)

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Omega times a vector."""
        along = self._above * (self.vectors.T @ vector)
        return (self.vectors @ along + self.ridge * vector) / self.trace

    def draw(self, rng: np.random.RandomState) -> np.ndarray:
        """Weights from the normal distribution with this covariance."""
        common = np.sqrt(self._above) * rng.standard_normal(len(self.values))
        alone = np.sqrt(self.ridge) * rng.standard_normal(len(self.vectors))
        return (self.vectors @ common + alone) / np.sqrt(self.trace)

    def shrink(
        self, slope: np.ndarray, curvature: np.ndarray, penalty: float
    ) -> np.ndarray:
        r"""Minimiser of ``slope'w + w'diag(curvature)w/2 + penalty/2 w'Omega^-1 w``.

        It is :math:`-\Omega E (I + E \Omega E / \lambda)^{-1} E^{-1} b / \lambda` with
        slope b and the root E of the curvature, in which nothing cancels and
        nothing is divided by Omega; the inverse is one of `rank` unknowns. The slope is
        zero where the curvature is; that is not negative, and the penalty positive.
        """
        root = np.sqrt(curvature)
        right = np.divide(slope, root, out=np.zeros_like(slope), where=root > 0)
        scale = penalty * self.trace
        diagonal = 1 + self.ridge * curvature / scale
        wide = (root[:, None] * self.vectors) * np.sqrt(self._above / scale)
        found = right / diagonal
        if wide.shape[1]:
            inner = wide.T @ (wide / diagonal[:, None])
            inner[np.diag_indices_from(inner)] += 1
            factor = cho_factor(inner, lower=True, check_finite=False)
            found -= (wide @ cho_solve(factor, wide.T @ found)) / diagonal
        return -self.times(root * found) / penalty

    def matrix(self) -> np.ndarray:
        """Omega itself, of trace 1."""
        out = (self.vectors * self._above) @ self.vectors.T
        out[np.diag_indices_from(out)] += self.ridge
        return out / self.trace
