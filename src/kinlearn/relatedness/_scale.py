"""Features in units and around an origin in which distances keep their digits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["FeatureScaler", "fit_scaler"]

_BLOCK_CELLS = 4_000_000  # of a temporary matrix, 32 MB
_SPARSE_LIMIT = 1e5  # mean over deviation: a distance keeps some 6 digits
_ROUNDING = 10 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class FeatureScaler:
    """Maps x to ``(x / unit - mean) * factor``, in double precision.

    Attributes
    ----------
    unit : float64 array of shape (n_features,)
        A size of the values, so that no square overflows or vanishes.
    mean : float64 array of shape (n_features,)
        Of x / unit.
    factor : float64 array of shape (n_features,)
        One over the standard deviation, or 1; 0 for a constant feature, which
        takes no part in a distance.
    """

    unit: np.ndarray
    mean: np.ndarray
    factor: np.ndarray

    def transform(self, X: Any) -> Any:
        """Dense rows scaled and centred; sparse rows scaled: see `offset`."""
        if not sp.issparse(X):
            scaled = np.divide(X, self.unit, dtype=np.float64)
            scaled -= self.mean
            scaled *= self.factor
            return scaled
        scaled = _in_units(X, self.unit)
        scaled.data *= self.factor[scaled.indices]
        return scaled

    @property
    def offset(self) -> np.ndarray:
        """Mean of sparse rows after `transform`."""
        return self.mean * self.factor


def _in_units(X: Any, unit: np.ndarray) -> Any:
    """A sparse matrix over the columns' units; division, as 1 / unit may overflow."""
    X = X.astype(np.float64, copy=True)
    X.sum_duplicates()
    X.data /= unit[X.indices]
    return X


def _dense_moments(X: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the columns of X / unit, without a copy of X."""
    step = max(1, _BLOCK_CELLS // max(X.shape[1], 1))

    def column_mean(function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        total = np.zeros(X.shape[1])
        for start in range(0, X.shape[0], step):
            block = np.divide(X[start : start + step], unit, dtype=np.float64)
            total += function(block).sum(axis=0)
        return total / X.shape[0]

    mean = column_mean(lambda block: block)
    # Again around the first mean, whose rounding may exceed the deviation.
    mean += column_mean(lambda block: block - mean)
    return mean, np.sqrt(column_mean(lambda block: np.square(block - mean)))


def _sparse_moments(X: Any, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = _in_units(X, unit)
    n_rows, n_columns = X.shape

    def column_sum(values: np.ndarray) -> np.ndarray:
        return np.bincount(X.indices, weights=values, minlength=n_columns)

    mean = column_sum(X.data) / n_rows
    n_zeros = n_rows - np.bincount(X.indices, minlength=n_columns)
    squares = column_sum(np.square(X.data - mean[X.indices])) + n_zeros * mean**2
    return mean, np.sqrt(squares / n_rows)


def _column_ranges(X: Any) -> tuple[np.ndarray, np.ndarray]:
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low.astype(np.float64), high.astype(np.float64)


def fit_scaler(X: Any, scale: bool, names: Any) -> FeatureScaler:
    """A scaler fitted to all rows.

    Without `scale` all features are divided by one power of two, which leaves their
    proportions as they are. Sparse rows cannot be centred without filling them: where a
    feature's mean is so large that distances would drown in rounding, they are refused.
    """
    low, high = _column_ranges(X)
    unit = np.maximum(np.abs(low), np.abs(high))
    if not scale:
        unit = np.full(len(unit), np.ldexp(0.5, np.frexp(unit.max())[1]))
    unit[unit == 0] = 1.0
    mean, deviation = (_sparse_moments if sp.issparse(X) else _dense_moments)(X, unit)
    constant = (low == high) | (deviation <= _ROUNDING * np.abs(mean))
    deviation[constant] = 0.0
    factor = np.divide(
        1.0, deviation if scale else 1.0, out=np.zeros(len(unit)), where=~constant
    )
    scaler = FeatureScaler(unit, mean, factor)
    if sp.issparse(X):
        spread = 1.0 if scale else np.linalg.norm(deviation)
        worst = np.argmax(np.abs(scaler.offset))
        if np.abs(scaler.offset[worst]) > _SPARSE_LIMIT * spread:
            raise ValueError(
                f"Feature {names[worst]!r} of the sparse X has a mean more than "
                f"{_SPARSE_LIMIT:g} times its spread, so that distances would be lost "
                "in rounding. Subtract a constant from the feature, or pass a dense X."
            )
    return scaler
