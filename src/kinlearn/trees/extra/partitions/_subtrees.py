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
from kinlearn.trees.extra._growth import Growth, Settings
from kinlearn.trees.extra._model import LEAF, Forest
from kinlearn.trees.extra.partitions._requests import Totals

__all__ = [
    "BranchJob",
    "PackedPieces",
    "Piece",
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

    def room(self, *shape: int) -> np.ndarray:
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
    def pack(pieces: Sequence["Piece"]) -> "PackedPieces":
        """Pieces in a form that is quick to send."""
        ends = np.cumsum([0, *(piece.start[-1] for piece in pieces)])
        out = pieces[0].room(ends[-1])
        for piece, at in zip(pieces, ends[:-1], strict=True):
            piece.copy(0, piece.start[-1], out, at)
        start = [p.start + at for p, at in zip(pieces, ends[:-1], strict=True)]
        return PackedPieces(start, **out)

    @staticmethod
    def unpack(packed: "PackedPieces") -> list["Piece"]:
        """The pieces."""
        arrays = {"weight": None, **vars(packed), "rows": None}
        return [Piece(**{**arrays, "start": start}) for start in packed.start]


@dataclass(frozen=True, eq=False)
class Piece(Weighed):
    """The rows that some nodes have in one part.

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
    weight : float64 array of shape (n_all,), or None
        Weights.
    """

    start: np.ndarray
    rows: np.ndarray | None
    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None

    def room(
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
            if name != "columns":
                array[here] = getattr(self, name)[there]
            elif self.rows is None:
                array[:, here] = self.columns[:, there]
            else:
                take_rows(self.columns, there, array, at)


@dataclass(frozen=True, eq=False)
class PackedPieces(Weighed):
    """Copies of the rows of several pieces, in arrays that travel as they are.

    Attributes
    ----------
    start : list of int arrays of shape (n_nodes + 1,)
        Where each node's rows begin, of each piece.
    columns, task, y, weight : arrays
        As of a piece.
    """

    start: list
    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class _BranchGrowth(Growth):
    """The rows of a node, with the units of all rows."""

    totals: Totals

    @property
    def center(self) -> float:
        """What is taken off numbers before they are summed."""
        return self.totals.center

    @property
    def units(self) -> dict[str, float]:
        """What weights and sums are multiples of."""
        return {"w_unit": self.totals.w_unit, "b_unit": self.totals.b_unit}

    @property
    def whole_weight(self) -> float:
        """Weight of all rows of a tree."""
        return self.totals.weight * self.totals.w_unit


def grow_branches(
    pieces: list[Piece],
    job: BranchJob,
    totals: Totals,
    settings: Settings,
    leaf_smoothing: float | None,
    has_missing: np.ndarray,
) -> Forest:
    """Grow nodes to the end from the rows of all parts."""
    scratch = _Scratch.free.pop() if _Scratch.free else _Scratch()
    stop = np.zeros(1, dtype=np.int32)
    grown = []
    for i in range(len(job.nodes)):
        rows = _node_rows(pieces, i, scratch)
        if i + 1 == len(job.nodes):
            pieces.clear()  # they take memory
        # The tasks of the node alone, if it has few: scratch is as long as they are.
        tasks, n_tasks = None, totals.n_tasks
        if n_tasks > len(rows["task"]):
            tasks, codes = np.unique(rows["task"], return_inverse=True)
            rows["task"], n_tasks = codes.astype(np.int32), len(tasks)
        growth = _BranchGrowth(
            **rows,
            by_row=None,
            codes=None,
            has_missing=has_missing,
            n_classes=0 if totals.numbers else max(totals.n_classes, 2),
            n_tasks=n_tasks,
            settings=replace(
                settings, max_depth=int(settings.max_depth - job.depth[i])
            ),
            leaf_smoothing=leaf_smoothing,
            totals=totals,
        )
        branch: Any = growth.branch(int(job.key[i]), stop, scratch.workspace)
        if tasks is not None:
            own = None if branch.own_task is None else tasks[branch.own_task]
            branch = replace(branch, exceptions=tasks[branch.exceptions], own_task=own)
        grown.append(branch)
    _Scratch.free.append(scratch)
    return Forest.join(grown)


def _node_rows(pieces: Sequence[Piece], i: int, scratch: _Scratch) -> dict[str, Any]:
    """The rows of node i, in the order of the parts."""
    length = [int(piece.start[i + 1] - piece.start[i]) for piece in pieces]
    rows, at = pieces[0].room(sum(length), scratch.room), 0
    for piece, n in zip(pieces, length, strict=True):
        piece.copy(piece.start[i], piece.start[i + 1], rows, at)
        at += n
    return {"weight": None, **rows}


def root_moments(branches: Forest) -> tuple[np.ndarray, np.ndarray]:
    """Mean, and sum of squares about it, of the numbers of each branch."""
    weight = branches.weight[branches.tree_start[:-1]]
    of_leaf = branches.weight[branches.nodes["feature"] == LEAF]
    total = np.add.reduceat(of_leaf * branches.values[:, 0], branches.leaf_start[:-1])
    return total / weight, branches.impurity[branches.tree_start[:-1]] * weight
