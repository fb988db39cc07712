"""Distances between the tasks' marginals, feature by feature.

Each feature is summarised once per task, as a sorted column or a histogram, and
all pairs are compared at once. Features are never combined, so what only shows
in their joint distribution is not seen.
"""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform

from kinlearn.tasks import TaskData
from kinlearn.utils._ecdf import add_ks_statistics, stack_ecdfs

__all__ = ["bin_codes", "hellinger", "hellinger_between", "ks", "symmetric_kl"]


def _columns(data: TaskData) -> Iterator[np.ndarray]:
    """The features one by one, dense, their rows grouped by task."""
    sparse = sp.issparse(data.X)
    X = data.X.tocsc() if sparse else data.X
    for j in range(X.shape[1]):
        column = X[:, [j]].toarray().ravel() if sparse else X[:, j]
        yield column[data.order]


def _check_aggregate(aggregate: str) -> None:
    if aggregate not in ("mean", "max"):
        raise ValueError(f'aggregate must be "mean" or "max"; got {aggregate!r}.')


def _over_features(
    total: np.ndarray, present: np.ndarray, aggregate: str, data: TaskData
) -> np.ndarray:
    """Turn the sum or maximum over features into distances.

    A feature of which a task has no value at all has no distance for its pairs,
    and is not counted there.
    """
    names = data.tasks.tolist()
    empty = np.flatnonzero(~present.any(axis=1))
    if empty.size:
        raise ValueError(
            f"Task {names[empty[0]]!r} has no value of any feature. Impute the missing "
            "values, or drop the task."
        )
    present = present.astype(np.float64)
    shared = present @ present.T
    if not shared.all():
        a, b = np.argwhere(shared == 0)[0]
        raise ValueError(
            f"Tasks {names[a]!r} and {names[b]!r} have no feature of which both have a "
            "value. Impute the missing values, or drop one of the tasks."
        )
    return total / shared if aggregate == "mean" else total


def ks(
    data: TaskData,
    *,
    aggregate: Literal["mean", "max"] = "mean",
    n_jobs: int | None = None,
) -> np.ndarray:
    """Kolmogorov-Smirnov statistics; the method "ks" of `task_distances`.

    NaN is left out of its marginal.
    """
    _check_aggregate(aggregate)
    total = np.zeros((data.n_tasks, data.n_tasks))
    present = np.empty((data.n_tasks, data.X.shape[1]), dtype=bool)
    for j, column in enumerate(_columns(data)):
        ecdfs = stack_ecdfs(column, data.indptr)
        present[:, j] = ecdfs.n_values > 0
        add_ks_statistics(ecdfs, total, take_max=aggregate == "max", n_jobs=n_jobs)
    return _over_features(total + total.T, present, aggregate, data)


def bin_codes(
    column: np.ndarray, task: np.ndarray, n_tasks: int, n_bins: int
) -> tuple[np.ndarray, int]:
    """Bins in which all tasks together lie evenly: of each number, and how many.

    A feature with at most `n_bins` distinct values gets a bin for each. Else the bins
    are cut at quantiles in which every task has the same weight, however many rows it
    has: a large task would otherwise put all small ones into its tails. There are fewer
    bins where values are often equal. `column` is without NaN.
    """
    order = np.argsort(column)
    ascending = column[order]
    leads = np.ones(len(column), dtype=bool)
    leads[1:] = ascending[1:] != ascending[:-1]
    if leads.sum() <= n_bins:
        edges = ascending[leads][:-1]
    else:
        share = 1.0 / np.maximum(np.bincount(task, minlength=n_tasks), 1)
        mass = np.cumsum(share[task[order]])
        goals = mass[-1] * np.arange(1, n_bins) / n_bins
        # slightly less than the goal, so that rounding never decides about an edge
        edges = np.unique(ascending[np.searchsorted(mass, goals * (1 - 1e-9))])
    return np.searchsorted(edges, column), len(edges) + 1


def _histograms(
    column: np.ndarray, task: np.ndarray, n_tasks: int, n_bins: int
) -> np.ndarray:
    """Counts by task and bin."""
    present = ~np.isnan(column)
    column, task = column[present], task[present]
    codes, n_bins = bin_codes(column, task, n_tasks, n_bins)
    counts = np.bincount(task * n_bins + codes, minlength=n_tasks * n_bins)
    return counts.reshape(n_tasks, n_bins)


def _binned(
    data: TaskData,
    between: Callable[[np.ndarray], np.ndarray],
    n_bins: int,
    aggregate: str,
) -> np.ndarray:
    """Distances by histogram: ``between(counts)`` for each feature."""
    _check_aggregate(aggregate)
    if not isinstance(n_bins, Integral) or n_bins < 2:
        raise ValueError(f"n_bins must be an integer of at least 2; got {n_bins!r}.")
    total = np.zeros((data.n_tasks, data.n_tasks))
    present = np.empty((data.n_tasks, data.X.shape[1]), dtype=bool)
    task = np.repeat(np.arange(data.n_tasks), np.diff(data.indptr))
    for j, column in enumerate(_columns(data)):
        counts = _histograms(column, task, data.n_tasks, n_bins)
        present[:, j] = counts.any(axis=1)
        distances = between(counts)
        distances[~present[:, j]] = 0.0
        distances[:, ~present[:, j]] = 0.0
        if aggregate == "max":
            np.maximum(total, distances, out=total)
        else:
            total += distances
    return _over_features(total, present, aggregate, data)


def hellinger_between(shares: np.ndarray) -> np.ndarray:
    """Hellinger distances, in 0 .. 1, between discrete distributions, one in a row."""
    # differences, not 1 - sum(sqrt(pq)): equal distributions get exactly 0
    return squareform(pdist(np.sqrt(shares)) / np.sqrt(2.0))


def hellinger(
    data: TaskData, *, n_bins: int = 20, aggregate: Literal["mean", "max"] = "mean"
) -> np.ndarray:
    """Hellinger distances of binned marginals; see `task_distances`.

    NaN is left out of its marginal.
    """

    def between(counts: np.ndarray) -> np.ndarray:
        return hellinger_between(counts / np.maximum(counts.sum(1, keepdims=True), 1))

    return _binned(data, between, n_bins, aggregate)


def symmetric_kl(
    data: TaskData,
    *,
    n_bins: int = 20,
    smoothing: float = 0.5,
    aggregate: Literal["mean", "max"] = "mean",
) -> np.ndarray:
    """Symmetric Kullback-Leibler divergences; see `task_distances`.

    NaN is left out of its marginal; `smoothing` rows are added to every bin of every
    task.
    """
    if not isinstance(smoothing, Real) or not 0 < float(smoothing) < np.inf:
        raise ValueError(
            "smoothing must be a number greater than 0 (an empty bin would make the "
            f"divergence infinite); got {smoothing!r}."
        )

    def between(counts: np.ndarray) -> np.ndarray:
        shares = counts + smoothing
        shares /= shares.sum(axis=1, keepdims=True)
        logs = np.log(shares)
        own = (shares * logs).sum(axis=1)
        cross = shares @ logs.T
        # sum of (p - q)(log p - log q), multiplied out
        divergence = own[:, None] + own - cross - cross.T
        np.fill_diagonal(divergence, 0.0)
        return np.maximum(divergence, 0.0)

    return _binned(data, between, n_bins, aggregate)
