"""Proxy A-distance: how well can a linear classifier separate two tasks?"""

from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import squareform
from sklearn.base import clone, is_classifier
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from kinlearn.relatedness._scale import fit_scaler
from kinlearn.tasks import TaskData
from kinlearn.utils import group_rows
from kinlearn.utils._typing import RandomState

__all__ = ["proxy_a"]


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
