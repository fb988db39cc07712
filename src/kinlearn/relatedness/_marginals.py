"""Distances between the tasks' marginals, feature by feature, and of the target alone.

Each feature is summarised once per task, as a sorted column or a histogram, and
all pairs are compared at once. Features are never combined, so what only shows
in their joint distribution is not seen.
"""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from scipy.special import xlogy
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
)

from kinlearn.tasks import TaskData, class_codes, numbers
from kinlearn.utils import group_rows
from kinlearn.utils._ecdf import (
    add_ks_statistics,
    stack_ecdfs,
    wasserstein_distances,
)

__all__ = [
    "directed_kl",
    "hellinger",
    "ks",
    "label_shift",
    "mutual_information",
    "symmetric_kl",
]

_CLASS_DISTANCES = ("total_variation", "hellinger")
_NUMBER_DISTANCES = ("wasserstein", "mean_difference")
_NAME = 'task_distances(method="label_shift")'


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


def _assign_bins(
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
        weight = 1.0 / np.maximum(np.bincount(task, minlength=n_tasks), 1)
        below = np.cumsum(weight[task[order]])
        goals = below[-1] * np.arange(1, n_bins) / n_bins
        # slightly less than the goal, so that rounding never decides about an edge
        edges = np.unique(ascending[np.searchsorted(below, goals * (1 - 1e-9))])
    return np.searchsorted(edges, column), len(edges) + 1


def _histograms(
    column: np.ndarray, task: np.ndarray, n_tasks: int, n_bins: int
) -> np.ndarray:
    """Counts by task and bin."""
    present = ~np.isnan(column)
    column, task = column[present], task[present]
    found, n_bins = _assign_bins(column, task, n_tasks, n_bins)
    counts = np.bincount(task * n_bins + found, minlength=n_tasks * n_bins)
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


def _hellinger_between(fractions: np.ndarray) -> np.ndarray:
    """Hellinger distances, in 0 .. 1, between discrete distributions, one in a row."""
    # differences, not 1 - sum(sqrt(pq)): equal distributions get exactly 0
    return squareform(pdist(np.sqrt(fractions)) / np.sqrt(2.0))


def hellinger(
    data: TaskData, *, n_bins: int = 20, aggregate: Literal["mean", "max"] = "mean"
) -> np.ndarray:
    """Hellinger distances of binned marginals; see `task_distances`.

    NaN is left out of its marginal.
    """

    def between(counts: np.ndarray) -> np.ndarray:
        return _hellinger_between(counts / np.maximum(counts.sum(1, keepdims=True), 1))

    return _binned(data, between, n_bins, aggregate)


def _check_smoothing(smoothing: float) -> None:
    if not isinstance(smoothing, Real) or not 0 < float(smoothing) < np.inf:
        raise ValueError(
            "smoothing must be a number greater than 0 (an empty bin would make the "
            f"divergence infinite); got {smoothing!r}."
        )


def _directed_between(counts: np.ndarray) -> np.ndarray:
    """Kullback-Leibler divergences of the columns' tasks from those of the rows."""
    fractions = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log(fractions)
    divergence = (fractions * logs).sum(axis=1)[:, None] - fractions @ logs.T
    np.fill_diagonal(divergence, 0.0)
    return np.maximum(divergence, 0.0)


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
    _check_smoothing(smoothing)

    def between(counts: np.ndarray) -> np.ndarray:
        divergence = _directed_between(counts + smoothing)
        return divergence + divergence.T

    return _binned(data, between, n_bins, aggregate)


def directed_kl(
    data: TaskData,
    *,
    n_bins: int = 20,
    smoothing: float = 0.5,
    aggregate: Literal["mean", "max"] = "mean",
) -> np.ndarray:
    """Kullback-Leibler divergences from one task to another; see `task_distances`."""
    _check_smoothing(smoothing)

    def between(counts: np.ndarray) -> np.ndarray:
        return _directed_between(counts + smoothing)

    return _binned(data, between, n_bins, aggregate)


def mutual_information(
    data: TaskData, *, n_bins: int = 20, aggregate: Literal["mean", "max"] = "mean"
) -> np.ndarray:
    """What a binned feature tells about which of two tasks a row is of, in bits.

    Both tasks count the same, however many rows they have.
    """

    def between(counts: np.ndarray) -> np.ndarray:
        fractions = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        own = xlogy(fractions, fractions).sum(axis=1)
        out = np.zeros((len(counts),) * 2)
        for t, mine in enumerate(fractions):
            both = 0.5 * (mine + fractions[t:])
            bits = 0.5 * (own[t] + own[t:]) - xlogy(both, both).sum(axis=1)
            out[t, t:] = out[t:, t] = np.maximum(bits, 0.0) / np.log(2.0)
        np.fill_diagonal(out, 0.0)
        return out

    return _binned(data, between, n_bins, aggregate)


def _between_classes(
    y: Any, task: np.ndarray, n_tasks: int, distance: str
) -> np.ndarray:
    classes, y = class_codes(y, _NAME)
    check_consistent_length(task, y)
    places = task.astype(np.intp) * len(classes) + y
    counts = np.bincount(places, minlength=n_tasks * len(classes))
    sizes = np.bincount(task, minlength=n_tasks)
    fractions = counts.reshape(n_tasks, -1) / sizes[:, None]
    if distance == "hellinger":
        return _hellinger_between(fractions)
    return squareform(pdist(fractions, "cityblock") / 2.0)


def _between_numbers(
    y: Any, task: np.ndarray, n_tasks: int, distance: str, n_jobs: int | None
) -> np.ndarray:
    y = numbers(y, _NAME)
    check_consistent_length(task, y)
    if distance == "wasserstein":
        indptr, order = group_rows(task, n_tasks)
        return wasserstein_distances(stack_ecdfs(y[order], indptr), n_jobs=n_jobs)
    sizes = np.bincount(task, minlength=n_tasks)
    means = np.bincount(task, weights=y, minlength=n_tasks) / sizes
    squares = np.square(y - means[task]).sum()
    # not "== 0": the mean of equal numbers need not be that number
    if squares <= len(y) * (1e-14 * np.abs(y).max()) ** 2:
        raise ValueError(
            "y is constant within each task, so its mean difference has no standard "
            'deviation to be measured in. Use distance="wasserstein".'
        )
    deviation = np.sqrt(squares / (len(y) - n_tasks))
    return np.abs(means[:, None] - means) / deviation


def label_shift(
    y: Any,
    task: np.ndarray,
    n_tasks: int,
    *,
    distance: str = "auto",
    n_jobs: int | None = None,
) -> np.ndarray:
    """Distances between the tasks' targets; see `task_distances`.

    "total_variation" or "hellinger" for classes, "wasserstein" or "mean_difference" for
    numbers; "auto" is the first of its kind. Each task has a row.
    """
    known = ("auto", *_CLASS_DISTANCES, *_NUMBER_DISTANCES)
    if distance not in known:
        raise ValueError(
            f"distance must be one of {', '.join(map(repr, known))}; got {distance!r}."
        )
    if y is None:
        raise ValueError(f"{_NAME} compares the tasks' targets, but y is None. Pass y.")
    if distance == "auto":
        y = column_or_1d(y)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        kind = type_of_target(y, input_name="y")
        distance = "wasserstein" if kind == "continuous" else "total_variation"
    if distance in _CLASS_DISTANCES:
        return _between_classes(y, task, n_tasks, distance)
    return _between_numbers(y, task, n_tasks, distance, n_jobs)
