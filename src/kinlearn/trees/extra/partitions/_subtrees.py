"""The rest of extra trees, below nodes whose rows come together in one place.

A node is a function of its rows, of its key and of what all rows have in common, so its
branch is grown by the kernel that grows whole trees.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn._kernels.trees.extra._grow_forest import Workspace
from kinlearn._kernels.trees.extra.partitions._passes import take_rows
from kinlearn._partitions import Weighed
from kinlearn.trees.extra._growth import Growth, Settings, Units
from kinlearn.trees.extra._model import LEAF, Forest

__all__ = [
    "BranchJob",
    "NodeRows",
    "PackedRows",
    "Totals",
    "grow_branches",
    "release_memory",
    "root_moments",
]


class _Scratch:
    """Memory to grow in; the pages of fresh memory cost as much as the work.

    Attributes
    ----------
    workspace : Workspace
        Of the kernel.
    columns : float32 array
        For features.
    """

    free: list["_Scratch"] = []  # what nobody works with at present

    def __init__(self) -> None:
        self.workspace = Workspace()
        self.columns = np.empty(0, dtype=np.float32)

    def arrays(self, *shape: int) -> np.ndarray:
        """An array of this shape, until the next one is requested."""
        n = math.prod(shape)
        if len(self.columns) < n:
            self.columns = np.empty(0, dtype=np.float32)  # let go of it first
            self.columns = np.empty(n, dtype=np.float32)
        return self.columns[:n].reshape(shape)


def release_memory() -> None:
    """Give back what growth keeps for more."""
    _Scratch.free.clear()


@dataclass(frozen=True, eq=False)
class BranchJob(Weighed):
    """Nodes that are grown to the end together.

    Attributes
    ----------
    nodes : int32 array of shape (n_nodes,)
        Which of the open nodes.
    tree : int32 array of shape (n_nodes,)
        Their trees.
    key : uint64 array of shape (n_nodes,)
        States of their random streams.
    depth : int array of shape (n_nodes,)
        Their depths.
    """

    nodes: np.ndarray
    tree: np.ndarray
    key: np.ndarray
    depth: np.ndarray

    @staticmethod
    def pack(partitions: Sequence["NodeRows"]) -> "PackedRows":
        """The rows in a form that is quick to send."""
        ends = np.cumsum([0, *(partition.start[-1] for partition in partitions)])
        out = partitions[0].arrays(ends[-1])
        for partition, at in zip(partitions, ends[:-1], strict=True):
            partition.copy(0, partition.start[-1], out, at)
        start = [p.start + at for p, at in zip(partitions, ends[:-1], strict=True)]
        return PackedRows(start, **out)

    @staticmethod
    def unpack(packed: "PackedRows") -> list["NodeRows"]:
        """The rows."""
        arrays = {"weight": None, **vars(packed), "rows": None}
        return [NodeRows(**{**arrays, "start": start}) for start in packed.start]


@dataclass(frozen=True, eq=False)
class NodeRows(Weighed):
    """The rows that some nodes have in one partition.

    Attributes
    ----------
    start : int array of shape (n_nodes + 1,)
        Where each node's rows begin.
    rows : int32 array, or None
        Where in the arrays the rows are; None: where `start` has them.
    columns : float32 array of shape (n_features, n_all)
        Features.
    task : int32 array of shape (n_all,)
        Task codes.
    y : int32 or float64 array of shape (n_all,)
        Class codes, or numbers.
    weight : float64 array, or None
        Weights of the nodes' rows, where `start` has them.
    """

    start: np.ndarray
    rows: np.ndarray | None
    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None

    def arrays(
        self, n_rows: int, columns: Callable[..., np.ndarray] | None = None
    ) -> dict[str, np.ndarray]:
        """Arrays for so many rows, by name; `columns` makes that of the features."""
        columns = columns or (lambda *shape: np.empty(shape, dtype=np.float32))
        arrays = {
            name: np.empty(n_rows, dtype=like.dtype)
            for name in ("task", "y", "weight")
            if (like := getattr(self, name)) is not None
        }
        arrays["columns"] = columns(len(self.columns), n_rows)
        return arrays

    def copy(self, first: int, last: int, out: dict[str, np.ndarray], at: int) -> None:
        """Copy the rows from `first` to `last`, as `start` counts them."""
        here = slice(at, at + last - first)
        there = slice(first, last) if self.rows is None else self.rows[first:last]
        for name, array in out.items():
            if name == "weight":
                array[here] = self.weight[first:last]  # type: ignore[index]
            elif name != "columns":
                array[here] = getattr(self, name)[there]
            elif self.rows is None:
                array[:, here] = self.columns[:, there]
            else:
                take_rows(self.columns, there, array, at)


@dataclass(frozen=True, eq=False)
class PackedRows(Weighed):
    """Copies of the rows of several partitions, in arrays that travel as they are.

    Attributes
    ----------
    start : list of int arrays of shape (n_nodes + 1,)
        Where each node's rows begin, of each partition.
    columns, task, y, weight : arrays
        As of one partition.
    """

    start: list
    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Totals:
    """What is known of the rows of all partitions together, and of some trees.

    Attributes
    ----------
    n_features, n_tasks : int
        How many there are.
    n_classes : int
        Number of classes if it is more than two, else 0.
    numbers, weighted : bool
        Whether labels are numbers, and rows have weights.
    has_missing : uint8 array of shape (n_features,)
        Whether a feature has NaN anywhere.
    weight, total, hist : int64 arrays by tree, or None
        Sums over all rows of a tree; those that the kind of label has.
    w_unit, b_unit, center : float64 arrays of shape (n_trees,)
        See `Units`.
    """

    n_features: int
    n_tasks: int
    n_classes: int
    numbers: bool
    weighted: bool
    has_missing: np.ndarray
    weight: np.ndarray
    total: np.ndarray | None
    hist: np.ndarray | None
    w_unit: np.ndarray
    b_unit: np.ndarray
    center: np.ndarray


def grow_branches(
    partitions: list[NodeRows],
    job: BranchJob,
    totals: Totals,
    settings: Settings,
    leaf_smoothing: float | None,
) -> Forest:
    """Grow nodes to the end from the rows of all partitions."""
    scratch = _Scratch.free.pop() if _Scratch.free else _Scratch()
    stop = np.zeros(1, dtype=np.int32)
    grown = []
    for i in range(len(job.nodes)):
        rows = _node_rows(partitions, i, scratch)
        if i + 1 == len(job.nodes):
            partitions.clear()  # they take memory
        # The tasks of the node alone, if it has few: scratch is as long as they are.
        tasks, n_tasks = None, totals.n_tasks
        if n_tasks > len(rows["task"]):
            tasks, codes = np.unique(rows["task"], return_inverse=True)
            rows["task"], n_tasks = codes.astype(np.int32), len(tasks)
        tree = job.tree[i]
        units = totals.w_unit[tree], totals.b_unit[tree], totals.center[tree]
        growth = Growth(
            **rows,
            has_missing=totals.has_missing,
            n_classes=0 if totals.numbers else max(totals.n_classes, 2),
            n_tasks=n_tasks,
            settings=replace(
                settings, max_depth=int(settings.max_depth - job.depth[i])
            ),
            leaf_smoothing=leaf_smoothing,
            known_units=Units(*map(float, units)),
            whole_weight=float(totals.weight[tree] * totals.w_unit[tree]),
        )
        branch: Any = growth.branch(int(job.key[i]), stop, scratch.workspace)
        if tasks is not None:
            own = None if branch.own_task is None else tasks[branch.own_task]
            branch = replace(branch, exceptions=tasks[branch.exceptions], own_task=own)
        grown.append(branch)
    _Scratch.free.append(scratch)
    return Forest.join(grown)


def _node_rows(
    partitions: Sequence[NodeRows], i: int, scratch: _Scratch
) -> dict[str, Any]:
    """The rows of node i, in the order of the partitions."""
    length = [
        int(partition.start[i + 1] - partition.start[i]) for partition in partitions
    ]
    rows, at = partitions[0].arrays(sum(length), scratch.arrays), 0
    for partition, n in zip(partitions, length, strict=True):
        partition.copy(partition.start[i], partition.start[i + 1], rows, at)
        at += n
    return {"weight": None, **rows}


def root_moments(branches: Forest) -> tuple[np.ndarray, np.ndarray]:
    """Mean, and sum of squares about it, of the numbers of each branch."""
    weight = branches.weight[branches.tree_start[:-1]]
    of_leaf = branches.weight[branches.nodes["feature"] == LEAF]
    total = np.add.reduceat(of_leaf * branches.values[:, 0], branches.leaf_start[:-1])
    return total / weight, branches.impurity[branches.tree_start[:-1]] * weight
