"""Support vector machines with the interface of scikit-learn."""

from kinlearn.svm.estimators._feature_selection import (
    PrivilegedFeatureSelectionClassifier,
)
from kinlearn.svm.estimators._multi_task_base import MultiTaskSVMBase
from kinlearn.svm.estimators._multi_task_classifier import MultiTaskSVC
from kinlearn.svm.estimators._multi_task_regressor import MultiTaskSVR
from kinlearn.svm.estimators._svm_plus_base import SVMPlusBase, without_task
from kinlearn.svm.estimators._svm_plus_classifier import SVMPlusClassifier
from kinlearn.svm.estimators._svm_plus_regressor import SVMPlusRegressor

__all__ = [
    "MultiTaskSVC",
    "MultiTaskSVMBase",
    "MultiTaskSVR",
    "PrivilegedFeatureSelectionClassifier",
    "SVMPlusBase",
    "SVMPlusClassifier",
    "SVMPlusRegressor",
    "without_task",
]
