"""Rounds of MH over rows that lie in parts: the stumps of one table, from sums.

The kernels of one table search a table whose rows are sums: for each cell and label two
of them, of the rows that have that label on the left and on the right of a root.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinlearn._kernels.boosting.stumps._score_stumps import (
    BEST,
    LabelWeights,
    best_cut,
    find_children,
    find_roots,
)
from kinlearn._kernels.boosting.stumps._stumps import Cells
from kinlearn.boosting.stumps._model import Node
from kinlearn.boosting.stumps._rounds import Step, StumpSettings, exact_total
from kinlearn.boosting.stumps.partitions._base import PartsBase, sum_of, trial_of
from kinlearn.boosting.stumps.partitions._rows import MISSING, Scale, Trial
from kinlearn.boosting.stumps.partitions._rows_multiclass import ScoreShare
from kinlearn.boosting.stumps.partitions._table import PartCells

__all__ = ["PartScoreRounds"]

_BYTES = 2**26  # of the sums that are requested together


class PartScoreRounds(PartsBase):
    """Runs rounds; see `ScoreRounds` and `ScoreLearner`, which it follows."""

    _share = ScoreShare

    def __init__(
        self,
        engine: Any,
        table: PartCells,
        settings: StumpSettings,
        smoothing: float,
        n_labels: np.ndarray,
    ) -> None:
        super().__init__(engine, table, settings, smoothing)
        self._n_labels = n_labels
        self._K = int(n_labels.max())
        self._sums_of = _SumRows(table, self._K)

    def play(self, number: int) -> Step | None:
        """One round; see `ScoreRounds.play`."""
        scale = self._scale()
        sums = self._ask(sum_of, ScoreShare.cells, scale, self._table.places)
        of_tasks = sums[self._table.n_cells * self._K :, : self._K]
        all_weight = float(of_tasks.sum())
        roots = self._find_roots(sums, number, all_weight)
        if len(roots) == 0:
            return None
        root, groups = self._best(roots, sums, scale)
        nodes = self._stump(root, groups, sums, scale, all_weight)
        high, low, least, most, peak = self._weigh(scale, nodes)
        normalizer = exact_total(high, low)
        if normalizer >= 1 - 1e-12:
            return None
        self._move(nodes, peak)
        return Step(nodes, 1.0, normalizer, bool(most - least < 1e-12))

    def _search(self, sums: np.ndarray, found: Any) -> None:
        rows = self._sums_of
        labels, _ = rows.divided(sums, sums)
        totals = rows.totals(sums)
        find_roots(rows.cells, 0, rows.cells.n_groups, labels, totals, found)

    def _weights_of_sides(
        self, sums: np.ndarray, task: int, test: Trial
    ) -> list[float]:
        return [side.sum() for side in self._sides(sums, task, test)]

    def _sides(self, sums: np.ndarray, task: int, test: Trial) -> list[np.ndarray]:
        """Weights by own label and label on both sides of a test, for one task."""
        flat = sums.reshape(-1, self._K * (self._K + 1))
        return [
            side.reshape(self._K, self._K + 1)[:, : self._K].astype(np.float64)
            for side in self._table.sides(flat, task, test)
        ]

    def _best(self, roots: np.ndarray, sums: np.ndarray, scale: Scale) -> Any:
        """The best root, and the groups of its children."""
        table, rows = self._table, self._sums_of
        n_trials = max(_BYTES // max(sums.nbytes, 1), 1)
        best, worth = None, -1.0
        for first in range(0, len(roots), n_trials):
            some = roots[first : first + n_trials]
            trials = [trial_of(root) for root in some]
            lanes = self._ask(sum_of, ScoreShare.lanes, scale, table.places, trials)
            for root, left in zip(some, lanes, strict=True):
                labels, side = rows.divided(sums, left)
                edge, group = np.empty(2), np.empty(2, dtype=np.int32)
                find_children(
                    rows.cells, 0, rows.cells.n_groups, labels, side,
                    np.stack([rows.totals(left), rows.totals(sums - left)]),
                    self._owner(root), edge, group,
                )  # fmt: skip
                here = max(edge[0], 0.0) + max(edge[1], 0.0)
                here += root["edge"] if table.n_tasks > 1 else 0.0
                if here > worth:
                    best, worth = (root, group), here
        return best

    def _stump(
        self,
        root: np.void,
        groups: np.ndarray,
        sums: np.ndarray,
        scale: Scale,
        all_weight: float,
    ) -> list[Node | None]:
        """The root and its children with cuts, sides and scores."""
        table, test, owner = self._table, trial_of(root), self._owner(root)
        answers: tuple[np.ndarray, ...] = (np.zeros(0),) * 2
        if owner >= 0:
            sides: Sequence[np.ndarray] = self._sides(sums, owner, test)
            answers = self._answers(owner, sides, all_weight)
        nodes = [
            Node(owner, test.feature, test.cut, test.missing_left, answers),
            None,
            None,
        ]
        for branch, g, task, feature, bins in self._children(groups, scale, test):
            n_bins = int(table.n_bins[feature])
            cut, missing_left = _cut_bins(bins, n_bins, int(table.group_common[g]))
            goes = np.arange(256) <= cut
            goes[MISSING] = missing_left
            weights = bins[..., : self._K]
            sides = weights[goes].sum(axis=0), weights[~goes].sum(axis=0)
            answers = self._answers(task, sides, all_weight)
            nodes[1 + branch] = Node(task, feature, cut, missing_left, answers)
        return nodes

    def _answers(
        self, task: int, sides: Sequence[np.ndarray], all_weight: float
    ) -> tuple[np.ndarray, ...]:
        """Scores of the labels on both sides."""
        K = self._n_labels[task]
        eps = max(self._smoothing, 1e-10) * all_weight
        out = []
        for side in sides:
            right = np.diag(side)[:K]
            wrong = (side.sum(axis=0) - np.diag(side))[:K]
            out.append(0.5 * np.log((right + eps) / (wrong + eps)))
        return tuple(out)


class _SumRows:
    """Sums in the place of rows: of each cell, label and side of a root."""

    def __init__(self, table: PartCells, K: int) -> None:
        self._n_cells, self._n_tasks, self._K = table.n_cells, table.n_tasks, K
        self.cells = table.with_rows(2 * K)
        self._first = np.zeros(table.n_tasks, dtype=np.intp)
        self._n_labels = np.full(table.n_tasks, K, dtype=np.int32)
        self._label = np.tile(np.repeat(np.arange(K, dtype=np.int32), 2), table.n_cells)

    def divided(
        self, sums: np.ndarray, left: np.ndarray
    ) -> tuple[LabelWeights, np.ndarray]:
        """Rows of sums, the left ones first, and which are on the left.

        A side without rows has none here either: its sums, which are 0, are given to
        the other one, as the kernel looks for sides that have changed.
        """
        K, n = self._K, self._n_cells
        here = np.stack([left[: n * K], (sums - left)[: n * K]], axis=1)
        counts = here[..., K].reshape(n, K, 2).sum(axis=1)
        on_left = np.broadcast_to([True, False], (n, 2)).copy()
        on_left[counts[:, 0] == 0] = False
        on_left[counts[:, 1] == 0] = True
        side = np.repeat(on_left[:, None], K, axis=1).astype(np.uint8).ravel()
        weight = np.ascontiguousarray(here[..., :K]).ravel()
        labels = LabelWeights(self._first, self._n_labels, self._label, weight)
        return labels, side

    def totals(self, sums: np.ndarray) -> np.ndarray:
        """Weights for the labels, then against them, by task."""
        K = self._K
        weights = sums[self._n_cells * K :, :K].reshape(self._n_tasks, K, K)
        right = np.diagonal(weights, axis1=1, axis2=2)
        return np.hstack([right, weights.sum(axis=1) - right])


def _cut_bins(bins: np.ndarray, n_bins: int, common: int) -> tuple[int, bool]:
    """The best cut of one feature in one task, by sums of its bins."""
    K = bins.shape[1]
    code, label = np.nonzero(bins[..., K])
    n = len(code)
    entries = np.flatnonzero(code != common)
    one = np.zeros(1, dtype=np.int32)
    ends = np.full((1, 3), len(entries), dtype=np.int64)
    cells = Cells(
        np.array([0, n]), (2 * entries).astype(np.int32),
        code[entries].astype(np.uint8), one, one, np.array([common], dtype=np.uint8),
        ends, np.array([common], dtype=np.uint8), np.array([0, 1]), one,
        np.array([n_bins], dtype=np.int32),
    )  # fmt: skip
    labels = LabelWeights(
        np.zeros(1, dtype=np.intp),
        np.array([K], dtype=np.int32),
        label.astype(np.int32),
        np.ascontiguousarray(bins[code, label, :K]).ravel(),
    )
    found = np.empty(1, dtype=BEST)
    room = np.empty((257, 2 * K))
    best_cut(cells, 0, labels, np.ones(n, dtype=np.uint8), room, found)
    return int(found["cut"][0]), bool(found["missing_left"][0])
