"""Boosted trees, one after the other, as predictions read them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np

from kinlearn._kernels.boosting.gradient._boosted_scores import add_trees
from kinlearn.utils._loaded import (
    check_below,
    check_finite,
    check_numbers,
    check_starts,
    demand,
)

__all__ = ["LEAF", "NODE", "SPLIT", "TASK", "Tree", "Trees"]

LEAF, TASK = -1, -2  # what stands in place of a feature

# As in _kernels/boosting/gradient/_nodes.pxd.
NODE = np.dtype(
    [
        ("feature", np.int32),
        ("left", np.int32),
        ("first_byte", np.int32),
        ("bin", np.uint8),
        ("n_bins", np.uint8),
        ("default_left", np.uint8),
        ("unused", np.uint8),
    ]
)
SPLIT = np.dtype(
    [
        ("gain", np.float64),
        ("left_g", np.int64),
        ("left_hc", np.int64),
        ("feature", np.int32),
        ("bin", np.uint8),
        ("by_set", np.uint8),
        ("default_left", np.uint8),
        ("unused", np.uint8),
    ]
)


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree: its nodes, and what its leaves add to scores."""

    output: int  # column of the scores that it adds to
    nodes: np.ndarray
    gain: np.ndarray  # of the split of each node; 0 of leaves
    value: np.ndarray  # of each node, as if it were a leaf
    weight: np.ndarray  # curvature of each node
    sets: np.ndarray  # bits of categories and tasks that go left
    leaf_values: np.ndarray
    # departures of tasks from the values of leaves: leaf, task, departure; leaf by leaf
    departures: tuple[np.ndarray, np.ndarray, np.ndarray]
    noise: float = 0.0  # variance of gradients, in units of the curvature
    penalty: float = np.inf  # on departures
    rate: float = 1.0  # what steps were multiplied by


def _bytes(nodes: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(nodes).view(np.uint8)


@dataclass(frozen=True, eq=False)
class Trees:
    """All trees, end to end.

    Attributes
    ----------
    output : int32 array of shape (n_trees,)
        The column of scores that each adds to.
    nodes : structured array of shape (n_nodes,)
        The nodes; children and bits are counted within each tree.
    gain, node_value, node_weight : float64 arrays of shape (n_nodes,)
        Gain of each split, and value and curvature of each node.
    tree_start, set_start, leaf_start : int64 arrays of shape (n_trees + 1,)
        Where the nodes, bits and leaves of each tree begin.
    sets : uint8 array
        Bits of what goes left: of tasks, or of categories.
    values : float64 array of shape (n_leaves,)
        What leaves add.
    departure_start : int64 array of shape (n_leaves + 1,)
        Where the departures of each leaf begin.
    departure_task : int32 array
        Their tasks, ascending in each leaf.
    departures : float64 array
        What these tasks add besides.
    noise, penalty, rate : float64 arrays of shape (n_trees,)
        Variance of gradients in units of the curvature, the penalty on departures and
        the learning rate, by which tasks that come later are placed.
    n_tasks : int
        Number of tasks.
    """

    output: np.ndarray
    nodes: np.ndarray
    gain: np.ndarray
    node_value: np.ndarray
    node_weight: np.ndarray
    tree_start: np.ndarray
    set_start: np.ndarray
    leaf_start: np.ndarray
    sets: np.ndarray
    values: np.ndarray
    departure_start: np.ndarray
    departure_task: np.ndarray
    departures: np.ndarray
    noise: np.ndarray
    penalty: np.ndarray
    rate: np.ndarray
    n_tasks: int

    @classmethod
    def of(cls, trees: Sequence[Tree], n_tasks: int) -> Self:
        """Put trees end to end."""

        def joined(arrays: list[Any], dtype: Any) -> np.ndarray:
            return np.concatenate([np.empty(0, dtype), *arrays], dtype=dtype)

        def starts(sizes: list[int]) -> np.ndarray:
            return np.array([*accumulate(sizes, initial=0)], dtype=np.int64)

        counts = [
            np.bincount(tree.departures[0], minlength=len(tree.leaf_values))
            for tree in trees
        ]
        return cls(
            output=np.array([tree.output for tree in trees], dtype=np.int32),
            # as bytes: structures are compared field by field
            nodes=joined([_bytes(tree.nodes) for tree in trees], np.uint8).view(NODE),
            gain=joined([tree.gain for tree in trees], np.float64),
            node_value=joined([tree.value for tree in trees], np.float64),
            node_weight=joined([tree.weight for tree in trees], np.float64),
            tree_start=starts([len(tree.nodes) for tree in trees]),
            set_start=starts([len(tree.sets) for tree in trees]),
            leaf_start=starts([len(tree.leaf_values) for tree in trees]),
            sets=joined([tree.sets for tree in trees], np.uint8),
            values=joined([tree.leaf_values for tree in trees], np.float64),
            departure_start=starts(joined(counts, np.int64).tolist()),
            departure_task=joined([tree.departures[1] for tree in trees], np.int32),
            departures=joined([tree.departures[2] for tree in trees], np.float64),
            noise=np.array([tree.noise for tree in trees], dtype=np.float64),
            penalty=np.array([tree.penalty for tree in trees], dtype=np.float64),
            rate=np.array([tree.rate for tree in trees], dtype=np.float64),
            n_tasks=n_tasks,
        )

    def check(self, n_features: int, n_tasks: int, n_outputs: int) -> None:
        """Refuse numbers by which compiled code would read outside of the arrays."""
        n_trees, n, n_leaves = len(self), len(self.nodes), len(self.values)
        demand(self.n_tasks == n_tasks, "n_tasks")
        check_numbers("output", self.output, np.int32, (n_trees,))
        check_below("output", self.output, n_outputs)
        check_numbers("nodes", self.nodes, NODE, (n,))
        for name in ("gain", "node_value", "node_weight"):
            check_numbers(name, getattr(self, name), np.float64, (n,))
        for name in ("noise", "penalty", "rate"):
            check_numbers(name, getattr(self, name), np.float64, (n_trees,))
        check_starts("tree_start", self.tree_start, n_trees, n)
        check_starts("set_start", self.set_start, n_trees, len(self.sets))
        check_starts("leaf_start", self.leaf_start, n_trees, n_leaves)
        check_numbers("sets", self.sets, np.uint8, (None,))
        check_numbers("values", self.values, np.float64, (n_leaves,))
        check_finite("values", self.values)
        n_departures = len(self.departures)
        check_starts("departure_start", self.departure_start, n_leaves, n_departures)
        check_numbers("departure_task", self.departure_task, np.int32, (n_departures,))
        check_below("departure_task", self.departure_task, n_tasks)
        check_numbers("departures", self.departures, np.float64, (n_departures,))
        check_finite("departures", self.departures)
        sizes = np.diff(self.tree_start)
        demand((sizes > 0).all(), "tree_start")
        if n == 0:
            return
        start = self.tree_start[:-1]
        own = np.arange(n, dtype=np.int32) - np.repeat(start.astype(np.int32), sizes)
        feature, left = (
            np.ascontiguousarray(self.nodes[f]) for f in ("feature", "left")
        )
        check_below("feature", feature, n_features, TASK)
        leaf, by_task = feature == LEAF, feature == TASK
        # a leaf has its number, others have a left child, and the right one behind it
        demand(left.min() >= 0 and (leaf | (left > own)).all(), "left")
        number = left | (leaf.astype(np.int32) - 1)  # -1 for all others
        demand(
            (np.maximum.reduceat(number, start) < np.diff(self.leaf_start)).all(),
            "left",
        )
        child = left | -leaf.astype(np.int32)
        demand((np.maximum.reduceat(child, start) < sizes - 1).all(), "left")
        # bits of what goes left: of all tasks, or of the bins of a feature
        coded = np.flatnonzero(by_task | (~leaf & (self.nodes["first_byte"] >= 0)))
        first = self.nodes["first_byte"][coded].astype(np.int64)
        demand((first >= 0).all(), "first_byte")
        bits = np.where(
            by_task[coded], n_tasks, self.nodes["n_bins"][coded].astype(int)
        )
        tree = np.searchsorted(self.tree_start, coded, side="right") - 1
        n_bytes = np.diff(self.set_start)[tree]
        demand((first + (bits + 7) // 8 <= n_bytes).all(), "first_byte")

    def __len__(self) -> int:
        return len(self.output)

    def __iter__(self) -> Iterator[Tree]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Tree:
        nodes = slice(*self.tree_start[number : number + 2])
        leaves = slice(*self.leaf_start[number : number + 2])
        start = self.departure_start[leaves.start : leaves.stop + 1]
        some = slice(start[0], start[-1])
        return Tree(
            output=int(self.output[number]),
            nodes=self.nodes[nodes],
            gain=self.gain[nodes],
            value=self.node_value[nodes],
            weight=self.node_weight[nodes],
            sets=self.sets[slice(*self.set_start[number : number + 2])],
            leaf_values=self.values[leaves],
            departures=(
                np.repeat(np.arange(len(start) - 1), np.diff(start)),
                self.departure_task[some],
                self.departures[some],
            ),
            noise=float(self.noise[number]),
            penalty=float(self.penalty[number]),
            rate=float(self.rate[number]),
        )

    def add_scores(
        self,
        bins: np.ndarray,
        task: np.ndarray,
        scores: np.ndarray,
        *,
        rows: np.ndarray | None = None,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """Add what trees from `first` to before `last` say to the scores of rows."""
        if rows is None:
            rows = np.arange(len(bins), dtype=np.int32)
        add_trees(
            self.nodes,
            self.tree_start,
            self.set_start,
            self.sets,
            self.leaf_start,
            self.values,
            self.departure_start,
            self.departure_task,
            self.departures,
            self.output,
            self.n_tasks,
            first,
            len(self) if last is None else last,
            bins,
            task,
            rows,
            scores,
        )

    def leaf_tables(self, tree: int) -> tuple[np.ndarray, np.ndarray]:
        """Values of a tree's leaves, and departures by leaf and task, if any."""
        first, last = self.leaf_start[tree : tree + 2]
        values = self.values[first:last]
        start = self.departure_start[first : last + 1]
        if start[0] == start[-1]:
            return values, np.empty((0, self.n_tasks))
        table = np.zeros((len(values), self.n_tasks))
        leaf = np.repeat(np.arange(len(values)), np.diff(start))
        some = slice(start[0], start[-1])
        table[leaf, self.departure_task[some]] = self.departures[some]
        return values, table

    def gains(self, n_features: int) -> tuple[np.ndarray, float]:
        """Gain of the splits by each feature, and of those by tasks."""
        feature = self.nodes["feature"]
        split = feature >= 0
        of_features = np.bincount(
            feature[split], self.gain[split], minlength=n_features
        )
        return of_features, float(self.gain[feature == TASK].sum())

    def affinity(self) -> np.ndarray:
        """How often task splits send two tasks to the same side, by gain."""
        same = np.zeros((self.n_tasks, self.n_tasks))
        at = np.flatnonzero(self.nodes["feature"] == TASK)
        total = self.gain[at].sum()
        if total == 0:
            return np.ones_like(same)
        tree = np.searchsorted(self.tree_start, at, side="right") - 1
        first = self.set_start[tree] + self.nodes["first_byte"][at]
        n_bytes = (self.n_tasks + 7) // 8
        packed = self.sets[first[:, None] + np.arange(n_bytes)]
        left = np.unpackbits(packed, axis=1, bitorder="little")[:, : self.n_tasks]
        side = left * 2.0 - 1.0  # 1 or -1: products are 1 on the same side
        same = (side * (self.gain[at] / total)[:, None]).T @ side
        return np.clip((same + 1) / 2, 0.0, 1.0)
