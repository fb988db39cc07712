"""What is taken off the targets before trees grow: a line, and offsets of tasks.

Trees would need many splits to follow a line through all features. The offset of a
task is an intercept, drawn towards zero as far as chance explains it.

Both are learned from sums over partitions of the rows; rows in one place are one
partition. ``collect(function, *args)`` gives the values of ``function(rows, *args)``,
where `rows` have `columns`, `task`, `y` and `weight`. Offsets do not depend on how the
rows are divided. The sums of the line do in their last digits, which its coefficients
are rounded not to show.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from kinlearn.trees.extra._growth import exact_integers, exact_unit, weight_and_total
from kinlearn.utils._loaded import check_finite, check_numbers, demand

__all__ = [
    "Baseline",
    "LinearPart",
    "Residuals",
    "add_offsets",
    "learn_offsets",
]

_PENALTIES = 10.0 ** np.arange(-5, 1.5, 0.5)  # for each row, of standardised features
# A coefficient counts as so many in the score. With 1, the plain score, few rows tend
# to penalties far too small: Kim and Gu (2004).
_PRICE = 1.4
_DIGITS = 24  # binary, of the coefficients
_ROWS_AT_ONCE = 8_192


class _Rows(NamedTuple):
    """Rows in one place."""

    columns: np.ndarray
    y: np.ndarray
    weight: np.ndarray


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

    def check(self, n_features: int) -> None:
        """Refuse arrays that do not fit the model."""
        for name in ("coef", "center", "low", "high", "variance"):
            check_numbers(name, getattr(self, name), np.float64, (n_features,))
        for name in ("coef", "center", "intercept"):
            check_finite(name, np.asarray(getattr(self, name)))
        demand((self.low <= self.high).all(), "low")

    @classmethod
    def fit(
        cls,
        columns: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        categorical: np.ndarray | None = None,
    ) -> Self:
        """Fit to rows in one place; see `fit_partitions`."""
        rows = _Rows(columns, y, np.ones(len(y)) if weight is None else weight)
        return cls.fit_partitions(
            lambda function, *args: [function(rows, *args)], categorical
        )

    @classmethod
    def fit_partitions(
        cls, collect: Callable[..., list[Any]], categorical: np.ndarray | None = None
    ) -> Self:
        """Fit, with the penalty of the least generalised cross-validation score.

        Columns that are `categorical` are left to the trees. Slopes are rounded so that
        the order of sums does not show.
        """
        all_weight, all_total, n, total, low, high = (
            np.stack(values) for values in zip(*collect(_first_moments), strict=True)
        )
        weight = all_weight.sum()
        intercept = float(_rounded(all_total.sum() / weight))
        n, total, low, high = n.sum(0), total.sum(0), low.min(0), high.max(0)
        known = n > 0
        low, high = np.where(known, low, 0.0), np.where(known, high, 0.0)
        varies = low < high
        center, scale = low.copy(), np.zeros(len(low))
        center[varies] = _rounded(total[varies] / n[varies])
        squares = np.sum(collect(_squares, center, varies), axis=0)
        scale[varies] = _rounded(np.sqrt(squares[varies] / n[varies]))
        if categorical is not None:
            scale = np.where(categorical, 0.0, scale)
        which = np.flatnonzero(scale > 0)
        gram, moment, rest = (
            sum(values)
            for values in zip(
                *collect(_products, intercept, which, center, scale), strict=True
            )
        )
        coef = np.zeros(len(low))
        coef[which] = _ridge(gram, moment, rest, weight)
        variance = coef**2
        coef[which] /= scale[which]
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


def _seen(rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of weight, their weights and their y."""
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    seen = np.flatnonzero(weight > 0)
    return seen, weight[seen], np.asarray(rows.y, dtype=np.float64)[seen]


def _known_values(
    rows: Any, which: np.ndarray
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Number, known values and their weights, of some features that have any here."""
    seen, weight, _ = _seen(rows)
    for j in np.flatnonzero(which):
        x = rows.columns[j, seen].astype(np.float64)
        known = ~np.isnan(x)
        if known.any():
            yield j, x[known], weight[known]


def _first_moments(rows: Any) -> tuple[Any, ...]:
    """Weight and sum of y; weight, sum, least and greatest value of each feature."""
    _, weight, y = _seen(rows)
    d = len(rows.columns)
    n, total = np.zeros(d), np.zeros(d)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for j, x, w in _known_values(rows, np.ones(d, dtype=bool)):
        low[j], high[j] = x.min(), x.max()
        n[j], total[j] = w.sum(), (x * w).sum()
    return weight.sum(), (y * weight).sum(), n, total, low, high


def _squares(rows: Any, center: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Weighted sums of squares about the centers of some features."""
    out = np.zeros(len(center))
    for j, x, w in _known_values(rows, which):
        out[j] = ((x - center[j]) ** 2 * w).sum()
    return out


def _products(
    rows: Any,
    intercept: float,
    which: np.ndarray,
    center: np.ndarray,
    scale: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Products of standardised features with each other and with y, and y squared.

    A missing value is 0.
    """
    seen, weight, y = _seen(rows)
    gram, moment = np.zeros((len(which), len(which))), np.zeros(len(which))
    rest = y - intercept
    for start in range(0, len(seen), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        Z = rows.columns[np.ix_(which, seen[some])].T.astype(np.float64)
        Z = (Z - center[which]) / scale[which]
        Z = np.where(np.isnan(Z), 0.0, Z)
        weighted = weight[some, None] * Z
        gram += Z.T @ weighted
        moment += rest[some] @ weighted
    return gram, moment, float(weight @ rest**2)


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


class Residuals(NamedTuple):
    """What a forest of all tasks leaves unexplained."""

    values: np.ndarray
    task: np.ndarray
    weight: np.ndarray


def learn_offsets(collect: Callable[..., list[Any]], n_tasks: int) -> np.ndarray:
    r"""Task means of residuals, shrunken by empirical Bayes.

    The model is one of random effects, ``residual = b[task] + noise``. Both variances
    are estimated by the analysis of variance (between tasks and within), and

    .. math::

        \hat b_t = \frac{n_t}{n_t + \sigma^2 / \tau^2} (\bar r_t - \bar r).
    """
    n, sums = _exact_sums(collect, _by_task, n_tasks)
    total, present = n.sum(), int((n > 0).sum())
    free = total - present
    if present < 2 or not free > 0:
        return np.zeros(n_tasks)
    centre = sums.sum() / total
    mean = np.divide(sums, n, out=np.zeros(n_tasks), where=n > 0)
    (squares,) = _exact_sums(collect, _about_mean, mean)
    within = float(squares.sum()) / free
    integers, unit = exact_integers(n * (mean - centre) ** 2)
    between = float(integers.sum()) * unit / (present - 1)
    typical_rows = (total - (n**2).sum() / total) / (present - 1)
    spread = (between - within) / typical_rows
    if not spread > 0:
        return np.zeros(n_tasks)
    offsets = n * spread * (mean - centre) / (n * spread + within)
    # Rounded, so that the order of the sums above decides nothing.
    return offsets.astype(np.float32).astype(np.float64)


def _by_task(
    rows: Residuals, n_tasks: int
) -> tuple[np.ndarray, int, tuple[np.ndarray, ...]]:
    return rows.task, n_tasks, (rows.weight, rows.weight * rows.values)


def _about_mean(
    rows: Residuals, mean: np.ndarray
) -> tuple[np.ndarray, int, tuple[np.ndarray, ...]]:
    squares = rows.weight * (rows.values - mean[rows.task]) ** 2
    return np.zeros_like(rows.task), 1, (squares,)


def _exact_sums(
    collect: Callable[..., list[Any]], values: Callable[..., Any], arg: Any
) -> list[np.ndarray]:
    """Sums by group that depend neither on the order of rows nor on partitions."""
    units = [exact_unit(t) for t in np.sum(collect(_magnitudes, values, arg), axis=0)]
    return list(np.sum(collect(_sums, values, arg, units), axis=0))


def _magnitudes(rows: Residuals, values: Callable[..., Any], arg: Any) -> list[float]:
    return [float(np.abs(v).sum()) for v in values(rows, arg)[2]]


def _sums(
    rows: Residuals, values: Callable[..., Any], arg: Any, units: list[float]
) -> np.ndarray:
    group, n_groups, arrays = values(rows, arg)
    return np.stack(
        [
            np.bincount(group, np.rint(v / unit).astype(np.int64), n_groups) * unit
            for v, unit in zip(arrays, units, strict=True)
        ]
    )


@dataclass(frozen=True, eq=False)
class Baseline:
    """What is taken off the targets."""

    line: LinearPart | None
    offsets: np.ndarray

    def __bool__(self) -> bool:
        return self.line is not None or bool(self.offsets.any())

    def take_off(
        self, columns: np.ndarray, task: np.ndarray, y: np.ndarray
    ) -> np.ndarray:
        """What is left of y."""
        if self.line is not None:
            y = y - self.line.predict(columns)
        return y - self.offsets[task] if self.offsets.any() else y

    def variance(self, rows: Any) -> np.ndarray:
        """Of the contributions of each feature, and of the task."""
        out = np.zeros(rows.n_features + 1)
        if self.line is not None:
            out[:-1] = self.line.variance
        if self.offsets.any():
            weight, squares = np.sum(rows.collect(_offset_sums, self.offsets), axis=0)
            out[-1] = squares / weight
        return out


def _offset_sums(rows: Any, offsets: np.ndarray) -> tuple[float, float]:
    return weight_and_total(_Rows(rows.columns, offsets[rows.task] ** 2, rows.weight))


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
