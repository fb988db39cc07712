"""Splitters that know the tasks.

They have scikit-learn's interface, so ``cv=`` of ``cross_validate`` and
``GridSearchCV`` takes them. The task is a column of X (``task=``), as
everywhere in kinlearn; with ``task=None``, ``groups`` gives it instead.
"""

from kinlearn.model_selection._kfold import (
    LeaveOneTaskOut,
    RepeatedTaskStratifiedKFold,
    TargetKFold,
    TaskStratifiedKFold,
)
from kinlearn.model_selection._shuffle import TaskShuffleSplit

__all__ = [
    "LeaveOneTaskOut",
    "RepeatedTaskStratifiedKFold",
    "TargetKFold",
    "TaskShuffleSplit",
    "TaskStratifiedKFold",
]
