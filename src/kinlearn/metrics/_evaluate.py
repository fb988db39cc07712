"""One metric on all rows and on each task's, with the reasons where it fails.

Calling a function of scikit-learn once for each of 100,000 tasks takes minutes; summing
by task takes milliseconds. So our own metrics, and those of scikit-learn that are sums
over rows or nearly so, are computed for all tasks in one go (``GROUPED``). Every other
metric is called task by task.

Rows stand task by task. Both evaluators have the methods `overall` and
`by_task`, for the rows as they are or for a bootstrap sample of them.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import Parameter, signature
from types import FunctionType
from typing import Any

import numpy as np
from sklearn import metrics as skm
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.multiclass import type_of_target

from kinlearn.metrics._cost import (
    cost_rows,
    cost_weighted_error,
    cost_weighted_error_by_group,
)
from kinlearn.metrics._metric import Metric
from kinlearn.metrics._rates import (
    ONE_CLASS,
    class_recalls,
    g_mean_by_group,
    g_mean_score,
    rare_class_recall_by_group,
    rare_class_recall_score,
    sensitivity_specificity_f_by_group,
    sensitivity_specificity_f_score,
)
from kinlearn.metrics._rows import (
    Rows,
    TooManyClassesError,
    binary_rows,
    label_rows,
    number_rows,
    ratio,
    score_rows,
)
from kinlearn.metrics._variance import (
    CONSTANT,
    explained_variance_percent,
    explained_variance_percent_by_group,
    mean_squared_error_by_group,
)

__all__ = ["GROUPED", "CallEvaluator", "GroupedEvaluator", "make_evaluator"]

_NO_WEIGHT = "all its rows have weight zero"
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


def balanced_accuracy_by_group(rows: Rows) -> np.ndarray:
    """scikit-learn's balanced_accuracy_score, undefined where there is one class."""
    recall, support = class_recalls(rows)
    n_present = (support > 0).sum(axis=1)
    return ratio(np.nansum(recall, axis=1), np.where(n_present > 1, n_present, 0))


def root_mean_squared_error_by_group(rows: Rows) -> np.ndarray:
    """scikit-learn's root_mean_squared_error."""
    return np.sqrt(mean_squared_error_by_group(rows))


def r2_by_group(rows: Rows) -> np.ndarray:
    """scikit-learn's r2_score, undefined where the truth is constant."""
    return explained_variance_percent_by_group(rows) / 100


def _binary_counts(rows: Rows) -> Iterator[np.ndarray]:
    """Weight of the true positives, of the positives, and of those found."""
    return (
        rows.sum(rows.weight * wanted)
        for wanted in (rows.true & rows.pred, rows.true, rows.pred)
    )


def precision_by_group(rows: Rows) -> np.ndarray:
    """scikit-learn's precision_score of two classes."""
    hits, _, found = _binary_counts(rows)
    return ratio(hits, found)


def recall_by_group(rows: Rows) -> np.ndarray:
    """scikit-learn's recall_score of two classes."""
    hits, positives, _ = _binary_counts(rows)
    return ratio(hits, positives)


def f1_by_group(rows: Rows) -> np.ndarray:
    """scikit-learn's f1_score of two classes."""
    hits, positives, found = _binary_counts(rows)
    return ratio(2 * hits, positives + found)


def roc_auc_by_group(rows: Rows) -> np.ndarray:
    """scikit-learn's roc_auc_score of two classes, by ranks; ties count half."""
    order = np.lexsort((rows.pred, rows.group))
    group, score = rows.group[order], rows.pred[order]
    positive = rows.weight[order] * rows.true[order]
    negative = rows.weight[order] - positive
    # Rows of one group with the same score form a block.
    fresh = np.r_[True, (group[1:] != group[:-1]) | (score[1:] != score[:-1])]
    starts = np.flatnonzero(fresh)
    positive, negative = np.add.reduceat([positive, negative], starts, axis=1)
    group = group[starts]
    below = np.cumsum(negative) - negative
    first = np.searchsorted(group, np.arange(rows.n_groups))
    below = below - below[np.minimum(first, len(group) - 1)][group]
    won, *totals = (
        np.bincount(group, weights=values, minlength=rows.n_groups)
        for values in (positive * (below + negative / 2), positive, negative)
    )
    return ratio(won, np.prod(totals, axis=0))


@dataclass(frozen=True)
class GroupedMetric:
    """How a metric is computed for many groups at a time.

    Attributes
    ----------
    prepare : callable
        ``prepare(y_true, y_pred, sample_weight, **row_params)`` checks the rows.
    by_group : callable
        ``by_group(rows, **params)`` gives a value per group, NaN where it is not
        defined.
    undefined : str
        Why it may not be.
    default : tuple of (str, value)
        A parameter that the metric may be given, with this value only.
    """

    prepare: Callable
    by_group: Callable
    undefined: str = _NO_WEIGHT
    default: tuple[str, str] = ("", "")

    def settings(self, metric: Metric) -> list[dict[str, Any]] | None:
        """The metric's parameters for `prepare` and `by_group`; None if it has more."""
        given = {k: v for k, v in metric.params.items() if (k, v) != self.default}
        names = [_keywords(self.prepare), _keywords(self.by_group)]
        if not set(given) <= set.union(*names):
            return None
        return [{k: v for k, v in given.items() if k in each} for each in names]


def _keywords(function: Callable) -> set[str]:
    """Names of the parameters that are passed by keyword only."""
    found = signature(function).parameters.items()
    return {name for name, p in found if p.kind == Parameter.KEYWORD_ONLY}


def _positive_rows(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, pos_label: Any = 1
) -> Rows:
    return binary_rows(y_true, y_pred, sample_weight, pos_label=pos_label)


def _of_two_classes(by_group: Callable, undefined: str) -> GroupedMetric:
    return GroupedMetric(_positive_rows, by_group, undefined, ("average", "binary"))


GROUPED = {
    g_mean_score: GroupedMetric(label_rows, g_mean_by_group, ONE_CLASS),
    sensitivity_specificity_f_score: GroupedMetric(
        binary_rows,
        sensitivity_specificity_f_by_group,
        ONE_CLASS,
    ),
    rare_class_recall_score: GroupedMetric(
        label_rows,
        rare_class_recall_by_group,
        "y_true has no rare class",
    ),
    cost_weighted_error: GroupedMetric(
        cost_rows,
        cost_weighted_error_by_group,
        "no error could cost anything",
    ),
    explained_variance_percent: GroupedMetric(
        number_rows,
        explained_variance_percent_by_group,
        CONSTANT,
    ),
    skm.accuracy_score: GroupedMetric(
        label_rows, lambda rows: rows.mean(rows.true == rows.pred)
    ),
    skm.zero_one_loss: GroupedMetric(
        label_rows, lambda rows: rows.mean(rows.true != rows.pred)
    ),
    skm.balanced_accuracy_score: GroupedMetric(
        label_rows, balanced_accuracy_by_group, ONE_CLASS
    ),
    skm.precision_score: _of_two_classes(
        precision_by_group, "no row is predicted as positive"
    ),
    skm.recall_score: _of_two_classes(recall_by_group, "y_true has no positive row"),
    skm.f1_score: _of_two_classes(
        f1_by_group, "y_true has no positive row, and none is predicted"
    ),
    skm.roc_auc_score: GroupedMetric(score_rows, roc_auc_by_group, ONE_CLASS),
    skm.mean_squared_error: GroupedMetric(number_rows, mean_squared_error_by_group),
    skm.root_mean_squared_error: GroupedMetric(
        number_rows, root_mean_squared_error_by_group
    ),
    skm.mean_absolute_error: GroupedMetric(
        number_rows, lambda rows: rows.mean(np.abs(rows.true - rows.pred))
    ),
    skm.r2_score: GroupedMetric(number_rows, r2_by_group, CONSTANT),
}


class GroupedEvaluator:
    """All tasks in one go; `rows` have the task as their group."""

    def __init__(
        self, metric: Metric, rows: Rows, by_group: Callable, undefined: str
    ) -> None:
        self.metric = metric
        self.rows = rows
        self.by_group = by_group
        self.undefined = undefined

    def overall(self, sample: np.ndarray | None = None) -> tuple[float, str | None]:
        """Value on all rows, and None or the reason why it is undefined."""
        rows = self.rows if sample is None else self.rows.take(sample)
        together = replace(rows, group=None, n_groups=1)
        value = float(self.metric.sign * self.by_group(together)[0])
        return value, self.undefined if np.isnan(value) else None

    def by_task(
        self, sample: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Value of each task, and the reasons by task code."""
        rows = self.rows if sample is None else self.rows.take(sample)
        values = self.metric.sign * self.by_group(rows)
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
            found = self._call(slice(None) if sample is None else sample, others)
        except ValueError as error:
            if not self._tasks_have_own_labels:
                raise
            return np.nan, str(error)
        _repeat(others, sample)
        return found

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
    one_by_one = CallEvaluator(metric, y_true, y_pred, params, indptr, labels)
    # A callable object need not be hashable, and is not among them anyway.
    known = isinstance(metric.function, FunctionType)
    grouped = GROUPED.get(metric.function) if known else None
    if grouped is None or y_true.ndim != 1 or y_pred.ndim != 1:
        return one_by_one
    settings = grouped.settings(metric)
    if settings is None or set(params) - {"sample_weight"}:
        return one_by_one
    row_params, group_params = settings
    weight = params.get("sample_weight")
    try:
        rows = grouped.prepare(y_true, y_pred, weight, **row_params)
    except TooManyClassesError:
        return one_by_one
    n_tasks = len(indptr) - 1
    group = np.repeat(np.arange(n_tasks), np.diff(indptr))
    return GroupedEvaluator(
        metric,
        replace(rows, group=group, n_groups=n_tasks),
        partial(grouped.by_group, **group_params),
        grouped.undefined,
    )
