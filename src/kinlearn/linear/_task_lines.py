"""Ridge and logistic regressions of many tasks, fitted in one go.

A fit of scikit-learn's to forty rows takes milliseconds, nearly all of them checks.
Where each task has a plain linear model of few dense features, the same minima are
found here for all tasks together; what comes out are fitted estimators as ever.
"""

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn._kernels.linear._task_logistic import fit_task_logistic

__all__ = ["fit_lines", "has_line"]

_MOST_FEATURES = 64  # beyond, equations of each task take longer than gradient steps
_FREE = {
    # these may be anything: they do not change the minimum
    LogisticRegression: {
        "C",
        "max_iter",
        "tol",
        "random_state",
        "n_jobs",
        "verbose",
    },
    Ridge: {"alpha", "max_iter", "tol", "random_state", "copy_X"},
}
_TOLERANCE = 1e-8  # of the gradient, per row and unit of cost
_MOST_STEPS = 100


def has_line(estimator: Any, X: Any) -> bool:
    """Whether models of tasks are found here: plain ones, of few dense features."""
    free = _FREE.get(type(estimator))
    if free is None or not isinstance(X, np.ndarray) or X.dtype.kind != "f":
        return False
    if not 0 < X.shape[1] <= _MOST_FEATURES:
        return False
    if isinstance(estimator, Ridge) and np.ndim(estimator.alpha) != 0:
        return False
    usual = type(estimator)().get_params()
    given = estimator.get_params()
    plain = all(name in free or given[name] == usual[name] for name in usual)
    return plain and bool(np.isfinite(X).all())


def fit_lines(
    estimator: Any,
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    indptr: np.ndarray,
) -> list[Any]:
    """A fitted model for each task that has one, else None.

    Rows of a task lie together. None are tasks for which the estimator itself must be
    asked: fewer or more than two classes, or numbers of one row or no weight.
    """
    if isinstance(estimator, Ridge):
        return [
            _fit_ridge(
                estimator, X[rows], y[rows], None if weight is None else weight[rows]
            )
            for rows in map(slice, indptr[:-1], indptr[1:])
        ]
    return _fit_logistic(estimator, X, y, weight, indptr)


def _fit_ridge(
    estimator: Ridge, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None
) -> Ridge | None:
    """The minimum by the normal equations of centred features."""
    if len(y) < 2 or not estimator.alpha > 0:
        return None
    w = np.ones(len(y)) if weight is None else weight
    total = w.sum()
    if not total > 0:
        return None
    X, dtype = X.astype(np.float64), X.dtype
    centre, level = w @ X / total, w @ y / total
    X -= centre
    weighted = w[:, None] * X
    A = weighted.T @ X
    A[np.diag_indices_from(A)] += estimator.alpha
    try:
        coef = scipy.linalg.solve(A, weighted.T @ (y - level), assume_a="pos")
    except (np.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
        return None
    model = clone(estimator)
    model.coef_, model.intercept_ = coef.astype(dtype), float(level - centre @ coef)
    model.n_features_in_, model.n_iter_ = X.shape[1], None
    model.solver_ = "cholesky"
    return model


def _fit_logistic(
    estimator: LogisticRegression,
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    indptr: np.ndarray,
) -> list[Any]:
    n_tasks, n_features = len(indptr) - 1, X.shape[1]
    weight = np.ones(len(y)) if weight is None else weight
    classes, sign = [], np.zeros(len(y), dtype=np.int8)
    for rows in map(slice, indptr[:-1], indptr[1:]):
        own = np.unique(y[rows][weight[rows] > 0])
        classes.append(own)
        if len(own) == 2:
            sign[rows] = np.where(y[rows] == own[1], 1, -1)
    known = np.array([len(own) == 2 for own in classes])
    # rows of weight 0 may show a third class
    some = np.flatnonzero(known)
    chosen = np.flatnonzero(np.repeat(known, np.diff(indptr)))
    sizes = np.diff(indptr)[some]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    coef = np.zeros((len(some), n_features + 1))
    n_iter = np.zeros(len(some), dtype=np.intp)
    rows_weight = np.ascontiguousarray(weight[chosen], dtype=np.float64)
    fit_task_logistic(
        np.ascontiguousarray(X[chosen], dtype=np.float64),
        sign[chosen],
        rows_weight,
        starts,
        float(estimator.C),
        _TOLERANCE * max(1.0, estimator.C * float(rows_weight.max(initial=1.0))),
        _MOST_STEPS,
        np.empty((n_features + 1) * (n_features + 4)),
        coef,
        n_iter,
    )
    models: list[Any] = [None] * n_tasks
    for place, t in enumerate(some):
        if n_iter[place] < 0 or not np.isfinite(coef[place]).all():
            continue
        model = clone(estimator)
        model.classes_, model.n_features_in_ = classes[t], n_features
        model.coef_ = coef[place, None, :-1].astype(X.dtype)
        model.intercept_ = coef[place, -1:].astype(X.dtype)
        model.n_iter_ = n_iter[place : place + 1].astype(np.int32)
        models[t] = model
    return models
