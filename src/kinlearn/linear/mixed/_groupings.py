"""Columns that group the rows: the task, and others, nested or crossed with it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.tables.internal import AnyTable, find_column
from kinlearn.tasks.internal import encode_values, lookup_values, read_tasks
from kinlearn.utils._values import show_values, warn_caller

__all__ = ["GroupColumns", "Grouping", "choose", "group_keys", "key_columns"]

# A column, or several whose combinations are the levels: a cask within its batch.
GroupColumns: TypeAlias = str | int | tuple[str | int, ...]


def key_columns(key: GroupColumns) -> tuple[str | int, ...]:
    """The columns of a grouping."""
    return tuple(key) if isinstance(key, list | tuple) else (key,)


def group_keys(groups: Any) -> list[GroupColumns]:
    """The groupings that a user names, checked."""
    if groups is None:
        return []
    if isinstance(groups, str | int):
        raise TypeError(
            f"groups must be a list of columns; got {groups!r}. Write "
            f"groups=[{groups!r}]."
        )
    keys = []
    for key in groups:
        columns = key_columns(key)
        if not columns or not all(
            isinstance(c, str | int | np.integer) for c in columns
        ):
            raise TypeError(
                "groups must hold names or positions of columns, or tuples of them "
                f"whose combinations are meant; got {key!r}."
            )
        keys.append(columns if isinstance(key, list | tuple) else key)
    return keys


def choose(option: Any, key: Any, name: str, default: Any) -> Any:
    """What a parameter says of one grouping; it may be a mapping from groupings."""
    if not isinstance(option, Mapping):
        return option
    for known in (key, name):
        if known in option:
            return option[known]
    return default


@dataclass(frozen=True, eq=False)
class Grouping:
    """A grouping of the rows, as fit saw it.

    Attributes
    ----------
    name : str
        How tables and messages call it: ``school``, or ``batch:cask``.
    columns : list of int
        Positions of its columns in X.
    values : list of ndarray
        Distinct values of each of these columns, ascending.
    keys : int64 array of shape (n_levels, n_columns)
        The combinations of their codes that occur, ascending.
    """

    name: str
    columns: list[int]
    values: list[np.ndarray]
    keys: np.ndarray

    @classmethod
    def of_tasks(cls, name: str, column: int, tasks: np.ndarray) -> "Grouping":
        """The grouping by task."""
        return cls(name, [column], [tasks], np.arange(len(tasks))[:, None])

    @classmethod
    def read(cls, table: AnyTable, key: GroupColumns) -> tuple["Grouping", np.ndarray]:
        """A grouping of the rows of fit, and the level of each."""
        columns = [find_column(c, table, "Group") for c in key_columns(key)]
        names = [table.names[c] if table.names else f"x{c}" for c in columns]
        empty = np.zeros((0, len(columns)), dtype=np.int64)
        grouping = cls(":".join(names), columns, [], empty)
        values, codes = zip(*(grouping._read(table, c) for c in columns), strict=True)
        grouping = replace(grouping, values=list(values))
        keys, levels = grouping._number(np.column_stack(codes))
        return replace(grouping, keys=keys), levels

    @staticmethod
    def _read(table: AnyTable, column: int) -> tuple[np.ndarray, np.ndarray]:
        key = table.names[column] if table.names else column
        return read_tasks(table, key, "Group")

    def _number(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Combinations of codes that occur, ascending, and the one of each row."""
        found = np.zeros(len(codes), dtype=np.int64)
        for j, values in enumerate(self.values):
            # numbers stay below that of the rows, so that products cannot overflow
            key = found * len(values) + codes[:, j]
            found = np.unique(key, return_inverse=True)[1]
        keys = np.zeros((found.max(initial=-1) + 1, codes.shape[1]), dtype=np.int64)
        keys[found] = codes
        return keys, found.astype(np.int32)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.keys)

    @property
    def labels(self) -> np.ndarray:
        """The levels: values of the column, or texts like ``A:b`` of several."""
        if len(self.columns) == 1:
            return self.values[0][self.keys[:, 0]]
        codes = [values[self.keys[:, j]] for j, values in enumerate(self.values)]
        parts = zip(*codes, strict=True)
        return np.array([":".join(map(str, p)) for p in parts], dtype=object)

    def levels(self, table: AnyTable, unknown: str, estimator: str) -> np.ndarray:
        """Levels of new rows, which have the columns of fit; -1 if it is new."""
        known, codes = np.ones(table.n_rows, dtype=bool), []
        for column, values in zip(self.columns, self.values, strict=True):
            found, code = self._read(table, column)
            place = lookup_values(values, found, f"Group column {self.name!r}")[code]
            known &= place >= 0
            codes.append(np.maximum(place, 0))
        every, found = self._number(np.vstack([self.keys, np.column_stack(codes)]))
        level = np.full(len(every), -1)
        level[found[: self.n_levels]] = np.arange(self.n_levels)
        place = level[found[self.n_levels :]]
        known &= place >= 0
        if unknown != "share" and not known.all():
            self._complain(int((~known).sum()), unknown, estimator)
        return np.where(known, place, -1).astype(np.int32)

    def _complain(self, n_rows: int, unknown: str, estimator: str) -> None:
        message = (
            f"Group column {self.name!r} holds levels that {estimator} did not see in "
            f"fit, in {n_rows} rows. "
        )
        if unknown == "error":
            raise ValueError(
                f"{message}Fit saw {show_values(self.labels)}. Fit with these levels, "
                'drop the rows, or set unknown_task="share".'
            )
        warn_caller(
            f"{message}Their effects are taken as zero. Set "
            'unknown_task="share" if that is meant, "error" if it must not be.',
            UnknownTaskWarning,
        )

    def extended(self, table: AnyTable) -> tuple["Grouping", np.ndarray, np.ndarray]:
        """The grouping with the levels of later rows.

        Returns it, the place of each old level among all, and the level of each row.
        """
        values, codes, moved = [], [], []
        for column, old in zip(self.columns, self.values, strict=True):
            found, code = self._read(table, column)
            where = f"Group column {self.name!r}"
            lookup_values(old, found, where)  # refuses another type
            every, place = encode_values(np.concatenate([old, found]))
            values.append(every)
            moved.append(place[: len(old)])
            codes.append(place[len(old) :][code])
        wide = replace(self, values=values)
        before = [place[self.keys[:, j]] for j, place in enumerate(moved)]
        both = np.vstack([np.column_stack(before), np.column_stack(codes)])
        keys, places = wide._number(both)
        n_old = self.n_levels
        return replace(wide, keys=keys), places[:n_old], places[n_old:]
