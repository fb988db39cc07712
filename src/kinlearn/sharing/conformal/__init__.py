"""Intervals and sets by conformal prediction, task by task."""

from kinlearn.sharing.conformal._calibration import TaskCalibration
from kinlearn.sharing.conformal._coverage import TaskCoverage
from kinlearn.sharing.conformal._estimators import (
    ConformalClassifier,
    ConformalRegressor,
)
from kinlearn.sharing.conformal._methods import IntervalMethods, SetMethods

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
    "IntervalMethods",
    "SetMethods",
    "TaskCalibration",
    "TaskCoverage",
]
