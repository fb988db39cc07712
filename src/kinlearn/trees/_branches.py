"""The rest of extra trees, below nodes whose rows come together in one place.

A node is a function of its rows, of its key and of what all rows have in common, so its
branch is grown by the kernel that grows whole trees.
"""

from dataclasses import dataclass, replace

import numpy as np

from kinlearn._kernels.trees._extra_trees import Workspace
from kinlearn.trees._forest import LEAF, Forest
from kinlearn.trees._growth import Growth
from kinlearn.trees._questions import Totals, Weighed

__all__ = ["BranchJob", "Piece", "grow_branches", "root_moments"]


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


@dataclass(frozen=True, eq=False)
class Piece(Weighed):
    """The rows that some nodes have in one part.

    Attributes
    ----------
    start : int array of shape (n_nodes + 1,)
        Where each node's rows begin.
    columns : float32 array of shape (n_features, n_rows)
        Their features.
    task : int32 array of shape (n_rows,)
        Task codes.
    y : int32 or float64 array of shape (n_rows,)
        Class codes, or numbers.
    weight : float64 array of shape (n_rows,), or None
        Weights.
    """

    start: np.ndarray
    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


@dataclass(frozen=True, eq=False)
class _BranchGrowth(Growth):
    """The rows of a node, with the units of all rows."""

    totals: Totals

    @property
    def center(self):
        """What is taken off numbers before they are summed."""
        return self.totals.center

    @property
    def units(self):
        """What weights and sums are multiples of."""
        return {"w_unit": self.totals.w_unit, "b_unit": self.totals.b_unit}

    @property
    def whole_weight(self):
        """Weight of all rows of a tree."""
        return self.totals.weight * self.totals.w_unit


def grow_branches(pieces, job, totals, settings, leaf_smoothing, has_missing):
    """Grow nodes to the end from the rows of all parts.

    Parameters
    ----------
    pieces : list of Piece
        Their rows, in the order of the parts.
    job : BranchJob
        The nodes.
    totals : Totals
        Of all rows.
    settings : Settings
        How to grow.
    leaf_smoothing : float or None
        Weight of a leaf's answer in the answers for its tasks.
    has_missing : uint8 array of shape (n_features,)
        Whether a feature has NaN anywhere.

    Returns
    -------
    Forest
        A tree for each node.
    """
    workspace, stop = Workspace(), np.zeros(1, dtype=np.int32)
    grown = []
    for i in range(len(job.nodes)):
        rows = _node_rows(pieces, i)
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
        branch = growth.branch(int(job.key[i]), stop, workspace)
        if tasks is not None:
            own = None if branch.own_task is None else tasks[branch.own_task]
            branch = replace(branch, exceptions=tasks[branch.exceptions], own_task=own)
        grown.append(branch)
    return Forest.join(grown)


def _node_rows(pieces, i):
    """The rows of node i."""
    parts = [
        (piece, slice(piece.start[i], piece.start[i + 1]))
        for piece in pieces
        if piece.start[i] < piece.start[i + 1]
    ]
    rows = {
        name: np.concatenate([getattr(piece, name)[rows] for piece, rows in parts])
        for name in ("task", "y", "weight")
        if getattr(pieces[0], name) is not None
    }
    columns = np.concatenate([piece.columns[:, rows] for piece, rows in parts], axis=1)
    return {"weight": None, "columns": columns, **rows}


def root_moments(branches):
    """Mean, and sum of squares about it, of the numbers of each branch.

    Parameters
    ----------
    branches : Forest
        For numbers.

    Returns
    -------
    mean, squares : float64 arrays of shape (n_branches,)
        Of the rows at the roots.
    """
    weight = branches.weight[branches.tree_start[:-1]]
    of_leaf = branches.weight[branches.nodes["feature"] == LEAF]
    total = np.add.reduceat(of_leaf * branches.values[:, 0], branches.leaf_start[:-1])
    return total / weight, branches.impurity[branches.tree_start[:-1]] * weight
