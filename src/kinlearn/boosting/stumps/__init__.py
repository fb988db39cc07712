"""Boosted two-task stumps: MT-AdaBoost (Faddoul)."""

from kinlearn.boosting.stumps._classifier import AbstainingAdaBoostClassifier
from kinlearn.boosting.stumps._export import export_text

__all__ = ["AbstainingAdaBoostClassifier", "export_text"]
