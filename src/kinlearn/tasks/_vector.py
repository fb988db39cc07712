"""Tasks that are given apart from X, one for each row."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from kinlearn.tasks._validation import task_codes
from kinlearn.tasks._values import encode_values, task_values

__all__ = ["encode_tasks"]


def encode_tasks(values: Any, name: str = "tasks") -> tuple[np.ndarray, np.ndarray]:
    """Tasks of rows, from a vector instead of a column of X.

    Parameters
    ----------
    values : array-like or series of shape (n_samples,)
        Task of each row: integers or strings.
    name : str, default="tasks"
        How messages call it.

    Returns
    -------
    tasks, codes : ndarray
        As :func:`task_codes` gives them.

    Examples
    --------
    >>> from kinlearn.tasks import encode_tasks
    >>> encode_tasks([7, 3, 7])
    (array([3, 7]), array([1, 0, 1], dtype=int32))
    """
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return task_codes(series.alias(name).to_frame().to_native(), name)
    # NumPy would turn the list ["a", 1] into strings without a word.
    dtype = object if isinstance(values, list | tuple) else None
    array = np.asarray(values, dtype=dtype)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be a vector with the task of each row; it has shape "
            f"{array.shape}."
        )
    if not len(array):
        raise ValueError(f"{name} is empty: there are no rows.")
    return encode_values(task_values(array, f"Task array {name!r}"))
