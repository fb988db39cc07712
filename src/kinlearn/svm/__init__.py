"""Support vector machines for related tasks and privileged columns."""

from kinlearn.svm.estimators import (
    MultiTaskSVC,
    MultiTaskSVR,
    PrivilegedFeatureSelectionClassifier,
    SVMPlusClassifier,
    SVMPlusRegressor,
)
from kinlearn.svm.problem import analytic_C, analytic_epsilon
from kinlearn.svm.tuning import TwoStageResult, tune_in_two_stages

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
