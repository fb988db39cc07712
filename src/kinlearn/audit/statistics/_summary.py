"""All statistics of the scores in one place, with tests over tasks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, wilcoxon

from kinlearn.audit._scoring import Scoring
from kinlearn.audit.statistics._scores import (
    ContenderSummary,
    Scores,
    TaskScore,
    pooling_gains,
    ranks_by_task,
    summarise,
    task_scores,
)
from kinlearn.audit.statistics._selection import Headline, nested_selection
from kinlearn.audit.statistics._verdict import Verdict, verdict

__all__ = ["OverallTests", "Summary", "overall_tests", "summarise_scores"]

# With five tasks, the smallest two-sided p of signed ranks is 2 / 2**5 > 5%.
_FEWEST_TASKS = 6


@dataclass(frozen=True)
class OverallTests:
    """Tests that take the tasks as a sample of tasks.

    - `friedman_statistic`, `friedman_p`: Friedman's test that all contenders rank
      alike.
    - `mean_ranks`: Mean rank of each ranked contender, 1 is best.
    - `wilcoxon_p`: Wilcoxon's signed-rank test of the headline's gains by task.
    - `n_tasks`: Tasks in the ranking.
    - `reasons`: Why ``"friedman"`` or ``"wilcoxon"`` could not be done.
    """

    friedman_statistic: float | None
    friedman_p: float | None
    mean_ranks: dict[str, float]
    wilcoxon_p: float | None
    n_tasks: int
    reasons: dict[str, str] = field(default_factory=dict)


def overall_tests(scores: Scores, headline: Headline | None = None) -> OverallTests:
    """Friedman's and Wilcoxon's tests over tasks.

    Both take the tasks as independent. They are not quite: models that share
    are trained on the same rows of all tasks. The interval of the headline
    does not need this; see the guide for what was measured.
    """
    headline = nested_selection(scores) if headline is None else headline
    contenders, tasks, ranks = ranks_by_task(scores)
    reasons = {}
    statistic = p = None
    if len(contenders) < 3:
        reasons["friedman"] = f"it needs 3 contenders; {len(contenders)} have a rank"
    elif len(tasks) < _FEWEST_TASKS:
        reasons["friedman"] = _too_few(len(tasks), "a score")
    elif (ranks == ranks[0]).all():
        reasons["friedman"] = "all contenders tie on every task"
    else:
        statistic, p = map(float, friedmanchisquare(*ranks))

    gains = np.array([gain.gain for gain in headline.gains])
    gains = gains[~np.isnan(gains) & (gains != 0)]
    wilcoxon_p = None
    if len(gains) < _FEWEST_TASKS:
        reasons["wilcoxon"] = _too_few(len(gains), "a gain that is not zero")
    else:
        wilcoxon_p = float(wilcoxon(gains).pvalue)
    return OverallTests(
        statistic,
        p,
        {
            scores.contenders[i].name: float(rank)
            for i, rank in zip(contenders, ranks.mean(axis=1), strict=True)
        }
        if ranks.size
        else {},
        wilcoxon_p,
        len(tasks),
        reasons,
    )


def _too_few(n_tasks: int, what: str) -> str:
    have = f"{n_tasks} has" if n_tasks == 1 else f"{n_tasks} have"
    return f"it needs {_FEWEST_TASKS} tasks; {have} {what}"


@dataclass(frozen=True)
class Summary:
    """Statistics of the scores.

    - `contenders`: Means over tasks and folds.
    - `tasks`: Means over folds, by contender and task.
    - `headline`: Sharing against not sharing, with the gains by task.
    - `overall`: Tests over tasks.
    - `verdict`: The same in words.
    """

    contenders: list[ContenderSummary]
    tasks: list[TaskScore]
    headline: Headline
    overall: OverallTests
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Headline, gains, tests and verdict under the names of a result."""
        headline = asdict(self.headline)
        return {
            "scores": [asdict(score) for score in self.tasks],
            "gains": headline.pop("gains"),
            "headline": headline,
            "overall": asdict(self.overall),
            "verdict": asdict(self.verdict),
        }


def summarise_scores(
    scores: Scores,
    scoring: Scoring,
    task_name: str,
    *,
    without: tuple[Sequence[str], Headline] | None = None,
    remarks: Sequence[str] = (),
) -> Summary:
    """Compute all statistics of the scores."""
    headline = nested_selection(scores)
    return Summary(
        contenders=summarise(scores),
        tasks=task_scores(scores),
        headline=headline,
        overall=overall_tests(scores, headline),
        verdict=verdict(
            headline,
            headline.gains,
            scoring.describe(),
            task_name,
            pooling_gains(scores),
            without=without,
            remarks=remarks,
        ),
    )
