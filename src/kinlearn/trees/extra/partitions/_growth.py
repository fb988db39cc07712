"""Growing trees level by level from rows that lie in many parts.

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
    choose,
    cut_tasks,
    foresee,
    impurities,
)
from kinlearn._partitions import LocalPartitions
from kinlearn.trees.extra._growth import Settings
from kinlearn.trees.extra._model import Forest
from kinlearn.trees.extra.partitions._nodes import LevelNodes
from kinlearn.trees.extra.partitions._requests import (
    LeafRequest,
    Plan,
    RowRequest,
    SplitRequest,
    Totals,
)
from kinlearn.trees.extra.partitions._state import (
    Draws,
    Groups,
    OpenNodes,
    Splits,
    starts,
)
from kinlearn.trees.extra.partitions._subtrees import (
    BranchJob,
    grow_branches,
    root_moments,
)

__all__ = ["LevelGrowth"]

# Nodes are requested in portions whose results have so many entries at the most (or are
# of one node): that bounds the memory that results take, and what is sent at once.
_MOST_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class LevelGrowth:
    """Grows trees from parts.

    Attributes
    ----------
    parts : LocalPartitions or the like
        Carries out plans and requests.
    totals : Totals
        Of all rows.
    settings : Settings
        How to grow.
    has_missing : uint8 array of shape (n_features,)
        Whether a feature has NaN anywhere.
    leaf_smoothing : float or None
        Weight of a leaf's value in the values for its tasks.
    most_together : int
        Rows that may come together in one place.
    """

    parts: LocalPartitions
    totals: Totals
    settings: Settings
    has_missing: np.ndarray
    leaf_smoothing: float | None = None
    most_together: int = 0

    def grow(self, seeds: Sequence[int]) -> Forest:
        """Grow trees."""
        n, totals = len(seeds), self.totals
        self.parts.begin(n)
        nodes = LevelNodes()
        opened = OpenNodes(
            number=np.arange(n),
            place=np.arange(n, dtype=np.int32),
            tree=np.arange(n, dtype=np.int32),
            key=np.array([stream_state(s, 0) for s in seeds], dtype=np.uint64),
            constant=np.zeros((n, -(-totals.n_features // 64)), dtype=np.uint64),
            weight=np.full(n, totals.weight, dtype=np.int64),
            total=None if totals.total is None else np.full(n, totals.total),
            hist=None if totals.hist is None else np.tile(totals.hist, (n, 1)),
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
        totals, weight = self.totals, born.weight * self.totals.w_unit
        impurity = np.empty(len(weight))
        impurities(
            self.settings.criterion,
            born.weight,
            born.total,
            born.hist,
            totals.w_unit,
            totals.b_unit,
            impurity,
        )
        nodes.add_level(born.tree, weight, impurity, self._value(born))

    def _value(self, born: OpenNodes) -> np.ndarray:
        """Values of leaves of classes."""
        if born.hist is not None:
            return born.hist / born.weight[:, None]
        total: Any = born.total
        weight = born.weight * self.totals.w_unit
        return (total * self.totals.b_unit / weight)[:, None]

    def _ends(self, born: OpenNodes, depth: int) -> np.ndarray:
        """Which nodes are leaves whatever could split them."""
        s = self.settings
        enough = max(s.min_weight_split, 2 * s.min_weight_leaf)
        ends = born.weight * self.totals.w_unit < enough
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
        return self.parts.ask(RowRequest(opened.place)).by_node["rows"]

    def _apart(self, opened: OpenNodes) -> tuple[OpenNodes, OpenNodes]:
        """The nodes that are split by sums, and those whose rows come together."""
        if not self.most_together:
            return opened, opened.part(slice(0))
        small = self._n_rows(opened) <= self.most_together
        return opened.part(~small), opened.part(small)

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
        grown = self.parts.assemble(
            grow_branches,
            jobs,
            self.totals,
            self.settings,
            self.leaf_smoothing,
            self.has_missing,
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
            entries += np.minimum(opened.weight * self.totals.w_unit, groups)
        number = (np.cumsum(entries) // _MOST_ENTRIES).astype(np.int64)
        ends = np.flatnonzero(np.diff(number, append=-1)) + 1
        portions = [slice(*p) for p in itertools.pairwise([0, *ends.tolist()])]
        return Splits.join(
            [self._split_portion(opened.part(p), alive[p]) for p in portions]
        )

    @property
    def _tries_tasks(self) -> bool:
        return self.settings.task_split_prob > 0 and self.totals.n_tasks > 1

    def _split_portion(self, nodes: OpenNodes, alive: np.ndarray) -> Splits:
        totals, s, k = self.totals, self.settings, self.settings.max_features
        splits = Splits.none(len(alive), totals.n_classes, nodes.constant.copy())
        if not alive.any():
            return splits
        work = np.full((3, totals.n_features), -1, dtype=np.int32)
        work[0] = np.arange(totals.n_features)
        how = totals.n_features, k, s.n_cuts, s.task_split_prob, work

        feature = np.empty((len(alive), k), dtype=np.int32)
        wants_task = np.empty(len(alive), dtype=np.uint8)
        foresee(nodes.key, nodes.constant, *how, feature, wants_task)
        feature[~alive] = -1
        question = SplitRequest(
            nodes=nodes.place,
            tree=nodes.tree,
            start=starts((feature >= 0).sum(axis=1)),
            feature=feature[feature >= 0],
            wants_task=wants_task * (alive & self._tries_tasks),
        )
        answer = self.parts.ask(question)
        if totals.numbers:  # those that are all the same
            of = answer.by_node
            alive = alive & (of["number_low"] < of["number_high"])
        draws = Draws.of(nodes.key, splits.constant, how, question, answer)
        groups = Groups.of(answer, totals.n_tasks * max(totals.n_classes, 1))
        # A feature that is constant, or has but one value besides missing ones, moves
        # the stream: then other features come, or another decision about tasks.
        new_wish = (draws.wants_task > question.wants_task) & self._tries_tasks
        short = alive & ((draws.short > 0) | new_wish)
        if short.any():
            question = self._all_features(question, splits.constant, short)
            answer = self.parts.ask(question)
            again = Draws.of(nodes.key, splits.constant, how, question, answer)
            draws.take(again, short)
            groups = groups.replaced(Groups.of(answer, groups.n_groups), short)
        draws.n_found[~alive] = 0
        groups = groups.only(alive & (draws.wants_task > 0) & self._tries_tasks)
        self._choose(splits, nodes, draws, groups)
        return splits

    def _all_features(
        self, question: SplitRequest, constant: np.ndarray, short: np.ndarray
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
            nodes=question.nodes,
            tree=question.tree,
            start=starts(np.bincount(node, minlength=len(short))),
            feature=feature.astype(np.int32),
            wants_task=(short & self._tries_tasks).astype(np.uint8),
        )

    def _choose(
        self, splits: Splits, nodes: OpenNodes, draws: Draws, groups: Groups
    ) -> None:
        totals, s, n = self.totals, self.settings, len(nodes.tree)
        by_task = Splits.none(n, totals.n_classes, nodes.constant)
        found = np.zeros(n, dtype=np.uint8)
        goes_left = np.zeros(len(groups.key), dtype=np.uint8)
        cut_tasks(
            draws.stream,
            nodes.weight,
            nodes.total,
            nodes.hist,
            totals.w_unit,
            totals.b_unit,
            s.task_smoothing,
            groups.start,
            groups.group,
            groups.weight,
            groups.total,
            np.empty(len(goes_left)),
            goes_left,
            splits.split_cut,
            splits.split_mean,
            splits.split_class,
            found,
            by_task.default_left,
            by_task.weight,
            by_task.total,
            by_task.hist,
        )
        splits.split_cut += totals.center
        splits.split_mean += totals.center
        cuts = draws.question(nodes.place, nodes.tree)
        sums = self.parts.ask(cuts).by_request
        choose(
            s.criterion,
            totals.w_unit,
            totals.b_unit,
            s.min_weight_leaf,
            s.min_impurity_decrease,
            totals.weight * totals.w_unit,
            np.empty((2, max(totals.n_classes, 1)), dtype=np.int64),
            nodes.weight,
            nodes.total,
            nodes.hist,
            cuts.start,
            cuts.feature,
            cuts.cut,
            draws.flat(draws.with_missing),
            sums["weight"],
            sums.get("total"),
            sums.get("hist"),
            found,
            by_task.default_left,
            by_task.weight,
            by_task.total,
            by_task.hist,
            splits.feature,
            splits.threshold,
            splits.default_left,
            splits.weight,
            splits.total,
            splits.hist,
        )
        splits.list_tasks(groups, goes_left, max(totals.n_classes, 1))

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
        following = born.part(~ends)
        following.place = np.arange(len(following.tree), dtype=np.int32)
        asks = self.totals.numbers or self.leaf_smoothing is not None
        if asks or len(following.tree):
            self.parts.move(
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
        if asks and n_ended + len(whole):
            self._close(nodes, [born.part(ends), opened.part(whole)])
        return following, waiting

    def _close(self, nodes: LevelNodes, leaves: Sequence[OpenNodes]) -> None:
        number = np.concatenate([part.number for part in leaves])
        tree = np.concatenate([part.tree for part in leaves])
        smoothing = self.leaf_smoothing
        answer = self.parts.ask(LeafRequest(tree, smoothing is not None))
        of = answer.by_node
        if self.totals.numbers:
            value = (of["total"] / of["weight"])[:, None]
            moved = of["total"] - of["weight"] * self.totals.center
            apart = np.maximum(of["between"] - moved**2 / of["weight"], 0.0)
            nodes.add_moments(number, value[:, 0], of["squares"] + apart)
        else:
            value = np.concatenate([self._value(part) for part in leaves])
        if smoothing is not None:
            self._smooth(nodes, number, value, answer.by_group, smoothing)

    def _smooth(
        self,
        nodes: LevelNodes,
        number: np.ndarray,
        value: np.ndarray,
        sums: dict[str, np.ndarray],
        a: float,
    ) -> None:
        """Values for the tasks of leaves that tasks share; see `Growth.smoothed`."""
        n_each, n_tasks = max(self.totals.n_classes, 1), self.totals.n_tasks
        pair, place = np.unique(sums["key"] // n_each, return_inverse=True)
        leaf, task = pair // n_tasks, pair % n_tasks
        n = np.bincount(place, weights=sums["weight"])[:, None]
        own = np.zeros((len(pair), n_each))
        own[place, sums["key"] % n_each] = sums["weight" if n_each > 1 else "total"]
        own = (own + a * value[leaf]) / (n + a)
        shared = np.bincount(leaf, minlength=len(number))[leaf] > 1
        nodes.add_own(number[leaf[shared]], task[shared].astype(np.int32), own[shared])
