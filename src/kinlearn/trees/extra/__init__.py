"""Extremely randomised trees whose splits may also be between tasks (Simm et al.)."""

from kinlearn.trees.extra._base import MultiTaskExtraTreesBase
from kinlearn.trees.extra._classifier import MultiTaskExtraTreesClassifier
from kinlearn.trees.extra._model import Forest
from kinlearn.trees.extra._regressor import MultiTaskExtraTreesRegressor
from kinlearn.trees.extra._shap import (
    RunTree,
    TreeSource,
    shap_linear,
    shap_rows,
    to_shap,
)

__all__ = [
    "Forest",
    "MultiTaskExtraTreesBase",
    "MultiTaskExtraTreesClassifier",
    "MultiTaskExtraTreesRegressor",
    "RunTree",
    "TreeSource",
    "shap_linear",
    "shap_rows",
    "to_shap",
]
