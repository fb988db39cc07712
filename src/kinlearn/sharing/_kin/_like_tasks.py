"""One model for each group of like tasks."""

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier

from kinlearn.sharing._base import SharingForm
from kinlearn.sharing._kin._groups import groups_of_tasks
from kinlearn.sharing._kin._indicators import indicators
from kinlearn.sharing._per_task import PerTask
from kinlearn.sharing._task_as_feature import TaskAsFeature
from kinlearn.tasks import with_task
from kinlearn.utils._typing import LabelRule, TaskColumn

__all__ = ["LikeTasks"]


class LikeTasks(SharingForm):
    """One model for each group of tasks that are alike, which sees the task.

    Where some tasks differ from the others, or there are several kinds of them, a
    model of all rows has to find that out by itself, and follows the largest. Here
    the groups come first, from the rows of all tasks (see `_groups`).

    Parameters
    ----------
    estimator : estimator
        Takes the task as its last column, if it has a parameter ``task``; any other
        gets it as a feature.
    caution : float, default=1.0
        More than 1 gives fewer groups.
    task, unknown_task, label_sets
        As in `PerTask`; X is an array, its features of mean 0 and variance 1, and its
        last column the task's code. For a task not seen in fit the group of the most
        rows predicts.

    Attributes
    ----------
    groups_ : int array of shape (n_tasks,)
        Number of each task's group.
    by_group_ : PerTask
        The models, with the group as their task.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        caution: float = 1.0,
        task: TaskColumn = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
    ) -> None:
        self.estimator = estimator
        self.caution = caution
        self.task = task
        self.unknown_task = unknown_task
        self.label_sets = label_sets

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the groups, then fit a model to the rows of each."""
        rows = self._open_for_fit(X, y, sample_weight)
        y = rows.y
        if is_classifier(self.estimator):
            y = indicators(np.searchsorted(self.classes_, y), len(self.classes_))
        weight = rows.sample_weight
        self.groups_ = groups_of_tasks(
            rows.rest,
            y,
            rows.task,
            len(self.tasks_),
            weight=weight,
            caution=self.caution,
        )
        group = self.groups_[rows.task]
        self._largest = np.bincount(group, weights=weight).argmax()
        inner = self.estimator
        if "task" not in inner.get_params():
            inner = TaskAsFeature(
                inner, task=-1, unknown_task="share", label_sets=self.label_sets
            )
        # what its rows do not show is for the tasks' label sets to say, not the groups'
        by_group = PerTask(inner, task=-1, label_sets="observed", unknown_task="error")
        self.by_group_ = by_group.fit(with_task(X, group), rows.y, weight)
        return self

    def _groups_of(self, task: np.ndarray) -> np.ndarray:
        return np.where(task >= 0, self.groups_[task], self._largest)

    def rows_by_group(self, X: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
        """Each group's model, and the rows that it predicts.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features + 1)
            Rows.

        Yields
        ------
        model : estimator
            For rows with the task as their last column.
        rows : int array
            Which.
        """
        group = self._groups_of(self._open_for_predict(X)[1])
        for g, model in enumerate(self.by_group_.estimators_):
            yield model, np.flatnonzero(group == g)

    def _answer(self, method: str, rest: Any, task: np.ndarray) -> np.ndarray:
        values = np.where(task >= 0, self.tasks_[task], -1)
        X = with_task(with_task(rest, values), self._groups_of(task))
        return getattr(self.by_group_, method)(X)
