"""The rest of a multi-task tree, below nodes whose rows fit in one place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn._kernels.trees._mt_tree import grow_tree
from kinlearn.trees._mt_shares import Piece, Scheme
from kinlearn.trees._mt_tree import CRITERIA
from kinlearn.trees._questions import Weighed

__all__ = ["Job", "grow_pieces"]


@dataclass(frozen=True, eq=False)
class Job(Weighed):
    """Nodes that are grown to the end together.

    Attributes
    ----------
    nodes : int array of shape (n_nodes,)
        Which of the open nodes.
    tree : int array of shape (n_nodes,)
        Their trees.
    depth : int array of shape (n_nodes,)
        Their depths.
    stream : uint64 array of shape (n_nodes,)
        Their random numbers.
    min_weight_leaf : int64 array of shape (n_nodes,)
        The limit of their trees.
    """

    nodes: np.ndarray
    tree: np.ndarray
    depth: np.ndarray
    stream: np.ndarray
    min_weight_leaf: np.ndarray

    @staticmethod
    def pack(pieces: list[Piece]) -> list[Piece]:
        """Pieces in the form in which they are sent."""
        return pieces

    @staticmethod
    def unpack(pieces: list[Piece]) -> list[Piece]:
        """The pieces."""
        return pieces


def grow_pieces(
    pieces: Sequence[Piece], job: Job, scheme: Scheme, settings: dict[str, Any]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Grow nodes from the rows of all parts.

    Parameters
    ----------
    pieces : list of Piece
        Their rows, in the order of the parts.
    job : Job
        The nodes.
    scheme : Scheme
        What the codes stand for.
    settings : dict
        Of the growth; see ``GrowthData.grow``.

    Returns
    -------
    list of tuple
        What the kernel `grow_tree` gives, for each node.
    """
    grown = []
    for i in range(len(job.nodes)):
        stretches = [slice(p.start[i], p.start[i + 1]) for p in pieces]
        lines, cells, weight = (
            np.concatenate(
                [getattr(p, k)[s] for p, s in zip(pieces, stretches, strict=True)]
            )
            for k in ("lines", "cells", "weight")
        )
        # The cells and tasks of the node alone: scratch is as long as they are many.
        here, cells = np.unique(cells, return_inverse=True)
        tasks, cell_task = np.unique(scheme.cell_task[here], return_inverse=True)
        depth = settings["max_depth"]
        depth = len(cells) if depth is None else depth - int(job.depth[i])
        nodes, decisions, values, _ = grow_tree(
            np.asfortranarray(lines),
            lines,
            scheme.bins.n_bins,
            cells.astype(np.int32),
            weight,
            cell_task.astype(np.int32),
            scheme.cell_label[here],
            len(tasks),
            CRITERIA.index(settings["criterion"]),
            settings["purity"],
            depth,
            settings["min_samples_split"],
            settings["min_samples_leaf"],
            int(job.min_weight_leaf[i]),
            settings["max_features"],
            0,
            int(job.stream[i]),
        )
        decisions["task"] = tasks[decisions["task"]]
        grown.append((nodes, decisions, values))
    return grown
