"""Support vector machines for related tasks and privileged columns."""

from kinlearn.svm._analytic import analytic_C, analytic_epsilon
from kinlearn.svm._tuning import TwoStageResult, tune_in_two_stages
from kinlearn.svm.estimators import (
    MultiTaskSVC,
    MultiTaskSVR,
    PrivilegedFeatureSelectionClassifier,
    SVMPlusClassifier,
    SVMPlusRegressor,
)

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
