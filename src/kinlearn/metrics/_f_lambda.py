"""The F-lambda curve: an F score under every weighting of its two rates.

References
----------
.. [1] Al-Stouhi, "Learning with an insufficient supply of data via knowledge
       transfer and sharing", PhD thesis, Wayne State University, 2013,
       section 2.6.
"""

import numbers
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_scalar

from kinlearn.metrics._balanced import f_mean
from kinlearn.metrics._rows import binary_rows
from kinlearn.utils._typing import ArrayLike

__all__ = ["FLambdaCurve", "f_lambda_curve"]


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
