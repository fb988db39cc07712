"""Transfer by boosting: a large source for a small target, and rare classes."""

from kinlearn.transfer._classifier import TrAdaBoostClassifier
from kinlearn.transfer._oversampling import AuxiliaryOverSampler
from kinlearn.transfer._regressor import TrAdaBoostRegressor

__all__ = ["AuxiliaryOverSampler", "TrAdaBoostClassifier", "TrAdaBoostRegressor"]
