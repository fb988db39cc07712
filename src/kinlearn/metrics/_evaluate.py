"""One metric on all rows and on each task's, with the reasons where it fails.

Rows stand task by task. Both evaluators have the methods `overall` and
`by_task`, for the rows as they are or for a bootstrap sample of them.
"""

import warnings
from collections.abc import Callable
from functools import cached_property

import numpy as np
from sklearn import metrics as skm
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.multiclass import type_of_target

from kinlearn.metrics._balanced import ONE_CLASS
from kinlearn.metrics._grouped import find_grouped
from kinlearn.metrics._metric import Metric
from kinlearn.metrics._rows import Rows, TooManyClassesError

__all__ = ["make_evaluator"]

# A plain warning with which scikit-learn gives a made-up value.
_MADE_UP = "No positive class found in y_true"
# For these scikit-learn makes up a value where y_true has one class.
_NEED_TWO_CLASSES = (
    skm.balanced_accuracy_score,
    skm.cohen_kappa_score,
    skm.matthews_corrcoef,
)
# scikit-learn's warning for a task that lacks a class, which is no fault.
_EXPECTED = "y_pred contains classes not in y_true"


class GroupedEvaluator:
    """All tasks in one go."""

    def __init__(
        self,
        metric: Metric,
        rows: Rows,
        indptr: np.ndarray,
        by_group: Callable,
        undefined: str,
    ) -> None:
        self.metric = metric
        self.rows = rows
        self.indptr = indptr
        self.by_group = by_group
        self.undefined = undefined

    def _values(
        self, sample: np.ndarray | None, group: np.ndarray, n_groups: int
    ) -> np.ndarray:
        rows = self.rows if sample is None else self.rows.take(sample)
        return self.metric.sign * self.by_group(rows, group, n_groups)

    def overall(self, sample: np.ndarray | None = None) -> tuple[float, str | None]:
        """Value on all rows, and None or the reason why it is undefined."""
        group = np.zeros(len(self.rows.true), dtype=np.intp)
        value = float(self._values(sample, group, 1)[0])
        return value, self.undefined if np.isnan(value) else None

    def by_task(
        self, sample: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Value of each task, and the reasons by task code."""
        n_tasks = len(self.indptr) - 1
        group = np.repeat(np.arange(n_tasks), np.diff(self.indptr))
        values = self._values(sample, group, n_tasks)
        return values, dict.fromkeys(np.flatnonzero(np.isnan(values)), self.undefined)


class CallEvaluator:
    """Any function, called once for each task."""

    def __init__(
        self,
        metric: Metric,
        y_true: np.ndarray,
        y_pred: np.ndarray,
        params: dict[str, np.ndarray],
        indptr: np.ndarray,
        labels: np.ndarray | None = None,
    ) -> None:
        self.metric = metric
        self.y_true = y_true
        self.y_pred = y_pred
        self.params = params
        self.indptr = indptr
        self.labels = labels

    @cached_property
    def _classes(self) -> int | None:
        """Number of classes of y_true; None for numbers."""
        kind = type_of_target(self.y_true, input_name="y_true")
        discrete = kind in ("binary", "multiclass")
        return len(np.unique(self.y_true)) if discrete else None

    @cached_property
    def _labels(self) -> dict[str, np.ndarray]:
        """The classes, for metrics that cannot infer them from a task's rows.

        Only those of scores or probabilities: the others take `labels` as the
        classes to look at, which is not ours to choose.
        """
        metric = self.metric
        if not metric.needs_scores or metric.setting("labels") is not None:
            return {}
        if not metric.accepts("labels") or self._classes is None:
            return {}
        columns = 2 if self.y_pred.ndim == 1 else self.y_pred.shape[1]
        labels = np.unique(self.y_true) if self.labels is None else self.labels
        return {"labels": labels} if columns == len(labels) else {}

    def _is_made_up(self, y_true: np.ndarray, params: dict[str, np.ndarray]) -> bool:
        if self.metric.function not in _NEED_TWO_CLASSES:
            return False
        weight = params.get("sample_weight")
        counted = y_true if weight is None else y_true[weight > 0]
        return len(np.unique(counted)) < 2

    def _call(self, rows: np.ndarray | slice, others: dict) -> tuple[float, str | None]:
        """Value and reason on some rows; other warnings are kept for later."""
        y_true = self.y_true[rows]
        params = {name: values[rows] for name, values in self.params.items()}
        if self._is_made_up(y_true, params):
            return np.nan, ONE_CLASS
        params.update(self._labels)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = self.metric.function(
                    y_true, self.y_pred[rows], **self.metric.params, **params
                )
            except ValueError as error:
                if not self._lacks_classes(y_true):
                    raise
                return np.nan, str(error)
        for warning in caught:
            text = str(warning.message)
            if issubclass(warning.category, UndefinedMetricWarning) or text.startswith(
                _MADE_UP
            ):
                return np.nan, text
            if text.startswith(_EXPECTED):
                continue
            others[warning.category, text] = None
        if np.ndim(value) != 0:
            raise TypeError(
                f"Metric {self.metric.name!r} gave {type(value).__name__} of shape "
                f"{np.shape(value)}; a single number is needed."
            )
        value = self.metric.sign * float(value)
        return value, "the metric gave NaN" if np.isnan(value) else None

    def _lacks_classes(self, y_true: np.ndarray) -> bool:
        """Whether an error may be due to the few classes or rows of a task."""
        found = len(np.unique(y_true, axis=0))
        return found < 2 or (self._classes is not None and found < self._classes)

    def overall(self, sample: np.ndarray | None = None) -> tuple[float, str | None]:
        """Value on all rows, and None or the reason why it is undefined."""
        others: dict = {}
        try:
            answer = self._call(slice(None) if sample is None else sample, others)
        except ValueError as error:
            if not self._tasks_have_own_labels:
                raise
            return np.nan, str(error)
        _repeat(others, sample)
        return answer

    @cached_property
    def _tasks_have_own_labels(self) -> bool:
        """Whether all rows together have more classes than any task."""
        tasks = np.split(self.y_true, self.indptr[1:-1])
        most = max(len(np.unique(y, axis=0)) for y in tasks)
        return self._classes is not None and most < self._classes

    def by_task(
        self, sample: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Value of each task, and the reasons by task code."""
        indptr = self.indptr
        values = np.empty(len(indptr) - 1)
        reasons = {}
        others: dict = {}
        for t in range(len(values)):
            rows = slice(indptr[t], indptr[t + 1])
            values[t], reason = self._call(
                rows if sample is None else sample[rows], others
            )
            if reason is not None:
                reasons[t] = reason
        _repeat(others, sample)
        return values, reasons


def _repeat(others: dict, sample: np.ndarray | None) -> None:
    """Give a metric's own warnings once, and not again for bootstrap samples."""
    if sample is None:
        for category, text in others:
            warnings.warn(text, category, stacklevel=4)


def make_evaluator(
    metric: Metric,
    y_true: np.ndarray,
    y_pred: np.ndarray,
    params: dict[str, np.ndarray],
    indptr: np.ndarray,
    labels: np.ndarray | None = None,
) -> GroupedEvaluator | CallEvaluator:
    """The evaluator for a metric, the faster one where there is a choice.

    Rows stand task by task, task t in ``indptr[t]:indptr[t + 1]``; `params` have a
    value per row. `labels` are the classes of the columns of `y_pred`, by default those
    of `y_true`.
    """
    grouped, row_params, group_params = find_grouped(metric, y_true, y_pred)
    one_by_one = CallEvaluator(metric, y_true, y_pred, params, indptr, labels)
    if grouped is None or set(params) - {"sample_weight"}:
        return one_by_one
    weight = params.get("sample_weight")
    try:
        rows = grouped.prepare(y_true, y_pred, weight, **row_params)
    except TooManyClassesError:
        return one_by_one

    def by_group(rows: Rows, group: np.ndarray, n_groups: int) -> np.ndarray:
        return grouped.by_group(rows, group, n_groups, **group_params)

    return GroupedEvaluator(metric, rows, indptr, by_group, grouped.undefined)
