"""How much likelier a source row is in the target: a ratio of densities."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler

from kinlearn.utils import clone_for_round

__all__ = ["density_ratio"]

_LEAST = 1e-4  # a model of few rows may be sure of anything


def _comparable(X: Any) -> Any:
    """Features from -1 to 1, missing ones as the mean of their column."""
    X = X.tocsr(copy=True) if sp.issparse(X) else X.copy()
    values, column = X, np.broadcast_to(np.arange(X.shape[1]), X.shape)
    if sp.issparse(X):
        values, column = X.data, X.indices
    missing = np.isnan(values)
    column = column[missing]
    values[missing] = 0.0
    X = MaxAbsScaler(copy=False).fit_transform(X)
    if missing.any():  # scaled by now: a sum of the largest numbers does not overflow
        known = X.shape[0] - np.bincount(column, minlength=X.shape[1])
        mean = np.asarray(X.sum(axis=0)).ravel() / np.maximum(known, 1)
        (X.data if sp.issparse(X) else X)[missing] = mean[column]
    return X


def density_ratio(
    X: Any,
    y: np.ndarray,
    is_target: np.ndarray,
    estimator: Any,
    rng: np.random.RandomState,
) -> np.ndarray:
    """For each row the odds that it is the target's and not the source's.

    They are those of a classifier that tells the two from each other, fitted to the
    other half of the rows, in which each class of either side has the same weight: so
    the odds are a ratio of densities, and what tells the classes apart is not in them.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        Features.
    y : int array of shape (n,)
        Class codes.
    is_target : bool array of shape (n,)
        Which rows are the target's.
    estimator : classifier or None
        With probabilities and weights; None is a logistic regression of features from
        -1 to 1.
    rng : RandomState
        Deals the halves, and seeds clones.

    Returns
    -------
    float64 array of shape (n,)
        Between 1e-4 and 1e4; 1 where the other half has rows of one side only.
    """
    cell = 2 * y.astype(np.int64) + is_target
    order = rng.permutation(len(y))
    order = order[np.argsort(cell[order], kind="stable")]
    half = np.empty(len(y), dtype=np.intp)
    half[order] = np.arange(len(y)) % 2
    if estimator is None:
        estimator, X = LogisticRegression(max_iter=200), _comparable(X)
    odds = np.ones(len(y))
    for k in range(2):
        train, rest = np.flatnonzero(half != k), np.flatnonzero(half == k)
        label = is_target[train]
        if label.all() or not label.any():
            continue
        size = np.bincount(cell[train])
        weight = len(train) / ((size > 0).sum() * size[cell[train]])
        model = clone_for_round(estimator, rng)
        with warnings.catch_warnings():
            # odds of a model that is nearly there will do
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[train], label.astype(np.int64), sample_weight=weight)
        near = np.clip(model.predict_proba(X[rest])[:, 1], _LEAST, 1 - _LEAST)
        odds[rest] = near / (1 - near)
    return odds
