"""Mixed models: effects of tasks and other groupings follow a common law."""

from kinlearn.linear.mixed._comparison import (
    LikelihoodRatioResult,
    likelihood_ratio_test,
)
from kinlearn.linear.mixed._logistic import MixedLogisticClassifier
from kinlearn.linear.mixed._poisson import MixedPoissonRegressor
from kinlearn.linear.mixed._regressor import MixedLinearRegressor

__all__ = [
    "LikelihoodRatioResult",
    "MixedLinearRegressor",
    "MixedLogisticClassifier",
    "MixedPoissonRegressor",
    "likelihood_ratio_test",
]
