"""A grown multi-task decision tree as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from kinlearn._binning import Bins
from kinlearn._kernels.trees.decision._model import (
    STEP,
    add_frequencies,
    find_decisions,
    find_leaves,
    mean_of_leaves,
)
from kinlearn.utils._loaded import (
    check_below,
    check_finite,
    check_numbers,
    check_starts,
    demand,
)

__all__ = ["MultiTaskTree", "decided_bits", "narrowed", "tree_of"]


@dataclass(frozen=True, eq=False)
class MultiTaskTree:
    """A tree in which tasks are decided at leaves and at inner nodes.

    A *decision* belongs to a node and a task, and holds label frequencies. On
    each way from the root to a leaf, every task is decided once.

    Attributes
    ----------
    steps : structured array of shape (n_nodes,)
        Fields ``threshold``, ``left`` (the right child is the next number; a
        leaf is its own left child), ``feature``, ``missing_left`` (for a split of
        categories plus 2 and twice the number of its set), and
        ``decided``: a bit for each task, modulo 64, that is decided at the node.
    stats : structured array of shape (n_nodes,)
        Fields ``n_rows`` and ``weight`` that arrived at the node, ``impurity``
        (mean entropy of the label within tasks, in nats), ``gain`` (of the
        criterion) and ``decrease`` (weight times information gained within
        tasks).
    decision_indptr : int32 array of shape (n_nodes + 1,)
        Decisions of each node.
    decision_task : int32 array of shape (n_decisions,)
        Task codes, ascending at each node.
    decision_rows : int64 array of shape (n_decisions,)
        Rows of the task at the node; 0 if its rows in the parent decide.
    decision_weight : float64 array of shape (n_decisions,)
        Weight of the rows that decide.
    value_indptr : int32 array of shape (n_decisions + 1,)
        Values of each decision.
    value_label : int32 array of shape (n_values,)
        Class codes, ascending in each decision.
    value_share : float64 array of shape (n_values,)
        Frequencies, which sum to one in each decision.
    category_sets : uint64 array of shape (n_sets, 4), or None
        By split of categories, 256 bits: which codes go left. None if no feature is
        categorical.
    """

    steps: np.ndarray
    stats: np.ndarray
    decision_indptr: np.ndarray
    decision_task: np.ndarray
    decision_rows: np.ndarray
    decision_weight: np.ndarray
    value_indptr: np.ndarray
    value_label: np.ndarray
    value_share: np.ndarray
    category_sets: np.ndarray | None = None

    def check(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        """Refuse numbers by which compiled code would read outside of the arrays."""
        n = self.node_count
        n_decisions, n_values = len(self.decision_task), len(self.value_label)
        check_numbers("steps", self.steps, STEP, (n,))
        demand(n > 0, "steps")
        left = self.steps["left"].astype(np.int64)
        own = np.arange(n)
        # children come after their parents, both of them; a leaf is its own
        demand(((left == own) | ((left > own) & (left + 1 < n))).all(), "left")
        check_below("feature", self.steps["feature"], n_features)
        leaf = left == own
        # a leaf sends everything to itself, and not to the node behind it
        demand((self.steps["threshold"][leaf] == np.inf).all(), "threshold")
        demand((self.steps["missing_left"][leaf] == 1).all(), "missing_left")
        n_sets = 0
        if self.category_sets is not None:
            n_sets = len(self.category_sets)
            check_numbers("category_sets", self.category_sets, np.uint64, (n_sets, 4))
        check_below("missing_left", self.steps["missing_left"], 2 * (n_sets + 1))
        check_numbers("stats", self.stats, self.stats.dtype, (n,))
        check_starts("decision_indptr", self.decision_indptr, n, n_decisions, np.int32)
        check_numbers("decision_rows", self.decision_rows, "i", (n_decisions,))
        demand((self.decision_rows >= 0).all(), "decision_rows")
        check_numbers("decision_weight", self.decision_weight, "f", (n_decisions,))
        check_finite("decision_weight", self.decision_weight)
        demand((self.decision_weight > 0).all(), "decision_weight")
        check_numbers("decision_task", self.decision_task, np.int32, (n_decisions,))
        check_below("decision_task", self.decision_task, n_tasks)
        check_starts("value_indptr", self.value_indptr, n_decisions, n_values, np.int32)
        demand((np.diff(self.value_indptr) > 0).all(), "value_indptr")
        check_numbers("value_label", self.value_label, np.int32, (n_values,))
        check_below("value_label", self.value_label, n_classes)
        check_numbers("value_share", self.value_share, np.float64, (n_values,))
        check_finite("value_share", self.value_share)

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.steps)

    @property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf."""
        return self.steps["left"] == np.arange(len(self.steps))

    @property
    def parent(self) -> np.ndarray:
        """Parent of each node; -1 at the root."""
        inner = np.flatnonzero(~self.is_leaf)
        left = self.steps["left"][inner]
        parent = np.full(len(self.steps), -1, dtype=np.int32)
        parent[left] = parent[left + 1] = inner
        return parent

    @property
    def depth(self) -> np.ndarray:
        """Depth of each node; 0 at the root."""
        depth = np.zeros(len(self.steps), dtype=np.int32)
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:  # parents are numbered before their children
                depth[node] = depth[parent] + 1
        return depth

    def importances(self, n_features: int) -> np.ndarray:
        """Information gained within tasks by each feature, summing to one.

        Parameters
        ----------
        n_features : int
            Number of features.

        Returns
        -------
        float64 array of shape (n_features,)
            Fractions; all zero in a tree without a split.
        """
        total = np.bincount(
            self.steps["feature"], self.stats["decrease"], minlength=n_features
        )
        return total / total.sum() if total.sum() > 0 else total

    def decisions(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Number of the decision that each row reaches; -1 if there is none."""
        if not self.decision_task.any():  # one task is decided at leaves only
            found = self.decision_indptr[self.leaves(X)]
            return np.where(task == 0, found, np.int32(-1))
        out = np.empty(len(task), dtype=np.int32)
        find_decisions(
            X,
            task,
            self.steps,
            self.decision_indptr,
            self.decision_task,
            out,
            self.category_sets,
        )
        return out

    def leaves(self, X: np.ndarray) -> np.ndarray:
        """Leaf of each row."""
        out = np.empty(X.shape[0], dtype=np.int32)
        find_leaves(X, self.steps, out, self.category_sets)
        return out

    def nodes(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Node at which each row is decided; the leaf if its task is unknown."""
        found = self.decisions(X, task)
        node = np.searchsorted(self.decision_indptr, found, side="right") - 1
        unknown = found < 0
        if unknown.any():
            node[unknown] = self.leaves(X[unknown])
        return node

    def paths(self, ends: np.ndarray) -> csr_array:
        """Nodes on the ways from the root.

        Parameters
        ----------
        ends : int array of shape (n,)
            Node where each way ends.

        Returns
        -------
        csr_array of shape (n, n_nodes)
            1 at the nodes of each way, its end included.
        """
        parent, depth = self.parent, self.depth
        indptr = np.concatenate([[0], np.cumsum(depth[ends] + 1)])
        nodes = np.empty(indptr[-1], dtype=np.int32)
        at, node = indptr[1:].copy(), ends.copy()
        walking = np.arange(len(ends))
        while len(walking):
            at[walking] -= 1
            nodes[at[walking]] = node[walking]
            node[walking] = parent[node[walking]]
            walking = walking[node[walking] >= 0]
        shape = (len(ends), self.node_count)
        return csr_array((np.ones(len(nodes), dtype=np.int64), nodes, indptr), shape)

    def add_proba(self, X: np.ndarray, task: np.ndarray, out: np.ndarray) -> None:
        """Add the label frequencies of each row to `out`.

        Parameters
        ----------
        X : float array of shape (n, n_features), row-major
            Features.
        task : int32 array of shape (n,)
            Task codes; for -1 the tasks' predictions are averaged.
        out : float64 array of shape (n, n_classes)
            Added to.
        """
        found = self.decisions(X, task)
        add_frequencies(
            found, self.value_indptr, self.value_label, self.value_share, out
        )
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            shared = np.zeros((self.node_count, out.shape[1]))
            mean_of_leaves(
                self.steps,
                self.decision_indptr,
                self.value_indptr,
                self.value_label,
                self.value_share,
                shared,
            )
            out[unknown] += shared[self.leaves(X[unknown])]


def decided_bits(decision_indptr: np.ndarray, decision_task: np.ndarray) -> np.ndarray:
    """By node, a bit for each task, modulo 64, that is decided there."""
    out = np.zeros(len(decision_indptr) - 1, dtype=np.uint64)
    node = np.repeat(np.arange(len(out)), np.diff(decision_indptr))
    bit = np.uint64(1) << (decision_task & 63).astype(np.uint64)
    np.bitwise_or.at(out, node, bit)
    return out


def narrowed(
    trees: Sequence[MultiTaskTree], X: Any
) -> tuple[Sequence[MultiTaskTree], Any]:
    """Trees, and what they look at of the rows: of sparse X, few of its columns."""
    if not issparse(X):
        return trees, X
    used = np.unique(np.concatenate([t.steps["feature"] for t in trees]))
    out = []
    for tree in trees:
        steps = tree.steps.copy()
        steps["feature"] = np.searchsorted(used, steps["feature"])
        out.append(replace(tree, steps=steps))
    return out, X.tocsr()[:, used]


def tree_of(
    grown: tuple[np.ndarray, ...],
    bins: Bins,
    unit: float,
    categorical: np.ndarray | None,
) -> MultiTaskTree:
    """The kernel's result as a tree with real thresholds and weights."""
    nodes, decisions, values, sets = grown
    n_nodes, n_decisions = len(nodes), len(decisions)
    number = np.arange(n_nodes, dtype=np.int32)
    leaf = nodes["left"] < 0
    steps = np.empty(n_nodes, dtype=STEP)
    steps["left"] = np.where(leaf, number, nodes["left"])
    steps["feature"] = np.where(leaf, 0, nodes["feature"])
    steps["threshold"] = bins.thresholds(steps["feature"], nodes["bin"])
    steps["threshold"][leaf] = np.inf
    steps["missing_left"] = np.where(leaf, 1, nodes["missing_left"])
    category_sets = None
    if categorical is not None:
        category_sets = _add_categories(steps, nodes, sets, bins, categorical)
    decision_indptr = np.searchsorted(decisions["node"], np.arange(n_nodes + 1))
    steps["decided"] = decided_bits(decision_indptr, decisions["task"])

    names = ["n_rows", "weight", "impurity", "gain", "decrease"]
    stats = np.empty(
        n_nodes, dtype=[(k, np.int64 if k == "n_rows" else np.float64) for k in names]
    )
    for name in names:
        stats[name] = nodes[name] * (unit if name in ("weight", "decrease") else 1)

    value_indptr = np.append(decisions["first_value"], len(values))
    sizes = np.diff(value_indptr)
    weight = np.add.reduceat(values["weight"], decisions["first_value"])
    return MultiTaskTree(
        steps=steps,
        stats=stats,
        decision_indptr=decision_indptr.astype(np.int32),
        decision_task=np.ascontiguousarray(decisions["task"]),
        decision_rows=np.ascontiguousarray(decisions["n_rows"]),
        decision_weight=weight * unit,
        value_indptr=value_indptr.astype(np.int32),
        value_label=np.ascontiguousarray(values["label"]),
        value_share=values["weight"] / weight[np.repeat(np.arange(n_decisions), sizes)],
        category_sets=category_sets,
    )


def _add_categories(
    steps: np.ndarray,
    nodes: np.ndarray,
    sets: np.ndarray,
    bins: Bins,
    categorical: np.ndarray,
) -> np.ndarray:
    """Note the splits of categories in the steps; their sets, of codes, not of bins."""
    split = np.flatnonzero((nodes["left"] >= 0) & (categorical[nodes["feature"]] > 0))
    by_bin = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")
    bin_of = bins.assign(np.repeat(np.arange(256.0)[:, None], len(categorical), axis=1))
    number = nodes["bin"][split]
    by_code = np.empty_like(by_bin)
    by_code[number] = np.take_along_axis(
        by_bin[number], bin_of[:, nodes["feature"][split]].T.astype(np.intp), axis=1
    )
    steps["threshold"][split] = np.nan
    steps["missing_left"][split] += 2 * (1 + number)
    return np.packbits(by_code, axis=1, bitorder="little").view(np.uint64)
