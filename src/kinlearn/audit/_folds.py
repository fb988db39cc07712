"""The folds that all contenders are compared on.

The classes of a task are dealt evenly to its folds only for metrics that cannot do
without, such as the AUC. Test rows with the same fraction of a class as the training
rows tell a model what it could not know of new rows: with targets of pure noise and
tasks of 10 rows, the most common class of the training rows gets an accuracy of 0.585
on such folds where new rows give 0.5, a log loss of 0.68 in place of 0.74, and the
mean of the training rows an explained variance of 0.02 in place of -0.12. What is
scored class by class does not see it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.audit._problem import Problem, hash_arrays
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.tables.internal import find_column, open_table
from kinlearn.utils._typing import ArrayLike

__all__ = [
    "EqualRows",
    "Folds",
    "find_equal_rows",
    "folds_at_level",
    "make_folds",
]

# Rows up to which the folds are drawn twice, if n_repeats is None.
_FEW_ROWS = 10_000


_FEWEST = 20  # different rows by which columns are judged
_WORTH_A_REMARK = 0.01  # fraction of the rows
_ALIKE = 0.01  # most of the different rows that one column may hold apart
_MOST_COLUMNS = 300


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Which rows of a task are equal in all columns.

    - `group` (n_rows,): Number of the row's group of equal rows.
    - `n_equal`: Rows that equal another one.
    - `n_same_target`: Those whose target is equal too.
    - `times`: How often every row is there, targets included: 2 if a table was appended
      to itself.
    - `copies`: Whether the columns are so fine that equal rows are copies.
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
    """Find the equal rows of each task."""
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


@dataclass(frozen=True, eq=False)
class Folds:
    """Training and test rows of every split of every repeat.

    - `splits`: By repeat and split.
    - `splitter`: What drew them.
    - `kept`: Tasks that are never tested, by code, and why.
    - `n_train`, `n_test` (n_repeats, n_splits, n_tasks): Rows of each task.
    - `remark`: What users must know about equal rows.
    """

    splits: list
    splitter: str
    kept: dict[int, str]
    n_train: np.ndarray
    n_test: np.ndarray
    remark: str | None = None

    @property
    def n_repeats(self) -> int:
        """Number of repeats."""
        return len(self.splits)

    @property
    def n_splits(self) -> int:
        """Number of splits of each repeat."""
        return len(self.splits[0])

    @property
    def tests_unseen_tasks(self) -> bool:
        """Whether some split tests a task of which training has no row."""
        return bool(((self.n_test > 0) & (self.n_train == 0)).any())

    def fingerprint(self) -> str:
        """Hash of all rows of all folds."""
        rows = [rows for repeat in self.splits for pair in repeat for rows in pair]
        return hash_arrays(f"{self.n_repeats} repeats", *rows)


def make_folds(
    problem: Problem,
    *,
    cv: Any,
    n_splits: int,
    n_repeats: int | None,
    random_state: int,
    by_class: bool = True,
) -> Folds:
    """Draw the folds, or take the user's."""
    equal = find_equal_rows(problem)
    if cv is None or isinstance(cv, Integral):
        number: Any = n_splits if cv is None else cv
        stratify = "classes" if by_class and problem.classes is not None else None
        splits, kept = _draw(problem, equal, number, n_repeats, stratify, random_state)
        splitter = f"TaskStratifiedKFold({number}, shuffle=True, stratify={stratify!r})"
    else:
        if n_repeats is not None:
            raise ValueError(
                "n_repeats is for the folds that compare_sharing draws itself; give "
                "repeats through cv, such as RepeatedTaskStratifiedKFold."
            )
        splits, kept = _read(problem, cv), {}
        splitter = type(cv).__name__ if hasattr(cv, "split") else "given"
    return _count(problem, splits, splitter, kept, equal.remark)


def folds_at_level(folds: Folds, problem: Problem) -> Folds:
    """The same folds with the rows counted by other tasks."""
    return _count(problem, folds.splits, folds.splitter, {}, folds.remark)


def _check_count(value: Any, name: str, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}; got {value!r}.")


def _rows_are(number: int) -> str:
    return "1 row is" if number == 1 else f"{number} rows are"


def _draw(
    problem: Problem,
    equal: EqualRows,
    n_splits: int,
    n_repeats: int | None,
    stratify: Any,
    random_state: int,
) -> tuple[list[list[tuple[np.ndarray, np.ndarray]]], dict[int, str]]:
    _check_count(n_splits, "n_splits", 2)
    if n_repeats is None:
        n_repeats = 2 if problem.n_rows <= _FEW_ROWS else 1
    _check_count(n_repeats, "n_repeats", 1)
    # one row for each of those that must stay together; copies follow the first
    unit = equal.group if equal.copies else np.arange(problem.n_rows)
    _, first, unit = np.unique(unit, return_index=True, return_inverse=True)
    sizes = np.bincount(problem.codes[first], minlength=problem.n_tasks)
    large = sizes >= n_splits
    if not large.any():
        different = " different" if equal.copies else ""
        raise ValueError(
            f"No task has {n_splits}{different} rows, one for each fold; the largest "
            f"has {sizes.max()}. Lower n_splits, or choose a coarser task column."
        )
    kept = {
        int(code): f"{_rows_are(sizes[code])} too few for {n_splits} folds: "
        "always in training, never tested"
        for code in np.flatnonzero(~large)
    }
    units = np.flatnonzero(large[problem.codes[first]])
    rows = first[units]
    seeds = np.random.RandomState(random_state).randint(2**31 - 1, size=n_repeats)
    splits = []
    for seed in seeds:
        folds = TaskStratifiedKFold(
            n_splits,
            shuffle=True,
            random_state=int(seed),
            stratify=stratify,
        ).split(rows, problem.y[rows], problem.codes[rows])
        tested = (np.isin(unit, units[test]) for _, test in folds)
        splits.append([(np.flatnonzero(~t), np.flatnonzero(t)) for t in tested])
    return splits, kept


def _read(problem: Problem, cv: Any) -> list[list[Any]]:
    if hasattr(cv, "split") and not isinstance(cv, str):
        # kinlearn's own splitters read the task from X if their `task` is set
        by_groups = getattr(cv, "task", problem.task) is None
        groups = problem.tasks[problem.codes] if by_groups else None
        pairs = list(cv.split(problem.X, problem.y, groups))
    else:
        try:
            pairs = [(train, test) for train, test in cv]
        except (TypeError, ValueError):
            raise TypeError(
                "cv must be None, a number of folds, a splitter with a split method, "
                f"or pairs of row numbers (train, test); got {cv!r}."
            ) from None
    if not pairs:
        raise ValueError("cv gave no splits.")
    pairs = [
        tuple(_check_rows(rows, part, number, problem.n_rows) for rows, part in both)
        for number, both in enumerate(
            zip(pair, ("training", "test"), strict=True) for pair in pairs
        )
    ]
    repeats = getattr(cv, "n_repeats", 1)
    whole = isinstance(repeats, int) and len(pairs) % repeats == 0
    size = len(pairs) // repeats if whole else len(pairs)
    return [pairs[first : first + size] for first in range(0, len(pairs), size)]


def _check_rows(rows: ArrayLike, part: str, number: int, n_rows: int) -> np.ndarray:
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
        raise ValueError(
            f"Split {number} of cv: its {part} rows must be row numbers, at least one."
        )
    if rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(
            f"Split {number} of cv: {part} rows go from {rows.min()} to {rows.max()}, "
            f"but X has the rows 0 to {n_rows - 1}."
        )
    return rows.astype(np.intp)


def _count(
    problem: Problem,
    splits: list[list[Any]],
    splitter: str,
    kept: dict[int, str],
    remark: str | None,
) -> Folds:
    shape = len(splits), len(splits[0]), problem.n_tasks
    n_train, n_test = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for r, repeat in enumerate(splits):
        for s, (train, test) in enumerate(repeat):
            if np.isin(test, train).any():
                raise ValueError(
                    f"Split {s} of cv tests rows that are in its training rows too; "
                    "scores would be too good."
                )
            for rows, counts in ((train, n_train), (test, n_test)):
                counts[r, s] = np.bincount(problem.codes[rows], minlength=shape[2])
    for code in np.flatnonzero(n_test.sum(axis=(0, 1)) == 0):
        kept.setdefault(int(code), "cv never tests it")
    return Folds(splits, splitter, kept, n_train, n_test, remark)
