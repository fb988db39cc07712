"""Rows that come after fit, perhaps of tasks that fit did not see."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn.tasks._columns import TaskColumns
from kinlearn.tasks._data import freeze
from kinlearn.tasks._labels import LabelSets, class_codes, numbers
from kinlearn.tasks._validation import check_task_rows, task_codes
from kinlearn.tasks._values import lookup_values, show_values
from kinlearn.tasks._vector import encode_tasks
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["LaterData", "check_later_data"]


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
        Codes of classes that fit saw, or numbers.
    sample_weight : float64 array of shape (n_samples,)
        Weights; 1 if none were given.
    tasks : ndarray of shape (n_tasks,)
        Old and new task values, ascending.
    place : int32 array of shape (n_old_tasks,)
        What the codes of fit are among `tasks`.
    is_new : bool array of shape (n_tasks,)
        Which tasks fit did not see.
    """

    X: Any
    task: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray
    tasks: np.ndarray
    place: np.ndarray
    is_new: np.ndarray

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.task)

    @property
    def n_tasks(self) -> int:
        """Number of tasks, old and new."""
        return len(self.tasks)

    def label_sets(self, old: LabelSets) -> LabelSets:
        """The classes of each task, with those of these rows.

        Parameters
        ----------
        old : LabelSets
            Of the tasks and rows of fit.

        Returns
        -------
        LabelSets
            Of old and new tasks.
        """
        task = np.repeat(self.place, np.diff(old.indptr))
        return LabelSets.of(
            np.concatenate([task, self.task]),
            np.concatenate([old.codes, self.y]),
            self.n_tasks,
            old.n_classes,
        )

    def take(self, rows: np.ndarray) -> "LaterData":
        """Some of the rows.

        Parameters
        ----------
        rows : int or bool array
            Which.

        Returns
        -------
        LaterData
            With the same tasks.
        """
        return replace(
            self,
            X=self.X[rows],
            task=self.task[rows],
            y=self.y[rows],
            sample_weight=self.sample_weight[rows],
        )


def check_later_data(
    X: Table,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    columns: TaskColumns,
    tasks: np.ndarray,
    classes: np.ndarray | None,
    estimator: str,
    **options: Any,
) -> LaterData:
    """Check rows that come after fit.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        The same columns as in fit.
    y : array-like of shape (n_samples,)
        Labels.
    sample_weight : array-like of shape (n_samples,), or None
        Weights.
    columns : TaskColumns
        What fit saw.
    tasks : ndarray
        Task values that fit saw.
    classes : ndarray or None
        Labels that fit saw; None if y holds numbers.
    estimator : str
        Name for messages.
    **options
        For :func:`check_task_rows`.

    Returns
    -------
    LaterData
        The checked rows.
    """
    rows = check_task_rows(
        X,
        columns=columns,
        tasks=tasks,
        unknown_task="share",
        estimator=estimator,
        **options,
    )
    found, codes = task_codes(X, columns.task)
    every = tasks
    if (rows.task < 0).any():
        every, _ = encode_tasks(np.concatenate([tasks, found]), columns.where)
    place = lookup_values(every, tasks, columns.where)
    is_new = np.ones(len(every), dtype=bool)
    is_new[place] = False
    if classes is None:
        labels = numbers(y, estimator, codes, found)
    else:
        labels = _known_classes(y, classes, estimator, codes, found)
    if len(labels) != len(rows.task):
        raise ValueError(
            f"X has {len(rows.task)} rows, but y has {len(labels)} labels."
        )
    weight = np.ones(len(labels))
    if sample_weight is not None:
        weight = check_sample_weight(
            sample_weight, codes, dtype=np.float64, ensure_non_negative=True
        )
    return LaterData(
        X=rows.X,
        task=freeze(lookup_values(every, found, columns.where)[codes]),
        y=freeze(labels),
        sample_weight=freeze(weight),
        tasks=freeze(every),
        place=place,
        is_new=is_new,
    )


def _known_classes(
    y: ArrayLike,
    classes: np.ndarray,
    estimator: str,
    task: np.ndarray,
    tasks: np.ndarray,
) -> np.ndarray:
    found, codes = class_codes(y, estimator, task, tasks)
    known = {label: code for code, label in enumerate(classes.tolist())}
    strange = [label for label in found.tolist() if label not in known]
    if strange:
        raise ValueError(
            f"y holds classes that {estimator} did not see in fit: "
            f"{show_values(strange)}. It saw {show_values(classes)}. Fit anew with all "
            "rows to add a class."
        )
    return np.array([known[v] for v in found.tolist()], dtype=np.int32)[codes]
