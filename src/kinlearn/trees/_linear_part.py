"""A line through all features, which trees would need many splits to follow."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

__all__ = ["LinearPart"]

_PENALTIES = 10.0 ** np.arange(-5, 1.5, 0.5)  # for each row, of standardised features
# A coefficient counts as so many in the score. With 1, the plain score, few rows tend
# to penalties far too small: Kim and Gu (2004).
_PRICE = 1.4
_DIGITS = 24  # binary, of the coefficients
_ROWS_AT_ONCE = 8_192


@dataclass(frozen=True, eq=False)
class LinearPart:
    """Ridge regression, kept within the values seen in fit.

    Attributes
    ----------
    coef : float64 array of shape (n_features,)
        Slopes; 0 for a feature that does not vary.
    center : float64 array of shape (n_features,)
        Means, which stand for missing values.
    low, high : float64 arrays of shape (n_features,)
        The least and the largest value seen. Values beyond count as these, so that
        the prediction stays bounded, as a forest's does.
    intercept : float
        The mean of y, the prediction at the features' means.
    variance : float64 array of shape (n_features,)
        Of each feature's share in the prediction, over the rows of fit.
    """

    coef: np.ndarray
    center: np.ndarray
    low: np.ndarray
    high: np.ndarray
    intercept: float
    variance: np.ndarray

    @classmethod
    def fit(
        cls,
        columns: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        categorical: np.ndarray | None = None,
    ) -> Self:
        """Fit, with the penalty of the least generalised cross-validation score (GCV).

        Parameters
        ----------
        columns : float array of shape (n_features, n_samples)
            X, feature by feature, with NaN for missing values.
        y : float array of shape (n_samples,)
            Targets.
        weight : float array of shape (n_samples,), default=None
            A weight of 2 is the same as two rows.
        categorical : bool array of shape (n_features,), default=None
            Features that the line leaves to the trees: categories have no slope.

        Returns
        -------
        LinearPart
            Slopes rounded to 24 binary digits, so that the order of sums does not
            show.
        """
        weight = np.ones(len(y)) if weight is None else weight
        seen = np.flatnonzero(weight > 0)
        weight, y = weight[seen], np.asarray(y, dtype=np.float64)[seen]
        intercept = float(_rounded(np.average(y, weights=weight)))
        center, scale, low, high = _moments(columns, seen, weight)
        if categorical is not None:
            scale = np.where(categorical, 0.0, scale)
        varies = np.flatnonzero(scale > 0)
        gram = np.zeros((len(varies), len(varies)))
        moment = np.zeros(len(varies))
        rest = y - intercept
        for part, Z in _standardised(columns, seen, varies, center, scale):
            weighted = weight[part, None] * Z
            gram += Z.T @ weighted
            moment += rest[part] @ weighted
        coef = np.zeros(len(columns))
        coef[varies] = _ridge(gram, moment, float(weight @ rest**2), weight.sum())
        variance = coef**2
        coef[varies] /= scale[varies]
        return cls(_rounded(coef), center, low, high, intercept, variance)

    def shares(self, columns: np.ndarray) -> Iterator[np.ndarray]:
        """What each feature adds to the intercept.

        Parameters
        ----------
        columns : float array of shape (n_features, n_samples)
            X, feature by feature, with NaN for missing values.

        Yields
        ------
        float64 array of shape (n_samples,)
            For one feature after another.
        """
        for j, column in enumerate(columns):
            inside = np.clip(column, self.low[j], self.high[j]) - self.center[j]
            yield self.coef[j] * np.where(np.isnan(inside), 0.0, inside)

    def answer(self, columns: np.ndarray) -> np.ndarray:
        """The value of the line.

        Parameters
        ----------
        columns : float array of shape (n_features, n_samples)
            X, feature by feature, with NaN for missing values.

        Returns
        -------
        float64 array of shape (n_samples,)
            Summed in the order of the features, so that a row's prediction does not
            depend on other rows.
        """
        out = np.full(columns.shape[1], self.intercept)
        for start in range(0, len(out), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            for share in self.shares(columns[:, part]):
                out[part] += share
        return out


def _rounded(values: float | np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissa, _DIGITS)), exponent - _DIGITS)


def _moments(
    columns: np.ndarray, seen: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation, minimum and maximum of each feature's known values."""
    d = len(columns)
    center, scale, low, high = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    for j in range(d):
        x = columns[j, seen].astype(np.float64)
        known = ~np.isnan(x)
        if not known.any():
            continue
        x, w = x[known], weight[known]
        low[j], high[j] = x.min(), x.max()
        if low[j] == high[j]:
            center[j] = low[j]
            continue
        center[j] = _rounded(np.average(x, weights=w))
        scale[j] = _rounded(np.sqrt(np.average((x - center[j]) ** 2, weights=w)))
    return center, scale, low, high


def _standardised(
    columns: np.ndarray,
    seen: np.ndarray,
    varies: np.ndarray,
    center: np.ndarray,
    scale: np.ndarray,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows of the features that vary; 0 where a value is missing."""
    for start in range(0, len(seen), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        Z = columns[np.ix_(varies, seen[part])].T.astype(np.float64)
        Z = (Z - center[varies]) / scale[varies]
        yield part, np.where(np.isnan(Z), 0.0, Z)


def _ridge(gram: np.ndarray, moment: np.ndarray, total: float, n: float) -> np.ndarray:
    """Coefficients of the penalty with the least mean squared error, by GCV."""
    value, vector = np.linalg.eigh(gram)
    value = np.maximum(value, 0.0)
    moment = vector.T @ moment
    best, least = np.zeros(len(moment)), np.inf
    for penalty in _PENALTIES * n:
        coef = moment / (value + penalty)
        free = n - 1 - _PRICE * (value / (value + penalty)).sum()
        if free <= 0:
            continue
        score = (total - 2 * coef @ moment + value @ coef**2) / free**2
        if score < least:
            best, least = coef, score
    return vector @ best
