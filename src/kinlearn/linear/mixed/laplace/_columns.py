"""Columns of the fixed effects, centred and scaled, and products with them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn._kernels.linear._levels import add_products
from kinlearn.linear._sparse_columns import centre_columns, far_from_zero

__all__ = ["FixedColumns"]

_CHUNK = 8192


@dataclass(frozen=True, eq=False)
class FixedColumns:
    """``[1, (X - shift) / scale]``; dense columns are kept so, sparse ones as they are.

    Attributes
    ----------
    X : float64 array of shape (n, p), or CSR array
        Dense: the columns themselves, ones included. Sparse: X as it is.
    intercept : bool
        Whether the first column is ones.
    shift, scale : float64 arrays of shape (n_features,)
        Units. Without an intercept nothing is shifted. Sparse columns far from zero
        are shifted already, and have the shift 0.
    """

    X: Any
    intercept: bool
    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def of_rows(
        cls, X: Any, intercept: bool, shift: np.ndarray, scale: np.ndarray
    ) -> "FixedColumns":
        """Columns of X in these units."""
        if sp.issparse(X):
            X = sp.csr_array(X, dtype=np.float64)
            far = far_from_zero(X, None, shift)
            X = centre_columns(X, shift, far)
            return cls(X, intercept, np.where(far, 0.0, shift), scale)
        F = np.ones((X.shape[0], X.shape[1] + intercept))
        mine = F[:, int(intercept) :]
        np.subtract(X, shift, out=mine)
        mine /= scale
        return cls(F, intercept, shift, scale)

    @property
    def n_columns(self) -> int:
        """Fixed effects, the intercept included."""
        return len(self.shift) + self.intercept

    def dot(self, coef: np.ndarray) -> np.ndarray:
        """Columns times coefficients."""
        if not sp.issparse(self.X):
            return self.X @ coef
        slopes = coef[int(self.intercept) :] / self.scale
        constant = coef[0] - slopes @ self.shift if self.intercept else 0.0
        return self.X @ slopes + constant

    def sums(self, c: np.ndarray) -> np.ndarray:
        """Sum of the rows, each times a number."""
        if not sp.issparse(self.X):
            return c @ self.X
        return self._scaled(np.concatenate([[c.sum()], self.X.T @ c]))

    def gram(self, weight: np.ndarray) -> np.ndarray:
        """Weighted sum of the rows' outer products."""
        if sp.issparse(self.X):
            F = self._with_ones(weight)
            raw = (self._with_ones(None).T @ F).toarray()
            return self._scaled(self._scaled(raw).T)
        p = self.n_columns
        total = np.zeros((p, p))
        for left in range(0, self.X.shape[0], _CHUNK):
            block = self.X[left : left + _CHUNK]
            total += (block * weight[left : left + _CHUNK, None]).T @ block
        return total

    def by_level(
        self, codes: np.ndarray, n_levels: int, A: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Weighted outer products of A and the columns, summed by level."""
        r = A.shape[1]
        if r == 0 or not sp.issparse(self.X):
            total = np.zeros((n_levels, r, self.n_columns))
            if r == 0:
                return total
            for left in range(0, len(codes), _CHUNK):
                rows = slice(left, left + _CHUNK)
                add_products(
                    codes[rows], A[rows] * weight[rows, None], self.X[rows], total
                )
            return total
        F, each_row = self._with_ones(weight), np.arange(len(codes))
        shape = (n_levels, len(codes))
        each = [sp.csr_array((a, (codes, each_row)), shape=shape) @ F for a in A.T]
        return self._scaled(np.stack([sums.toarray() for sums in each], axis=1))

    def by_place(self, S: Any, weight: np.ndarray) -> np.ndarray:
        """Weighted products of a sparse matrix's columns and these."""
        if not sp.issparse(self.X):
            return (S.T * weight) @ self.X
        return self._scaled((S.T @ self._with_ones(weight)).toarray())

    def _with_ones(self, weight: np.ndarray | None) -> Any:
        ones = np.ones((self.X.shape[0], 1))
        F = sp.hstack([sp.csr_array(ones), self.X], format="csr")
        return F if weight is None else sp.diags_array(weight) @ F

    def _scaled(self, raw: np.ndarray) -> np.ndarray:
        """Sums over ``[1, X]`` as sums over the columns, on the last axis."""
        scaled = (raw[..., 1:] - raw[..., :1] * self.shift) / self.scale
        if self.intercept:
            return np.concatenate([raw[..., :1], scaled], axis=-1)
        return scaled
