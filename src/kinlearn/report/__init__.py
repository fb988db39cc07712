"""Pictures and pages of what the other modules found."""

from kinlearn.report.displays import (
    ClusterAffinityDisplay,
    ClusterTableDisplay,
    FLambdaDisplay,
    LeaderboardDisplay,
    PerTaskGainDisplay,
    RowsPerTaskDisplay,
    SharingDisplay,
    TaskAffinityDisplay,
    TaskDistanceDisplay,
    WeightDriftDisplay,
)
from kinlearn.report.page import write_page

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
