"""From what users pass to `TaskData`, `TaskRows`, `LaterData`: where X is checked."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, check_consistent_length

from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import AnyTable, open_table, warn_of_unused
from kinlearn.tasks._columns import TaskColumns, find_categorical, resolve_columns
from kinlearn.tasks._data import LaterData, TaskData, TaskRows, freeze
from kinlearn.tasks._paths import (
    TaskPaths,
    known_path_codes,
    read_paths,
)
from kinlearn.tasks._targets import (
    check_total_weight,
    class_codes,
    numbers,
)
from kinlearn.tasks._task_column import (
    check_rows,
    encode_tasks,
    encode_values,
    known_task_codes,
    lookup_values,
    name_task,
    read_tasks,
    task_codes,
)
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn
from kinlearn.utils._values import show_values

__all__ = ["check_later_data", "check_task_data", "check_task_rows"]


def _check_finite(
    X: Any,
    names: np.ndarray,
    task: np.ndarray,
    tasks: np.ndarray,
    *,
    allow_nan: bool,
    estimator: str,
    largest: float = np.inf,
) -> None:
    """Refuse inf (and NaN) with the column, the row and the task at fault.

    So are numbers beyond `largest`, whose products would not be finite.
    """
    values = X.data if sp.issparse(X) else X
    try:
        assert_all_finite(values, allow_nan=allow_nan)
        if not _reaches(values, largest):
            return
        bad: Any = lambda block: np.abs(block) > largest  # noqa: E731
    except ValueError:
        bad = np.isinf if allow_nan else lambda block: ~np.isfinite(block)
    cells = X.tocoo() if sp.issparse(X) else X
    if sp.issparse(cells):
        hits = np.flatnonzero(bad(cells.data))
        rows, cols, value = cells.row[hits], cells.col[hits], cells.data[hits[0]]
    else:
        rows, cols = np.nonzero(bad(cells))
        value = cells[rows[0], cols[0]]
    column = names[cols[0]]
    first = name_task(rows[0], task, tasks)
    of_task = f", {first}" if first else ""
    what = f"infinity or a value too large for {X.dtype}"
    remedy = "Replace it with a finite number or NaN"
    if np.isnan(value):
        what = f"NaN for {X.dtype}"
        remedy = (
            "Impute or drop these rows, for example with "
            "kinlearn.keep_task(SimpleImputer(), task=...)"
        )
    elif np.isfinite(value):
        what = f"{value:g}, whose products are too large for {X.dtype},"
        remedy = f"Put the column in a larger unit: up to {largest:g} is accepted"
    raise ValueError(
        f"Input X contains {what} in column {column!r} (first: row "
        f"{rows[0]}{of_task}; {len(rows)} such cells in all). {estimator} does not "
        f"accept it. {remedy}."
    )


def _reaches(values: np.ndarray, largest: float) -> bool:
    """Whether a number is beyond it; those of other types than float64 are not."""
    if not values.size or values.dtype != np.float64 or largest == np.inf:
        return False
    with np.errstate(invalid="ignore"):
        return np.fmax.reduce(values, axis=None) > largest or (
            np.fmin.reduce(values, axis=None) < -largest
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
    levels: Sequence[str | int] = (),
    groups: Sequence[str | int] = (),
    need_features: bool = True,
    estimator: str = "This estimator",
    largest: float = np.inf,
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
        "from_dtype": those of such a type in a data frame.
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
    levels : sequence of str or int, default=()
        Columns that hold groups of tasks, from coarse to fine. A task is then its path
        through them; they are no features.
    groups : sequence of str or int, default=()
        Columns that group the rows otherwise than by task, and are no features.
    need_features : bool, default=True
        Whether there must be a column beside the task and the privileged ones.
    estimator : str, default="This estimator"
        Name for messages.
    largest : float, default=inf
        What the features and targets may reach, up or down, and weights in all.

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
    columns = resolve_columns(
        table,
        task,
        privileged,
        task_role,
        groups=groups,
        levels=levels,
        need_features=need_features,
    )
    check_rows(table)
    paths = None
    if levels:
        tasks, codes, paths = read_paths(table, levels, task, task_role)
    else:
        tasks, codes = read_tasks(table, task, task_role)
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
                fields |= _targets(y, labels, table, codes, tasks, estimator, largest)
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
        if not len(positions):
            fields[name] = np.zeros((table.n_rows, 0))
            continue
        fields[name] = table.matrix(positions, **options)
        _check_finite(
            fields[name],
            column_names,
            codes,
            tasks,
            allow_nan=nan,
            estimator=estimator,
            largest=largest,
        )
    if labels is not None and "y" not in fields:
        fields |= _targets(y, labels, table, codes, tasks, estimator, largest)
    if sample_weight is not None:
        fields["sample_weight"] = check_sample_weight(
            sample_weight,
            table.native if sp.issparse(table.native) else codes,
            dtype=np.float64,
            ensure_non_negative=True,
        )
        if largest < np.inf:
            check_total_weight(fields["sample_weight"])
    if named is not None:
        fields.setdefault("categorical", named)
    return TaskData(
        task=codes,
        tasks=tasks,
        columns=columns,
        target=_target_code(target, task, tasks),
        label_rule=label_sets,
        paths=paths,
        **fields,
    )


def _targets(
    y: Any,
    labels: str,
    table: AnyTable,
    codes: np.ndarray,
    tasks: np.ndarray,
    estimator: str,
    largest: float,
) -> dict[str, Any]:
    """Checked targets, and for classes their labels."""
    fields = {}
    if labels == "classes":
        fields["classes"], fields["y"] = class_codes(y, estimator, codes, tasks)
    else:
        fields["y"] = numbers(y, estimator, codes, tasks, largest)
    check_consistent_length(table.native, fields["y"])
    return fields


def check_task_rows(
    X: Table,
    *,
    columns: TaskColumns,
    tasks: np.ndarray,
    paths: TaskPaths | None = None,
    unknown_task: Literal["warn", "share", "error"] | None = "error",
    encoder: TableEncoder | None = None,
    accept_sparse: bool | str | Sequence[str] = False,
    allow_nan: bool = False,
    order: Literal["C", "F"] | None = None,
    estimator: str = "This estimator",
    largest: float = np.inf,
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
    paths : TaskPaths or None, default=None
        Where these lie, if they have a path of columns.
    unknown_task : {"warn", "share", "error", None}, default="error"
        What to do about other task values: code them as -1, with a warning or
        without, or refuse them; None refuses them where there is no choice.
    encoder : TableEncoder or None, default=None
        What made numbers of the features in fit, if they were none.
    accept_sparse, allow_nan, order, estimator, largest : as in check_task_data
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
    check_rows(table)
    groups = None
    if paths is None:
        codes = known_task_codes(table, columns, tasks, unknown_task, estimator)
    else:
        codes, groups = known_path_codes(
            table, columns, tasks, paths, unknown_task, estimator
        )
    if encoder is not None:
        X = encoder._encode(table.take(columns.features))
        return TaskRows(X=X, task=codes, groups=groups)
    if not columns.features:
        return TaskRows(X=np.zeros((table.n_rows, 0)), task=codes, groups=groups)
    matrix = table.matrix(columns.features, order=order, accept_sparse=accept_sparse)
    _check_finite(
        matrix,
        columns.feature_names,
        codes,
        tasks,
        allow_nan=allow_nan,
        estimator=estimator,
        largest=largest,
    )
    return TaskRows(X=matrix, task=codes, groups=groups)


def check_later_data(
    X: Table,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    columns: TaskColumns,
    tasks: np.ndarray,
    classes: np.ndarray | None,
    new_classes: bool = False,
    estimator: str,
    **options: Any,
) -> LaterData:
    """Check rows that come after fit, against the columns, tasks and classes it saw.

    `classes` is None if y holds numbers. With `new_classes`, rows of new tasks may have
    classes that fit did not see. Options are those of :func:`check_task_rows`.
    """
    largest = options.get("largest", np.inf)
    rows = check_task_rows(
        X,
        columns=columns,
        tasks=tasks,
        unknown_task="share",
        estimator=estimator,
        **options,
    )
    found, codes = task_codes(X, columns.task)
    every = tasks
    if (rows.task < 0).any():
        every, _ = encode_tasks(np.concatenate([tasks, found]), columns.where)
    place = lookup_values(every, tasks, columns.where)
    is_new = np.ones(len(every), dtype=bool)
    is_new[place] = False
    every_class: Any = None
    class_place: Any = None
    if classes is None:
        labels = numbers(y, estimator, codes, found, largest)
    else:
        named, labels = class_codes(y, estimator, codes, found)
        every_class, places = _join_classes(classes, named)
        class_place, labels = places[: len(classes)], places[len(classes) :][labels]
    if len(labels) != len(rows.task):
        raise ValueError(
            f"X has {len(rows.task)} rows, but y has {len(labels)} labels."
        )
    task = lookup_values(every, found, columns.where)[codes]
    if classes is not None and len(every_class) > len(classes):
        is_old = np.isin(labels, class_place)
        bad = ~is_old & ~is_new[task] if new_classes else ~is_old
        _check_new_classes(every_class[labels[bad]], classes, estimator, new_classes)
    weight = np.ones(len(labels))
    if sample_weight is not None:
        weight = check_sample_weight(
            sample_weight, codes, dtype=np.float64, ensure_non_negative=True
        )
        if largest < np.inf:
            check_total_weight(weight)
    return LaterData(
        X=rows.X,
        task=freeze(task),
        y=freeze(labels),
        sample_weight=freeze(weight),
        tasks=freeze(every),
        place=place,
        is_new=is_new,
        classes=freeze(every_class),
        class_place=class_place,
    )


def _join_classes(old: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Old and found classes together, and the place of each of both among them."""
    known = {label: code for code, label in enumerate(old.tolist())}
    if all(label in known for label in found.tolist()):
        places = [*range(len(old)), *(known[label] for label in found.tolist())]
        return old, np.array(places, dtype=np.int32)
    if (old.dtype.kind in "OTU") != (found.dtype.kind in "OTU"):
        raise TypeError(
            f"y holds labels such as {show_values(found[:1])}, fit saw labels such as "
            f"{show_values(old[:1])}. Give them the same type."
        )
    return encode_values(np.concatenate([old, found]))


def _check_new_classes(
    strange: np.ndarray, classes: np.ndarray, estimator: str, allowed: bool
) -> None:
    if len(strange) == 0:
        return
    of_known = ", for tasks that it knows" if allowed else ""
    raise ValueError(
        f"y holds classes that {estimator} did not see in fit{of_known}: "
        f"{show_values(np.unique(strange))}. It saw {show_values(classes)}. Fit anew "
        "with all rows to add a class."
    )
