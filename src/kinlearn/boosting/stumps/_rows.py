"""The rows that are boosted, task by task, and categories as ordered numbers."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn.boosting._start_weights import row_weights, start_weights
from kinlearn.tasks import LabelSets, TaskData
from kinlearn.utils import group_rows

__all__ = ["BoostedRows", "category_ranks", "to_ranks"]


@dataclass(frozen=True, eq=False)
class BoostedRows:
    """Rows of the tasks that have something to learn, in the order of the tasks.

    Rows of weight 0 are left out, and tasks with one class, which is predicted.
    """

    tasks: np.ndarray  # (n_boosted,) codes of the tasks that are boosted
    indptr: np.ndarray  # (n_boosted + 1,) boundaries of these tasks in the rows
    order: np.ndarray  # (n,) numbers of the rows in the data
    label: np.ndarray  # (n,) class of each row, counted within its task
    start: np.ndarray  # (n,) weights to begin with, which sum to one
    # (n,) how many rows each stands for; all one if weights are not integers
    unit: np.ndarray
    n_labels: np.ndarray  # (n_boosted,) classes of each task

    @classmethod
    def of(cls, data: Any, label_sets: LabelSets, rows: np.ndarray, init: str) -> Self:
        """The rows in the form in which they are boosted."""
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


_MIN_SUPPORT = 2  # rows' worth of weight; lighter categories count as average
_DEVIATIONS = 2  # beyond what categories without any information show
_N_CODES = 254


def category_ranks(data: TaskData, rows: np.ndarray) -> np.ndarray:
    """The place of each category in the order of its labels.

    The order is that of the mean of ``label - mean of the task``, drawn towards 0 by
    one row, where the label is 1 for the most frequent class. Tasks without this class
    do not count. Where categories differ no more than noise would, the codes are the
    order: one that follows the noise of the rows would look useful on these very rows.
    """
    weight = row_weights(data) * rows
    counted = np.argmax(np.bincount(data.y, weight))
    label = (data.y == counted).astype(np.float64)
    of_task, all_of_task = (
        np.bincount(data.task, values, minlength=data.n_tasks)
        for values in (weight * label, weight)
    )
    weight = weight * (of_task > 0)[data.task]
    share = of_task / np.where(all_of_task > 0, all_of_task, 1.0)
    beyond = weight * (label - share[data.task])
    variance = (beyond * (label - share[data.task])).sum() / weight.sum()
    columns: Any = data.categorical
    ranks = []
    for x in data.X[:, columns].T:
        known = ~np.isnan(x)
        code = x[known].astype(np.intp)
        total, n = (
            np.bincount(code, values[known], minlength=_N_CODES)
            for values in (beyond, weight)
        )
        apart = n >= _MIN_SUPPORT
        # of as many normals of variance 1, if the categories tell nothing
        squares = (total[apart] ** 2 / n[apart]).sum() / variance
        n_apart = np.count_nonzero(apart)
        if squares > n_apart + _DEVIATIONS * np.sqrt(2.0 * n_apart):
            mean = np.where(apart, total / (n + 1.0), 0.0)
        else:
            mean = np.arange(_N_CODES)
        # beyond rounding, so that the order of the rows does not decide
        ranks.append(np.unique(mean.round(12), return_inverse=True)[1])
    return np.array(ranks, dtype=np.float64)


def to_ranks(X: Any, categorical: np.ndarray, ranks: np.ndarray) -> Any:
    """Rows with places in the order instead of codes."""
    X = X.copy(order="K")
    for of_code, feature in zip(ranks, np.flatnonzero(categorical), strict=True):
        known = ~np.isnan(X[:, feature])
        X[known, feature] = of_code[X[known, feature].astype(np.intp)]
    return X
