"""The nodes of trees that grow level by level: open ones, their splits, the forest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinlearn._kernels.trees.extra._grow_forest import NODE, spread_moments
from kinlearn._kernels.trees.extra.partitions._draws import (
    Drawing,
    child_keys,
    draw_cuts,
)
from kinlearn._partitions import Statistics
from kinlearn.trees.extra._growth import Settings
from kinlearn.trees.extra._model import LEAF, TASK_SPLIT, Forest, graft, starts_of
from kinlearn.trees.extra.partitions._rows import CutRequest, SplitRequest

__all__ = ["Groups", "LevelNodes", "NodeDraws", "OpenNodes", "Splits"]

_OF_SPLIT = ("split_cut", "split_mean", "split_class")


def _joined(several: Sequence[Any]) -> Any:
    """The arrays of records, end to end."""
    return replace(
        several[0],
        **{
            name: np.concatenate([getattr(each, name) for each in several])
            for name, value in vars(several[0]).items()
            if value is not None
        },
    )


@dataclass
class OpenNodes:
    """Nodes of a level that may be split.

    Attributes
    ----------
    number : int array of shape (n,)
        Among all nodes.
    place : int32 array of shape (n,)
        Among those that the partitions have open.
    tree : int32 array of shape (n,)
        Their trees.
    key : uint64 array of shape (n,)
        State of the node's own random stream.
    constant : uint64 array of shape (n, n_words)
        Bits of the features that are constant at an ancestor.
    weight, total, hist : int64 arrays, or None
        Sums over the node's rows; those that the kind of label has.
    """

    number: np.ndarray
    place: np.ndarray
    tree: np.ndarray
    key: np.ndarray
    constant: np.ndarray
    weight: np.ndarray
    total: np.ndarray | None
    hist: np.ndarray | None

    def some(self, which: np.ndarray | slice) -> Self:
        """Some of them."""
        return replace(
            self, **{k: v[which] for k, v in vars(self).items() if v is not None}
        )

    @classmethod
    def join(cls, several: Sequence[Self]) -> Self:
        """Those of one, then those of another."""
        return _joined(several)

    def children(self, splits: "Splits", first: int) -> "OpenNodes":
        """Left and right child of each node that splits, one after the other."""
        split = splits.places

        def both(of_left: np.ndarray, of_right: np.ndarray) -> np.ndarray:
            pair = np.stack([of_left, of_right], axis=1)
            return pair.reshape(-1, *of_left.shape[1:])

        def sums(name: str) -> Any:
            whole, of_left = getattr(self, name), getattr(splits, name)
            if whole is None:
                return None
            return both(of_left[split], whole[split] - of_left[split])

        keys = np.empty((2, len(split)), dtype=np.uint64)
        for side in range(2):
            child_keys(np.ascontiguousarray(self.key[split]), side + 1, keys[side])
        return OpenNodes(
            number=first + np.arange(2 * len(split)),
            place=np.full(2 * len(split), -1, dtype=np.int32),
            tree=np.repeat(self.tree[split], 2),
            key=both(*keys),
            constant=np.repeat(splits.constant[split], 2, axis=0),
            weight=sums("weight"),
            total=sums("total"),
            hist=sums("hist"),
        )


@dataclass
class Splits:
    """Splits of open nodes.

    Attributes
    ----------
    feature : int32 array of shape (n,)
        LEAF where there is no split.
    threshold, default_left : arrays of shape (n,)
        As in a forest's nodes.
    weight, total, hist : int64 arrays, or None
        Sums of the left side.
    constant : uint64 array of shape (n, n_words)
        Bits of the features known to be constant at the node.
    split_cut, split_mean, split_class : arrays of shape (n,)
        Of task splits; see `Forest`.
    against_node, against_task : int arrays
        Task splits send these tasks against their default side; nodes ascending.
    """

    feature: np.ndarray
    threshold: np.ndarray
    default_left: np.ndarray
    weight: np.ndarray
    total: np.ndarray | None
    hist: np.ndarray | None
    constant: np.ndarray
    split_cut: np.ndarray
    split_mean: np.ndarray
    split_class: np.ndarray
    against_node: np.ndarray
    against_task: np.ndarray

    @classmethod
    def none(cls, n: int, n_classes: int, constant: np.ndarray) -> Self:
        """No split at any of n nodes."""
        return cls(
            feature=np.full(n, LEAF, dtype=np.int32),
            threshold=np.zeros(n, dtype=np.float32),
            default_left=np.zeros(n, dtype=np.uint8),
            weight=np.zeros(n, dtype=np.int64),
            total=None if n_classes else np.zeros(n, dtype=np.int64),
            hist=np.zeros((n, n_classes), dtype=np.int64) if n_classes else None,
            constant=constant,
            split_cut=np.zeros(n),
            split_mean=np.zeros(n),
            split_class=np.zeros(n, dtype=np.int32),
            against_node=np.zeros(0, dtype=np.int64),
            against_task=np.zeros(0, dtype=np.int32),
        )

    @classmethod
    def join(cls, portions: Sequence[Self]) -> Self:
        """Of one portion of nodes after the other."""
        first = starts_of([len(p.feature) for p in portions])
        return _joined(
            [
                replace(p, against_node=p.against_node + n)
                for p, n in zip(portions, first[:-1], strict=True)
            ]
        )

    @property
    def places(self) -> np.ndarray:
        """Which nodes split."""
        return np.flatnonzero(self.feature != LEAF)

    @property
    def against_start(self) -> np.ndarray:
        """Where the tasks against each node's default side begin."""
        return starts_of(np.bincount(self.against_node, minlength=len(self.feature)))

    def list_tasks(self, groups: "Groups", goes_left: np.ndarray, n_each: int) -> None:
        """Find the tasks that go against the default side of task splits."""
        by_task = self.feature[groups.node] == TASK_SPLIT
        against = by_task & (goes_left != self.default_left[groups.node])
        node, task = groups.node[against], groups.group[against] // n_each
        # The classes of a task lie next to each other.
        new = np.ones(len(node), dtype=bool)
        new[1:] = (node[1:] != node[:-1]) | (task[1:] != task[:-1])
        self.against_node, self.against_task = node[new], task[new].astype(np.int32)


@dataclass
class NodeDraws:
    """What nodes drew, as the kernel `draw_cuts` fills it."""

    stream: np.ndarray
    constant: np.ndarray
    n_found: np.ndarray
    feature: np.ndarray
    cut: np.ndarray
    with_missing: np.ndarray
    wants_task: np.ndarray
    short: np.ndarray

    @classmethod
    def of(
        cls,
        key: np.ndarray,
        constant: np.ndarray,
        settings: Settings,
        drawing: Drawing,
        request: SplitRequest,
        found: Statistics,
    ) -> Self:
        """Draw for all nodes of a request."""
        n, width = len(key), settings.max_features * (settings.n_cuts + 1)
        draws = cls(
            stream=key.copy(),
            constant=constant,
            n_found=np.zeros(n, dtype=np.int64),
            feature=np.zeros((n, width), dtype=np.int32),
            cut=np.zeros((n, width), dtype=np.float32),
            with_missing=np.zeros((n, width), dtype=np.uint8),
            wants_task=np.zeros(n, dtype=np.uint8),
            short=np.zeros(n, dtype=np.uint8),
        )
        low, high = found.by_request["low"], found.by_request["high"]
        missing = found.by_request.get("missing", np.zeros(len(low), dtype=np.uint8))
        draw_cuts(
            draws, settings, drawing, request.start, request.feature, low, high, missing
        )
        return draws

    def take(self, other: Self, which: np.ndarray) -> None:
        """Another's draws for some nodes."""
        for name, values in vars(other).items():
            if name != "constant":
                getattr(self, name)[which] = values[which]

    def flat(self, values: np.ndarray) -> np.ndarray:
        """The values of the cuts found, node after node."""
        return values[np.arange(values.shape[1]) < self.n_found[:, None]]

    def request(self, nodes: np.ndarray, tree: np.ndarray) -> CutRequest:
        """A request for the sums left of these cuts."""
        return CutRequest(
            nodes=nodes,
            tree=tree,
            start=starts_of(self.n_found),
            feature=self.flat(self.feature),
            cut=self.flat(self.cut),
        )


@dataclass
class Groups:
    """Sums by task, or by class of a task, of some nodes.

    Attributes
    ----------
    key : int64 array
        The node times the number of groups, plus the group; ascending.
    weight, total : int64 arrays, or None
        The sums.
    n_nodes, n_groups : int
        How many there can be.
    """

    key: np.ndarray
    weight: np.ndarray
    total: np.ndarray | None
    n_nodes: int
    n_groups: int

    @classmethod
    def of(cls, found: Statistics, n_groups: int) -> Self:
        """Those of a result."""
        return cls(
            found.by_group["key"],
            found.by_group["weight"],
            found.by_group.get("total"),
            len(found.start) - 1,
            n_groups,
        )

    @property
    def node(self) -> np.ndarray:
        """The node of each sum."""
        return self.key // self.n_groups

    @property
    def group(self) -> np.ndarray:
        """The group of each sum."""
        return (self.key % self.n_groups).astype(np.int32)

    @property
    def start(self) -> np.ndarray:
        """Where the sums of each node begin."""
        return starts_of(np.bincount(self.node, minlength=self.n_nodes))

    def _some(self, which: np.ndarray) -> Self:
        total = None if self.total is None else self.total[which]
        return replace(
            self, key=self.key[which], weight=self.weight[which], total=total
        )

    def only(self, which: np.ndarray) -> Self:
        """The sums of some nodes."""
        return self._some(which[self.node])

    def replaced(self, other: "Groups", which: np.ndarray) -> "Groups":
        """The same, with another's sums for some nodes."""
        ours, theirs = self.only(~which), other.only(which)
        both = Groups(
            np.concatenate([ours.key, theirs.key]),
            np.concatenate([ours.weight, theirs.weight]),
            None if self.total is None else np.concatenate([ours.total, theirs.total]),
            self.n_nodes,
            self.n_groups,
        )
        return both._some(np.argsort(both.key))


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
        first = starts_of([len(level["tree"]) for level in self.levels])
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
        ends = np.searchsorted(split, starts_of([len(v["tree"]) for v in self.levels]))
        levels = [slice(*ends[i : i + 2]) for i in range(len(ends) - 1)]
        size = np.ones(len(of["left"]), dtype=np.int64)
        for level in reversed(levels):
            size[split[level]] += size[left[level]] + size[right[level]]
        place = np.zeros(len(size), dtype=np.int64)  # within the tree
        for level in levels:
            place[left[level]] = place[split[level]] + 1
            place[right[level]] = place[left[level]] + size[left[level]]

        tree_start = starts_of(np.bincount(of["tree"], minlength=n_trees))
        order = np.argsort(tree_start[of["tree"]] + place)
        tree, feature = of["tree"][order], of["feature"][order]
        is_leaf, is_task = feature == LEAF, feature == TASK_SPLIT
        leaf_start = starts_of(np.bincount(tree[is_leaf], minlength=n_trees))
        split_start = starts_of(np.bincount(tree[is_task], minlength=n_trees))
        nodes = np.empty(len(order), dtype=NODE)
        nodes["feature"], nodes["slot"] = feature, -1
        nodes["threshold"] = np.where(is_leaf, -np.inf, of["threshold"][order])
        right_of = np.arange(len(size))
        right_of[split] = right
        nodes["right"] = place[right_of][order]
        for mask, start in ((is_leaf, leaf_start), (is_task, split_start)):
            nodes["slot"][mask] = np.arange(mask.sum()) - start[tree[mask]]
        weight = of["weight"][order]
        values = of["value"][order][is_leaf]
        impurity = of["impurity"][order]
        if self._moments:
            mean, squares = np.zeros((2, len(order)))
            for number, of_mean, of_squares in self._moments:
                mean[number], squares[number] = of_mean, of_squares
            mean, squares = mean[order], squares[order]
            spread_moments(nodes, tree_start, weight, mean, squares)
            values, impurity = mean[is_leaf][:, None], squares / weight
        exception_start, (exceptions,) = _sorted(self._against, order[is_task])
        own = {}
        if smoothed:
            nothing = np.zeros(0, np.int64), np.zeros(0, np.int32)
            self.add_own(*nothing, np.zeros((0, values.shape[1])))
            own_start, (own_task, own_values) = _sorted(self._own, order[is_leaf])
            own = {
                "own_start": own_start,
                "own_task": own_task,
                "own_values": own_values,
            }
        forest = Forest(
            nodes=nodes,
            default_left=of["default_left"][order],
            weight=weight,
            impurity=impurity,
            values=np.ascontiguousarray(values),
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


def _sorted(
    several: Sequence[tuple[np.ndarray, ...]], numbers: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Entries of nodes, in the order of these nodes: where each begins, and they."""
    number = np.concatenate([each[0] for each in several])
    rank = np.empty(max(numbers.max(initial=-1), number.max(initial=-1)) + 1, np.int64)
    rank[numbers] = np.arange(len(numbers))
    order = np.argsort(rank[number], kind="stable")
    columns = [
        np.concatenate([each[i] for each in several])[order]
        for i in range(1, len(several[0]))
    ]
    return starts_of(np.bincount(rank[number], minlength=len(numbers))), columns
