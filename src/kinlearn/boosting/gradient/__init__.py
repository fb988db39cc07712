"""Multi-task gradient boosting over histograms."""

from kinlearn.boosting.gradient._base import GradientBoostingBase
from kinlearn.boosting.gradient._classifier import MultiTaskGradientBoostingClassifier
from kinlearn.boosting.gradient._export import (
    boosted_text,
    shap_linear,
    shap_rows,
    to_shap,
)
from kinlearn.boosting.gradient._regressor import MultiTaskGradientBoostingRegressor

__all__ = [
    "GradientBoostingBase",
    "MultiTaskGradientBoostingClassifier",
    "MultiTaskGradientBoostingRegressor",
    "boosted_text",
    "shap_linear",
    "shap_rows",
    "to_shap",
]
