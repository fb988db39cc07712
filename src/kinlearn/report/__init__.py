"""Pictures and pages of what the other modules found."""

from kinlearn.report.displays import (
    CalibrationDisplay,
    ClusterAffinityDisplay,
    ClusterTableDisplay,
    CoverageDisplay,
    ExplanationDisplay,
    FLambdaDisplay,
    LeaderboardDisplay,
    PerTaskGainDisplay,
    RowsPerTaskDisplay,
    SharingDisplay,
    TaskAffinityDisplay,
    TaskDistanceDisplay,
    WeightDriftDisplay,
)
from kinlearn.report.page import write_card, write_page

__all__ = [
    "CalibrationDisplay",
    "ClusterAffinityDisplay",
    "ClusterTableDisplay",
    "CoverageDisplay",
    "ExplanationDisplay",
    "FLambdaDisplay",
    "LeaderboardDisplay",
    "PerTaskGainDisplay",
    "RowsPerTaskDisplay",
    "SharingDisplay",
    "TaskAffinityDisplay",
    "TaskDistanceDisplay",
    "WeightDriftDisplay",
    "write_card",
    "write_page",
]
