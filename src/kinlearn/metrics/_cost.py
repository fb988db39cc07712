"""Errors that cost differently.

References
----------
.. [1] Cai, "Advanced learning approaches based on SVM+ methodology", PhD thesis,
       University of Minnesota, 2011, equation 4.18.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from kinlearn.metrics._rows import (
    Rows,
    binary_rows,
    label_rows,
    one_group,
    ratio,
)
from kinlearn.utils._typing import ArrayLike

__all__ = ["cost_weighted_error"]


def _pair_costs(cost_fp: float, cost_fn: float) -> np.ndarray:
    for name, cost in (("cost_fp", cost_fp), ("cost_fn", cost_fn)):
        if not (np.isfinite(cost) and cost >= 0):
            raise ValueError(f"{name} must be a finite number >= 0; got {cost!r}.")
    if cost_fp == cost_fn == 0:
        raise ValueError("cost_fp and cost_fn are both 0; one must be positive.")
    return np.array([[0.0, cost_fp], [cost_fn, 0.0]])


def _matrix_costs(cost_matrix: ArrayLike, n_labels: int) -> np.ndarray:
    costs = check_array(cost_matrix, dtype=np.float64, input_name="cost_matrix")
    if costs.shape != (n_labels, n_labels):
        raise ValueError(
            f"cost_matrix has shape {costs.shape}, but there are {n_labels} labels. "
            "Give it a row and a column for each label, and labels= in its order."
        )
    if (costs < 0).any() or costs.diagonal().any() or not costs.any():
        raise ValueError(
            "cost_matrix must be non-negative, zero on the diagonal (a correct "
            f"prediction costs nothing) and not all zero; got {costs.tolist()}."
        )
    return costs


def _recode(rows: Rows, labels: Any) -> Rows:
    """Codes in the order of `labels`, which must hold every class of the rows."""
    labels = np.asarray(labels).tolist()
    missing = [label for label in rows.classes.tolist() if label not in labels]
    if missing:
        raise ValueError(f"labels= lacks {missing}, which occur in y_true or y_pred.")
    code = np.array([labels.index(label) for label in rows.classes.tolist()])
    return Rows(code[rows.true], code[rows.pred], rows.weight, np.asarray(labels))


def cost_rows(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    pos_label: Any = None,
    cost_matrix: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> Rows:
    """Rows with the cost of the prediction (`pred`) and of the worst one (`true`)."""
    if cost_matrix is None:
        costs = _pair_costs(cost_fp, cost_fn)
        rows = binary_rows(y_true, y_pred, sample_weight, pos_label=pos_label)
    else:
        rows = label_rows(y_true, y_pred, sample_weight)
        rows = rows if labels is None else _recode(rows, labels)
        costs = _matrix_costs(cost_matrix, len(rows.classes))
    true, pred = rows.true.astype(np.intp), rows.pred.astype(np.intp)
    return Rows(costs.max(axis=1)[true], costs[true, pred], rows.weight)


def cost_weighted_error_by_group(rows: Rows, *, normalize: bool = True) -> np.ndarray:
    """See :func:`cost_weighted_error`; rows are those of :func:`cost_rows`."""
    cost = rows.sum(rows.weight * rows.pred)
    worst = rows.weight * rows.true if normalize else rows.weight
    return ratio(cost, rows.sum(worst))


def cost_weighted_error(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    pos_label: Any = None,
    cost_matrix: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    normalize: bool = True,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Cost of the errors, as a fraction of the greatest possible cost.

    For two classes [1]_,

    .. math::
        \frac{C_{fn} N_{fn} + C_{fp} N_{fp}}{C_{fn} N_p + C_{fp} N_n},

    and for a cost matrix the cost of each row's prediction over the cost of its
    worst prediction, both summed over the rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    cost_fp : float, default=1.0
        Cost of a negative that is taken for a positive.
    cost_fn : float, default=1.0
        Cost of a positive that is taken for a negative.
    pos_label : label, default=None
        The positive class; None is the greater of the two.
    cost_matrix : array-like of shape (n_labels, n_labels), default=None
        Cost of true label (row) taken for another (column), for any number of
        classes; `cost_fp` and `cost_fn` are then not used.
    labels : list of labels, default=None
        Order of rows and columns of `cost_matrix`; None is the sorted labels of
        `y_true` and `y_pred`.
    normalize : bool, default=True
        False gives the mean cost of a row instead of the fraction.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best; 1 is worst if `normalize`. NaN with an
        ``UndefinedMetricWarning`` if no prediction could cost anything.

    References
    ----------
    .. [1] Cai, "Advanced learning approaches based on SVM+ methodology", PhD
           thesis, University of Minnesota, 2011, equation 4.18.

    Examples
    --------
    A false negative costs five times a false positive, as in Statlog heart:

    >>> from kinlearn.metrics import cost_weighted_error
    >>> y_true, y_pred = [0, 0, 0, 1, 1], [0, 0, 1, 1, 0]
    >>> cost_weighted_error(y_true, y_pred, cost_fn=5)
    0.461...
    >>> cost_weighted_error(y_true, y_pred, cost_matrix=[[0, 1], [5, 0]])
    0.461...
    """
    rows = cost_rows(
        y_true,
        y_pred,
        sample_weight,
        cost_fp=cost_fp,
        cost_fn=cost_fn,
        pos_label=pos_label,
        cost_matrix=cost_matrix,
        labels=labels,
    )
    return one_group(
        cost_weighted_error_by_group,
        rows,
        undefined="The cost-weighted error is undefined: no error could cost anything.",
        normalize=normalize,
    )
