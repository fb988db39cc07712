"""The extra trees as SHAP's tree explainer takes them: the task as one more feature.

A task's code, its position in ``tasks_``, is the last feature. `_task_runs` turns
splits of tasks and categories into thresholds of codes; here is what surrounds them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.trees._extra_trees_base import MultiTaskExtraTreesBase
from kinlearn.trees._forest import LEAF, TASK_SPLIT, Forest, as_float32
from kinlearn.trees._task_runs import RunTree, TreeSource
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["shap_linear", "shap_rows", "to_shap"]


def to_shap(
    model: MultiTaskExtraTreesBase,
    X: Table,
    *,
    sample_weight: ArrayLike | None = None,
    restrict: bool = True,
) -> dict[str, Any]:
    """Export multi-task extra trees for SHAP's tree explainer.

    Parameters
    ----------
    model : MultiTaskExtraTreesClassifier or MultiTaskExtraTreesRegressor
        A fitted forest.
    X : array-like or data frame of shape (n_samples, n_columns)
        Background rows, with the task column. SHAP values compare a row to their
        mean prediction. The training rows, or some thousand of them, are a good choice.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the background rows.
    restrict : bool, default=True
        Whether the trees predict as ``predict_proba`` does: nothing for classes that
        the task lacks. False: the mean of the leaves' class frequencies.

    Returns
    -------
    dict
        What ``shap.TreeExplainer`` takes as its model. It has one output for numbers
        and for two classes (the probability of the second), and one for each of more
        classes. Rows for it come from :func:`shap_rows`.

    See Also
    --------
    shap_rows : Rows as the exported trees take them.
    shap_linear : The part of the SHAP values that is no tree.

    Notes
    -----
    SHAP's trees test ``x <= threshold`` only. The task becomes a feature behind the
    others, its code, the position in ``tasks_``; a task split becomes thresholds
    between runs of neighbouring codes, each with a copy of its side's subtree. A leaf
    of the forest so becomes as many leaves as the codes that can reach it form runs;
    with `leaf_smoothing`, at most two more for each task that has a value of its
    own there. With a hundred tasks that may be ten times the forest's nodes, with
    thousands a hundred times; larger leaves and fewer trees keep the export small.

    Splits of categories become thresholds between runs of their codes in the same way.

    The weight of a node is that of the background rows that pass it, plus a millionth
    of a row for the whole tree, which goes down by the training weights and the
    numbers of tasks and categories, so that no node weighs nothing.

    Offsets of the tasks are one tree more, of the task alone. A line through the
    features (`linear_part`) is no tree: its value at the features' means is in the base
    value, and :func:`shap_linear` returns what each feature adds to it.

    A task with one class is predicted at the root. For a task whose rows do not show
    all its classes, ``predict_proba`` mixes in what the forest predicts for an unknown
    task, and the shares of the classes: if there are such tasks, each tree comes a
    second time, without its task splits, and one more tree holds the shares. The
    probabilities of a task that has some classes of three or more, but not all, are
    normalised over the whole forest, so they are no sum over trees: with
    ``restrict=True`` this is an error.

    Unless the forest has ``unknown_task="error"``, the trees also predict for tasks not
    seen in fit, whose code is -1.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.trees import MultiTaskExtraTreesRegressor, shap_rows, to_shap
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(200, 2)), np.arange(200) % 4])
    >>> y = X[:, 0] + 2 * (X[:, 2] == 3)
    >>> forest = MultiTaskExtraTreesRegressor(50, task=-1, random_state=0).fit(X, y)
    >>> trees = to_shap(forest, X)
    >>> len(trees["trees"])  # the last holds the tasks' offsets
    51
    >>> shap_rows(forest, X).shape
    (200, 3)

    Then ``shap.TreeExplainer(trees)(shap_rows(forest, X))`` explains.
    """
    _check_forest(model)
    X = shap_rows(model, X)
    weight = check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    certain = _certain_answers(model)
    only_class = _only_class(model, restrict)
    first = 0 if model.unknown_task == "error" else -1
    n_features = len(model.feature_names_)
    trees = []
    for source, share in _sources(model, certain, restrict):
        tree = RunTree.grow(source, first, only_class)
        trees.append(
            {
                "children_left": tree.left,
                "children_right": tree.right,
                "children_default": np.where(tree.default_left, tree.left, tree.right),
                "features": np.where(
                    tree.feature == TASK_SPLIT, n_features, tree.feature
                ),
                "thresholds": tree.threshold,
                "values": tree.values * share,
                "node_sample_weight": tree.cover(X, weight),
            }
        )
    classifies = len(certain) > 0
    return {
        "trees": trees,
        "base_offset": 0.0 if model._line is None else model._line.intercept,
        "tree_output": "probability" if classifies else "raw_value",
        "objective": "binary_crossentropy" if classifies else "squared_error",
        "input_dtype": np.float32,
        "internal_dtype": np.float64,
    }


def shap_rows(model: MultiTaskExtraTreesBase, X: Table) -> np.ndarray:
    """Rows as the trees of `to_shap` take them.

    Parameters
    ----------
    model : MultiTaskExtraTreesClassifier or MultiTaskExtraTreesRegressor
        The forest that was exported.
    X : array-like or data frame of shape (n_samples, n_columns)
        Rows as for its ``predict``, with the task column.

    Returns
    -------
    float32 array of shape (n_samples, n_features + 1)
        The features in the order of ``feature_names_``, then the code of the task:
        its position in ``tasks_``, -1 for a task not seen in fit. Categories are
        codes too, -1 for a missing one and for one not seen in fit.

    See Also
    --------
    to_shap : Export the forest.

    Examples
    --------
    >>> import pandas as pd
    >>> from kinlearn.trees import MultiTaskExtraTreesRegressor, shap_rows
    >>> X = pd.DataFrame({"shop": ["Oak", "Elm", "Oak"], "price": [3.0, 2.0, 1.0]})
    >>> forest = MultiTaskExtraTreesRegressor(5, task="shop").fit(X, [1, 2, 3])
    >>> shap_rows(forest, X)
    array([[3., 1.],
           [2., 0.],
           [1., 1.]], dtype=float32)
    """
    _check_forest(model)
    rows = model._predict_data(X)
    out = np.column_stack([as_float32(rows.X), rows.task.astype(np.float32)])
    if model.is_categorical_ is not None:
        categories = out[:, :-1][:, model.is_categorical_]
        out[:, :-1][:, model.is_categorical_] = np.where(
            np.isnan(categories), -1, categories
        )
    return out


def shap_linear(model: MultiTaskExtraTreesBase, X: Table) -> np.ndarray:
    """SHAP values of the line through the features, which no tree can hold.

    Parameters
    ----------
    model : MultiTaskExtraTreesClassifier or MultiTaskExtraTreesRegressor
        The forest that was exported.
    X : array-like or data frame of shape (n_samples, n_columns)
        Rows as for its ``predict``, with the task column.

    Returns
    -------
    float64 array of shape (n_samples, n_features + 1)
        To be added to the values of SHAP's tree explainer: what each feature, at its
        value instead of its mean over the training rows, adds. The task's column, and
        all of a forest without a line, is 0.

    See Also
    --------
    to_shap : Export the forest.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.trees import MultiTaskExtraTreesRegressor, shap_linear
    >>> X = np.column_stack([np.linspace(-1, 1, 200), np.arange(200) % 2])
    >>> forest = MultiTaskExtraTreesRegressor(
    ...     5, task=-1, linear_part=True, random_state=0
    ... )
    >>> forest.fit(X, 3 * X[:, 0]).linear_coef_.round(2)
    array([3., 0.])
    >>> shap_linear(forest, [[0.5, 1]]).round(2)
    array([[1.5, 0. ]])
    """
    _check_forest(model)
    rows = model._predict_data(X)
    out = np.zeros((len(rows.task), rows.X.shape[1] + 1))
    if model._line is not None:
        for j, share in enumerate(model._line.shares(rows.X.T)):
            out[:, j] = share
    return out


def _check_forest(model: Any) -> None:
    if not isinstance(model, MultiTaskExtraTreesBase):
        raise TypeError(
            "SHAP's form is there for MultiTaskExtraTreesClassifier and "
            f"MultiTaskExtraTreesRegressor; got {type(model).__name__}."
        )
    check_is_fitted(model)


def _sources(
    model: MultiTaskExtraTreesBase, certain: np.ndarray, restrict: bool
) -> Iterator[tuple[TreeSource, float]]:
    """The trees that add up to the prediction: tree, factor."""
    forest, n_tasks = model.forest_, len(model.tasks_)
    offsets, own, common = model._offsets[:, None], np.ones(n_tasks + 1), None
    if len(certain) > 1 and restrict and model._label_sets.guessing.any():
        # as in LabelSets.fill: of rows, forest for unknown tasks, shares of classes
        sets = model._label_sets
        n = np.where(sets.guessing, sets.task_weight, np.inf)
        shares = sets.class_weight @ certain / sets.class_weight.sum()
        with np.errstate(invalid="ignore"):
            own[:-1] = np.where(sets.guessing, n / (n + 1), 1.0)
        common = np.append(0.5 / (n + 1), 0.0)
        offsets = common[:-1, None] * shares
    scaled = [(forest, own)]
    if common is not None:
        none = np.zeros_like(forest.exception_start)
        alike = replace(forest, exceptions=forest.exceptions[:0], exception_start=none)
        alike = replace(alike, own_start=None, own_task=None, own_values=None)
        scaled.append((alike, common))
    codes = _category_codes(model)
    for trees, scale in scaled:
        for i in range(trees.n_trees):
            yield TreeSource(trees, i, certain, scale, codes), 1 / trees.n_trees
    if offsets.any():
        one = _tree_of_offsets(forest, offsets)
        yield TreeSource(one, 0, certain, np.ones(n_tasks + 1)), 1.0


def _category_codes(model: MultiTaskExtraTreesBase) -> dict[int, list[int]]:
    """By feature that is a category: -1, and the codes that fit saw."""
    if model.is_categorical_ is None:
        return {}
    features = np.flatnonzero(model.is_categorical_).tolist()
    known = [[-1, *np.flatnonzero(of).tolist()] for of in model._known_codes]
    return dict(zip(features, known, strict=True))


def _tree_of_offsets(forest: Forest, offsets: np.ndarray) -> Forest:
    """The tasks' offsets as a forest of one leaf that has a value for each task."""
    node = np.zeros(1, dtype=forest.nodes.dtype)
    node["feature"] = LEAF
    one = np.array([0, 1])
    none = np.empty(0, dtype=np.int32)
    return Forest(
        nodes=node,
        default_left=np.zeros(1, dtype=np.uint8),
        weight=np.ones(1),
        impurity=np.zeros(1),
        values=np.zeros((1, offsets.shape[1])),  # for tasks not seen in fit
        tree_start=one,
        leaf_start=one,
        split_start=np.zeros(2, dtype=np.int64),
        exception_start=np.zeros(1, dtype=np.int64),
        exceptions=none,
        own_start=np.array([0, len(offsets)]),
        own_task=np.arange(len(offsets), dtype=np.int32),
        own_values=offsets,
    )


def _certain_answers(model: MultiTaskExtraTreesBase) -> np.ndarray:
    """What a tree predicts for a task that has one class only, by class."""
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes == 2:  # trees predict the second class alone
        return np.array([[0.0], [1.0]])
    return np.eye(n_classes, model.forest_.values.shape[1])


def _only_class(model: MultiTaskExtraTreesBase, restrict: bool) -> np.ndarray:
    """By task, its class if it has but one, else -1; the last entry: unknown."""
    n_tasks, n_classes = len(model.tasks_), len(getattr(model, "classes_", ()))
    if n_classes == 0 or (n_classes > 1 and not restrict):
        return np.full(n_tasks + 1, -1)
    allowed = model._label_sets.allowed(np.append(np.arange(n_tasks), -1))
    n_allowed = allowed.sum(axis=1)
    some = np.flatnonzero((n_allowed > 1) & (n_allowed < n_classes))
    if len(some):
        raise ValueError(
            f"Task {model.tasks_.tolist()[some[0]]!r} has {n_allowed[some[0]]} of "
            f"{n_classes} classes (tasks with some, but not all: {len(some)}). "
            "predict_proba divides its probabilities by their sum over all trees, "
            "which no tree can do alone. Pass restrict=False to explain the mean of "
            "the leaves' class frequencies instead."
        )
    return np.where(n_allowed == 1, allowed.argmax(axis=1), -1)
