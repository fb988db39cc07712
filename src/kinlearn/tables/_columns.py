"""Columns of a table: found by name or position, and appended."""

import numbers
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from kinlearn.tables._containers import AnyTable, FrameTable, SparseTable
from kinlearn.utils._typing import Table
from kinlearn.utils._values import show_values

__all__ = ["append_column", "find_column"]


def find_column(key: str | int, table: AnyTable, role: str) -> int:
    """Position, from 0, of the column that a user names, or numbers also from the end.

    `role` is what messages call the column: ``"Task"`` or ``"Privileged"``.
    """
    if isinstance(key, str):
        if table.names is None:
            what, remedy = "X has no column names", "Pass a data frame"
            if isinstance(table, FrameTable):
                first = table.frame.columns[0]
                what = f"the column names of X are no text (first: {first!r})"
                remedy = "Set X.columns to texts"
            raise ValueError(
                f"{role} column {key!r} is given by name, but {what}. {remedy}, or "
                "pass the position of the column (-1 is the last)."
            )
        if key not in table.names:
            raise ValueError(
                f"{role} column {key!r} is not in X. X has the columns "
                f"{show_values(table.names, 10)}."
            )
        return table.names.index(key)
    if isinstance(key, numbers.Integral) and not isinstance(key, bool | np.bool_):
        if not -table.n_columns <= key < table.n_columns:
            raise ValueError(
                f"{role} column {key} is out of range: X has {table.n_columns} "
                f"columns, so positions go from {-table.n_columns} to "
                f"{table.n_columns - 1}."
            )
        return int(key) % table.n_columns
    raise TypeError(
        f"{role} column must be a column name, a position or None; got {key!r} of "
        f"type {type(key).__name__}."
    )


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
    """The table's X with a column of task values behind it.

    Strings go into frames and object arrays only; the name is used in frames.
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
