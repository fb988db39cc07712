"""Support vector machines for related tasks and privileged columns."""

from kinlearn.svm._analytic import analytic_C, analytic_epsilon
from kinlearn.svm._multi_task_svc import MultiTaskSVC
from kinlearn.svm._multi_task_svr import MultiTaskSVR
from kinlearn.svm._svm_plus_classifier import SVMPlusClassifier
from kinlearn.svm._svm_plus_regressor import SVMPlusRegressor

__all__ = [
    "MultiTaskSVC",
    "MultiTaskSVR",
    "SVMPlusClassifier",
    "SVMPlusRegressor",
    "analytic_C",
    "analytic_epsilon",
]
