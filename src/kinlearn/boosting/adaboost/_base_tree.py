"""The tree that is boosted: one that sees the task, and the categories."""

from typing import Any

import numpy as np
from sklearn.base import clone

from kinlearn.trees import MultiTaskDecisionTreeClassifier
from kinlearn.utils import check_takes_weights

__all__ = ["base_tree", "tell_categories"]


def base_tree(estimator: Any) -> Any:
    """The tree to clone, with the task in its last column."""
    tree = estimator
    if tree is None:
        tree = MultiTaskDecisionTreeClassifier(max_depth=3)
    name, params = type(tree).__name__, tree.get_params(deep=False)
    if "task" not in params:
        raise ValueError(
            f"{name} has no task parameter, so it cannot distinguish the tasks. "
            "Choose a multi-task tree, or wrap it in "
            "kinlearn.sharing.TaskAsFeature or SharedPlusOwn."
        )
    check_takes_weights(tree, "classifier")
    wanted = {"task": -1, "unknown_task": "share"}
    return clone(tree).set_params(**{k: v for k, v in wanted.items() if k in params})


def tell_categories(
    tree: Any, is_categorical: np.ndarray | None, names: np.ndarray
) -> None:
    """Let the tree know which of its columns are categories, if any are."""
    if is_categorical is None:
        return
    if "categorical_features" not in tree.get_params(deep=False):
        raise ValueError(
            f"{names[is_categorical].tolist()} are categories, but "
            f"{type(tree).__name__} has no parameter categorical_features. "
            "Choose a multi-task tree as the estimator, or encode these columns "
            "and set categorical_features=None."
        )
    tree.set_params(categorical_features=np.flatnonzero(is_categorical))
