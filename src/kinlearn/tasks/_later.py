"""Rows that come after fit, perhaps of tasks that fit did not see."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn.tasks._columns import TaskColumns
from kinlearn.tasks._data import freeze
from kinlearn.tasks._labels import (
    LabelSets,
    class_codes,
    find_label_sets,
    numbers,
)
from kinlearn.tasks._validation import check_task_rows, encode_tasks, task_codes
from kinlearn.tasks._values import encode_values, lookup_values, show_values
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, LabelRule, Table

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


def check_later_data(
    X: Table,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    columns: TaskColumns,
    tasks: np.ndarray,
    classes: np.ndarray | None,
    new_classes: bool = False,
    estimator: str,
    **options: Any,
) -> LaterData:
    """Check rows that come after fit, against the columns, tasks and classes it saw.

    `classes` is None if y holds numbers. With `new_classes`, rows of new tasks may have
    classes that fit did not see. Options are those of :func:`check_task_rows`.
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
    every_class: Any = None
    class_place: Any = None
    if classes is None:
        labels = numbers(y, estimator, codes, found)
    else:
        named, labels = class_codes(y, estimator, codes, found)
        every_class, places = _join_classes(classes, named)
        class_place, labels = places[: len(classes)], places[len(classes) :][labels]
    if len(labels) != len(rows.task):
        raise ValueError(
            f"X has {len(rows.task)} rows, but y has {len(labels)} labels."
        )
    task = lookup_values(every, found, columns.where)[codes]
    if classes is not None and len(every_class) > len(classes):
        is_old = np.isin(labels, class_place)
        bad = ~is_old & ~is_new[task] if new_classes else ~is_old
        _check_new_classes(every_class[labels[bad]], classes, estimator, new_classes)
    weight = np.ones(len(labels))
    if sample_weight is not None:
        weight = check_sample_weight(
            sample_weight, codes, dtype=np.float64, ensure_non_negative=True
        )
    return LaterData(
        X=rows.X,
        task=freeze(task),
        y=freeze(labels),
        sample_weight=freeze(weight),
        tasks=freeze(every),
        place=place,
        is_new=is_new,
        classes=freeze(every_class),
        class_place=class_place,
    )


def _join_classes(old: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Old and found classes together, and the place of each of both among them."""
    known = {label: code for code, label in enumerate(old.tolist())}
    if all(label in known for label in found.tolist()):
        places = [*range(len(old)), *(known[label] for label in found.tolist())]
        return old, np.array(places, dtype=np.int32)
    if (old.dtype.kind in "OTU") != (found.dtype.kind in "OTU"):
        raise TypeError(
            f"y holds labels such as {show_values(found[:1])}, fit saw labels such as "
            f"{show_values(old[:1])}. Give them the same type."
        )
    return encode_values(np.concatenate([old, found]))


def _check_new_classes(
    strange: np.ndarray, classes: np.ndarray, estimator: str, allowed: bool
) -> None:
    if len(strange) == 0:
        return
    of_known = ", for tasks that it knows" if allowed else ""
    raise ValueError(
        f"y holds classes that {estimator} did not see in fit{of_known}: "
        f"{show_values(np.unique(strange))}. It saw {show_values(classes)}. Fit anew "
        "with all rows to add a class."
    )
