"""Linear models of related tasks."""

from kinlearn.linear.penalties import (
    MultiTaskLinearClassifier,
    MultiTaskLinearRegressor,
    PenaltyPath,
)

__all__ = [
    "MultiTaskLinearClassifier",
    "MultiTaskLinearRegressor",
    "PenaltyPath",
]
