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

_CELLS = 2**18  # pairs of leaf and task that are looked at together

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
        them: arrays that are used up.

    Returns
    -------
    values : float64 array of shape (n_leaves,)
        What leaves add.
    departures : float64 array of shape (n_leaves, n_tasks), or of no rows
        What tasks add besides.
    penalty : float
        The penalty on departures.
    """
    penalty = np.inf
    table: Any = np.empty((0, 0))
    if sums is not None:
        penalty = departure_penalty(*sums, noise)
    if loss.by_quantile:
        penalty += _ROWS_OF_QUANTILES * mean_weight
        values = quantiles(False)
    limited = loss.limited(values)
    if sums is not None and penalty < np.inf:
        if loss.by_quantile:
            table = quantiles(True).reshape(sums[0].shape)
        else:
            table = np.empty(sums[0].shape)
        size = max(_CELLS // table.shape[1], 1)
        for first in range(0, len(table), size):  # what they take besides is little
            some = slice(first, first + size)
            g, h = (each[some] for each in sums)
            fraction, common = fraction_of(h, penalty), values[some, None]
            if loss.by_quantile:
                apart = (table[some] - common) * fraction
            else:
                apart = shrunken(g, h, penalty)
                if np.isfinite(bounds).any():
                    both = np.clip(common + apart, bounds[some, :1], bounds[some, 1:])
                    apart = both - common
            apart[fraction <= LEAST_FRACTION] = 0.0
            both = loss.limited(common + apart) - limited[some, None]
            table[some] = np.where(apart == 0, 0.0, both) * learning_rate
    return limited * learning_rate, table, penalty
