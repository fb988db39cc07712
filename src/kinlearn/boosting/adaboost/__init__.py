"""AdaBoost.M1 over multi-task trees (Faddoul)."""

from kinlearn.boosting.adaboost._classifier import MultiTaskAdaBoostClassifier

__all__ = ["MultiTaskAdaBoostClassifier"]
