"""Folds in which every task has its rows, folds of a target task, and of each task."""

import numbers
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state, check_scalar

from kinlearn.exceptions import KinlearnWarning
from kinlearn.model_selection._strata import (
    check_stratify,
    make_cells,
    read_tasks,
    strata,
)
from kinlearn.utils import deal_to_folds
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn
from kinlearn.utils._values import show_values

__all__ = [
    "LeaveOneTaskOut",
    "RepeatedTaskStratifiedKFold",
    "TargetKFold",
    "TaskStratifiedKFold",
    "deal_rows",
]


def deal_rows(
    y: Any,
    codes: np.ndarray,
    n_tasks: int,
    *,
    n_splits: int,
    stratify: str | None,
    rng: np.random.RandomState | None,
) -> np.ndarray:
    """Fold of each row."""
    cells = make_cells(codes, strata(y, codes, n_tasks, stratify, n_splits), rng)
    quota = deal_to_folds(cells.tasks, cells.strata, cells.counts, n_splits)
    fold = np.empty(len(codes), dtype=np.intp)
    folds = np.tile(np.arange(n_splits), len(cells.counts))
    fold[cells.order] = np.repeat(folds, quota.ravel())
    return fold


class _TaskSplitter(BaseCrossValidator):
    """Splitter to which scikit-learn's metadata routing hands `groups` over."""

    __metadata_request__split = {"groups": True}


class _FoldSplitter(_TaskSplitter):
    """Splitter that puts every row into one fold; -1 is in no test set."""

    def _check_parameters(self) -> None:
        check_scalar(self.n_splits, "n_splits", numbers.Integral, min_val=2)
        check_stratify(self.stratify)
        if not isinstance(self.shuffle, bool):
            raise TypeError(f"shuffle must be True or False; got {self.shuffle!r}.")
        if not self.shuffle and self.random_state is not None:
            raise ValueError(
                "random_state has no effect with shuffle=False. Leave it at None, or "
                "set shuffle=True."
            )

    @property
    def _rng(self) -> np.random.RandomState | None:
        return check_random_state(self.random_state) if self.shuffle else None

    def _iter_test_masks(
        self, X: Table = None, y: Any = None, groups: Any = None
    ) -> Iterator[np.ndarray]:
        fold = self._fold_of_rows(X, y, groups)
        for test in range(self.n_splits):
            yield fold == test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
            `n_splits`.
        """
        return self.n_splits


class TaskStratifiedKFold(_FoldSplitter):
    """K folds over which every task is spread, in its own class proportions.

    Each class of each task is spread over the folds as evenly as it can be, and
    so is each task: their rows in two folds differ by one at the most. What is
    left over in one task is balanced against what is left over in the others,
    so folds have nearly the same size and fraction of each class even when most
    tasks have fewer rows than there are folds.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    task : str, int or None, default=None
        Name or position of the task column of X. None reads the tasks from
        `groups` of :meth:`split`; without these it is one task.
    shuffle : bool, default=False
        Whether rows are put in random order first.
    random_state : int, RandomState instance or None, default=None
        Decides the order if `shuffle`.
    stratify : {"auto", "classes", "quantiles"} or None, default="auto"
        What is kept in proportion within each task. "quantiles" cuts the target
        at each task's own quantiles into ten bins, or fewer, so that a bin has a
        row for each fold. "auto" takes quantiles for targets with fractions and
        classes otherwise: pass "quantiles" if a target to be regressed on is
        made of integers. None splits by task only.

    See Also
    --------
    RepeatedTaskStratifiedKFold : The same several times over.
    TargetKFold : Folds of one task, all others always in training.

    Notes
    -----
    A task with fewer rows than `n_splits` has no test row in some folds: by-task
    scores of one fold lack it there. From two rows on, every task has training
    rows in every split. The only row of a task, however, is in the test set once,
    and then the model has never seen the task: there is a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.model_selection import TaskStratifiedKFold
    >>> X = np.c_[np.zeros(8), [0, 0, 0, 0, 1, 1, 1, 1]]
    >>> y = [0, 0, 1, 1, 0, 0, 0, 1]
    >>> for train, test in TaskStratifiedKFold(2, task=-1).split(X, y):
    ...     print(test)
    [0 2 4 5]
    [1 3 6 7]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        task: TaskColumn = None,
        shuffle: bool = False,
        random_state: RandomState = None,
        stratify: Literal["auto", "classes", "quantiles"] | None = "auto",
    ) -> None:
        self.n_splits = n_splits
        self.task = task
        self.shuffle = shuffle
        self.random_state = random_state
        self.stratify = stratify
        self._check_parameters()

    def _fold_of_rows(self, X: Table, y: Any, groups: Any) -> np.ndarray:
        tasks, codes = read_tasks(X, self.task, groups)
        if len(codes) < self.n_splits:
            raise ValueError(
                f"There are {len(codes)} rows for {self.n_splits} folds. Lower "
                "n_splits."
            )
        _warn_of_single_rows(tasks, codes)
        return deal_rows(
            y,
            codes,
            len(tasks),
            n_splits=self.n_splits,
            stratify=self.stratify,
            rng=self._rng,
        )


def _warn_of_single_rows(tasks: np.ndarray, codes: np.ndarray) -> None:
    single = tasks[np.bincount(codes) == 1].tolist()
    if single:
        warnings.warn(
            f"{len(single)} of {len(tasks)} tasks have a single row "
            f"({show_values(single)}). In the split that tests it, such a task has no "
            "training row, and is predicted as an unknown one: give estimators "
            'unknown_task="share" if that is meant, or drop these tasks.',
            KinlearnWarning,
            stacklevel=2,
        )


class TargetKFold(_FoldSplitter):
    """K folds of the target task; all other tasks are always in training.

    For transfer: the source helps, the target counts. Classes of the target are
    spread over the folds as evenly as can be.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    task : str, int or None, default=None
        Name or position of the task column of X. None reads the tasks from
        `groups` of :meth:`split`.
    target : task value
        The task to be tested on.
    shuffle : bool, default=False
        Whether rows are put in random order first.
    random_state : int, RandomState instance or None, default=None
        Decides the order if `shuffle`.
    stratify : {"auto", "classes", "quantiles"} or None, default="auto"
        As in :class:`TaskStratifiedKFold`, for the target's rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.model_selection import TargetKFold
    >>> X = np.c_[np.zeros(8), [0, 0, 0, 0, 1, 1, 1, 1]]
    >>> y = [0, 0, 1, 1, 0, 1, 0, 1]
    >>> for train, test in TargetKFold(2, task=-1, target=1).split(X, y):
    ...     print(train, test)
    [0 1 2 3 6 7] [4 5]
    [0 1 2 3 4 5] [6 7]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        task: TaskColumn = None,
        target: Any,
        shuffle: bool = False,
        random_state: RandomState = None,
        stratify: Literal["auto", "classes", "quantiles"] | None = "auto",
    ) -> None:
        self.n_splits = n_splits
        self.task = task
        self.target = target
        self.shuffle = shuffle
        self.random_state = random_state
        self.stratify = stratify
        self._check_parameters()

    def _fold_of_rows(self, X: Table, y: Any, groups: Any) -> np.ndarray:
        tasks, codes = read_tasks(X, self.task, groups, needed_by="TargetKFold")
        known = tasks.tolist()
        if self.target not in known:
            raise ValueError(
                f"The target task {self.target!r} is not among the tasks "
                f"({show_values(known)})."
            )
        rows = np.flatnonzero(codes == known.index(self.target))
        if len(rows) < self.n_splits:
            raise ValueError(
                f"The target task {self.target!r} has {len(rows)} rows for "
                f"{self.n_splits} folds. Lower n_splits."
            )
        fold = np.full(len(codes), -1, dtype=np.intp)
        fold[rows] = deal_rows(
            None if y is None else np.asarray(y)[rows],
            np.zeros(len(rows), dtype=np.int32),
            1,
            n_splits=self.n_splits,
            stratify=self.stratify,
            rng=self._rng,
        )
        return fold


class RepeatedTaskStratifiedKFold(_TaskSplitter):
    """:class:`TaskStratifiedKFold`, shuffled anew several times.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    n_repeats : int, default=10
        How often all rows are split.
    task : str, int or None, default=None
        Name or position of the task column of X. None reads the tasks from
        `groups` of :meth:`split`; without these it is one task.
    random_state : int, RandomState instance or None, default=None
        Decides the order of the rows in every repeat.
    stratify : {"auto", "classes", "quantiles"} or None, default="auto"
        As in :class:`TaskStratifiedKFold`.

    Examples
    --------
    >>> from kinlearn.model_selection import RepeatedTaskStratifiedKFold
    >>> cv = RepeatedTaskStratifiedKFold(5, n_repeats=3, task="school")
    >>> cv.get_n_splits()
    15
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 10,
        task: TaskColumn = None,
        random_state: RandomState = None,
        stratify: Literal["auto", "classes", "quantiles"] | None = "auto",
    ) -> None:
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.task = task
        self.random_state = random_state
        self.stratify = stratify
        check_scalar(n_splits, "n_splits", numbers.Integral, min_val=2)
        check_scalar(n_repeats, "n_repeats", numbers.Integral, min_val=1)
        check_stratify(stratify)

    def _iter_test_masks(
        self, X: Table = None, y: Any = None, groups: Any = None
    ) -> Iterator[np.ndarray]:
        rng = check_random_state(self.random_state)
        for _ in range(self.n_repeats):
            once = TaskStratifiedKFold(
                self.n_splits,
                task=self.task,
                shuffle=True,
                random_state=rng.randint(np.iinfo(np.int32).max),
                stratify=self.stratify,
            )
            yield from once._iter_test_masks(X, y, groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
            `n_splits` times `n_repeats`.
        """
        return self.n_splits * self.n_repeats


class LeaveOneTaskOut(_TaskSplitter):
    """Every task is the test set once, and the other tasks are the training set.

    It measures how well a model predicts for a task that it has not seen. Give
    estimators of kinlearn ``unknown_task="share"``, so that they do not warn of it.

    Parameters
    ----------
    task : str, int or None, default=None
        Name or position of the task column of X. None reads the tasks from
        `groups` of :meth:`split`.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.model_selection import LeaveOneTaskOut
    >>> X = np.c_[np.zeros(5), [0, 1, 2, 1, 0]]
    >>> for train, test in LeaveOneTaskOut(task=-1).split(X):
    ...     print(test)
    [0 4]
    [1 3]
    [2]
    """

    def __init__(self, task: TaskColumn = None) -> None:
        self.task = task

    def _tasks(self, X: Table, groups: ArrayLike | None) -> tuple[int, np.ndarray]:
        tasks, codes = read_tasks(X, self.task, groups, needed_by="LeaveOneTaskOut")
        if len(tasks) < 2:
            raise ValueError(
                f"LeaveOneTaskOut needs two tasks or more; found one, "
                f"{tasks.tolist()[0]!r}."
            )
        return len(tasks), codes

    def _iter_test_masks(
        self, X: Table = None, y: Any = None, groups: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        n_tasks, codes = self._tasks(X, groups)
        for task in range(n_tasks):
            yield codes == task

    def get_n_splits(
        self, X: Table = None, y: Any = None, groups: ArrayLike | None = None
    ) -> int:
        """Number of splits, which is the number of tasks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Data with the task column.
        y : object
            Ignored.
        groups : array-like of shape (n_samples,), default=None
            Task of each row, if there is no task column.

        Returns
        -------
        int
            Number of tasks.
        """
        if X is None and groups is None:
            raise ValueError("X is needed to count the tasks: get_n_splits(X).")
        return self._tasks(X, groups)[0]
