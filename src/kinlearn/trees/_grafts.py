"""Branches that were grown apart, in the places of leaves."""

import numpy as np

from kinlearn.trees._forest import LEAF, TASK_SPLIT, Forest
from kinlearn.trees._questions import entries

__all__ = ["graft"]


def _starts(count: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(count)]).astype(np.int64)


class _Line:
    """Things of a forest and of its branches in the order of the whole.

    All arrays of a forest go depth first, so what a branch has of a thing comes in one
    piece, where its leaf was.

    Parameters
    ----------
    has : bool array of shape (n_nodes,)
        Which nodes of the forest have such a thing.
    leaves : int array of shape (n_branches,)
        Nodes that the branches replace.
    starts : int array of shape (n_branches + 1,)
        Where the branches' things begin.

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
        self.at = _starts(length)
        shift = np.repeat(first - self.at[:-1], length)
        self.source = np.arange(self.at[-1]) + shift

    def take(self, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Values of the things, in the order of the whole."""
        return np.concatenate([ours, theirs])[self.source]


def graft(forest: Forest, leaves: np.ndarray, branches: Forest) -> Forest:
    """Put branches in the places of leaves.

    Parameters
    ----------
    forest : Forest
        The trees.
    leaves : int array of shape (n_branches,)
        Nodes of the forest, counted over all trees.
    branches : Forest
        A tree for each of these leaves.

    Returns
    -------
    Forest
        The trees with their branches, numbered as if they had been grown at once.
    """
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
        where = entries(_starts(np.concatenate(length)), line.source)
        return {
            start: _starts(line.take(*length)),
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
