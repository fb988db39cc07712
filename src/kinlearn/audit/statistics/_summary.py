"""All statistics of the scores, in one place."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kinlearn.audit._scoring import Scoring
from kinlearn.audit.statistics._gains import (
    ContenderSummary,
    TaskScore,
    pooling_gains,
    summarise,
    task_scores,
)
from kinlearn.audit.statistics._overall import OverallTests, overall_tests
from kinlearn.audit.statistics._scores import Scores
from kinlearn.audit.statistics._selection import Headline, nested_selection
from kinlearn.audit.statistics._verdict import Verdict, verdict

__all__ = ["Summary", "summarise_scores"]


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
