"""Test on a task that training has not seen."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from kinlearn.model_selection._strata import read_tasks
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["LeaveOneTaskOut"]


class LeaveOneTaskOut(BaseCrossValidator):
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

    __metadata_request__split = {"groups": True}

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
