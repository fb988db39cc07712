"""Trees of rounds, grown best leaf first from sums over partitions.

The splits of a tree are chosen one after the other, but a request takes time. As the
split of a node does not depend on the order in which others are split, a larger tree is
grown ahead, many leaves at a time, and the tree takes its splits from there. Of the two
sides of a split, the sums of the smaller one come from the partitions; those of the
other follow by subtraction.
"""

import heapq
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn._kernels._random import stream_state
from kinlearn.boosting.gradient._bins import FeatureBins
from kinlearn.boosting.gradient._model import SPLIT, Tree, Trees
from kinlearn.boosting.gradient._rounds import (
    Settings,
    make_growth,
    make_tree,
    most_leaves,
)
from kinlearn.boosting.gradient._start import Totals, Units
from kinlearn.boosting.gradient.partitions._quantiles import Prefixes, find_quantiles
from kinlearn.boosting.gradient.partitions._state import (
    AHEAD,
    Children,
    Gradients,
    LeafResiduals,
    Parting,
    Roots,
    Round,
)

__all__ = ["RoundPlan", "play_rounds"]

# Of the leaves that would be split next, if all others had no gain: so many of the best
# are split ahead. With more, requests are fewer, and more work is in vain.
_LIKELY = 0.7
_SECONDS = 0.5  # after which rounds are reported


@dataclass(frozen=True, eq=False)
class RoundPlan:
    """What the trees of all rounds have in common."""

    bins: FeatureBins
    n_tasks: int
    totals: Totals
    settings: Settings
    loss: Any  # of no rows

    @property
    def task_sums(self) -> bool:
        """Whether sums by task are wanted."""
        settings = self.settings
        return self.n_tasks > 1 and (settings.task_splits or settings.task_values)


def play_rounds(
    engine: Any, plan: RoundPlan, first: int, last: int
) -> list[tuple[Round, np.ndarray]]:
    """Play rounds, as many as a short time allows; with sums for the watched loss."""
    until = time.monotonic() + _SECONDS
    played: list[tuple[Round, np.ndarray]] = []
    found = engine.statistics(Gradients(first, None)).by_node
    for number in range(first, last):
        grown = _play_round(engine, plan, number, found)
        found = engine.statistics(Gradients(number + 1, grown)).by_node
        played.append((grown, found["total"][0]))
        if time.monotonic() > until:
            break
    return played


def _play_round(
    engine: Any, plan: RoundPlan, number: int, largest: dict[str, np.ndarray]
) -> Round:
    """Grow the trees of a round, all outputs together."""
    units = [Units.of(most, plan.totals) for most in largest["high"]]
    every = int(largest["rows"][0]) == 0
    most = AHEAD * most_leaves(plan.totals, plan.settings)
    request = Roots(units, every, plan.task_sums, most)
    roots = engine.statistics(request).by_node
    n_outputs = len(units)
    growing = [
        _GrowingTree(
            plan,
            unit,
            stream_state(plan.settings.seed, 2 * (number * n_outputs + k)),
            *(roots[name][k] for name in ("squares", "total", "hist", "tasks")),
        )
        for k, unit in enumerate(units)
    ]
    while wanted := [(k, node) for k, t in enumerate(growing) for node in t.advance()]:
        partings = [growing[k].part(k, node) for k, node in wanted]
        sums = engine.statistics(Children(partings, plan.task_sums)).by_node
        for i, (k, node) in enumerate(wanted):
            growing[k].receive(node, partings[i], sums["hist"][i], sums["tasks"][i])
    trees = [tree.finish(k, engine) for k, tree in enumerate(growing)]
    leaf_of = [tree.leaf_of() for tree in growing]
    return Round(number, Trees.of(trees, plan.n_tasks), leaf_of)


@dataclass(eq=False)
class _Node:
    """A node of the larger tree."""

    number: int  # of its rows, and as a leaf of the larger tree
    count: int
    cells: np.ndarray  # its histogram, until it is split
    tasks: np.ndarray  # sums by task
    split: np.ndarray | None = None
    bits: np.ndarray | None = None
    children: "tuple[_Node, _Node] | None" = None

    @property
    def gain(self) -> float:
        return 0.0 if self.split is None else float(self.split["gain"][0])

    def numbers(self) -> list[int]:
        """Of all sets of rows below."""
        if self.children is None:
            return [self.number]
        return [n for child in self.children for n in child.numbers()]


class _GrowingTree:
    """A tree, and the larger one that is grown ahead of it."""

    def __init__(
        self,
        plan: RoundPlan,
        units: Units,
        seed: int,
        noise: np.ndarray,
        sums: np.ndarray,
        cells: np.ndarray,
        tasks: np.ndarray,
    ) -> None:
        self.plan, self.units = plan, units
        self.noise = units.noise(noise)
        self.mask = (1 << units.bits) - 1
        self.growth, self.ahead = (
            make_growth(plan.bins, plan.n_tasks, plan.totals, plan.settings, factor)
            for factor in (1, AHEAD)
        )
        for growth in (self.growth, self.ahead):
            growth.search.begin(
                g_unit=units.g,
                h_unit=units.h,
                bits=units.bits,
                noise=self.noise,
                seed=seed,
            )
            growth.begin(sums)
        root = _Node(0, int(sums[1]) & self.mask, cells, tasks)
        self._find(root)
        self.leaves = [root]  # those of the tree, as nodes of the larger one
        self._put(0)

    # ------------------------------------------------------------------ the tree

    def _put(self, leaf: int) -> None:
        """Tell the tree the best split of a leaf."""
        node = self.leaves[leaf]
        if node.split is not None and self.growth.wants_split(leaf):
            self.growth.put_split(leaf, node.split, node.bits)

    def advance(self) -> list[_Node]:
        """Split as far as splits are known; the nodes to be split ahead next."""
        growth = self.growth
        while (leaf := growth.best_leaf()) >= 0:
            children = self.leaves[leaf].children
            if children is None:
                return self._likely(self.leaves[leaf])
            growth.split_leaf(leaf)
            self.leaves[leaf] = children[0]
            self.leaves.append(children[1])
            self._put(leaf)
            self._put(len(self.leaves) - 1)
        return []

    def _likely(self, best: _Node) -> list[_Node]:
        """Nodes that would be split, if those that are not known had no gain."""
        n_left = self.growth.max_leaves - self.growth.n_leaves
        heap = [(-node.gain, i, node) for i, node in enumerate(self.leaves)]
        heapq.heapify(heap)
        found: list[_Node] = []
        for turn in range(n_left):
            if not heap or heap[0][0] == 0:
                break
            node = heapq.heappop(heap)[-1]
            if node.children is None:
                found.append(node)
                continue
            for side, child in enumerate(node.children):
                number = len(self.leaves) + 2 * turn + side
                heapq.heappush(heap, (-child.gain, number, child))
        # room must be left for all that the tree may still need
        room = self.ahead.max_leaves - self.ahead.n_leaves - n_left
        n_more = min(int(np.ceil(_LIKELY * len(found))) - 1, room)
        others = [node for node in found if node is not best]
        return [best, *others[: max(n_more, 0)]]

    # ----------------------------------------------------------- the larger tree

    def _find(self, node: _Node) -> None:
        """Find the best split of a leaf of the larger tree."""
        if not self.ahead.wants_split(node.number):
            return
        tasks = node.tasks if self.plan.settings.task_splits else node.tasks[:0]
        self.ahead.find_split(node.number, node.cells, tasks)
        split = np.empty(1, dtype=SPLIT)
        bits = np.empty(self.ahead.search.set_bytes, dtype=np.uint8)
        self.ahead.copy_split(node.number, split, bits)
        if split["gain"][0] > 0:
            node.split, node.bits = split, bits

    def part(self, output: int, node: _Node) -> Parting:
        """Split a leaf of the larger tree; what partitions are told."""
        split: Any = node.split
        bits: Any = node.bits
        other = self.ahead.split_leaf(node.number)
        n_left = int(split["left_hc"][0]) & self.mask
        smaller = node.number if 2 * n_left <= node.count else other
        return Parting(output, node.number, other, smaller, split, bits)

    def receive(
        self, node: _Node, parting: Parting, cells: np.ndarray, tasks: np.ndarray
    ) -> None:
        """Take the sums of the smaller side."""
        n_left = int(parting.split["left_hc"][0]) & self.mask
        np.subtract(node.cells, cells, out=node.cells)
        sides = [(cells, tasks), (node.cells, node.tasks - tasks)]
        if parting.summed == parting.other:
            sides.reverse()
        node.cells = cells[:0]
        counts = n_left, node.count - n_left
        numbers = parting.number, parting.other
        left, right = (
            _Node(number, count, *sums)
            for number, count, sums in zip(numbers, counts, sides, strict=True)
        )
        node.children = left, right
        self._find(left)
        self._find(right)

    # -------------------------------------------------------------------- values

    def leaf_of(self) -> np.ndarray:
        """The leaf that each set of rows belongs to."""
        out = np.zeros(self.ahead.n_leaves, dtype=np.intp)
        for leaf, node in enumerate(self.leaves):
            out[node.numbers()] = leaf
        return out

    def finish(self, output: int, engine: Any) -> Tree:
        """The tree with the values of its leaves."""
        plan, sums = self.plan, None
        if plan.n_tasks > 1 and plan.settings.task_values:
            sums = self.units.numbers(np.stack([leaf.tasks for leaf in self.leaves]))

        def quantiles(by_task: bool) -> np.ndarray:
            leaf_of, unit = self.leaf_of(), plan.totals.weight_unit

            def count(prefixes: Prefixes) -> Any:
                return engine.statistics(
                    LeafResiduals(leaf_of, by_task, unit, prefixes)
                )

            n_groups = len(self.leaves) * (plan.n_tasks if by_task else 1)
            return find_quantiles(count, n_groups, plan.loss.quantile)

        return make_tree(
            self.growth,
            output,
            sums,
            noise=self.noise,
            mean_weight=plan.totals.mean_weight,
            learning_rate=plan.settings.learning_rate,
            loss=plan.loss,
            quantiles=quantiles,
        )[0]
