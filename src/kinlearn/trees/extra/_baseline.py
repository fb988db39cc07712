"""What is taken off the targets before trees grow: a line, and offsets of tasks.

Trees would need many splits to follow a line through all features. The offset of a
task is an intercept, drawn towards zero as far as chance explains it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from kinlearn.trees.extra._growth import exact_integers

__all__ = ["LinearPart", "add_offsets", "shrunken_offsets"]

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
        Of each feature's contribution to the prediction, over the rows of fit.
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
        """Fit, with the penalty of the least generalised cross-validation score.

        Columns that are `categorical` are left to the trees. Slopes are rounded so that
        the order of sums does not show.
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
        for rows, Z in _standardised(columns, seen, varies, center, scale):
            weighted = weight[rows, None] * Z
            gram += Z.T @ weighted
            moment += rest[rows] @ weighted
        coef = np.zeros(len(columns))
        coef[varies] = _ridge(gram, moment, float(weight @ rest**2), weight.sum())
        variance = coef**2
        coef[varies] /= scale[varies]
        return cls(_rounded(coef), center, low, high, intercept, variance)

    def contributions(self, columns: np.ndarray) -> Iterator[np.ndarray]:
        """What each feature adds to the intercept."""
        for j, column in enumerate(columns):
            inside = np.clip(column, self.low[j], self.high[j]) - self.center[j]
            yield self.coef[j] * np.where(np.isnan(inside), 0.0, inside)

    def predict(self, columns: np.ndarray) -> np.ndarray:
        """The value of the line."""
        out = np.full(columns.shape[1], self.intercept)
        for start in range(0, len(out), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            for contribution in self.contributions(columns[:, rows]):
                out[rows] += contribution
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
        rows = slice(start, start + _ROWS_AT_ONCE)
        Z = columns[np.ix_(varies, seen[rows])].T.astype(np.float64)
        Z = (Z - center[varies]) / scale[varies]
        yield rows, np.where(np.isnan(Z), 0.0, Z)


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


def shrunken_offsets(
    residual: np.ndarray,
    task: np.ndarray,
    n_tasks: int,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    r"""Task means of residuals, shrunken by empirical Bayes.

    The model is one of random effects, ``residual = b[task] + noise``. Both variances
    are estimated by the analysis of variance (between tasks and within), and

    .. math::

        \hat b_t = \frac{n_t}{n_t + \sigma^2 / \tau^2} (\bar r_t - \bar r).
    """
    weight = np.ones(len(task)) if weight is None else weight
    n = _sums(weight, task, n_tasks)
    total, present = n.sum(), int((n > 0).sum())
    free = total - present
    if present < 2 or not free > 0:
        return np.zeros(n_tasks)
    sums = _sums(weight * residual, task, n_tasks)
    centre = sums.sum() / total
    mean = np.divide(sums, n, out=np.zeros(n_tasks), where=n > 0)
    within = _total(weight * (residual - mean[task]) ** 2) / free
    between = _total(n * (mean - centre) ** 2) / (present - 1)
    typical_rows = (total - (n**2).sum() / total) / (present - 1)
    spread = (between - within) / typical_rows
    if not spread > 0:
        return np.zeros(n_tasks)
    offsets = n * spread * (mean - centre) / (n * spread + within)
    # Rounded, so that the order of the sums above decides nothing.
    return offsets.astype(np.float32).astype(np.float64)


def add_offsets(
    offsets: np.ndarray,
    is_new: np.ndarray,
    residual: np.ndarray,
    task: np.ndarray,
    weight: np.ndarray,
) -> None:
    """Fill in the offsets of new tasks, shrunken as those of the others suggest."""
    spread = np.var(offsets[~is_new])
    for t in np.flatnonzero(is_new):
        own = task == t
        n = weight[own].sum()
        if not n > 0:
            continue
        mean = np.average(residual[own], weights=weight[own])
        within = np.average((residual[own] - mean) ** 2, weights=weight[own])
        if n > 1:
            within *= n / (n - 1)
        total = n * spread + max(within, spread)
        offsets[t] = n * spread * mean / total if total > 0 else 0.0


def _sums(values: np.ndarray, task: np.ndarray, n_tasks: int) -> np.ndarray:
    """Sums by task that do not depend on the order of the rows."""
    integers, unit = exact_integers(values)
    return np.bincount(task, weights=integers, minlength=n_tasks) * unit


def _total(values: np.ndarray) -> float:
    integers, unit = exact_integers(values)
    return float(integers.sum()) * unit
