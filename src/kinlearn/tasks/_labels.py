"""Targets: class codes over all tasks and within each, or numbers."""

from dataclasses import dataclass
from numbers import Number
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from kinlearn.tasks._values import (
    are_missing,
    encode_values,
    name_task,
    show_values,
)
from kinlearn.utils._typing import ArrayLike

__all__ = ["LabelSets", "class_codes", "classes_by_task", "numbers"]


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
    return checked


def classes_by_task(
    task: np.ndarray, y: np.ndarray, n_tasks: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which classes occur in which task, as a ragged table.

    Parameters
    ----------
    task, y : int arrays of shape (n,)
        Task code and class code of each row.
    n_tasks, n_classes : int
        How many there are.

    Returns
    -------
    indptr : intp array of shape (n_tasks + 1,)
        Task t has the classes ``codes[indptr[t]:indptr[t + 1]]``.
    codes : int32 array
        Class codes, ascending within each task.
    local : int32 array of shape (n,)
        Class of each row, counted within its task.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.tasks import classes_by_task
    >>> classes_by_task(np.array([0, 0, 1]), np.array([0, 2, 2]), 2, 3)[1]
    array([0, 2, 2], dtype=int32)
    """
    pairs, place = encode_values(task.astype(np.int64) * n_classes + y)
    indptr = np.searchsorted(pairs, np.arange(n_tasks + 1) * n_classes)
    local = place - indptr[task]
    return indptr, (pairs % n_classes).astype(np.int32), local.astype(np.int32)


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The classes that each task has, and predictions restricted to them.

    Attributes
    ----------
    indptr : intp array of shape (n_tasks + 1,)
        Task t has the classes ``codes[indptr[t]:indptr[t + 1]]``.
    codes : int32 array
        Class codes, ascending within each task.
    n_classes : int
        Number of classes over all tasks.
    """

    indptr: np.ndarray
    codes: np.ndarray
    n_classes: int

    @classmethod
    def of(cls, task: np.ndarray, y: np.ndarray, n_tasks: int, n_classes: int) -> Self:
        """The label sets of coded rows.

        Parameters
        ----------
        task, y : int arrays of shape (n,)
            Task code and class code of each row.
        n_tasks, n_classes : int
            How many there are.

        Returns
        -------
        LabelSets
            The classes that occur in each task.
        """
        indptr, codes, _ = classes_by_task(task, y, n_tasks, n_classes)
        return cls(indptr, codes, n_classes)

    def by_task(self, tasks: np.ndarray, classes: np.ndarray) -> dict[Any, np.ndarray]:
        """The labels of each task.

        Parameters
        ----------
        tasks, classes : ndarray
            Task values and labels that the codes stand for.

        Returns
        -------
        dict
            From task value to an array of labels.
        """
        labels = classes[self.codes]
        return {
            task: labels[self.indptr[t] : self.indptr[t + 1]]
            for t, task in enumerate(tasks.tolist())
        }

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.indptr) - 1

    @property
    def complete(self) -> bool:
        """Whether every task has every class."""
        return len(self.codes) == self.n_tasks * self.n_classes

    def allowed(self, task: np.ndarray) -> np.ndarray:
        """Which classes each row may get.

        Parameters
        ----------
        task : int array of shape (n_samples,)
            Task codes; an unknown task (-1) may have any class.

        Returns
        -------
        bool array of shape (n_samples, n_classes)
            True where the row's task has the class.
        """
        # one row per task, the last one (which -1 picks) for the unknown
        table = np.zeros((self.n_tasks + 1, self.n_classes), dtype=bool)
        table[np.repeat(np.arange(self.n_tasks), np.diff(self.indptr)), self.codes] = 1
        table[-1] = True
        return table[task]

    def restrict(self, proba: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Class probabilities with no mass on classes that the task lacks.

        Parameters
        ----------
        proba : array of shape (n_samples, n_classes)
            Probabilities, or any non-negative scores.
        task : int array of shape (n_samples,)
            Task codes; an unknown task (-1) may have any class.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; a row whose mass lay wholly elsewhere is uniform over
            its task's classes.
        """
        if self.complete:
            return proba
        allowed = self.allowed(task)
        proba = np.where(allowed, proba, 0.0)
        lost = proba.sum(axis=1) <= 0
        proba[lost] = allowed[lost]
        return proba / proba.sum(axis=1, keepdims=True)
