"""Models that take part as candidates and stand nowhere else."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from kinlearn.sharing._task_as_feature import TaskAsFeature
from kinlearn.svm import MultiTaskSVR

__all__ = ["BoostedOverLinear", "MeanOf", "StandardisedSVR"]


class StandardisedSVR(MultiTaskSVR):
    """The multi-task machine for numbers of any unit: its costs are in spreads of y."""

    def fit(self, X, y, sample_weight=None):
        """Fit to y of mean 0 and variance 1."""
        size = np.abs(y).max() or 1.0  # squares of the largest numbers overflow
        centre = np.average(y / size, weights=sample_weight)
        variance = np.average((y / size - centre) ** 2, weights=sample_weight)
        self._centre, self._spread = size * centre, size * (np.sqrt(variance) or 1.0)
        return super().fit(X, (y - self._centre) / self._spread, sample_weight)

    def predict(self, X):
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

    def __init__(self, linear, estimator):
        self.linear = linear
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        """Fit the linear model to y, then the booster to what is left."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.linear_ = clone(self.linear).fit(X, y, **weight)
        booster = TaskAsFeature(self.estimator, task=-1, unknown_task="share")
        self.booster_ = booster.fit(X, y - self.linear_.predict(X), **weight)
        return self

    def predict(self, X):
        """The sum of both."""
        return self.linear_.predict(X) + self.booster_.predict(X)


class MeanOf:
    """Models that answer with their mean.

    Parameters
    ----------
    models : list of estimators
        Fitted to the same rows.
    """

    def __init__(self, models):
        self.models = models

    @property
    def classes_(self):
        """Those of each of the models."""
        return self.models[0].classes_

    def predict(self, X):
        """The mean of the numbers."""
        return np.mean([model.predict(X) for model in self.models], axis=0)

    def predict_proba(self, X):
        """The mean of the probabilities."""
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)
