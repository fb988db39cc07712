"""Random splits that take a fraction of every task."""

import numbers
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import BaseShuffleSplit
from sklearn.utils import check_random_state, check_scalar

from kinlearn.model_selection._strata import (
    check_stratify,
    make_cells,
    read_tasks,
    strata,
)
from kinlearn.utils._typing import RandomState, Table, TaskColumn
from kinlearn.utils._values import show_values

__all__ = ["TaskShuffleSplit"]


def _is_count(size: Any) -> bool:
    return isinstance(size, numbers.Integral) and not isinstance(size, bool)


def _check_size(size: Any, name: str) -> None:
    fraction = isinstance(size, numbers.Real) and not isinstance(size, bool)
    if size is None or (_is_count(size) and size >= 1):
        return
    if not (fraction and not _is_count(size) and 0 < size < 1):
        raise ValueError(
            f"{name} must be a fraction between 0 and 1, or a number of rows >= 1 to "
            f"take of each task; got {size!r}."
        )


def _rows_needed(size: Any, sizes: np.ndarray) -> np.ndarray:
    """Rows of each task that a size takes at the most; one row for the remainder."""
    if size is None or _is_count(size):
        return np.full(len(sizes), size or 1)
    return np.ceil(size * sizes)


class TaskShuffleSplit(BaseShuffleSplit):
    """Random splits with a fraction of each task, as the multi-task papers do.

    Where a fraction of a task's rows is not a whole number, it is rounded up or
    down at random, so that the fraction of all rows is right. The classes of a task
    are treated alike within it. Every task has a training row in each split.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    task : str, int or None, default=None
        Name or position of the task column of X. None reads the tasks from
        `groups` of :meth:`split`; without these it is one task.
    test_size : float or int, default=None
        Fraction of each task, or number of its rows, that is tested on. None is
        what `train_size` leaves, or 0.25.
    train_size : float or int, default=None
        Fraction of each task, or number of its rows, that is trained on. None is
        what `test_size` leaves.
    random_state : int, RandomState instance or None, default=None
        Decides the splits.
    stratify : {"auto", "classes", "quantiles"} or None, default="auto"
        What is kept in proportion within each task. "quantiles" cuts the target
        at each task's own quantiles into ten bins, or fewer in small tasks.
        "auto" takes quantiles for targets with fractions and classes otherwise.
        None draws from the whole task.

    Examples
    --------
    Half of each task, whatever its size:

    >>> import numpy as np
    >>> from kinlearn.model_selection import TaskShuffleSplit
    >>> X = np.c_[np.zeros(12), [0] * 8 + [1] * 4]
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1]
    >>> cv = TaskShuffleSplit(1, task=-1, train_size=0.5, random_state=0)
    >>> train, test = next(cv.split(X, y))
    >>> X[train, -1]
    array([0., 0., 0., 0., 1., 1.])
    """

    # Makes scikit-learn's metadata routing hand `groups` over.
    __metadata_request__split = {"groups": True}

    def __init__(
        self,
        n_splits: int = 10,
        *,
        task: TaskColumn = None,
        test_size: float | int | None = None,
        train_size: float | int | None = None,
        random_state: RandomState = None,
        stratify: Literal["auto", "classes", "quantiles"] | None = "auto",
    ) -> None:
        super().__init__(
            n_splits,
            test_size=test_size,
            train_size=train_size,
            random_state=random_state,
        )
        self.task = task
        self.stratify = stratify
        check_scalar(n_splits, "n_splits", numbers.Integral, min_val=1)
        check_stratify(stratify)
        _check_size(test_size, "test_size")
        _check_size(train_size, "train_size")
        fractions = [s for s in (test_size, train_size) if s is not None]
        if not any(map(_is_count, fractions)) and sum(fractions) > 1:
            raise ValueError(
                f"test_size={test_size} and train_size={train_size} take more than "
                "the whole task."
            )

    def _iter_indices(
        self, X: Table, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        tasks, codes = read_tasks(X, self.task, groups)
        sizes = np.bincount(codes)
        self._check_rows(tasks, sizes)
        bins = strata(y, codes, len(tasks), self.stratify, bin_rows=4)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            n_train, n_test = self._rows_of_tasks(sizes, rng)
            cells = make_cells(codes, bins, rng)
            test = _rows_of_cells(n_test, cells.counts, cells.tasks, rng)
            rest = cells.counts - test
            train = _rows_of_cells(n_train, rest, cells.tasks, rng)
            # 0 in the first `test` places of a cell, 1 in the next `train`, else 2
            side = np.repeat(
                np.tile([0, 1, 2], len(rest)),
                np.column_stack([test, train, rest - train]).ravel(),
            )
            yield np.sort(cells.order[side == 1]), np.sort(cells.order[side == 0])

    def _check_rows(self, tasks: np.ndarray, sizes: np.ndarray) -> None:
        needed = sum(
            _rows_needed(size, sizes) for size in (self.train_size, self.test_size)
        )
        short = tasks[sizes < needed].tolist()
        counted = _is_count(self.train_size) or _is_count(self.test_size)
        if counted and short:
            raise ValueError(
                f"{len(short)} of {len(tasks)} tasks have too few rows for "
                f"train_size={self.train_size}, test_size={self.test_size} "
                f"({show_values(short)}). Take fewer rows of each task, or a fraction."
            )
        if (sizes < 2).all():
            raise ValueError(
                "Every task has a single row, so that no row can be tested on while "
                "its task is trained on."
            )
        fraction, n_rows = self._test_fraction(), sizes[sizes > 1].sum()
        if fraction is not None and fraction * n_rows < 1 - 1e-9:
            raise ValueError(
                f"The test set would be empty: train_size={self.train_size}, "
                f"test_size={self.test_size} leave less than one of the {n_rows} rows "
                "of tasks with two rows or more. Test on a larger fraction."
            )

    def _test_fraction(self) -> float | None:
        """Fraction that is tested on; None where a number of rows decides."""
        if self.test_size is not None:
            return None if _is_count(self.test_size) else self.test_size
        if self.train_size is not None:
            return None if _is_count(self.train_size) else 1 - self.train_size
        return 0.25

    def _rows_of_tasks(
        self, sizes: np.ndarray, rng: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Training and test rows of each task."""
        # A task of one row is trained on; it takes no part in the rounding.
        shared = np.where(sizes > 1, sizes, 0)
        test_size = self.test_size
        if test_size is None and self.train_size is None:
            test_size = 0.25
        if test_size is None:
            n_train = np.clip(_round_fractions(self.train_size, shared, rng), 1, None)
            return n_train, sizes - n_train
        n_test = np.minimum(_round_fractions(test_size, shared, rng), sizes - 1)
        if self.train_size is None:
            return sizes - n_test, n_test
        n_train = np.clip(_round_fractions(self.train_size, shared, rng), 1, None)
        return np.minimum(n_train, sizes - n_test), n_test


def _round_fractions(
    size: Any, sizes: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Rows to take of each task: a number, or a fraction rounded at random.

    The running total of the fractions is rounded, not each of them: the total is
    then right, and each differs from its fraction by less than one.
    """
    if _is_count(size):
        return np.full(len(sizes), size)
    exact = size * sizes
    order = rng.permutation(len(sizes))
    edges = np.floor(np.cumsum(exact[order]) + rng.random_sample())
    rows = np.empty(len(sizes), dtype=np.intp)
    rows[order] = np.diff(edges, prepend=0)
    # against the rounding of the running total itself
    return np.clip(rows, np.floor(exact + 1e-9), np.ceil(exact - 1e-9)).astype(np.intp)


def _rows_of_cells(
    n_rows: np.ndarray,
    counts: np.ndarray,
    tasks: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Split the rows to take of each task over its cells, in proportion.

    Again the running total is rounded, within each task, from a random start.
    """
    totals = np.bincount(tasks, weights=counts).astype(np.intp)
    start = (rng.random_sample(len(totals)) * totals).astype(np.intp)
    running = np.cumsum(counts)
    first = np.flatnonzero(np.diff(tasks, prepend=-1))
    before = np.zeros(len(totals), dtype=np.intp)
    before[tasks[first]] = running[first] - counts[first]
    upper = running - before[tasks]
    wanted, start, total = n_rows[tasks], start[tasks], np.maximum(totals, 1)[tasks]
    edges = (wanted * upper + start) // total
    lower = (wanted * (upper - counts) + start) // total
    return edges - lower
