"""The rows that abstaining boosting learns from, task by task."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn.boosting._start_weights import row_weights, start_weights
from kinlearn.tasks import LabelSets, find_label_sets
from kinlearn.utils import group_rows

__all__ = ["BoostedRows", "weighted_label_sets"]


@dataclass(frozen=True, eq=False)
class BoostedRows:
    """Rows of the tasks that have something to learn, in the order of the tasks.

    Rows of weight 0 are left out, and tasks with one class, which is predicted.

    Attributes
    ----------
    tasks : int array of shape (n_boosted,)
        Codes of the tasks that are boosted.
    indptr : intp array of shape (n_boosted + 1,)
        Boundaries of these tasks in the rows.
    order : int32 array of shape (n,)
        Numbers of the rows in the data.
    label : int32 array of shape (n,)
        Class of each row, counted within its task.
    start : float64 array of shape (n,)
        Weights to begin with, which sum to one.
    unit : float64 array of shape (n,)
        How many rows each stands for; all one if weights are not integers.
    n_labels : int32 array of shape (n_boosted,)
        Classes of each task.
    """

    tasks: np.ndarray
    indptr: np.ndarray
    order: np.ndarray
    label: np.ndarray
    start: np.ndarray
    unit: np.ndarray
    n_labels: np.ndarray

    @classmethod
    def of(cls, data: Any, label_sets: LabelSets, rows: np.ndarray, init: str) -> Self:
        """The rows in the form in which they are boosted.

        Parameters
        ----------
        data : TaskData
            Checked training data.
        label_sets : LabelSets
            Classes of each task.
        rows : bool array of shape (n_samples,)
            Which rows to take.
        init : {"uniform", "task", "task_class"}
            What has the same weight in the beginning.

        Returns
        -------
        BoostedRows
            Those of tasks with several classes.
        """
        weight = row_weights(data)
        n_labels = np.diff(label_sets.indptr)
        taken = np.flatnonzero(rows & (weight > 0) & (n_labels[data.task] > 1))
        tasks = np.unique(data.task[taken])
        code = np.full(data.n_tasks, -1, dtype=np.int32)
        code[tasks] = np.arange(len(tasks), dtype=np.int32)
        indptr, by_task = group_rows(code[data.task[taken]], len(tasks))
        order = taken[by_task]
        task, y, weight = data.task[order], data.y[order], weight[order]
        whole = weight.sum() < 2.0**28 and bool((weight == np.rint(weight)).all())
        place = np.zeros((data.n_tasks, label_sets.n_classes), dtype=np.int32)
        owner = np.repeat(np.arange(data.n_tasks), n_labels)
        place[owner, label_sets.codes] = (
            np.arange(len(owner)) - label_sets.indptr[owner]
        )
        return cls(
            tasks=tasks,
            indptr=indptr,
            order=order.astype(np.int32),
            label=place[task, y],
            start=start_weights(task, y, weight, init) if len(order) else weight,
            unit=weight if whole else np.ones(len(order)),
            n_labels=n_labels[tasks].astype(np.int32),
        )

    @property
    def task(self) -> np.ndarray:
        """Task code of each row."""
        return np.repeat(self.tasks, np.diff(self.indptr)).astype(np.int32)


def weighted_label_sets(data: Any) -> LabelSets:
    """The classes that each task has, by its rows of positive weight.

    Parameters
    ----------
    data : TaskData
        Checked training data.

    Returns
    -------
    LabelSets
        The classes.
    """
    weight = row_weights(data)
    rows = weight > 0
    return find_label_sets(
        data.task[rows],
        data.y[rows],
        data.tasks,
        data.classes,
        data.label_rule,
        weight[rows],
    )
