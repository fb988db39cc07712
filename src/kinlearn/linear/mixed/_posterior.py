"""How sure predictions and effects are, given the variances of the random terms."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.linear.mixed._cross_products import term_columns
from kinlearn.linear.mixed._factor import Factor

__all__ = ["Posterior"]

_CELLS = 4_000_000  # of the dense matrix of some rows


class Posterior:
    """Variances of linear combinations of effects, relative to the residual's.

    Parameters
    ----------
    factor : Factor
        The equations of the fitted model.
    """

    def __init__(self, factor: Factor) -> None:
        self.factor = factor
        self.inverse = factor.inverse()

    def variance(self, X: Any, codes: list[np.ndarray]) -> np.ndarray:
        """Variance of the mean of some rows; levels of code -1 are drawn anew.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Features, in their own units.
        codes : list of int32 arrays of shape (n_samples,)
            Level of each row, by term.

        Returns
        -------
        float64 array of shape (n_samples,)
            Variances.
        """
        out = np.empty(X.shape[0])
        step = max(1, _CELLS // max(1, len(self.inverse.dense)))
        for left in range(0, len(out), step):
            rows = slice(left, left + step)
            out[rows] = self._of_rows(X[rows], [c[rows] for c in codes])
        return out

    def _of_rows(self, X: Any, codes: list[np.ndarray]) -> np.ndarray:
        factor, basis = self.factor, self.factor.cross.basis
        pattern, m = factor.pattern, factor.pattern.n_dense
        g = np.zeros((X.shape[0], len(self.inverse.dense)))
        values = X.toarray() if sp.issparse(X) else X
        F = np.ones((X.shape[0], X.shape[1] + 1))
        F[:, 1:] = (values - basis.shift) / basis.scale
        g[:, m:] = F[:, pattern.fixed]
        variance = np.zeros(X.shape[0])
        starts = dict(zip(pattern.order[1:], pattern.starts, strict=True))
        for k, term in enumerate(factor.cross.terms):
            v = term_columns(X, term, basis, k) @ factor.T[k]
            known = np.flatnonzero(codes[k] >= 0)
            variance += np.where(codes[k] >= 0, 0.0, (v**2).sum(axis=1))
            at, v = codes[k][known], v[known]
            if k in starts:
                r = v.shape[1]
                places = starts[k] + at[:, None].astype(np.intp) * r + np.arange(r)
                g[known[:, None], places] += v
            else:
                variance[known] += factor.subtract_from(g, known, at, v)
        return variance + np.einsum("ij,ij->i", g @ self.inverse.dense, g)
