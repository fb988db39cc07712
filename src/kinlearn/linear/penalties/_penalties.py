r"""The penalties: values, proximal steps, and conjugates for duality gaps.

Coefficients W have a row for each feature and a column for each output. Penalties of
blocks go feature by feature. All others act on the outputs' side: their proximal step
is W times a matrix of outputs, found from the singular values of W or from a graph.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

__all__ = [
    "BlockPenalty",
    "ClusterPenalty",
    "CovariancePenalty",
    "GraphPenalty",
    "OutputPenalty",
    "TracePenalty",
]


@dataclass(frozen=True)
class BlockPenalty:
    """Lengths of the features' blocks, and absolute values of what outputs add.

    Of W = shared + own it is the sum over features of the length of the shared block,
    and `own_price` times the sum of the absolute own coefficients. An infinite price is
    the plain penalty of joint features.
    """

    own_price: float = np.inf

    least_fraction: ClassVar[float] = 1e-2  # of the largest alpha, where a path ends

    def value(self, shared: np.ndarray, own: np.ndarray) -> float:
        """The penalty."""
        lengths = float(np.sqrt((shared**2).sum(axis=1)).sum())
        if self.own_price == np.inf:
            return lengths
        return lengths + self.own_price * float(np.abs(own).sum())

    def dual_norms(self, Z: np.ndarray) -> np.ndarray:
        """The dual norm of each feature's block."""
        norms = np.sqrt((Z**2).sum(axis=1))
        if self.own_price == np.inf or Z.shape[1] == 0:
            return norms
        return np.maximum(norms, np.abs(Z).max(axis=1) / self.own_price)


class OutputPenalty(ABC):
    """What the proximal solver needs of a penalty."""

    least_fraction: ClassVar[float] = 1e-6  # of the largest alpha, where a path ends

    @abstractmethod
    def value(self, W: np.ndarray) -> float:
        """The penalty."""

    @abstractmethod
    def prox(self, W: np.ndarray, step: float) -> np.ndarray:
        """The minimiser of 1/2 |V - W|^2 + step * penalty(V)."""

    @abstractmethod
    def conjugate(self, Z: np.ndarray, alpha: float) -> tuple[float, float]:
        """A factor that makes Z feasible, and the conjugate of alpha * penalty."""

    @abstractmethod
    def largest_alpha(self, Z: np.ndarray, curvature: float) -> float:
        """Where paths begin; Z are the gradients of W = 0."""


def _singular(W: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Singular values, descending, the vectors of the smaller side, and if it is left.

    Of a triangle, which is cheap to find; a Gram matrix would lose half of the digits.
    """
    left = W.shape[0] < W.shape[1]
    tall = W.T if left else W
    _, values, vectors = np.linalg.svd(np.linalg.qr(tall, mode="r"))
    return values, vectors.T, left


def _with_values(W: np.ndarray, found: tuple, new: np.ndarray) -> np.ndarray:
    """W with other singular values."""
    values, vectors, left = found
    ratio = np.where(values > 0, new / np.where(values > 0, values, 1.0), 0.0)
    kept = ratio > 0
    U = vectors[:, kept]
    middle = (U * ratio[kept]) @ U.T
    return middle @ W if left else W @ middle


class TracePenalty(OutputPenalty):
    """The sum of the singular values: few directions for all outputs."""

    least_fraction: ClassVar[float] = 1e-2

    def value(self, W: np.ndarray) -> float:
        return float(_singular(W)[0].sum())

    def prox(self, W: np.ndarray, step: float) -> np.ndarray:
        found = _singular(W)
        return _with_values(W, found, np.maximum(found[0] - step, 0.0))

    def conjugate(self, Z: np.ndarray, alpha: float) -> tuple[float, float]:
        most = _singular(Z)[0].max(initial=0.0)
        return (1.0 if most <= alpha else alpha / most), 0.0

    def largest_alpha(self, Z: np.ndarray, curvature: float) -> float:
        return float(_singular(Z)[0].max(initial=0.0))


@dataclass(frozen=True)
class CovariancePenalty(OutputPenalty):
    r"""A covariance of the outputs, of trace 1, that is learned with the coefficients.

    The least of :math:`\tfrac12 \mathrm{tr}(W \Omega^{-1} W^T)` over covariances of
    trace 1 is half the squared sum of the singular values, at :math:`(W^T W)^{1/2}`
    divided by its trace. So no covariance needs to be held, and the step is exact.
    """

    ridge: float

    def value(self, W: np.ndarray) -> float:
        values = _singular(W)[0]
        return float(0.5 * self.ridge * (values**2).sum() + 0.5 * values.sum() ** 2)

    def prox(self, W: np.ndarray, step: float) -> np.ndarray:
        found = _singular(W)
        base = 1 + step * self.ridge
        total = _sum_above(found[0], base / step) if step > 0 else 0.0
        return _with_values(W, found, np.maximum(found[0] - total, 0.0) / base)

    def conjugate(self, Z: np.ndarray, alpha: float) -> tuple[float, float]:
        values = _singular(Z)[0]
        best = np.maximum(values - _sum_above(values, self.ridge), 0.0) / self.ridge
        return 1.0, float(0.5 * values @ best) / alpha

    def largest_alpha(self, Z: np.ndarray, curvature: float) -> float:
        return 10 * curvature / (1 + self.ridge)


def _sum_above(values: np.ndarray, base: float) -> float:
    """The t with base * t = sum of (values - t) above 0; values descend."""
    candidates = np.cumsum(values) / (base + np.arange(1, len(values) + 1))
    above = np.flatnonzero(values > candidates)
    return float(candidates[above[-1]]) if len(above) else 0.0


class GraphPenalty(OutputPenalty):
    """Squared differences of linked outputs, and a ridge of all.

    Half of tr(W M W'), where M is the graph's Laplacian plus the ridge.
    """

    def __init__(self, weights: np.ndarray, ridge: float) -> None:
        matrix = np.diag(weights.sum(axis=1)) - weights
        values, self.vectors = np.linalg.eigh(matrix)
        self.values = np.maximum(values, 0.0) + ridge

    def value(self, W: np.ndarray) -> float:
        return 0.5 * float((self.values * (W @ self.vectors) ** 2).sum())

    def prox(self, W: np.ndarray, step: float) -> np.ndarray:
        return (W @ (self.vectors / (1 + step * self.values))) @ self.vectors.T

    def conjugate(self, Z: np.ndarray, alpha: float) -> tuple[float, float]:
        square = (Z @ self.vectors) ** 2 / self.values
        return 1.0, 0.5 * float(square.sum()) / alpha

    def largest_alpha(self, Z: np.ndarray, curvature: float) -> float:
        return 10 * curvature / float(self.values.min(initial=np.inf))


class ClusterPenalty(OutputPenalty):
    r"""Clusters of outputs, relaxed to a convex penalty (Jacob, Bach, Vert 2008).

    With K clusters, the cost of coefficients is `ridge` for their mean, 1 for the
    clusters' departures from it, and `within` for the outputs' departures from their
    clusters. That is half of :math:`\mathrm{tr}(V \Sigma^{-1} V^T)` for the centred
    coefficients V, where :math:`\Sigma` has the eigenvalue 1 for K - 1 directions and
    1 / within for all others. Relaxed, eigenvalues lie in between, with the same sum.

    Parameters
    ----------
    label : int array of shape (n_outputs,)
        Class of each output; each class has a mean of its own.
    n_clusters : int
        K.
    ridge, within : float
        Costs.
    """

    def __init__(
        self, label: np.ndarray, n_clusters: int, ridge: float, within: float
    ) -> None:
        member = (label[:, None] == np.unique(label)).astype(float)
        self.average = member / np.maximum(member.sum(axis=0), 1) @ member.T
        self.ridge, self.low, self.high = ridge, 1 / within, 1.0
        self.n_free = len(label) - member.shape[1]
        self.n_high = min((n_clusters - 1) * member.shape[1], self.n_free)
        self.sum = (self.n_free - self.n_high) * self.low + self.n_high * self.high

    def _spectrum(self, values: np.ndarray) -> np.ndarray:
        """As many singular values as there are directions: some may be 0."""
        out = np.zeros(self.n_free)
        n = min(len(values), self.n_free)
        out[:n] = values[:n]
        return out

    def _eigenvalues(self, values: np.ndarray, shift: float) -> np.ndarray:
        """The clip of values / m - shift to the bounds with the sum that is given.

        Or with a lower sum, where all that is not 0 has the upper bound.
        """
        positive = values[values > 0]
        if not len(positive):
            return np.full(len(values), self.low)

        def clipped(x: np.ndarray) -> np.ndarray:
            return np.clip(np.multiply.outer(x, values) - shift, self.low, self.high)

        # the sum is a chain of lines in 1 / m, with ends where a value meets a bound
        ends = np.concatenate([(self.low + shift) / positive,
                               (self.high + shift) / positive])  # fmt: skip
        ends.sort()
        sums = clipped(ends).sum(axis=1)
        after = min(int(np.searchsorted(sums, self.sum)), len(ends) - 1)
        before = max(after - 1, 0)
        rise = sums[after] - sums[before]
        part = min((self.sum - sums[before]) / rise, 1.0) if rise > 0 else 1.0
        return clipped(ends[before] + part * (ends[after] - ends[before]))

    def value(self, W: np.ndarray) -> float:
        mean = W @ self.average
        values = self._spectrum(_singular(W - mean)[0])
        cost = (values**2 / self._eigenvalues(values, 0.0)).sum()
        return 0.5 * float(self.ridge * (mean**2).sum() + cost)

    def prox(self, W: np.ndarray, step: float) -> np.ndarray:
        mean = W @ self.average
        centred = W - mean
        found = _singular(centred)
        values = self._spectrum(found[0])
        eigenvalues = self._eigenvalues(values, step)
        new = np.zeros(len(found[0]))
        n = min(len(new), self.n_free)
        new[:n] = (values * eigenvalues / (eigenvalues + step))[:n]
        return mean / (1 + step * self.ridge) + _with_values(centred, found, new)

    def conjugate(self, Z: np.ndarray, alpha: float) -> tuple[float, float]:
        mean = Z @ self.average
        values = self._spectrum(_singular(Z - mean)[0])
        top = np.where(np.arange(self.n_free) < self.n_high, self.high, self.low)
        square = (mean**2).sum() / self.ridge + top @ values**2
        return 1.0, 0.5 * float(square) / alpha

    def largest_alpha(self, Z: np.ndarray, curvature: float) -> float:
        return 10 * curvature / min(self.ridge, 1.0)
