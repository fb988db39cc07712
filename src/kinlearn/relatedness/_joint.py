"""Distances between the tasks' joint distributions: MMD, proxy A-distance, LogDet."""

from itertools import combinations
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone, is_classifier
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from kinlearn.relatedness._scale import FeatureScaler, fit_scaler
from kinlearn.tasks import TaskData
from kinlearn.utils import group_rows
from kinlearn.utils._typing import RandomState

__all__ = ["logdet", "mmd", "proxy_a"]

_EXACT_ROWS = 10_000  # 10^8 kernel values, a few seconds
_MEDIAN_ROWS = 2_000
_BLOCK_CELLS = 4_000_000  # of a temporary matrix, 32 MB
_COVARIANCE_CELLS = 100_000_000  # of all tasks, 0.8 GB, and their inverses as much
_CONDITION = 1e12  # of a covariance: three or four digits of the inverse are left


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X


def _median_gamma(
    X: Any, scaler: FeatureScaler, random_state: np.random.RandomState
) -> float:
    """The RBF kernel's gamma by the median heuristic, ``1 / (2 m**2)``.

    m is the median distance of two rows (of more than 2,000 a sample is drawn). Where
    more than half of the pairs are equal, m is the median of the others; where all are,
    gamma is 1.
    """
    if X.shape[0] > _MEDIAN_ROWS:
        X = X[random_state.choice(X.shape[0], _MEDIAN_ROWS, replace=False)]
    distances = pdist(_dense(scaler.transform(X)))
    median = np.median(distances) if distances.size else 0.0
    if median == 0 and distances.any():
        median = np.median(distances[distances > 0])
    return 1.0 / (2.0 * median**2) if median > 0 else 1.0


def _kernel_sums(X: Any, indptr: np.ndarray, gamma: float) -> np.ndarray:
    """Sum of k(x, x') over the rows x of one task and x' of another, all pairs."""
    squares = row_norms(X, squared=True)
    sums = np.zeros((len(indptr) - 1,) * 2)
    task = np.repeat(np.arange(len(sums)), np.diff(indptr))
    step = max(1, _BLOCK_CELLS // X.shape[0])
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        kernel = np.asarray(_dense(X[rows] @ X.T))
        kernel *= -2.0
        kernel += squares[rows, None]
        kernel += squares
        np.maximum(kernel, 0.0, out=kernel)
        kernel *= -gamma
        np.exp(kernel, out=kernel)
        by_task = np.add.reduceat(kernel, indptr[:-1], axis=1)
        here, first = np.unique(task[rows], return_index=True)
        sums[here] += np.add.reduceat(by_task, first, axis=0)
    return sums


def _exact_means(data: TaskData, scaler: FeatureScaler, gamma: float) -> np.ndarray:
    """Mean kernel values between the tasks, every pair of rows counted."""
    sums = _kernel_sums(scaler.transform(data.X[data.order]), data.indptr, gamma)
    sizes = np.diff(data.indptr)
    # halves of two roundings of the same sum: exactly symmetric
    return (sums + sums.T) / (2.0 * np.outer(sizes, sizes))


def _fourier_means(
    data: TaskData,
    scaler: FeatureScaler,
    gamma: float,
    n_components: int,
    random_state: np.random.RandomState,
) -> np.ndarray:
    """Mean kernel values between the tasks, by random Fourier features.

    k(x, x') is the mean over frequencies w of cos(w'x) cos(w'x') + sin(w'x)
    sin(w'x'), so a task is summarised by its mean cosines and sines: linear in
    the rows, and all pairs share the frequencies. Centred rows are taken in
    single precision, whose error is far below that of the draw; sparse rows are
    not centred, but their angles are.
    """
    X = data.X
    frequencies = random_state.standard_normal((X.shape[1], n_components))
    frequencies *= np.sqrt(2.0 * gamma)
    sparse = sp.issparse(X)
    origin = scaler.offset @ frequencies if sparse else np.float32(0.0)
    precision = np.float64 if sparse else np.float32
    frequencies = frequencies.astype(precision, copy=False)
    means = np.zeros((data.n_tasks, 2 * n_components))
    step = max(1, _BLOCK_CELLS // n_components)
    task = data.task[data.order]
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        block = scaler.transform(X[data.order[rows]]).astype(precision, copy=False)
        angles = np.asarray(block @ frequencies) - origin
        here, first = np.unique(task[rows], return_index=True)
        for half, wave in enumerate((np.cos, np.sin)):
            sums = np.add.reduceat(wave(angles), first, axis=0, dtype=np.float64)
            columns = slice(half * n_components, (half + 1) * n_components)
            means[here, columns] += sums
    means /= np.diff(data.indptr)[:, None]
    return means @ means.T / n_components


def _gamma_in_units(gamma: float, unit: float) -> float:
    """Gamma of the rows over a unit; within what a kernel can be taken with."""
    tiny, huge = np.finfo(np.float64).tiny, np.finfo(np.float64).max
    return np.clip(float(gamma) * float(unit) * float(unit), tiny, huge / 1e6)


def _check_mmd(gamma: float | None, estimate: str, n_components: int) -> None:
    if gamma is not None and not (
        isinstance(gamma, Real) and 0 < float(gamma) < np.inf
    ):
        raise ValueError(
            f"gamma must be a number greater than 0, or None; got {gamma!r}."
        )
    if estimate not in ("auto", "exact", "fourier"):
        raise ValueError(
            f'estimate must be "auto", "exact" or "fourier"; got {estimate!r}.'
        )
    if not isinstance(n_components, Integral) or n_components < 1:
        raise ValueError(
            f"n_components must be an integer of at least 1; got {n_components!r}."
        )


def mmd(
    data: TaskData,
    *,
    gamma: float | None = None,
    biased: bool = False,
    estimate: Literal["auto", "exact", "fourier"] = "auto",
    n_components: int = 1000,
    scale: bool = True,
    random_state: RandomState = None,
) -> np.ndarray:
    """Maximum mean discrepancy with an RBF kernel; see `task_distances`.

    The root of the squared discrepancy, or 0 where chance has made its unbiased
    estimate negative. "auto" is exact up to 10,000 rows, then by random Fourier
    features.
    """
    _check_mmd(gamma, estimate, n_components)
    rng = check_random_state(random_state)
    sizes = np.diff(data.indptr).astype(np.float64)
    if not biased and (sizes < 2).any():
        smallest = data.tasks.tolist()[np.argmin(sizes)]
        raise ValueError(
            f"Task {smallest!r} has one row; the unbiased MMD "
            "needs two. Drop the task, or set biased=True."
        )
    scaler = fit_scaler(data.X, scale, data.feature_names)
    if gamma is None:
        gamma = _median_gamma(data.X, scaler, rng)
    elif not scale:
        gamma = _gamma_in_units(gamma, scaler.unit[0])
    if estimate == "exact" or (estimate == "auto" and data.n_samples <= _EXACT_ROWS):
        means = _exact_means(data, scaler, gamma)
    else:
        means = _fourier_means(data, scaler, gamma, n_components, rng)
    inside = means.diagonal()
    if not biased:
        inside = (sizes * inside - 1.0) / (sizes - 1.0)  # without k(x, x) = 1
    squared = inside[:, None] + inside - 2.0 * means
    np.fill_diagonal(squared, 0.0)
    return np.sqrt(np.maximum(squared, 0.0))


def _assign_folds(
    data: TaskData, cv: int, random_state: np.random.RandomState
) -> np.ndarray:
    """Fold of each row, dealt out evenly within its task.

    One shuffle of all rows: a task's folds do not depend on the other tasks, nor
    on what the tasks are called.
    """
    shuffled = random_state.permutation(data.n_samples)
    indptr, order = group_rows(data.task[shuffled], data.n_tasks)
    rank = np.arange(data.n_samples) - np.repeat(indptr[:-1], np.diff(indptr))
    folds = np.empty(data.n_samples, dtype=np.intp)
    folds[shuffled[order]] = rank % cv
    return folds


def _pair_distance(
    X: Any, rows_a: np.ndarray, rows_b: np.ndarray, folds: np.ndarray, estimator: Any
) -> float:
    """2 (1 - 2 err) for two tasks, the mean of both tasks' errors being err."""
    rows = np.concatenate([rows_a, rows_b])
    is_b = np.arange(len(rows)) >= len(rows_a)
    folds = folds[rows]
    wrong = np.empty(len(rows), dtype=bool)
    for fold in np.unique(folds):
        test = folds == fold
        classifier = clone(estimator).fit(X[rows[~test]], is_b[~test])
        wrong[test] = classifier.predict(X[rows[test]]) != is_b[test]
    error = (wrong[~is_b].mean() + wrong[is_b].mean()) / 2.0
    return 2.0 * max(1.0 - 2.0 * error, 0.0)


def proxy_a(
    data: TaskData,
    *,
    estimator: Any = None,
    cv: int = 5,
    scale: bool = True,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> np.ndarray:
    """Proxy A-distances, in 0 .. 2, of all pairs; see `task_distances`.

    A classifier worse than chance counts as chance; None is a linear SVM with balanced
    classes. A task needs two rows; one smaller than `cv` has one row in some folds.
    """
    if not isinstance(cv, Integral) or cv < 2:
        raise ValueError(f"cv must be an integer of at least 2; got {cv!r}.")
    if estimator is not None and not (
        hasattr(estimator, "fit") and is_classifier(estimator)
    ):
        raise ValueError(
            "estimator must be a classifier, which separates the rows of two tasks; "
            f"got {estimator!r}."
        )
    sizes = np.diff(data.indptr)
    if (sizes < 2).any():
        smallest = data.tasks.tolist()[np.argmin(sizes)]
        raise ValueError(
            f"Task {smallest!r} has one row; cross-validation "
            "needs two. Drop the task, or use another method."
        )
    rng = check_random_state(random_state)
    folds = _assign_folds(data, cv, rng)
    if estimator is None:
        estimator = LinearSVC(
            class_weight="balanced",
            max_iter=10_000,
            random_state=rng.randint(2**31 - 1),
        )
    X = data.X
    if scale:
        X = fit_scaler(X, True, data.feature_names).transform(X)
    rows = [data.rows(t) for t in range(data.n_tasks)]
    distances = Parallel(n_jobs=n_jobs)(
        delayed(_pair_distance)(X, rows[a], rows[b], folds, estimator)
        for a, b in combinations(range(data.n_tasks), 2)
    )
    return squareform(np.asarray(distances, dtype=np.float64))


def _covariances(data: TaskData, scaler: FeatureScaler, shrinkage: float) -> np.ndarray:
    """Of the scaled features in each task, without what shrinkage adds."""
    d = data.X.shape[1]
    out = np.empty((data.n_tasks, d, d))
    for t in range(data.n_tasks):
        rows = data.order[data.indptr[t] : data.indptr[t + 1]]
        X = scaler.transform(data.X[rows])
        mean = np.asarray(X.mean(axis=0)).ravel()
        if sp.issparse(X):
            out[t] = (X.T @ X).toarray() / len(rows) - np.outer(mean, mean)
        else:
            X -= mean
            out[t] = X.T @ X / len(rows)
    out *= 1.0 - shrinkage
    return out


def _check_logdet(data: TaskData, shrinkage: float) -> None:
    if not isinstance(shrinkage, Real) or not 0 < float(shrinkage) <= 1:
        raise ValueError(
            "shrinkage must be a number above 0 and at most 1 (a covariance of few "
            f"rows has no inverse); got {shrinkage!r}."
        )
    sizes = np.diff(data.indptr)
    if (sizes < 2).any():
        smallest = data.tasks.tolist()[np.argmin(sizes)]
        raise ValueError(
            f"Task {smallest!r} has one row; a covariance needs two. Drop the task, or "
            "use another method."
        )
    d = data.X.shape[1]
    cells = data.n_tasks * d * d
    if cells > _COVARIANCE_CELLS:
        raise ValueError(
            f"The covariances of {d:,} features in {data.n_tasks:,} tasks would take "
            f"{16 * cells / 1e9:.1f} GB with their inverses; logdet takes at most "
            f"{_COVARIANCE_CELLS:,} numbers. Select features, or use another method."
        )


def _inverses(covariances: np.ndarray, tasks: np.ndarray, scale: bool) -> np.ndarray:
    """Of all covariances; refused where few digits of one would be left."""
    condition = np.linalg.cond(covariances, 1)  # infinite for a singular one
    worst = int(np.argmax(condition))
    if condition[worst] > _CONDITION:
        other = "" if scale else ", set scale=True"
        raise ValueError(
            f"The covariance of task {tasks.tolist()[worst]!r} has no inverse in "
            "double precision: its rows are too few for so small a shrinkage. Raise "
            f"shrinkage{other}, or use another method."
        )
    return np.linalg.inv(covariances)


def logdet(data: TaskData, *, shrinkage: float = 0.1, scale: bool = True) -> np.ndarray:
    """LogDet divergences of the tasks' covariances, the mean of both directions.

    The divergence of B from A is tr(A B^-1) - log det(A B^-1) - d; the logarithms of
    both directions cancel. A task needs two rows.
    """
    _check_logdet(data, shrinkage)
    scaler = fit_scaler(data.X, scale, data.feature_names)
    covariances = _covariances(data, scaler, float(shrinkage))
    d = covariances.shape[1]
    # Without `scale` all are over unit**2, and so is the unit matrix that is added:
    # a factor that both matrices have leaves the divergence as it is.
    unit = 1.0 if scale else float(scaler.unit[0])
    added = min(float(shrinkage) / unit / unit, np.finfo(np.float64).max / 1e6)
    flat = covariances.reshape(data.n_tasks, -1)
    flat[:, :: d + 1] += added
    inverse = _inverses(covariances, data.tasks, scale).reshape(data.n_tasks, -1)
    traces = flat @ inverse.T  # both are symmetric
    out = np.maximum(0.5 * (traces + traces.T) - d, 0.0)
    np.fill_diagonal(out, 0.0)
    return out
