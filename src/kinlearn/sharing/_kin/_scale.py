"""Features of mean 0 and variance 1, as linear models need them."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn.sharing._kin._categories import Categories

__all__ = ["Standardisation"]

# What rows of standardised features, or weighted words, of usual penalties have.
_SQUARED_NORM = 30.0
_MOST_OF_USUAL = 10.0  # a sparse feature may be so many times as large as the others


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Mean and spread of each feature; missing values become the mean.

    Sparse features keep their zeros: the centre is 0, and all have one spread, which
    gives rows a common size. It is larger for a feature that would drown the others.

    Attributes
    ----------
    centre, spread : float64 arrays of shape (n_features,)
        Of the known values; the spread of a feature that does not vary is 1.
    categories : Categories or None
        What becomes of features that are codes: it comes behind the numbers.
    """

    centre: np.ndarray
    spread: np.ndarray
    categories: Categories | None = None

    @property
    def n_codes(self) -> int:
        """How many features stay codes; they are the last."""
        return 0 if self.categories is None else len(self.categories.many)

    @classmethod
    def of(
        cls, X: Any, weight: np.ndarray, categorical: np.ndarray | None = None
    ) -> Self:
        """Measure the columns of X.

        Parameters
        ----------
        X : float array or CSR of shape (n_samples, n_features)
            Rows; NaN is missing.
        weight : float64 array of shape (n_samples,)
            A weight of 2 is the same as two rows.
        categorical : bool array of shape (n_features,), default=None
            Which features are codes of categories.

        Returns
        -------
        Standardisation
            The measures.
        """
        if sp.issparse(X):
            return cls(np.zeros(X.shape[1]), _spread_of_sparse(X, weight))
        categories = None
        if categorical is not None:
            categories = Categories.of(X, categorical)
            X = X[:, ~categorical]
        centre, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for j in range(X.shape[1]):
            known = ~np.isnan(X[:, j])
            if not known.any():
                continue
            x, w = X[known, j].astype(np.float64), weight[known]
            low, high = x.min(), x.max()
            if low == high:
                centre[j] = low
                continue
            # from the middle, in units of half the range: no sum or square of
            # numbers of any size overflows or vanishes
            middle, half = low / 2 + high / 2, high / 2 - low / 2
            z = (x - middle) / half
            mean = np.average(z, weights=w)
            centre[j] = middle + half * mean
            spread[j] = half * np.sqrt(np.average((z - mean) ** 2, weights=w))
        return cls(centre, spread, categories)

    def apply(self, X: Any) -> Any:
        """The features in these terms.

        Parameters
        ----------
        X : float array or CSR of shape (n_samples, n_features)
            Rows; NaN is missing. CSR, if X was so in `of`.

        Returns
        -------
        float array or CSR of shape (n_samples, n_columns)
            Of the same type as X, and as many columns, but for categories.
        """
        if sp.issparse(X):
            scaled = X.data / self.spread[X.indices]
            scaled = np.nan_to_num(scaled.astype(X.dtype, copy=False), copy=False)
            return sp.csr_array((scaled, X.indices, X.indptr), shape=X.shape)
        codes = None
        if self.categories is not None:
            codes = self.categories.apply(X)
            X = np.delete(X, self.categories.positions, axis=1)
        Z = ((X - self.centre) / self.spread).astype(X.dtype, copy=False)
        np.nan_to_num(Z, copy=False)
        return Z if codes is None else np.hstack([Z, codes])


def _spread_of_sparse(X: Any, weight: np.ndarray) -> np.ndarray:
    """Numbers to divide the columns of a CSR by."""
    data = np.abs(np.nan_to_num(X.data.astype(np.float64)))
    largest = np.zeros(X.shape[1])
    np.maximum.at(largest, X.indices, data)
    if not largest.any():
        return np.ones(X.shape[1])
    most = _MOST_OF_USUAL * np.median(largest[largest > 0])
    spread = np.maximum(largest / most, 1.0)
    unit = largest.max()  # so that squares are of any size
    size = np.zeros(X.shape[0])
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    np.add.at(size, row, (data / spread[X.indices] / unit) ** 2)
    norm = unit * np.sqrt(np.average(size, weights=weight) / _SQUARED_NORM)
    return spread * norm
