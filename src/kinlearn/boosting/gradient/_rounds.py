"""Rounds of boosting: gradients, a tree for each output, values of leaves and tasks."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from kinlearn._binning import in_units, is_whole
from kinlearn._kernels._random import fill_below, fill_u64, skipped, stream_state
from kinlearn._kernels.boosting.gradient._boosted_growth import Growth
from kinlearn._kernels.boosting.gradient._find_split import SplitSearch
from kinlearn._kernels.boosting.gradient._gradients import largest
from kinlearn._kernels.boosting.gradient._grow_boosted import Grower
from kinlearn._kernels.boosting.gradient._leaf_rows import LeafRows
from kinlearn.boosting.gradient._bins import Binned, FeatureBins
from kinlearn.boosting.gradient._departures import leaf_values
from kinlearn.boosting.gradient._exact import group_quantiles
from kinlearn.boosting.gradient._model import NODE, Tree, Trees
from kinlearn.boosting.gradient._start import (
    RowsHere,
    Start,
    Totals,
    Units,
    gradient_memory,
    merge_largest,
    merge_sums,
)
from kinlearn.boosting.gradient.linear_part import find_start_with_line
from kinlearn.utils import Threads
from kinlearn.utils._values import plain_option

__all__ = [
    "MOST_COUNTED",
    "Boosted",
    "Problem",
    "Rounds",
    "Settings",
    "Start",
    "Watch",
    "boost",
    "counted_rows",
    "drawn_rows",
    "held_draws",
    "make_growth",
    "make_tree",
    "most_leaves",
]

# In a leaf, of a row of mean weight: a Newton step over less would be too long.
_LEAST_CURVATURE = 1e-3
_DRAWS = 2**31
_NOWHERE = np.nonzero(np.empty((0, 0)))  # a table without departures
# By default; of counts, costs and quantiles, less than so many rows have fewer.
_MANY_LEAVES, _FEW_LEAVES, _FEW_ROWS = 12, 6, 10_000
MOST_COUNTED = 2.0**31  # rows that whole weights may stand for together
_HELD_BACK = 2**63 + 1  # the stream of rows held back: odd, as those of draws


@dataclass(frozen=True)
class Settings:
    """How to boost; see the estimators' parameters."""

    learning_rate: float
    max_leaves: int  # 0 is no limit; of many rows, if there is one for few
    max_depth: int  # 0 is no limit
    least_count: int
    l2: float
    max_features: int
    subsample: float
    task_splits: bool
    task_values: bool
    seed: int
    max_leaves_of_few: int = 0  # rows; 0 is the same
    linear_part: bool | str = False
    # int8 array of shape (n_features,): 1 rises, -1 falls
    direction: Any = field(default=None, compare=False)
    # uint8 array of shape (n_groups, n_features)
    groups: Any = field(default=None, compare=False)

    @classmethod
    def of(cls, estimator: Any, seed: int, n_features: int, **constraints: Any) -> Self:
        """Those of an estimator's parameters."""
        leaves = estimator.max_leaf_nodes
        is_auto = isinstance(leaves, str)
        skewed = is_auto and estimator.loss != "squared_error"
        return cls(
            learning_rate=estimator.learning_rate,
            max_leaves=_MANY_LEAVES if is_auto else leaves or 0,
            max_leaves_of_few=_FEW_LEAVES if skewed else 0,
            max_depth=estimator.max_depth or 0,
            least_count=estimator.min_samples_leaf,
            l2=estimator.l2_regularization,
            max_features=int(np.ceil(estimator.max_features * n_features)),
            subsample=estimator.subsample,
            task_splits=estimator.task_splits,
            task_values=estimator.task_values,
            linear_part=plain_option(estimator.linear_part),
            seed=seed,
            **constraints,
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to boost.

    Attributes
    ----------
    binned : Binned
        Their features.
    task : int32 array of shape (n_samples,)
        Task codes.
    n_tasks : int
        Number of tasks.
    loss : object
        The loss, which knows their targets and weights.
    n_rows : int64 array of shape (n_samples,)
        How many rows each stands for; 0 for one that does not count.
    allowed : bool array of shape (n_tasks, n_outputs), or None
        Which outputs the rows of a task have; None is all.
    offset : float64 array of shape (n_samples,), or None
        What is added to the scores of the rows.
    """

    binned: Binned
    task: np.ndarray
    n_tasks: int
    loss: Any
    n_rows: np.ndarray
    allowed: np.ndarray | None = None
    offset: np.ndarray | None = None

    def rows(self, output: int) -> np.ndarray:
        """The rows that count for an output, ascending."""
        counts = self.n_rows > 0
        if self.allowed is not None:
            counts &= self.allowed[self.task, output]
        return np.flatnonzero(counts).astype(np.int32)

    def part(self, some: slice) -> "Problem":
        """Some of the rows, not copied."""
        return replace(
            self,
            binned=Binned(self.binned.features, self.binned.bins[some]),
            task=self.task[some],
            loss=self.loss.part(some),
            n_rows=self.n_rows[some],
            offset=None if self.offset is None else self.offset[some],
        )


@dataclass(eq=False)
class Watch:
    """Rows that do not train, by whose loss rounds are judged."""

    bins: np.ndarray
    task: np.ndarray
    loss: Any
    scores: np.ndarray

    def look(self, trees: Sequence[Tree], n_tasks: int) -> float:
        """The loss with trees added."""
        Trees.of(trees, n_tasks).add_scores(self.bins, self.task, self.scores)
        return self.loss.value(self.scores)

    def total(self) -> float:
        """The sum of the losses as they are."""
        return self.loss.value(self.scores) * float(self.loss.weight.sum())


def counted_rows(weight: np.ndarray) -> np.ndarray:
    """How many rows each stands for: its weight, if all weights are whole, or one."""
    if is_whole(weight) and weight.sum() < MOST_COUNTED:
        return weight.astype(np.int64)
    return (weight > 0).astype(np.int64)


def drawn_rows(settings: Settings, number: int, first: int, n: int) -> np.ndarray:
    """Which of `n` rows a round grows with; `first` is the number of the first."""
    draws = np.empty(n, dtype=np.int64)
    state = stream_state(settings.seed, 2 * number + 1)
    fill_below(skipped(state, first), _DRAWS, draws)
    return draws < settings.subsample * _DRAWS


def held_draws(seed: int, first: int, n: int) -> np.ndarray:
    """Different numbers of rows, by which some are held back; see `drawn_rows`."""
    draws = np.empty(n, dtype=np.uint64)
    fill_u64(skipped(stream_state(seed, _HELD_BACK), first), draws)
    return draws


class Rounds:
    """The rounds of one fit.

    Parameters
    ----------
    problem : Problem
        Rows.
    settings : Settings
        How to boost.
    start : Start, default=None
        Where scores begin; None finds it.
    before : Trees, default=None
        Trees to go on from.
    n_jobs : int, default=1
        Threads.
    threads : Threads, default=None
        The same for one tree; None makes them.
    """

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        *,
        start: Start | None = None,
        before: Trees | None = None,
        n_jobs: int = 1,
        threads: Threads | None = None,
    ) -> None:
        self.problem, self.settings = problem, settings
        self.threads = (
            Threads(n_jobs, len(problem.task)) if threads is None else threads
        )
        self.n_outputs = problem.loss.n_outputs
        self.rows = [problem.rows(k) for k in range(self.n_outputs)]
        self.pairs, *self._derivatives = gradient_memory(
            len(problem.task), self.n_outputs
        )
        here = RowsHere(problem)
        self.totals = Totals.of(here)
        if start is None:
            start = find_start_with_line(
                here,
                problem.loss,
                self.totals,
                problem.n_tasks,
                problem.binned.features,
                settings,
            )
        self.start = start
        self.scores = self.start.scores_of(problem)
        self.n_done = 0
        if before is not None:
            before.add_scores(problem.binned.bins, problem.task, self.scores)
            self.n_done = len(before) // self.n_outputs
        # of few rows, trees grow side by side; of many, one by all threads
        self.n_jobs = min(n_jobs, self.n_outputs) if self.threads.n == 1 else 1
        self.growers = [self._grower() for _ in range(self.n_jobs)]

    def _grower(self) -> Grower:
        problem, n_bins = self.problem, self.problem.binned.features.n_bins
        features = problem.binned.features
        growth = make_growth(
            features,
            problem.n_tasks,
            self.totals,
            self.settings,
            n_threads=self.threads.n,
        )
        rows = LeafRows(
            problem.binned.bins,
            n_bins,
            problem.task,
            problem.n_tasks,
            growth.max_leaves,
            self.threads.team,
        )
        return Grower(growth, rows)

    # ----------------------------------------------------------------- rounds

    def play(self) -> list[Tree]:
        """Play a round: a tree for each output."""
        outputs = range(self.n_outputs)
        most = self.threads.over_rows(self._fill_gradients, len(self.scores))
        units = [Units.of(one, self.totals) for one in merge_largest(most)]
        drawn = self._draw()
        if self.n_jobs == 1:
            trees = [self._tree(k, units[k], drawn, 0) for k in outputs]
        else:
            jobs = range(self.n_jobs)

            def grow(job: int) -> list[Tree]:
                turns = outputs[job :: self.n_jobs]
                return [self._tree(k, units[k], drawn, job) for k in turns]

            with ThreadPoolExecutor(self.n_jobs) as pool:
                found = list(pool.map(grow, jobs))
            trees = [found[k % self.n_jobs][k // self.n_jobs] for k in outputs]
        if drawn is not None:
            together = Trees.of(trees, self.problem.n_tasks)
            for k, rows in enumerate(self.rows):
                together.add_scores(
                    self.problem.binned.bins,
                    self.problem.task,
                    self.scores,
                    rows=rows[~drawn[rows]],
                    first=k,
                    last=k + 1,
                )
        self.n_done += 1
        return trees

    def _draw(self) -> np.ndarray | None:
        """Which rows the round grows with; None is all."""
        if self.settings.subsample >= 1:
            return None
        drawn = drawn_rows(self.settings, self.n_done, 0, len(self.problem.task))
        counts = self.problem.n_rows > 0
        return drawn if (drawn & counts).any() else counts

    def _fill_gradients(self, some: slice) -> np.ndarray:
        """Fill the derivatives of some rows; the largest of each output."""
        g, h = self._derivatives
        loss = self.problem.loss
        loss.fill_gradients(self.scores, some, g, h)
        return np.array(
            [
                largest(g[k][some], h[k][some], loss.weight[some])
                for k in range(self.n_outputs)
            ]
        )

    def _tree(self, k: int, units: Units, drawn: np.ndarray | None, job: int) -> Tree:
        grower, settings, threads = self.growers[job], self.settings, self.threads
        growth, n_tasks = grower.growth, self.problem.n_tasks
        g, h = (each[k] for each in self._derivatives)
        pairs = self.pairs if self.n_jobs == 1 else np.empty_like(self.pairs)
        rows = self.rows[k] if drawn is None else self.rows[k][drawn[self.rows[k]]]
        found = threads.over_rows(
            lambda some: units.fill(pairs, g, h, self.problem.n_rows, rows[some]),
            len(rows),
        )
        noise = units.noise(merge_sums(found))
        growth.search.begin(
            g_unit=units.g,
            h_unit=units.h,
            bits=units.bits,
            noise=noise,
            seed=stream_state(settings.seed, 2 * (self.n_done * self.n_outputs + k)),
        )
        root, sums = np.empty(2, dtype=np.int64), None
        with threads.serving():
            grower.rows.begin(pairs, rows, root)
            grower.grow(root)
            if settings.task_values and n_tasks > 1:
                of_task = np.empty((growth.n_leaves, n_tasks, 2), dtype=np.int64)
                grower.task_sums(of_task)
                sums = units.numbers(of_task)
                del of_task  # with many leaves and tasks, it is large
            tree, table = make_tree(
                growth,
                k,
                sums,
                noise=noise,
                mean_weight=self.totals.mean_weight,
                learning_rate=settings.learning_rate,
                loss=self.problem.loss,
                quantiles=lambda by_task: self._quantiles(
                    grower.rows, growth.n_leaves, by_task
                ),
            )
            grower.rows.add_values(tree.leaf_values, table, self.scores[:, k])
        return tree

    def _quantiles(self, leaves: LeafRows, n_leaves: int, by_task: bool) -> np.ndarray:
        """Quantiles of the residuals in leaves, or in pairs of leaf and task."""
        loss, n_groups = self.problem.loss, n_leaves
        start = np.empty(n_leaves + 1, dtype=np.int32)
        rows = np.empty(len(self.problem.task), dtype=np.int32)
        leaves.leaf_rows(rows, start)
        rows = rows[: start[-1]]
        group = np.repeat(np.arange(n_leaves), np.diff(start))
        if by_task:
            n_groups *= self.problem.n_tasks
            group = group * self.problem.n_tasks + self.problem.task[rows]
        left = loss.y[rows] - self.scores[rows, 0]
        weight: Any = in_units(loss.weight[rows], self.totals.weight_unit)
        return group_quantiles(left, weight, group, n_groups, loss.quantile)


def make_growth(
    features: FeatureBins,
    n_tasks: int,
    totals: Totals,
    settings: Settings,
    factor: int = 1,
    n_threads: int = 1,
) -> Growth:
    """What grows trees, from sums over rows wherever they lie.

    `factor` is for more leaves than the settings have.
    """
    d = len(features.n_bins)
    direction, groups = settings.direction, settings.groups
    search = SplitSearch(
        features.n_bins,
        features.categorical.astype(np.uint8),
        np.zeros(d, dtype=np.int8) if direction is None else direction,
        np.zeros((0, d), dtype=np.uint8) if groups is None else groups,
        n_tasks,
        least_count=settings.least_count,
        least_h=_LEAST_CURVATURE * totals.mean_weight,
        max_features=settings.max_features,
        l2=settings.l2 * totals.mean_weight,
        task_splits=settings.task_splits,
        n_threads=n_threads,
    )
    return Growth(
        search,
        max_leaves=factor * most_leaves(totals, settings),
        max_depth=settings.max_depth,
    )


def most_leaves(totals: Totals, settings: Settings) -> int:
    """As many as the settings and the rows allow."""
    most = min(totals.n, totals.n_rows // settings.least_count)
    if settings.max_depth:
        most = min(most, 2 ** min(settings.max_depth, 40))
    if settings.max_leaves:
        most = min(most, settings.max_leaves)
    if settings.max_leaves_of_few and totals.n_rows < _FEW_ROWS:
        most = min(most, settings.max_leaves_of_few)
    return max(most, 1)


def make_tree(
    growth: Growth,
    output: int,
    sums: tuple[np.ndarray, np.ndarray] | None,
    *,
    noise: float,
    learning_rate: float,
    **options: Any,
) -> tuple[Tree, np.ndarray]:
    """A tree that is grown, with values; and the departures as a table.

    `sums` and `options` are those of `leaf_values`.
    """
    n_leaves = growth.n_leaves
    nodes = np.empty(growth.n_nodes, dtype=NODE)
    gain, value, weight = np.empty((3, growth.n_nodes))
    sets = np.empty(growth.n_set_bytes, dtype=np.uint8)
    values, bounds = np.empty(n_leaves), np.empty((n_leaves, 2))
    growth.copy_tree(nodes, gain, value, weight, sets, values, bounds)
    values, table, penalty = leaf_values(
        values, bounds, sums, noise=noise, learning_rate=learning_rate, **options
    )
    where: Any = np.nonzero(table) if table.size else _NOWHERE
    tree = Tree(
        output=output,
        nodes=nodes,
        gain=gain,
        value=value,
        weight=weight,
        sets=sets,
        leaf_values=values,
        departures=(where[0], where[1], table[where]),
        noise=noise,
        penalty=penalty,
        rate=learning_rate,
    )
    return tree, table


@dataclass(frozen=True, eq=False)
class Boosted:
    """Rounds that were played: where scores begin, and the trees."""

    start: Start
    trees: Trees

    def scores(self, bins: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Scores of rows with the same bins; -1 is an unknown task."""
        [out] = self.staged_scores(bins, task, None)
        return out

    def staged_scores(
        self, bins: np.ndarray, task: np.ndarray, stages: Sequence[int] | None
    ) -> Iterator[np.ndarray]:
        """The same after so many rounds, which ascend; None is after all of them."""
        scores = self.start.scores(bins, task)
        n_outputs, first = scores.shape[1], 0
        for stage in [len(self.trees)] if stages is None else stages:
            last = min(stage * n_outputs, len(self.trees))
            self.trees.add_scores(bins, task, scores, first=first, last=last)
            first = last
            yield scores.copy()


def boost(problem: Problem, settings: Settings, n_rounds: int) -> Boosted:
    """Play rounds for rows that are binned already.

    Folds, settings and seeds of one table need its bins once: rows that do not train
    have ``n_rows`` 0, and the loss has weight 0 for them.
    """
    rounds = Rounds(problem, settings)
    if not any(map(len, rounds.rows)):  # every task has one class
        n_rounds = 0
    found = [tree for _ in range(n_rounds) for tree in rounds.play()]
    return Boosted(rounds.start, Trees.of(found, problem.n_tasks))
