"""Rounds of boosting: gradients, a tree for each output, values of leaves and tasks."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinlearn._binning import is_whole
from kinlearn._kernels._random import fill_below, stream_state
from kinlearn._kernels.boosting.gradient._boosted_growth import Growth
from kinlearn._kernels.boosting.gradient._find_split import SplitSearch
from kinlearn._kernels.boosting.gradient._gradients import fill_pairs, largest
from kinlearn._kernels.boosting.gradient._grow_boosted import Grower
from kinlearn._kernels.boosting.gradient._leaf_rows import LeafRows
from kinlearn.boosting.gradient._bins import Binned
from kinlearn.boosting.gradient._departures import departure_penalty, shrunken
from kinlearn.boosting.gradient._losses import group_quantiles
from kinlearn.boosting.gradient._model import LEAF, NODE, Tree, Trees
from kinlearn.boosting.gradient._threads import Threads

__all__ = [
    "Boosted",
    "Problem",
    "Rounds",
    "Settings",
    "Start",
    "Watch",
    "boost",
    "counted_rows",
]

# Bits of sums: 62 for gradients; as many for curvatures and, below them, counts.
_BITS = 62
_NEWTON_STEPS = 8  # for the intercepts of tasks
_MOST_STEP = 1.0  # each, of scores that are logarithms
# Departures are kept where the rows of the task weigh more than this in them.
_LEAST_FRACTION = 0.02
# In a leaf, of a row of mean weight: a Newton step over less would be too long.
_LEAST_CURVATURE = 1e-3
_DRAWS = 2**31


@dataclass(frozen=True)
class Settings:
    """How to boost; see the estimators' parameters."""

    learning_rate: float
    max_leaves: int
    max_depth: int  # 0 is no limit
    least_count: int
    l2: float
    max_features: int
    subsample: float
    task_splits: bool
    task_values: bool
    seed: int
    # int8 array of shape (n_features,): 1 rises, -1 falls
    direction: Any = field(default=None, compare=False)
    # uint8 array of shape (n_groups, n_features)
    groups: Any = field(default=None, compare=False)


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


@dataclass(frozen=True, eq=False)
class Start:
    """Where scores begin: the same for all tasks, and what each adds.

    Attributes
    ----------
    base : float64 array of shape (n_outputs,)
        The best constant scores.
    intercepts : float64 array of shape (n_tasks, n_outputs)
        Departures of the tasks, shrunken.
    """

    base: np.ndarray
    intercepts: np.ndarray

    def scores(self, task: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Scores of rows before the first round; -1 is an unknown task."""
        of_task = np.vstack([self.intercepts, np.zeros(len(self.base))])
        out = self.base + of_task[task]
        if offset is not None:
            out += offset[:, None]
        return out


@dataclass(eq=False)
class Watch:
    """Rows that do not train, by whose loss rounds are judged."""

    bins: np.ndarray
    task: np.ndarray
    loss: Any
    scores: np.ndarray

    def look(self, trees: Trees) -> float:
        """The loss with trees added."""
        trees.add_scores(self.bins, self.task, self.scores)
        return self.loss.value(self.scores)


def counted_rows(weight: np.ndarray) -> np.ndarray:
    """How many rows each stands for: its weight, if all weights are whole, or one."""
    if is_whole(weight) and weight.sum() < 2.0**31:
        return weight.astype(np.int64)
    return (weight > 0).astype(np.int64)


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
        n = len(problem.task)
        # as many bits as the count of all rows has
        self.bits = int(problem.n_rows.sum()).bit_length()
        self.pairs = np.empty((n, 2), dtype=np.int64)
        self.start = self._find_start() if start is None else start
        self.scores = self.start.scores(problem.task, problem.offset)
        self.n_done = 0
        if before is not None:
            before.add_scores(problem.binned.bins, problem.task, self.scores)
            self.n_done = len(before) // self.n_outputs
        # of one output, they lie where the pairs will: 16 bytes less for each row
        self._derivatives = (
            self.pairs.view(np.float64).T[:, None]
            if self.n_outputs == 1
            else np.empty((2, self.n_outputs, n))
        )
        # of few rows, trees grow side by side; of many, one by all threads
        self.n_jobs = min(n_jobs, self.n_outputs) if self.threads.n == 1 else 1
        self.growers = [self._grower() for _ in range(self.n_jobs)]

    def _grower(self) -> Grower:
        problem, n_bins = self.problem, self.problem.binned.features.n_bins
        growth = self._growth()
        rows = LeafRows(
            problem.binned.bins,
            n_bins,
            problem.task,
            problem.n_tasks,
            growth.max_leaves,
            self.threads.team,
        )
        return Grower(growth, rows)

    def _growth(self) -> Growth:
        problem, settings = self.problem, self.settings
        features = problem.binned.features
        d = len(features.n_bins)
        direction, groups = settings.direction, settings.groups
        search = SplitSearch(
            features.n_bins,
            features.categorical.astype(np.uint8),
            np.zeros(d, dtype=np.int8) if direction is None else direction,
            np.zeros((0, d), dtype=np.uint8) if groups is None else groups,
            problem.n_tasks,
            least_count=settings.least_count,
            least_h=_LEAST_CURVATURE * self._mean_weight(),
            max_features=settings.max_features,
            l2=settings.l2 * self._mean_weight(),
            task_splits=settings.task_splits,
            n_threads=self.threads.n,
        )
        return Growth(
            search,
            max_leaves=min(settings.max_leaves, max(len(problem.task), 1)),
            max_depth=settings.max_depth,
        )

    def _mean_weight(self) -> float:
        weight, n_rows = self.problem.loss.weight, self.problem.n_rows
        return float(weight[n_rows > 0].sum() / max(n_rows.sum(), 1)) or 1.0

    # ------------------------------------------------------------ intercepts

    def _find_start(self) -> Start:
        problem = self.problem
        base = problem.loss.start(problem.offset)
        start = Start(base, np.zeros((problem.n_tasks, self.n_outputs)))
        if problem.n_tasks == 1 or not self.settings.task_values:
            return start
        if problem.loss.by_quantile:
            return Start(base, self._quantile_intercepts(start))
        penalty = None
        for _ in range(_NEWTON_STEPS):
            g, h = problem.loss.gradients(start.scores(problem.task, problem.offset))
            of_task = [self._by_task(g[k], h[k], k) for k in range(self.n_outputs)]
            if penalty is None:
                penalty = [
                    departure_penalty(sum_g[None], sum_h[None], noise)
                    for sum_g, sum_h, noise in of_task
                ]
            a = start.intercepts.copy()
            for k, (sum_g, sum_h, _) in enumerate(of_task):
                if not np.isfinite(penalty[k]):
                    continue
                below = np.maximum(sum_h + penalty[k], 1e-300)
                change = -(sum_g + penalty[k] * a[:, k]) / below
                change[sum_h == 0] = 0.0
                if problem.loss.is_curved:
                    change = np.clip(change, -_MOST_STEP, _MOST_STEP)
                a[:, k] += change
            start = Start(base, a)
            if not problem.loss.is_curved:
                break
        return start

    def _by_task(
        self, g: np.ndarray, h: np.ndarray, output: int
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Sums of each task, and the noise."""
        rows, problem = self.rows[output], self.problem
        units = self._units(g, h)
        self._fill_pairs(g, h, rows, units, self.pairs)
        # all rows are not copied
        some = slice(None) if len(rows) == len(problem.task) else rows
        task, n_rows = problem.task[some], problem.n_rows[some]
        sums = np.zeros((2, problem.n_tasks), dtype=np.int64)
        np.add.at(sums[0], task, self.pairs[some, 0])
        np.add.at(sums[1], task, self.pairs[some, 1] >> self.bits)
        sum_g, sum_h = sums[0] * units["g_unit"], sums[1] * units["h_unit"]
        # levels of tasks may differ far: what counts is the noise within them
        step = np.divide(sum_g, sum_h, out=np.zeros_like(sum_g), where=sum_h > 0)
        squares = (g[some] - h[some] * step[task]) ** 2 / n_rows
        total, n_free = sum_h.sum(), n_rows.sum() - np.count_nonzero(sum_h)
        noise = squares.sum() * n_rows.sum() / max(n_free * total, 1e-300)
        return sum_g, sum_h, noise if n_free > 0 else np.inf

    def _quantile_intercepts(self, start: Start) -> np.ndarray:
        problem = self.problem
        scores = start.scores(problem.task, problem.offset)
        g, h = problem.loss.gradients(scores)
        sum_g, sum_h, noise = self._by_task(g[0], h[0], 0)
        penalty = departure_penalty(sum_g[None], sum_h[None], noise)
        rows = self.rows[0]
        found = self._residual_quantiles(
            scores, rows, problem.task[rows], problem.n_tasks
        )
        return (found * _fraction(sum_h, penalty))[:, None]

    def _residual_quantiles(
        self, scores: np.ndarray, rows: np.ndarray, group: np.ndarray, n_groups: int
    ) -> np.ndarray:
        loss = self.problem.loss
        left = loss.y[rows] - scores[rows, 0]
        return group_quantiles(left, loss.weight[rows], group, n_groups, loss.quantile)

    # ----------------------------------------------------------------- rounds

    def play(self) -> Trees:
        """Play a round: a tree for each output."""
        g, h = self._derivatives
        self.threads.over_rows(
            lambda some: self.problem.loss.fill_gradients(self.scores, some, g, h),
            len(self.scores),
        )
        drawn = self._draw()
        outputs = range(self.n_outputs)
        if self.n_jobs == 1:
            trees = [self._tree(k, g[k], h[k], drawn, 0) for k in outputs]
        else:
            jobs = range(self.n_jobs)

            def grow(job: int) -> list[Tree]:
                turns = outputs[job :: self.n_jobs]
                return [self._tree(k, g[k], h[k], drawn, job) for k in turns]

            with ThreadPoolExecutor(self.n_jobs) as pool:
                found = list(pool.map(grow, jobs))
            trees = [found[k % self.n_jobs][k // self.n_jobs] for k in outputs]
        round_ = Trees.of(trees, self.problem.n_tasks)
        for k, rows in enumerate(self.rows):
            if drawn is not None:
                round_.add_scores(
                    self.problem.binned.bins,
                    self.problem.task,
                    self.scores,
                    rows=rows[~drawn[rows]],
                    first=k,
                    last=k + 1,
                )
        self.n_done += 1
        return round_

    def _draw(self) -> np.ndarray | None:
        """Which rows the round grows with; None is all."""
        n, fraction = len(self.problem.task), self.settings.subsample
        if fraction >= 1:
            return None
        draws = np.empty(n, dtype=np.int64)
        state = stream_state(self.settings.seed, 2 * self.n_done + 1)
        fill_below(state, _DRAWS, draws)
        drawn = draws < fraction * _DRAWS
        counts = self.problem.n_rows > 0
        return drawn if (drawn & counts).any() else counts

    def _units(self, g: np.ndarray, h: np.ndarray) -> dict[str, Any]:
        n = len(g)
        found = self.threads.over_rows(lambda some: largest(g[some], h[some]), n)
        most_g, most_h = max(a for a, _ in found), max(b for _, b in found)
        g_unit = _unit(most_g * n, _BITS)
        return {
            "g_unit": g_unit,
            "h_unit": _unit(most_h * n, _BITS - self.bits),
            "bits": self.bits,
            "square_unit": most_g * g_unit if most_g > 0 else 1.0,
        }

    def _fill_pairs(
        self,
        g: np.ndarray,
        h: np.ndarray,
        rows: np.ndarray,
        units: dict[str, Any],
        pairs: np.ndarray,
    ) -> float:
        """Fill `pairs`; the noise of the gradients."""
        found = self.threads.over_rows(
            lambda some: fill_pairs(
                g, h, self.problem.n_rows, rows[some], **units, pairs=pairs
            ),
            len(rows),
        )
        squares = sum(squares for squares, _ in found) * units["square_unit"]
        total = sum(total for _, total in found) * units["h_unit"]
        return squares / total if total > 0 else 0.0

    def _tree(
        self, k: int, g: np.ndarray, h: np.ndarray, drawn: np.ndarray | None, job: int
    ) -> Tree:
        grower, settings = self.growers[job], self.settings
        growth = grower.growth
        pairs = self.pairs if self.n_jobs == 1 else np.empty_like(self.pairs)
        rows = self.rows[k] if drawn is None else self.rows[k][drawn[self.rows[k]]]
        units = self._units(g, h)
        noise = self._fill_pairs(g, h, rows, units, pairs)
        growth.search.begin(
            g_unit=units["g_unit"],
            h_unit=units["h_unit"],
            bits=self.bits,
            noise=noise,
            seed=stream_state(settings.seed, 2 * (self.n_done * self.n_outputs + k)),
        )
        sums = np.empty(2, dtype=np.int64)
        with self.threads.serving():
            grower.rows.begin(pairs, rows, sums)
            grower.grow(sums)
            n = growth.n_nodes
            nodes, (gain, value, weight) = np.empty(n, dtype=NODE), np.empty((3, n))
            sets = np.empty(growth.n_set_bytes, dtype=np.uint8)
            bounds = np.empty((growth.n_leaves, 2))
            growth.copy_tree(nodes, gain, value, weight, sets, bounds)
            is_leaf = nodes["feature"] == LEAF
            values = np.empty(growth.n_leaves)
            values[nodes["left"][is_leaf]] = value[is_leaf]
            values, table = self._leaf_values(
                grower, values, bounds, len(rows), units, noise
            )
            grower.rows.add_values(values, table, self.scores[:, k])
        where = np.nonzero(table)
        return Tree(
            output=k,
            nodes=nodes,
            gain=gain,
            value=value,
            weight=weight,
            sets=sets,
            leaf_values=values,
            departures=(where[0], where[1], table[where]),
        )

    def _leaf_values(
        self,
        grower: Grower,
        values: np.ndarray,
        bounds: np.ndarray,
        n_rows: int,
        units: dict[str, Any],
        noise: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """What leaves add to scores, and departures of tasks in them."""
        n_leaves, n_tasks = len(values), self.problem.n_tasks
        loss, rate = self.problem.loss, self.settings.learning_rate
        penalty = np.inf
        table = sum_g = sum_h = np.empty((0, n_tasks))
        if self.settings.task_values and n_tasks > 1:
            of_task = np.empty((n_leaves, n_tasks, 2), dtype=np.int64)
            grower.task_sums(of_task)
            sum_g = of_task[:, :, 0] * units["g_unit"]
            sum_h = (of_task[:, :, 1] >> self.bits) * units["h_unit"]
            penalty = departure_penalty(sum_g, sum_h, noise)
        if loss.by_quantile:
            values, table = self._quantile_values(
                grower.rows,
                n_rows,
                n_leaves,
                penalty,
                None if penalty == np.inf else sum_h,
            )
        elif penalty < np.inf:
            table = shrunken(sum_g, sum_h, penalty)
            if np.isfinite(bounds).any():
                both = np.clip(values[:, None] + table, bounds[:, :1], bounds[:, 1:])
                table = both - values[:, None]
        if len(table) == 0:
            return loss.limited(values) * rate, table
        table[_fraction(sum_h, penalty) <= _LEAST_FRACTION] = 0.0
        both = loss.limited(values[:, None] + table)
        values = loss.limited(values)
        table = np.where(table == 0, 0.0, both - values[:, None])
        return values * rate, np.ascontiguousarray(table * rate)

    def _quantile_values(
        self,
        rows: LeafRows,
        n_rows: int,
        n_leaves: int,
        penalty: float,
        sum_h: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Quantiles of the residuals in the leaves, and departures of the tasks."""
        n_tasks = self.problem.n_tasks
        by_leaf = np.empty(n_rows, dtype=np.int32)
        start = np.empty(n_leaves + 1, dtype=np.int32)
        rows.leaf_rows(by_leaf, start)
        leaf = np.repeat(np.arange(n_leaves), np.diff(start))
        values = self._residual_quantiles(self.scores, by_leaf, leaf, n_leaves)
        if sum_h is None:
            return values, np.empty((0, n_tasks))
        pair = leaf * n_tasks + self.problem.task[by_leaf]
        found = self._residual_quantiles(self.scores, by_leaf, pair, n_leaves * n_tasks)
        table = found.reshape(n_leaves, n_tasks) - values[:, None]
        return values, table * _fraction(sum_h, penalty)


def _unit(total: float, bits: int) -> float:
    """The power of two of which `total` is less than 2^bits."""
    return 2.0 ** (np.ceil(np.log2(total)) - bits + 1) if total > 0 else 1.0


def _fraction(h: np.ndarray, penalty: float) -> np.ndarray:
    """What the rows of tasks weigh in their values; the rest is what is common."""
    below = h + penalty
    return np.divide(h, below, out=np.zeros_like(h), where=below > 0)


@dataclass(frozen=True, eq=False)
class Boosted:
    """Rounds that were played: where scores begin, and the trees."""

    start: Start
    trees: Trees

    def scores(self, bins: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Scores of rows with the same bins; -1 is an unknown task."""
        out = self.start.scores(task)
        self.trees.add_scores(bins, task, out)
        return out


def boost(problem: Problem, settings: Settings, n_rounds: int) -> Boosted:
    """Play rounds for rows that are binned already.

    Folds, settings and seeds of one table need its bins once: rows that do not train
    have ``n_rows`` 0, and the loss has weight 0 for them.
    """
    rounds = Rounds(problem, settings)
    found = [rounds.play() for _ in range(n_rounds)]
    return Boosted(rounds.start, Trees.joined(found, problem.n_tasks))
