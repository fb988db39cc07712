"""Any scikit-learn estimator in its non-sharing and naive forms.

These are what people do with grouped data today, and what sharing has to beat;
and the simplest form that shares and departs, for linear models.
"""

from kinlearn.sharing._one_model import Pooled
from kinlearn.sharing._per_task import PerTask
from kinlearn.sharing._shared_plus_own import SharedPlusOwn
from kinlearn.sharing._task_as_feature import TaskAsFeature

__all__ = ["PerTask", "Pooled", "SharedPlusOwn", "TaskAsFeature"]
