"""What speaks against a column: its name, its numbers, how well it alone predicts.

A name alone decides nothing, nor do values alone: salaries may differ in every row,
and ``id`` may be a group. What is surely an index is so by both.

How well a single column predicts the target is a robust measure in one dimension. No
model is fitted. A row's target is predicted from other rows that are near it in this
column alone, so that nothing is flattered, any function is found (also that of a row
number in a file sorted by class), and outliers count as ranks.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

__all__ = ["Goal", "NameKind", "Numbering", "name_kind", "numbering", "predicts"]

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
_FEWEST_TO_PREDICT = 30
_FEWEST_OF_CLASS = 8
_MOST_CLASSES = 10
_NEAR = 2  # values on each side that predict those between them
_ROWS_PER_VALUE = {"number": 5, "text": 2}  # for values to predict their own rows


def name_kind(name: Any) -> NameKind:
    """What a column's name tells about its being an index.

    "index": of the rows, or unnamed in the first place; "id": of something; "number":
    of a row, if it is a complete count; "time": may count and be a measurement; else
    "other", also for anything but text.

    >>> from kinlearn.tables._suspect_evidence import name_kind
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
    slack = max(5, int(_MOST_GAPS * n_rows))
    complete = (
        n_distinct == n_rows >= _FEWEST
        and 0 <= low <= 1 + slack
        and high <= n_rows + slack
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


@dataclass(frozen=True, eq=False)
class Goal:
    """What is to be predicted, as columns of numbers.

    Attributes
    ----------
    columns : float64 array of shape (n_rows, n_columns)
        Ranks of a numeric target; of classes an indicator each (one of two).
    measure : {"AUC", "R2"}
        The least of the classes, each against the others; or of ranks.
    codes : int array of shape (n_rows,)
        Which of the sorted values of the target each row has.
    """

    columns: np.ndarray
    measure: Literal["AUC", "R2"]
    codes: np.ndarray

    @classmethod
    def of(cls, y: Any, kind: str) -> "Goal | None":
        """Prepare a target; None if the rows are too few for anything but chance.

        That is fewer than 30, or than 8 of the second class.
        """
        values, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if len(codes) < _FEWEST_TO_PREDICT or len(values) < 2:
            return None
        if kind == "regression":
            ranks = rankdata(np.asarray(y, dtype=np.float64))
            return cls(ranks[:, None], "R2", codes)
        frequent = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
        frequent = frequent[counts[frequent] >= _FEWEST_OF_CLASS]
        if len(frequent) < 2:
            return None
        shown = frequent[1:] if len(values) == 2 else frequent
        return cls((codes[:, None] == shown).astype(np.float64), "AUC", codes)

    def score(self, predictions: np.ndarray) -> float:
        """How good predictions are: 1 is perfect."""
        truth = self.columns
        if self.measure == "R2":
            left = ((truth - predictions) ** 2).sum()
            return float(1 - left / ((truth - truth.mean()) ** 2).sum())
        ranks = rankdata(predictions, axis=0)
        ones = truth.sum(axis=0)
        pairs = ones * (len(truth) - ones)
        above = (ranks * truth).sum(axis=0) - ones * (ones + 1) / 2
        return float((above / pairs).min())

    def monotone(self, ranks: np.ndarray) -> float:
        """The best that a rising or a falling function of one number can do."""
        if self.measure == "R2":
            return float(np.corrcoef(ranks, self.columns[:, 0])[0, 1] ** 2)
        if self.columns.shape[1] > 1:  # of three classes one lies between
            return 0.0
        area = self.score(ranks[:, None])
        return max(area, 1 - area)


def predicts(
    values: np.ndarray, goal: Goal, *, kind: Literal["number", "text"]
) -> float:
    """How well a column alone predicts the target.

    The best of three: by neighbouring values (never the value itself, so that repeated
    rows do not predict each other), by other rows of the same value where there are
    enough, and by order. Values are numbers (dates are such), or codes of texts, which
    have no neighbours; NaN is missing, and a value of its own.
    """
    missing = np.isnan(values)
    found, groups = np.unique(values, return_inverse=True)  # NaN comes last, once
    if len(found) < 2:
        return 0.0
    results = [0.0]
    sums, counts = _totals(groups, len(found), goal.columns)
    own = _leave_one_out(groups, sums, counts, goal.columns)
    if len(values) >= _ROWS_PER_VALUE[kind] * len(found):
        results.append(goal.score(own))
    if kind == "number":
        n_values = len(found) - bool(missing.any())
        if n_values > 2 * _NEAR:
            near = _from_neighbours(sums[:n_values], counts[:n_values])
            scores = np.where(
                missing[:, None], own, near[np.minimum(groups, n_values - 1)]
            )
            results.append(goal.score(scores))
        ranks = rankdata(np.where(missing, np.inf, values))
        results.append(goal.monotone(ranks))
        if missing.any():
            results.append(goal.monotone(rankdata(np.where(missing, -np.inf, values))))
    return max(results)


def _totals(
    groups: np.ndarray, n_groups: int, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the columns and rows, by group."""
    sums = np.stack(
        [np.bincount(groups, weights=c, minlength=n_groups) for c in columns.T], axis=1
    )
    return sums, np.bincount(groups, minlength=n_groups)[:, None].astype(np.float64)


def _leave_one_out(
    groups: np.ndarray, sums: np.ndarray, counts: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Means of the other rows of the same value, and one row of the whole."""
    others = sums[groups] - columns + columns.mean(axis=0)
    return others / counts[groups]


def _from_neighbours(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Means of the nearest values on both sides, for each value in order."""
    pad = ((_NEAR, _NEAR), (0, 0))
    total, rows = np.pad(sums, pad), np.pad(counts, pad)
    n_values = len(sums)
    shifts = [s for s in range(2 * _NEAR + 1) if s != _NEAR]
    nearby = np.stack([total[s : s + n_values] for s in shifts])
    of_rows = np.stack([rows[s : s + n_values] for s in shifts])
    return nearby.sum(axis=0) / of_rows.sum(axis=0)
