"""Trees and forests that share between tasks."""

from kinlearn.trees.decision import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskRandomForestClassifier,
    export_text,
    plot_tree,
)
from kinlearn.trees.extra import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    shap_linear,
    shap_rows,
    to_shap,
)

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
