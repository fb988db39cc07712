"""Multi-task boosting: two-task stumps, multi-task trees, shared learners."""

from kinlearn.boosting._abstaining import AbstainingAdaBoostClassifier

__all__ = ["AbstainingAdaBoostClassifier"]
