"""Models that take part as candidates and stand nowhere else."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from kinlearn.sharing._base import OneModel, SharingForm
from kinlearn.sharing._shared_plus_own import SharedPlusOwn
from kinlearn.sharing._task_as_feature import TaskAsFeature
from kinlearn.svm import MultiTaskSVR
from kinlearn.utils._typing import LabelRule, TaskColumn

__all__ = ["BoostedOverLinear", "MeanOf", "StandardisedSVR", "TaskByCoefficients"]

_DIRECTIONS = 2  # of the tasks' coefficients


class StandardisedSVR(MultiTaskSVR):
    """The multi-task machine for numbers of any unit: its costs are in spreads of y."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to y of mean 0 and variance 1."""
        size = np.abs(y).max() or 1.0  # squares of the largest numbers overflow
        centre = np.average(y / size, weights=sample_weight)
        variance = np.average((y / size - centre) ** 2, weights=sample_weight)
        self._centre, self._spread = size * centre, size * (np.sqrt(variance) or 1.0)
        return super().fit(X, (y - self._centre) / self._spread, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Numbers in the units of y."""
        return self._centre + self._spread * super().predict(X)


class BoostedOverLinear(RegressorMixin, BaseEstimator):
    """Trees that boost what a linear model leaves.

    Boosted trees take many steps to draw a straight line; a linear model cannot bend.

    Parameters
    ----------
    linear : SharingForm
        For X with the task as its last column.
    estimator : HistGradientBoostingRegressor
        Gets the task as a category.

    Attributes
    ----------
    linear_ : SharingForm
        The fitted linear model.
    booster_ : TaskAsFeature
        The fitted booster, of the residuals.
    """

    def __init__(self, linear: SharingForm, estimator: Any) -> None:
        self.linear = linear
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the linear model to y, then the booster to what is left."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.linear_ = clone(self.linear).fit(X, y, **weight)
        booster = TaskAsFeature(self.estimator, task=-1, unknown_task="share")
        self.booster_ = booster.fit(X, y - self.linear_.predict(X), **weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The sum of both."""
        return self.linear_.predict(X) + self.booster_.predict(X)


class TaskByCoefficients(OneModel):
    """One model that sees each task as a point, like tasks near each other.

    The point is where the task's own part of a linear model departs most from what
    tasks share: its level, and its place along the main directions of the tasks'
    coefficients. Trees can then cut between groups of tasks, which takes fewer rows
    than to find the groups, as they must where the task is a category.

    Parameters
    ----------
    linear : SharedPlusOwn
        Over a linear model; for X with the task as its last column.
    estimator : estimator
        Gets the features, then the task's numbers.
    task, unknown_task, label_sets
        As in `SharedPlusOwn`. A task not seen in fit is the one that does not depart.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    points_ : float64 array of shape (n_tasks, n_numbers)
        The tasks' numbers.
    """

    def __init__(
        self,
        linear: SharedPlusOwn,
        estimator: Any,
        *,
        task: TaskColumn = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
    ) -> None:
        super().__init__(
            estimator, task=task, unknown_task=unknown_task, label_sets=label_sets
        )
        self.linear = linear

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the linear model, then the estimator."""
        self.points_ = _points(clone(self.linear).fit(X, y, sample_weight))
        return super().fit(X, y, sample_weight)

    def _features(self, rest: Any, task: np.ndarray) -> np.ndarray:
        points = np.where(task[:, None] >= 0, self.points_[task], 0.0)
        return np.hstack([rest, points.astype(rest.dtype, copy=False)])


def _points(model: Any) -> np.ndarray:
    """Levels and main directions of what tasks have of their own."""
    coef = np.atleast_2d(model.estimator_.coef_)
    n_tasks, n_features = len(model.tasks_), model.n_features_in_ - 1
    if n_tasks == 1:
        return np.zeros((1, 1))
    own = coef[:, n_features:].reshape(len(coef), n_tasks, n_features + 1)
    levels, slopes = own[:, :, 0].T, own[:, :, 1:].swapaxes(0, 1).reshape(n_tasks, -1)
    both = np.hstack([levels, slopes])
    directions = np.linalg.svd(both - both.mean(axis=0), full_matrices=False)[2]
    directions = directions[:_DIRECTIONS]
    # a direction has no sign of its own
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(directions[np.arange(len(directions)), largest])[:, None]
    return np.hstack([levels, both @ directions.T])


class MeanOf:
    """Models whose mean is the prediction.

    Parameters
    ----------
    models : list of estimators
        Fitted to the same rows.
    """

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    @property
    def classes_(self) -> np.ndarray:
        """Those of each of the models."""
        return self.models[0].classes_

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the numbers."""
        return np.mean([model.predict(X) for model in self.models], axis=0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the probabilities."""
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)
