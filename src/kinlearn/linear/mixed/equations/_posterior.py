"""How sure predictions and effects are, given the variances of the random terms."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.linear.mixed._cross_products import term_columns
from kinlearn.linear.mixed.equations._factor import Factor

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
        self._border = factor.border_inverse()

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
        step = max(1, _CELLS // max(1, self.factor.blocks.widest))
        for left in range(0, len(out), step):
            rows = slice(left, left + step)
            out[rows] = self._of_rows(X[rows], [c[rows] for c in codes])
        return out

    def _of_rows(self, X: Any, codes: list[np.ndarray]) -> np.ndarray:
        factor, basis = self.factor, self.factor.cross.basis
        F = np.ones((X.shape[0], X.shape[1] + 1))
        F[:, 1:] = X.toarray() if sp.issparse(X) else X
        F[:, 1:] -= basis.shift
        F[:, 1:] /= basis.scale
        values = [
            term_columns(X, term, basis, k) @ factor.T[k]
            for k, term in enumerate(factor.cross.terms)
        ]
        drawn = np.zeros(X.shape[0])
        for v, code in zip(values, codes, strict=True):
            drawn += np.where(code >= 0, 0.0, (v**2).sum(axis=1))
        known = factor.variance(F[:, factor.fixed], values, codes, self._border)
        return drawn + known
