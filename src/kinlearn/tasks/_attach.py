"""Putting a task column beside the features, whatever X is."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from kinlearn.tables._containers import AnyTable, FrameTable, SparseTable, open_table
from kinlearn.tasks._values import task_values
from kinlearn.utils._typing import Table

__all__ = ["append_column", "with_task"]


def _exact_dtype(values: np.ndarray, dtype: np.dtype) -> np.dtype:
    """The narrowest type that holds the features of `dtype` and the task values."""
    if len(values) == 0:
        return dtype
    if dtype.kind not in "fiub":
        return np.dtype(object)
    low, high = int(values.min()), int(values.max())
    if dtype.kind != "f":
        ends = np.min_scalar_type(low), np.min_scalar_type(high)
        both = np.result_type(np.int8 if dtype.kind == "b" else dtype, *ends)
        if both.kind == "f":
            raise ValueError(
                f"No integer type holds both {dtype} features and the tasks {low} to "
                f"{high}. Number the tasks from 0, or use a data frame."
            )
        return both
    largest = max(abs(low), abs(high))
    for wide in (dtype, np.dtype("f4"), np.dtype("f8")):
        exact = largest <= 2 ** (np.finfo(wide).nmant + 1)
        if exact and wide.itemsize >= dtype.itemsize:
            return wide
    raise ValueError(
        f"The task value {largest} is not exact in a floating-point column. Number "
        "the tasks from 0, or use a data frame."
    )


def append_column(table: AnyTable, values: Any, name: str) -> Table:
    """Append a column of task values to a table.

    Parameters
    ----------
    table : table
        As :func:`open_table` gives.
    values : ndarray or narwhals Series of shape (n_samples,)
        Task values; strings go into frames and object arrays only.
    name : str
        Column name, used in frames.

    Returns
    -------
    ndarray, sparse matrix or data frame
        Of the same kind as the table.
    """
    if isinstance(table, FrameTable):
        if name in table.frame.columns:
            raise ValueError(
                f"X has a column named {name!r} already. Choose another name for the "
                "task column."
            )
        if not all(isinstance(c, str) for c in table.frame.columns):
            raise ValueError(
                "The columns of X have no string names, so none can be given to the "
                "task. Name them: X.columns = X.columns.astype(str)."
            )
        if not isinstance(values, nw.Series):
            values = nw.new_series(
                name, values.tolist(), backend=table.frame.implementation
            )
        return table.frame.with_columns(values.alias(name)).to_native()
    native: Any = table.native
    if values.dtype == object and native.dtype != object:
        raise TypeError(
            "The tasks are strings, which a numeric array cannot hold. Use a data "
            "frame, or number them: numpy.unique(task, return_inverse=True)[1]."
        )
    dtype = _exact_dtype(values, native.dtype)
    column = values.reshape(-1, 1)
    if isinstance(table, SparseTable):
        column = sp.csr_array(column.astype(dtype))
        return sp.hstack([native, column], format=native.format, dtype=dtype)
    out = np.empty((table.n_rows, table.n_columns + 1), dtype=dtype)
    out[:, :-1] = native
    out[:, -1:] = column
    return out


def with_task(X: Table, task: Any, *, name: str = "task") -> Table:
    """Append a task column to X.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    task : array-like of shape (n_samples,)
        Task of each row: integers or strings; integers only if X is a numeric
        array or sparse.
    name : str, default="task"
        Name of the new column, if X is a data frame.

    Returns
    -------
    ndarray, sparse matrix or data frame of shape (n_samples, n_features + 1)
        X with the task as its last column: pass ``task=-1``, or ``task=name``
        for a frame, to an estimator. An array stays float32 as long as that
        holds the task values exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn import with_task
    >>> with_task(np.array([[0.5], [1.5]]), [3, 8])
    array([[0.5, 3. ],
           [1.5, 8. ]])
    """
    table = open_table(X)
    raw = nw.from_native(task, series_only=True, pass_through=True)
    if isinstance(raw, nw.Series):
        raw = FrameTable(raw.to_frame(), None).column(0)
    elif np.ndim(raw) == 0:
        raise ValueError(
            f"task is {raw!r}, a single value; it must give the task of each of the "
            f"{table.n_rows} rows."
        )
    elif not isinstance(raw, np.ndarray):
        # an array of mixed values would turn numbers into strings
        cells = list(raw)
        raw = np.empty(len(cells), dtype=object)
        raw[:] = cells
    if raw.ndim != 1 or len(raw) != table.n_rows:
        raise ValueError(
            f"task has shape {raw.shape}; X has {table.n_rows} rows, so it must have "
            f"shape ({table.n_rows},)."
        )
    return append_column(table, task_values(raw, "task"), name)
