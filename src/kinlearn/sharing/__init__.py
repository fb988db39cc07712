"""Any scikit-learn estimator in its non-sharing and naive forms, and Kin.

The forms are what people do with grouped data today, and what sharing has to beat;
and the simplest form that shares and departs, for linear models. `KinClassifier`
and `KinRegressor` combine forms and multi-task models, task by task.
"""

from kinlearn.sharing._per_task import PerTask
from kinlearn.sharing._pooled import Pooled
from kinlearn.sharing._shared_plus_own import SharedPlusOwn
from kinlearn.sharing._task_as_feature import TaskAsFeature
from kinlearn.sharing.kin import KinClassifier, KinRegressor

__all__ = [
    "KinClassifier",
    "KinRegressor",
    "PerTask",
    "Pooled",
    "SharedPlusOwn",
    "TaskAsFeature",
]
