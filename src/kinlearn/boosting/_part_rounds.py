"""Rounds of MTAA over rows that lie in parts: the stumps of one table, from sums.

Five questions a round: the sum of the weights, sums by cell, sums by cell on the left
of each candidate for the root, sums by bin below the best root, and what the round does
to the weights. These stay where the rows are.
"""

from dataclasses import replace
from functools import reduce

import numpy as np

from kinlearn._kernels.boosting._sign_stumps import (
    HAS_AVX2,
    N_LANES,
    find_children,
    find_roots,
)
from kinlearn.boosting._roots import Node
from kinlearn.boosting._rounds import Step, exact_total, vote
from kinlearn.boosting._stump_shares import (
    MISSING,
    Scale,
    StumpPlan,
    StumpShare,
    Trial,
)

__all__ = ["PartRounds", "greatest", "merged", "sum_of", "trial_of"]

_AT_ONCE = 4 * N_LANES  # roots that are asked about together


class PartRounds:
    """Plays rounds; see `SignRounds` and `SignLearner`, which it follows step by step.

    Parameters
    ----------
    engine : LocalParts or the like
        Has the shares.
    table : PartCells
        Cells of all parts.
    settings : StumpSettings
        How.
    smoothing : float
        Added to W+ and W- in votes.
    """

    def __init__(self, engine, table, settings, smoothing):
        self._engine = engine
        self._table = table
        self._settings = settings
        self._smoothing = smoothing
        self._logs = engine.map(StumpShare.begin, engine.shares)
        self._peak = engine.reduce(max, greatest, self._logs)

    def _ask(self, combine, method, *args):
        return self._engine.reduce(
            combine, method, self._engine.shares, *args, each=self._logs
        )

    def play(self, number):
        """One round; see `SignRounds.play`.

        Parameters
        ----------
        number : int
            Its number.

        Returns
        -------
        Step or None
            None if no stump is right more than it is wrong.
        """
        table = self._table
        mass = self._ask(sum_of, StumpShare.mass, self._peak)
        scale = Scale(self._peak, exact_total(*mass))
        sums = self._ask(sum_of, StumpShare.cells, scale, table.places)
        roots = self._find_roots(sums, number)
        if len(roots) == 0:
            return None
        root, groups = self._best(roots, sums, scale)
        nodes, weights = self._stump(root, groups, sums, scale)
        all_weight = float(sums[table.n_cells :, 1].sum(dtype=np.int64))
        right, wrong = (float(w / all_weight) for w in weights)
        abstained = float((all_weight - weights.sum()) / all_weight)
        if right <= wrong:
            return None
        weighting = self._settings.weighting
        alpha = vote(right, wrong, abstained, weighting, self._smoothing)
        idle = np.log(np.cosh(alpha)) if weighting == "conservative" else 0.0
        plan = StumpPlan(nodes, (float(idle), -alpha, alpha))
        found = self._ask(merged, StumpShare.weigh, scale, plan)
        self._logs = self._engine.map(
            StumpShare.move, self._engine.shares, plan, each=self._logs
        )
        high, low, least, greatest, self._peak = found
        voted = [
            node and replace(node, answers=tuple(alpha * a for a in node.answers))
            for node in nodes
        ]
        return Step(voted, alpha, exact_total(high, low), bool(greatest == least))

    def _find_roots(self, sums, number):
        """Candidates for the root, with the sides that missing values go to."""
        table, n = self._table, self._table.n_cells
        weight, total = (
            np.ascontiguousarray(part) for part in (sums[:n, 0], sums[n:, 0])
        )
        all_weight = float(sums[n:, 1].sum(dtype=np.int64))
        found = self._settings.choice.roots(table, number, all_weight)
        if n:
            find_roots(table.cells, 0, table.cells.n_groups, weight, total, found)
        roots = found.best()
        for root in roots:
            if root["missing_left"] < 0:  # nothing was missing: the heavier side
                test = Trial(int(root["feature"]), int(root["cut"]), False)
                left, right = table.sides(sums, int(root["task"]), test)
                root["missing_left"] = left[1] >= right[1]
        return roots

    def _best(self, roots, sums, scale):
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

    def _stump(self, root, groups, sums, scale):
        """Nodes, and the weights of right and of wrong answers."""
        table, test = self._table, trial_of(root)
        owner = int(root["task"]) if table.n_tasks > 1 else -1
        sides = np.zeros((2, 2), dtype=np.int64)
        if owner >= 0:
            sides = np.stack(table.sides(sums, owner, test))
        signs = np.sign(sides[:, 0])
        weights = _right_and_wrong(sides, signs)
        nodes = [_node(owner, test, signs)]
        found = [(k, g) for k, g in enumerate(groups.tolist()) if g >= 0]
        children = [
            (int(table.group_task[g]), int(table.group_feature[g]), k == 0)
            for k, g in found
        ]
        by_bin = self._ask(sum_of, StumpShare.bins, scale, test, children)
        at = dict(zip((k for k, _ in found), range(len(found)), strict=True))
        for branch in range(2):
            if branch not in at:
                nodes.append(None)
                continue
            task, feature, _ = children[at[branch]]
            cut, sides = best_cut(by_bin[at[branch]], int(table.n_bins[feature]))
            child = Trial(feature, *cut)
            signs = np.sign(sides[:, 0])
            nodes.append(_node(task, child, signs))
            weights = weights + _right_and_wrong(sides, signs)
        return nodes, weights


def best_cut(by_bin, n_bins):
    """The best cut of a feature, in the middle of its gap.

    Parameters
    ----------
    by_bin : int64 array of shape (3, 256)
        Signed weights, absolute weights and numbers of rows; the last bin is that of
        missing values.
    n_bins : int
        Bins of the feature.

    Returns
    -------
    cut : (int, bool)
        The last bin on the left, and where missing values go. If no cut is better
        than none, all is on the left.
    sides : int64 array of shape (2, 2)
        Signed and absolute weight on the left, then on the right.
    """
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


def trial_of(root):
    """The test of a root.

    Parameters
    ----------
    root : record
        Of the kernels.

    Returns
    -------
    Trial
        The test.
    """
    return Trial(int(root["feature"]), int(root["cut"]), bool(root["missing_left"]))


def _node(task, test, signs):
    answers = tuple(np.array([sign], dtype=np.float64) for sign in signs)
    return Node(task, test.feature, test.cut, test.missing_left, answers)


def _right_and_wrong(sides, signs):
    """Weights of right and of wrong answers; a branch of sign 0 does not answer."""
    signed, size = sides.T
    answers = signs != 0
    right = (size + signs * signed)[answers].sum() // 2
    return np.array([right, size[answers].sum() - right])


def greatest(log):
    """The greatest logarithm of a part.

    Parameters
    ----------
    log : float64 array
        Logarithms of weights.

    Returns
    -------
    float
        -inf for a part without rows.
    """
    return float(log.max()) if len(log) else -np.inf


def sum_of(arrays):
    """The sum of the parts' answers.

    Parameters
    ----------
    arrays : list of arrays
        Of the same type and shape.

    Returns
    -------
    array
        Of that type.
    """
    return reduce(np.add, arrays)  # of the same type: sums of int32 fit


def merged(found):
    """What all parts say a round would do.

    Parameters
    ----------
    found : list of tuples
        As `StumpShare.weigh` gives them.

    Returns
    -------
    tuple
        The same of all.
    """
    high, low, least, greatest, peak = zip(*found, strict=True)
    return sum(high), sum(low), min(least), max(greatest), max(peak)
