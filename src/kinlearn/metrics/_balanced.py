"""Scores for rare classes: G-mean, sensitivity-specificity F, rare-class recall.

All three are made of the classes' recalls, so the size of a class does not count.

References
----------
.. [1] Al-Stouhi, "Learning with an insufficient supply of data via knowledge
       transfer and sharing", PhD thesis, Wayne State University, 2013,
       section 4.2.
.. [2] Kubat and Matwin, "Addressing the curse of imbalanced training sets:
       one-sided selection", ICML 1997.
"""

from typing import Any

import numpy as np

from kinlearn.metrics._rows import (
    Rows,
    binary_rows,
    check_number,
    group_sums,
    label_rows,
    one_group,
    ratio,
)
from kinlearn.utils._typing import ArrayLike

__all__ = [
    "g_mean_score",
    "rare_class_recall_score",
    "sensitivity_specificity_f_score",
]

ONE_CLASS = "y_true has fewer than two classes"


def class_recalls(
    rows: Rows, group: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Recall of each class in each group, and the weight of the rows it is taken over.

    Both of shape (n_groups, n_classes); NaN where a group lacks the class.
    """
    n_classes = len(rows.classes)
    cell = group * n_classes + rows.true
    hit = rows.weight * (rows.true == rows.pred)
    shape = n_groups, n_classes
    support = group_sums(rows.weight, cell, n_groups * n_classes).reshape(shape)
    hits = group_sums(hit, cell, n_groups * n_classes).reshape(shape)
    return ratio(hits, support), support


def g_mean_by_group(
    rows: Rows, group: np.ndarray, n_groups: int, *, correction: float = 0.0
) -> np.ndarray:
    """See :func:`g_mean_score`."""
    check_number(correction, "correction", high=1.0)
    recall, support = class_recalls(rows, group, n_groups)
    recall[recall == 0] = correction
    n_present = (support > 0).sum(axis=1)
    with np.errstate(divide="ignore"):
        logs = np.where(support > 0, np.log(recall), 0.0)
    mean = np.exp(logs.sum(axis=1) / np.maximum(n_present, 1))
    return np.where(n_present > 1, mean, np.nan)


def g_mean_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    correction: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Geometric mean of the recalls of the classes.

    With two classes it is the square root of sensitivity times specificity. It
    is zero as soon as one class is never recognised.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    correction : float, default=0.0
        Stands in for the recall of a class that is never recognised.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1. NaN with an ``UndefinedMetricWarning`` if `y_true` has
        one class.

    Notes
    -----
    imbalanced-learn's ``geometric_mean_score`` gives the same, with two
    exceptions. It counts a class that occurs in `y_pred` only as one with
    recall zero; here the classes are those of `y_true`. It returns a number for a
    `y_true` with one class; here that is undefined.

    Examples
    --------
    >>> from kinlearn.metrics import g_mean_score
    >>> g_mean_score([0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1])
    0.707...
    """
    rows = label_rows(y_true, y_pred, sample_weight)
    return one_group(
        g_mean_by_group,
        rows,
        undefined=f"The G-mean is undefined: {ONE_CLASS}.",
        correction=correction,
    )


def sensitivity_specificity_by_group(
    rows: Rows, group: np.ndarray, n_groups: int
) -> list[np.ndarray]:
    """Share of the positives, and of the negatives, that were recognised."""
    shares = []
    for wanted in (rows.true, ~rows.true):
        weight = rows.weight * wanted
        hit = group_sums(weight * (rows.true == rows.pred), group, n_groups)
        shares.append(ratio(hit, group_sums(weight, group, n_groups)))
    return shares


def f_mean(first: Any, recall: Any, beta: Any) -> np.ndarray:
    """Weighted harmonic mean; `recall` counts `beta` times as much as `first`."""
    weighted = (1 + beta**2) * first * recall
    below = beta**2 * first + recall
    return np.where(below == 0, 0.0, weighted / np.where(below == 0, 1.0, below))


def sensitivity_specificity_f_by_group(
    rows: Rows, group: np.ndarray, n_groups: int, *, beta: float = 1.0
) -> np.ndarray:
    """See :func:`sensitivity_specificity_f_score`."""
    check_number(beta, "beta")
    sensitivity, specificity = sensitivity_specificity_by_group(rows, group, n_groups)
    return f_mean(specificity, sensitivity, beta)


def sensitivity_specificity_f_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    beta: float = 1.0,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Harmonic mean of sensitivity and specificity.

    Unlike the usual F score, which is made of precision and recall, it does not
    depend on the share of positives. It equals the squared G-mean over the
    balanced accuracy.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels of two classes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    beta : float, default=1.0
        Sensitivity counts `beta` times as much as specificity.
    pos_label : label, default=None
        The positive class; None is the greater of the two. With ``beta=1`` it
        makes no difference.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1. NaN with an ``UndefinedMetricWarning`` if `y_true` has
        one class.

    Notes
    -----
    The thesis [1]_ prints the general form with the roles of the two rates in
    the denominator exchanged (equation 2.19). Here `beta` weighs sensitivity,
    as its text and figure do; ``beta=1`` is the same either way.

    References
    ----------
    .. [1] Al-Stouhi, "Learning with an insufficient supply of data via
           knowledge transfer and sharing", PhD thesis, Wayne State University,
           2013, equations 2.19 and 4.9.

    Examples
    --------
    >>> from kinlearn.metrics import sensitivity_specificity_f_score
    >>> sensitivity_specificity_f_score([0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1])
    0.666...
    """
    rows = binary_rows(y_true, y_pred, sample_weight, pos_label=pos_label)
    return one_group(
        sensitivity_specificity_f_by_group,
        rows,
        undefined=f"The sensitivity-specificity F is undefined: {ONE_CLASS}.",
        beta=beta,
    )


def rare_class_recall_by_group(
    rows: Rows, group: np.ndarray, n_groups: int, *, label: Any = None
) -> np.ndarray:
    """See :func:`rare_class_recall_score`."""
    recall, support = class_recalls(rows, group, n_groups)
    if label is not None:
        known = rows.classes.tolist()
        if label not in known:
            return np.full(n_groups, np.nan)
        return recall[:, known.index(label)]
    # The last of equally rare classes: with 0 and 1, the positive one.
    support = np.where(support > 0, support, np.inf)[:, ::-1]
    rarest = support.shape[1] - 1 - np.argmin(support, axis=1)
    value = recall[np.arange(n_groups), rarest]
    return np.where(np.isfinite(support).sum(axis=1) > 1, value, np.nan)


def rare_class_recall_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Recall of the rarest class.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    label : label, default=None
        The class to look at. None is the rarest class of `y_true` by weight;
        of equally rare ones the greatest. Give it when scores are compared
        between tasks: the rarest class may differ from task to task.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1. NaN with an ``UndefinedMetricWarning`` if `y_true` has
        one class (``label=None``), or no row of class `label`.

    Examples
    --------
    >>> from kinlearn.metrics import rare_class_recall_score
    >>> rare_class_recall_score([0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1])
    0.5
    """
    rows = label_rows(y_true, y_pred, sample_weight)
    reason = ONE_CLASS if label is None else f"y_true has no row of class {label!r}"
    return one_group(
        rare_class_recall_by_group,
        rows,
        undefined=f"The recall of the rare class is undefined: {reason}.",
        label=label,
    )
