"""Tests over tasks: are the contenders different at all?"""

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import friedmanchisquare, wilcoxon

from kinlearn.audit.statistics._gains import ranks_by_task
from kinlearn.audit.statistics._scores import Scores
from kinlearn.audit.statistics._selection import Headline, nested_selection

__all__ = ["OverallTests", "overall_tests"]

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
