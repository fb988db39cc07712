"""Expectations over linear predictors that are normal."""

import numpy as np
from scipy.special import expit, pdtr
from scipy.stats import norm

__all__ = ["count_quantiles", "mean_probability"]

# The trapezoidal rule over the standard normal distribution: for functions as smooth as
# these its error falls exponentially with the number of nodes, and faster than that of
# Gauss and Hermite's where variances are large.
_NODES = np.linspace(-8.0, 8.0, 81)
_WEIGHTS = norm.pdf(_NODES) / norm.pdf(_NODES).sum()
_CHUNK = 20_000
_MOST_LOG = 35.0  # of a rate: larger counts are not told apart as floats


def mean_probability(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Expectation of the logistic function of normal variables.

    Parameters
    ----------
    mean, variance : float64 arrays of the same shape
        Of the variables.

    Returns
    -------
    float64 array of that shape
        Expectations.
    """
    out = expit(mean)
    rows = np.flatnonzero(variance.ravel() > 0.0)
    flat, m, v = out.ravel(), mean.ravel(), variance.ravel()
    for left in range(0, len(rows), _CHUNK):
        some = rows[left : left + _CHUNK]
        values = expit(m[some, None] + np.sqrt(v[some, None]) * _NODES)
        flat[some] = values @ _WEIGHTS
    return flat.reshape(mean.shape)


def count_quantiles(mean: np.ndarray, variance: np.ndarray, level: float) -> np.ndarray:
    """Quantiles of Poisson counts whose log rate is normal.

    Parameters
    ----------
    mean, variance : float64 arrays of shape (n,)
        Of the log rates.
    level : float
        Probability of a count up to the quantile, at least.

    Returns
    -------
    float64 array of shape (n,)
        Counts.
    """
    out = np.empty(len(mean))
    for left in range(0, len(mean), _CHUNK):
        rows = slice(left, left + _CHUNK)
        spread = np.sqrt(variance[rows, None]) * _NODES
        rates = np.exp(np.minimum(mean[rows, None] + spread, _MOST_LOG))
        out[rows] = _quantiles(rates, level)
    return out


def _quantiles(rates: np.ndarray, level: float) -> np.ndarray:
    """Bisection of the mixed distribution functions."""
    low = np.full(len(rates), -1.0)
    high = np.ceil(rates.max(axis=1) + 10.0 * np.sqrt(rates.max(axis=1)) + 10.0)
    while (high - low > 1.0).any():
        middle = np.floor((low + high) / 2.0)
        enough = pdtr(middle[:, None], rates) @ _WEIGHTS >= level
        done = high - low <= 1.0
        high = np.where(enough & ~done, middle, high)
        low = np.where(enough | done, low, middle)
    return high
