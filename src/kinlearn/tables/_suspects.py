"""Columns that let the result in by the door: indices, ids, copies of the target.

An index that was left in a file predicts whatever the file was sorted by, and a
model that learns it is good on these rows only. What is surely an index is found by
its name and its values together; all else is a question for who knows the data.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from kinlearn.tables._cells import read_cells, to_levels, to_moments
from kinlearn.tables._containers import (
    AnyTable,
    SparseTable,
    find_column,
    open_table,
)
from kinlearn.tables._meanings import column_parts, find_meaning
from kinlearn.tables._suspect_evidence import (
    Goal,
    Numbering,
    name_kind,
    numbering,
    predicts,
)
from kinlearn.utils._sklearn import safe_indexing
from kinlearn.utils._typing import Table

__all__ = ["Suspect", "find_suspects"]

_MOST_ROWS = 5000  # that predictions are measured on
_SUSPICIOUS = 0.99  # AUC, or R2 of ranks
_NEARLY = 0.95  # different values, of all rows
_ALIKE = 0.99  # rows in which a column goes with the task or the target one to one
_ADVICE = {
    "index": "It is no property of a new row: leave it out.",
    "row number": "If they are row numbers, leave it out: the order of a file is not "
    "known of new rows.",
    "id": "If it names the rows, leave it out: a new row has a new name.",
    "target": "Leave it out, unless it is known when predictions are made.",
    "prediction": "Is it known when predictions are made? If not, leave it out.",
    "task": "Models that ignore the task know it by this column.",
}


@dataclass(frozen=True)
class Suspect:
    """A column that may tell a model more than it should know.

    Attributes
    ----------
    column : str or int
        Its name, or its place in an array.
    what : {"index", "row number", "id", "target", "prediction", "task"}
        What it seems to be: an index of the rows; a count of them; a name of nearly
        each; a copy or a monotone function of the target; something that predicts
        the target nearly perfectly; another name of the task.
    why : str
        What was found, after "Column 'x' ...".
    certain : bool
        Whether it is surely an index, which the command line leaves out.
    figures : dict of str to float
        The numbers behind it.
    """

    column: Any
    what: Literal["index", "row number", "id", "target", "prediction", "task"]
    why: str
    certain: bool = False
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The remark for people, with what to do."""
        return f"Column {self.column!r} {self.why}. {_ADVICE[self.what]}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Returns
        -------
        dict
            The attributes, and the sentence.
        """
        return {**asdict(self), "sentence": self.sentence}


def find_suspects(
    X: Table,
    y: Any = None,
    *,
    task: str | int | None = None,
    kind: Literal["classification", "regression"] | None = None,
    keep: Collection[Any] = (),
) -> list[Suspect]:
    """Find columns that are indices, ids, or copies of the target or the task.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows, with or without the task column. Numbers and dates may be written as
        text. Columns of sparse matrices are not looked at.
    y : array of shape (n_samples,), default=None
        Class labels or numbers, none missing; None looks for indices only.
    task : str or int, default=None
        The task column, by name or by position.
    kind : {"classification", "regression"}, default=None
        What y is. Needed with y.
    keep : collection of str or int
        Columns that are as they should be.

    Returns
    -------
    list of Suspect
        In the order of the columns; a column may have two.

    Notes
    -----
    A column is *certain* to be an index if its name says so (it is blank, or such as
    ``Unnamed: 0``, ``index``, ``rownames``, ``id``, ``PatientID``) and its values
    are different whole numbers or different texts in all rows; if the name only may
    mean it (``X``, ``no``, ``subject``), if it also counts from 0 or 1 to the number of
    rows, in any order and with few gaps. Numbers with fractions and dates never are.

    A column predicts suspiciously well if the target of a row follows from other
    rows near it in this column alone, or from its order, with an AUC (of ranks: R2)
    of 0.99. On noise that does not happen: 8 rows of the second class of 30 are
    needed, whose perfect order has a chance of less than one in a million.

    At most 5,000 rows, drawn at random, are looked at for all but indices.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from kinlearn.tables import find_suspects
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> frame = pd.DataFrame({"Unnamed: 0": range(200), "size": rng.normal(size=200)})
    >>> frame["paid"] = 100 * y + rng.normal(size=200)
    >>> for suspect in find_suspects(frame, y, kind="classification"):
    ...     print(suspect.column, suspect.what, suspect.certain)
    Unnamed: 0 index True
    paid prediction False
    """
    table = open_table(X)
    if isinstance(table, SparseTable) or table.n_rows < 3:
        return []
    place = None if task is None else find_column(task, table, "Task")
    rows = _sample(table.n_rows)
    sample = table if rows is None else open_table(safe_indexing(table.native, rows))
    goal = None
    if y is not None:
        if kind is None:
            raise ValueError("kind is needed with y: classification or regression.")
        goal = Goal.of(np.asarray(y)[slice(None) if rows is None else rows], kind)
    tasks = None
    if place is not None:  # numbered from 0, also where some are missing
        codes = to_levels(read_cells(table, place))[1]
        tasks = np.unique(codes, return_inverse=True)[1]
    some_tasks = tasks if tasks is None or rows is None else tasks[rows]
    found: list[Suspect] = []
    for position in range(table.n_columns):
        name = position if table.names is None else table.names[position]
        if position == place or name in keep:
            continue
        column = _read(sample, position)
        if column is None:
            continue
        look = _Look(name, column, goal, some_tasks)
        if rows is not None and look.may_name_rows():
            found += look.suspects(_read(table, position), tasks)
        else:
            found += look.suspects(column, some_tasks)
    return found


def _sample(n_rows: int) -> np.ndarray | None:
    if n_rows <= _MOST_ROWS:
        return None
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(n_rows, _MOST_ROWS, replace=False))


@dataclass(frozen=True, eq=False)
class _Column:
    """Values as numbers: those of numbers and dates, codes of texts; NaN is missing."""

    kind: Literal["number", "date", "text"]
    values: np.ndarray

    @property
    def n_distinct(self) -> int:
        return len(np.unique(self.values[~np.isnan(self.values)]))

    @property
    def n_present(self) -> int:
        return int((~np.isnan(self.values)).sum())


class _Look:
    """One column, looked at from all sides."""

    def __init__(
        self,
        name: Any,
        column: _Column,
        goal: Goal | None,
        tasks: np.ndarray | None,
    ) -> None:
        self.name = name
        self.column = column
        self.goal = goal
        self.tasks = tasks
        self.name_kind = name_kind(name)

    def may_name_rows(self) -> bool:
        """Whether it could be an index, by some of its rows."""
        column = self.column
        if column.kind == "date":
            return False
        if column.kind == "number" and numbering(column.values) is None:
            return False
        unique = column.n_distinct >= _NEARLY * column.n_present
        return unique or self.name_kind == "index"

    def suspects(
        self, whole: _Column | None, tasks: np.ndarray | None
    ) -> Iterator[Suspect]:
        """What it is suspected of."""
        names_rows = None
        if whole is not None and whole.kind == "text":
            names_rows = self._name(whole)
        elif whole is not None and whole.kind == "number":
            numbers = numbering(whole.values, tasks)
            names_rows = None if numbers is None else self._number(numbers)
        if names_rows is not None:
            yield names_rows
            if names_rows.certain:
                return
        if self.goal is not None and self.column.n_distinct:
            yield from self._predicting(self.goal)
        if names_rows is None:
            yield from self._naming_tasks()

    def _name(self, column: _Column) -> Suspect | None:
        """Texts that differ in all rows, or nearly."""
        n_present, n_distinct = column.n_present, column.n_distinct
        if n_present < 3 or 20 * n_present < 19 * len(column.values):
            return None
        figures = {"rows": n_present, "different": n_distinct}
        if n_distinct == n_present and self.name_kind in ("index", "id"):
            why = f"names the rows: {n_distinct:,} different texts"
            return Suspect(self.name, "index", why, True, figures)
        if n_present >= 10 and n_distinct >= _NEARLY * n_present:
            why = (
                f"holds {n_distinct:,} different texts in {n_present:,} rows, as ids do"
            )
            return Suspect(self.name, "id", why, False, figures)
        return None

    def _number(self, numbers: Numbering) -> Suspect | None:
        """Whole numbers that count the rows, or name them."""
        figures = {
            "rows": numbers.n_rows,
            "different": numbers.n_distinct,
            "low": numbers.low,
            "high": numbers.high,
        }
        span = f"{numbers.low} to {numbers.high}"
        n_rows, n_distinct = numbers.n_rows, numbers.n_distinct
        enough = n_rows >= 3 and numbers.low >= 0
        if (
            self.name_kind == "index"
            and enough
            and (numbers.unique or numbers.restarts)
        ):
            again = "" if numbers.unique else ", again and again"
            why = f"is an index of the rows: whole numbers, {span}{again}"
            return Suspect(self.name, "index", why, True, figures)
        if self.name_kind == "id" and numbers.unique and n_rows >= 3:
            why = f"is an id: another whole number in each row, {span}"
            return Suspect(self.name, "index", why, True, figures)
        if numbers.complete and self.name_kind != "time":
            why = f"numbers the rows: whole numbers, {span}, none twice"
            certain = self.name_kind == "number"
            what: Any = "index" if certain else "row number"
            return Suspect(self.name, what, why, certain, figures)
        nearly = n_rows >= 10 and n_distinct >= _NEARLY * n_rows
        if self.name_kind in ("index", "id") and nearly:
            why = f"holds {n_distinct:,} different whole numbers in {n_rows:,} rows"
            return Suspect(self.name, "id", f"{why}, as ids do", False, figures)
        return None

    def _predicting(self, goal: Goal) -> Iterator[Suspect]:
        kind: Any = "text" if self.column.kind == "text" else "number"
        score = predicts(self.column.values, goal, kind=kind)
        if score < _SUSPICIOUS:
            return
        figures = {goal.measure.lower(): score, "rows": len(goal.codes)}
        copies = _copies(self.column, goal)
        if copies is not None:
            yield Suspect(self.name, "target", copies, False, figures)
            return
        shown = f"{np.floor(1000 * score) / 1000:.3f}"  # 0.9996 is not 1.000
        measure = "R2 of ranks" if goal.measure == "R2" else goal.measure
        why = f"alone predicts the target with {measure} {shown}"
        yield Suspect(self.name, "prediction", why, False, figures)

    def _naming_tasks(self) -> Iterator[Suspect]:
        """A value for each task, another for each; fractions are measurements."""
        if self.tasks is None or self.column.kind == "date":
            return
        values = self.column.values
        present = values[~np.isnan(values)]
        if (present != np.floor(present)).any():
            return
        n_tasks = len(np.unique(self.tasks))
        if n_tasks < 2 or not n_tasks / 2 <= self.column.n_distinct <= 2 * n_tasks:
            return
        fraction = _one_to_one(values, self.tasks)
        if fraction >= _ALIKE and 2 * n_tasks <= len(values):
            why = f"has a value of its own for every task {_in_rows(fraction)}"
            yield Suspect(self.name, "task", why, False, {"share": fraction})


def _copies(column: _Column, goal: Goal) -> str | None:
    """In words, if a column is the target in other clothes."""
    values = column.values
    if goal.measure == "AUC":
        fraction = _one_to_one(values, goal.codes)
        if fraction < _ALIKE:
            return None
        same = _in_rows(fraction)
        return f"is a copy of the target: a value for each class, {same}"
    if column.kind == "text" or np.isnan(values).any():
        return None
    codes = np.unique(values, return_inverse=True)[1]
    last = goal.codes.max()
    if codes.max() != last:
        return None
    for direction, name in ((codes, "rising"), (last - codes, "falling")):
        if (direction == goal.codes).all():
            return f"is a copy or a {name} function of the target"
    return None


def _in_rows(fraction: float) -> str:
    return "in every row" if fraction == 1 else f"in {fraction:.1%} of the rows"


def _one_to_one(values: np.ndarray, codes: np.ndarray) -> float:
    """Fraction of rows in pairs of values that are most frequent with each other."""
    found, groups = np.unique(values, return_inverse=True)
    n_codes = int(codes.max()) + 1
    if len(found) * n_codes > 10 * len(values) + 100:
        return 0.0
    counts = np.bincount(groups * n_codes + codes, minlength=len(found) * n_codes)
    counts = counts.reshape(len(found), n_codes)
    best = counts.argmax(axis=1)
    mutual = counts.argmax(axis=0)[best] == np.arange(len(found))
    return float(counts[mutual, best[mutual]].sum() / len(values))


def _read(table: AnyTable, position: int) -> _Column | None:
    """The values of a column, as models would get them; None if it has no use."""
    try:
        cells = read_cells(table, position)
    except (TypeError, ValueError):  # cells of an array that nobody reads
        return None
    meaning = find_meaning(cells, keep=True)
    if meaning["kind"] == "dropped":
        return None
    if meaning["kind"] == "date":
        return _Column("date", to_moments(cells, meaning["format"]))
    if meaning["kind"] == "category":
        codes = to_levels(cells)[1]
        return _Column("text", np.where(codes < 0, np.nan, codes))
    return _Column("number", column_parts(cells, meaning)[0][1])
