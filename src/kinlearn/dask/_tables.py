"""Dask DataFrames and arrays, partition by partition."""

from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from kinlearn._partitions import read_partition
from kinlearn.tasks import split_task
from kinlearn.utils._typing import TaskColumn

__all__ = ["is_dask", "predict_partitions", "read_partitions"]


def is_dask(X: Any) -> bool:
    """Whether X is a Dask DataFrame or array."""
    return isinstance(X, dd.DataFrame | da.Array)


def _check_table(X: Any, task: TaskColumn, local: str) -> None:
    if not is_dask(X):
        raise TypeError(
            f"X must be a Dask DataFrame or array; got {type(X).__name__}. Make one "
            "with dask.dataframe.from_pandas or dask.array.from_array, or use "
            f"{local}, which takes ordinary data."
        )
    if isinstance(X, da.Array) and X.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns; it has {X.ndim}."
        )
    # The columns, before anything is computed.
    sample = np.zeros((1, X.shape[1]))
    if isinstance(X, dd.DataFrame):
        sample = pd.DataFrame(sample, columns=X.columns)
    split_task(sample, task)


def _delayed(collection: Any) -> list[Any]:
    """The partitions as they are: Dask joins those that few columns are read of."""
    with dask.config.set({"optimization.tune.active": False}):
        found = list(np.ravel(collection.to_delayed()))
    if len(found) != collection.npartitions:  # Dask of 2025 does not know the setting
        found = list(np.ravel(collection.to_delayed(optimize_graph=False)))
    return found


def _column(values: Any, X: Any, name: str) -> list[Any]:
    """Partitions of y or of the weights, one for each of X."""
    if isinstance(values, dd.DataFrame) and len(values.columns) == 1:
        values = values.iloc[:, 0]
    if not isinstance(values, dd.Series | da.Array):
        raise TypeError(
            f"{name} must be a Dask Series or array, like X; got "
            f"{type(values).__name__}."
        )
    if isinstance(values, da.Array):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{name} must be a vector; it has shape {values.shape}.")
        if isinstance(X, da.Array):
            known = not np.isnan(X.shape[0]) and not np.isnan(values.shape[0])
            if known and len(X) != len(values):
                raise ValueError(f"X has {len(X)} rows, but {name} has {len(values)}.")
            if known:
                values = values.rechunk((X.chunks[0],))
    found = _delayed(values)
    if len(found) != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions, but {name} has {len(found)}. Divide "
            "both in the same way, for example by repartition or rechunk."
        )
    return found


def read_partitions(
    X: Any,
    y: Any,
    sample_weight: Any,
    options: dict[str, Any],
    *,
    narrow: bool,
    categories: bool,
    local: str,
) -> list[Any]:
    """Delayed reads of all partitions; see `read_partition`.

    `options` are for `check_task_data`; `local` is the class for ordinary data.
    """
    _check_table(X, options["task"], local)
    if y is None:
        raise ValueError(
            f"{options['estimator']} requires y to be passed, but the target y is None."
        )
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1})
    columns = [_delayed(X), _column(y, X, "y")]
    if sample_weight is None:
        columns.append([None] * len(columns[0]))
    else:
        columns.append(_column(sample_weight, X, "sample_weight"))
    read = dask.delayed(read_partition, pure=False)
    return [
        read(*columns_here, number, options, narrow=narrow, categories=categories)
        for number, columns_here in enumerate(zip(*columns, strict=True))
    ]


def _predict_frame(rows: Any, model: Any, method: str, like: Any) -> Any:
    if len(rows) == 0:
        return like
    found = getattr(model, method)(rows)
    if found.ndim == 1:
        return pd.Series(found, index=rows.index, name=like.name)
    return pd.DataFrame(found, index=rows.index, columns=like.columns)


def _predict_array(
    rows: np.ndarray, model: Any, method: str, like: np.ndarray
) -> np.ndarray:
    return getattr(model, method)(rows) if len(rows) else like


def predict_partitions(X: Any, model: Any, method: str, like: Any) -> Any:
    """Call a method of a local model on every partition, when the result is computed.

    `like` is an empty result. What is returned is divided as X is.
    """
    model = dask.delayed(model)
    if isinstance(X, dd.DataFrame):
        return X.map_partitions(_predict_frame, model, method, like, meta=like)
    X = X.rechunk({1: -1})
    shape = (
        {"drop_axis": 1}
        if like.ndim == 1
        else {"chunks": (X.chunks[0], (like.shape[1],))}
    )
    return X.map_blocks(
        _predict_array, model, method, like, dtype=like.dtype, meta=like, **shape
    )
