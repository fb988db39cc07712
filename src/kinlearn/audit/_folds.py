"""The folds that all contenders are compared on.

The classes of a task are dealt evenly to its folds only for metrics that cannot do
without, such as the AUC. Test rows with the same share of a class as the training
rows tell a model what it could not know of new rows: with targets of pure noise and
tasks of 10 rows, the most common class of the training rows gets an accuracy of 0.585
on such folds where new rows give 0.5, a log loss of 0.68 in place of 0.74, and the
mean of the training rows an explained variance of 0.02 in place of -0.12. What is
scored class by class does not see it.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from kinlearn.audit._copies import EqualRows, find_equal_rows
from kinlearn.audit._problem import Problem, hash_arrays
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.utils._typing import ArrayLike

__all__ = ["Folds", "make_folds"]

# Rows up to which the folds are drawn twice, if n_repeats is None.
_FEW_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Folds:
    """Training and test rows of every split of every repeat.

    Attributes
    ----------
    splits : list of list of (train, test)
        By repeat and split.
    splitter : str
        What drew them.
    kept : dict of int to str
        Tasks that are never tested, by code, and why.
    n_train, n_test : int64 arrays of shape (n_repeats, n_splits, n_tasks)
        Rows of each task.
    remark : str or None
        What users must know about equal rows.
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
    """Draw the folds, or take the user's.

    Parameters
    ----------
    problem : Problem
        The data.
    cv : None, int, splitter or iterable of (train, test)
        None and int draw folds by task.
    n_splits : int
        Number of splits, if `cv` is None.
    n_repeats : int or None
        Number of repeats; None goes by the number of rows.
    random_state : int
        Decides the folds.
    by_class : bool, default=True
        Whether the classes of a task are dealt evenly, as a metric may need.

    Returns
    -------
    Folds
        At least one split.
    """
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
