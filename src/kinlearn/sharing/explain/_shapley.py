r"""Shapley values of any prediction, against a few background rows.

A coalition S of columns takes the values of the row x, the other columns those of a
background row b. The value of column j is its mean change of the prediction when it
joins,

.. math:: \phi_j = \frac{1}{m} \sum_b \sum_{S \not\ni j}
    \frac{|S|! \, (p - |S| - 1)!}{p!} \left[f(x_{S \cup j}, b) - f(x_S, b)\right] ,

so that :math:`\sum_j \phi_j = f(x) - \frac{1}{m} \sum_b f(b)`. Columns in which x and b
agree for all b have the value 0 and take no part. If few are left, all coalitions are
tried; if more, walks from b to x, which change one column after another, in a random
order and in the reverse one [1]_. Each walk adds up, and so does their mean. Where f is
a sum of functions of single columns, walks are exact too.

References
----------
.. [1] R. Mitchell, J. Cooper, E. Frank, G. Holmes. Sampling permutations for Shapley
   value estimation. JMLR, 2022.
"""

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np

__all__ = ["MOST_EXACT", "differing", "draw_background", "shapley_values"]

MOST_EXACT = 7  # columns of which all coalitions are tried
_MOST_CELLS = 4_000_000  # of the rows that are predicted at a time

Predict = Callable[[np.ndarray], np.ndarray]


def draw_background(
    weight: np.ndarray, most: int, rng: np.random.RandomState
) -> np.ndarray:
    """Rows, drawn without replacement by their weights; ascending."""
    key = rng.standard_exponential(len(weight)) / np.maximum(weight, 1e-300)
    return np.sort(np.argsort(key, kind="stable")[:most])


def differing(x: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Columns in which a row differs from some background row; NaN is equal to NaN."""
    same = (background == x) | (np.isnan(background) & np.isnan(x))
    return np.flatnonzero(~same.all(axis=0))


def shapley_values(
    predict: Predict,
    x: np.ndarray,
    background: np.ndarray,
    n_repeats: int,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, float, np.ndarray]:
    """Contributions to the prediction for x against each background row.

    Returns an array of shape (n_background, n_columns), the prediction for x, and those
    for the background.
    """
    ends = predict(np.vstack([x, background]))
    columns = differing(x, background)
    p = len(columns)
    out = np.zeros((len(background), len(x)))
    if not p:
        return out, float(ends[0]), ends[1:]
    if p <= MOST_EXACT:
        codes = np.arange(2**p)
        masks = (codes[:, None] >> np.arange(p)) & 1 == 1
        masks = np.broadcast_to(masks, (len(background), *masks.shape))
        value = _predict_mixed(predict, x, background, columns, masks)
        out[:, columns] = value @ _weights_of_coalitions(p).T
    else:
        orders = np.stack(
            [
                [rng.permutation(p) for _ in range(n_repeats)]
                for _ in range(len(background))
            ]
        )
        out[:, columns] = _walks(predict, x, background, columns, orders, ends)
    return out, float(ends[0]), ends[1:]


def _weights_of_coalitions(p: int) -> np.ndarray:
    """What a coalition counts in the value of each of p columns; codes are bits."""
    codes = np.arange(2**p)
    inside = (codes[None] >> np.arange(p)[:, None]) & 1 == 1
    size = inside.sum(axis=0)
    joined = np.array([factorial(s - 1) * factorial(p - s) for s in range(1, p + 1)])
    count = np.append(joined, 0.0) / factorial(p)  # by the size without the column
    return np.where(inside, count[size - 1], -count[size])


def _walks(
    predict: Predict,
    x: np.ndarray,
    background: np.ndarray,
    columns: np.ndarray,
    orders: np.ndarray,
    ends: np.ndarray,
) -> np.ndarray:
    """Means of walks from each background row to x, and of those in reverse order."""
    m, n_repeats, p = orders.shape
    rank = np.argsort(orders, axis=2)
    step = np.arange(1, p)
    ahead = rank[:, :, None, :] < step[:, None]  # what a walk has changed after a step
    masks = np.concatenate([ahead, ~ahead], axis=2)
    value = _predict_mixed(
        predict, x, background, columns, masks.reshape(m, -1, p)
    ).reshape(m, n_repeats, 2, p - 1)
    first = np.broadcast_to(ends[1:, None, None], (m, n_repeats, 1))
    last = np.full((m, n_repeats, 1), ends[0])
    forth = np.diff(np.concatenate([first, value[:, :, 0], last], axis=2))
    # the complements, seen from their end, are the steps of the reverse order
    back = np.diff(np.concatenate([first, value[:, :, 1, ::-1], last], axis=2))
    gains = (forth + back[:, :, ::-1]) / 2
    by_column = np.take_along_axis(gains, rank, axis=2)
    return by_column.mean(axis=1)


def _predict_mixed(
    predict: Predict,
    x: np.ndarray,
    background: np.ndarray,
    columns: np.ndarray,
    masks: np.ndarray,
) -> np.ndarray:
    """Predictions of rows that have x where a mask says so, and background else."""
    m, n_masks, _ = masks.shape
    of_row = np.repeat(np.arange(m), n_masks)
    flat = masks.reshape(m * n_masks, -1)
    size = max(_MOST_CELLS // len(x), 1)
    out = np.empty(len(flat))
    for start in range(0, len(flat), size):
        some: Any = slice(start, start + size)
        rows = background[of_row[some]]
        mixed = np.where(flat[some], x[columns], rows[:, columns])
        rows[:, columns] = mixed
        out[some] = predict(rows)
    return out.reshape(m, n_masks)
