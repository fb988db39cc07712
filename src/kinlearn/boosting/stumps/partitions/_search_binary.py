"""Rounds of MTAA over rows that lie in parts: the stumps of one table, from sums.

Five requests a round: the sum of the weights, sums by cell, sums by cell on the left
of each candidate for the root, sums by bin below the best root, and what the round does
to the weights. These stay where the rows are.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kinlearn._kernels.boosting.stumps._sign_stumps import (
    HAS_AVX2,
    N_LANES,
    find_children,
    find_roots,
)
from kinlearn.boosting.stumps._model import Node
from kinlearn.boosting.stumps._rounds import Step, exact_total, vote
from kinlearn.boosting.stumps.partitions._base import PartsBase, sum_of, trial_of
from kinlearn.boosting.stumps.partitions._rows import (
    MISSING,
    Scale,
    StumpPlan,
    StumpShare,
    Trial,
)

__all__ = ["PartRounds"]

_AT_ONCE = 4 * N_LANES  # roots that are requested together


class PartRounds(PartsBase):
    """Runs rounds; see `SignRounds` and `SignLearner`, which it follows step by step.

    Parameters are those of `PartsBase`.
    """

    _share = StumpShare

    def play(self, number: int) -> Step | None:
        """One round; see `SignRounds.play`."""
        table, scale = self._table, self._scale()
        sums = self._ask(sum_of, StumpShare.cells, scale, table.places)
        all_weight = float(sums[table.n_cells :, 1].sum(dtype=np.int64))
        roots = self._find_roots(sums, number, all_weight)
        if len(roots) == 0:
            return None
        root, groups = self._best(roots, sums, scale)
        nodes, weights = self._stump(root, groups, sums, scale)
        right, wrong = (float(w / all_weight) for w in weights)
        abstained = float((all_weight - weights.sum()) / all_weight)
        if right <= wrong:
            return None
        weighting = self._settings.weighting
        alpha = vote(right, wrong, abstained, weighting, self._smoothing)
        idle = np.log(np.cosh(alpha)) if weighting == "conservative" else 0.0
        plan = StumpPlan(nodes, (float(idle), -alpha, alpha))
        high, low, least, greatest, peak = self._weigh(scale, plan)
        self._move(plan, peak)
        voted = [
            node and replace(node, answers=tuple(alpha * a for a in node.answers))
            for node in nodes
        ]
        return Step(voted, alpha, exact_total(high, low), bool(greatest == least))

    def _search(self, sums: np.ndarray, found: Any) -> None:
        table, n = self._table, self._table.n_cells
        weight, total = (
            np.ascontiguousarray(part) for part in (sums[:n, 0], sums[n:, 0])
        )
        find_roots(table.cells, 0, table.cells.n_groups, weight, total, found)

    def _weights_of_sides(
        self, sums: np.ndarray, task: int, test: Trial
    ) -> list[float]:
        return [side[1] for side in self._table.sides(sums, task, test)]

    def _best(
        self, roots: np.ndarray, sums: np.ndarray, scale: Scale
    ) -> tuple[np.void, np.ndarray]:
        """The best root, and the groups of its children."""
        table, n = self._table, self._table.n_cells
        edges = np.empty((2, len(roots)), dtype=np.int32)
        groups = np.empty_like(edges)
        for first in range(0, len(roots), _AT_ONCE):
            trials = [trial_of(root) for root in roots[first : first + _AT_ONCE]]
            left = self._ask(sum_of, StumpShare.lanes, scale, table.places, trials)
            for at in range(0, len(trials), N_LANES):
                some = slice(first + at, first + min(at + N_LANES, len(trials)))
                lanes = np.zeros((len(left), N_LANES), dtype=np.int32)
                lanes[:, : some.stop - some.start] = left[:, at : at + N_LANES]
                closed = np.full(N_LANES, -1, dtype=np.int32)
                if table.n_tasks > 1:
                    closed[: some.stop - some.start] = roots["task"][some]
                edge = np.empty((2, N_LANES), dtype=np.int32)
                group = np.empty_like(edge)
                find_children(
                    table.cells, 0, table.cells.n_groups,
                    np.ascontiguousarray(sums[:n, 0]),
                    np.ascontiguousarray(sums[n:, 0]),
                    np.ascontiguousarray(lanes[:n]), np.ascontiguousarray(lanes[n:]),
                    closed, HAS_AVX2, edge, group,
                )  # fmt: skip
                edges[:, some] = edge[:, : some.stop - some.start]
                groups[:, some] = group[:, : some.stop - some.start]
        worth = np.maximum(edges, 0).sum(axis=0, dtype=np.float64)
        if table.n_tasks > 1:
            worth += roots["edge"]
        best = int(np.argmax(worth))
        return roots[best], groups[:, best]

    def _stump(
        self, root: np.void, groups: np.ndarray, sums: np.ndarray, scale: Scale
    ) -> tuple[list[Node | None], np.ndarray]:
        """Nodes, and the weights of right and of wrong predictions."""
        table, test, owner = self._table, trial_of(root), self._owner(root)
        sides = np.zeros((2, 2), dtype=np.int64)
        if owner >= 0:
            sides = np.stack(table.sides(sums, owner, test))
        signs = np.sign(sides[:, 0])
        weights = _right_and_wrong(sides, signs)
        nodes = [_node(owner, test, signs), None, None]
        for branch, _, task, feature, bins in self._children(groups, scale, test):
            cut, sides = best_cut(bins, int(table.n_bins[feature]))
            signs = np.sign(sides[:, 0])
            nodes[1 + branch] = _node(task, Trial(feature, *cut), signs)
            weights = weights + _right_and_wrong(sides, signs)
        return nodes, weights


def best_cut(by_bin: np.ndarray, n_bins: int) -> tuple[tuple[int, bool], np.ndarray]:
    """The best cut of a feature, in the middle of its gap."""
    counts = by_bin[2]
    there = np.flatnonzero(counts[:n_bins])
    below = np.concatenate([[0], np.cumsum(by_bin[0, there])])
    total = int(by_bin[0].sum())
    # no cut comes first: a cut that gains nothing is not made
    tried = [(abs(total), n_bins - 1, True)]
    for missing_left in (False, True):
        if missing_left and not counts[MISSING]:
            continue
        left = below + (int(by_bin[0, MISSING]) if missing_left else 0)
        edge = np.abs(left) + np.abs(total - left)
        cuts = (there[:-1] + there[1:]) >> 1
        tried += [
            (int(e), int(c), missing_left)
            for e, c in zip(edge[1:-1], cuts, strict=True)
        ]
        if len(there):  # the missing ones apart
            tried.append((int(edge[-1]), n_bins - 1, missing_left))
    # the first of the best
    _, cut, missing_left = max(tried, key=lambda one: one[0])
    bins = np.arange(256)
    goes = (bins <= cut) & (bins < MISSING)
    if not counts[MISSING]:
        size = by_bin[1, :n_bins]
        missing_left = bool(2 * size[goes[:n_bins]].sum() >= size.sum())
    goes[MISSING] = missing_left
    left = by_bin[:2, goes].sum(axis=1)
    return (cut, missing_left), np.stack([left, by_bin[:2].sum(axis=1) - left])


def _node(task: int, test: Trial, signs: np.ndarray) -> Node:
    answers = tuple(np.array([sign], dtype=np.float64) for sign in signs)
    return Node(task, test.feature, test.cut, test.missing_left, answers)


def _right_and_wrong(sides: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Weights of right and of wrong predictions; a branch of sign 0 abstains."""
    signed, size = sides.T
    answers = signs != 0
    right = (size + signs * signed)[answers].sum() // 2
    return np.array([right, size[answers].sum() - right])
