"""The data model: what an estimator gets to see in fit, prediction and afterwards."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinlearn.tables import TableEncoder
from kinlearn.tasks._columns import TaskColumns
from kinlearn.tasks._label_sets import LabelSets, classes_by_task, find_label_sets
from kinlearn.tasks._paths import TaskPaths
from kinlearn.utils import group_rows
from kinlearn.utils._typing import LabelRule

__all__ = ["LaterData", "TaskData", "TaskRows", "freeze"]


def freeze(array: Any) -> Any:
    """A read-only view of an array; other things pass as they are."""
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


class _ReadOnly:
    """A record whose arrays are read-only views."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, freeze(value))


@dataclass(frozen=True, eq=False)
class TaskRows(_ReadOnly):
    """Rows to predict for.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Features, without the task and privileged columns.
    task : int32 array of shape (n_samples,)
        Code of each row's task in the fitted ``tasks_``; -1 is unknown.
    groups : int32 array of shape (n_levels, n_samples), or None
        Group of each row at each coarser level of a path of columns; -1 is unknown.
    """

    X: Any
    task: np.ndarray
    groups: np.ndarray | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.X.shape[0]


@dataclass(frozen=True, eq=False)
class TaskData(_ReadOnly):
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
    paths : TaskPaths or None
        Where the tasks lie, if they have a path of columns.
    """

    X: Any
    task: np.ndarray
    tasks: np.ndarray
    columns: TaskColumns
    y: Any = None
    classes: Any = None
    sample_weight: np.ndarray | None = None
    privileged: Any = None
    target: int | None = None
    label_rule: LabelRule = "connected"
    categorical: np.ndarray | None = None
    encoder: TableEncoder | None = None
    paths: TaskPaths | None = None

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
        found = classes_by_task(self.task, self.y, self.n_tasks, len(self.classes))
        return tuple(map(freeze, found))

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


@dataclass(frozen=True, eq=False)
class LaterData:
    """Checked rows for a fitted model, with codes that old and new tasks share.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Features.
    task : int32 array of shape (n_samples,)
        Codes of the rows' tasks among `tasks`.
    y : int32 or float64 array of shape (n_samples,)
        Codes of the rows' classes among `classes`, or numbers.
    sample_weight : float64 array of shape (n_samples,)
        Weights; 1 if none were given.
    tasks : ndarray of shape (n_tasks,)
        Old and new task values, ascending.
    place : int32 array of shape (n_old_tasks,)
        What the codes of fit are among `tasks`.
    is_new : bool array of shape (n_tasks,)
        Which tasks fit did not see.
    classes : ndarray of shape (n_classes,), or None
        Old and new labels, ascending; None for numbers.
    class_place : int32 array of shape (n_old_classes,), or None
        What the class codes of fit are among `classes`.
    """

    X: Any
    task: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray
    tasks: np.ndarray
    place: np.ndarray
    is_new: np.ndarray
    classes: Any = None
    class_place: Any = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.task)

    @property
    def n_tasks(self) -> int:
        """Number of tasks, old and new."""
        return len(self.tasks)

    def find_label_sets(self, before: LabelSets, rule: LabelRule) -> LabelSets:
        """The classes of each task, with those of these rows.

        New tasks have theirs by the rule. Old ones, whose predictions shall stay, get
        no class but those of their own rows, and the weights of old classes stay.
        """
        old = before.renumbered(
            self.place, self.n_tasks, self.class_place, len(self.classes)
        )
        weight = self.sample_weight
        found = find_label_sets(
            self.task, self.y, self.tasks, self.classes, rule, weight, old
        )
        had = old.allowed(found.owner)[np.arange(len(found.codes)), found.codes]
        class_weight = found.class_weight.copy()
        class_weight[self.class_place] = before.class_weight
        found = replace(found, class_weight=class_weight)
        return found.only(self.is_new[found.owner] | found.seen | had)

    def take(self, rows: np.ndarray) -> "LaterData":
        """Some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            task=self.task[rows],
            y=self.y[rows],
            sample_weight=self.sample_weight[rows],
        )
