"""Support vector machines for related tasks and privileged columns."""

from kinlearn.svm._analytic import analytic_C, analytic_epsilon
from kinlearn.svm._feature_selection import PrivilegedFeatureSelectionClassifier
from kinlearn.svm._multi_task_svc import MultiTaskSVC
from kinlearn.svm._multi_task_svr import MultiTaskSVR
from kinlearn.svm._svm_plus_classifier import SVMPlusClassifier
from kinlearn.svm._svm_plus_regressor import SVMPlusRegressor
from kinlearn.svm._tuning import TwoStageResult, tune_in_two_stages

__all__ = [
    "MultiTaskSVC",
    "MultiTaskSVR",
    "PrivilegedFeatureSelectionClassifier",
    "SVMPlusClassifier",
    "SVMPlusRegressor",
    "TwoStageResult",
    "analytic_C",
    "analytic_epsilon",
    "tune_in_two_stages",
]
