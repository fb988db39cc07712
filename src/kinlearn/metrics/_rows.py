"""Rows to score, checked once: the form that every metric of ours works on.

A metric is written once, for many groups of rows at a time (``*_by_group``).
The public function is the case of one group; :class:`kinlearn.metrics.TaskFrame`
is the case of a group for each task. A group in which the metric is not defined
gets NaN.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike

__all__ = [
    "Rows",
    "TooManyClassesError",
    "binary_rows",
    "check_number",
    "check_pairs",
    "label_rows",
    "number_rows",
    "one_group",
    "ratio",
    "score_rows",
]


class TooManyClassesError(ValueError):
    """More than two classes; each task for itself may still have but two."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Truth, prediction and weight of each row.

    Attributes
    ----------
    true, pred : ndarray of shape (n,)
        Class codes, booleans (is positive) or numbers.
    weight : float64 array of shape (n,)
        One where no weights were given.
    classes : ndarray or None
        What the codes stand for, ascending.
    group : int array of shape (n,), or None
        Group of each row; None is one group.
    n_groups : int
        How many there are.
    """

    true: np.ndarray
    pred: np.ndarray
    weight: np.ndarray
    classes: Any = None
    group: Any = None
    n_groups: int = 1

    def __post_init__(self) -> None:
        if self.group is None:
            object.__setattr__(self, "group", np.zeros(len(self.true), dtype=np.intp))

    def take(self, rows: np.ndarray) -> "Rows":
        """Some of the rows, perhaps repeated."""
        names = ("true", "pred", "weight", "group")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum of the values in each group."""
        return np.bincount(self.group, weights=values, minlength=self.n_groups)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Weighted mean of the values in each group."""
        return ratio(self.sum(self.weight * values), self.sum(self.weight))


def _weights(sample_weight: ArrayLike | None, y: np.ndarray) -> np.ndarray:
    return check_sample_weight(
        sample_weight, y, dtype=np.float64, ensure_non_negative=True
    )


def check_pairs(
    y_true: Any, y_pred: Any, sample_weight: ArrayLike | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Truth and prediction as vectors of one length, with a row at the least."""
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred, sample_weight)
    if len(y_true) == 0:
        raise ValueError("y_true has no rows; a metric needs one row or more.")
    return y_true, y_pred


def label_rows(
    y_true: Any, y_pred: Any, sample_weight: ArrayLike | None = None
) -> Rows:
    """Rows with class codes, over the classes of both truth and prediction."""
    y_true, y_pred = check_pairs(y_true, y_pred, sample_weight)
    for y in (y_true, y_pred):
        check_classification_targets(y)
    classes = unique_labels(y_true, y_pred)
    true, pred = (np.searchsorted(classes, y) for y in (y_true, y_pred))
    return Rows(true, pred, _weights(sample_weight, y_true), classes)


def binary_rows(
    y_true: Any,
    y_pred: Any,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Any = None,
) -> Rows:
    """Rows with whether each is positive; two classes at the most."""
    rows = label_rows(y_true, y_pred, sample_weight)
    known = rows.classes.tolist()
    positive = known[-1] if pos_label is None else pos_label
    others = [label for label in known if label != positive]
    if len(others) > 1:
        raise TooManyClassesError(
            f"This metric is for two classes; y_true and y_pred hold {known}"
            + ("" if pos_label is None else f", and pos_label is {pos_label!r}")
            + ". For more classes use g_mean_score, or pass y == label."
        )
    code = known.index(positive) if positive in known else -1
    return Rows(rows.true == code, rows.pred == code, rows.weight)


def score_rows(
    y_true: Any, y_score: Any, sample_weight: ArrayLike | None = None
) -> Rows:
    """Rows with a truth that is positive (the greater class) or not, and a score."""
    y_true, y_score = check_pairs(y_true, y_score, sample_weight)
    check_classification_targets(y_true)
    classes = unique_labels(y_true)
    if len(classes) > 2:
        raise TooManyClassesError(
            f"This metric is for two classes; y_true holds {classes.tolist()}."
        )
    y_score = check_array(y_score, ensure_2d=False, dtype=np.float64)
    weight = _weights(sample_weight, y_true)
    return Rows(y_true == classes[-1], y_score, weight, classes)


def number_rows(
    y_true: Any, y_pred: Any, sample_weight: ArrayLike | None = None
) -> Rows:
    """Rows with numbers."""
    y_true, y_pred = check_pairs(y_true, y_pred, sample_weight)
    y_true, y_pred = (
        check_array(y, ensure_2d=False, dtype=np.float64, input_name=name)
        for y, name in ((y_true, "y_true"), (y_pred, "y_pred"))
    )
    return Rows(y_true, y_pred, _weights(sample_weight, y_true))


def check_number(
    value: Any,
    name: str,
    *,
    low: float = 0.0,
    high: float = np.inf,
    open_low: bool = False,
) -> None:
    """Refuse a setting that is not a finite number within its bounds."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    inside = real and np.isfinite(value) and low <= value <= high
    if not inside or (open_low and value == low):
        wanted = f"{'>' if open_low else '>='} {low:g}"
        wanted += "" if high == np.inf else f" and <= {high:g}"
        raise ValueError(f"{name} must be a finite number {wanted}; got {value!r}.")


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient, NaN where the denominator is zero."""
    out = np.full(np.shape(below), np.nan)
    return np.divide(above, below, out=out, where=np.asarray(below) > 0)


def one_group(
    by_group: Callable, rows: Rows, *, undefined: str, **params: Any
) -> float:
    """A metric on all rows; NaN and a warning where it is not defined."""
    value = float(by_group(rows, **params)[0])
    if np.isnan(value):
        # The caller's line, past this function and the metric's.
        warnings.warn(undefined, UndefinedMetricWarning, stacklevel=3)
    return value
