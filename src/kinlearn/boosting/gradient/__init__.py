"""Multi-task gradient boosting over histograms."""

from kinlearn.boosting.gradient._classifier import MultiTaskGradientBoostingClassifier
from kinlearn.boosting.gradient._regressor import MultiTaskGradientBoostingRegressor

__all__ = [
    "MultiTaskGradientBoostingClassifier",
    "MultiTaskGradientBoostingRegressor",
]
