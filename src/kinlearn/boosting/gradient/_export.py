"""Boosted trees in words, and as SHAP's tree explainer takes them.

For SHAP the task is one more feature: boosted trees become trees of the kind that extra
trees are exported from, in which a task that departs from a leaf has a value of its own
there.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting.gradient._base import GradientBoostingBase
from kinlearn.boosting.gradient._model import LEAF, TASK, Tree
from kinlearn.trees.internal import Forest, RunTree, TreeSource
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["boosted_text", "shap_linear", "shap_rows", "to_shap"]

_MOST_NAMES = 10  # tasks or categories that are listed in words
# As of the nodes of extra trees, but with thresholds in full.
_NODE = np.dtype(
    [
        ("feature", np.int32),
        ("threshold", np.float64),
        ("right", np.int32),
        ("slot", np.int32),
    ]
)
_SET_BYTES = 32  # of a set of categories


# ---------------------------------------------------------------------- in words


def boosted_text(
    model: GradientBoostingBase,
    rounds: int | Iterable[int] | None = None,
    decimals: int = 2,
) -> str:
    """The trees of rounds as text; None is the line, if any, and the first round."""
    check_is_fitted(model)
    n_outputs = len(model._start.base)
    texts = []
    if rounds is None:
        rounds = range(min(1, model.n_estimators_))
        texts = _line_text(model, decimals)
    chosen = [rounds] if isinstance(rounds, int | np.integer) else list(rounds)
    for number in chosen:
        if not -model.n_estimators_ <= number < model.n_estimators_:
            raise ValueError(
                f"There is no round {number}: the model has {model.n_estimators_}, "
                f"from 0 to {model.n_estimators_ - 1}."
            )
        number %= model.n_estimators_
        for k in range(n_outputs):
            title = f"round {number}"
            if n_outputs > 1:
                title += f", class {model.classes_[k]}"
            lines = _Words(model, number * n_outputs + k, decimals).lines(0, 0)
            texts.append("\n".join([title, *lines]))
    return "\n\n".join(texts)


def _line_text(model: Any, decimals: int) -> list[str]:
    """Slopes of the line that scores begin with; nothing for none."""
    texts: list[str] = []
    line = model._start.line
    if line is None:
        return texts
    for k in range(line.coef.shape[1]):
        title = "linear part, for a standard deviation"
        if line.coef.shape[1] > 1:
            title += f", class {model.classes_[k]}"
        slopes = line.coef[:, k] * model._score_unit
        texts.append(
            "\n".join(
                [title]
                + [
                    f"    {model.feature_names_[model._place(f)]}: "
                    f"{slopes[f]:+.{decimals}f}"
                    for f in line.features.tolist()
                ]
            )
        )
    return texts


class _Words:
    """The words for one tree."""

    def __init__(self, model: Any, tree: int, decimals: int) -> None:
        trees = model.trees_
        nodes = slice(*trees.tree_start[tree : tree + 2])
        self.model, self.decimals = model, decimals
        self.nodes, self.gain = trees.nodes[nodes], trees.gain[nodes]
        self.sets = trees.sets[slice(*trees.set_start[tree : tree + 2])]
        first = trees.leaf_start[tree]
        self.values = trees.values[first : trees.leaf_start[tree + 1]]
        self.values = self.values * model._score_unit
        self.departures = np.diff(
            trees.departure_start[first : trees.leaf_start[tree + 1] + 1]
        )

    def lines(self, at: int, depth: int) -> list[str]:
        node = self.nodes[at]
        indent = "    " * depth
        if node["feature"] == LEAF:
            leaf = int(node["left"])
            text = f"{indent}{self.values[leaf]:+.{self.decimals}f}"
            if self.departures[leaf]:
                text += f" ({self.departures[leaf]} tasks depart)"
            return [text]
        out = []
        for side in range(2):
            test = self.test(node, side == 0)
            gain = f" (gain {self.gain[at]:.{self.decimals}f})" if side == 0 else ""
            out.append(f"{indent}{test}{gain}")
            out += self.lines(int(node["left"]) + side, depth + 1)
        return out

    def test(self, node: np.void, left: bool) -> str:
        missing = bool(node["default_left"]) == left
        if node["feature"] == TASK:
            names = dict(enumerate(map(str, self.model.tasks_.tolist())))
            return f"task in {{{self.names(node, names, left)}}}"
        columns = self.model._feature_columns
        feature = int(node["feature"])
        place = self.model._place(feature)
        name = self.model.feature_names_[place]
        also = " or missing" if missing else ""
        if columns.categorical[feature]:
            names = self.model._category_names(place)
            return f"{name} in {{{self.names(node, names, left)}}}{also}"
        cut = self.model.bins_.threshold(feature, int(node["bin"]))
        if np.isinf(cut):
            return f"{name} is {'there' if left else 'missing'}"
        return f"{name} {'<=' if left else '>'} {cut:.{self.decimals}f}{also}"

    def names(self, node: np.void, names: dict[int, str], left: bool) -> str:
        """What goes to a side, in short."""
        first = int(node["first_byte"])
        found = [
            name
            for code, name in names.items()
            if bool(self.sets[first + (code >> 3)] >> (code & 7) & 1) == left
        ]
        more = len(found) - _MOST_NAMES
        shown = ", ".join(found[:_MOST_NAMES])
        return f"{shown} and {more} more" if more > 0 else shown


# ---------------------------------------------------------------------- for SHAP


def to_shap(
    model: GradientBoostingBase, X: Table, *, sample_weight: ArrayLike | None = None
) -> dict[str, Any]:
    """Export multi-task gradient boosting for SHAP's tree explainer.

    Parameters
    ----------
    model : a multi-task gradient booster
        A fitted classifier or regressor.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Background rows, with the task column. SHAP values compare a row to their
        mean score. The training rows, or some thousand of them, are a good choice.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the background rows.

    Returns
    -------
    dict
        What ``shap.TreeExplainer`` takes as its model. Its outputs are scores: of
        numbers their prediction, of counts and costs its logarithm, of two classes
        ``decision_function``, and of more classes a score for each. Rows for it come
        from :func:`shap_rows`.

    See Also
    --------
    shap_rows : Rows as the exported trees take them.
    shap_linear : What the offset adds, which no tree can hold.
    kinlearn.trees.to_shap : The same for extra trees.

    Notes
    -----
    SHAP values and base value add up to the score. The task is a feature behind the
    others: what splits by tasks, departures in leaves and intercepts make of it is its
    value. SHAP's trees test ``x <= threshold`` only, so a split by tasks or categories
    becomes thresholds between runs of neighbouring codes, each with a copy of its
    side's subtree, and a task that departs from a leaf has a leaf of its own: with a
    hundred tasks the export may be a hundred times the model.

    The first tree has the constant and the intercepts. If scores begin with a line, a
    tree for each of its features follows, with a leaf for each bin. Nodes are weighed
    by the background rows, as :func:`kinlearn.trees.to_shap` has it.

    Classes that a task lacks have scores like all others; `decision_function` then sets
    them below the others, which is no sum over trees.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting import (
    ...     MultiTaskGradientBoostingRegressor, shap_rows, to_shap
    ... )
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(200, 2)), np.arange(200) % 4])
    >>> y = X[:, 0] + 2 * (X[:, 2] == 3)
    >>> model = MultiTaskGradientBoostingRegressor(task=-1, random_state=0).fit(X, y)
    >>> trees = to_shap(model, X)
    >>> len(trees["trees"])  # the intercepts, two slopes, and 200 rounds
    203
    >>> shap_rows(model, X).shape
    (200, 3)

    Then ``shap.TreeExplainer(trees)(shap_rows(model, X))`` explains.
    """
    _check_booster(model)
    rows = shap_rows(model, X)
    weight = check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    n_tasks = len(model.tasks_)
    nowhere = np.full(n_tasks + 1, -1)  # no task has a class for certain
    first = 0 if model.unknown_task == "error" else -1
    codes = _category_codes(model)
    none = np.empty((0, len(model._start.base)))
    trees = []
    for forest in _forests(model):
        source = TreeSource(forest, 0, none, np.ones(n_tasks + 1), codes)
        tree = RunTree.grow(source, first, nowhere)
        trees.append(tree.exported(rows, weight, model._score_unit))
    classifies = hasattr(model, "classes_")
    return {
        "trees": trees,
        "base_offset": 0.0,
        "tree_output": "log_odds" if classifies else "raw_value",
        "objective": "binary_crossentropy" if classifies else "squared_error",
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }


def shap_rows(model: GradientBoostingBase, X: Table) -> np.ndarray:
    """Rows as the trees of `to_shap` take them.

    Parameters
    ----------
    model : a multi-task gradient booster
        The booster that was exported.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows as for its ``predict``, with the task column.

    Returns
    -------
    float64 array of shape (n_samples, n_features + 1)
        The features in the order of ``feature_names_``, then the code of the task:
        its position in ``tasks_``, -1 for a task not seen in fit. Categories are
        codes too, -1 for a missing one and for one not seen in fit.

    See Also
    --------
    to_shap : Export the booster.

    Examples
    --------
    >>> import pandas as pd
    >>> from kinlearn.boosting import MultiTaskGradientBoostingRegressor, shap_rows
    >>> X = pd.DataFrame({"shop": ["Oak", "Elm", "Oak"], "price": [3.0, 2.0, 1.0]})
    >>> model = MultiTaskGradientBoostingRegressor(task="shop").fit(X, [1, 2, 3])
    >>> shap_rows(model, X)
    array([[3., 1.],
           [2., 0.],
           [1., 1.]])
    """
    _check_booster(model)
    rows = model._predict_data(X)
    features = rows.X.toarray() if sp.issparse(rows.X) else rows.X
    out = np.column_stack([features.astype(np.float64), rows.task])
    if model.is_categorical_ is not None:
        for f in np.flatnonzero(model.is_categorical_):
            out[np.isnan(out[:, f]), f] = -1.0
    return out


def shap_linear(model: GradientBoostingBase, X: Table) -> np.ndarray:
    """What the offset adds to scores, which no tree can hold.

    Parameters
    ----------
    model : a multi-task gradient booster
        The booster that was exported.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows as for its ``predict``, with the task column.

    Returns
    -------
    float64 array of shape (n_samples, n_features + 1)
        To be added to the values of SHAP's tree explainer: in the column of the offset,
        the offset. All of a booster without one is 0.

    See Also
    --------
    to_shap : Export the booster.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting import MultiTaskGradientBoostingRegressor, shap_linear
    >>> X = np.column_stack([np.arange(50.0), np.log(1 + np.arange(50) % 3)])
    >>> model = MultiTaskGradientBoostingRegressor("poisson", offset=1, n_estimators=2)
    >>> shap_linear(model.fit(X, np.arange(50) % 3), [[7.0, 0.5]])
    array([[0. , 0.5, 0. ]])
    """
    _check_booster(model)
    rows = model._predict_data(X)
    out = np.zeros((rows.n_samples, rows.X.shape[1] + 1))
    offset = model._offset(rows.X)
    if offset is not None:
        out[:, model._offset_place] = offset * model._score_unit
    return out


def _check_booster(model: Any) -> None:
    if not isinstance(model, GradientBoostingBase):
        raise TypeError(
            "This form for SHAP is there for MultiTaskGradientBoostingClassifier and "
            "MultiTaskGradientBoostingRegressor; got "
            f"{type(model).__name__}. That of extra trees is kinlearn.trees.to_shap."
        )
    check_is_fitted(model)


def _category_codes(model: GradientBoostingBase) -> dict[int, list[int]]:
    """By column that is a category: -1, and the codes that fit saw."""
    if model.is_categorical_ is None:
        return {}
    columns = np.flatnonzero(model.is_categorical_).tolist()
    return {f: [-1, *sorted(model._category_names(f))] for f in columns}


def _forests(model: GradientBoostingBase) -> Iterator[Forest]:
    """The intercepts, the slope of each feature, and each tree, as forests of one."""
    start, n_outputs = model._start, len(model._start.base)
    node = np.zeros(1, dtype=_NODE)
    node["feature"] = LEAF
    some = np.flatnonzero(start.intercepts.any(axis=1))
    own = np.zeros(len(some), np.intp), some, start.base + start.intercepts[some]
    yield _forest(node, np.zeros(1), np.ones(1), start.base[None], own, [], [])
    if start.line is not None:
        for feature, table in start.line.tables():
            yield _slope_as_forest(model, feature, table, start.lengths)
    for tree in model.trees_:
        yield _as_forest(model, tree, n_outputs)


def _slope_as_forest(
    model: GradientBoostingBase,
    feature: int,
    table: np.ndarray,
    lengths: np.ndarray | None,
) -> Forest:
    """What the bins of a feature add, the last of them for missing values."""
    last = len(table) - 1
    # bins of a node, depth first; missing values part from all others at the root
    waiting = [(0, last, -1)]
    rights: dict[int, int] = {}
    bins: list[tuple[int, int]] = []
    while waiting:
        low, high, parent = waiting.pop()
        if parent >= 0:
            rights[parent] = len(bins)
        bins.append((low, high))
        if low < high:
            middle = _middle(low, high, last)
            waiting += [(middle + 1, high, len(bins) - 1), (low, middle, -1)]
    nodes = np.zeros(len(bins), dtype=_NODE)
    for i, (low, high) in enumerate(bins):
        if low == high:
            nodes[i] = (LEAF, 0.0, i, low)
            continue
        middle = _middle(low, high, last)
        cut = np.inf if high == last else model.bins_.threshold(feature, middle)
        nodes[i] = (model._place(feature), cut, rights[i], -1)
    weight = np.array([high - low + 1.0 for low, high in bins])
    some = np.zeros(0, np.intp)
    if lengths is not None:
        some = np.flatnonzero((lengths != 1).any(axis=1))
    leaf, which = np.divmod(np.arange(len(table) * len(some)), max(len(some), 1))
    values = table[leaf] if lengths is None else table[leaf] * lengths[some[which]]
    own = leaf, some[which], values
    return _forest(nodes, np.zeros(len(nodes)), weight, table, own, [], [])


def _middle(low: int, high: int, last: int) -> int:
    """The last bin of those that go left."""
    return last - 1 if high == last else (low + high) // 2


def _as_forest(model: GradientBoostingBase, tree: Tree, n_outputs: int) -> Forest:
    order = _depth_first(tree)
    place = np.argsort(order)
    old = tree.nodes[order]
    nodes = np.zeros(len(old), dtype=_NODE)
    nodes["feature"], nodes["slot"] = old["feature"], old["left"]
    inner = old["feature"] != LEAF
    nodes["right"] = np.arange(len(old))
    nodes["right"][inner] = place[old["left"][inner] + 1]
    nodes["slot"][inner] = -1
    against: list[np.ndarray] = []
    sets: list[np.ndarray] = []
    for i in np.flatnonzero(inner):
        node, bits = old[i], tree.sets[old["first_byte"][i] :]
        if node["feature"] == TASK:
            n_tasks = model.trees_.n_tasks
            left = np.unpackbits(bits, count=n_tasks, bitorder="little")
            nodes["slot"][i] = len(against)
            against.append(np.flatnonzero(left != node["default_left"]))
            continue
        feature = int(node["feature"])
        nodes["feature"][i] = model._place(feature)
        if node["first_byte"] < 0:
            nodes["threshold"][i] = model.bins_.threshold(feature, int(node["bin"]))
        else:
            nodes["slot"][i] = len(sets)
            sets.append(bits[:_SET_BYTES])
    values = np.zeros((len(tree.leaf_values), n_outputs))
    values[:, tree.output] = tree.leaf_values
    leaf, task, departure = tree.departures
    own = values[leaf]
    own[:, tree.output] += departure
    return _forest(
        nodes,
        old["default_left"],
        tree.weight[order],
        values,
        (leaf, task, own),
        against,
        sets,
    )


def _depth_first(tree: Tree) -> np.ndarray:
    """Nodes in the order in which a left child follows its parent."""
    out, waiting = [], [0]
    feature, left = tree.nodes["feature"].tolist(), tree.nodes["left"].tolist()
    while waiting:
        node = waiting.pop()
        out.append(node)
        if feature[node] != LEAF:
            waiting += [left[node] + 1, left[node]]
    return np.array(out)


def _forest(
    nodes: np.ndarray,
    default_left: np.ndarray,
    weight: np.ndarray,
    values: np.ndarray,
    own: tuple[np.ndarray, np.ndarray, np.ndarray],
    against: list[np.ndarray],
    sets: list[np.ndarray],
) -> Forest:
    """A forest of one tree; `own` is leaf, task and value of tasks that depart."""
    leaf, task, own_values = own

    def starts(sizes: Any) -> np.ndarray:
        return np.cumsum([0, *sizes], dtype=np.int64)

    bits = np.array(sets, dtype=np.uint8).reshape(len(sets), _SET_BYTES)
    return Forest(
        nodes=nodes,
        default_left=default_left.astype(np.uint8),
        weight=weight,
        impurity=np.zeros(len(nodes)),
        values=values,
        tree_start=starts([len(nodes)]),
        leaf_start=starts([len(values)]),
        split_start=starts([len(against)]),
        exception_start=starts(map(len, against)),
        exceptions=np.concatenate([np.empty(0, np.int32), *against]).astype(np.int32),
        own_start=starts(np.bincount(leaf, minlength=len(values))),
        own_task=task,
        own_values=own_values,
        set_start=starts([len(sets)]),
        category_sets=bits.view(np.uint64),
    )
