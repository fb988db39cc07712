"""The rounds of abstaining boosting: weights, votes and normalisers.

Symbols: D is the distribution over rows (or rows and labels); W+, W- and W0 are its
mass on right, wrong and abstained predictions; alpha is the vote of a stump and Z what
D sums to after its update. Weights are kept as logarithms, so that many rounds lose
nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from kinlearn.boosting.stumps._candidates import RootChoice, RootTests
from kinlearn.boosting.stumps._model import Node, StumpBuilder, TwoTaskStumps
from kinlearn.boosting.stumps._rows import BoostedRows
from kinlearn.boosting.stumps._search_binary import SignLearner
from kinlearn.boosting.stumps._search_multiclass import ScoreLearner
from kinlearn.boosting.stumps._table import SortedCells, search_parts

__all__ = [
    "Boosted",
    "ScoreRounds",
    "SignRounds",
    "Step",
    "StumpRun",
    "StumpSettings",
    "Watch",
    "collect_rounds",
    "exact_parts",
    "exact_total",
    "vote",
    "whole_weights",
]

# Below this the logarithm of a weight ratio is meaningless.
_LEAST = 1e-10


@dataclass(frozen=True, eq=False)
class Step:
    """What a round did."""

    nodes: list  # the stump, with the predictions that are added up
    weight: float  # its vote, alpha; 1 for scores
    normalizer: float  # z
    last: bool  # whether further rounds would do the same again


def vote(
    right: float, wrong: float, abstained: float, weighting: str, smoothing: float
) -> float:
    """The vote alpha of a stump.

    Examples
    --------
    >>> from kinlearn.boosting.stumps._rounds import vote
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
    """
    return np.rint(share / unit * whole) * unit


def exact_parts(values: np.ndarray) -> tuple[int, int]:
    """A sum that does not depend on the order of the numbers, as two whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting.stumps._rounds import exact_parts, exact_total
    >>> values = np.array([0.1, 1e-14, 0.9])
    >>> exact_total(*exact_parts(values)) == exact_total(*exact_parts(values[::-1]))
    True
    """
    fine = values * 2.0**30
    high = np.floor(fine)
    low = np.rint((fine - high) * 2.0**30)
    return int(high.astype(np.int64).sum()), int(low.astype(np.int64).sum())


def exact_total(high: int, low: int) -> float:
    """The sum of what `exact_parts` gave, perhaps of several parts together."""
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
    """Rounds of MTAA."""

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
        """One round."""
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
    """Rounds of MH."""

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
        """One round."""
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


class Watch:
    """Error on the rows held back, round by round."""

    def __init__(
        self,
        X: Any,
        rows: BoostedRows,
        width: int,
        patience: int,
        scores: np.ndarray | None = None,
    ) -> None:
        self._X = X
        self._rows = rows
        self._task = rows.task
        self._scores = np.zeros((len(rows.order), width))
        if scores is not None:
            self._scores += scores
        self._patience = patience
        self.errors: list[float] = []

    def tired(self, stump: TwoTaskStumps) -> bool:
        """Take in a round."""
        stump.add_scores(self._X, self._task, self._scores)
        self.errors.append(self._error())
        return len(self.errors) - self.n_best >= self._patience

    @property
    def n_best(self) -> int:
        """Rounds up to the smallest error."""
        return int(np.argmin(self.errors)) + 1 if self.errors else 0

    def _error(self) -> float:
        """Weight of wrong predictions; where nobody votes, that of a guess."""
        rows, scores = self._rows, self._scores
        n_labels = np.repeat(rows.n_labels, np.diff(rows.indptr))
        if scores.shape[1] == 1:  # signs: the vote for the second class
            answer = (scores[:, 0] > 0).astype(np.int32)
        else:
            lacking = np.arange(scores.shape[1]) >= n_labels[:, None]
            answer = np.where(lacking, -np.inf, scores).argmax(axis=1)
        wrong = np.where(scores.any(axis=1), answer != rows.label, 1 - 1 / n_labels)
        return float(rows.start @ wrong)


@dataclass(frozen=True)
class StumpSettings:
    """How to boost."""

    algorithm: str  # signs or scores
    weighting: str  # how votes and weights of signs are computed
    choice: RootChoice  # how roots are chosen
    # share of all weight that is added in votes; None is 1 over the number of
    # weights
    smoothing: float | None
    max_bins: int  # largest number of bins of a feature
    n_jobs: int | None  # threads

    def epsilon(self, n_weights: float) -> float:
        """What is added in votes, if there are so many weights."""
        return 1.0 / max(n_weights, 1.0) if self.smoothing is None else self.smoothing


@dataclass(frozen=True, eq=False)
class Boosted:
    """What rounds found."""

    stumps: TwoTaskStumps  # those that are kept
    weights: np.ndarray  # (n_rounds,) votes, and what the weights summed to
    normalizers: np.ndarray  # (n_rounds,) votes, and what the weights summed to
    saw_missing: bool  # whether some value was missing

    def followed_by(self, other: "Boosted") -> "Boosted":
        """These rounds and then others."""
        return Boosted(
            self.stumps.followed_by(other.stumps),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.normalizers, other.normalizers]),
            self.saw_missing or other.saw_missing,
        )


def collect_rounds(
    play: Callable[[int], Step | None],
    builder: StumpBuilder,
    rounds: range,
    on_round: Callable[[int], Any],
    watch: Watch | None = None,
) -> tuple[TwoTaskStumps, np.ndarray, np.ndarray]:
    """Run rounds until one is the last."""
    steps: list = []
    for number in rounds:
        with on_round(number - rounds.start) as told:
            step = play(number)
            if step is None:
                break
            steps.append((step.weight, step.normalizer))
            stump = builder.add(step.nodes)
            if step.last or (watch is not None and watch.tired(stump)):
                break
        if told.stop:
            break
    kept = len(steps) if watch is None else watch.n_best
    weights, normalizers = np.array(steps[:kept], dtype=np.float64).reshape(-1, 2).T
    return builder.finish(kept), weights.copy(), normalizers.copy()


@dataclass(frozen=True, eq=False)
class StumpRun:
    """Rows that are ready to be boosted."""

    data: Any  # the rows
    rows: BoostedRows  # those that take part
    sizes: np.ndarray  # (n_tasks,) numbers that a prediction for each task has
    settings: StumpSettings  # how
    watch: Watch | None = None  # when to stop
    n_before: int = 0  # number of earlier rounds
    # (n_samples, most numbers) scores of the rows by these
    scores: np.ndarray | None = None
    # tests that are candidates for the root, in the place of those of the rows
    tests: RootTests | None = None

    def play(self, n_rounds: int, on_round: Callable[[int], Any]) -> Boosted:
        """Boost."""
        data, rows, tests = self.data, self.rows, self.tests
        table = SortedCells.of(
            data.X,
            rows.order,
            rows.indptr,
            data.sample_weight,
            self.settings.max_bins,
            None if tests is None else tests.cuts(data.X.shape[1]),
        )
        builder = StumpBuilder(table.bins, rows.tasks, self.sizes)
        first = self.n_before
        numbers = range(first, first + (n_rounds if len(rows.order) else 0))
        with search_parts(table, effective_n_jobs(self.settings.n_jobs)) as run:
            play = self._rounds(table, run).play
            stumps, weights, normalizers = collect_rounds(
                play, builder, numbers, on_round, self.watch
            )
        return Boosted(stumps, weights, normalizers, table.has_missing)

    def _rounds(
        self, table: SortedCells, run: Callable[[Callable[[int, int], Any]], list[Any]]
    ) -> SignRounds | ScoreRounds:
        settings, rows = self.settings, self.rows
        roots = None if self.tests is None else self.tests.roots(table.bins)
        scores = None if self.scores is None else self.scores[rows.order]
        if settings.algorithm == "mtaa":
            return SignRounds(
                table,
                np.where(rows.label == 1, 1, -1).astype(np.int8),
                rows.start,
                rows.unit,
                SignLearner(table, settings.choice, run, given=roots),
                settings.weighting,
                settings.epsilon(rows.unit.sum()),
                scores,
            )
        n_labels = np.repeat(rows.n_labels, np.diff(rows.indptr))
        smoothing = settings.epsilon((rows.unit * n_labels).sum())
        scorer = ScoreLearner(
            table, settings.choice, run, rows.n_labels, rows.label, smoothing, roots
        )
        return ScoreRounds(
            table, rows.label, rows.n_labels, rows.start, rows.unit, scorer, scores
        )
