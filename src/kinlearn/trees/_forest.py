"""A fitted forest as flat arrays: predictions, paths, importances, affinities."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn._kernels.trees._predict import add_values, apply_trees

__all__ = ["LEAF", "TASK_SPLIT", "Forest", "as_float32"]

LEAF, TASK_SPLIT = -1, -2  # `feature` of nodes that have none
# Rows that go down some trees in one call: many, because each call packs its trees
# anew; few enough that Ctrl-C, which is noticed between two calls, need not wait long.
_ROWS_AT_ONCE = 262_144
_TREES_AT_ONCE = 50
_NODES_AT_ONCE = 65_536  # that wait at least before they are joined to a forest


def as_float32(X: np.ndarray) -> np.ndarray:
    """X as float32, which trees work with; large values are refused.

    Parameters
    ----------
    X : float array of shape (n_samples, n_features)
        Finite values and NaN.

    Returns
    -------
    float32 array of shape (n_samples, n_features)
        X itself if it is float32 already.
    """
    if X.dtype == np.float32:
        return X
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    if np.isinf(narrow).any():
        row, column = np.argwhere(np.isinf(narrow))[0]
        raise ValueError(
            f"Input X contains infinity or a value too large for dtype('float32') in "
            f"row {row}, feature {column}: {X[row, column]:g}. Scale the feature."
        )
    return narrow


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _as_bytes(array: np.ndarray) -> np.ndarray:
    # Bytes are copied six times faster than records.
    return array.reshape(-1).view(np.uint8)


def _append(whole: np.ndarray, parts: Sequence[np.ndarray]) -> None:
    """Make an array longer where it lies; nothing else may look into it."""
    old = len(whole)
    n = old + sum(len(part) for part in parts)
    # Large arrays move without being copied, so that memory holds them once.
    whole.resize((n, *whole.shape[1:]), refcheck=False)
    for part in parts:
        _as_bytes(whole[old : old + len(part)])[...] = _as_bytes(part)
        old += len(part)


def _extend(whole: dict[str, Any], waiting: list["Forest"]) -> None:
    """Join forests to the arrays of `whole`, starts as lengths; then forget them."""
    for field in fields(Forest) if waiting else ():
        parts = [getattr(forest, field.name) for forest in waiting]
        if parts[0] is None:
            continue
        if field.name.endswith("_start"):
            parts = [np.diff(part) for part in parts]
        if field.name not in whole:
            whole[field.name] = np.empty_like(parts[0][:0])
        _append(whole[field.name], parts)
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
        The class whose share these means are; 1 if there are two classes, or numbers.
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
        """One forest of many, in their order.

        Parameters
        ----------
        forests : iterable of Forest
            At least one. They are copied as they come, a share at a time, so that an
            iterator need not hold them all.

        Returns
        -------
        Forest
            All trees.
        """
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
                whole[name] = _starts(array)
        return cls(**whole)

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
        """The predictions of some trees, added up.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features)
            Rows; NaN is a missing value.
        task : int32 array of shape (n_samples,)
            Task codes; -1 is unknown.
        first, last : int, default=0 and all
            The trees ``first .. last - 1``.
        n_jobs : int, default=1
            Threads; the result does not depend on it.

        Returns
        -------
        float64 array of shape (n_samples, n_values)
            Sums over the trees.
        """
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
        """The leaves that rows reach.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features)
            Rows.
        task : int32 array of shape (n_samples,)
            Task codes.

        Returns
        -------
        int32 array of shape (n_samples, n_trees)
            Numbers of the leaves' nodes, each counted from its tree's start.
        """
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
        """The nodes that rows pass.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features)
            Rows.
        task : int32 array of shape (n_samples,)
            Task codes.

        Returns
        -------
        csr_array of shape (n_samples, n_nodes)
            1 where a row passes a node.
        """
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
        share = self.weight * self.impurity
        splits = np.flatnonzero(self.nodes["feature"] != LEAF)
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))
        right = self.tree_start[tree[splits]] + self.nodes["right"][splits]
        out = np.zeros(len(share))
        out[splits] = np.maximum(share[splits] - share[splits + 1] - share[right], 0)
        return out, tree

    def decreases(self) -> np.ndarray:
        """Impurity decrease of each node, as a share of its tree's; 0 for leaves."""
        decrease, tree = self._weighted_decreases()
        total = np.bincount(tree, weights=decrease, minlength=self.n_trees)
        return decrease / np.where(total > 0, total, 1.0)[tree]

    def mean_decrease(self) -> float:
        """How far a tree lowers the impurity of all rows, the mean over trees."""
        return (self._weighted_decreases()[0].sum() / self.n_trees) / self.weight[0]

    def importances(self, n_features: int) -> np.ndarray:
        """Shares of the impurity decrease: of each feature, and of the task.

        Parameters
        ----------
        n_features : int
            Number of features.

        Returns
        -------
        ndarray of shape (n_features + 1,)
            Means over the trees that split at all; the task's share comes last.
        """
        feature = self.nodes["feature"]
        used = np.where(feature == TASK_SPLIT, n_features, feature)
        split = feature != LEAF
        share = np.bincount(
            used[split], weights=self.decreases()[split], minlength=n_features + 1
        )
        total = share.sum()
        return share / total if total > 0 else share

    def affinity(self, some: np.ndarray, n_tasks: int) -> np.ndarray:
        """How often task splits keep two tasks together, weighted by what they gain.

        Parameters
        ----------
        some : int array of shape (n_some,)
            Codes of the tasks to compare with all others.
        n_tasks : int
            Number of tasks.

        Returns
        -------
        ndarray of shape (n_some, n_tasks)
            Between 0 and 1, 1 for a task itself; all 1 if no node splits by task.
        """
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
