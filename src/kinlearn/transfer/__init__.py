"""Transfer by boosting: a large source for a small target, and rare classes."""

from kinlearn.transfer._oversampling import AuxiliaryOverSampler
from kinlearn.transfer._regressor import TrAdaBoostRegressor
from kinlearn.transfer._tradaboost import TrAdaBoostClassifier

__all__ = ["AuxiliaryOverSampler", "TrAdaBoostClassifier", "TrAdaBoostRegressor"]
