"""Explained variance as the multi-task papers report it."""

from dataclasses import replace

import numpy as np

from kinlearn.metrics._rows import (
    Rows,
    check_number,
    number_rows,
    one_group,
    ratio,
)
from kinlearn.utils._typing import ArrayLike

__all__ = ["explained_variance_percent"]

CONSTANT = "y_true is constant, so there is no variance to explain"


def mean_squared_error_by_group(rows: Rows) -> np.ndarray:
    """Weighted mean of the squared errors."""
    return rows.mean((rows.true - rows.pred) ** 2)


def variance_by_group(rows: Rows) -> np.ndarray:
    """Weighted variance of the truth around the mean of its group."""
    # Counted from a value of the group, so that a constant group gives exactly 0.
    counts = rows.weight > 0
    origin = np.zeros(rows.n_groups)
    origin[rows.group[counts]] = rows.true[counts]
    shifted = rows.true - origin[rows.group]
    return rows.mean((shifted - rows.mean(shifted)[rows.group]) ** 2)


def _in_units(rows: Rows) -> tuple[Rows, np.ndarray]:
    """Rows over a power of two by group, so that squares neither overflow nor vanish.

    The quotient of two squares is the same in every unit.
    """
    size = np.zeros(rows.n_groups)
    np.maximum.at(size, rows.group, np.maximum(np.abs(rows.true), np.abs(rows.pred)))
    unit = np.ldexp(0.5, np.frexp(size)[1])
    by_row = unit[rows.group]
    return replace(rows, true=rows.true / by_row, pred=rows.pred / by_row), unit


def explained_variance_percent_by_group(
    rows: Rows, *, total_variance: float | None = None
) -> np.ndarray:
    """See :func:`explained_variance_percent`."""
    if total_variance is not None:
        check_number(total_variance, "total_variance", open_low=True)
    rows, unit = _in_units(rows)
    error = mean_squared_error_by_group(rows)
    if total_variance is None:
        variance = variance_by_group(rows)
    else:
        with np.errstate(over="ignore"):
            variance = float(total_variance) / unit / unit
        variance = np.maximum(variance, 1e-300)  # the quotient stays finite
    return 100 * (1 - ratio(error, variance))


def explained_variance_percent(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    total_variance: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Share of the variance that the predictions explain, in percent.

    .. math::
        100 \, \frac{\sum_i (y_i - \bar y)^2 - \sum_i (y_i - \hat y_i)^2}
                    {\sum_i (y_i - \bar y)^2},

    the total variance minus the squared error on the test rows, over the total
    variance: the measure of the school data in the multi-task papers [1]_, [2]_.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True values.
    y_pred : array-like of shape (n_samples,)
        Predicted values.
    total_variance : float, default=None
        The variance to compare with, such as that of training and test rows
        together. None is the variance of `y_true` around its own mean.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        100 is perfect, 0 as good as a constant, below 0 worse than that. NaN
        with an ``UndefinedMetricWarning`` if there is no variance.

    Notes
    -----
    It is 100 times scikit-learn's ``r2_score``, and not its
    ``explained_variance_score``: that one subtracts the mean error first, so it
    forgives predictions that are all too high. ``r2_score`` returns 0 or 1 for
    a constant `y_true`; here that is undefined.

    The papers pool the rows of all tasks, so differences between the tasks'
    means are variance to explain. Within each task there is less of it: the
    value of all rows together can lie above that of every single task.

    References
    ----------
    .. [1] Bakker and Heskes, "Task clustering and gating for Bayesian multitask
           learning", JMLR 4, 2003.
    .. [2] Simm, Magrans de Abril and Sugiyama, "Tree-based ensemble multi-task
           learning method for classification and regression", 2014.

    Examples
    --------
    >>> from kinlearn.metrics import explained_variance_percent
    >>> explained_variance_percent([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 3.0, 3.5])
    90.0
    """
    rows = number_rows(y_true, y_pred, sample_weight)
    return one_group(
        explained_variance_percent_by_group,
        rows,
        undefined=f"The explained variance is undefined: {CONSTANT}.",
        total_variance=total_variance,
    )
