"""Support vector machines for related tasks and privileged columns."""

from kinlearn.svm._analytic import analytic_C, analytic_epsilon
from kinlearn.svm._multi_task_svc import MultiTaskSVC
from kinlearn.svm._multi_task_svr import MultiTaskSVR

__all__ = ["MultiTaskSVC", "MultiTaskSVR", "analytic_C", "analytic_epsilon"]
