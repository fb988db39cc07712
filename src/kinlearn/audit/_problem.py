"""The data of a comparison: read and checked once, and known by a hash."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from kinlearn.sharing.internal import FinestLevel
from kinlearn.tables.internal import FrameTable, open_table
from kinlearn.tasks import class_codes, numbers, split_task
from kinlearn.tasks.internal import path_codes, split_path
from kinlearn.utils._sklearn import safe_indexing
from kinlearn.utils._typing import Table, TaskPath

__all__ = ["KINDS", "Problem", "hash_arrays", "open_problem"]

KINDS = ("classification", "regression")
# A target of integers with more values than this is taken for a number.
_MOST_CLASSES = 20
_NAME = "compare_sharing"


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, their tasks and targets.

    - `X`: All columns, the task among them, but those above it.
    - `y` (n_rows,): Class labels or float64 numbers.
    - `task`: The task column, as the user named it; of a path the finest.
    - `tasks` (n_tasks,): Task values, ascending.
    - `codes` (n_rows,): Task of each row.
    - `kind`: What is predicted.
    - `classes`: Class labels, ascending.
    - `task_name`: What sentences call the task column.
    - `target_name`: Name of y, where it has one.
    - `n_features`: Columns besides the task.
    - `path`: All columns of the path, coarse to fine; empty if there is one column.
    - `whole`: X as it came, with the columns above the task; None if there are none.
    - `groups`: By each of these columns, the values, and the place of each row among
      them.
    """

    X: Any
    y: np.ndarray
    task: str | int
    tasks: np.ndarray
    codes: np.ndarray
    kind: str
    classes: np.ndarray | None
    task_name: str
    target_name: str | None
    n_features: int
    path: tuple = ()
    whole: Any = None
    groups: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Rows of each task."""
        return np.bincount(self.codes, minlength=self.n_tasks)

    @cached_property
    def label_codes(self) -> np.ndarray:
        """Class of each row, by its position among the classes."""
        classes: Any = self.classes
        return np.searchsorted(classes, self.y)

    @cached_property
    def n_minor(self) -> np.ndarray:
        """Rows of each task outside its most common class; all rows in regression."""
        if self.classes is None:
            return self.sizes
        cells = self.codes.astype(np.int64) * len(self.classes) + self.label_codes
        counts = np.bincount(cells, minlength=self.n_tasks * len(self.classes))
        return self.sizes - counts.reshape(self.n_tasks, -1).max(axis=1)

    @property
    def is_frame(self) -> bool:
        """Whether X is a data frame."""
        return isinstance(open_table(self.X), FrameTable)

    def take(self, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Some rows of X and y."""
        return safe_indexing(self.given, rows), self.y[rows]

    @property
    def given(self) -> Any:
        """X as it came."""
        return self.X if self.whole is None else self.whole

    @property
    def column(self) -> Any:
        """The task column, or the path of columns, as the user named it."""
        return list(self.path) if self.path else self.task

    def at_level(self, name: str) -> "Problem":
        """The same rows with the groups of a level for their tasks."""
        tasks, codes = self.groups[name]
        return replace(self, tasks=tasks, codes=codes, task_name=name, groups={})

    def fingerprint(self) -> str:
        """Hash of all values, the same in every process."""
        return hash_arrays(str(self.column), self.kind, *_parts(self.given), self.y)


def _parts(X: Any) -> Iterator[Any]:
    """What makes X what it is: strings and arrays, whatever holds them."""
    table = open_table(X)
    if isinstance(table, FrameTable):
        for position, name in enumerate(table.frame.columns):
            yield f"{name}: {table.frame[:, position].dtype}"
            yield table.column(position)
    elif sp.issparse(X):
        rows = sp.csr_array(X)
        rows.sum_duplicates()
        yield from (str(rows.shape), rows.indptr, rows.indices, rows.data)
    else:
        yield X


def hash_arrays(*parts: str | np.ndarray) -> str:
    """Hash of strings and arrays."""
    digest = hashlib.blake2b(digest_size=32)
    for part in parts:
        if isinstance(part, str):
            head, body = "text", np.frombuffer(part.encode(), np.uint8)
        elif part.dtype.kind in "OUST":
            text = repr(part.tolist()).encode()
            head, body = f"{part.shape}", np.frombuffer(text, np.uint8)
        else:
            head, body = f"{part.dtype.str}{part.shape}", np.ascontiguousarray(part)
        digest.update(f"{head}:{body.nbytes}:".encode())
        digest.update(body.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def open_problem(X: Table, y: Any, task: TaskPath, kind: str | None = None) -> Problem:
    """Read and check what a user passes."""
    if task is None:
        raise ValueError(
            "task=None is one task for all rows, so there is nothing to share. Name "
            "the task column: task='school', or task=-1 for the last column."
        )
    if kind is not None and kind not in KINDS:
        raise ValueError(
            f"kind must be 'classification', 'regression' or None; got {kind!r}."
        )
    levels, finest = split_path(task)
    path: dict[str, Any] = {}
    if levels:
        X, tasks, codes, columns, path = _open_path(X, (*levels, finest))
    else:
        _, tasks, codes, columns = split_task(X, finest)
    if len(tasks) < 2:
        raise ValueError(
            f"{columns.where} holds a single task, {tasks.tolist()[0]!r}, so there is "
            "nothing to share. Is it the right column?"
        )
    if len(tasks) == len(codes):
        raise ValueError(
            f"{columns.where} holds another value in each of the {len(codes)} rows. A "
            "task is a group of rows; is it the right column?"
        )
    position: Any = columns.task
    target_name = getattr(y, "name", None)
    series = nw.from_native(y, series_only=True, pass_through=True)
    y = FrameTable(series.to_frame(), None).column(0) if _is_series(series) else y
    kind = _guess_kind(y) if kind is None else kind
    classes = None
    if kind == "classification":
        classes, labels = class_codes(y, _NAME, codes, tasks)
        y = classes[labels]
        if len(classes) < 2:
            raise ValueError(
                f"y holds a single class, {classes.tolist()[0]!r}; two or more are "
                "needed. Is it the right target?"
            )
    else:
        y = numbers(y, _NAME, codes, tasks)
    if len(y) != len(codes):
        raise ValueError(f"X has {len(codes)} rows, but y has {len(y)}.")
    return Problem(
        X=open_table(X).native,
        y=y,
        task=finest,
        tasks=tasks,
        codes=codes,
        kind=kind,
        classes=classes,
        task_name="task" if columns.names is None else columns.names[position],
        target_name=None if target_name is None else str(target_name),
        n_features=len(columns.features),
        **path,
    )


def _open_path(X: Table, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """X without the columns above the task, the tasks, and fields for the path."""
    reader: Any = FinestLevel(None, task=path)
    plain = reader.open(X)
    paths, columns = reader._paths, reader._columns
    codes = path_codes(open_table(X), columns, paths)
    groups = {
        name: (paths.group_names(level), codes[level])
        for level, name in enumerate(paths.names[:-1])
    }
    fields = {"path": path, "whole": open_table(X).native, "groups": groups}
    return plain, reader.tasks_, codes[-1], columns, fields


def _is_series(thing: Any) -> bool:
    return isinstance(thing, nw.Series)


def _guess_kind(y: Any) -> str:
    values = np.asarray(y)
    if values.dtype == object and values.ndim == 1:
        cells = set(map(type, values.tolist()))
        if cells <= {int, float}:
            values = values.astype(np.float64)
    if values.dtype.kind not in "fiu":
        return "classification"
    if values.dtype.kind == "f":
        present = values[np.isfinite(values)]
        if (present != np.round(present)).any():
            return "regression"
    few = len(np.unique(values)) <= _MOST_CLASSES
    return "classification" if few else "regression"
