"""The cube of scores, and its statistics by contender and by task.

Every figure is a mean over folds. Its standard error and interval are those of
:mod:`kinlearn.audit.statistics._intervals`: they are about other rows of the same
tasks, with training sets of this size.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from kinlearn.audit.statistics._intervals import (
    FEWEST_UNITS,
    fold_means,
    holm,
    macro_mean,
)

__all__ = [
    "FORMS",
    "Contender",
    "ContenderSummary",
    "PoolingGain",
    "Scores",
    "TaskGain",
    "TaskScore",
    "difference",
    "gains_by_task",
    "pooling_gains",
    "ranks_by_task",
    "summarise",
    "task_gains",
    "task_scores",
]

FORMS = ("alone", "pooled", "task as feature", "multi-task")
# Two scores that are closer than this, relatively, differ by rounding only.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Contender:
    """One of the models that are compared.

    - `name`: For tables and sentences; no two contenders have the same.
    - `family`: What is inside, whatever the form: ``"extra trees"``.
    - `form`: How it treats the tasks.
    """

    name: str
    family: str
    form: str

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise ValueError(
                f"Contender {self.name!r} has form {self.form!r}; expected one of "
                f"{', '.join(map(repr, FORMS))}."
            )

    @property
    def shares(self) -> bool:
        """Whether its predictions for a task depend on rows of other tasks."""
        return self.form != "alone"


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all contenders on the same folds.

    A score is always "greater is better": errors come negated. NaN is a score
    that does not exist: the task has no test row in this fold or only one
    class, or the contender failed.

    - `contenders`: What was compared.
    - `tasks` (n_tasks,): Values of the task column.
    - `n_rows` (n_tasks,): Rows of each task, training and test together.
    - `values` (n_contenders, n_repeats, n_splits, n_tasks): Score of the contender on
      the task's test rows of the fold.
    - `micro` (n_contenders, n_repeats, n_splits): Score on all test rows of the fold
      together.
    - `n_train`, `n_test` (n_repeats, n_splits, n_tasks): Rows of the task in training
      and in test.
    - `n_units` (n_tasks,): Rows that carry the score: of a classifier, those outside
      the task's most common class (an AUC with five positive rows rests on five rows).
      None is all rows, as in regression.
    - `width`: Greatest possible difference of two scores: 1 for an AUC.
    """

    contenders: tuple[Contender, ...]
    tasks: np.ndarray
    n_rows: np.ndarray
    values: np.ndarray
    micro: np.ndarray
    n_train: np.ndarray
    n_test: np.ndarray
    n_units: np.ndarray | None = None
    width: float = np.inf

    def __post_init__(self) -> None:
        names = [contender.name for contender in self.contenders]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"More than one contender is named {twice[0]!r}.")
        object.__setattr__(self, "contenders", tuple(self.contenders))
        object.__setattr__(self, "tasks", np.asarray(self.tasks))
        shape = (len(names), *np.shape(self.n_train)[:2], len(self.tasks))
        self._check("n_rows", np.int64, shape[3:])
        if self.n_units is None:
            object.__setattr__(self, "n_units", self.n_rows)
        self._check("n_units", np.int64, shape[3:])
        self._check("n_train", np.int64, shape[1:])
        self._check("n_test", np.int64, shape[1:])
        self._check("values", np.float64, shape)
        self._check("micro", np.float64, shape[:3])

    def _check(self, name: str, dtype: type, shape: tuple[int, ...]) -> None:
        array: np.ndarray = np.array(getattr(self, name), dtype=dtype)
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}; expected {shape}.")
        if dtype is np.float64 and np.isinf(array).any():
            worst = self.contenders[int(np.argwhere(np.isinf(array))[0, 0])].name
            raise ValueError(
                f"Contender {worst!r} has an infinite score in {name}; means need "
                "finite ones. Choose another metric, or give NaN where it fails."
            )
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    @property
    def names(self) -> list[str]:
        """Names of the contenders."""
        return [contender.name for contender in self.contenders]

    @property
    def counts(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """`n_train`, `n_test` and `n_units`: what standard errors need."""
        return self.n_train, self.n_test, self.n_units

    def index(self, name: str) -> int:
        """Position of a contender."""
        if name not in self.names:
            raise ValueError(
                f"No contender is named {name!r}; there are: {', '.join(self.names)}."
            )
        return self.names.index(name)


@dataclass(frozen=True)
class ContenderSummary:
    """One line of the leaderboard; NaN is a figure that does not exist.

    - `name`, `family`, `form`: As in :class:`Contender`.
    - `macro`, `macro_se`: Mean over tasks, every task alike, and its corrected standard
      error.
    - `micro`, `micro_se`: The same for the score on all test rows together.
    - `mean_rank`: Mean over tasks of the rank among the contenders, 1 is best.
    - `n_tasks`: Tasks with a score.
    """

    name: str
    family: str
    form: str
    macro: float
    macro_se: float
    micro: float
    micro_se: float
    mean_rank: float
    n_tasks: int


@dataclass(frozen=True)
class TaskScore:
    """Score of one contender on one task.

    - `contender`: Name of the contender.
    - `task`: The task.
    - `mean`: Mean over folds.
    - `se`: Its corrected standard error.
    - `n_folds`: Folds with a score, over all repeats.
    """

    contender: str
    task: object
    mean: float
    se: float
    n_folds: int


@dataclass(frozen=True)
class TaskGain:
    """What sharing changes for one task.

    - `task`: The task.
    - `n_rows`: Its rows.
    - `alone`, `sharing`: Scores of the two models, mean over the folds in which both
      have one.
    - `gain`: `sharing` minus `alone`; above 0 is good.
    - `low`, `high`: Corrected interval of the gain, for this task by itself.
    - `p`, `p_holm`: Two-sided p of no gain, and the same adjusted for the number of
      tasks.
    - `verdict`: By `p_holm`, so that an interval may lie off zero and the verdict still
      be "unclear".
    - `n_folds`: Folds in which both models have a score, over all repeats.
    - `reason`: Why a gain has no interval.
    """

    task: object
    n_rows: int
    alone: float
    sharing: float
    gain: float
    low: float
    high: float
    p: float
    p_holm: float
    verdict: str
    n_folds: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class PoolingGain:
    """What one model for all tasks changes within a family.

    - `family`, `pooled`, `alone`: The family and the names of its two contenders.
    - `gain`, `low`, `high`: Gain of the mean over tasks, with its interval.
    - `n_helped`: How many tasks it helps.
    - `hurt`: Those that it hurts.
    - `n_tasks`: Tasks with a score.
    """

    family: str
    pooled: str
    alone: str
    gain: float
    low: float
    high: float
    n_helped: int
    hurt: tuple
    n_tasks: int


def summarise(scores: Scores) -> list[ContenderSummary]:
    """The leaderboard, in the order of the contenders."""
    ranked, _, ranks = ranks_by_task(scores)
    rank = dict(zip(ranked, ranks.mean(axis=1), strict=True)) if ranks.size else {}
    train, test = (
        n.sum(axis=-1, keepdims=True) for n in (scores.n_train, scores.n_test)
    )
    n_units = scores.counts[2].sum()
    summaries = []
    for i, contender in enumerate(scores.contenders):
        values = scores.values[i]
        macro = macro_mean(values, *scores.counts)
        micro = fold_means(
            scores.micro[i, ..., np.newaxis], train, test, np.array([n_units])
        )
        summaries.append(
            ContenderSummary(
                contender.name,
                contender.family,
                contender.form,
                macro=float(macro.mean[0]),
                macro_se=float(macro.se[0]),
                micro=float(micro.mean[0]),
                micro_se=float(micro.se[0]),
                mean_rank=float(rank.get(i, np.nan)),
                n_tasks=int((~np.isnan(values)).any(axis=(0, 1)).sum()),
            )
        )
    return summaries


def ranks_by_task(scores: Scores) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks of the contenders on each task, 1 is best; ties share a rank.

    A contender that lacks a task which another one has is left out: ranks
    among different rivals cannot be averaged.
    """
    means = np.empty((len(scores.contenders), len(scores.tasks)))
    for i, values in enumerate(scores.values):
        means[i] = fold_means(values, *scores.counts).mean
    tasks = np.flatnonzero((~np.isnan(means)).any(axis=0))
    means = means[:, tasks]
    contenders = np.flatnonzero(~np.isnan(means).any(axis=1) & (len(tasks) > 0))
    # Scores that differ by rounding tie.
    size = np.abs(means[contenders]).max(axis=0, initial=0)
    step = np.where(size > 0, size * _ROUNDING * 100, 1)
    ranks = rankdata(-np.round(means[contenders] / step), axis=0)
    return contenders, tasks, ranks


def task_scores(scores: Scores) -> list[TaskScore]:
    """Mean and standard error of every contender on every task."""
    rows = []
    for contender, values in zip(scores.contenders, scores.values, strict=True):
        means = fold_means(values, *scores.counts)
        rows += [
            TaskScore(contender.name, task, float(mean), float(se), int(n_folds))
            for task, mean, se, n_folds in zip(
                scores.tasks.tolist(), means.mean, means.se, means.n_folds, strict=True
            )
        ]
    return rows


def difference(better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """Paired difference of scores, exactly 0 where it is only rounding."""
    change = better - worse
    size = np.maximum(np.abs(better), np.abs(worse))
    return np.where(np.abs(change) <= _ROUNDING * size, 0.0, change)


def task_gains(
    scores: Scores, sharing: str, alone: str, level: float = 0.95
) -> list[TaskGain]:
    """Gain of one contender over another, task by task.

    Only for a pair that was fixed before the scores were seen; for the best
    of many there is :func:`~kinlearn.audit.statistics._selection.nested_selection`.
    """
    pair = (scores.values[scores.index(name)] for name in (sharing, alone))
    return gains_by_task(scores, *pair, level=level)


def gains_by_task(
    scores: Scores, sharing: np.ndarray, alone: np.ndarray, *, level: float
) -> list[TaskGain]:
    """Gains, intervals and verdicts from two models' scores."""
    change = difference(sharing, alone)
    means = fold_means(change, *scores.counts)
    both = [
        fold_means(np.where(np.isnan(change), np.nan, values), *scores.counts).mean
        for values in (alone, sharing)
    ]
    low, high = means.interval(level, scores.width)
    p = means.p_values()
    scored = means.n_folds > 0
    # How many rows there are has nothing to do with the gain: a task with too few
    # is no test. One whose folds are all alike is a test that failed.
    tested = scored & (scores.counts[2] >= FEWEST_UNITS)
    p_holm = np.full_like(p, np.nan)
    p_holm[tested] = holm(p[tested])
    sure = p_holm <= 1 - level
    verdicts = np.select(
        [~scored, sure & (means.mean > 0), sure & (means.mean < 0)],
        ["not scored", "helped", "hurt"],
        "unclear",
    )
    columns = (
        *(scores.n_rows, *both, means.mean, low, high, p, p_holm, verdicts),
        means.n_folds,
    )
    reasons = [
        _no_interval(scores, task, means.n_folds[task], p[task])
        if scored[task] and np.isnan(low[task])
        else None
        for task in range(len(scores.tasks))
    ]
    return [
        TaskGain(*row)
        for row in zip(
            scores.tasks.tolist(),
            *(column.tolist() for column in columns),
            reasons,
            strict=True,
        )
    ]


def _no_interval(scores: Scores, task: int, n_folds: int, p: float) -> str:
    """Why the gain of a task has no interval."""
    n_units, n_rows = int(scores.counts[2][task]), int(scores.n_rows[task])
    if n_units < FEWEST_UNITS:
        whose = "" if n_units == n_rows else " outside its most common class"
        rows = "row" if n_units == 1 else "rows"
        return (
            f"too few rows to tell: {n_units} {rows}{whose}, {FEWEST_UNITS} are needed"
        )
    if n_folds < 2:
        return "scored on one fold only"
    if not np.isnan(p):
        return "too few rows to tell: any gain is possible"
    if not scores.n_train[..., task].any():
        return "no row of the task is in training"
    return "the same gain on all folds"


def pooling_gains(scores: Scores, level: float = 0.95) -> list[PoolingGain]:
    """Pooled against alone within each family that has both.

    Pooling is what people do first, and its harm is not seen in a headline
    that compares the best models. These pairs are fixed, not chosen, so no
    selection makes them look better than they are.
    """
    found = []
    for pooled in (c for c in scores.contenders if c.form == "pooled"):
        rivals = [c for c in scores.contenders if c.form == "alone"]
        for alone in (c for c in rivals if c.family == pooled.family):
            pair = [scores.values[scores.index(c.name)] for c in (pooled, alone)]
            means = macro_mean(difference(*pair), *scores.counts)
            gains = gains_by_task(scores, *pair, level=level)
            verdicts = [gain.verdict for gain in gains]
            n_tasks = len(verdicts) - verdicts.count("not scored")
            if n_tasks:
                low, high = means.interval(level, scores.width)
                found.append(
                    PoolingGain(
                        pooled.family,
                        pooled.name,
                        alone.name,
                        float(means.mean[0]),
                        float(low[0]),
                        float(high[0]),
                        verdicts.count("helped"),
                        tuple(g.task for g in gains if g.verdict == "hurt"),
                        n_tasks,
                    )
                )
    return found
