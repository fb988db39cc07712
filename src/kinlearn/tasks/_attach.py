"""Putting a task column beside the features, whatever X is."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from kinlearn.tables.internal import FrameTable, append_column, open_table
from kinlearn.tasks._values import task_values
from kinlearn.utils._typing import Table

__all__ = ["with_task"]


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
