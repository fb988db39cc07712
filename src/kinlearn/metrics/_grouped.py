"""Metrics that are computed for all tasks in one go.

Calling a function of scikit-learn once for each of 100,000 tasks takes
minutes; summing by task takes milliseconds. The metrics here are our own and
those of scikit-learn that are sums over rows, or nearly so. Every other metric
is called task by task.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
from sklearn import metrics as skm

from kinlearn.metrics._balanced import (
    ONE_CLASS,
    class_recalls,
    g_mean_by_group,
    g_mean_score,
    rare_class_recall_by_group,
    rare_class_recall_score,
    sensitivity_specificity_f_by_group,
    sensitivity_specificity_f_score,
)
from kinlearn.metrics._cost import (
    cost_rows,
    cost_weighted_error,
    cost_weighted_error_by_group,
)
from kinlearn.metrics._metric import Metric
from kinlearn.metrics._rows import (
    Rows,
    binary_rows,
    group_sums,
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
from kinlearn.utils._typing import ArrayLike

__all__ = ["GROUPED", "GroupedMetric", "find_grouped"]

NO_WEIGHT = "all its rows have weight zero"


def _weighted_mean(
    values: np.ndarray, rows: Rows, group: np.ndarray, n_groups: int
) -> np.ndarray:
    total = group_sums(rows.weight, group, n_groups)
    return ratio(group_sums(rows.weight * values, group, n_groups), total)


def accuracy_by_group(rows: Rows, group: np.ndarray, n_groups: int) -> np.ndarray:
    """scikit-learn's accuracy_score."""
    return _weighted_mean(rows.true == rows.pred, rows, group, n_groups)


def zero_one_loss_by_group(rows: Rows, group: np.ndarray, n_groups: int) -> np.ndarray:
    """scikit-learn's zero_one_loss."""
    return _weighted_mean(rows.true != rows.pred, rows, group, n_groups)


def balanced_accuracy_by_group(
    rows: Rows, group: np.ndarray, n_groups: int
) -> np.ndarray:
    """scikit-learn's balanced_accuracy_score, undefined where there is one class."""
    recall, support = class_recalls(rows, group, n_groups)
    n_present = (support > 0).sum(axis=1)
    return ratio(np.nansum(recall, axis=1), np.where(n_present > 1, n_present, 0))


def mean_absolute_error_by_group(
    rows: Rows, group: np.ndarray, n_groups: int
) -> np.ndarray:
    """scikit-learn's mean_absolute_error."""
    return _weighted_mean(np.abs(rows.true - rows.pred), rows, group, n_groups)


def root_mean_squared_error_by_group(
    rows: Rows, group: np.ndarray, n_groups: int
) -> np.ndarray:
    """scikit-learn's root_mean_squared_error."""
    return np.sqrt(mean_squared_error_by_group(rows, group, n_groups))


def r2_by_group(rows: Rows, group: np.ndarray, n_groups: int) -> np.ndarray:
    """scikit-learn's r2_score, undefined where the truth is constant."""
    return explained_variance_percent_by_group(rows, group, n_groups) / 100


def _binary_counts(
    rows: Rows, group: np.ndarray, n_groups: int
) -> Iterator[np.ndarray]:
    """Weight of the true positives, of the positives, and of those found."""
    return (
        group_sums(rows.weight * wanted, group, n_groups)
        for wanted in (rows.true & rows.pred, rows.true, rows.pred)
    )


def precision_by_group(rows: Rows, group: np.ndarray, n_groups: int) -> np.ndarray:
    """scikit-learn's precision_score of two classes."""
    hits, _, found = _binary_counts(rows, group, n_groups)
    return ratio(hits, found)


def recall_by_group(rows: Rows, group: np.ndarray, n_groups: int) -> np.ndarray:
    """scikit-learn's recall_score of two classes."""
    hits, positives, _ = _binary_counts(rows, group, n_groups)
    return ratio(hits, positives)


def f1_by_group(rows: Rows, group: np.ndarray, n_groups: int) -> np.ndarray:
    """scikit-learn's f1_score of two classes."""
    hits, positives, found = _binary_counts(rows, group, n_groups)
    return ratio(2 * hits, positives + found)


def roc_auc_by_group(rows: Rows, group: np.ndarray, n_groups: int) -> np.ndarray:
    """scikit-learn's roc_auc_score of two classes, by ranks; ties count half."""
    order = np.lexsort((rows.pred, group))
    group, score = group[order], rows.pred[order]
    positive = rows.weight[order] * rows.true[order]
    negative = rows.weight[order] - positive
    # Rows of one group with the same score form a block.
    fresh = np.r_[True, (group[1:] != group[:-1]) | (score[1:] != score[:-1])]
    starts = np.flatnonzero(fresh)
    positive, negative = np.add.reduceat([positive, negative], starts, axis=1)
    group = group[starts]
    below = np.cumsum(negative) - negative
    first = np.searchsorted(group, np.arange(n_groups))
    below = below - below[np.minimum(first, len(group) - 1)][group]
    won = group_sums(positive * (below + negative / 2), group, n_groups)
    totals = (group_sums(w, group, n_groups) for w in (positive, negative))
    return ratio(won, np.prod(list(totals), axis=0))


@dataclass(frozen=True)
class GroupedMetric:
    """How a metric is computed for many groups at a time.

    Attributes
    ----------
    prepare : callable
        ``prepare(y_true, y_pred, sample_weight, **row_params)`` checks the rows.
    by_group : callable
        ``by_group(rows, group, n_groups, **params)`` gives a value per group, NaN
        where it is not defined.
    undefined : str
        Why it may not be.
    row_params, params : tuple of str
        Parameters of the metric that either takes.
    defaults : tuple of (str, value)
        Parameters that the metric may be given, with these values only.
    """

    prepare: Callable
    by_group: Callable
    undefined: str = NO_WEIGHT
    row_params: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()


def _positive_rows(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Any = 1,
) -> Rows:
    return binary_rows(y_true, y_pred, sample_weight, pos_label=pos_label)


def _of_two_classes(by_group: Callable, undefined: str) -> GroupedMetric:
    return GroupedMetric(
        _positive_rows,
        by_group,
        undefined,
        row_params=("pos_label",),
        defaults=(("average", "binary"),),
    )


GROUPED = {
    g_mean_score: GroupedMetric(
        label_rows, g_mean_by_group, ONE_CLASS, params=("correction",)
    ),
    sensitivity_specificity_f_score: GroupedMetric(
        binary_rows,
        sensitivity_specificity_f_by_group,
        ONE_CLASS,
        row_params=("pos_label",),
        params=("beta",),
    ),
    rare_class_recall_score: GroupedMetric(
        label_rows,
        rare_class_recall_by_group,
        "y_true has no rare class",
        params=("label",),
    ),
    cost_weighted_error: GroupedMetric(
        cost_rows,
        cost_weighted_error_by_group,
        "no error could cost anything",
        row_params=("cost_fp", "cost_fn", "pos_label", "cost_matrix", "labels"),
        params=("normalize",),
    ),
    explained_variance_percent: GroupedMetric(
        number_rows,
        explained_variance_percent_by_group,
        CONSTANT,
        params=("total_variance",),
    ),
    skm.accuracy_score: GroupedMetric(label_rows, accuracy_by_group),
    skm.zero_one_loss: GroupedMetric(label_rows, zero_one_loss_by_group),
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
    skm.mean_absolute_error: GroupedMetric(number_rows, mean_absolute_error_by_group),
    skm.r2_score: GroupedMetric(number_rows, r2_by_group, CONSTANT),
}


def find_grouped(
    metric: Metric, y_true: np.ndarray, y_pred: np.ndarray
) -> tuple[GroupedMetric | None, dict[str, Any], dict[str, Any]]:
    """The way to compute a metric for all tasks in one go, and the metric's settings.

    None if it has to be called task by task; the settings are those of the row function
    and of the metric itself.
    """
    # A callable object need not be hashable, and is not among them anyway.
    known = isinstance(metric.function, FunctionType)
    grouped = GROUPED.get(metric.function) if known else None
    if grouped is None or y_true.ndim != 1 or y_pred.ndim != 1:
        return None, {}, {}
    rest = dict(metric.params)
    for name, value in grouped.defaults:
        if rest.get(name) == value:
            del rest[name]
    if not set(rest) <= {*grouped.row_params, *grouped.params}:
        return None, {}, {}
    row_params = {k: v for k, v in rest.items() if k in grouped.row_params}
    params = {k: v for k, v in rest.items() if k in grouped.params}
    return grouped, row_params, params
