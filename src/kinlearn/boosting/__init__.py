"""Multi-task boosting: two-task stumps, multi-task trees, shared learners."""

from kinlearn.boosting._export import export_text
from kinlearn.boosting.adaboost import MultiTaskAdaBoostClassifier
from kinlearn.boosting.gradient import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
    shap_linear,
    shap_rows,
    to_shap,
)
from kinlearn.boosting.mtboost import (
    MTBoostClassifier,
    MTBoostRegressor,
    TaskCorrelations,
)
from kinlearn.boosting.stumps import AbstainingAdaBoostClassifier

__all__ = [
    "AbstainingAdaBoostClassifier",
    "MTBoostClassifier",
    "MTBoostRegressor",
    "MultiTaskAdaBoostClassifier",
    "MultiTaskGradientBoostingClassifier",
    "MultiTaskGradientBoostingRegressor",
    "TaskCorrelations",
    "export_text",
    "shap_linear",
    "shap_rows",
    "to_shap",
]
