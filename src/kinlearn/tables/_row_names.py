"""Columns that name the rows: by what they are called, and by what they hold.

A name alone decides nothing, nor do values alone: salaries may differ in every row,
and ``id`` may be a group. What is surely an index is so by both.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

__all__ = ["NameKind", "Numbering", "name_kind", "numbering"]

NameKind = Literal["index", "id", "number", "time", "other"]

# What libraries write where there was no name, or for the index itself: a blank
# (pandas, R, readr), pandas' reset_index, its Parquet files, data.table.
_INDEX = re.compile(
    r"|unnamed: 0(_level_\d+)?(\.\d+)?|\.\.\.1|level_0|__index_level_0__|rn"
    r"|(row|df|orig|original|old|sample|obs|record|case)?[ _.-]?(index|idx)"
    r"|row[ _.-]?(name|number|num|no|nr|id|label)s?",
    re.IGNORECASE,
)
_NOBODY = re.compile(r"unnamed: [1-9]\d*(_level_\d+)?(\.\d+)?", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ID_WORD = re.compile(r"ids?|[pucsrg]id|uuid|guid|identifier")
# Words that grow together with "id"; not "acid", "paid", "bid" or "solid".
_BEARERS = (
    "account|acct|animal|applicant|article|book|borrower|case|child|claim|client|"
    "company|contact|contract|cust|customer|device|doc|document|emp|employee|entry|"
    "episode|event|file|firm|flight|game|guest|hh|hosp|hospital|house|household|image|"
    "img|individual|invoice|item|job|listing|loan|machine|match|member|movie|obs|"
    "observation|offer|order|parcel|part|participant|passenger|patient|pat|person|"
    "photo|player|plot|policy|post|prod|product|property|pupil|record|rec|resp|"
    "respondent|ride|row|sale|sample|school|serial|session|shop|site|store|student|"
    "study|subj|subject|team|test|ticket|transaction|trans|trip|tweet|unit|user|"
    "vehicle|visit|worker"
)
_GLUED = re.compile(
    rf"(?:{_BEARERS})[ _.-]?ids?|ids?[ _.-]?(?:{_BEARERS})", re.IGNORECASE
)
# Numbers of rows if they are complete; alone, each may be anything.
_NUMBER_WORD = re.compile(
    "x|v1|c1|column1|n|no|nr|num|number|nummer|numero|obs|observation|cases?|rows?|"
    "record|serial|sno|seqno|seq|sequence|subj|subject|sample|patient|person|participant|"
    "respondent|individual|pupil|student|customer|client|passenger|animal|item|entry|"
    "unit|plot|household|employee|worker"
)
_TIME_WORD = re.compile(
    "t|times?|timestamp|dates?|days?|weeks?|months?|quarters?|years?|yr|hours?|"
    "minutes?|seconds?|periods?|season|epoch|age|tick|decade|century"
)
_MOST_GAPS = 0.1  # of the rows
_FEWEST = 10  # rows; that 1, 2 and 3 are a count means nothing


def name_kind(name: Any) -> NameKind:
    """What a column's name tells about its being an index.

    "index": of the rows, or unnamed in the first place; "id": of something; "number":
    of a row, if it is a complete count; "time": may count and be a measurement; else
    "other", also for anything but text.

    >>> from kinlearn.tables._row_names import name_kind
    >>> [name_kind(name) for name in ("Unnamed: 0", "PatientID", "acid", "year")]
    ['index', 'id', 'other', 'time']
    """
    if not isinstance(name, str):
        return "other"
    text = name.strip()
    if _INDEX.fullmatch(text):
        return "index"
    words = [word.lower() for word in _WORD.findall(text)]
    if _GLUED.fullmatch(text) or any(map(_ID_WORD.fullmatch, words)):
        return "id"
    if _NOBODY.fullmatch(text) or text in ("#", "N\N{DEGREE SIGN}", "\N{NUMERO SIGN}"):
        return "number"
    if any(map(_TIME_WORD.fullmatch, words)):
        return "time"
    glued = re.sub(r"[ _.-]", "", text).lower()
    several = len(words) > 1 and all(map(_NUMBER_WORD.fullmatch, words))
    return "number" if several or _NUMBER_WORD.fullmatch(glued) else "other"


@dataclass(frozen=True)
class Numbering:
    """How whole numbers name rows.

    Attributes
    ----------
    n_rows, n_distinct : int
        Rows that have a number, and different numbers.
    low, high : int
        The least and the greatest.
    complete : bool
        Whether they count from 0 or 1 to about the number of rows: each once, with
        few gaps, in any order.
    restarts : bool
        Whether they do that again and again: within each task, or down the rows.
    """

    n_rows: int
    n_distinct: int
    low: int
    high: int
    complete: bool
    restarts: bool

    @property
    def unique(self) -> bool:
        """Whether no two rows have the same number."""
        return self.n_distinct == self.n_rows


def numbering(values: np.ndarray, tasks: np.ndarray | None = None) -> Numbering | None:
    """Read a column as numbers of rows.

    None if a cell holds a fraction, or more than one in twenty is missing (NaN).
    """
    there = np.isfinite(values)
    numbers = values[there]
    if not len(numbers) or 20 * (len(values) - len(numbers)) > len(values):
        return None
    if (numbers != np.floor(numbers)).any() or np.abs(numbers).max() > 2**53:
        return None
    n_rows, low, high = len(numbers), int(numbers.min()), int(numbers.max())
    n_distinct = len(np.unique(numbers))
    room = max(5, int(_MOST_GAPS * n_rows))
    complete = (
        n_distinct == n_rows >= _FEWEST
        and 0 <= low <= 1 + room
        and high <= n_rows + room
    )
    restarts = n_distinct < n_rows and low >= 0 and _restarts(values, there, tasks)
    return Numbering(n_rows, n_distinct, low, high, complete, restarts)


def _restarts(values: np.ndarray, there: np.ndarray, tasks: np.ndarray | None) -> bool:
    """Whether numbers begin anew with each task, or with each file of several."""
    numbers = values[there]
    steps = np.diff(numbers)
    # one file below the other: up by one, but for the few rows where one ends
    if len(steps) >= _FEWEST and (steps == 1).mean() >= 0.9:
        return bool((steps[steps != 1] < 0).all())
    if tasks is None:
        return False
    within = tasks[there]
    most = np.bincount(within).max()
    pairs = np.unique(np.stack([within, numbers]), axis=1)
    return most >= _FEWEST and pairs.shape[1] == len(numbers)
