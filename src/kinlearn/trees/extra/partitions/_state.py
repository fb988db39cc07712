"""What the driver of growth level by level knows of the nodes of a level."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kinlearn._kernels.trees.extra.partitions._draws import child_keys, draw_cuts
from kinlearn._partitions import Statistics
from kinlearn.trees.extra._model import LEAF, TASK_SPLIT
from kinlearn.trees.extra.partitions._requests import CutRequest, SplitRequest

__all__ = ["Draws", "Groups", "OpenNodes", "Splits", "starts"]


def starts(count: ArrayLike) -> np.ndarray:
    """Where things begin that lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(count)]).astype(np.int64)


@dataclass
class OpenNodes:
    """Nodes of a level that may be split.

    Attributes
    ----------
    number : int array of shape (n,)
        Among all nodes.
    place : int32 array of shape (n,)
        Among those that the parts have open.
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

    def part(self, which: np.ndarray | slice) -> Self:
        """Some of them."""
        return replace(
            self, **{k: v[which] for k, v in vars(self).items() if v is not None}
        )

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Those of one, then those of another."""
        return replace(
            parts[0],
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name, value in vars(parts[0]).items()
                if value is not None
            },
        )

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
    def join(cls, parts: Sequence[Self]) -> Self:
        """Of one portion of nodes after the other."""
        first = starts([len(p.feature) for p in parts])
        shifted = [
            replace(p, against_node=p.against_node + n)
            for p, n in zip(parts, first[:-1], strict=True)
        ]
        return replace(
            parts[0],
            **{
                name: np.concatenate([getattr(p, name) for p in shifted])
                for name, value in vars(parts[0]).items()
                if value is not None
            },
        )

    @property
    def places(self) -> np.ndarray:
        """Which nodes split."""
        return np.flatnonzero(self.feature != LEAF)

    @property
    def against_start(self) -> np.ndarray:
        """Where the tasks against each node's default side begin."""
        return starts(np.bincount(self.against_node, minlength=len(self.feature)))

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
class Draws:
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
        how: tuple,
        question: SplitRequest,
        answer: Statistics,
    ) -> Self:
        """Draw for all nodes of a request."""
        n, width = len(key), how[1] * (how[2] + 1)
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
        low, high = answer.by_request["low"], answer.by_request["high"]
        draw_cuts(
            draws.stream,
            draws.constant,
            *how,
            question.start,
            question.feature,
            low,
            high,
            answer.by_request.get("missing", np.zeros(len(low), dtype=np.uint8)),
            draws.n_found,
            draws.feature,
            draws.cut,
            draws.with_missing,
            draws.wants_task,
            draws.short,
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

    def question(self, nodes: np.ndarray, tree: np.ndarray) -> CutRequest:
        """A request for the sums left of these cuts."""
        return CutRequest(
            nodes=nodes,
            tree=tree,
            start=starts(self.n_found),
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
    def of(cls, answer: Statistics, n_groups: int) -> Self:
        """Those of a result."""
        return cls(
            answer.by_group["key"],
            answer.by_group["weight"],
            answer.by_group.get("total"),
            len(answer.start) - 1,
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
        return starts(np.bincount(self.node, minlength=self.n_nodes))

    def _part(self, which: np.ndarray) -> Self:
        total = None if self.total is None else self.total[which]
        return replace(
            self, key=self.key[which], weight=self.weight[which], total=total
        )

    def only(self, which: np.ndarray) -> Self:
        """The sums of some nodes."""
        return self._part(which[self.node])

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
        return both._part(np.argsort(both.key))
