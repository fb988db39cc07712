"""Small multi-task problems that the checks share."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from kinlearn.tasks import with_task
from kinlearn.utils._typing import Table

__all__ = ["fit_on", "make_problem", "set_up"]


def make_problem(
    estimator: Any, *, n_samples: int = 120, n_tasks: int = 3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Related tasks with a shared signal and a shift of each task.

    Parameters
    ----------
    estimator : estimator
        Decides whether y holds classes or numbers.
    n_samples, n_tasks, seed : int
        Size of the problem, and its randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, 4)
        Non-negative features in thirds of a unit: few distinct values, so that
        methods that bin are exact.
    y : ndarray of shape (n_samples,)
        Two classes, or numbers.
    task : int array of shape (n_samples,)
        Every task has rows of both classes.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, size=(n_samples, 4)) / 3
    task = np.arange(n_samples) % n_tasks
    signal = X[:, 0] - X[:, 1] + 0.5 * task + 0.3 * rng.standard_normal(n_samples)
    if is_classifier(estimator):
        return X, (signal > np.median(signal)).astype(int), task
    return X, signal, task


def set_up(estimator: Any, **params: Any) -> Any:
    """A clone with a fixed random state and parameters set.

    Parameters
    ----------
    estimator : estimator
        The estimator to check.
    **params : dict
        Parameters to set, such as ``task=-1``.

    Returns
    -------
    estimator
        The clone.
    """
    model = clone(estimator)
    random = {name: 0 for name in model.get_params() if name.endswith("random_state")}
    return model.set_params(**random, **params)


def fit_on(
    estimator: Any, X: Table, y: np.ndarray, task: np.ndarray, **params: Any
) -> Any:
    """Fit a clone on X with the task as its last column.

    Parameters
    ----------
    estimator : estimator
        The estimator to check.
    X, y, task : arrays
        As :func:`make_problem` gives.
    **params : dict
        Further parameters.

    Returns
    -------
    estimator
        The fitted clone.
    """
    return set_up(estimator, task=-1, **params).fit(with_task(X, task), y)
