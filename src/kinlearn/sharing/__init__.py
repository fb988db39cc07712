"""Any scikit-learn estimator in its non-sharing and naive forms, and Kin.

The forms are what people do with grouped data today, and what sharing has to beat;
and the simplest form that shares and departs, for linear models. `KinClassifier`
and `KinRegressor` combine forms and multi-task models, task by task. The conformal
wrappers make intervals and sets of any estimator's predictions.
"""

from kinlearn.sharing._per_task import PerTask
from kinlearn.sharing._pooled import Pooled
from kinlearn.sharing._shared_plus_own import SharedPlusOwn
from kinlearn.sharing._task_as_feature import TaskAsFeature
from kinlearn.sharing.conformal import (
    ConformalClassifier,
    ConformalRegressor,
    TaskCalibration,
    TaskCoverage,
)
from kinlearn.sharing.explain import Explanation
from kinlearn.sharing.kin import KinClassifier, KinRegressor

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
    "Explanation",
    "KinClassifier",
    "KinRegressor",
    "PerTask",
    "Pooled",
    "SharedPlusOwn",
    "TaskAsFeature",
    "TaskCalibration",
    "TaskCoverage",
]
