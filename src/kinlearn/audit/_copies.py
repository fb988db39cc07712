"""Rows that are equal: copies of one row, or rows of columns with few values?

A copy of a training row among the test rows makes every score too good. But where
columns have few values, equal rows are nothing special: new rows will equal some of
the training rows as well, and holding equal rows out together would punish. So the
columns decide.

They are fine if equal rows could hardly come about by chance: some column has a
value of its own in at least half of the different rows, or no column can be left
out without the different rows staying different. Then equal rows of a task stay on
one side of every fold, whatever their targets: a choice by the target would take a
class away from a training set, and bias the scores by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.audit._problem import Problem
from kinlearn.tables._containers import open_table
from kinlearn.tasks._columns import find_column

__all__ = ["EqualRows", "find_equal_rows"]

_FEWEST = 20  # different rows by which columns are judged
_WORTH_A_REMARK = 0.01  # share of the rows
_ALIKE = 0.01  # most of the different rows that one column may hold apart
_MOST_COLUMNS = 300


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Which rows of a task are equal in all columns.

    Attributes
    ----------
    group : int array of shape (n_rows,)
        Number of the row's group of equal rows.
    n_equal : int
        Rows that equal another one.
    n_same_target : int
        Those whose target is equal too.
    times : int
        How often every row is there, targets included: 2 if a table was appended
        to itself.
    copies : bool
        Whether the columns are so fine that equal rows are copies.
    """

    group: np.ndarray
    n_equal: int
    n_same_target: int
    times: int
    copies: bool

    @property
    def remark(self) -> str | None:
        """A sentence for users; None where nothing is to be known."""
        n_rows = len(self.group)
        n = self.n_equal if self.copies else self.n_same_target
        if n < _WORTH_A_REMARK * n_rows:
            return None
        if self.copies:
            return (
                f"{n:,} of {n_rows:,} rows equal another row of their task in all "
                "columns, which are too fine for chance: they are taken for copies, "
                "and equal rows are never divided between training and test."
            )
        if self.times > 1:
            return (
                f"Every row is there {self.times} times, target included, as if the "
                "table had been appended to itself: scores are too good. Drop the "
                "copies."
            )
        return (
            f"{n:,} of {n_rows:,} rows equal another row of their task in all columns "
            "and the target, as happens with columns of few values. Should they be "
            "copies of one row, scores are too good: drop them."
        )


def find_equal_rows(problem: Problem) -> EqualRows:
    """Find the equal rows of each task.

    Parameters
    ----------
    problem : Problem
        The data.

    Returns
    -------
    EqualRows
        Groups of rows, and what to make of them.
    """
    task = _mixed(problem.codes.astype(np.uint64), 0)
    total = reduce(np.add, _terms(problem), task.copy())
    _, first, group, size = np.unique(
        total, return_index=True, return_inverse=True, return_counts=True
    )
    with_target = total + _mixed(_codes(problem.y), 1)
    _, back, times = np.unique(with_target, return_inverse=True, return_counts=True)
    n_equal = int(size[size > 1].sum())
    return EqualRows(
        group=group,
        n_equal=n_equal,
        n_same_target=int((times[back] > 1).sum()),
        times=int(np.gcd.reduce(times)),
        copies=n_equal > 0 and _are_fine(problem, np.sort(first), total),
    )


def _are_fine(problem: Problem, different: np.ndarray, total: np.ndarray) -> bool:
    """Whether different rows differ so much that equal ones cannot be chance."""
    if len(different) < _FEWEST or sp.issparse(problem.X):
        return False
    total, alike = total[different], 0
    for number, term in enumerate(_terms(problem)):
        term = term[different]
        if 2 * len(np.unique(term)) >= len(different):
            return True
        if number < _MOST_COLUMNS and alike <= _ALIKE * len(different):
            alike = max(alike, len(different) - len(np.unique(total - term)))
    return alike <= _ALIKE * len(different)


def _terms(problem: Problem) -> Iterator[np.ndarray]:
    """A hash of every cell, column by column; of a row they are summed up."""
    table: Any = open_table(problem.X)
    task = find_column(problem.task, table, "Task")
    if sp.issparse(problem.X):
        rows = sp.csr_array(table.without(task), copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        cells = _mixed(_codes(rows.data), rows.indices.astype(np.uint64) + np.uint64(2))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells)])
        yield sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
        return
    for position in range(table.n_columns):
        if position != task:
            yield _mixed(_codes(table.column(position)), position + 2)


def _codes(values: np.ndarray) -> np.ndarray:
    """Equal numbers for equal values, missing ones included."""
    kind = values.dtype.kind
    if kind == "f":
        numbers = values.astype(np.float64) + 0.0  # no negative zero
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.uint64)
    if kind in "iumMb":
        return values.astype(np.int64).view(np.uint64)
    known: dict[str, int] = {}
    codes = (known.setdefault(str(v), len(known)) for v in values.tolist())
    return np.fromiter(codes, np.uint64, len(values))


def _mixed(codes: np.ndarray, seed: Any) -> np.ndarray:
    """SplitMix64 of numbers: what is summed up must not cancel out."""
    with np.errstate(over="ignore"):
        z = codes + np.uint64(0x9E3779B97F4A7C15) * (np.asarray(seed, np.uint64) + 1)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        return z ^ (z >> np.uint64(31))
