"""The data model: what an estimator gets to see."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinlearn.tables import TableEncoder
from kinlearn.tasks._columns import TaskColumns
from kinlearn.tasks._labels import (
    LabelSets,
    classes_by_task,
    find_label_sets,
)
from kinlearn.utils import group_rows
from kinlearn.utils._typing import LabelRule

__all__ = ["TaskData", "TaskRows"]


def freeze(array: Any) -> Any:
    """A read-only view of an array; other things pass as they are."""
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class TaskRows:
    """Rows to predict for.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Features, without the task and privileged columns.
    task : int32 array of shape (n_samples,)
        Code of each row's task in the fitted ``tasks_``; -1 is unknown.
    """

    X: Any
    task: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", freeze(self.X))
        object.__setattr__(self, "task", freeze(self.task))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.X.shape[0]


@dataclass(frozen=True, eq=False)
class TaskData:
    """Checked training data: features, tasks, targets and weights.

    All arrays are read-only views (a sparse matrix is passed as it is); `X` is the
    caller's own memory where no conversion was needed.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Features, float32 or float64, without task and privileged columns.
    task : int32 array of shape (n_samples,)
        Code of each row's task.
    tasks : ndarray of shape (n_tasks,)
        Task values, ascending.
    columns : TaskColumns
        Which column of the original X is what.
    y : int32 or float64 array of shape (n_samples,), or None
        Class codes, or numbers.
    classes : ndarray of shape (n_classes,), or None
        The union of all tasks' labels, ascending; None for numbers.
    sample_weight : float64 array of shape (n_samples,), or None
        None if no weights were given.
    privileged : ndarray of shape (n_samples, n_privileged), or None
        Columns that exist in training only.
    target : int or None
        Code of the target task, where one is the goal.
    label_rule : {"connected", "observed"} or mapping
        How the classes of a task are found.
    categorical : bool array of shape (n_features,), or None
        Which features are codes of categories, 0, 1, 2..., NaN if missing or unknown;
        None if none is.
    encoder : TableEncoder or None
        What made numbers of the feature columns, fitted; None if they are numbers.
    """

    X: Any
    task: np.ndarray
    tasks: np.ndarray
    columns: TaskColumns
    y: Any = None
    classes: Any = None
    sample_weight: np.ndarray | None = None
    privileged: Any = field(default=None)
    target: int | None = None
    label_rule: LabelRule = "connected"
    categorical: np.ndarray | None = None
    encoder: TableEncoder | None = None

    def __post_init__(self) -> None:
        for name in (
            "X",
            "task",
            "tasks",
            "y",
            "classes",
            "sample_weight",
            "categorical",
        ):
            object.__setattr__(self, name, freeze(getattr(self, name)))
        object.__setattr__(self, "privileged", freeze(self.privileged))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    @property
    def feature_names(self) -> np.ndarray:
        """Names of the columns of `X`; ``x0``, ``x1``... where there were none."""
        if self.encoder is not None:
            return self.encoder.get_feature_names_out()
        return self.columns.feature_names

    @cached_property
    def _groups(self) -> tuple[np.ndarray, ...]:
        return tuple(map(freeze, group_rows(self.task, self.n_tasks)))

    @property
    def indptr(self) -> np.ndarray:
        """Boundaries of the tasks in `order`."""
        return self._groups[0]

    @property
    def order(self) -> np.ndarray:
        """Row numbers, task by task."""
        return self._groups[1]

    def rows(self, task: int) -> np.ndarray:
        """Row numbers of one task, ascending; no scan.

        Parameters
        ----------
        task : int
            Task code.

        Returns
        -------
        intp array
            Row numbers.
        """
        return self.order[self.indptr[task] : self.indptr[task + 1]]

    @cached_property
    def _labels(self) -> tuple[np.ndarray, ...]:
        return tuple(
            map(
                freeze,
                classes_by_task(self.task, self.y, self.n_tasks, len(self.classes)),
            )
        )

    @property
    def task_class_indptr(self) -> np.ndarray:
        """Boundaries of the tasks in `task_class_codes`."""
        return self._labels[0]

    @property
    def task_class_codes(self) -> np.ndarray:
        """Class codes that occur in each task, ascending within it."""
        return self._labels[1]

    @property
    def y_in_task(self) -> np.ndarray:
        """Class of each row, counted within those that its task's rows show."""
        return self._labels[2]

    @cached_property
    def label_sets(self) -> LabelSets:
        """The classes of each task, by the rule, which predictions keep to."""
        return find_label_sets(
            self.task,
            self.y,
            self.tasks,
            self.classes,
            self.label_rule,
            self.sample_weight,
        )

    @property
    def task_classes(self) -> dict[Any, np.ndarray]:
        """The labels that each task has, as a dict from task value to labels."""
        return self.label_sets.by_task(self.tasks, self.classes)
