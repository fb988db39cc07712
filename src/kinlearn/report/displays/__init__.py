"""Displays: one picture each, drawn by matplotlib."""

from kinlearn.report.displays._audit import (
    LeaderboardDisplay,
    PerTaskGainDisplay,
    RowsPerTaskDisplay,
)
from kinlearn.report.displays._base import both_ends
from kinlearn.report.displays._clusters import (
    ClusterAffinityDisplay,
    ClusterTableDisplay,
)
from kinlearn.report.displays._explanations import ExplanationDisplay
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
from kinlearn.report.displays._predictions import CalibrationDisplay, CoverageDisplay

__all__ = [
    "DISTANCE_TITLES",
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
    "both_ends",
]
