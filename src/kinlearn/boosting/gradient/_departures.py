"""How far tasks depart from what all have in common, by empirical Bayes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinlearn._kernels.boosting.gradient._gradients import departure_moments

__all__ = [
    "LEAST_FRACTION",
    "departure_penalty",
    "fraction_of",
    "leaf_values",
    "shrunken",
]

# Added to the penalty on departures of quantiles, in rows of mean weight: quantiles of
# few rows are far less certain than their means.
_ROWS_OF_QUANTILES = 100

# Departures are kept where the rows of the task weigh more than this in them.
LEAST_FRACTION = 0.02


def departure_penalty(g: np.ndarray, h: np.ndarray, noise: float) -> float:
    r"""The penalty on tasks' departures from the values of their leaves.

    Parameters
    ----------
    g, h : float64 arrays of shape (n_leaves, n_tasks)
        Sums of gradients and curvatures; zero where a task has no rows.
    noise : float
        Variance of gradients, in units of the curvature.

    Returns
    -------
    float
        The ratio of the noise to the variance of departures, by the method of moments;
        infinite if tasks differ by no more than the noise.
    """
    if not np.isfinite(noise):
        return np.inf
    spread, free, n_free = departure_moments(g, h)
    excess = spread - n_free * noise
    if not (excess > 0 and free > 0):
        return np.inf
    return noise * free / excess


def shrunken(g: np.ndarray, h: np.ndarray, penalty: float) -> np.ndarray:
    """Departures of the tasks in each leaf, of shape (n_leaves, n_tasks)."""
    if not np.isfinite(penalty):
        return np.zeros_like(g)
    total = h.sum(axis=1, keepdims=True)
    mean = np.divide(
        g.sum(axis=1, keepdims=True), total, out=np.zeros_like(total), where=total > 0
    )
    below = h + penalty
    return np.divide(h * mean - g, below, out=np.zeros_like(g), where=below > 0)


def fraction_of(h: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
    """What the rows of tasks weigh in their values; the rest is what is common."""
    below = h + penalty
    return np.divide(h, below, out=np.zeros_like(h), where=below > 0)


def leaf_values(
    values: np.ndarray,
    bounds: np.ndarray,
    sums: tuple[np.ndarray, np.ndarray] | None,
    *,
    noise: float,
    mean_weight: float,
    learning_rate: float,
    loss: Any,
    quantiles: Callable[[bool], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, float]:
    """Values of leaves, and departures of tasks from them.

    Parameters
    ----------
    values : float64 array of shape (n_leaves,)
        Newton steps.
    bounds : float64 array of shape (n_leaves, 2)
        Bounds of the values.
    sums : pair of float64 arrays of shape (n_leaves, n_tasks), or None
        Gradients and curvatures of the tasks; None for no departures.
    noise : float
        Variance of gradients, in units of the curvature.
    mean_weight : float
        Of a row.
    learning_rate : float
        What all is multiplied by.
    loss : object
        The loss.
    quantiles : callable
        Of the residuals in leaves, or in pairs of leaf and task, for losses that want
        them.

    Returns
    -------
    values : float64 array of shape (n_leaves,)
        What leaves add.
    departures : float64 array of shape (n_leaves, n_tasks), or of no rows
        What tasks add besides.
    penalty : float
        The penalty on departures.
    """
    penalty, table = np.inf, np.empty((0, 0))
    if sums is not None:
        sum_g, sum_h = sums
        penalty = departure_penalty(sum_g, sum_h, noise)
    if loss.by_quantile:
        penalty += _ROWS_OF_QUANTILES * mean_weight
        values = quantiles(False)
        if penalty < np.inf:
            table = quantiles(True).reshape(sum_h.shape) - values[:, None]
            table *= fraction_of(sum_h, penalty)
    elif penalty < np.inf:
        table = shrunken(sum_g, sum_h, penalty)
        if np.isfinite(bounds).any():
            both = np.clip(values[:, None] + table, bounds[:, :1], bounds[:, 1:])
            table = both - values[:, None]
    limited = loss.limited(values)
    if len(table):
        table[fraction_of(sum_h, penalty) <= LEAST_FRACTION] = 0.0
        both = loss.limited(values[:, None] + table) - limited[:, None]
        table = np.where(table == 0, 0.0, both)
    table = np.ascontiguousarray(table * learning_rate)
    return limited * learning_rate, table, penalty
