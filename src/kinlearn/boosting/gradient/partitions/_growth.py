"""Trees of a round, grown best leaf first from sums over partitions.

The splits of a tree are chosen one after the other, but a request takes time. So the
rows of all leaves that will probably be split are parted ahead, and the sums of their
smaller sides come together; those of the larger sides follow by subtraction.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn._kernels._random import stream_state
from kinlearn._kernels.boosting.gradient._boosted_growth import Growth
from kinlearn.boosting.gradient._bins import FeatureBins
from kinlearn.boosting.gradient._model import SPLIT, Tree, Trees
from kinlearn.boosting.gradient._rounds import Settings, make_growth, make_tree
from kinlearn.boosting.gradient._start import Totals, Units
from kinlearn.boosting.gradient.partitions._quantiles import Prefixes, find_quantiles
from kinlearn.boosting.gradient.partitions._state import (
    Children,
    Gradients,
    LeafResiduals,
    Parting,
    Roots,
    Round,
)

__all__ = ["RoundPlan", "play_round"]

# Of the leaves that may still be made: so many of the best are parted ahead. With more,
# requests are fewer and more of them in vain.
_AHEAD = 0.5


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


def play_round(engine: Any, plan: RoundPlan, number: int) -> Round:
    """Grow the trees of a round, all outputs together."""
    largest = engine.statistics(Gradients(number)).by_node
    units = [Units.of(most, plan.totals) for most in largest["high"]]
    request = Roots(units, largest["rows"][0] == 0, plan.task_sums)
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
    while wanted := [(k, leaf) for k, t in enumerate(growing) for leaf in t.advance()]:
        partings = [growing[k].parting(k, leaf) for k, leaf in wanted]
        sums = engine.statistics(Children(partings, plan.task_sums)).by_node
        for i, (k, leaf) in enumerate(wanted):
            growing[k].receive(leaf, partings[i], sums["hist"][i], sums["tasks"][i])
    trees = [tree.finish(k, engine) for k, tree in enumerate(growing)]
    leaf_of = [tree.leaf_of() for tree in growing]
    return Round(number, Trees.of(trees, plan.n_tasks), leaf_of)


class _GrowingTree:
    """A tree, the sums of its leaves, and the splits that were made ahead."""

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
        self.growth: Growth = make_growth(
            plan.bins, plan.n_tasks, plan.totals, plan.settings
        )
        self.growth.search.begin(
            g_unit=units.g, h_unit=units.h, bits=units.bits, noise=self.noise, seed=seed
        )
        self.mask = (1 << units.bits) - 1
        # of each leaf: count, histogram and sums by task, and the number of its rows
        self.count = {0: int(sums[1]) & self.mask}
        self.sums = {0: (cells, tasks)}
        self.rows_of = {0: [0]}
        self.splits: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.ready: dict[int, tuple[Parting, np.ndarray, np.ndarray]] = {}
        self.n_sets = 1
        self.growth.begin(sums)
        self._find(0)

    def _find(self, leaf: int) -> None:
        """Find the best split of a leaf."""
        self.splits.pop(leaf, None)
        if not self.growth.wants_split(leaf):
            return
        cells, tasks = self.sums[leaf]
        of_search = tasks if self.plan.settings.task_splits else tasks[:0]
        self.growth.find_split(leaf, cells, of_search)
        split = np.empty(1, dtype=SPLIT)
        bits = np.empty(self.growth.search.set_bytes, dtype=np.uint8)
        self.growth.copy_split(leaf, split, bits)
        if split["gain"][0] > 0:
            self.splits[leaf] = split, bits

    def advance(self) -> list[int]:
        """Split as far as sums are there; the leaves whose sides are wanted next."""
        growth = self.growth
        while (leaf := growth.best_leaf()) >= 0:
            if leaf not in self.ready:
                return self._likely(leaf)
            self._split(leaf)
        return []

    def _likely(self, best: int) -> list[int]:
        n_left = self.growth.max_leaves - self.growth.n_leaves
        by_gain = sorted(self.splits, key=lambda leaf: -self.splits[leaf][0]["gain"][0])
        likely = {best, *by_gain[: int(np.ceil(_AHEAD * n_left))]}
        return [leaf for leaf in by_gain if leaf in likely and leaf not in self.ready]

    def parting(self, output: int, leaf: int) -> Parting:
        """The split of a leaf, for its rows."""
        split, bits = self.splits[leaf]
        n_left = int(split["left_hc"][0]) & self.mask
        (number,) = self.rows_of[leaf]
        other = self.n_sets
        self.n_sets += 1
        smaller = number if 2 * n_left <= self.count[leaf] else other
        return Parting(output, number, other, smaller, split, bits)

    def receive(
        self, leaf: int, parting: Parting, cells: np.ndarray, tasks: np.ndarray
    ) -> None:
        """Take the sums of the smaller side."""
        self.ready[leaf] = parting, cells, tasks
        self.rows_of[leaf] = [parting.number, parting.other]

    def _split(self, leaf: int) -> None:
        parting, cells, tasks = self.ready.pop(leaf)
        n_left = int(parting.split["left_hc"][0]) & self.mask
        other = self.growth.split_leaf(leaf)
        small, large = (cells, tasks), self.sums[leaf]
        for whole, part in zip(large, small, strict=True):
            np.subtract(whole, part, out=whole)
        left_is_small = parting.summed == parting.number
        self.sums[leaf] = small if left_is_small else large
        self.sums[other] = large if left_is_small else small
        self.count[other] = self.count[leaf] - n_left
        self.count[leaf] = n_left
        self.rows_of[leaf], self.rows_of[other] = [parting.number], [parting.other]
        self._find(leaf)
        self._find(other)

    # -------------------------------------------------------------------- values

    def leaf_of(self) -> np.ndarray:
        """The leaf that each set of rows belongs to."""
        out = np.zeros(self.n_sets, dtype=np.intp)
        for leaf, numbers in self.rows_of.items():
            out[numbers] = leaf
        return out

    def finish(self, output: int, engine: Any) -> Tree:
        """The tree with the values of its leaves."""
        plan, growth = self.plan, self.growth
        sums = None
        if plan.n_tasks > 1 and plan.settings.task_values:
            tasks = np.stack([self.sums[leaf][1] for leaf in range(growth.n_leaves)])
            sums = self.units.numbers(tasks)

        def quantiles(by_task: bool) -> np.ndarray:
            leaf_of, unit = self.leaf_of(), plan.totals.weight_unit

            def count(prefixes: Prefixes) -> Any:
                return engine.statistics(
                    LeafResiduals(leaf_of, by_task, unit, prefixes)
                )

            n_groups = growth.n_leaves * (plan.n_tasks if by_task else 1)
            return find_quantiles(count, n_groups, plan.loss.quantile)

        return make_tree(
            growth,
            output,
            sums,
            noise=self.noise,
            learning_rate=plan.settings.learning_rate,
            loss=plan.loss,
            quantiles=quantiles,
        )[0]
