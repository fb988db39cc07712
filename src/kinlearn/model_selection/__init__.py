"""Splitters that know the tasks.

They have scikit-learn's interface, so ``cv=`` of ``cross_validate`` and
``GridSearchCV`` takes them. The task is a column of X (``task=``), as
everywhere in kinlearn; with ``task=None``, ``groups`` gives it instead. Which column
makes good tasks, if none is given, :func:`rank_groupings` tells.
"""

from kinlearn.model_selection._groupings import (
    Grouping,
    equal_groups,
    rank_groupings,
)
from kinlearn.model_selection._kfold import (
    LeaveOneTaskOut,
    RepeatedTaskStratifiedKFold,
    TargetKFold,
    TaskStratifiedKFold,
)
from kinlearn.model_selection._shuffle import TaskShuffleSplit

__all__ = [
    "Grouping",
    "LeaveOneTaskOut",
    "RepeatedTaskStratifiedKFold",
    "TargetKFold",
    "TaskShuffleSplit",
    "TaskStratifiedKFold",
    "equal_groups",
    "rank_groupings",
]
