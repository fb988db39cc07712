"""A fitted forest as flat arrays: predictions, paths, importances, affinities.

`graft` puts branches that were grown apart in the places of leaves.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from kinlearn._kernels.trees.extra._predict import add_values, apply_trees
from kinlearn._partitions import entries
from kinlearn.utils import as_float32
from kinlearn.utils._loaded import (
    check_below,
    check_finite,
    check_numbers,
    check_starts,
    demand,
)

__all__ = ["LEAF", "TASK_SPLIT", "Forest", "graft", "starts_of"]

LEAF, TASK_SPLIT = -1, -2  # `feature` of nodes that have none
# Rows that go down some trees in one call: many, because each call packs its trees
# anew; few enough that Ctrl-C, which is noticed between two calls, need not wait long.
_ROWS_AT_ONCE = 262_144
_TREES_AT_ONCE = 50
_NODES_AT_ONCE = 65_536  # that wait at least before they are joined to a forest


def starts_of(lengths: ArrayLike) -> np.ndarray:
    """Where things begin that lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _append(whole: np.ndarray, parts: Sequence[np.ndarray]) -> None:
    """Make an array longer where it lies; nothing else may look into it."""
    old = len(whole)
    n = old + sum(map(len, parts))
    # Large arrays move without being copied, so that memory holds them once.
    whole.resize((n, *whole.shape[1:]), refcheck=False)
    # Bytes are copied six times faster than records.
    new = np.frombuffer(b"".join(parts), dtype=np.uint8)  # type: ignore[arg-type]
    whole[old:].reshape(-1).view(np.uint8)[...] = new


def _extend(whole: dict[str, Any], waiting: list["Forest"]) -> None:
    """Join forests to the arrays of `whole`, starts as lengths; then forget them."""
    names = [field.name for field in fields(Forest)] if waiting else []
    arrays: Any = zip(*(vars(forest).values() for forest in waiting), strict=True)
    for name, parts in zip(names, arrays, strict=True):
        if parts[0] is None:
            continue
        if name.endswith("_start"):
            parts = [part[1:] - part[:-1] for part in parts]
        if name not in whole:
            whole[name] = np.empty_like(parts[0][:0])
        _append(whole[name], parts)
    waiting.clear()


def _by_rows(X: np.ndarray) -> np.ndarray:
    """X with the values of a row next to each other."""
    return X if X.strides[1] == X.itemsize else np.ascontiguousarray(X)


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees' arrays end to end.

    Attributes
    ----------
    nodes : structured array of shape (n_nodes,)
        By node: `feature` (LEAF, TASK_SPLIT, or the feature of
        ``x <= threshold``), `threshold`, `right` child (the left one is the next
        node; a leaf is its own), `slot` (number of the leaf, or of the task
        split, or of the set of categories; -1 for a split of numbers). Numbers count
        from the start of the tree.
    default_left : uint8 array of shape (n_nodes,)
        Whether a missing value, or a task that is not listed, goes left.
    weight, impurity : float64 arrays of shape (n_nodes,)
        Of the training rows at the node.
    values : float64 array of shape (n_leaves, n_values)
        Means of the training rows: class frequencies (of the second class only, if
        there are two), or the mean of y.
    tree_start, leaf_start, split_start : int64 arrays of shape (n_trees + 1,)
        Where the nodes, leaves and task splits of each tree begin.
    exception_start : int64 array of shape (n_task_splits + 1,)
        Where the exceptions of each task split begin.
    exceptions : int32 array
        Codes of the tasks that go against a task split's default side.
    split_cut, split_mean : float64 arrays of shape (n_task_splits,)
        Tasks whose mean label, drawn towards the mean of all at the node (the second),
        was below the first went left.
    split_class : int32 array of shape (n_task_splits,)
        The class whose frequency these means are; 1 for two classes, or numbers.
    own_start : int64 array of shape (n_leaves + 1,), or None
        With leaf smoothing: where the tasks of each leaf begin.
    own_task : int32 array, or None
        Tasks with values of their own in the leaf, ascending.
    own_values : float64 array of shape (len(own_task), n_values), or None
        These values.
    set_start : int64 array of shape (n_trees + 1,), or None
        Where there are categories: where the sets of each tree begin.
    category_sets : uint64 array of shape (n_sets, 4), or None
        By split of categories, 256 bits: which codes go left.
    """

    nodes: np.ndarray
    default_left: np.ndarray
    weight: np.ndarray
    impurity: np.ndarray
    values: np.ndarray
    tree_start: np.ndarray
    leaf_start: np.ndarray
    split_start: np.ndarray
    exception_start: np.ndarray
    exceptions: np.ndarray
    split_cut: Any = None
    split_mean: Any = None
    split_class: Any = None
    own_start: Any = None
    own_task: Any = None
    own_values: Any = None
    set_start: Any = None
    category_sets: Any = None

    @classmethod
    def join(cls, forests: Iterable["Forest"]) -> Self:
        """One forest of many, in their order."""
        whole: dict[str, Any] = {}
        waiting: list[Forest] = []
        n_waiting = 0
        for forest in forests:
            waiting.append(forest)
            n_waiting += len(forest.nodes)
            if n_waiting > max(_NODES_AT_ONCE, len(whole.get("nodes", ())) // 8):
                _extend(whole, waiting)
                n_waiting = 0
        _extend(whole, waiting)
        for name, array in whole.items():
            if name.endswith("_start"):
                whole[name] = starts_of(array)
        return cls(**whole)

    def check(self, n_features: int, n_tasks: int, n_values: int | None = None) -> None:
        """Refuse numbers by which compiled code would read outside of the arrays."""
        n_trees, n = self.n_trees, len(self.nodes)
        demand(n_trees > 0, "tree_start")
        check_starts("tree_start", self.tree_start, n_trees, n)
        sizes = np.diff(self.tree_start)
        demand((sizes > 0).all(), "tree_start")
        check_numbers("default_left", self.default_left, np.uint8, (n,))
        check_below("default_left", self.default_left, 2)
        check_numbers("values", self.values, np.float64, (None, n_values))
        check_finite("values", self.values)
        n_splits = len(self.exception_start) - 1
        check_starts(
            "exception_start", self.exception_start, n_splits, len(self.exceptions)
        )
        check_numbers("exceptions", self.exceptions, np.int32, (None,))
        check_below("exceptions", self.exceptions, n_tasks)
        feature, right, slot = (
            np.ascontiguousarray(self.nodes[name], dtype=np.int32)
            for name in ("feature", "right", "slot")
        )
        check_below("feature", feature, n_features, TASK_SPLIT)
        leaf, first = feature == LEAF, self.tree_start[:-1]
        # A leaf is its own right child; of others the left child is the next node.
        own = np.arange(n, dtype=np.int32) - np.repeat(first.astype(np.int32), sizes)
        demand(right.min() >= 0 and (right >= own).all(), "right")
        demand(((right == own) == leaf).all(), "right")
        demand((np.maximum.reduceat(right, first) < sizes).all(), "right")
        places = [
            (leaf, self.leaf_start, len(self.values)),
            (feature == TASK_SPLIT, self.split_start, n_splits),
        ]
        if self.category_sets is not None:
            check_numbers("category_sets", self.category_sets, np.uint64, (None, 4))
            coded = (feature >= 0) & (slot >= 0)
            places.append((coded, self.set_start, len(self.category_sets)))
        for at, starts, end in places:
            check_starts("slots", starts, n_trees, end)
            # the number of the thing in the whole forest, below where the next begins
            numbers = slot | (at.astype(np.int32) - 1)  # -1 for all others
            demand(
                (np.maximum.reduceat(numbers, first) < np.diff(starts)).all(), "slot"
            )
            demand(np.count_nonzero(numbers < 0) == n - np.count_nonzero(at), "slot")
        if self.own_start is not None:
            n_own = len(self.own_task)
            check_starts("own_start", self.own_start, len(self.values), n_own)
            check_numbers("own_task", self.own_task, np.int32, (n_own,))
            check_below("own_task", self.own_task, n_tasks)
            shape = (n_own, self.values.shape[1])
            check_numbers("own_values", self.own_values, np.float64, shape)
            check_finite("own_values", self.own_values)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_start) - 1

    @property
    def is_task_split(self) -> np.ndarray:
        """By node, whether it splits by task."""
        return self.nodes["feature"] == TASK_SPLIT

    def _query(self, X: np.ndarray) -> dict[str, Any]:
        X = as_float32(X)
        return {
            "nodes": self.nodes,
            "default_left": self.default_left,
            "tree_start": self.tree_start,
            "split_start": self.split_start,
            "exception_start": self.exception_start,
            "exceptions": self.exceptions,
            "X": X,
            "missing": bool(np.isnan(X).any()),
            "set_start": self.set_start,
            "sets": self.category_sets,
        }

    def sum_values(
        self,
        X: np.ndarray,
        task: np.ndarray,
        *,
        first: int = 0,
        last: int | None = None,
        n_jobs: int = 1,
    ) -> np.ndarray:
        """The predictions of some trees, added up."""
        out = np.zeros((len(X), self.values.shape[1]))
        if not len(X):
            return out
        last = self.n_trees if last is None else last

        def fill(start: int) -> None:
            rows = slice(start, start + at_once)
            query = self._query(_by_rows(as_float32(X[rows])))
            for tree in range(first, last, _TREES_AT_ONCE):
                add_values(
                    **query,
                    leaf_start=self.leaf_start,
                    values=self.values,
                    task=task[rows],
                    first_tree=tree,
                    last_tree=min(tree + _TREES_AT_ONCE, last),
                    out=out[rows],
                    own_start=self.own_start,
                    own_task=self.own_task,
                    own_values=self.own_values,
                )

        at_once = min(_ROWS_AT_ONCE, -(-len(X) // n_jobs))
        starts = range(0, len(X), at_once)
        if n_jobs == 1 or len(starts) < 2:
            for start in starts:
                fill(start)
        else:
            with ThreadPoolExecutor(n_jobs) as pool:
                list(pool.map(fill, starts))
        return out

    def apply(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        """The leaves that rows reach."""
        out = np.empty((self.n_trees, len(X)), dtype=np.int32)
        apply_trees(**self._query(X), task=task, out=out)
        return out.T

    def parents(self) -> np.ndarray:
        """The parent of each node, over all trees; a root is its own."""
        splits = np.flatnonzero(self.nodes["feature"] != LEAF)
        first = np.repeat(self.tree_start[:-1], np.diff(self.tree_start))
        parent = np.arange(len(self.nodes))
        parent[splits + 1] = splits
        parent[first[splits] + self.nodes["right"][splits]] = splits
        return parent

    def decision_path(self, X: np.ndarray, task: np.ndarray) -> sp.csr_array:
        """The nodes that rows pass."""
        parent = self.parents()
        at = (self.apply(X, task) + self.tree_start[:-1]).ravel()
        row = np.repeat(np.arange(len(X)), self.n_trees)
        rows, nodes = [row], [at]
        while True:
            above = parent[at]
            moved = above != at
            if not moved.any():
                break
            at, row = above[moved], row[moved]
            rows.append(row)
            nodes.append(at)
        where = np.concatenate(rows), np.concatenate(nodes)
        ones = np.ones(len(where[0]), dtype=np.int8)
        return sp.csr_array((ones, where), shape=(len(X), len(self.nodes)))

    def _weighted_decreases(self) -> tuple[np.ndarray, np.ndarray]:
        """Impurity decrease times weight of each node, and the node's tree."""
        weighted = self.weight * self.impurity
        splits = np.flatnonzero(self.nodes["feature"] != LEAF)
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))
        right = self.tree_start[tree[splits]] + self.nodes["right"][splits]
        out = np.zeros(len(weighted))
        out[splits] = np.maximum(
            weighted[splits] - weighted[splits + 1] - weighted[right], 0
        )
        return out, tree

    def decreases(self) -> np.ndarray:
        """Impurity decrease of each node, as a fraction of its tree's; 0 for leaves."""
        decrease, tree = self._weighted_decreases()
        total = np.bincount(tree, weights=decrease, minlength=self.n_trees)
        return decrease / np.where(total > 0, total, 1.0)[tree]

    def mean_decrease(self) -> float:
        """How far a tree lowers the impurity of all rows, the mean over trees."""
        return (self._weighted_decreases()[0].sum() / self.n_trees) / self.weight[0]

    def importances(self, n_features: int) -> np.ndarray:
        """Fractions of the impurity decrease: of each feature, and of the task."""
        feature = self.nodes["feature"]
        used = np.where(feature == TASK_SPLIT, n_features, feature)
        split = feature != LEAF
        fraction = np.bincount(
            used[split], weights=self.decreases()[split], minlength=n_features + 1
        )
        total = fraction.sum()
        return fraction / total if total > 0 else fraction

    def affinity(self, some: np.ndarray, n_tasks: int) -> np.ndarray:
        """How often task splits keep two tasks together, weighted by what they gain."""
        # The decrease, not the rows alone: most splits near the root go by chance
        # where tasks differ in slope only, and gain little.
        weight = self.decreases()[self.is_task_split]
        listed = sp.csr_array(
            (np.ones(len(self.exceptions)), self.exceptions, self.exception_start),
            shape=(len(weight), n_tasks),
        )
        if not weight.sum() > 0:
            return np.ones((len(some), n_tasks))
        # Apart: one of the two tasks is listed as an exception, the other is not.
        both = (listed[:, some].T @ listed.multiply(weight[:, None]).tocsr()).toarray()
        one = listed.T @ weight
        return 1.0 - (one[some][:, None] + one[None, :] - 2.0 * both) / weight.sum()


class _Line:
    """Things of a forest and of its branches in the order of the whole.

    All arrays of a forest go depth first, so what a branch has of a thing lies
    together, where its leaf was.

    Attributes
    ----------
    at : int64 array of shape (n_nodes + 1,)
        Where in the whole the things of each node of the forest begin.
    source : int64 array
        For each thing of the whole: its place among those of the forest, with those of
        the branches behind them.
    """

    def __init__(self, has: np.ndarray, leaves: np.ndarray, starts: np.ndarray) -> None:
        length = has.astype(np.int64)
        first = np.cumsum(length) - length
        first[leaves] = length.sum() + starts[:-1]
        length[leaves] = np.diff(starts)
        self.at = starts_of(length)
        shift = np.repeat(first - self.at[:-1], length)
        self.source = np.arange(self.at[-1]) + shift

    def take(self, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Values of the things, in the order of the whole."""
        return np.concatenate([ours, theirs])[self.source]


def graft(forest: Forest, leaves: np.ndarray, branches: Forest) -> Forest:
    """Put branches in the places of leaves."""
    feature = forest.nodes["feature"]
    node = _Line(np.ones(len(feature), dtype=bool), leaves, branches.tree_start)
    leaf = _Line(feature == LEAF, leaves, branches.leaf_start)
    split = _Line(feature == TASK_SPLIT, leaves, branches.split_start)

    def taken(line: _Line, *names: str) -> dict[str, np.ndarray]:
        return {
            name: line.take(getattr(forest, name), getattr(branches, name))
            for name in names
        }

    def lists(line: _Line, start: str, *names: str) -> dict[str, np.ndarray]:
        # things of things: exceptions of task splits, tasks of leaves
        length = [np.diff(getattr(each, start)) for each in (forest, branches)]
        where = entries(starts_of(np.concatenate(length)), line.source)
        return {
            start: starts_of(line.take(*length)),
            **{
                name: np.concatenate([getattr(forest, name), getattr(branches, name)])[
                    where
                ]
                for name in names
            },
        }

    starts = {
        name: line.at[forest.tree_start]
        for name, line in (
            ("tree_start", node),
            ("leaf_start", leaf),
            ("split_start", split),
        )
    }
    own = {}
    if forest.own_start is not None:
        own = lists(leaf, "own_start", "own_task", "own_values")
    arrays = taken(node, "nodes", "default_left", "weight", "impurity")
    _renumber(arrays["nodes"], forest, leaves, branches, node, **starts)
    return Forest(
        **arrays,
        **taken(leaf, "values"),
        **starts,
        **lists(split, "exception_start", "exceptions"),
        **taken(split, "split_cut", "split_mean", "split_class"),
        **own,
    )


def _renumber(
    nodes: np.ndarray,
    forest: Forest,
    leaves: np.ndarray,
    branches: Forest,
    line: _Line,
    **starts: np.ndarray,
) -> None:
    """Let the nodes of the whole point to each other; numbers begin with each tree."""
    old = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_start))
    begin = starts["tree_start"][old]
    ours = line.at[forest.tree_start[old] + forest.nodes["right"]] - begin
    shift = np.repeat((line.at[:-1] - begin)[leaves], np.diff(branches.tree_start))
    nodes["right"] = line.take(ours, branches.nodes["right"] + shift)
    tree = np.repeat(np.arange(forest.n_trees), np.diff(starts["tree_start"]))
    for kind, start in ((LEAF, "leaf_start"), (TASK_SPLIT, "split_start")):
        which = nodes["feature"] == kind
        nodes["slot"][which] = np.arange(which.sum()) - starts[start][tree[which]]
