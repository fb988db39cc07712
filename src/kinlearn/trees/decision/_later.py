"""New rows, and new tasks, for trees that stay as they were grown.

No test changes. Rows of known tasks add to the label frequencies that decide them. A
new task goes down the tree with its rows and is decided as in growth: where one label
has enough of its rows, at a leaf, and, on a side that none of its rows comes to, by its
rows in the parent.
"""

from dataclasses import dataclass, replace

import numpy as np

from kinlearn.trees.decision._model import MultiTaskTree, decided_bits

__all__ = ["add_rows", "reached", "renumbered"]


@dataclass(frozen=True, eq=False)
class _Decisions:
    """Decisions in any order, and the weights of their labels."""

    node: np.ndarray
    task: np.ndarray
    rows: np.ndarray
    # of each pair of a decision and a label, ascending in both
    place: np.ndarray
    label: np.ndarray
    weight: np.ndarray


def renumbered(
    tree: MultiTaskTree, task: np.ndarray, label: np.ndarray
) -> MultiTaskTree:
    """The same tree, whose tasks and classes have other, ascending codes."""
    decision_task = task[tree.decision_task].astype(np.int32)
    steps = tree.steps.copy()
    steps["decided"] = decided_bits(tree.decision_indptr, decision_task)
    return replace(
        tree,
        steps=steps,
        decision_task=decision_task,
        value_label=label[tree.value_label].astype(np.int32),
    )


def reached(
    tree: MultiTaskTree, X: np.ndarray, task: np.ndarray, is_new: np.ndarray
) -> np.ndarray:
    """Where rows come to: the decision, or the leaf if the tree lacks the task."""
    at = np.empty(len(task), dtype=np.int32)
    new = is_new[task]
    if not new.all():
        at[~new] = tree.decisions(X[~new], task[~new])
    if new.any():
        at[new] = tree.leaves(X[new])
    return at


def add_rows(
    tree: MultiTaskTree,
    at: np.ndarray,
    task: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    is_new: np.ndarray,
    purity: float,
) -> MultiTaskTree:
    """Decide by old rows and by new ones, of positive weight.

    Parameters
    ----------
    tree : MultiTaskTree
        The tree.
    at : int32 array of shape (n,)
        What `reached` gives for the rows.
    task, y : int arrays of shape (n,)
        Task and class codes.
    weight : float64 array of shape (n,)
        Weights.
    is_new : bool array of shape (n_tasks,)
        Which tasks the tree does not know.
    purity : float
        The fraction of one label that decides a task.

    Returns
    -------
    MultiTaskTree
        With the rows.
    """
    new = is_new[task]
    parts = [_with_known(tree, at[~new], y[~new], weight[~new])]
    if new.any():
        parts.append(_of_new(tree, at[new], task[new], y[new], weight[new], purity))
    return _put_together(tree, parts)


def _with_known(
    tree: MultiTaskTree, found: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> _Decisions:
    """The tree's decisions; rows of the parent no longer stand in for a task's own."""
    n = len(tree.decision_task)
    place = np.repeat(np.arange(n), np.diff(tree.value_indptr))
    label, old = tree.value_label, tree.value_share * tree.decision_weight[place]
    rows = tree.decision_rows
    if len(found):
        added = np.bincount(found, minlength=n)
        kept = ~((rows == 0) & (added > 0))[place]
        rows = rows + added
        place, label, old = _summed(
            np.concatenate([place[kept], found]),
            np.concatenate([label[kept], y]),
            np.concatenate([old[kept], weight]),
        )
    node = np.repeat(np.arange(tree.node_count), np.diff(tree.decision_indptr))
    return _Decisions(node, tree.decision_task, rows, place, label, old)


def _of_new(
    tree: MultiTaskTree,
    leaf: np.ndarray,
    task: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    purity: float,
) -> _Decisions:
    """Decisions of tasks that the tree does not know."""
    # one entry for each row and each node on its way; from the root on
    way = tree.paths(leaf)
    row = np.repeat(np.arange(len(task)), np.diff(way.indptr))
    n_tasks = int(task.max()) + 1
    key = way.indices.astype(np.int64) * n_tasks + task[row]
    pair, at = np.unique(key, return_inverse=True)
    node, of_task = pair // n_tasks, (pair % n_tasks).astype(np.int32)
    place, label, of_label = _summed(at, y[row], weight[row])
    total = np.bincount(place, of_label, minlength=len(pair))
    most = np.zeros(len(pair))
    np.maximum.at(most, place, of_label)
    n_labels = np.bincount(place, minlength=len(pair))
    ends = (n_labels == 1) | (most >= purity * total) | tree.is_leaf[node]
    # a row's task is decided at the first of its pairs that ends
    step = np.arange(len(at))
    last = np.where(ends[at], step, len(at))
    last = np.minimum.reduceat(last, way.indptr[:-1])
    decided = np.zeros(len(pair), dtype=bool)
    decided[at[last]] = True
    passed = np.zeros(len(pair), dtype=bool)
    passed[at[step < last[row]]] = True
    # sides of passed nodes to which no row comes: the rows in the parent decide
    first_child = tree.steps["left"][node].astype(np.int64)
    without = []
    for child in (first_child, first_child + 1):
        reached = np.isin(child * n_tasks + of_task, pair)
        without.append((child, np.flatnonzero(passed & ~reached)))
    source = np.concatenate([np.flatnonzero(decided), *(w for _, w in without)])
    at_node = np.concatenate([node[decided], *(c[w] for c, w in without)])
    rows = np.bincount(at, minlength=len(pair))[source]
    rows[np.count_nonzero(decided) :] = 0
    first = np.searchsorted(place, np.arange(len(pair) + 1))
    sizes = np.diff(first)[source]
    out = np.repeat(np.arange(len(source)), sizes)
    shift = np.repeat(first[source] - (np.cumsum(sizes) - sizes), sizes)
    values = np.arange(len(out)) + shift
    return _Decisions(
        at_node, of_task[source], rows, out, label[values], of_label[values]
    )


def _summed(
    place: np.ndarray, label: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of pairs of a place and a label, ascending in both."""
    n = int(label.max(initial=0)) + 1
    key, at = np.unique(place.astype(np.int64) * n + label, return_inverse=True)
    return key // n, (key % n).astype(np.int32), np.bincount(at, weight)


def _put_together(tree: MultiTaskTree, parts: list[_Decisions]) -> MultiTaskTree:
    """The tree with these decisions."""
    node = np.concatenate([p.node for p in parts])
    task = np.concatenate([p.task for p in parts])
    order = np.lexsort([task, node])
    begin = np.cumsum([0, *(len(p.node) for p in parts)])
    place = np.concatenate([p.place + b for p, b in zip(parts, begin, strict=False)])
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    label, weight = (
        np.concatenate([getattr(p, name) for p in parts])
        for name in ("label", "weight")
    )
    values = np.argsort(rank[place], kind="stable")  # ascending in label before
    place, label, weight = rank[place][values], label[values], weight[values]
    total = np.bincount(place, weight, minlength=len(order))
    indptr = np.searchsorted(node[order], np.arange(tree.node_count + 1))
    steps = tree.steps.copy()
    steps["decided"] = decided_bits(indptr, task[order])
    return replace(
        tree,
        steps=steps,
        decision_indptr=indptr.astype(np.int32),
        decision_task=task[order].astype(np.int32),
        decision_rows=np.concatenate([p.rows for p in parts])[order].astype(np.int64),
        decision_weight=total,
        value_indptr=np.searchsorted(place, np.arange(len(order) + 1)).astype(np.int32),
        value_label=label.astype(np.int32),
        value_share=weight / total[place],
    )
