"""Multi-task decision trees and their forests (Faddoul)."""

from kinlearn.trees.decision._export import export_text, plot_tree
from kinlearn.trees.decision._forest import MultiTaskRandomForestClassifier
from kinlearn.trees.decision._rounds import TreeRounds
from kinlearn.trees.decision._tree import MultiTaskDecisionTreeClassifier

__all__ = [
    "MultiTaskDecisionTreeClassifier",
    "MultiTaskRandomForestClassifier",
    "TreeRounds",
    "export_text",
    "plot_tree",
]
