"""What rounds of boosting over rows that lie in parts have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from kinlearn.boosting.stumps._rounds import Step, StumpSettings, exact_total
from kinlearn.boosting.stumps.partitions._rows import Scale, Trial
from kinlearn.boosting.stumps.partitions._table import PartCells

__all__ = ["PartsBase", "sum_of", "trial_of"]


class PartsBase(ABC):
    """Merges the sums of all parts, and keeps their weights where the rows are."""

    _share: Any  # the class of the shares

    def __init__(
        self, engine: Any, table: PartCells, settings: StumpSettings, smoothing: float
    ) -> None:
        self._engine = engine
        self._table = table
        self._settings = settings
        self._smoothing = smoothing
        self._logs = engine.map(self._share.begin, engine.shares)
        self._peak = engine.reduce(max, _greatest, self._logs)

    @abstractmethod
    def play(self, number: int) -> Step | None:
        """One round: a `Step`, or None if no stump does any good."""

    @abstractmethod
    def _search(self, sums: np.ndarray, found: Any) -> None:
        """Let a kernel find the best roots."""

    @abstractmethod
    def _weights_of_sides(
        self, sums: np.ndarray, task: int, test: Trial
    ) -> list[float]:
        """Weight of a task's rows on the left and on the right of a test."""

    def _ask(
        self,
        combine: Callable[[list[Any]], Any],
        method: Callable[..., Any],
        *args: Any,
    ) -> Any:
        return self._engine.reduce(
            combine, method, self._engine.shares, *args, each=self._logs
        )

    def _scale(self) -> Scale:
        """What weights are divided by in this round."""
        mass = self._ask(sum_of, self._share.mass, self._peak)
        return Scale(self._peak, exact_total(*mass))

    def _find_roots(
        self, sums: np.ndarray, number: int, all_weight: float
    ) -> np.ndarray:
        """Candidates for the root, with the sides that missing values go to."""
        found = self._settings.choice.roots(self._table, number, all_weight)
        if self._table.n_cells:
            self._search(sums, found)
        roots = found.best()
        for root in roots:
            if root["missing_left"] < 0:  # nothing was missing: the heavier side
                test = Trial(int(root["feature"]), int(root["cut"]), False)
                left, right = self._weights_of_sides(sums, int(root["task"]), test)
                root["missing_left"] = left >= right
        return roots

    def _owner(self, root: np.void) -> int:
        """The task that a root predicts; -1 if there is one task only."""
        return int(root["task"]) if self._table.n_tasks > 1 else -1

    def _children(
        self, groups: np.ndarray, scale: Scale, root: Trial
    ) -> list[tuple[int, int, int, int, np.ndarray]]:
        """Children of a root: (branch, group, task, feature, sums by bin) of each."""
        table = self._table
        found = [(branch, g) for branch, g in enumerate(groups.tolist()) if g >= 0]
        wanted = [
            (int(table.group_task[g]), int(table.group_feature[g]), branch == 0)
            for branch, g in found
        ]
        by_bin = self._ask(sum_of, self._share.bins, scale, root, wanted)
        return [
            (branch, g, task, feature, bins)
            for (branch, g), (task, feature, _), bins in zip(
                found, wanted, by_bin, strict=True
            )
        ]

    def _weigh(self, scale: Scale, plan: Any) -> tuple:
        """What a round would do to all weights; see `BinnedShare.weigh`."""
        return self._ask(_merged, self._share.weigh, scale, plan)

    def _move(self, plan: Any, peak: float) -> None:
        """Change the weights as a round does; `peak` is the greatest after it."""
        self._logs = self._engine.map(
            self._share.move, self._engine.shares, plan, each=self._logs
        )
        self._peak = peak


def trial_of(root: np.void) -> Trial:
    """The test of a root."""
    return Trial(int(root["feature"]), int(root["cut"]), bool(root["missing_left"]))


def sum_of(arrays: Sequence[Any]) -> Any:
    """The sum of the parts' results."""
    return reduce(np.add, arrays)  # of the same type: sums of int32 fit


def _greatest(log: np.ndarray) -> float:
    """The greatest logarithm of a part; -inf if it has no rows."""
    return float(log.max()) if len(log) else -np.inf


def _merged(found: Sequence[tuple]) -> tuple:
    """What a round would do, from the results of all parts."""
    high, low, least, greatest, peak = zip(*found, strict=True)
    return sum(high), sum(low), min(least), max(greatest), max(peak)
