"""The task column: its values and their codes, taken out of X in fit and afterwards.

A column of any origin becomes either integers (int64, uint64 or bool) or an
object array of strings. Everything else is refused with the row at fault.
"""

import weakref
from itertools import repeat
from typing import Any, Literal, NoReturn

import narwhals.stable.v2 as nw
import numpy as np

from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.tables.internal import AnyTable, find_column, open_table
from kinlearn.tasks._columns import TaskColumns, resolve_columns
from kinlearn.utils._typing import Table, TaskColumn
from kinlearn.utils._values import MISSING_TYPES, are_missing, show_values, warn_caller

__all__ = [
    "check_rows",
    "encode_tasks",
    "encode_values",
    "known_task_codes",
    "lookup_values",
    "name_once",
    "name_task",
    "read_tasks",
    "split_known_task",
    "split_task",
    "task_codes",
    "task_values",
]


def name_task(row: int, task: np.ndarray | None, tasks: np.ndarray | None) -> str:
    """Write the task of a row for a message: ``task 'b'``, or an empty string.

    `task` holds the codes of the rows; None, or too short, if the row's is not known.
    """
    if (
        task is None
        or tasks is None
        or len(tasks) < 2
        or row >= len(task)
        or task[row] < 0
    ):
        return ""
    return f"task {show_values(tasks[[task[row]]])}"


def _raise_missing(missing: np.ndarray, where: str) -> NoReturn:
    rows = np.flatnonzero(missing)
    raise ValueError(
        f"{where} is missing in {len(rows)} of {len(missing)} rows (first: row "
        f"{rows[0]}). Drop these rows, or give them a value of their own."
    )


def _from_floats(values: np.ndarray, where: str) -> np.ndarray:
    missing = np.isnan(values)
    if missing.any():
        _raise_missing(missing, where)
    # beyond this, neighbouring integers share one float and tasks would merge
    limit = 2.0 ** min(np.finfo(values.dtype).nmant + 1, 53)
    bad = ~(np.abs(values) <= limit) | (values != np.floor(values))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{where} must hold integers or strings; found {values[row]!s} in row "
            f"{row} of a {values.dtype} column"
            + (
                f", where integers beyond {limit:.0f} are not exact. "
                if abs(values[row]) > limit
                else ". "
            )
            + "Is this the task column? Otherwise convert it to int or str."
        )
    return values.astype(np.int64)


def _from_objects(values: np.ndarray, where: str) -> np.ndarray:
    types = set(map(type, values))
    names = {t.__name__ for t in types}
    floats = any(issubclass(t, float | np.floating) for t in types)
    if floats or names & MISSING_TYPES:
        missing = are_missing(values)
        if missing.any():
            _raise_missing(missing, where)
    if all(issubclass(t, str) for t in types):
        return values
    numeric = (bool, np.bool_, int, np.integer, float, np.floating)
    odd = [t for t in types if not issubclass(t, (str, *numeric))]
    if odd:
        row = next(i for i, v in enumerate(values) if type(v) in odd)
        raise TypeError(
            f"{where} must hold integers or strings; found {values[row]!r} of type "
            f"{type(values[row]).__name__} in row {row}. Convert the column to int "
            "or str."
        )
    if any(issubclass(t, str) for t in types):
        text = next(i for i, v in enumerate(values) if isinstance(v, str))
        number = next(i for i, v in enumerate(values) if not isinstance(v, str))
        raise TypeError(
            f"{where} mixes strings and numbers ({values[text]!r} in row {text}, "
            f"{values[number]!r} in row {number}). Convert the column to str, or to "
            "int."
        )
    if all(issubclass(t, bool | np.bool_) for t in types):
        return values.astype(bool)
    try:
        if floats:
            return _from_floats(values.astype(np.float64), where)
        largest = max(values)
        return values.astype(np.uint64 if largest >= 2**63 else np.int64)
    except OverflowError as error:
        raise ValueError(
            f"{where} holds integers beyond 64 bits. Convert the column to str."
        ) from error


def task_values(raw: np.ndarray, where: str) -> np.ndarray:
    """Bring a raw task column into one of the two forms, or raise an error.

    `where` is how messages call it, such as ``"Task column 'school'"``.
    """
    kind = raw.dtype.kind
    if kind == "f":
        return _from_floats(raw, where)
    if kind == "b":
        return raw
    if kind == "i":
        return raw.astype(np.int64, copy=False)
    if kind == "u":
        wide = raw.dtype.itemsize == 8
        return raw.astype(np.uint64 if wide else np.int64, copy=False)
    if kind in "UT":
        return _from_objects(raw.astype(object), where)
    if kind == "O":
        return _from_objects(raw, where)
    raise TypeError(
        f"{where} must hold integers or strings; found dtype {raw.dtype}. "
        "Convert the column to int or str."
    )


def encode_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct values, and the int32 code of each row.

    ``uniques[codes]`` equals `values`: numbers, or objects of one sortable kind.
    """
    if values.dtype.kind == "i" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values):
            # a table over the range takes the place of a sort: 10 times as fast
            offset = values.astype(np.int64, copy=False) - low
            present = np.zeros(high - low + 1, dtype=bool)
            present[offset] = True
            codes = (np.cumsum(present, dtype=np.int32) - 1)[offset]
            return (np.flatnonzero(present) + low).astype(values.dtype), codes
    if values.dtype != object:
        uniques, places = np.unique(values, return_inverse=True)
        return uniques, places.astype(np.int32)
    # Hashing is ten times as fast as sorting a million Python strings; map and
    # set keep the loop out of the interpreter.
    cells = values.tolist()
    uniques = np.empty(len(known := sorted(set(cells))), dtype=object)
    uniques[:] = known
    return uniques, _dict_codes(known, cells)


def _dict_codes(known: list, cells: list, default: int | None = None) -> np.ndarray:
    table = dict(zip(known, range(len(known)), strict=True))
    if default is None:
        codes = map(table.__getitem__, cells)
    else:
        codes = map(table.get, cells, repeat(default))
    return np.fromiter(codes, dtype=np.int32, count=len(cells))


def lookup_values(uniques: np.ndarray, values: np.ndarray, where: str) -> np.ndarray:
    """Codes of values among known ones, which ascend; -1 for those not among them."""
    if (uniques.dtype == object) != (values.dtype == object):
        kinds = {True: "strings", False: "integers"}
        raise TypeError(
            f"{where} holds {kinds[values.dtype == object]} but held "
            f"{kinds[uniques.dtype == object]} in fit. Convert it to the type that "
            "fit saw."
        )
    if values.dtype == object:
        return _dict_codes(uniques.tolist(), values.tolist(), default=-1)
    # int64 and uint64 have no common integer type: Python integers do
    if {uniques.dtype.kind, values.dtype.kind} == {"i", "u"}:
        uniques, values = uniques.astype(object), values.astype(object)
    place = np.searchsorted(uniques, values)
    place[place == len(uniques)] = 0
    return np.where(uniques[place] == values, place, -1).astype(np.int32)


def check_rows(table: AnyTable) -> None:
    if table.n_rows == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {table.n_columns})) while a "
            "minimum of 1 is required."
        )


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
    check_rows(table)
    return read_tasks(table, task)


def read_tasks(
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


def name_once(tasks: np.ndarray, strange: np.ndarray) -> bool:
    """Whether some of the unknown tasks were not named before, for this model."""
    key = id(tasks)
    if key not in _NAMED:
        _NAMED[key] = set()
        weakref.finalize(tasks, _NAMED.pop, key, None)
    before, named = len(_NAMED[key]), _NAMED[key]
    named.update(strange.tolist())
    return len(named) > before


def known_task_codes(
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
        if not name_once(tasks, strange):
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
    check_rows(table)
    tasks, codes = read_tasks(table, task)
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
    check_rows(table)
    codes = known_task_codes(table, columns, tasks, unknown_task, estimator)
    return _without_task(table, columns), codes


def _without_task(table: AnyTable, columns: TaskColumns) -> Table:
    return table.native if columns.task is None else table.without(columns.task)
