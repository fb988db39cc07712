"""Targets of rows, as class codes or numbers, and weights of rows and classes."""

from numbers import Number, Real
from typing import Any, Literal

import numpy as np
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from kinlearn.tasks._task_column import encode_values, name_task
from kinlearn.utils._typing import ArrayLike
from kinlearn.utils._values import are_missing, show_values

__all__ = [
    "LARGEST",
    "check_class_weight",
    "check_total_weight",
    "class_codes",
    "class_weights",
    "numbers",
]

# Sums of squares of such weights are finite, and their inverses too.
_LEAST, LARGEST = 1e-100, 1e100


def _vector(y: Any, estimator: str) -> np.ndarray:
    if y is None:
        raise ValueError(
            f"{estimator} requires y to be passed, but the target y is None."
        )
    return column_or_1d(y, warn=True)


def _faults(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which targets are missing, and which are infinite."""
    nowhere = np.zeros(1, dtype=bool)
    if y.dtype.kind == "f":
        if np.isfinite(y).all():  # one quick pass for the usual case
            return nowhere, nowhere
        return np.isnan(y), np.isinf(y)
    cells = y.tolist() if y.dtype.kind in "OT" else []
    if set(map(type, cells)) <= {str}:
        return nowhere, nowhere
    return are_missing(cells), nowhere


def _check_all_there(
    y: np.ndarray, estimator: str, task: np.ndarray | None, tasks: np.ndarray | None
) -> None:
    """Refuse missing and infinite targets with the rows and the task at fault."""
    missing, infinite = _faults(y)
    rows = np.flatnonzero(missing if missing.any() else infinite)
    if not len(rows):
        return
    # scikit-learn's wording, then ours
    if missing.any():
        value = y[rows[0]]
        what = "NaN" if isinstance(value, float | np.floating) else value
        needed, remedy = "a target in every row", "impute their targets"
    else:
        what = f"infinity or a value too large for {y.dtype!r}"
        needed, remedy = "finite targets", "put finite ones there"
    at = "position" if len(rows) == 1 else "positions"
    first = name_task(rows[0], task, tasks)
    of_task = f"; the first is of {first}" if first else ""
    raise ValueError(
        f"Input y contains {what}. It stands in {len(rows)} of {len(y)} rows, at {at} "
        f"{show_values(rows)}{of_task}. {estimator} needs {needed}: drop these rows, "
        f"or {remedy}."
    )


def class_codes(
    y: ArrayLike | None,
    estimator: str,
    task: np.ndarray | None = None,
    tasks: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sorted classes and the code of each row's class.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class labels of any one kind.
    estimator : str
        Name for messages.
    task : int array of shape (n,), default=None
        Task code of each row, for messages.
    tasks : ndarray, default=None
        Task values that the codes stand for.

    Returns
    -------
    classes : ndarray
        Distinct labels, ascending.
    codes : int32 array of shape (n,)
        Class of each row.

    Examples
    --------
    >>> from kinlearn.tasks import class_codes
    >>> class_codes(["yes", "no", "yes"], "This estimator")
    (array(['no', 'yes'], dtype='<U3'), array([1, 0, 1], dtype=int32))
    """
    y = _vector(y, estimator)
    _check_all_there(y, estimator, task, tasks)
    if y.dtype.kind in "OT":
        y = _plain_labels(y)
        if y.dtype == object:  # strings
            return encode_values(y)
        _check_all_there(y, estimator, task, tasks)
    check_classification_targets(y)
    return encode_values(y)


def _plain_labels(y: np.ndarray) -> np.ndarray:
    """Objects as an array of their own type; strings stay objects."""
    cells = y.tolist()
    types = set(map(type, cells))
    if all(issubclass(t, str) for t in types):
        return y.astype(object)
    if any(issubclass(t, str) for t in types):
        kinds = sorted(t.__name__ for t in types)
        raise TypeError(
            f"y mixes labels that cannot be ordered ({', '.join(kinds)}). Convert "
            "them to one type."
        )
    numeric = all(issubclass(t, bool | Number | np.generic) for t in types)
    plain = np.asarray(cells if numeric else "other")
    if plain.dtype.kind not in "biuf":
        kinds = sorted(t.__name__ for t in types)
        raise ValueError(
            f"Unknown label type: y holds {', '.join(kinds)}. Labels must be strings "
            "or integers."
        )
    return plain


def numbers(
    y: ArrayLike | None,
    estimator: str,
    task: np.ndarray | None = None,
    tasks: np.ndarray | None = None,
    largest: float = np.inf,
) -> np.ndarray:
    """The target as finite float64 numbers.

    Parameters
    ----------
    y : array-like of shape (n,)
        Numbers.
    estimator : str
        Name for messages.
    task : int array of shape (n,), default=None
        Task code of each row, for messages.
    tasks : ndarray, default=None
        Task values that the codes stand for.
    largest : float, default=inf
        What they may reach, up or down.

    Returns
    -------
    float64 array of shape (n,)
        The target.

    Examples
    --------
    >>> from kinlearn.tasks import numbers
    >>> numbers([1, 2], "This estimator")
    array([1., 2.])
    """
    y = _vector(y, estimator)
    if y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {y.dtype}.")
    if y.dtype.kind not in "fiubO":
        raise ValueError(
            f"y has dtype {y.dtype}, which is not numeric. Regression needs numbers."
        )
    _check_all_there(y, estimator, task, tasks)
    try:
        checked: np.ndarray = check_array(
            y,
            dtype=np.float64,
            ensure_2d=False,
            ensure_all_finite=False,
            input_name="y",
            estimator=estimator,
        )
    except OverflowError as error:
        raise ValueError(
            f"y holds a number too large for float64 ({error})."
        ) from error
    _check_all_there(checked, estimator, task, tasks)
    if checked.size and np.abs(checked).max() > largest:
        row = int(np.abs(checked).argmax())
        first = name_task(row, task, tasks)
        raise ValueError(
            f"y holds {checked[row]:g} in row {row}{f', {first}' if first else ''}, "
            f"whose square is too large for float64. {estimator} takes targets up to "
            f"{largest:g}: put them in a larger unit."
        )
    return checked


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
    if not _LEAST <= total <= LARGEST:
        raise ValueError(
            f"The weights of the {len(weight)} rows sum to {total:g}, too "
            f"{'large' if total > 1 else 'small'} to reckon with. Scale sample_weight, "
            "best to a mean of 1."
        )
