"""Linear tasks in clusters, with tasks that no cluster helps.

What a model learns about its tasks can be checked against what was planted:
tasks of a cluster alike, an outlier related to nobody, a negative task whose
coefficients are turned round.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinlearn.datasets._assemble import Generated, hand_over
from kinlearn.datasets._checks import (
    Seed,
    as_count,
    as_counts,
    as_number,
    as_random_state,
)

__all__ = ["make_clustered_classification", "make_clustered_regression"]


def _directions(n: int, n_features: int, rng: np.random.RandomState) -> np.ndarray:
    """Unit vectors: orthogonal as far as `n_features` allows, random beyond."""
    basis, triangle = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    basis = (basis * np.sign(np.diag(triangle))).T  # uniform over rotations
    more = rng.standard_normal((max(n - n_features, 0), n_features))
    more /= np.linalg.norm(more, axis=1, keepdims=True)
    return np.vstack([basis, more])[:n]


def _plant(
    sizes: tuple[int, int, int, int],
    n_features: int,
    spread: float,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of every task, its cluster (-1: none) and its sign."""
    n_tasks, n_clusters, n_outliers, n_negative = sizes
    n_inside = n_tasks - n_outliers - n_negative
    inside = np.sort(np.arange(n_inside) % n_clusters)
    cluster = np.concatenate(
        [inside, np.full(n_outliers, -1), np.arange(n_negative) % n_clusters]
    )
    sign = np.ones(n_tasks)
    sign[n_tasks - n_negative :] = -1.0
    directions = _directions(n_clusters + n_outliers, n_features, rng)
    origin = cluster.copy()
    origin[cluster == -1] = n_clusters + np.arange(n_outliers)
    change = rng.standard_normal((n_tasks, n_features)) / np.sqrt(n_features)
    change[cluster == -1] = 0.0  # exactly the direction that no cluster has
    coef = sign[:, None] * (directions[origin] + spread * change)
    return coef, cluster, sign, directions[:n_clusters]


def _checked_sizes(
    n_tasks: int, n_clusters: int, n_outliers: int, n_negative: int
) -> tuple[int, int, int, int]:
    n_tasks = as_count(n_tasks, "n_tasks")
    n_clusters = as_count(n_clusters, "n_clusters")
    n_outliers = as_count(n_outliers, "n_outliers", minimum=0)
    n_negative = as_count(n_negative, "n_negative", minimum=0)
    inside = n_tasks - n_outliers - n_negative
    if inside < n_clusters:
        raise ValueError(
            f"n_tasks={n_tasks} leaves {inside} tasks for n_clusters={n_clusters} "
            f"after n_outliers={n_outliers} and n_negative={n_negative}. Raise "
            "n_tasks, or lower the others."
        )
    return n_tasks, n_clusters, n_outliers, n_negative


def _make(
    sizes: tuple[int, int, int, int],
    n_samples_per_task: int | Sequence[int],
    n_features: int,
    spread: float,
    noise: float,
    random_state: Seed,
    *,
    labels: bool = False,
    **options: Any,
) -> Generated:
    """Rows whose target is a task's linear function with noise, or its sign."""
    rng = as_random_state(random_state)
    n_features = as_count(n_features, "n_features")
    counts = as_counts(n_samples_per_task, "n_samples_per_task", sizes[0])
    spread = as_number(spread, "spread", low=0.0)
    noise = as_number(noise, "noise", low=0.0)
    coef, cluster, sign, centers = _plant(sizes, n_features, spread, rng)
    task = np.repeat(np.arange(len(counts)), counts)
    X = rng.standard_normal((len(task), n_features))
    clean = np.einsum("ij,ij->i", X, coef[task])
    y = clean + noise * rng.standard_normal(len(task))
    if labels:
        clean, y = (clean > 0).astype(np.int64), (y > 0).astype(np.int64)
    truth = {
        "coef": coef,
        "cluster": cluster,
        "sign": sign.astype(np.int64),
        "centers": centers,
        "noise": noise,
    }
    return hand_over(
        X, task, y, truth, row_truth={"clean_y": clean}, rng=rng, **options
    )


def make_clustered_classification(
    n_tasks: int = 12,
    *,
    n_clusters: int = 2,
    n_samples_per_task: int | Sequence[int] = 50,
    n_features: int = 10,
    n_outliers: int = 1,
    n_negative: int = 1,
    spread: float = 0.2,
    noise: float = 0.3,
    shuffle: bool = True,
    as_frame: bool = False,
    return_truth: bool = False,
    random_state: Seed = None,
) -> Generated:
    """Binary tasks in planted clusters, with outlier and negative tasks.

    Features are standard normal; a row of task t has label 1 if
    ``coef[t] @ x + noise * e > 0`` with e standard normal. The coefficients of
    a cluster's tasks scatter round a common direction of length 1; directions
    of different clusters are orthogonal.

    Parameters
    ----------
    n_tasks : int, default=12
        Number of tasks, outliers and negative ones included.
    n_clusters : int, default=2
        Number of clusters; their tasks come first, cluster by cluster.
    n_samples_per_task : int or sequence of int, default=50
        Rows of every task, or of each.
    n_features : int, default=10
        Number of features. Directions are orthogonal as long as it is at least
        ``n_clusters + n_outliers``, random beyond.
    n_outliers : int, default=1
        Tasks with a direction of their own, after the clusters.
    n_negative : int, default=1
        Tasks with a cluster's direction turned round, last.
    spread : float, default=0.2
        Mean length (root mean square) of a task's own part of the coefficients.
    noise : float, default=0.3
        Standard deviation of the noise. The best possible error of a task is
        ``arctan(noise / |coef|) / pi``.
    shuffle : bool, default=True
        Mix the rows; False leaves them task by task.
    as_frame : bool, default=False
        Return a pandas frame with columns ``x0, x1, ..., task`` and a series.
    return_truth : bool, default=False
        Return the truth as well.
    random_state : int, Generator, RandomState or None, default=None
        Decides coefficients and rows; None differs each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features + 1) or DataFrame
        Features, and the task 0, 1, ... as the last column.
    y : int64 array of shape (n_samples,) or Series
        Labels 0 and 1.
    truth : Bunch
        Only with ``return_truth=True``: ``coef`` (n_tasks, n_features);
        ``cluster`` (n_tasks,), -1 for outliers; ``sign`` (n_tasks,), -1 for
        negative tasks; ``centers`` (n_clusters, n_features); ``noise``; and by
        row ``clean_y``, the label without noise.

    See Also
    --------
    make_clustered_regression : The same with a continuous target.

    Examples
    --------
    >>> from kinlearn.datasets import make_clustered_classification
    >>> X, y, truth = make_clustered_classification(
    ...     n_tasks=6, return_truth=True, random_state=0
    ... )
    >>> X.shape
    (300, 11)
    >>> truth.cluster.tolist(), truth.sign.tolist()
    ([0, 0, 1, 1, -1, 0], [1, 1, 1, 1, 1, -1])
    """
    return _make(
        _checked_sizes(n_tasks, n_clusters, n_outliers, n_negative),
        n_samples_per_task,
        n_features,
        spread,
        noise,
        random_state,
        labels=True,
        shuffle=shuffle,
        as_frame=as_frame,
        return_truth=return_truth,
    )


def make_clustered_regression(
    n_tasks: int = 12,
    *,
    n_clusters: int = 2,
    n_samples_per_task: int | Sequence[int] = 50,
    n_features: int = 10,
    n_outliers: int = 1,
    n_negative: int = 1,
    spread: float = 0.2,
    noise: float = 0.3,
    shuffle: bool = True,
    as_frame: bool = False,
    return_truth: bool = False,
    random_state: Seed = None,
) -> Generated:
    """Regression tasks in planted clusters, with outlier and negative tasks.

    Features are standard normal; a row of task t has the target
    ``coef[t] @ x + noise * e`` with e standard normal. The coefficients are
    those of :func:`make_clustered_classification`.

    Parameters
    ----------
    n_tasks : int, default=12
        Number of tasks, outliers and negative ones included.
    n_clusters : int, default=2
        Number of clusters; their tasks come first, cluster by cluster.
    n_samples_per_task : int or sequence of int, default=50
        Rows of every task, or of each.
    n_features : int, default=10
        Number of features. Directions are orthogonal as long as it is at least
        ``n_clusters + n_outliers``, random beyond.
    n_outliers : int, default=1
        Tasks with a direction of their own, after the clusters.
    n_negative : int, default=1
        Tasks with a cluster's direction turned round, last.
    spread : float, default=0.2
        Mean length (root mean square) of a task's own part of the coefficients.
    noise : float, default=0.3
        Standard deviation of the noise.
    shuffle : bool, default=True
        Mix the rows; False leaves them task by task.
    as_frame : bool, default=False
        Return a pandas frame with columns ``x0, x1, ..., task`` and a series.
    return_truth : bool, default=False
        Return the truth as well.
    random_state : int, Generator, RandomState or None, default=None
        Decides coefficients and rows; None differs each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features + 1) or DataFrame
        Features, and the task 0, 1, ... as the last column.
    y : float64 array of shape (n_samples,) or Series
        Targets.
    truth : Bunch
        Only with ``return_truth=True``: as in
        :func:`make_clustered_classification`; ``clean_y`` is the target
        without noise.

    See Also
    --------
    make_clustered_classification : The same with labels.

    Examples
    --------
    >>> from kinlearn.datasets import make_clustered_regression
    >>> X, y = make_clustered_regression(n_samples_per_task=20, random_state=0)
    >>> X.shape, y.dtype
    ((240, 11), dtype('float64'))
    """
    return _make(
        _checked_sizes(n_tasks, n_clusters, n_outliers, n_negative),
        n_samples_per_task,
        n_features,
        spread,
        noise,
        random_state,
        shuffle=shuffle,
        as_frame=as_frame,
        return_truth=return_truth,
    )
