"""What the checks fit estimators to."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from kinlearn.tasks import with_task
from kinlearn.utils._typing import Table

__all__ = ["fit_on", "make_problem", "set_up"]


def make_problem(
    estimator: Any, *, n_samples: int = 120, n_tasks: int = 3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Related tasks with a shared signal and a shift of each task: X, y, task.

    The four features are non-negative and in thirds of a unit: few distinct values, so
    that methods that bin are exact. y holds two classes, both in every task, or
    numbers, not negative ones if so tagged, as the estimator needs.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, size=(n_samples, 4)) / 3
    task = np.arange(n_samples) % n_tasks
    signal = X[:, 0] - X[:, 1] + 0.5 * task + 0.3 * rng.standard_normal(n_samples)
    if is_classifier(estimator):
        return X, (signal > np.median(signal)).astype(int), task
    if get_tags(estimator).target_tags.positive_only:
        signal = 10 * (signal - signal.min())
    return X, signal, task


def set_up(estimator: Any, **params: Any) -> Any:
    """A clone with a fixed random state and parameters set."""
    model = clone(estimator)
    random = {name: 0 for name in model.get_params() if name.endswith("random_state")}
    return model.set_params(**random, **params)


def fit_on(
    estimator: Any, X: Table, y: np.ndarray, task: np.ndarray, **params: Any
) -> Any:
    """Fit a clone on X with the task as its last column."""
    return set_up(estimator, task=-1, **params).fit(with_task(X, task), y)
