"""Growing trees level by level from rows that lie in many partitions.

Two requests a level, for all trees at once: the extremes of the features that the open
nodes draw (with the sums by task), then the sums of the rows at or below the cuts.
The draws are those of :mod:`kinlearn._kernels.trees.extra._grow_forest`, so the trees
are the same as if all rows were in one place.

A node that has become small waits until all others have. Then the rows of such
nodes are brought together, those of a few nodes at a time, and their branches grown.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn._kernels._random import stream_state
from kinlearn._kernels.trees.extra.partitions._draws import (
    Drawing,
    choose,
    foresee,
    impurities,
)
from kinlearn._partitions import LocalPartitions
from kinlearn.trees.extra._growth import Settings, smooth_leaves
from kinlearn.trees.extra._model import Forest, starts_of
from kinlearn.trees.extra.partitions._nodes import (
    Groups,
    LevelNodes,
    NodeDraws,
    OpenNodes,
    Splits,
)
from kinlearn.trees.extra.partitions._rows import (
    LeafRequest,
    Plan,
    RowRequest,
    SplitRequest,
)
from kinlearn.trees.extra.partitions._subtrees import (
    BranchJob,
    Totals,
    grow_branches,
    root_moments,
)

__all__ = ["LevelGrowth"]

# Nodes are requested in portions whose results have so many entries at the most (or are
# of one node): that bounds the memory that results take, and what is sent at once.
_MOST_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class LevelGrowth:
    """Grows trees from partitions.

    Attributes
    ----------
    engine : LocalPartitions or the like
        Carries out plans and requests; the rows are at the roots.
    totals : Totals
        Of all rows, and of the trees.
    settings : Settings
        How to grow.
    leaf_smoothing : float or None
        Weight of a leaf's value in the values for its tasks.
    most_together : int
        Rows that may come together in one place.
    """

    engine: LocalPartitions
    totals: Totals
    settings: Settings
    leaf_smoothing: float | None = None
    most_together: int = 0

    def grow(self, seeds: Sequence[int]) -> Forest:
        """Grow trees."""
        n, totals = len(seeds), self.totals
        nodes = LevelNodes()
        opened = OpenNodes(
            number=np.arange(n),
            place=np.arange(n, dtype=np.int32),
            tree=np.arange(n, dtype=np.int32),
            key=np.array([stream_state(s, 0) for s in seeds], dtype=np.uint64),
            constant=np.zeros((n, -(-totals.n_features // 64)), dtype=np.uint64),
            weight=totals.weight,
            total=totals.total,
            hist=totals.hist,
        )
        self._record(nodes, opened)
        opened, waiting = self._apart(opened)
        while len(opened.number):
            alive = ~self._ends(opened, len(nodes.levels) - 1)
            splits = self._split(opened, alive)
            born, waiting = self._next_level(nodes, opened, splits, waiting)
            opened, small = self._apart(born)
            waiting = OpenNodes.join([waiting, small])
        self._grow_branches(nodes, waiting)
        return nodes.forest(n, smoothed=self.leaf_smoothing is not None)

    def _record(self, nodes: LevelNodes, born: OpenNodes) -> None:
        impurity = np.empty(len(born.weight))
        impurities(born, self.totals, self.settings, impurity)
        nodes.add_level(born.tree, self._weight(born), impurity, self._value(born))

    def _weight(self, nodes: OpenNodes) -> np.ndarray:
        return nodes.weight * self.totals.w_unit[nodes.tree]

    def _value(self, born: OpenNodes) -> np.ndarray:
        """Values of leaves of classes."""
        if born.hist is not None:
            return born.hist / born.weight[:, None]
        total: Any = born.total
        return (total * self.totals.b_unit[born.tree] / self._weight(born))[:, None]

    def _ends(self, born: OpenNodes, depth: int) -> np.ndarray:
        """Which nodes are leaves whatever could split them."""
        s = self.settings
        enough = max(s.min_weight_split, 2 * s.min_weight_leaf)
        ends = self._weight(born) < enough
        if depth >= s.max_depth:
            ends[:] = True
        if born.hist is not None:
            ends |= (born.hist > 0).sum(axis=1) == 1
        elif not self.totals.numbers:
            ends |= (born.total == 0) | (born.total == born.weight)
        return ends

    # ------------------------------------------------------------------------
    # Branches
    # ------------------------------------------------------------------------

    def _n_rows(self, opened: OpenNodes) -> np.ndarray:
        if not (self.totals.weighted and len(opened.place)):
            return opened.weight
        return self.engine.statistics(RowRequest(opened.place)).by_node["rows"]

    def _apart(self, opened: OpenNodes) -> tuple[OpenNodes, OpenNodes]:
        """The nodes that are split by sums, and those whose rows come together."""
        if not self.most_together:
            return opened, opened.some(slice(0))
        small = self._n_rows(opened) <= self.most_together
        return opened.some(~small), opened.some(small)

    def _grow_branches(self, nodes: LevelNodes, small: OpenNodes) -> None:
        """Grow nodes to the end, as many at a time as may come together."""
        n_rows = self._n_rows(small)
        order = np.argsort(-n_rows, kind="stable")  # the large ones one by one
        together: list[list[int]] = []
        n_here = 0
        for i in order:
            n_here += n_rows[i]
            if not together or n_here > self.most_together:
                together.append([])
                n_here = n_rows[i]
            together[-1].append(i)
        depth = nodes.depth(small.number)
        jobs = [
            BranchJob(small.place[i], small.tree[i], small.key[i], depth[i])
            for i in map(np.array, together)
        ]
        grown = self.engine.assemble(
            grow_branches,
            jobs,
            self.totals,
            self.settings,
            self.leaf_smoothing,
        )
        for i, branches in zip(together, grown, strict=True):
            nodes.add_branches(small.number[i], branches)
            if self.totals.numbers:
                nodes.add_moments(small.number[i], *root_moments(branches))

    # ------------------------------------------------------------------------
    # Splits
    # ------------------------------------------------------------------------

    def _split(self, opened: OpenNodes, alive: np.ndarray) -> Splits:
        entries = np.full(len(alive), self.settings.max_features, dtype=np.float64)
        if self._tries_tasks:  # rows, or all tasks with all classes
            groups = self.totals.n_tasks * max(self.totals.n_classes, 1)
            entries += np.minimum(self._weight(opened), groups)
        number = (np.cumsum(entries) // _MOST_ENTRIES).astype(np.int64)
        ends = np.flatnonzero(np.diff(number, append=-1)) + 1
        portions = [slice(*p) for p in itertools.pairwise([0, *ends.tolist()])]
        return Splits.join(
            [self._split_portion(opened.some(p), alive[p]) for p in portions]
        )

    @property
    def _tries_tasks(self) -> bool:
        return self.settings.task_split_prob > 0 and self.totals.n_tasks > 1

    def _split_portion(self, nodes: OpenNodes, alive: np.ndarray) -> Splits:
        totals, settings = self.totals, self.settings
        splits = Splits.none(len(alive), totals.n_classes, nodes.constant.copy())
        if not alive.any():
            return splits
        drawing = Drawing(totals.n_features)
        feature = np.empty((len(alive), settings.max_features), dtype=np.int32)
        wants_task = np.empty(len(alive), dtype=np.uint8)
        foresee(nodes, settings, drawing, feature, wants_task)
        feature[~alive] = -1
        request = SplitRequest(
            nodes=nodes.place,
            tree=nodes.tree,
            start=starts_of((feature >= 0).sum(axis=1)),
            feature=feature[feature >= 0],
            wants_task=wants_task * (alive & self._tries_tasks),
        )
        found = self.engine.statistics(request)
        if totals.numbers:  # those that are all the same
            of = found.by_node
            alive = alive & (of["number_low"] < of["number_high"])
        how = nodes.key, splits.constant, settings, drawing
        draws = NodeDraws.of(*how, request, found)
        groups = Groups.of(found, totals.n_tasks * max(totals.n_classes, 1))
        # A feature that is constant, or has but one value besides missing ones, moves
        # the stream: then other features come, or another decision about tasks.
        new_wish = (draws.wants_task > request.wants_task) & self._tries_tasks
        short = alive & ((draws.short > 0) | new_wish)
        if short.any():
            request = self._all_features(request, splits.constant, short)
            found = self.engine.statistics(request)
            draws.take(NodeDraws.of(*how, request, found), short)
            groups = groups.replaced(Groups.of(found, groups.n_groups), short)
        draws.n_found[~alive] = 0
        groups = groups.only(alive & (draws.wants_task > 0) & self._tries_tasks)
        cuts = draws.request(nodes.place, nodes.tree)
        sums = self.engine.statistics(cuts).by_request
        goes_left = choose(nodes, totals, settings, draws, cuts, sums, groups, splits)
        splits.list_tasks(groups, goes_left, max(totals.n_classes, 1))
        return splits

    def _all_features(
        self, request: SplitRequest, constant: np.ndarray, short: np.ndarray
    ) -> SplitRequest:
        """Request all features that may vary, at the nodes that are short of one."""
        bits = np.unpackbits(
            constant.view(np.uint8),
            axis=1,
            bitorder="little",
            count=self.totals.n_features,
        )
        node, feature = np.nonzero((bits == 0) & short[:, None])
        return SplitRequest(
            nodes=request.nodes,
            tree=request.tree,
            start=starts_of(np.bincount(node, minlength=len(short))),
            feature=feature.astype(np.int32),
            wants_task=(short & self._tries_tasks).astype(np.uint8),
        )

    # ------------------------------------------------------------------------
    # From one level to the next
    # ------------------------------------------------------------------------

    def _next_level(
        self, nodes: LevelNodes, opened: OpenNodes, splits: Splits, waiting: OpenNodes
    ) -> tuple[OpenNodes, OpenNodes]:
        """Send the splits and close the leaves; the nodes that go on, and that wait."""
        split, depth = splits.places, len(nodes.levels)
        whole = np.setdiff1d(np.arange(len(opened.tree)), split)  # leaves
        born = opened.children(splits, nodes.n_nodes)
        nodes.split(opened.number, splits)
        if len(split):
            self._record(nodes, born)
        ends = self._ends(born, depth)
        n_ended = int(ends.sum())
        side = np.where(ends, -np.cumsum(ends), np.cumsum(~ends) - 1)
        left, right = np.zeros((2, len(opened.tree)), dtype=np.int32)
        left[split], right[split] = side[0::2], side[1::2]
        left[whole] = -1 - n_ended - np.arange(len(whole))
        following = born.some(~ends)
        following.place = np.arange(len(following.tree), dtype=np.int32)
        wants_leaves = self.totals.numbers or self.leaf_smoothing is not None
        if wants_leaves or len(following.tree):
            self.engine.move(
                Plan(
                    nodes=opened.place,
                    waiting=waiting.place,
                    tree=opened.tree,
                    feature=splits.feature,
                    threshold=splits.threshold,
                    default_left=splits.default_left,
                    exception_start=splits.against_start,
                    exceptions=splits.against_task,
                    left=left,
                    right=right,
                    n_opened=len(following.tree),
                    n_closed=n_ended + len(whole),
                )
            )
            places = len(following.tree) + np.arange(len(waiting.tree), dtype=np.int32)
            waiting = replace(waiting, place=places)
        if wants_leaves and n_ended + len(whole):
            self._close(nodes, [born.some(ends), opened.some(whole)])
        return following, waiting

    def _close(self, nodes: LevelNodes, leaves: Sequence[OpenNodes]) -> None:
        number = np.concatenate([some.number for some in leaves])
        tree = np.concatenate([some.tree for some in leaves])
        smoothing = self.leaf_smoothing
        found = self.engine.statistics(LeafRequest(tree, smoothing is not None))
        of = found.by_node
        if self.totals.numbers:
            value = (of["total"] / of["weight"])[:, None]
            moved = of["total"] - of["weight"] * self.totals.center[tree]
            apart = np.maximum(of["between"] - moved**2 / of["weight"], 0.0)
            nodes.add_moments(number, value[:, 0], of["squares"] + apart)
        else:
            value = np.concatenate([self._value(some) for some in leaves])
        if smoothing is not None:
            leaf, task, values = smooth_leaves(
                found.by_group, value, self.totals.n_tasks, smoothing
            )
            nodes.add_own(number[leaf], task, values)
