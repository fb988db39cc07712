"""Scores for rare classes: G-mean, sensitivity-specificity F, rare-class recall.

These three are made of the classes' recalls, so the size of a class does not count. The
F-lambda curve is an F score under every weighting of its two rates.

References
----------
.. [1] Al-Stouhi, "Learning with an insufficient supply of data via knowledge
       transfer and sharing", PhD thesis, Wayne State University, 2013,
       sections 2.6 and 4.2.
.. [2] Kubat and Matwin, "Addressing the curse of imbalanced training sets:
       one-sided selection", ICML 1997.
"""

import numbers
import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_scalar

from kinlearn.metrics._rows import (
    Rows,
    binary_rows,
    check_number,
    label_rows,
    one_group,
    ratio,
)
from kinlearn.utils._typing import ArrayLike

__all__ = [
    "FLambdaCurve",
    "f_lambda_curve",
    "g_mean_score",
    "rare_class_recall_score",
    "sensitivity_specificity_f_score",
]

ONE_CLASS = "y_true has fewer than two classes"


def class_recalls(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Recall of each class in each group, and the weight of the rows it is taken over.

    Both of shape (n_groups, n_classes); NaN where a group lacks the class.
    """
    n_classes = len(rows.classes)
    cells = replace(
        rows,
        group=rows.group * n_classes + rows.true,
        n_groups=rows.n_groups * n_classes,
    )
    shape = rows.n_groups, n_classes
    support = cells.sum(rows.weight).reshape(shape)
    hits = cells.sum(rows.weight * (rows.true == rows.pred)).reshape(shape)
    return ratio(hits, support), support


def g_mean_by_group(rows: Rows, *, correction: float = 0.0) -> np.ndarray:
    """See :func:`g_mean_score`."""
    check_number(correction, "correction", high=1.0)
    recall, support = class_recalls(rows)
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


def sensitivity_specificity_by_group(rows: Rows) -> list[np.ndarray]:
    """Fraction of the positives, and of the negatives, that were recognised."""
    fractions = []
    for wanted in (rows.true, ~rows.true):
        weight = rows.weight * wanted
        hit = rows.sum(weight * (rows.true == rows.pred))
        fractions.append(ratio(hit, rows.sum(weight)))
    return fractions


def f_mean(first: Any, recall: Any, beta: Any) -> np.ndarray:
    """Weighted harmonic mean; `recall` counts `beta` times as much as `first`."""
    weighted = (1 + beta**2) * first * recall
    below = beta**2 * first + recall
    return np.where(below == 0, 0.0, weighted / np.where(below == 0, 1.0, below))


def sensitivity_specificity_f_by_group(rows: Rows, *, beta: float = 1.0) -> np.ndarray:
    """See :func:`sensitivity_specificity_f_score`."""
    check_number(beta, "beta")
    sensitivity, specificity = sensitivity_specificity_by_group(rows)
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
    depend on how frequent positives are. It equals the squared G-mean over the
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


def rare_class_recall_by_group(rows: Rows, *, label: Any = None) -> np.ndarray:
    """See :func:`rare_class_recall_score`."""
    recall, support = class_recalls(rows)
    if label is not None:
        known = rows.classes.tolist()
        if label not in known:
            return np.full(rows.n_groups, np.nan)
        return recall[:, known.index(label)]
    # The last of equally rare classes: with 0 and 1, the positive one.
    support = np.where(support > 0, support, np.inf)[:, ::-1]
    rarest = support.shape[1] - 1 - np.argmin(support, axis=1)
    value = recall[np.arange(rows.n_groups), rarest]
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


@dataclass(frozen=True, eq=False)
class FLambdaCurve:
    """Numbers of an F-lambda plot, as :func:`f_lambda_curve` gives them.

    Attributes
    ----------
    x : ndarray of shape (n_points,)
        log(beta) / log(lambda), from -1 to 1.
    beta : ndarray of shape (n_points,)
        How many times as much recall counts.
    f : ndarray of shape (n_points,)
        The F score at each `beta`.
    lambda_ : float
        The greatest `beta`; the least is its inverse.
    against : str
        The other rate: "precision" or "specificity".
    recall : float
        Recall of the positive class: where the curve tends to the right.
    other : float
        Precision or specificity: where the curve tends to the left.
    """

    x: np.ndarray
    beta: np.ndarray
    f: np.ndarray
    lambda_: float
    against: str
    recall: float
    other: float


def f_lambda_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    lambda_: float = 10.0,
    n_points: int = 101,
    against: Literal["precision", "specificity"] = "precision",
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> FLambdaCurve:
    r"""F score against the weight of recall, for the F-lambda plot.

    .. math::
        F_\beta = \frac{(1 + \beta^2) \, P R}{\beta^2 P + R}
        \quad\text{at}\quad
        x = \frac{\log \beta}{\log \lambda} \in [-1, 1],

    with recall R of the positive class, and its precision P or the specificity
    in its place. At x = 1 recall counts lambda times as much, at x = 0 both
    alike (the usual F1), at x = -1 the other one lambda times as much. A flat
    curve is a balanced classifier: two classifiers with the same F1 can have
    very different curves.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels of two classes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    lambda_ : float, default=10.0
        Greatest weight, above 1.
    n_points : int, default=101
        Number of points, at least 2; an odd number has x = 0 among them.
    against : {"precision", "specificity"}, default="precision"
        What recall is weighed against.
    pos_label : label, default=None
        The positive class; None is the greater of the two.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    FLambdaCurve
        The curve. Its `f` is NaN, with an ``UndefinedMetricWarning``, if `y_true`
        has no positive row (or no negative one, against specificity).

    Notes
    -----
    The thesis [1]_ prints two forms of F_beta as equal (equation 2.19). The
    first is made of specificity and sensitivity, with their roles in the
    denominator exchanged, so that it would tend to specificity on the right;
    the second, in counts, is the usual one of precision and recall. Its text,
    Table 2.2 and Figure 2.8 are about precision and recall, with recall on the
    right: that is the default here. Specificity takes the place of precision on
    request, with recall still on the right; its value at x = 0 is
    :func:`sensitivity_specificity_f_score`.

    The figure's lambda is infinite. The curve then is a step from one rate to
    the other, which `other` and `recall` give; take a large lambda to draw it.

    References
    ----------
    .. [1] Al-Stouhi, "Learning with an insufficient supply of data via
           knowledge transfer and sharing", PhD thesis, Wayne State University,
           2013, section 2.6.

    Examples
    --------
    >>> from kinlearn.metrics import f_lambda_curve
    >>> curve = f_lambda_curve([0, 0, 0, 1, 1], [0, 0, 1, 1, 1], n_points=3)
    >>> curve.x, curve.f.round(3)
    (array([-1.,  0.,  1.]), array([0.669, 0.8  , 0.995]))
    """
    if not (np.isfinite(lambda_) and lambda_ > 1):
        raise ValueError(
            f"lambda_ must be a finite number above 1; got {lambda_!r}. For the limit "
            "of an infinite one, see the attributes recall and other."
        )
    check_scalar(n_points, "n_points", numbers.Integral, min_val=2)
    if against not in ("precision", "specificity"):
        raise ValueError(
            f"against must be 'precision' or 'specificity'; got {against!r}."
        )
    rows = binary_rows(y_true, y_pred, sample_weight, pos_label=pos_label)
    hits = rows.weight[rows.true & rows.pred].sum()
    positives = rows.weight[rows.true].sum()
    recall = hits / positives if positives else np.nan
    if against == "precision":
        found = rows.weight[rows.pred].sum()
        # Nothing found is no success: the F score in counts is then 0 as well.
        other = hits / found if found else 0.0
    else:
        negatives = rows.weight[~rows.true].sum()
        spared = rows.weight[~rows.true & ~rows.pred].sum()
        other = spared / negatives if negatives else np.nan
    if np.isnan(recall) or np.isnan(other):
        which = "positive" if np.isnan(recall) else "negative"
        warnings.warn(
            f"The F-lambda curve is undefined: y_true has no {which} row.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
    x = np.linspace(-1.0, 1.0, n_points)
    beta = float(lambda_) ** x
    return FLambdaCurve(
        x=x,
        beta=beta,
        f=f_mean(other, recall, beta),
        lambda_=float(lambda_),
        against=against,
        recall=float(recall),
        other=float(other),
    )
