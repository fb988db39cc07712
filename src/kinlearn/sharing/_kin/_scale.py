"""Features of mean 0 and variance 1, as linear models need them."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Standardisation"]


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Mean and spread of each feature; missing values become the mean.

    Attributes
    ----------
    centre, spread : float64 arrays of shape (n_features,)
        Of the known values; the spread of a feature that does not vary is 1.
    """

    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, X, weight):
        """Measure the columns of X.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features)
            Rows; NaN is missing.
        weight : float64 array of shape (n_samples,)
            A weight of 2 is the same as two rows.

        Returns
        -------
        Standardisation
            The measures.
        """
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
        return cls(centre, spread)

    def apply(self, X):
        """The features in these terms.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features)
            Rows; NaN is missing.

        Returns
        -------
        float array of shape (n_samples, n_features)
            Of the same type as X.
        """
        Z = ((X - self.centre) / self.spread).astype(X.dtype, copy=False)
        np.nan_to_num(Z, copy=False)
        return Z
