"""What the scores are worth: intervals, gains by task, the headline, the verdict."""

from kinlearn.audit.statistics._scores import Contender, ContenderSummary, Scores
from kinlearn.audit.statistics._selection import Headline, nested_selection
from kinlearn.audit.statistics._summary import Summary, summarise_scores
from kinlearn.audit.statistics._verdict import standing

__all__ = [
    "Contender",
    "ContenderSummary",
    "Headline",
    "Scores",
    "Summary",
    "nested_selection",
    "standing",
    "summarise_scores",
]
