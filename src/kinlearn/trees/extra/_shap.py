"""The extra trees as SHAP's tree explainer takes them: the task as one more feature.

A task's code, its position in ``tasks_``, is the last feature. SHAP's trees know
thresholds only, but a task split sends a *set* of tasks left. Where tasks are numbered,
the set is a few runs of neighbouring codes; each run gets a copy of the subtree on its
side, and a threshold parts it from the next run. A copy holds only what its run can
reach: inside a run, a later task split concerns the run's codes only. So the runs that
come to a node are those which the codes that can reach it form, and a leaf has a copy
for each. Categories are parted likewise, each feature's by codes of its own; -1 is
missing.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.trees._sparse import dense_blocks
from kinlearn.trees.extra._base import MultiTaskExtraTreesBase
from kinlearn.trees.extra._model import LEAF, TASK_SPLIT, Forest
from kinlearn.utils import as_float32
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["RunTree", "TreeSource", "shap_linear", "shap_rows", "to_shap"]

# Rows' worth of weight that a tree has besides the rows it is weighed by. SHAP divides
# by the weights of nodes, so a node that no row reaches must not weigh nothing.
_UNSEEN_WEIGHT = 1e-6


class TreeSource:
    """A tree of a forest, read node by node.

    A *target* is a node of the tree or, from ``n_nodes`` on, a value: of a leaf, of
    a leaf for one of its tasks, or of a class that is certain.
    """

    def __init__(
        self,
        forest: Forest,
        number: int,
        certain: np.ndarray,
        scale: np.ndarray,
        codes: dict[int, list[int]] | None = None,
    ) -> None:
        nodes = slice(*forest.tree_start[number : number + 2])
        leaves = slice(*forest.leaf_start[number : number + 2])
        # Lists, because single elements of arrays are slow to read.
        self.feature = forest.nodes["feature"][nodes].tolist()
        self.threshold = forest.nodes["threshold"][nodes].tolist()
        self.right = forest.nodes["right"][nodes].tolist()
        self.slot = forest.nodes["slot"][nodes].tolist()
        self.default_left = forest.default_left[nodes].tolist()
        self.weight = forest.weight[nodes].tolist()
        self.n_nodes = len(self.feature)
        self.n_leaves = leaves.stop - leaves.start
        self.codes = codes or {}
        self._sets: Any = None
        if forest.category_sets is not None:
            sets = forest.category_sets[slice(*forest.set_start[number : number + 2])]
            self._sets = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")

        splits = range(*forest.split_start[number : number + 2])
        self._changes = [
            _changes(forest.exceptions[slice(*forest.exception_start[k : k + 2])])
            for k in splits
        ]
        values = [forest.values[leaves]]
        self._own_start = [0] * (self.n_leaves + 1)
        self._own_task: list[int] = []
        if forest.own_start is not None:
            start = forest.own_start[leaves.start : leaves.stop + 1]
            own = slice(start[0], start[-1])
            values.append(forest.own_values[own])
            self._own_start = (start - start[0]).tolist()
            self._own_task = forest.own_task[own].tolist()
        self.scale = scale
        # codes whose factor is not that of the code before
        self._breaks = np.flatnonzero(np.diff(np.roll(scale, 1))).tolist()
        self._first_certain = self.n_nodes + sum(map(len, values))
        self.values = np.concatenate([*values, certain])

    def start(self, only_class: int) -> int:
        """The target of all rows, or of those whose class is certain."""
        return 0 if only_class < 0 else self._first_certain + int(only_class)

    def category_runs(self, node: int, low: int, high: int) -> list[tuple[int, bool]]:
        """Runs of the codes of places ``low .. high - 1``: first place, goes left."""
        in_set, codes = self._sets[self.slot[node]], self.codes[self.feature[node]]
        runs: list[tuple[int, bool]] = []
        for place in range(low, high):
            code = codes[place]
            left = bool(self.default_left[node] if code < 0 else in_set[code])
            if not runs or runs[-1][1] != left:
                runs.append((place, left))
        return runs

    def runs(self, node: int, low: int, high: int) -> tuple[list[int], list[int]]:
        """Where the codes ``low .. high - 1`` go from a leaf or a task split."""
        if self.feature[node] == LEAF:
            return self._leaf_runs(self.slot[node], low, high)
        changes = self._changes[self.slot[node]]
        i, j = bisect_right(changes, low), bisect_left(changes, high)
        left = bool(self.default_left[node]) ^ (i % 2 == 1)
        sides = [node + 1, self.right[node]] if left else [self.right[node], node + 1]
        targets = [sides[k % 2] for k in range(j - i + 1)]
        return [low, *changes[i:j], high], targets

    def _leaf_runs(self, leaf: int, low: int, high: int) -> tuple[list[int], list[int]]:
        cuts, targets, shared = [low], [], self.n_nodes + leaf
        tasks, ends = self._own_task, self._own_start[leaf : leaf + 2]
        own = bisect_left(tasks, low, *ends), bisect_left(tasks, high, *ends)
        for k in range(*own):
            if tasks[k] > cuts[-1]:
                cuts.append(tasks[k])
                targets.append(shared)
            cuts.append(tasks[k] + 1)
            targets.append(self.n_nodes + self.n_leaves + k)
        if cuts[-1] < high:
            cuts.append(high)
            targets.append(shared)
        breaks = self._breaks
        for code in breaks[bisect_right(breaks, low) : bisect_left(breaks, high)]:
            at = bisect_left(cuts, code)
            if cuts[at] != code:
                cuts.insert(at, code)
                targets.insert(at, targets[at - 1])
        return cuts, targets


def _changes(codes: np.ndarray) -> list[int]:
    """The codes at which being in a set changes, ascending, from outside."""
    return np.setxor1d(codes, codes + 1, assume_unique=True).tolist()


@dataclass(frozen=True, eq=False)
class RunTree:
    """A tree whose nodes test a feature or a task code, ``x <= threshold``.

    Attributes
    ----------
    feature : int array of shape (n_nodes,)
        The feature, TASK_SPLIT for the code of the task, LEAF for none.
    threshold : float64 array of shape (n_nodes,)
        Where to go right.
    left, right : int arrays of shape (n_nodes,)
        Children, always behind their parent; -1 for leaves.
    default_left : bool array of shape (n_nodes,)
        Whether a missing value goes left.
    values : float64 array of shape (n_nodes, n_values)
        Values of the leaves, 0 elsewhere.
    unseen : float64 array of shape (n_nodes,)
        Share of the rows that are expected here if none is known.
    depth : int array of shape (n_nodes,)
        Steps from the root.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    default_left: np.ndarray
    values: np.ndarray
    unseen: np.ndarray
    depth: np.ndarray

    @classmethod
    def grow(cls, source: TreeSource, first: int, only_class: np.ndarray) -> Self:
        """Copy a tree, run by run."""
        end = len(only_class) - 1
        only_class = only_class[np.arange(first, end)]
        new = np.flatnonzero(np.diff(only_class)) + 1
        cuts = [first, *(first + new).tolist(), end]
        targets = [source.start(c) for c in only_class[[0, *new]]]
        made: list[tuple] = []
        left: list[int] = []
        right: list[int] = []
        places = {feature: (0, len(codes)) for feature, codes in source.codes.items()}
        waiting = [((cuts, targets, places), [0], 0, 1.0, 0)]
        while waiting:
            (cuts, targets, places), siblings, parent, fraction, depth = waiting.pop()
            cuts, targets = _descend(source, cuts, targets, places)
            node = siblings[parent] = len(made)
            left.append(-1)
            right.append(-1)
            if len(targets) == 1 and targets[0] >= source.n_nodes:
                value, test = targets[0] - source.n_nodes, (LEAF, 0.0, False)
            else:
                value = -1
                test, sides, fractions = _part(source, cuts, targets, places)
                for side, of_side, children in zip(
                    sides, fractions, (left, right), strict=True
                ):
                    waiting.append(
                        (side, children, node, fraction * of_side, depth + 1)
                    )
            made.append((*test, value, cuts[0], fraction, depth))
        columns = [np.array(column) for column in zip(*made, strict=True)]
        feature, threshold, default_left, place, first_code, unseen, depths = columns
        return cls(
            feature=feature,
            threshold=threshold,
            left=np.array(left),
            right=np.array(right),
            default_left=default_left.astype(bool),
            values=np.where(
                (place >= 0)[:, None],
                source.values[place] * source.scale[first_code][:, None],
                0.0,
            ),
            unseen=unseen,
            depth=depths,
        )

    def cover(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Weights of the nodes, each the sum of its children's, none 0."""
        at = np.zeros(len(X), dtype=np.intp)
        column = np.where(self.feature == TASK_SPLIT, X.shape[1] - 1, self.feature)
        moving = np.flatnonzero(self.left[at] >= 0)
        while len(moving):
            node = at[moving]
            x = X[moving, column[node]]
            goes_left = np.where(
                np.isnan(x), self.default_left[node], x <= self.threshold[node]
            )
            at[moving] = np.where(goes_left, self.left[node], self.right[node])
            moving = moving[self.left[at[moving]] >= 0]
        leaves = np.flatnonzero(self.left < 0)
        cover = np.bincount(at, weights=weight, minlength=len(self.left))
        cover[leaves] += _UNSEEN_WEIGHT * weight.mean() * self.unseen[leaves]
        for depth in range(self.depth.max() - 1, -1, -1):
            nodes = np.flatnonzero((self.depth == depth) & (self.left >= 0))
            cover[nodes] = cover[self.left[nodes]] + cover[self.right[nodes]]
        return cover

    def exported(
        self, X: np.ndarray, weight: np.ndarray, factor: float = 1.0
    ) -> dict[str, Any]:
        """The tree as SHAP takes it, weighed by rows with the task behind features."""
        task = X.shape[1] - 1
        return {
            "children_left": self.left,
            "children_right": self.right,
            "children_default": np.where(self.default_left, self.left, self.right),
            "features": np.where(self.feature == TASK_SPLIT, task, self.feature),
            "thresholds": self.threshold,
            "values": self.values * factor,
            "node_sample_weight": self.cover(X, weight),
        }


def _descend(
    source: TreeSource,
    cuts: list[int],
    targets: list[int],
    places: dict[int, tuple[int, int]],
) -> tuple[list[int], list[int]]:
    """Follow one target to where its rows part, or to its value."""
    while len(targets) == 1 and targets[0] < source.n_nodes:
        node = targets[0]
        if source.feature[node] < 0:
            cuts, targets = source.runs(node, cuts[0], cuts[1])
        elif source.feature[node] in places:
            runs = source.category_runs(node, *places[source.feature[node]])
            if len(runs) > 1:
                break
            targets = [node + 1 if runs[0][1] else source.right[node]]
        else:
            break
    return cuts, targets


def _part(
    source: TreeSource,
    cuts: list[int],
    targets: list[int],
    places: dict[int, tuple[int, int]],
) -> tuple[tuple, tuple, list[float]]:
    """The test of a node, its sides (cuts, targets, places), fractions of rows."""
    node = targets[0]
    if len(targets) > 1:
        k = len(targets) // 2
        sides = (cuts[: k + 1], targets[:k], places), (cuts[k:], targets[k:], places)
        test = TASK_SPLIT, cuts[k] - 0.5, False
        weights = [ends[-1] - ends[0] for ends, _, _ in sides]
    elif source.feature[node] in places:
        feature = source.feature[node]
        low, high = places[feature]
        runs = source.category_runs(node, low, high)
        middle = runs[len(runs) // 2][0]
        halves = (low, middle), (middle, high)
        below, above = ((cuts, targets, {**places, feature: half}) for half in halves)
        sides = below, above
        test = feature, source.codes[feature][middle] - 0.5, False
        weights = [stop - start for start, stop in halves]
    else:
        children = node + 1, source.right[node]
        sides = (cuts, [children[0]], places), (cuts, [children[1]], places)
        test = source.feature[node], source.threshold[node], source.default_left[node]
        weights = [source.weight[child] for child in children]
    return test, sides, [w / sum(weights) for w in weights]


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
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
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
    task, and the fractions of the classes: if there are such tasks, each tree comes a
    second time, without its task splits, and one more tree holds the fractions. The
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
    certain = _certain_values(model)
    only_class = _only_class(model, restrict)
    first = 0 if model.unknown_task == "error" else -1
    trees = []
    for source, factor in _sources(model, certain, restrict):
        tree = RunTree.grow(source, first, only_class)
        trees.append(tree.exported(X, weight, factor))
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
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
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
    rows = model._dense_rows(X)
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
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
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
        for some, dense in dense_blocks(rows.X):
            for j, contribution in enumerate(model._line.contributions(dense.T)):
                out[some, j] = contribution
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
        # as in LabelSets.fill: of rows, forest for unknown tasks, fractions of classes
        sets = model._label_sets
        n = np.where(sets.guessing, sets.task_weight, np.inf)
        fractions = sets.class_weight @ certain / sets.class_weight.sum()
        with np.errstate(invalid="ignore"):
            own[:-1] = np.where(sets.guessing, n / (n + 1), 1.0)
        common = np.append(0.5 / (n + 1), 0.0)
        offsets = common[:-1, None] * fractions
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


def _certain_values(model: MultiTaskExtraTreesBase) -> np.ndarray:
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
