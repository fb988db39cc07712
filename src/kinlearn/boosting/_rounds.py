"""The rounds of abstaining boosting: weights, votes and normalisers.

Symbols: D is the distribution over rows (or rows and labels); W+, W- and W0 are its
mass on right, wrong and abstained predictions; alpha is the vote of a stump and Z what
D sums to after its update. Weights are kept as logarithms, so that many rounds lose
nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn.boosting._roots import Node
from kinlearn.boosting._sorted_cells import SortedCells

__all__ = [
    "ScoreRounds",
    "SignRounds",
    "Step",
    "exact_parts",
    "exact_total",
    "vote",
    "whole_weights",
]

# Below this the logarithm of a weight ratio is meaningless.
_LEAST = 1e-10


@dataclass(frozen=True, eq=False)
class Step:
    """What a round did.

    Attributes
    ----------
    nodes : list of Node or None
        The stump, with the predictions that are added up.
    weight : float
        Its vote, alpha; 1 for scores.
    normalizer : float
        Z.
    last : bool
        Whether further rounds would do the same again.
    """

    nodes: list
    weight: float
    normalizer: float
    last: bool


def vote(
    right: float, wrong: float, abstained: float, weighting: str, smoothing: float
) -> float:
    """The vote alpha of a stump.

    Parameters
    ----------
    right, wrong, abstained : float
        W+, W- and W0.
    weighting : {"optimal", "conservative"}
        Whether abstained weight counts as half right and half wrong.
    smoothing : float
        Added to both sides with "optimal".

    Returns
    -------
    float
        alpha.

    Examples
    --------
    >>> from kinlearn.boosting._rounds import vote
    >>> round(vote(0.4, 0.1, 0.5, "optimal", 0.0), 4)
    0.6931
    >>> round(vote(0.4, 0.1, 0.5, "conservative", 0.0), 4)
    0.3095
    """
    more = smoothing if weighting == "optimal" else abstained / 2
    return 0.5 * float(
        np.log(max(right + more, _LEAST)) - np.log(max(wrong + more, _LEAST))
    )


def whole_weights(
    share: np.ndarray, unit: float | np.ndarray, whole: float
) -> np.ndarray:
    """Weights as whole numbers whose sum is about `whole`.

    A row of weight 2 gets twice what each of two equal rows would get, to the last
    digit, so that integer weights and repeated rows give the same model.

    Parameters
    ----------
    share : float array of shape (n,)
        Weights that sum to one.
    unit : float array of shape (n,)
        How many rows each stands for; all one if weights are not integers.
    whole : float
        The sum.

    Returns
    -------
    float64 array of shape (n,)
        Whole numbers.
    """
    return np.rint(share / unit * whole) * unit


def exact_parts(values: np.ndarray) -> tuple[int, int]:
    """A sum that does not depend on the order of the numbers, as two whole numbers.

    Parameters
    ----------
    values : float64 array of shape (n,)
        Not negative, and not far above 1.

    Returns
    -------
    high, low : int
        Sums of the numbers in units of 2^-30, and of what remains in units of 2^-60.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting._rounds import exact_parts, exact_total
    >>> values = np.array([0.1, 1e-14, 0.9])
    >>> exact_total(*exact_parts(values)) == exact_total(*exact_parts(values[::-1]))
    True
    """
    fine = values * 2.0**30
    high = np.floor(fine)
    low = np.rint((fine - high) * 2.0**30)
    return int(high.astype(np.int64).sum()), int(low.astype(np.int64).sum())


def exact_total(high: int, low: int) -> float:
    """The sum of what `exact_parts` gave, perhaps of several parts together.

    Parameters
    ----------
    high, low : int
        Whole numbers.

    Returns
    -------
    float
        The nearest number.
    """
    return ((int(high) << 30) + int(low)) / (1 << 60)


class _Rounds:
    """Weights as logarithms, and which node predicts which rows."""

    def __init__(
        self, table: SortedCells, log_weight: np.ndarray, learner: Any
    ) -> None:
        self._table = table
        self._log = log_weight
        self._learner = learner
        self._side = np.empty(table.n_rows, dtype=np.uint8)

    def _share(self) -> np.ndarray:
        share = np.exp(self._log - self._log.max())
        return share / exact_total(*exact_parts(share))

    def _answered(
        self, nodes: Sequence[Any]
    ) -> Iterator[tuple[Node, slice, np.ndarray, np.ndarray]]:
        """(node, its rows, which of them it predicts, which go left)."""
        table, side = self._table, self._side
        root = nodes[0]
        for at, node in enumerate(nodes):
            if node is None or node.task < 0:
                continue
            rows = table.rows(node.task)
            mine = np.ones(rows.stop - rows.start, dtype=bool)
            if at:
                table.send(root.feature, root.cut, root.missing_left, node.task, side)
                mine = side[rows] == (at == 1)
            table.send(node.feature, node.cut, node.missing_left, node.task, side)
            yield node, rows, mine, side[rows] == 1


class SignRounds(_Rounds):
    """Rounds of MTAA.

    Parameters
    ----------
    table : SortedCells
        The features.
    sign : int array of shape (n_rows,)
        Labels, -1 or +1.
    start, unit : float arrays of shape (n_rows,)
        Weights to begin with, and how many rows each stands for.
    learner : SignLearner
        Finds stumps.
    weighting : {"optimal", "conservative"}
        How votes and weights are computed.
    smoothing : float
        Added to W+ and W- in the vote.
    scores : float64 array of shape (n_rows, 1), default=None
        Votes of earlier rounds.
    """

    whole = 2.0**30

    def __init__(
        self,
        table: SortedCells,
        sign: np.ndarray,
        start: np.ndarray,
        unit: np.ndarray,
        learner: Any,
        weighting: str,
        smoothing: float,
        scores: np.ndarray | None = None,
    ) -> None:
        log_weight = np.log(start)
        if scores is not None:
            log_weight -= sign * scores[:, 0]
        super().__init__(table, log_weight, learner)
        self._sign = sign
        self._unit = unit
        self._weighting = weighting
        self._smoothing = smoothing

    def play(self, number: int) -> Step | None:
        """One round.

        Parameters
        ----------
        number : int
            Its number.

        Returns
        -------
        Step or None
            None if no stump is right more than it is wrong.
        """
        share = self._share()
        whole = whole_weights(share, self._unit, self.whole)
        nodes = self._learner.find((whole * self._sign).astype(np.int32), number)
        if not nodes:
            return None
        agrees = np.zeros(len(share), dtype=np.int8)  # y h: right 1, wrong -1
        for node, rows, mine, left in self._answered(nodes):
            answer = np.where(left, *(a[0] for a in node.answers)) * mine
            agrees[rows] += (answer * self._sign[rows]).astype(np.int8)
        # Sums of whole numbers: the same in any order.
        right, wrong, abstained = (
            float(whole[agrees == k].sum() / whole.sum()) for k in (1, -1, 0)
        )
        if right <= wrong:
            return None
        alpha = vote(right, wrong, abstained, self._weighting, self._smoothing)
        factor = np.array([0.0, -alpha, alpha])  # abstained, right, wrong
        if self._weighting == "conservative":
            factor[0] = np.log(np.cosh(alpha))
        change = factor[agrees]
        self._log += change
        voted = [
            node and replace(node, answers=tuple(alpha * a for a in node.answers))
            for node in nodes
        ]
        normalizer = exact_total(*exact_parts(share * np.exp(change)))
        return Step(voted, alpha, normalizer, bool(np.ptp(change) == 0))


class ScoreRounds(_Rounds):
    """Rounds of MH.

    Parameters
    ----------
    table : SortedCells
        The features.
    label : int array of shape (n_rows,)
        Labels, counted within the task.
    n_labels : int array of shape (n_tasks,)
        Labels of each task.
    start, unit : float arrays of shape (n_rows,)
        Weights to begin with, and how many rows each stands for.
    learner : ScoreLearner
        Finds stumps.
    scores : float64 array of shape (n_rows, most labels), default=None
        Scores by earlier rounds.
    """

    whole = 2.0**50

    def __init__(
        self,
        table: SortedCells,
        label: np.ndarray,
        n_labels: np.ndarray,
        start: np.ndarray,
        unit: np.ndarray,
        learner: Any,
        scores: np.ndarray | None = None,
    ) -> None:
        of_row = np.repeat(n_labels, np.diff(table.indptr))
        log_weight = np.repeat(np.log(start / of_row), of_row)
        if scores is not None:
            place = np.arange(scores.shape[1])
            own = np.where(place == label[:, None], -scores, scores)
            log_weight += own[place < of_row[:, None]]
        super().__init__(table, log_weight, learner)
        self._unit = np.repeat(unit, of_row)
        self._label = label
        self._n_labels = n_labels

    def play(self, number: int) -> Step | None:
        """One round.

        Parameters
        ----------
        number : int
            Its number.

        Returns
        -------
        Step or None
            None if no stump takes any weight away.
        """
        share = self._share()
        whole = whole_weights(share, self._unit, self.whole)
        nodes = self._learner.find(whole, number)
        if not nodes:
            return None
        change = np.zeros(len(share))
        for node, rows, mine, left in self._answered(nodes):
            first, last = self._learner.first[node.task : node.task + 2]
            K = self._n_labels[node.task]
            own = self._label[rows][:, None] == np.arange(K)
            answer = np.where(left[:, None], *node.answers) * mine[:, None]
            here = change[first:last].reshape(-1, K)
            here -= np.where(own, answer, -answer)
        normalizer = exact_total(*exact_parts(share * np.exp(change)))
        if normalizer >= 1 - 1e-12:
            return None
        self._log += change
        return Step(nodes, 1.0, normalizer, bool(np.ptp(change) < 1e-12))
