"""Pictures and pages of what the other modules found."""

from kinlearn.report._cluster_displays import (
    ClusterAffinityDisplay,
    ClusterTableDisplay,
)
from kinlearn.report._f_lambda import FLambdaDisplay
from kinlearn.report._leaderboard import LeaderboardDisplay
from kinlearn.report._page import write_page
from kinlearn.report._per_task_gain import PerTaskGainDisplay
from kinlearn.report._rows_per_task import RowsPerTaskDisplay
from kinlearn.report._sharing import SharingDisplay
from kinlearn.report._task_affinity import TaskAffinityDisplay
from kinlearn.report._task_distances import TaskDistanceDisplay
from kinlearn.report._weight_drift import WeightDriftDisplay

__all__ = [
    "ClusterAffinityDisplay",
    "ClusterTableDisplay",
    "FLambdaDisplay",
    "LeaderboardDisplay",
    "PerTaskGainDisplay",
    "RowsPerTaskDisplay",
    "SharingDisplay",
    "TaskAffinityDisplay",
    "TaskDistanceDisplay",
    "WeightDriftDisplay",
    "write_page",
]
