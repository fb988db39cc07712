"""Linear models for related tasks: mixed models, and multi-task penalties."""

from kinlearn.linear.mixed import (
    LikelihoodRatioResult,
    MixedLinearRegressor,
    MixedLogisticClassifier,
    MixedPoissonRegressor,
    likelihood_ratio_test,
)
from kinlearn.linear.penalties import (
    MultiTaskLinearClassifier,
    MultiTaskLinearRegressor,
    PenaltyPath,
)

__all__ = [
    "LikelihoodRatioResult",
    "MixedLinearRegressor",
    "MixedLogisticClassifier",
    "MixedPoissonRegressor",
    "MultiTaskLinearClassifier",
    "MultiTaskLinearRegressor",
    "PenaltyPath",
    "likelihood_ratio_test",
]
