"""Linear models for related tasks: mixed models."""

from kinlearn.linear.mixed import (
    LikelihoodRatioResult,
    MixedLinearRegressor,
    MixedLogisticClassifier,
    MixedPoissonRegressor,
    likelihood_ratio_test,
)

__all__ = [
    "LikelihoodRatioResult",
    "MixedLinearRegressor",
    "MixedLogisticClassifier",
    "MixedPoissonRegressor",
    "likelihood_ratio_test",
]
