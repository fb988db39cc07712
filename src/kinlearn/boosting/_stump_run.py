"""A run of abstaining boosting: from rows to stumps and their votes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from kinlearn.boosting._boosted_rows import BoostedRows
from kinlearn.boosting._early_stopping import Watch
from kinlearn.boosting._root_tests import RootTests
from kinlearn.boosting._roots import RootChoice
from kinlearn.boosting._rounds import ScoreRounds, SignRounds, Step
from kinlearn.boosting._score_learner import ScoreLearner
from kinlearn.boosting._search_parts import search_parts
from kinlearn.boosting._sign_learner import SignLearner
from kinlearn.boosting._sorted_cells import SortedCells
from kinlearn.boosting._stumps import StumpBuilder, TwoTaskStumps

__all__ = ["Boosted", "StumpRun", "StumpSettings", "collect_rounds"]


@dataclass(frozen=True)
class StumpSettings:
    """How to boost.

    Attributes
    ----------
    algorithm : {"mtaa", "mh"}
        Signs or scores.
    weighting : {"optimal", "conservative"}
        How votes and weights of signs are computed.
    choice : RootChoice
        How roots are chosen.
    smoothing : float or None
        Share of all weight that is added in votes; None is 1 over the number of
        weights.
    max_bins : int
        Largest number of bins of a feature.
    n_jobs : int or None
        Threads.
    """

    algorithm: str
    weighting: str
    choice: RootChoice
    smoothing: float | None
    max_bins: int
    n_jobs: int | None

    def epsilon(self, n_weights: float) -> float:
        """What is added in votes, if there are so many weights."""
        return 1.0 / max(n_weights, 1.0) if self.smoothing is None else self.smoothing


@dataclass(frozen=True, eq=False)
class Boosted:
    """What rounds found.

    Attributes
    ----------
    stumps : TwoTaskStumps
        Those that are kept.
    weights, normalizers : float64 arrays of shape (n_rounds,)
        Votes, and what the weights summed to.
    saw_missing : bool
        Whether some value was missing.
    """

    stumps: TwoTaskStumps
    weights: np.ndarray
    normalizers: np.ndarray
    saw_missing: bool

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
    """Run rounds until one is the last.

    Parameters
    ----------
    play : callable
        Gives the `Step` of a number, or None.
    builder : StumpBuilder
        Gets the stumps.
    rounds : range
        Numbers of the rounds.
    on_round : callable
        Gives a context manager for a round, counted from 0.
    watch : Watch, default=None
        When to stop.

    Returns
    -------
    stumps : TwoTaskStumps
        Those that are kept.
    weights, normalizers : float64 arrays of shape (n_rounds,)
        Of these.
    """
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
    """Rows that are ready to be boosted.

    Attributes
    ----------
    data : TaskData or LaterData
        The rows.
    rows : BoostedRows
        Those that take part.
    sizes : int32 array of shape (n_tasks,)
        Numbers that a prediction for each task has.
    settings : StumpSettings
        How.
    watch : Watch or None
        When to stop.
    n_before : int
        Number of earlier rounds.
    scores : float64 array of shape (n_samples, most numbers), or None
        Scores of the rows by these.
    tests : RootTests or None
        Tests that are candidates for the root, in the place of those of the rows.
    """

    data: Any
    rows: BoostedRows
    sizes: np.ndarray
    settings: StumpSettings
    watch: Watch | None = None
    n_before: int = 0
    scores: np.ndarray | None = None
    tests: RootTests | None = None

    def play(self, n_rounds: int, on_round: Callable[[int], Any]) -> Boosted:
        """Boost.

        Parameters
        ----------
        n_rounds : int
            Most rounds.
        on_round : callable
            Gives a context manager for a round's number.

        Returns
        -------
        Boosted
            The rounds that are kept.
        """
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
