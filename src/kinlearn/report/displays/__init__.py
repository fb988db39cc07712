"""Displays: one picture each, drawn by matplotlib."""

from kinlearn.report.displays._clusters import (
    ClusterAffinityDisplay,
    ClusterTableDisplay,
)
from kinlearn.report.displays._f_lambda import FLambdaDisplay
from kinlearn.report.displays._heat_maps import (
    DISTANCE_TITLES,
    TaskAffinityDisplay,
    TaskDistanceDisplay,
)
from kinlearn.report.displays._leaderboard import LeaderboardDisplay
from kinlearn.report.displays._per_task_gain import PerTaskGainDisplay
from kinlearn.report.displays._rows_per_task import RowsPerTaskDisplay
from kinlearn.report.displays._sharing import SharingDisplay
from kinlearn.report.displays._weight_drift import WeightDriftDisplay

__all__ = [
    "DISTANCE_TITLES",
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
]
