"""Models that take part as candidates and stand nowhere else."""

from typing import Any, Self

import numpy as np

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
        return np.mean([model.predict(X) for model in self.models], axis=0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the probabilities."""
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)
