"""Categories as numbers: in the order of their labels."""

from typing import Any

import numpy as np

from kinlearn.boosting._start_weights import row_weights
from kinlearn.tasks import TaskData

__all__ = ["category_ranks", "to_ranks"]

_MIN_SUPPORT = 2  # rows' worth of weight; lighter categories count as average
_DEVIATIONS = 2  # beyond what categories without any information show
_N_CODES = 254


def category_ranks(data: TaskData, rows: np.ndarray) -> np.ndarray:
    """The place of each category in the order of its labels.

    The order is that of the mean of ``label - mean of the task``, drawn towards 0 by
    one row, where the label is 1 for the most frequent class. Tasks without this class
    do not count. Where categories differ no more than noise would, the codes are the
    order: one that follows the noise of the rows would look useful on these very rows.
    """
    weight = row_weights(data) * rows
    counted = np.argmax(np.bincount(data.y, weight))
    label = (data.y == counted).astype(np.float64)
    of_task, all_of_task = (
        np.bincount(data.task, values, minlength=data.n_tasks)
        for values in (weight * label, weight)
    )
    weight = weight * (of_task > 0)[data.task]
    fraction = of_task / np.where(all_of_task > 0, all_of_task, 1.0)
    beyond = weight * (label - fraction[data.task])
    variance = (beyond * (label - fraction[data.task])).sum() / weight.sum()
    columns: Any = data.categorical
    ranks = []
    for x in data.X[:, columns].T:
        known = ~np.isnan(x)
        code = x[known].astype(np.intp)
        total, n = (
            np.bincount(code, values[known], minlength=_N_CODES)
            for values in (beyond, weight)
        )
        apart = n >= _MIN_SUPPORT
        # of as many normals of variance 1, if the categories tell nothing
        squares = (total[apart] ** 2 / n[apart]).sum() / variance
        n_apart = np.count_nonzero(apart)
        if squares > n_apart + _DEVIATIONS * np.sqrt(2.0 * n_apart):
            mean = np.where(apart, total / (n + 1.0), 0.0)
        else:
            mean = np.arange(_N_CODES)
        # beyond rounding, so that the order of the rows does not decide
        ranks.append(np.unique(mean.round(12), return_inverse=True)[1])
    return np.array(ranks, dtype=np.float64)


def to_ranks(X: Any, categorical: np.ndarray, ranks: np.ndarray) -> Any:
    """Rows with places in the order instead of codes."""
    X = X.copy(order="K")
    for of_code, feature in zip(ranks, np.flatnonzero(categorical), strict=True):
        known = ~np.isnan(X[:, feature])
        X[known, feature] = of_code[X[known, feature].astype(np.intp)]
    return X
