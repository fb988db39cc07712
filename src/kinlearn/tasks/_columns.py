"""Which column of X is what: task, privileged, feature; in fit and afterwards."""

import numbers
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from kinlearn.tables.internal import AnyTable, find_column
from kinlearn.utils._loaded import demand
from kinlearn.utils._typing import TaskColumn
from kinlearn.utils._values import show_values

__all__ = ["TaskColumns", "find_categorical", "resolve_columns"]


@dataclass(frozen=True)
class TaskColumns:
    """What fit saw of the columns of X, and how to find them again.

    Attributes
    ----------
    names : tuple of str or None
        All column names, None for arrays.
    n_columns : int
        Width of X, the task and privileged columns included.
    task : int or None
        Position of the task column.
    privileged : tuple of int
        Positions of the privileged columns.
    groups : tuple of int
        Positions of columns that group the rows otherwise than by task.
    levels : tuple of int
        Positions of columns that hold groups of tasks, from coarse to fine.
    """

    names: tuple[str, ...] | None
    n_columns: int
    task: int | None
    privileged: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()

    def check(self, n_columns: int) -> None:
        """Refuse positions outside of the columns of a loaded model.

        Parameters
        ----------
        n_columns : int
            How many columns its X has.
        """
        used = [*self.privileged, *self.groups, *self.levels]
        used += [] if self.task is None else [self.task]
        demand(
            self.n_columns == n_columns
            and all(0 <= place < n_columns for place in used)
            and (self.names is None or len(self.names) == n_columns),
            "columns",
        )

    @property
    def features(self) -> tuple[int, ...]:
        """Positions of the feature columns."""
        other = {self.task, *self.privileged, *self.groups, *self.levels}
        return tuple(i for i in range(self.n_columns) if i not in other)

    @property
    def feature_names(self) -> np.ndarray:
        """Names of the feature columns; ``x0``, ``x1``... where X has none."""
        return self.all_names[list(self.features)]

    @property
    def all_names(self) -> np.ndarray:
        """Names of all columns of X; ``x0``, ``x1``... where X has none."""
        names = self.names or [f"x{i}" for i in range(self.n_columns)]
        return np.asarray(names, dtype=object)

    @property
    def where(self) -> str:
        """How messages call the task column."""
        key = None if self.task is None else self.key(self.task)
        return f"Task column {key!r}"

    def key(self, position: int) -> str | int:
        """The name of a column, or its position where X has no names.

        Parameters
        ----------
        position : int
            Of the column, from 0.

        Returns
        -------
        str or int
            What finds it in new data.
        """
        return position if self.names is None else self.names[position]

    def match(self, table: AnyTable, estimator: str) -> "TaskColumns":
        """The same columns in new data, or an error that names what changed.

        Parameters
        ----------
        table : table
            The new X.
        estimator : str
            Name for messages.

        Returns
        -------
        TaskColumns
            Positions in the new X, whose privileged columns may be gone.
        """
        if self.names is None or table.names is None:
            if (self.names is None) != (table.names is None):
                warnings.warn(
                    f"X has feature names, but {estimator} was fitted without "
                    "feature names"
                    if self.names is None
                    else f"X does not have valid feature names, but {estimator} was "
                    "fitted with feature names",
                    UserWarning,
                    stacklevel=2,
                )
            return self._match_width(table, estimator)
        if table.names == self.names:
            return self
        if self.task is not None and self.names[self.task] not in table.names:
            raise ValueError(
                f"{self.where} is not in X, but {estimator} was fitted with it. X has "
                f"the columns {show_values(table.names, 10)}."
            )
        for position in self.levels:
            if self.names[position] not in table.names:
                raise ValueError(
                    f"Level column {self.names[position]!r} is not in X, but "
                    f"{estimator} was fitted with it. X has the columns "
                    f"{show_values(table.names, 10)}."
                )
        extra = {self.names[i] for i in self.privileged}
        kept = tuple(n for n in self.names if n not in extra or n in table.names)
        if table.names != kept:
            self._raise_names(table, extra)
        return self._without([i for i, n in enumerate(self.names) if n not in kept])

    def _match_width(self, table: AnyTable, estimator: str) -> "TaskColumns":
        if table.n_columns == self.n_columns:
            return self
        narrow = self.n_columns - len(self.privileged)
        if self.privileged and table.n_columns == narrow:
            return self._without(self.privileged)
        hint = f" (or {narrow} without the privileged ones)" if self.privileged else ""
        if self.task is not None:
            hint += f", column {self.task} being the task"
            if self.levels:
                hint += f" and {show_values(self.levels)} its coarser levels"
            if table.n_columns == narrow - 1:
                hint += ". Is the task column missing? See kinlearn.with_task"
        raise ValueError(
            f"X has {table.n_columns} features, but {estimator} is expecting "
            f"{self.n_columns} features as input{hint}."
        )

    def _without(self, gone: Iterable[int]) -> "TaskColumns":
        """The positions after the columns `gone` were left out of X."""
        gone = set(gone)
        shift = np.cumsum(np.isin(np.arange(self.n_columns), list(gone)))
        moved = {i: i - int(shift[i]) for i in range(self.n_columns) if i not in gone}
        return TaskColumns(
            names=self.names
            and tuple(n for i, n in enumerate(self.names) if i not in gone),
            n_columns=self.n_columns - len(gone),
            task=None if self.task is None else moved[self.task],
            privileged=tuple(moved[i] for i in self.privileged if i not in gone),
            groups=tuple(moved[i] for i in self.groups),
            levels=tuple(moved[i] for i in self.levels),
        )

    def _raise_names(self, table: AnyTable, privileged: set[str]) -> NoReturn:
        now, then = set(table.names or ()), set(self.names or ())
        message = "The feature names should match those that were passed during fit.\n"
        for title, names in (
            ("Feature names unseen at fit time", now - then),
            (
                "Feature names seen at fit time, yet now missing",
                then - now - privileged,
            ),
        ):
            if names:
                shown = [f"- {name}\n" for name in sorted(names)[:5]]
                message += f"{title}:\n" + "".join(shown)
                message += "- ...\n" if len(names) > 5 else ""
        if now - then == set() and then - now <= privileged:
            message += "Feature names must be in the same order as they were in fit.\n"
        raise ValueError(message)


def resolve_columns(
    table: AnyTable,
    task: TaskColumn,
    privileged: Any,
    task_role: str = "Task",
    *,
    groups: Sequence[str | int] = (),
    levels: Sequence[str | int] = (),
    need_features: bool = True,
) -> TaskColumns:
    """Find the columns in the X of fit."""
    position = None if task is None else find_column(task, table, task_role)
    if privileged is None:
        privileged = []
    elif isinstance(privileged, str | numbers.Integral):
        privileged = [privileged]
    elif not isinstance(privileged, list | tuple | np.ndarray):
        raise TypeError(
            "privileged must be a column name, a position, a list of them or None; "
            f"got {privileged!r} of type {type(privileged).__name__}."
        )
    place = {name: i for i, name in enumerate(table.names or ())}
    extra = [
        place[key]
        if isinstance(key, str) and key in place
        else find_column(key, table, "Privileged")
        for key in privileged
    ]
    seen = set()
    for key, found in zip(privileged, extra, strict=True):
        if found == position:
            role = task_role.lower()
            raise ValueError(f"Column {key!r} cannot be both {role} and privileged.")
        if found in seen:
            raise ValueError(f"Privileged column {key!r} is given twice.")
        seen.add(found)
    columns = TaskColumns(
        names=table.names,
        n_columns=table.n_columns,
        task=position,
        privileged=tuple(sorted(extra)),
        groups=tuple(
            sorted({find_column(key, table, "Group") for key in groups} - {position})
        ),
        levels=_find_levels(table, levels, {position, *extra}),
    )
    if need_features and not columns.features:
        others = [f"the {task_role.lower()}"] if position is not None else []
        others += ["privileged columns"] if extra else []
        besides = f", counted besides {' and '.join(others)}" if others else ""
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({table.n_rows}, 0)) while a "
            f"minimum of 1 is required{besides}."
        )
    return columns


def _find_levels(
    table: AnyTable, levels: Sequence[str | int], taken: set[int | None]
) -> tuple[int, ...]:
    """Positions of the coarser columns of a path."""
    found: list[int] = []
    for key in levels:
        position = find_column(key, table, "Level")
        if position in taken or position in found:
            raise ValueError(
                f"Level column {key!r} is given twice. Name different columns, from "
                "coarse to fine, the task last."
            )
        found.append(position)
    return tuple(found)


def find_categorical(
    chosen: Any, table: AnyTable, columns: TaskColumns
) -> np.ndarray | None:
    """Which features a user names as categories, as a mask; None if there are none.

    `chosen` are names or positions of columns of X, or a mask of them.
    """
    chosen = np.asarray([] if chosen is None else chosen)
    if chosen.ndim != 1:
        raise ValueError(
            "categorical_features must be a list of columns or a mask of them; got an "
            f"array of shape {chosen.shape}."
        )
    if chosen.dtype == bool:
        if len(chosen) != table.n_columns:
            raise ValueError(
                f"categorical_features is a mask of {len(chosen)} columns, but X has "
                f"{table.n_columns}, the task column included."
            )
        chosen = np.flatnonzero(chosen)
    found = [find_column(key, table, "Categorical") for key in chosen.tolist()]
    features = columns.features
    for position in found:
        if position not in features:
            role = "task" if position == columns.task else "privileged"
            raise ValueError(
                f"Column {columns.all_names[position]!r} is the {role} column, which "
                "is no feature. Leave it out of categorical_features."
            )
    mask = np.isin(features, found)
    return mask if mask.any() else None
