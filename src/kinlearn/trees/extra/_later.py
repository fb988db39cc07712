"""New rows, and new tasks, for a forest that stays as it was grown.

Rows run down the trees, and the values of the leaves they reach become those of old
and new rows together. No split changes. A new task takes, at each task split that its
rows come to, the side that its own mean gives.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kinlearn._kernels.trees.extra._predict import place_task
from kinlearn.trees.extra._model import LEAF, Forest
from kinlearn.utils import as_float32

__all__ = ["Branches", "add_rows", "insert_classes", "insert_tasks"]

_UNREACHED = 2


def insert_tasks(forest: Forest, place: np.ndarray) -> Forest:
    """The same forest with other task codes."""
    codes = place.astype(np.int32)
    own = None if forest.own_task is None else codes[forest.own_task]
    return replace(forest, exceptions=codes[forest.exceptions], own_task=own)


def insert_classes(forest: Forest, place: np.ndarray, n_classes: int) -> Forest:
    """The same forest with values for more classes, all 0."""
    n_old = len(place)
    if n_classes == n_old:
        return forest
    old = forest.values
    if n_old == 1:
        old = np.ones_like(old)
    elif n_old == 2:
        old = np.hstack([1.0 - old, old])
    values = np.zeros((len(old), n_classes))
    values[:, place] = old
    return replace(
        forest,
        values=values[:, 1:] if n_classes == 2 else values,
        split_class=place[np.minimum(forest.split_class, n_old - 1)].astype(np.int32),
    )


def add_rows(
    forest: Forest,
    rows: tuple[np.ndarray, ...],
    *,
    is_new: np.ndarray,
    criterion: int,
    n_classes: int,
    task_smoothing: float,
) -> Forest:
    """Let rows run down, and update what the trees know."""
    X, task, y, weight = rows
    some = np.flatnonzero(weight > 0)
    X = np.ascontiguousarray(as_float32(X)[some])
    task, y, weight = task[some], y[some].astype(np.float64), weight[some]
    leaf = np.empty((forest.n_trees, len(task)), dtype=np.int32)
    old = np.flatnonzero(~is_new[task])
    if len(old):
        leaf[:, old] = forest.apply(X[old], task[old]).T
    against = []
    for t in np.flatnonzero(is_new):
        own = np.flatnonzero(task == t)
        if len(own) == 0:
            continue
        at = np.empty((forest.n_trees, len(own)), dtype=np.int32)
        side = np.full(len(forest.split_cut), _UNREACHED, dtype=np.uint8)
        place_task(
            forest.nodes,
            forest.default_left,
            forest.tree_start,
            forest.split_start,
            forest.split_cut,
            forest.split_mean,
            forest.split_class,
            n_classes > 2,
            task_smoothing,
            X[own],
            y[own],
            weight[own],
            at,
            side,
            forest.set_start,
            forest.category_sets,
        )
        leaf[:, own] = at
        default = forest.default_left[forest.is_task_split]
        listed = np.flatnonzero((side != _UNREACHED) & (side != default))
        against.append((listed, np.full(len(listed), t, dtype=np.int32)))
    node = leaf + forest.tree_start[:-1, None]
    forest = _update(forest, node, y, weight, criterion, n_classes)
    return _list_tasks(forest, against)


def _list_tasks(forest: Forest, against: list[tuple[np.ndarray, np.ndarray]]) -> Forest:
    """Add tasks to the exceptions of task splits."""
    if not against:
        return forest
    old = np.repeat(np.arange(len(forest.split_cut)), np.diff(forest.exception_start))
    split = np.concatenate([old, *(k for k, _ in against)])
    task = np.concatenate([forest.exceptions, *(t for _, t in against)])
    order = np.lexsort([task, split])
    count = np.bincount(split, minlength=len(forest.split_cut))
    return replace(
        forest,
        exceptions=task[order],
        exception_start=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
    )


def _ends(forest: Forest) -> np.ndarray:
    """The node behind the last one of each node's branch, over all trees."""
    first = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    right = first + forest.nodes["right"]
    end = right
    while True:
        further = right[end]  # the last leaf is its own
        if np.array_equal(further, end):
            return end + 1
        end = further


class Branches:
    """Sums over the leaves below each node; these lie one behind the other."""

    def __init__(self, forest: Forest) -> None:
        self.end = _ends(forest)
        self.begin = np.arange(len(self.end))

    def __call__(self, of_nodes: np.ndarray) -> np.ndarray:
        total = np.concatenate([[0.0], np.cumsum(of_nodes)])
        return total[self.end] - total[self.begin]


def _update(
    forest: Forest,
    node: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    criterion: int,
    n_classes: int,
) -> Forest:
    """Weights, values and impurities with the rows at these leaves."""
    n_nodes, below = len(forest.nodes), Branches(forest)
    at, n_trees = node.ravel(), len(node)
    w, label = np.tile(weight, n_trees), np.tile(y, n_trees)

    def sums(values: np.ndarray) -> np.ndarray:
        return np.bincount(at, weights=values, minlength=n_nodes)

    is_leaf = forest.nodes["feature"] == LEAF
    added = sums(w)
    old_weight, new_weight = forest.weight, forest.weight + below(added)
    touched = new_weight > old_weight
    n_values = forest.values.shape[1]
    values, means, node_means = forest.values.copy(), [], []
    for c in range(n_values):
        gained = sums(w * (label == c if n_values > 1 else label))
        held = np.zeros(n_nodes)
        held[is_leaf] = forest.values[:, c] * old_weight[is_leaf]
        changed = touched[is_leaf]
        mean = ((held + gained)[is_leaf] / new_weight[is_leaf])[changed]
        values[changed, c] = mean
        means.append((below(held) / old_weight, below(gained)))
        node_means.append(below(held + gained) / new_weight)
    impurity = forest.impurity.copy()
    if n_classes == 0:
        impurity[touched] = _variance(
            forest, below, sums, w, label, means[0], new_weight
        )[touched]
    else:
        impurity[touched] = _impurity(node_means, criterion, n_classes)[touched]
    split = forest.is_task_split
    which = forest.split_class if n_values > 1 else np.zeros(split.sum(), np.int64)
    mean = np.stack(node_means)[which, np.flatnonzero(split)]
    moved = touched[split]
    return replace(
        forest,
        weight=new_weight,
        impurity=impurity,
        values=values,
        split_mean=np.where(moved, mean, forest.split_mean),
    )


def _impurity(
    means: Sequence[np.ndarray], criterion: int, n_classes: int
) -> np.ndarray:
    p = np.clip(np.stack(means), 0.0, 1.0)
    if n_classes <= 2:
        p = np.concatenate([1.0 - p, p])
    if criterion == 1:
        return -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=0)
    return 1.0 - (p**2).sum(axis=0)


def _variance(
    forest: Forest,
    below: Branches,
    sums: Callable[[np.ndarray], np.ndarray],
    w: np.ndarray,
    label: np.ndarray,
    means: tuple[np.ndarray, np.ndarray],
    new_weight: np.ndarray,
) -> np.ndarray:
    """Of old and new rows: within each, and between their means."""
    old_mean, gained = means
    center = old_mean[0]
    added = new_weight - forest.weight
    safe = np.where(added > 0, added, 1.0)
    near = below(sums(w * (label - center)))
    squares = below(sums(w * (label - center) ** 2)) - near**2 / safe
    gap = gained / safe - old_mean
    total = (
        forest.impurity * forest.weight
        + np.maximum(squares, 0.0)
        + forest.weight * added / new_weight * gap**2
    )
    return total / new_weight
