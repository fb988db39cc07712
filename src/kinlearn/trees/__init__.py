"""Trees and forests that share between tasks."""

from kinlearn.trees._decision_tree import MultiTaskDecisionTreeClassifier
from kinlearn.trees._export import export_text, plot_tree
from kinlearn.trees._extra_trees_classifier import MultiTaskExtraTreesClassifier
from kinlearn.trees._extra_trees_regressor import MultiTaskExtraTreesRegressor
from kinlearn.trees._random_forest import MultiTaskRandomForestClassifier
from kinlearn.trees._shap import shap_linear, shap_rows, to_shap

__all__ = [
    "MultiTaskDecisionTreeClassifier",
    "MultiTaskExtraTreesClassifier",
    "MultiTaskExtraTreesRegressor",
    "MultiTaskRandomForestClassifier",
    "export_text",
    "plot_tree",
    "shap_linear",
    "shap_rows",
    "to_shap",
]
