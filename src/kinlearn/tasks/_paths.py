"""Tasks within groups of tasks: a path of columns from coarse to fine.

The finest column holds the task, the others hold known groups of tasks. A task is its
whole path: clinic 3 of region A and clinic 3 of region B are two tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.tables.internal import AnyTable, find_column
from kinlearn.tasks._columns import TaskColumns
from kinlearn.tasks._task_column import (
    encode_values,
    lookup_values,
    name_once,
    read_tasks,
)
from kinlearn.utils._typing import TaskColumn
from kinlearn.utils._values import show_values, warn_caller

__all__ = [
    "TaskPaths",
    "known_path_codes",
    "path_codes",
    "path_names",
    "read_paths",
    "split_path",
]

_BETWEEN = " / "  # the parts of a path, in the name of a task


def split_path(task: Any) -> tuple[tuple[Any, ...], Any]:
    """The coarser columns of a path, and the finest; of a single column, only that.

    Parameters
    ----------
    task : str, int, None, or a list or tuple of str or int
        What a user passes as `task`.

    Returns
    -------
    levels : tuple
        Coarser columns, coarse to fine.
    task : str, int or None
        The column of the tasks.
    """
    if not isinstance(task, list | tuple):
        return (), task
    if not len(task):
        raise ValueError(
            "task is an empty list. Name the columns from coarse to fine, such as "
            'task=["region", "clinic"], or pass None for one task.'
        )
    if any(column is None for column in task):
        raise ValueError(
            f"task={task!r} holds None among its columns. Leave it out, or pass "
            "task=None for one task."
        )
    return tuple(task[:-1]), task[-1]


@dataclass(frozen=True, eq=False)
class TaskPaths:
    """The tasks that fit saw, by their paths.

    A group of a level is the path down to it, so a district of region A is not the
    district of the same name of region B.

    Attributes
    ----------
    names : tuple of str
        Names of the columns from coarse to fine, that of the tasks last.
    values : list of ndarray
        Distinct values of each column, ascending.
    keys : list of int64 arrays
        Groups of each level: the number of the group that they lie in, times the
        number of values, plus the code of the value; ascending.
    task_of : int32 array of shape (n_tasks,)
        Code of each task, in the order of the last `keys`.
    groups : int32 array of shape (n_levels, n_tasks)
        Group of each task at each coarser level.
    """

    names: tuple
    values: list
    keys: list
    task_of: np.ndarray
    groups: np.ndarray

    @property
    def n_levels(self) -> int:
        """Number of columns beside that of the tasks."""
        return len(self.names) - 1

    def n_groups(self, level: int) -> int:
        """Number of groups of a level."""
        return len(self.keys[level])

    def lookup(self, values: list, codes: list) -> np.ndarray:
        """Group at each level, and last the task, of rows; -1 is unknown.

        `values` are those of each column, `codes` the rows' among them.
        """
        n_rows = len(codes[0])
        out = np.full((len(self.names), n_rows), -1, dtype=np.int32)
        group = np.zeros(n_rows, dtype=np.int64)
        for j, (known, keys) in enumerate(zip(self.values, self.keys, strict=True)):
            where = self.where(j)
            code = lookup_values(known, values[j], where)[codes[j]]
            key = np.where((group >= 0) & (code >= 0), group * len(known) + code, -1)
            place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            group = np.where(keys[place] == key, place, -1)
            out[j] = group
        out[-1] = np.where(group >= 0, self.task_of[group], -1)
        return out

    def group_names(self, level: int) -> np.ndarray:
        """What the groups of a level are called, as tasks are."""
        known, keys = self.values[level], self.keys[level]
        if len(keys) == len(known):
            return known[keys % len(known)]
        return _labels(self.values[: level + 1], self.keys[: level + 1])

    def where(self, level: int) -> str:
        """How messages call a column."""
        role = "Task" if level == self.n_levels else "Level"
        return f"{role} column {self.names[level]!r}"


def _labels(values: list, keys: list) -> np.ndarray:
    """Names of the groups of the last level: their paths."""
    names = np.array([""], dtype=object)
    for known, key in zip(values, keys, strict=True):
        own = np.array([str(v) for v in known.tolist()], dtype=object)
        before = names[key // len(known)]
        names = np.array(
            [
                f"{above}{_BETWEEN}{each}" if above else each
                for above, each in zip(before, own[key % len(known)], strict=True)
            ],
            dtype=object,
        )
    return names


def _column_name(table: AnyTable, key: Any, role: str) -> str:
    position = find_column(key, table, role)
    return table.names[position] if table.names else f"x{position}"


def read_paths(
    table: AnyTable, levels: Sequence[str | int], task: TaskColumn, role: str = "Task"
) -> tuple[np.ndarray, np.ndarray, TaskPaths]:
    """Tasks, the code of each row, and their paths.

    Tasks are called by the value of the finest column where no two paths share one,
    otherwise by texts such as ``"A / 3"``; in both cases they ascend.
    """
    roles = [*["Level"] * len(levels), role]
    columns = [*levels, task]
    names = tuple(
        _column_name(table, key, r) for key, r in zip(columns, roles, strict=True)
    )
    values: list[np.ndarray] = []
    keys: list[np.ndarray] = []
    of_rows = []
    group = np.zeros(table.n_rows, dtype=np.int64)
    for key, r in zip(columns, roles, strict=True):
        known, codes = read_tasks(table, key, r)
        found, group = np.unique(group * len(known) + codes, return_inverse=True)
        values.append(known)
        keys.append(found)
        of_rows.append(group)
    n_tasks, fine = len(keys[-1]), values[-1]
    if n_tasks == len(fine):
        task_of, tasks = (keys[-1] % len(fine)).astype(np.int32), fine
    else:
        labels = _labels(values, keys)
        _check_different(labels, names)
        tasks, task_of = encode_values(labels)
    codes = task_of[group]
    groups = np.zeros((len(levels), n_tasks), dtype=np.int32)
    for level, rows in enumerate(of_rows[:-1]):
        groups[level, codes] = rows
    return tasks, codes, TaskPaths(names, values, keys, task_of, groups)


def _check_different(labels: np.ndarray, names: Sequence[str]) -> None:
    different, counts = np.unique(labels.astype(str), return_counts=True)
    if len(different) < len(labels):
        raise ValueError(
            f"Two paths of the columns {show_values(names)} are both called "
            f"{show_values(different[counts > 1][:1])}, because their values hold "
            f"{_BETWEEN!r}. Rename these values."
        )


def known_path_codes(
    table: AnyTable,
    columns: TaskColumns,
    tasks: np.ndarray,
    paths: TaskPaths,
    unknown_task: str | None,
    estimator: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the rows' tasks, and of their groups by level; -1 if they may be new."""
    values, codes = _read_again(table, columns, paths)
    found = paths.lookup(values, codes)
    unknown = found[-1] < 0
    if unknown_task == "share" or not unknown.any():
        return found[-1], found[:-1]
    messages, strange = [], []
    for level in range(len(paths.names)):
        rows = found[level] < 0
        rows &= True if level == 0 else found[level - 1] >= 0
        if not rows.any():
            continue
        new = _new_names(values[: level + 1], codes[: level + 1], rows)
        strange.append(new)
        kind = "task" if level == paths.n_levels else "group"
        text = (
            f"{paths.where(level)} holds {len(new)} {kind}(s) that {estimator} did not "
            f"see in fit: {show_values(new)}, in {rows.sum()} of {len(rows)} rows."
        )
        basis = "all known tasks have"
        if level:
            basis = f"known tasks of the same {paths.names[level - 1]!r} have"
        messages.append((text, f"They are predicted by what {basis} in common."))
    if unknown_task == "warn":
        if name_once(tasks, np.concatenate(strange)):
            warn_caller(
                " ".join(part for each in messages for part in each)
                + ' Set unknown_task="share" if that is meant, "error" if it must not '
                "be.",
                UnknownTaskWarning,
            )
        return found[-1], found[:-1]
    choice = "or drop the rows."
    if unknown_task is not None:
        choice = 'drop the rows, or set unknown_task="share".'
    raise ValueError(
        f"{' '.join(text for text, _ in messages)} Fit saw {show_values(tasks)}. Fit "
        f"with these tasks, {choice}"
    )


def path_codes(table: AnyTable, columns: TaskColumns, paths: TaskPaths) -> np.ndarray:
    """Groups of new rows at each level, and last their tasks; -1 is unknown."""
    return paths.lookup(*_read_again(table, columns, paths))


def path_names(
    table: AnyTable, columns: TaskColumns, tasks: np.ndarray, paths: TaskPaths
) -> tuple[np.ndarray, np.ndarray]:
    """Tasks of new rows, known or not, and the code of each row among them.

    Those that fit did not see are called by their whole path.
    """
    values, codes = _read_again(table, columns, paths)
    found = paths.lookup(values, codes)[-1]
    if (found >= 0).all():
        present, code = np.unique(found, return_inverse=True)
        return tasks[present], code
    named = _row_names(values, codes)
    strange, place = encode_values(named[found < 0])
    key = found.astype(np.int64)
    key[found < 0] = len(tasks) + place
    every = np.concatenate([tasks.astype(object), strange])
    present, code = np.unique(key, return_inverse=True)
    return every[present], code


def _read_again(
    table: AnyTable, columns: TaskColumns, paths: TaskPaths
) -> tuple[list, list]:
    finest: Any = columns.task
    pairs = [read_tasks(table, columns.key(j), "Level") for j in columns.levels]
    pairs.append(read_tasks(table, columns.key(finest), "Task"))
    return [values for values, _ in pairs], [codes for _, codes in pairs]


def _row_names(values: list, codes: list) -> np.ndarray:
    """The path of each row, as a text."""
    texts = [
        np.array([str(v) for v in known.tolist()], dtype=object)[code]
        for known, code in zip(values, codes, strict=True)
    ]
    return np.array(
        [_BETWEEN.join(parts) for parts in zip(*texts, strict=True)], object
    )


def _new_names(values: list, codes: list, rows: np.ndarray) -> np.ndarray:
    if len(values) == 1:  # of the coarsest level, as they are
        return values[0][np.unique(codes[0][rows])].astype(object)
    return encode_values(_row_names(values, [code[rows] for code in codes]))[0]
