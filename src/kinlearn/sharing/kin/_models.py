"""Models that take part as candidates and stand nowhere else."""

from typing import Any, Self

import numpy as np

from kinlearn.boosting.gradient.internal import have_same_bins, predictions_of
from kinlearn.sharing.kin._groups import LikeTasks
from kinlearn.svm import MultiTaskSVR

__all__ = ["MeanOf", "StandardisedSVR"]


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
        return self._mean("predict", X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the probabilities."""
        return self._mean("predict_proba", X)

    def _mean(self, method: str, X: Any) -> np.ndarray:
        joined = _joined(self.models)
        if joined is not None:
            return getattr(joined, method)(X)
        if have_same_bins(self.models):  # rows are read, and become bins, once
            return np.mean(predictions_of(self.models, method, X), axis=0)
        return np.mean([getattr(model, method)(X) for model in self.models], axis=0)


def _joined(models: list[Any]) -> LikeTasks | None:
    """Models of the same groups of like tasks as one, whose groups have the means."""
    if not all(isinstance(model, LikeTasks) for model in models):
        return None
    first = models[0]
    for model in models:
        if not np.array_equal(model.groups_, first.groups_):
            return None
        # what a group's rows do not show is filled in before means are taken
        if model.by_group_._guessing.any() or None in model.by_group_.estimators_:
            return None
    groups = zip(*(model.by_group_.estimators_ for model in models), strict=True)
    means = [MeanOf(list(each)) for each in groups]
    return _changed(first, by_group_=_changed(first.by_group_, estimators_=means))


def _changed(model: Any, **attributes: Any) -> Any:
    """A model with other attributes; the same is shared, and nothing checked anew."""
    out = object.__new__(type(model))
    out.__dict__ = {**vars(model), **attributes}
    return out
