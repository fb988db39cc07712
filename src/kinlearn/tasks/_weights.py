"""Weights of rows: those of samples and of classes, and whether they make sense."""

from numbers import Real
from typing import Literal

import numpy as np
from sklearn.utils import compute_sample_weight

from kinlearn.utils._typing import ArrayLike

__all__ = ["check_class_weight", "check_total_weight", "class_weights"]

# Sums of squares of such weights are finite, and their inverses too.
_LEAST, _MOST = 1e-100, 1e100


def check_class_weight(class_weight: dict | str | None) -> None:
    """Refuse weights of classes that are not finite or negative.

    Parameters
    ----------
    class_weight : dict, str or None
        As given to an estimator.

    Examples
    --------
    >>> from kinlearn.tasks import check_class_weight
    >>> check_class_weight({"no": 1.0, "yes": -2.0})
    Traceback (most recent call last):
        ...
    ValueError: class_weight of class 'yes' is -2.0; it must be a finite number ...
    """
    for label, weight in class_weight.items() if isinstance(class_weight, dict) else ():
        if not (isinstance(weight, Real) and 0 <= float(weight) < np.inf):
            raise ValueError(
                f"class_weight of class {label!r} is {weight!r}; it must be a finite "
                "number of at least 0."
            )


def class_weights(
    class_weight: dict | Literal["balanced"] | None, labels: ArrayLike
) -> np.ndarray:
    """The weight of each row by its class.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        As given to an estimator.
    labels : array of shape (n_samples,)
        Classes of the rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        Finite, at least 0.

    Examples
    --------
    >>> from kinlearn.tasks import class_weights
    >>> class_weights("balanced", ["a", "b", "b", "b"])
    array([2.        , 0.66666667, 0.66666667, 0.66666667])
    """
    check_class_weight(class_weight)
    return compute_sample_weight(class_weight, labels)


def check_total_weight(weight: np.ndarray | None) -> None:
    """Refuse weights of rows whose sum cannot be reckoned with.

    Parameters
    ----------
    weight : ndarray of shape (n_samples,) or None
        Weights, finite and at least 0; None is 1 for all.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.tasks import check_total_weight
    >>> check_total_weight(np.zeros(3))
    Traceback (most recent call last):
        ...
    ValueError: The weights of the 3 rows sum to 0. At least one row must count; ...
    """
    if weight is None:
        return
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not total > 0:
        raise ValueError(
            f"The weights of the {len(weight)} rows sum to {total:g}. At least one row "
            "must count; look at sample_weight and class_weight."
        )
    if not _LEAST <= total <= _MOST:
        raise ValueError(
            f"The weights of the {len(weight)} rows sum to {total:g}, too "
            f"{'large' if total > 1 else 'small'} to reckon with. Scale sample_weight, "
            "best to a mean of 1."
        )
