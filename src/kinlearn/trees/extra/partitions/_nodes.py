"""The nodes of trees that grow level by level, and the forest they become."""

from collections.abc import Sequence

import numpy as np

from kinlearn._kernels.trees.extra._grow_forest import NODE
from kinlearn.trees.extra._model import LEAF, TASK_SPLIT, Forest, graft
from kinlearn.trees.extra.partitions._state import Splits, starts

__all__ = ["LevelNodes"]

_OF_SPLIT = ("split_cut", "split_mean", "split_class")


class LevelNodes:
    """Nodes of some trees in the order of their birth, which numbers them.

    Attributes
    ----------
    levels : list of dict of arrays
        For each level, by node: `tree`, `weight`, `impurity`, `value` (of shape
        (n, n_values), used if it is a leaf), `feature`, `threshold`,
        `default_left`, what `Forest` has of task splits, and `left`, the number of
        its left child, which the right one follows, or -1.
    """

    def __init__(self) -> None:
        self.levels: list[dict[str, np.ndarray]] = []
        # numbers of task splits, and tasks
        self._against = [(np.zeros(0, np.int64), np.zeros(0, np.int32))]
        # numbers of leaves; mean, and squares about it
        self._moments: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        # numbers of leaves, tasks, and their values
        self._own: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        # numbers of leaves, and what grows in their places
        self._branches: list[tuple[np.ndarray, Forest]] = []

    @property
    def n_nodes(self) -> int:
        """How many there are."""
        return sum(len(level["tree"]) for level in self.levels)

    def add_level(
        self,
        tree: np.ndarray,
        weight: np.ndarray,
        impurity: np.ndarray,
        value: np.ndarray,
    ) -> None:
        """Add the nodes of a new level, as leaves."""
        n = len(tree)
        self.levels.append(
            {
                "tree": tree,
                "weight": weight,
                "impurity": impurity,
                "value": value,
                "feature": np.full(n, LEAF, dtype=np.int32),
                "threshold": np.zeros(n, dtype=np.float32),
                "default_left": np.zeros(n, dtype=np.uint8),
                "left": np.full(n, -1),
                "split_cut": np.zeros(n),
                "split_mean": np.zeros(n),
                "split_class": np.zeros(n, dtype=np.int32),
            }
        )

    def depth(self, number: np.ndarray) -> np.ndarray:
        """Depths of nodes."""
        first = starts([len(level["tree"]) for level in self.levels])
        return np.searchsorted(first, number, side="right") - 1

    def add_branches(self, number: np.ndarray, branches: Forest) -> None:
        """Replace leaves by branches."""
        self._branches.append((number, branches))

    def split(self, number: np.ndarray, splits: Splits) -> None:
        """Split nodes of the last level; their children will be the next level."""
        level, places = self.levels[-1], splits.places
        first = self.n_nodes
        at = number[places] - (first - len(level["tree"]))
        for name in ("feature", "threshold", "default_left", *_OF_SPLIT):
            level[name][at] = getattr(splits, name)[places]
        level["left"][at] = first + 2 * np.arange(len(places))
        self._against.append((number[splits.against_node], splits.against_task))

    def add_moments(
        self, number: np.ndarray, mean: np.ndarray, squares: np.ndarray
    ) -> None:
        """Mean, and sum of squares about it, of the numbers in leaves."""
        self._moments.append((number, mean, squares))

    def add_own(self, number: np.ndarray, task: np.ndarray, values: np.ndarray) -> None:
        """Values of leaves for tasks: a leaf may come more than once, tasks rising."""
        self._own.append((number, task, values))

    def forest(self, n_trees: int, smoothed: bool = False) -> Forest:
        """The trees, depth first and the left side first."""
        of = {
            name: np.concatenate([level[name] for level in self.levels])
            for name in self.levels[0]
        }
        split = np.flatnonzero(of["left"] >= 0)
        left, right = of["left"][split], of["left"][split] + 1
        # All nodes of a level at once: parents come before their children.
        ends = np.searchsorted(split, starts([len(v["tree"]) for v in self.levels]))
        pieces = [slice(*ends[i : i + 2]) for i in range(len(ends) - 1)]
        size = np.ones(len(of["left"]), dtype=np.int64)
        for piece in reversed(pieces):
            size[split[piece]] += size[left[piece]] + size[right[piece]]
        place = np.zeros(len(size), dtype=np.int64)  # within the tree
        for piece in pieces:
            place[left[piece]] = place[split[piece]] + 1
            place[right[piece]] = place[left[piece]] + size[left[piece]]
        if self._moments:
            of["value"], of["impurity"] = self._numbers(of, split, pieces)

        tree_start = starts(np.bincount(of["tree"], minlength=n_trees))
        order = np.argsort(tree_start[of["tree"]] + place)
        tree, feature = of["tree"][order], of["feature"][order]
        is_leaf, is_task = feature == LEAF, feature == TASK_SPLIT
        leaf_start = starts(np.bincount(tree[is_leaf], minlength=n_trees))
        split_start = starts(np.bincount(tree[is_task], minlength=n_trees))
        nodes = np.empty(len(order), dtype=NODE)
        nodes["feature"], nodes["slot"] = feature, -1
        nodes["threshold"] = np.where(is_leaf, -np.inf, of["threshold"][order])
        right_of = np.arange(len(size))
        right_of[split] = right
        nodes["right"] = place[right_of][order]
        for mask, start in ((is_leaf, leaf_start), (is_task, split_start)):
            nodes["slot"][mask] = np.arange(mask.sum()) - start[tree[mask]]
        exception_start, (exceptions,) = _sorted(self._against, order[is_task])
        own = {}
        if smoothed:
            nothing = np.zeros(0, np.int64), np.zeros(0, np.int32)
            self.add_own(*nothing, np.zeros((0, of["value"].shape[1])))
            own_start, (own_task, own_values) = _sorted(self._own, order[is_leaf])
            own = {
                "own_start": own_start,
                "own_task": own_task,
                "own_values": own_values,
            }
        forest = Forest(
            nodes=nodes,
            default_left=of["default_left"][order],
            weight=of["weight"][order],
            impurity=of["impurity"][order],
            values=np.ascontiguousarray(of["value"][order][is_leaf]),
            tree_start=tree_start,
            leaf_start=leaf_start,
            split_start=split_start,
            exception_start=exception_start,
            exceptions=exceptions,
            **{name: of[name][order][is_task] for name in _OF_SPLIT},
            **own,
        )
        if not self._branches:
            return forest
        at = np.empty(len(order), dtype=np.int64)
        at[order] = np.arange(len(order))
        return graft(
            forest,
            at[np.concatenate([number for number, _ in self._branches])],
            Forest.join([branches for _, branches in self._branches]),
        )

    def _numbers(
        self, of: dict[str, np.ndarray], split: np.ndarray, pieces: Sequence[slice]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values and variances of all nodes from those of the leaves."""
        mean, squares = np.zeros((2, len(of["left"])))
        for number, of_mean, of_squares in self._moments:
            mean[number], squares[number] = of_mean, of_squares
        weight = of["weight"]
        for piece in reversed(pieces):
            node = split[piece]
            left = of["left"][node]
            right = left + 1
            share = weight[right] / weight[node]
            gap = mean[right] - mean[left]
            mean[node] = mean[left] + share * gap
            squares[node] = (
                squares[left] + squares[right] + share * weight[left] * gap * gap
            )
        return mean[:, None], squares / weight


def _sorted(
    parts: Sequence[tuple[np.ndarray, ...]], numbers: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Entries of nodes, in the order of these nodes: where each begins, and they."""
    number = np.concatenate([part[0] for part in parts])
    rank = np.empty(max(numbers.max(initial=-1), number.max(initial=-1)) + 1, np.int64)
    rank[numbers] = np.arange(len(numbers))
    order = np.argsort(rank[number], kind="stable")
    columns = [
        np.concatenate([part[i] for part in parts])[order]
        for i in range(1, len(parts[0]))
    ]
    return starts(np.bincount(rank[number], minlength=len(numbers))), columns
