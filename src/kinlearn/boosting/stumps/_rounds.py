"""The rounds of abstaining boosting: one driver for rows in memory and in partitions.

Symbols: D is the distribution over rows (or rows and labels); W+, W- and W0 are its
mass on right, wrong and abstained predictions; alpha is the vote of a stump and Z what
D sums to after its update.

The rows lie in the partitions of an engine, and their weights with them. In a round the
driver requests statistics, which are sums of whole numbers, and searches these for the
stump. In memory there is one partition, whose statistics are the rows themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, attrgetter
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from kinlearn._partitions import LocalPartitions
from kinlearn.boosting.stumps._model import StumpBuilder, TwoTaskStumps
from kinlearn.boosting.stumps._rows import (
    BoostedRows,
    RoundRows,
    Scale,
    TableRows,
    exact_total,
)
from kinlearn.boosting.stumps._search import (
    BinarySearch,
    MulticlassSearch,
    RootChoice,
    RootTests,
    StumpSearch,
)
from kinlearn.boosting.stumps._table import LabelTable, SortedCells, search_ranges

__all__ = [
    "Boosted",
    "Rounds",
    "Step",
    "StumpRun",
    "StumpSettings",
    "Watch",
    "collect_rounds",
    "make_search",
]


@dataclass(frozen=True, eq=False)
class Step:
    """What a round did."""

    nodes: list  # the stump, with the predictions that are added up
    weight: float  # its vote, alpha; 1 for scores
    normalizer: float  # z
    last: bool  # whether further rounds would do the same again


class Rounds:
    """Asks the partitions of an engine, whose rows are of a type, for stumps.

    `scores` are those of earlier rounds, of rows in memory.
    """

    def __init__(
        self,
        engine: Any,
        rows: type[RoundRows],
        search: StumpSearch,
        scores: np.ndarray | None = None,
    ) -> None:
        self._engine = engine
        self._rows = rows
        self._search = search
        self._weights = engine.map(self._rows.begin, engine.partitions, scores)
        self._peak = self._done()[-1]

    def play(self, number: int) -> Step | None:
        """One round; None if no stump does any good."""
        engine, search = self._engine, self._search
        mass = engine.reduce(
            _sum_pairs,
            self._rows.mass,
            engine.partitions,
            self._peak,
            each=self._weights,
        )
        scale = Scale(self._peak, exact_total(*mass))

        def request(method: str, *args: Any) -> Any:
            function = getattr(self._rows, method)
            return engine.reduce(
                _sum, function, engine.partitions, scale, *args, each=self._weights
            )

        found = search.find(request, number)
        voted = None if found is None else search.vote(found)
        if voted is None:
            return None
        nodes, alpha, idle = voted
        self._weights = engine.map(
            self._rows.move, engine.partitions, scale, nodes, idle, each=self._weights
        )
        high, low, least, greatest, self._peak = self._done()
        normalizer = exact_total(high, low)
        if normalizer >= search.most_normalizer:
            return None
        return Step(nodes, alpha, normalizer, greatest - least < 1e-12)

    def _done(self) -> tuple:
        """What the last round did to all weights; see `LogWeights`."""
        return self._engine.reduce(_merged, attrgetter("done"), self._weights)


def _sum(values: Sequence[Any]) -> Any:
    return reduce(add, values)  # of the same type: sums of int32 fit


def _sum_pairs(pairs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*pairs, strict=True)))


def _merged(done: Sequence[tuple]) -> tuple:
    high, low, least, greatest, peak = zip(*done, strict=True)
    return sum(high), sum(low), min(least), max(greatest), max(peak)


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
        if rows.own is not None:  # labels that are wrong, as a fraction of the task's
            sizes = np.repeat(rows.n_labels, np.diff(rows.indptr))
            some = scores[np.arange(scores.shape[1]) < sizes[:, None]]
            wrong = np.where(some == 0, 0.5, (some > 0) != rows.own)
            return float(np.repeat(rows.start / sizes, sizes) @ wrong)
        n_labels = np.repeat(rows.n_labels, np.diff(rows.indptr))
        if scores.shape[1] == 1:  # signs: the vote for the second class
            prediction = (scores[:, 0] > 0).astype(np.int32)
        else:
            lacking = np.arange(scores.shape[1]) >= n_labels[:, None]
            prediction = np.where(lacking, -np.inf, scores).argmax(axis=1)
        wrong = np.where(scores.any(axis=1), prediction != rows.label, 1 - 1 / n_labels)
        return float(rows.start @ wrong)


@dataclass(frozen=True)
class StumpSettings:
    """How to boost."""

    algorithm: str  # signs or scores
    weighting: str  # how votes and weights of signs are computed
    choice: RootChoice  # how roots are chosen
    # fraction of all weight that is added in votes; None is 1 over the number of
    # weights
    smoothing: float | None
    max_bins: int  # largest number of bins of a feature
    n_jobs: int | None  # threads
    levels: int = 2  # of a stump

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
    play: Any,
    builder: StumpBuilder,
    rounds: range,
    on_round: Callable[[int], Any],
    watch: Watch | None = None,
) -> tuple[TwoTaskStumps, np.ndarray, np.ndarray]:
    """Run rounds until one is the last."""
    steps: list = []
    for number in rounds:
        with on_round(number - rounds.start) as progress:
            step = play(number)
            if step is None:
                break
            steps.append((step.weight, step.normalizer))
            stump = builder.add(step.nodes)
            if step.last or (watch is not None and watch.tired(stump)):
                break
        if progress.stop:
            break
    kept = len(steps) if watch is None else watch.n_best
    weights, normalizers = np.array(steps[:kept], dtype=np.float64).reshape(-1, 2).T
    return builder.finish(kept), weights.copy(), normalizers.copy()


def make_search(
    settings: StumpSettings,
    n_weights: float,
    labels: Any,
    n_labels: np.ndarray,
    **options: Any,
) -> StumpSearch:
    """The weak learner of the algorithm; other options are those of `StumpSearch`."""
    options |= {"choice": settings.choice, "smoothing": settings.epsilon(n_weights)}
    options["levels"] = settings.levels
    if settings.algorithm == "mtaa":
        return BinarySearch(weighting=settings.weighting, **options)
    return MulticlassSearch(labels=labels, n_labels=n_labels, **options)


@dataclass(frozen=True, eq=False)
class StumpRun:
    """Rows in memory that are ready to be boosted."""

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
        data, rows, tests, settings = self.data, self.rows, self.tests, self.settings
        table = SortedCells.of(
            data.X,
            rows.order,
            rows.indptr,
            data.sample_weight,
            settings.max_bins,
            None if tests is None else tests.cuts(data.X.shape[1]),
        )
        builder = StumpBuilder(table.bins, rows.tasks, self.sizes)
        if not len(rows.order):
            return Boosted(*collect_rounds(None, builder, range(0), on_round), False)
        binary = settings.algorithm == "mtaa"
        taking_part = TableRows.of(rows, table.cells, binary)
        engine = LocalPartitions()
        engine.keep([taking_part], [len(rows.order)])
        of_row = 1 if binary else np.repeat(rows.n_labels, np.diff(rows.indptr))
        numbers = range(self.n_before, self.n_before + n_rounds)
        with search_ranges(table, effective_n_jobs(settings.n_jobs)) as run:
            search = make_search(
                settings,
                n_weights=(rows.unit * of_row).sum(),
                labels=LabelTable(table.cells, rows, taking_part.first),
                n_labels=rows.n_labels,
                at_once=BinarySearch.n_lanes if binary else 1,
                table=table,
                run=run,
                given=None if tests is None else tests.roots(table.bins),
            )
            scores = None if self.scores is None else self.scores[rows.order]
            play = Rounds(engine, TableRows, search, scores).play
            found = collect_rounds(play, builder, numbers, on_round, self.watch)
        return Boosted(*found, table.has_missing)
