"""How sure the correlations of MTBoost are: permuted labels, and rows drawn again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from kinlearn.utils._values import show_values

__all__ = ["TaskCorrelations", "study_correlations"]


@dataclass(frozen=True, eq=False)
class TaskCorrelations:
    """Correlations of tasks, with what chance alone would find.

    Attributes
    ----------
    tasks : ndarray of shape (n_tasks,)
        The tasks.
    correlation : ndarray of shape (n_tasks, n_tasks)
        As fitted.
    low, high : ndarray of shape (n_tasks, n_tasks)
        Bounds of the intervals.
    p_value : ndarray of shape (n_tasks, n_tasks)
        How often labels without any relation to the features have a correlation that
        is at least as large, of either sign; 1 on the diagonal.
    chance : float
        The mean size of correlations of such labels.
    """

    tasks: np.ndarray
    correlation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray
    chance: float


def study_correlations(
    model: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    task: np.ndarray,
    *,
    n_permutations: int,
    n_resamples: int,
    level: float,
    random_state: Any,
) -> TaskCorrelations:
    """Fit copies of a model to permuted labels, and to rows drawn again.

    Parameters
    ----------
    model : MTBoostClassifier or MTBoostRegressor
        Fitted.
    X : table of n_samples rows
        The rows of fit.
    y, weight, task : arrays of shape (n_samples,)
        Their labels, weights and task codes.
    n_permutations, n_resamples : int
        How many fits of each kind.
    level : float
        Coverage of the intervals.
    random_state : int, RandomState instance or None
        Decides permutations and draws.

    Returns
    -------
    TaskCorrelations
        What was found.
    """
    rng = check_random_state(random_state)
    found = model.task_correlation_
    counts = weight > 0  # other rows stay where they are
    task = np.where(counts, task, -1)
    strata = task
    if hasattr(model, "classes_"):  # a class of a task must not be lost
        codes = np.searchsorted(model.classes_, y[counts])
        known = model.classes_[np.minimum(codes, len(model.classes_) - 1)]
        if (known != y[counts]).any():
            raise ValueError(
                f"task_correlations of {type(model).__name__} needs the labels of fit; "
                f"y has {show_values(np.setdiff1d(y[counts], model.classes_))}, which "
                "fit did not see."
            )
        strata = task.copy()
        strata[counts] = len(model.classes_) * task[counts] + codes

    def refit(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        fitted = clone(model).fit(X, labels, sample_weight=weights)
        return fitted.task_correlation_

    shuffled = []
    for _ in range(n_permutations):
        permuted = y[_within(task, rng.permutation)]
        shuffled.append(np.abs(refit(permuted, weight)))
    drawn = []
    for _ in range(n_resamples):
        rows = _within(strata, lambda rows: rng.choice(rows, len(rows)))
        drawn.append(refit(y, weight * np.bincount(rows, minlength=len(y))))
    null = np.stack(shuffled)
    beyond = (null >= np.abs(found)).sum(axis=0)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    pairs = np.triu_indices(len(found), k=1)
    return TaskCorrelations(
        tasks=model.tasks_,
        correlation=found,
        low=low,
        high=high,
        p_value=(1 + beyond) / (1 + n_permutations),
        chance=float(null[:, *pairs].mean()) if len(found) > 1 else 0.0,
    )


def _within(strata: np.ndarray, draw: Any) -> np.ndarray:
    """Rows in new places, drawn within each stratum; those of -1 in their own."""
    out = np.arange(len(strata))
    for stratum in np.unique(strata[strata >= 0]):
        mine = np.flatnonzero(strata == stratum)
        out[mine] = draw(mine)
    return out
