"""From what users pass to `TaskData` and `TaskRows`: where X is checked."""

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, check_consistent_length

from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import AnyTable, find_column, open_table, warn_of_unused
from kinlearn.tasks._categories import find_categorical
from kinlearn.tasks._columns import TaskColumns, resolve_columns
from kinlearn.tasks._data import TaskData, TaskRows
from kinlearn.tasks._labels import class_codes, numbers
from kinlearn.tasks._values import (
    encode_values,
    lookup_values,
    name_task,
    show_values,
    task_values,
)
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn
from kinlearn.utils._values import warn_caller

__all__ = [
    "check_task_data",
    "check_task_rows",
    "encode_tasks",
    "split_known_task",
    "split_task",
    "task_codes",
]


def _check_rows(table: AnyTable) -> None:
    if table.n_rows == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {table.n_columns})) while a "
            "minimum of 1 is required."
        )


def _check_finite(
    X: Any,
    names: np.ndarray,
    task: np.ndarray,
    tasks: np.ndarray,
    *,
    allow_nan: bool,
    estimator: str,
) -> None:
    """Refuse inf (and NaN) with the column, the row and the task at fault."""
    try:
        assert_all_finite(X.data if sp.issparse(X) else X, allow_nan=allow_nan)
        return
    except ValueError:
        cells = X.tocoo() if sp.issparse(X) else X
    bad = np.isinf if allow_nan else lambda block: ~np.isfinite(block)
    if sp.issparse(cells):
        hits = np.flatnonzero(bad(cells.data))
        rows, cols, value = cells.row[hits], cells.col[hits], cells.data[hits[0]]
    else:
        rows, cols = np.nonzero(bad(cells))
        value = cells[rows[0], cols[0]]
    column = names[cols[0]]
    first = name_task(rows[0], task, tasks)
    of_task = f", {first}" if first else ""
    what = "NaN" if np.isnan(value) else "infinity or a value too large"
    remedy = (
        "Impute or drop these rows, for example with "
        "kinlearn.keep_task(SimpleImputer(), task=...)"
        if np.isnan(value)
        else "Replace it with a finite number or NaN"
    )
    raise ValueError(
        f"Input X contains {what} for {X.dtype} in column {column!r} (first: row "
        f"{rows[0]}{of_task}; {len(rows)} such cells in all). {estimator} does not "
        f"accept it. {remedy}."
    )


def _target_code(target: Any, task: TaskColumn, tasks: np.ndarray) -> int | None:
    if target is None:
        return None
    if task is None:
        raise ValueError(
            f"target={target!r} names a task, but task=None. Name the column that "
            "holds the task with task=."
        )
    hits = [i for i, known in enumerate(tasks.tolist()) if known == target]
    if not hits:
        raise ValueError(
            f"The target task {target!r} is not in the task column, which holds "
            f"{show_values(tasks)}."
        )
    return hits[0]


def task_codes(X: Table, task: TaskColumn) -> tuple[np.ndarray, np.ndarray]:
    """Tasks of the rows of X, and nothing else of it.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Data with a task column.
    task : str, int or None
        Name or position of the task column; None is one task for all rows.

    Returns
    -------
    tasks : ndarray of shape (n_tasks,)
        Task values, ascending.
    codes : int32 array of shape (n_samples,)
        Task of each row: ``tasks[codes]`` is the column.

    Examples
    --------
    >>> from kinlearn.tasks import task_codes
    >>> tasks, codes = task_codes([[0.5, 7], [1.5, 3], [2.5, 7]], task=-1)
    >>> tasks, codes
    (array([3, 7]), array([1, 0, 1], dtype=int32))
    """
    table = open_table(X)
    _check_rows(table)
    return _read_tasks(table, task)


def _read_tasks(
    table: AnyTable, task: TaskColumn, role: str = "Task"
) -> tuple[np.ndarray, np.ndarray]:
    if task is None:
        return np.zeros(1, dtype=np.int64), np.zeros(table.n_rows, dtype=np.int32)
    values, places = _task_column(
        table, find_column(task, table, role), f"{role} column {task!r}"
    )
    tasks, codes = encode_values(values)
    return tasks, codes[places]


def _task_column(
    table: AnyTable, position: int, where: str
) -> tuple[np.ndarray, np.ndarray | slice]:
    """Checked task values, and for each row its place among them."""
    short_cut = table.distinct(position)
    if short_cut is not None:
        return short_cut
    return task_values(table.column(position), where), slice(None)


# Of each fitted model's tasks, known by their address while they live: the unknown
# ones that a warning has named. Python's own memory of warnings is lost whenever a
# library, such as scikit-learn, catches some.
_NAMED: dict[int, set[Any]] = {}


def _name_once(tasks: np.ndarray, strange: np.ndarray) -> bool:
    """Whether some of the unknown tasks were not named before, for this model."""
    key = id(tasks)
    if key not in _NAMED:
        _NAMED[key] = set()
        weakref.finalize(tasks, _NAMED.pop, key, None)
    before, named = len(_NAMED[key]), _NAMED[key]
    named.update(strange.tolist())
    return len(named) > before


def _known_codes(
    table: AnyTable,
    columns: TaskColumns,
    tasks: np.ndarray,
    unknown_task: str | None,
    estimator: str,
) -> np.ndarray:
    """Codes of the rows' tasks among those that fit saw; -1 if they may be new."""
    if unknown_task not in (None, "warn", "share", "error"):
        raise ValueError(
            f'unknown_task must be "warn", "share" or "error"; got {unknown_task!r}.'
        )
    if columns.task is None:
        return np.zeros(table.n_rows, dtype=np.int32)
    values, places = _task_column(table, columns.task, columns.where)
    found = lookup_values(tasks, values, columns.where)
    codes = found[places]
    if unknown_task == "share" or (codes >= 0).all():
        return codes
    strange, _ = encode_values(values[found < 0])
    unknown = (
        f"{columns.where} holds {len(strange)} task(s) that {estimator} did "
        f"not see in fit: {show_values(strange)}, in {(codes < 0).sum()} of "
        f"{len(codes)} rows."
    )
    if unknown_task == "warn":
        if not _name_once(tasks, strange):
            return codes
        warn_caller(
            f"{unknown} They are predicted by what the known tasks have in common. Set "
            'unknown_task="share" if that is meant, "error" if it must not be.',
            UnknownTaskWarning,
        )
    else:
        choice = "or drop the rows."
        if unknown_task is not None:
            choice = 'drop the rows, or set unknown_task="share".'
        raise ValueError(
            f"{unknown} Fit saw {show_values(tasks)}. Fit with these tasks, {choice}"
        )
    return codes


def split_task(
    X: Table, task: TaskColumn
) -> tuple[Table, np.ndarray, np.ndarray, TaskColumns]:
    """Take the task column out of X, and leave the rest as it is.

    For estimators that pass the other columns to another estimator, which reads
    them in its own way (categories, strings, missing values).

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Data with a task column.
    task : str, int or None
        Name or position of the task column; None is one task for all rows.

    Returns
    -------
    rest : ndarray, sparse matrix or data frame
        The other columns, in the container they came in.
    tasks : ndarray of shape (n_tasks,)
        Task values, ascending.
    codes : int32 array of shape (n_samples,)
        Task of each row.
    columns : TaskColumns
        What to look for in new data; see :func:`split_known_task`.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.tasks import split_task
    >>> rest, tasks, codes, columns = split_task(np.array([[0.5, 7], [1.5, 3]]), -1)
    >>> rest, tasks
    (array([[0.5], [1.5]]), array([3, 7]))
    """
    table = open_table(X)
    columns = resolve_columns(table, task, None)
    _check_rows(table)
    tasks, codes = _read_tasks(table, task)
    return _without_task(table, columns), tasks, codes, columns


def split_known_task(
    X: Table,
    columns: TaskColumns,
    tasks: np.ndarray,
    *,
    unknown_task: Literal["warn", "share", "error"] = "error",
    estimator: str = "It",
) -> tuple[Table, np.ndarray]:
    """Take the task column out of new rows; see :func:`split_task`.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        The same columns as in fit.
    columns : TaskColumns
        What fit saw.
    tasks : ndarray
        Task values that fit saw.
    unknown_task : {"warn", "share", "error"}, default="error"
        What to do about other task values: code them as -1, with a warning or
        without, or refuse them.
    estimator : str, default="It"
        Name for messages.

    Returns
    -------
    rest : ndarray, sparse matrix or data frame
        The other columns, in the container they came in.
    codes : int32 array of shape (n_samples,)
        Task of each row among `tasks`; -1 is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.tasks import split_known_task, split_task
    >>> rest, tasks, codes, columns = split_task(np.array([[0.5, 7], [1.5, 3]]), -1)
    >>> split_known_task(np.array([[2.5, 3]]), columns, tasks)
    (array([[2.5]]), array([0], dtype=int32))
    """
    table = open_table(X)
    columns = columns.match(table, estimator)
    _check_rows(table)
    codes = _known_codes(table, columns, tasks, unknown_task, estimator)
    return _without_task(table, columns), codes


def _without_task(table: AnyTable, columns: TaskColumns) -> Table:
    return table.native if columns.task is None else table.without(columns.task)


def check_task_data(
    X: Table,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    task: TaskColumn = None,
    privileged: str | int | Sequence[str] | Sequence[int] | None = None,
    target: Any = None,
    task_role: str = "Task",
    categorical_features: Any = "from_dtype",
    labels: Literal["classes", "numbers"] | None = None,
    label_sets: LabelRule = "connected",
    encoding: Mapping[str, Any] | None = None,
    accept_sparse: bool | str | Sequence[str] = False,
    allow_nan: bool = False,
    order: Literal["C", "F"] | None = None,
    estimator: str = "This estimator",
) -> TaskData:
    """Check training data once, and give it the form that kernels take.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Features, with the task column among them.
    y : array-like of shape (n_samples,), default=None
        Target; see `labels`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a number is the weight of every row.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    privileged : str, int or list of them, default=None
        Columns that exist in training only.
    target : task value, default=None
        The one task that is the goal.
    task_role : str, default="Task"
        What messages call the task column, such as "Group".
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Columns whose values are categories: names, positions, or a mask of all columns.
        "from_dtype": those that a data frame says are.
    labels : {"classes", "numbers"} or None, default=None
        What y holds; None ignores y.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task has: see :func:`find_label_sets`.
    encoding : mapping or None, default=None
        Parameters of the :class:`~kinlearn.TableEncoder` that makes numbers of a table
        that holds more than these; None refuses such.
    accept_sparse : bool, str or list of str, default=False
        Sparse formats that the caller takes ("csr", "csc").
    allow_nan : bool, default=False
        Whether NaN may stand in the features.
    order : {"C", "F"} or None, default=None
        Memory order that the caller needs; None takes what is there.
    estimator : str, default="This estimator"
        Name for messages.

    Returns
    -------
    TaskData
        The checked data.

    Examples
    --------
    >>> from kinlearn.tasks import check_task_data
    >>> X = [[0.5, 7], [1.5, 3], [2.5, 7]]
    >>> data = check_task_data(X, ["a", "b", "b"], task=1, labels="classes")
    >>> data.tasks, data.rows(1), data.task_classes[3]
    (array([3, 7]), array([0, 2]), array(['a', 'b'], dtype=...))
    """
    if labels not in (None, "classes", "numbers"):
        raise ValueError(
            f'labels must be "classes", "numbers" or None; got {labels!r}.'
        )
    table = open_table(X)
    columns = resolve_columns(table, task, privileged, task_role)
    _check_rows(table)
    tasks, codes = _read_tasks(table, task, task_role)
    named = None
    if not isinstance(categorical_features, str):
        named = find_categorical(categorical_features, table, columns)
    options: dict[str, Any] = {"order": order, "accept_sparse": accept_sparse}
    blocks: dict[str, tuple[Sequence[int], np.ndarray]] = {
        "X": (columns.features, columns.feature_names)
    }
    if columns.privileged:
        extra = list(columns.privileged)
        blocks["privileged"] = extra, columns.all_names[extra]
    fields: dict[str, Any] = {}
    for name, (positions, column_names) in blocks.items():
        nan = allow_nan and name == "X"
        if encoding is not None and not table.is_numeric(positions):
            if labels is not None and "y" not in fields:
                fields |= _targets(y, labels, table, codes, tasks, estimator)
            settings = {**encoding, "fill": not nan, "target_type": labels or "auto"}
            if name == "X" and named is not None:
                settings["categorical"] = np.flatnonzero(named).tolist()
            encoder = TableEncoder(**settings)
            fields[name] = encoder._fit_table(table.take(positions), fields.get("y"))
            warn_of_unused(encoder.meanings_)
            if name == "X":
                fields["encoder"] = encoder
                if encoder.categorical_.any() and categorical_features is not None:
                    fields["categorical"] = encoder.categorical_
            continue
        fields[name] = table.matrix(positions, **options)
        _check_finite(
            fields[name], column_names, codes, tasks, allow_nan=nan, estimator=estimator
        )
    if labels is not None and "y" not in fields:
        fields |= _targets(y, labels, table, codes, tasks, estimator)
    if sample_weight is not None:
        fields["sample_weight"] = check_sample_weight(
            sample_weight,
            table.native if sp.issparse(table.native) else codes,
            dtype=np.float64,
            ensure_non_negative=True,
        )
    if named is not None:
        fields.setdefault("categorical", named)
    return TaskData(
        task=codes,
        tasks=tasks,
        columns=columns,
        target=_target_code(target, task, tasks),
        label_rule=label_sets,
        **fields,
    )


def _targets(
    y: Any,
    labels: str,
    table: AnyTable,
    codes: np.ndarray,
    tasks: np.ndarray,
    estimator: str,
) -> dict[str, Any]:
    """Checked targets, and for classes their labels."""
    fields = {}
    if labels == "classes":
        fields["classes"], fields["y"] = class_codes(y, estimator, codes, tasks)
    else:
        fields["y"] = numbers(y, estimator, codes, tasks)
    check_consistent_length(table.native, fields["y"])
    return fields


def check_task_rows(
    X: Table,
    *,
    columns: TaskColumns,
    tasks: np.ndarray,
    unknown_task: Literal["warn", "share", "error"] | None = "error",
    encoder: TableEncoder | None = None,
    accept_sparse: bool | str | Sequence[str] = False,
    allow_nan: bool = False,
    order: Literal["C", "F"] | None = None,
    estimator: str = "This estimator",
) -> TaskRows:
    """Check rows to predict for against what fit saw.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        The same columns as in fit; privileged ones may be absent.
    columns : TaskColumns
        What fit saw.
    tasks : ndarray
        Task values that fit saw.
    unknown_task : {"warn", "share", "error", None}, default="error"
        What to do about other task values: code them as -1, with a warning or
        without, or refuse them; None refuses them where there is no choice.
    encoder : TableEncoder or None, default=None
        What made numbers of the features in fit, if they were none.
    accept_sparse, allow_nan, order, estimator : as in check_task_data
        What the caller takes, and its name.

    Returns
    -------
    TaskRows
        The checked rows.

    Examples
    --------
    >>> from kinlearn.tasks import check_task_data, check_task_rows
    >>> data = check_task_data([[0.5, 7], [1.5, 3]], task=1)
    >>> check_task_rows([[2.5, 7]], columns=data.columns, tasks=data.tasks).task
    array([1], dtype=int32)
    """
    table = open_table(X)
    columns = columns.match(table, estimator)
    _check_rows(table)
    codes = _known_codes(table, columns, tasks, unknown_task, estimator)
    if encoder is not None:
        return TaskRows(X=encoder._encode(table.take(columns.features)), task=codes)
    matrix = table.matrix(columns.features, order=order, accept_sparse=accept_sparse)
    _check_finite(
        matrix,
        columns.feature_names,
        codes,
        tasks,
        allow_nan=allow_nan,
        estimator=estimator,
    )
    return TaskRows(X=matrix, task=codes)


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
