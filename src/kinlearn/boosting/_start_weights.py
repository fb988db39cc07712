"""The distribution that boosting begins with."""

from typing import Any

import numpy as np

from kinlearn.tasks import LabelSets, find_label_sets

__all__ = [
    "INIT_WEIGHTS",
    "check_sets_stay",
    "check_tasks_have_weight",
    "row_weights",
    "start_weights",
    "weighted_label_sets",
]

INIT_WEIGHTS = ("uniform", "task", "task_class")


def row_weights(data: Any) -> np.ndarray:
    """Sample weights, all one if none were given; every task must have some.

    Parameters
    ----------
    data : TaskData or LaterData
        Checked rows.

    Returns
    -------
    float64 array of shape (n_samples,)
        Weights.
    """
    if data.sample_weight is None:
        return np.ones(data.n_samples)
    total = np.bincount(data.task, data.sample_weight, minlength=data.n_tasks)
    here = np.bincount(data.task, minlength=data.n_tasks) > 0
    check_tasks_have_weight(data.tasks[here], total[here])
    return data.sample_weight


def check_tasks_have_weight(tasks: np.ndarray, total: np.ndarray) -> None:
    """Refuse tasks whose rows all have weight 0.

    Parameters
    ----------
    tasks : ndarray of shape (n_tasks,)
        Task values.
    total : float64 array of shape (n_tasks,)
        Sums of the weights of their rows.
    """
    without = np.flatnonzero(total == 0)
    if len(without):
        raise ValueError(
            f"Task {tasks.tolist()[without[0]]!r} has no row of positive weight "
            f"({len(without)} of {len(tasks)} tasks are like that). Drop its rows, or "
            "weight them."
        )


def start_weights(
    task: np.ndarray, y: np.ndarray, weight: np.ndarray, init: str
) -> np.ndarray:
    """Weights of the rows in the first round; they sum to one.

    Parameters
    ----------
    task, y : int arrays of shape (n,)
        Task and class codes.
    weight : float array of shape (n,)
        Sample weights.
    init : {"uniform", "task", "task_class"}
        What has the same weight: every row, every task, or every pair of task and
        class.

    Returns
    -------
    float64 array of shape (n,)
        Weights.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting._start_weights import start_weights
    >>> task, y = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    >>> start_weights(task, y, np.ones(4), "task")
    array([0.16666667, 0.16666667, 0.16666667, 0.5       ])
    """
    if init == "uniform":
        return weight / weight.sum()
    n_classes = int(y.max()) + 1
    of = task if init == "task" else task.astype(np.int64) * n_classes + y
    cell = np.unique(of, return_inverse=True)[1]
    mass = np.bincount(cell, weight)
    alike = weight / mass[cell]
    return alike / (mass > 0).sum()


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


def check_sets_stay(later: Any, before: LabelSets, rule: Any) -> None:
    """Refuse classes that a known task did not have so far.

    Parameters
    ----------
    later : LaterData
        Checked rows of positive weight.
    before : LabelSets
        The classes that each task had.
    rule : str or mapping
        The estimator's `label_sets`.
    """
    sets = later.find_label_sets(before, rule)
    grown = np.diff(sets.indptr)[later.place] > np.diff(before.indptr)
    for t in np.flatnonzero(grown).tolist():
        raise ValueError(
            f"y holds a class that task {later.tasks[later.place].tolist()[t]!r} did "
            "not have so far. Fit anew with all rows to add a class to a task."
        )
