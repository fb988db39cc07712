"""Two-stage tuning of machines with corrections."""

from kinlearn.svm.tuning._two_stages import TwoStageResult, tune_in_two_stages

__all__ = [
    "TwoStageResult",
    "tune_in_two_stages",
]
