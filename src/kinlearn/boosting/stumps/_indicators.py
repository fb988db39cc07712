"""Several labels a row: indicators as MH boosts them, and predictions of such."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn.boosting._start_weights import row_weights
from kinlearn.boosting.stumps._model import TwoTaskStumps
from kinlearn.boosting.stumps._predictions import StumpScores
from kinlearn.tasks import LabelSets, TaskData, find_label_sets
from kinlearn.utils._loaded import check_numbers

__all__ = ["IndicatorScores", "Indicators", "find_indicators"]

_LEAST = 1e-300  # of a probability


def find_indicators(y: Any) -> "Indicators | None":
    """The indicators of y, if it has several columns; else None."""
    _check_form(y)
    if isinstance(y, list | tuple) and len(y) and _is_collection(y[0]):
        y = np.asarray(y)
    if len(getattr(y, "shape", ())) != 2 or y.shape[1] < 2:
        return None
    classes = _label_names(y)
    values = y.toarray() if sp.issparse(y) else np.asarray(y)
    if values.dtype == object and hasattr(y, "isna"):  # NA cannot be compared
        values = np.where(np.asarray(y.isna()), np.nan, values)
    good = np.isin(values, [0, 1])
    if not good.all():
        row, column = np.argwhere(~good)[0]
        value = np.asarray(values[row, column]).item()
        label = classes.tolist()[column]
        raise ValueError(
            f"y has {values.shape[1]} columns, one for each label, which hold 1 where "
            f"a row has the label and 0 where not; column {label!r} holds "
            f"{value!r} in row {row}. Give one column of classes, or "
            "indicators (sklearn.preprocessing.MultiLabelBinarizer)."
        )
    return Indicators(values.astype(bool), classes)


def _is_collection(each: Any) -> bool:
    return isinstance(each, list | tuple | set | frozenset) or (
        getattr(each, "ndim", 0) > 0
    )


def _check_form(y: Any) -> None:
    """Refuse collections of each row's labels, and sparse y of one column."""
    if sp.issparse(y):
        found = f"is sparse, of shape {y.shape}" if y.shape[1:] in [(), (1,)] else ""
    else:
        lists = isinstance(y, list | tuple)
        vector = str(getattr(y, "dtype", "")) == "object" and len(y.shape) == 1
        rows = [each for each in y if _is_collection(each)] if lists or vector else []
        table = lists and len(rows) == len(y) and len({len(each) for each in rows}) == 1
        if table and not any(isinstance(each, set | frozenset) for each in rows):
            return
        found = f"holds a {type(rows[0]).__name__} in a row's place" if rows else ""
    if found:
        raise ValueError(
            f"y {found}. Give one class for each row, as a vector; or, of rows with "
            "several labels, a column of 0 and 1 for each of at least two labels "
            "(sklearn.preprocessing.MultiLabelBinarizer makes them)."
        )


def _label_names(y: Any) -> np.ndarray:
    """What the columns are called: texts, or whole numbers."""
    if not hasattr(y, "columns"):
        return np.arange(y.shape[1])
    names = list(y.columns)
    kinds = sorted({type(name).__name__ for name in names})
    texts = all(isinstance(name, str) for name in names)
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in names)
    twice = [name for name in names if names.count(name) > 1]
    if not (texts or whole) or twice:
        found = f"twice the name {twice[0]!r}" if twice else f"names of type {kinds}"
        raise ValueError(
            f"y's columns have {found}. They are the labels: give each a name of its "
            "own, all of them texts or all whole numbers."
        )
    return np.asarray(names)


@dataclass(frozen=True, eq=False)
class Indicators:
    """Which row has which label."""

    marks: np.ndarray  # bool (n_samples, n_labels)
    classes: np.ndarray  # what the columns are called

    def fill_in(self, data: TaskData) -> TaskData:
        """The data with a code for each set of labels, which takes the place of y."""
        if len(self.marks) != data.n_samples:
            raise ValueError(
                f"X has {data.n_samples} rows, but y has {len(self.marks)}."
            )
        y = np.unique(self.marks, axis=0, return_inverse=True)[1]
        return replace(data, y=y.ravel().astype(np.int32))

    def label_sets(self, data: TaskData, rule: Any) -> LabelSets:
        """Labels that each task has, by its rows of positive weight."""
        weight = row_weights(data)
        row, label = np.nonzero(self.marks & (weight > 0)[:, None])
        if not len(row):
            raise ValueError(
                "y has no 1 in a row of positive weight: no row has a label. Give rows "
                "that have some."
            )
        return find_label_sets(
            data.task[row],
            label.astype(np.int32),
            data.tasks,
            self.classes,
            rule,
            weight[row],
        )

    def own(self, sets: LabelSets, task: np.ndarray, order: np.ndarray) -> np.ndarray:
        """For each of some rows, and each label of its task, whether it has it."""
        sizes = np.diff(sets.indptr)[task]
        row = np.repeat(order, sizes)
        begin = np.cumsum(sizes) - sizes
        place = np.arange(len(row)) - np.repeat(begin, sizes)
        return self.marks[row, sets.codes[np.repeat(sets.indptr[task], sizes) + place]]

    def mass(self, data: TaskData) -> tuple[np.ndarray, np.ndarray]:
        """By task, weight of the rows with each label, and of all rows."""
        weight = row_weights(data)
        total = np.bincount(data.task, weight, minlength=data.n_tasks)
        columns = [
            np.bincount(data.task, weight * mark, minlength=data.n_tasks)
            for mark in self.marks.T
        ]
        return np.column_stack(columns), total


@dataclass(frozen=True, eq=False)
class IndicatorScores(StumpScores):
    """What turns votes into predictions of indicators."""

    total: Any = None  # float64 (n_tasks,) weight of all rows of each task

    @classmethod
    def of_rows(
        cls, mass: np.ndarray, total: np.ndarray, sets: LabelSets, stumps: TwoTaskStumps
    ) -> Self:
        """From weights of rows with each label, for tasks that nobody votes on."""
        voted = np.zeros(len(mass), dtype=bool)
        voted[stumps.nodes["task"][stumps.nodes["task"] >= 0]] = True
        lowest = -np.abs(stumps.values).sum() - 700.0
        width = int(stumps.sizes.max())
        return cls(sets, mass, voted, width, float(lowest), None, total)

    def check(self, n_tasks: int, n_classes: int, stumps: TwoTaskStumps) -> None:
        """Refuse arrays that do not fit the model."""
        super().check(n_tasks, n_classes, stumps)
        check_numbers("total", self.total, np.float64, (n_tasks,))

    def fallbacks(self, tasks: np.ndarray, classes: np.ndarray) -> dict[Any, Any]:
        """Tasks that could have been voted on and were not, with their labels."""
        never = (np.diff(self.label_sets.indptr) > 0) & ~self.voted
        often = 2 * self.mass > self.total[:, None]
        return {
            tasks.tolist()[t]: classes[often[t]].tolist() for t in np.flatnonzero(never)
        }

    def _of_classes(self, votes: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Half the log-odds of each label; those of its rows where nobody votes."""
        sets = self.label_sets
        out = np.full((len(task), sets.n_classes), self.lowest)
        known = np.flatnonzero(task >= 0)
        task, first = task[known], sets.indptr[task[known]]
        n_labels = np.diff(sets.indptr)[task]
        without = np.logical_not(votes[known].any(axis=1))
        rest = self.total[:, None] - self.mass
        odds = 0.5 * np.log((self.mass + 0.5) / (rest + 0.5))
        for k in range(int(np.diff(sets.indptr).max())):
            has = n_labels > k
            code = sets.codes[first[has] + k]
            value = votes[known[has], k]
            value = np.where(without[has], odds[task[has], code], value)
            out[known[has], code] = value
        return out

    def decision(self, scores: np.ndarray) -> np.ndarray:
        """Scores as `decision_function` gives them."""
        return scores

    def proba(self, scores: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Probability of each label by itself."""
        return 1.0 / (1.0 + np.exp(-2.0 * np.clip(scores, -350.0, 350.0)))

    def _scores_of(self, mean: np.ndarray) -> np.ndarray:
        odds = np.log(np.maximum(mean, _LEAST)) - np.log(np.maximum(1 - mean, _LEAST))
        return 0.5 * odds

    def chosen(self, scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Indicators: the labels that are more probable than not."""
        return (scores > 0).astype(np.int64)
