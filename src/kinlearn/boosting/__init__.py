"""Multi-task boosting: two-task stumps, multi-task trees, shared learners."""

from kinlearn.boosting._abstaining import AbstainingAdaBoostClassifier
from kinlearn.boosting._adaboost_m1 import MultiTaskAdaBoostClassifier
from kinlearn.boosting._export import export_text
from kinlearn.boosting._mtboost import MTBoostClassifier
from kinlearn.boosting._mtboost_regressor import MTBoostRegressor

__all__ = [
    "AbstainingAdaBoostClassifier",
    "MTBoostClassifier",
    "MTBoostRegressor",
    "MultiTaskAdaBoostClassifier",
    "export_text",
]
