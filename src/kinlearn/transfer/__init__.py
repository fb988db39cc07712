"""Transfer by boosting: a large source for a small target, and rare classes."""

from kinlearn.transfer._tradaboost import TrAdaBoostClassifier

__all__ = ["TrAdaBoostClassifier"]
