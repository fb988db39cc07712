r"""Random terms: what varies between the levels of a grouping, and its covariance.

The effects of a level are :math:`b = T u`, with :math:`u \sim N(0, \sigma^2 I)`, so
that their covariance is :math:`\sigma^2 T T^\top`. T has as many columns as the
covariance has rank; :math:`\theta` are those of its cells that are free.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

__all__ = ["COVARIANCES", "Covariance", "Term", "split_theta"]

Covariance: TypeAlias = Literal["full", "diagonal", "scaled_identity", "low_rank"]
COVARIANCES = ("full", "diagonal", "scaled_identity", "low_rank")


@dataclass(frozen=True, eq=False)
class Term:
    """A grouping of the rows, and the effects that each of its levels has.

    Attributes
    ----------
    name : str
        What messages and tables call the grouping.
    n_levels : int
        Number of levels.
    columns : tuple of int
        Columns of X whose slopes vary; the intercept always does.
    covariance : {"full", "diagonal", "scaled_identity", "low_rank"}
        Which cells of T are free: a lower triangle; a diagonal; one number; the first
        `rank` columns of a lower triangle.
    rank : int
        Rank of a "low_rank" covariance.
    """

    name: str
    n_levels: int
    columns: tuple[int, ...]
    covariance: Covariance = "full"
    rank: int = 1

    @property
    def n_effects(self) -> int:
        """Effects of a level."""
        return 1 + len(self.columns)

    @property
    def width(self) -> int:
        """Columns of T."""
        if self.covariance == "low_rank":
            return min(self.rank, self.n_effects)
        return self.n_effects

    @property
    def centred(self) -> bool:
        """Whether the covariance is of the same kind after any change of basis."""
        return self.covariance in ("full", "low_rank")

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the free cells of T."""
        if self.covariance in ("diagonal", "scaled_identity"):
            return np.arange(self.n_effects), np.arange(self.n_effects)
        rows, columns = np.tril_indices(self.n_effects, m=self.width)
        return rows, columns

    @property
    def n_theta(self) -> int:
        """Number of parameters of the covariance, relative to the residual's."""
        return 1 if self.covariance == "scaled_identity" else len(self.cells[0])

    def start(self) -> np.ndarray:
        """Theta to start from: effects that vary as much as the residual."""
        rows, columns = self.cells
        return np.where(rows == columns, 1.0, 0.0)[: self.n_theta]

    def matrix(self, theta: np.ndarray) -> np.ndarray:
        """T, of shape (n_effects, width)."""
        T = np.zeros((self.n_effects, self.width))
        T[self.cells] = theta
        return T

    def theta_of(self, T: np.ndarray) -> np.ndarray:
        """Theta of a T, or of a gradient by it (sums where one number fills cells)."""
        cells = T[self.cells]
        return cells.sum(keepdims=True) if self.n_theta < len(cells) else cells

    def with_signs(self, T: np.ndarray) -> np.ndarray:
        """Theta of the same covariance, whose diagonal is not negative."""
        signs = np.where(np.diag(T) < 0.0, -1.0, 1.0)
        return (T * signs)[self.cells][: self.n_theta]

    def theta_from_covariance(self, S: np.ndarray) -> np.ndarray:
        """Theta whose covariance is close to S, which is positive semi-definite."""
        if self.covariance == "diagonal":
            return np.sqrt(np.maximum(np.diag(S), 0.0))
        if self.covariance == "scaled_identity":
            return np.sqrt([max(np.trace(S) / self.n_effects, 0.0)])
        values, vectors = np.linalg.eigh(S)
        keep = np.argsort(values)[::-1][: self.width]
        factor = vectors[:, keep] * np.sqrt(np.maximum(values[keep], 0.0))
        # the lower triangle with the same product, its diagonal not negative
        _, upper = np.linalg.qr(factor.T)
        return self.with_signs(upper.T)


def split_theta(terms: Sequence[Term], theta: np.ndarray) -> list[np.ndarray]:
    """The matrices T of all terms, from their parameters behind each other."""
    ends = np.cumsum([term.n_theta for term in terms])
    parts = np.split(theta, ends[:-1]) if terms else []
    return [term.matrix(part) for term, part in zip(terms, parts, strict=True)]
