"""Displays: one picture each, drawn by matplotlib."""

from kinlearn.report.displays._audit import (
    LeaderboardDisplay,
    PerTaskGainDisplay,
    RowsPerTaskDisplay,
)
from kinlearn.report.displays._clusters import (
    ClusterAffinityDisplay,
    ClusterTableDisplay,
)
from kinlearn.report.displays._heat_maps import (
    DISTANCE_TITLES,
    TaskAffinityDisplay,
    TaskDistanceDisplay,
)
from kinlearn.report.displays._models import (
    FLambdaDisplay,
    SharingDisplay,
    WeightDriftDisplay,
)

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
