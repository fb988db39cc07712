"""How generated and loaded data is returned: arrays, frames, bunches."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from kinlearn.tasks import with_task
from kinlearn.utils import import_optional
from kinlearn.utils._typing import Table

__all__ = ["Generated", "Loaded", "as_table", "hand_over", "numbered", "to_bunch"]

# What a generator returns: (X, y), or (X, y, truth) with return_truth=True.
Generated: TypeAlias = tuple[Any, ...]
# What a loader returns: a Bunch, or (data, target) with return_X_y=True.
Loaded: TypeAlias = Any


def numbered(n: int, prefix: str = "x") -> list[str]:
    """Column names x0, x1, ... for features that have none."""
    return [f"{prefix}{i}" for i in range(n)]


def as_table(
    X: Table,
    task: np.ndarray | None,
    *,
    feature_names: Sequence[str],
    task_names: Any,
    task_name: Any,
    as_frame: bool,
) -> Table:
    """X with the task, if there is one, as its last column.

    `task` holds positions in `task_names`: frames get the names, arrays the numbers.
    """
    if as_frame:
        pandas = import_optional("pandas", extra="report", purpose="as_frame=True")
        if not isinstance(X, pandas.DataFrame):
            X = pandas.DataFrame(X, columns=list(feature_names))
        if task is None:
            return X
        return with_task(X, np.asarray(task_names)[task].tolist(), name=task_name)
    if task is None:
        return X
    return with_task(X, task)


def as_series(y: Any, *, target_name: str, as_frame: bool) -> Any:
    """The target, as a named series if a frame is wanted."""
    if not as_frame or y is None:
        return y
    pandas = import_optional("pandas", extra="report", purpose="as_frame=True")
    return pandas.Series(y, name=target_name)


def hand_over(
    X: Any,
    task: np.ndarray,
    y: np.ndarray,
    truth: dict[str, Any],
    *,
    rng: np.random.RandomState,
    shuffle: bool,
    as_frame: bool,
    return_truth: bool,
    row_truth: dict[str, np.ndarray] | None = None,
    feature_names: Sequence[str] | None = None,
    task_names: Any = None,
) -> Generated:
    """What a generator returns: (X, y), or (X, y, truth).

    Rows are shuffled here, after everything was drawn, so that the same seed
    gives the same rows in another order. `row_truth` is the part of the truth
    that has an entry for each row; it moves with them.
    """
    row_truth = row_truth or {}
    if shuffle:
        order = rng.permutation(len(y))
        X, task, y = X[order], task[order], y[order]
        row_truth = {key: value[order] for key, value in row_truth.items()}
    feature_names = feature_names or numbered(X.shape[1])
    if task_names is None:
        task_names = np.arange(task.max() + 1)
    sparse = sp.issparse(X)
    if as_frame and sparse:
        X = X.toarray()
    X = as_table(
        X,
        task,
        feature_names=feature_names,
        task_names=task_names,
        task_name="task",
        as_frame=as_frame,
    )
    y = as_series(y, target_name="target", as_frame=as_frame)
    if not return_truth:
        return X, y
    return X, y, Bunch(**truth, **row_truth)


def to_bunch(
    X: Table,
    y: Any,
    *,
    descr: str,
    feature_names: Sequence[str],
    task: np.ndarray | None = None,
    task_names: Any = (),
    task_name: str | None = None,
    target_name: str = "target",
    target_names: Sequence[str] | None = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    **extra: Any,
) -> Loaded:
    """What a loader returns: a bunch, or (X, y).

    Parameters are the parts of the data set; `extra` entries are kept as they
    are. In the bunch, ``data`` is X with the task as its last column.
    """
    sparse = sp.issparse(X)
    if as_frame and sparse:
        raise ValueError(
            f"as_frame=True is not offered for sparse features ({X.shape[1]} columns). "
            "Leave it False and name the task by its position, task=-1."
        )
    data = as_table(
        X,
        task,
        feature_names=feature_names,
        task_names=task_names,
        task_name=task_name,
        as_frame=as_frame,
    )
    target = as_series(y, target_name=target_name, as_frame=as_frame)
    if return_X_y:
        return data, target
    column = None if task is None else task_name if as_frame else -1
    frame = data.assign(**{target_name: target}) if as_frame else None
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(feature_names),
        target_names=target_names,
        task=column,
        task_names=list(task_names),
        DESCR=descr,
        **extra,
    )
