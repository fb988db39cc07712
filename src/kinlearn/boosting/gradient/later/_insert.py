"""The same boosted trees among more tasks and classes, or for some tasks alone."""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from kinlearn.boosting.gradient._model import LEAF, NODE, TASK, Tree, Trees
from kinlearn.boosting.gradient._rounds import Boosted
from kinlearn.boosting.gradient._start import Start

__all__ = ["insert_classes", "insert_tasks", "only_tasks"]

_CATEGORY_BYTES = 32  # of a set of categories


def insert_tasks(model: Boosted, place: np.ndarray, n_tasks: int) -> Boosted:
    """The same model among more tasks; those go to the side of more rows."""
    intercepts = np.zeros((n_tasks, len(model.start.base)))
    intercepts[place] = model.start.intercepts
    lengths = model.start.lengths
    if lengths is not None:
        old, lengths = lengths, np.ones_like(intercepts)
        lengths[place] = old
    trees = [_renumbered(tree, place, n_tasks) for tree in model.trees]
    start = replace(model.start, intercepts=intercepts, lengths=lengths)
    return Boosted(start, Trees.of(trees, n_tasks))


def _renumbered(tree: Tree, place: np.ndarray, n_tasks: int) -> Tree:
    nodes, (leaf, task, value) = tree.nodes.copy(), tree.departures
    by_set = np.flatnonzero(nodes["first_byte"] >= 0)
    size = max(_CATEGORY_BYTES, (n_tasks + 7) >> 3)
    sets = np.zeros((len(by_set), size), dtype=np.uint8)
    for new, node in zip(sets, nodes[by_set], strict=True):
        old = tree.sets[node["first_byte"] :]
        if node["feature"] == TASK:
            bits = np.full(8 * size, node["default_left"], dtype=np.uint8)
            bits[place] = np.unpackbits(old, count=len(place), bitorder="little")
            new[:] = np.packbits(bits, bitorder="little")
        else:
            new[:_CATEGORY_BYTES] = old[:_CATEGORY_BYTES]
    nodes["first_byte"][by_set] = size * np.arange(len(by_set))
    return replace(
        tree,
        nodes=nodes,
        sets=sets.ravel(),
        departures=(leaf, place[task].astype(np.int32), value),
    )


def insert_classes(model: Boosted, place: np.ndarray, weight: np.ndarray) -> Boosted:
    """The same model with scores of more classes, which no tree adds to.

    `weight` is that of the rows of each class. The scores of new classes begin with how
    frequent they are.
    """
    start, n_tasks, n_classes = model.start, model.trees.n_tasks, len(weight)
    if len(place) == 1:  # of one class, nothing was learned
        n_outputs = 1 if n_classes == 2 else n_classes
        zeros = np.zeros((n_tasks, n_outputs))
        start = Start(zeros[0], zeros, np.full(n_outputs, np.inf))
        return Boosted(start, Trees.of([], n_tasks))
    base, penalty = np.zeros(n_classes), np.full(n_classes, np.inf)
    intercepts = np.zeros((n_tasks, n_classes))
    old = place[-1:] if len(start.base) == 1 else place
    base[old], intercepts[:, old] = start.base, start.intercepts
    penalty[old] = start.penalty
    new = np.setdiff1d(np.arange(n_classes), place)
    rate = np.maximum(weight[new], 1e-300) / max(weight[place].sum(), 1e-300)
    base[new] = np.log(rate) + logsumexp(base[place])
    line = None if start.line is None else start.line.among(old, n_classes)
    every, n_old = [], len(start.base)
    for first in range(0, len(model.trees), n_old):
        round_ = [_stump(k) for k in range(n_classes)]
        for k in range(n_old):
            round_[old[k]] = replace(model.trees[first + k], output=int(old[k]))
        every += round_
    lengths = start.lengths
    if lengths is not None:
        lengths = np.ones((n_tasks, n_classes))
        lengths[:, old] = start.lengths
    return Boosted(
        Start(base, intercepts, penalty, line, lengths), Trees.of(every, n_tasks)
    )


def _stump(output: int) -> Tree:
    """A tree of one leaf that adds nothing."""
    nodes = np.zeros(1, dtype=NODE)
    nodes["feature"], nodes["first_byte"] = LEAF, -1
    zero, none = np.zeros(1), np.empty(0, dtype=np.int32)
    empty = np.empty(0, dtype=np.uint8)
    none_of = none, none, np.empty(0)
    return Tree(output, nodes, zero, zero, zero, empty, zero, none_of, rate=0.0)


def only_tasks(tree: Tree, tasks: np.ndarray, n_tasks: int) -> Tree:
    """A tree that adds for some tasks what it did, and nothing for all others."""
    n_leaves = len(tree.leaf_values)
    table = np.repeat(tree.leaf_values[:, None], n_tasks, axis=1)
    np.add.at(table, tree.departures[:2], tree.departures[2])
    leaf, which = np.divmod(np.arange(n_leaves * len(tasks)), len(tasks))
    departures = leaf, tasks[which].astype(np.int32), table[leaf, tasks[which]]
    return replace(tree, leaf_values=np.zeros(n_leaves), departures=departures)
