"""Constraints on features, from columns of X to what the kernel takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from kinlearn.exceptions import UnusedColumnWarning
from kinlearn.tasks import TaskColumns
from kinlearn.utils._values import show_values, warn_caller

__all__ = ["FeatureColumns"]


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Which column of X each feature comes from.

    Attributes
    ----------
    columns : TaskColumns
        What fit saw of the columns.
    origin : int array of shape (n_features,)
        Position in X of the column of each feature.
    categorical : bool array of shape (n_features,)
        Which features are categories.
    """

    columns: TaskColumns
    origin: np.ndarray
    categorical: np.ndarray

    def position(self, key: Any, role: str) -> int:
        """Position of a column that a parameter names, or an error."""
        columns = self.columns
        if isinstance(key, str):
            if columns.names is None:
                raise ValueError(
                    f"{role} names a column {key!r}, but the columns of X have no "
                    "names. Give its position."
                )
            if key not in columns.names:
                raise ValueError(
                    f"{role} names a column {key!r} that X does not have. X has "
                    f"{', '.join(map(repr, columns.names[:10]))}."
                )
            return columns.names.index(key)
        if isinstance(key, bool) or not isinstance(key, Integral):
            raise TypeError(
                f"{role} must name columns by name or position; got {key!r} of type "
                f"{type(key).__name__}."
            )
        n, key = columns.n_columns, int(key)
        if not -n <= key < n:
            raise ValueError(
                f"{role} names column {key}, but X has {n} columns, from 0 to {n - 1}."
            )
        return key % n

    def features(self, position: int, role: str) -> np.ndarray:
        """Features that come from a column; an error if it is no feature."""
        found = np.flatnonzero(self.origin == position)
        if len(found) == 0:
            name = self.columns.all_names[position]
            what = "is the task" if position == self.columns.task else "is no feature"
            raise ValueError(f"{role} names column {name!r}, which {what}.")
        return found

    def warn_of_missing(self, has_values: np.ndarray) -> None:
        """Name the columns without a single value in the rows that count."""
        some = np.flatnonzero(~has_values)
        if len(some):
            names = np.unique(self.columns.all_names[self.origin[some]])
            warn_caller(
                "Nothing can be learned from columns that are missing in all rows: "
                f"{show_values(names)}. Drop them, or look where their values were "
                "lost.",
                UnusedColumnWarning,
            )

    def directions(self, monotonic_cst: Any) -> np.ndarray | None:
        """1 where values must rise with a feature, -1 where they must fall, or 0."""
        role = "monotonic_cst"
        if monotonic_cst is None:
            return None
        if isinstance(monotonic_cst, Mapping):
            given = [(self.position(k, role), v) for k, v in monotonic_cst.items()]
        else:
            values = np.asarray(monotonic_cst)
            if values.shape != (self.columns.n_columns,):
                raise ValueError(
                    f"monotonic_cst has shape {values.shape}, but X has "
                    f"{self.columns.n_columns} columns, the task column included."
                )
            given = list(enumerate(values.tolist()))
        out = np.zeros(len(self.origin), dtype=np.int8)
        for position, value in given:
            if value not in (-1, 0, 1):
                raise ValueError(
                    "monotonic_cst must be -1, 0 or 1 for each column; got "
                    f"{value!r} for {self.columns.all_names[position]!r}."
                )
            if value == 0:
                continue
            found = self.features(position, role)
            if self.categorical[found].any():
                raise ValueError(
                    "monotonic_cst constrains column "
                    f"{self.columns.all_names[position]!r}, which holds categories: "
                    "they have no order."
                )
            out[found] = value
        return out if out.any() else None

    def groups(self, interaction_cst: Any) -> np.ndarray | None:
        """Features that may act together in a branch, as masks."""
        role = "interaction_cst"
        d = len(self.origin)
        if interaction_cst is None:
            return None
        places = np.unique(self.origin)
        if isinstance(interaction_cst, str):
            size = 1 if interaction_cst == "no_interactions" else 2
            sets = [[p] for p in places]
            if size == 2:
                sets = [[p, q] for i, p in enumerate(places) for q in places[:i]]
                sets = sets or [[p] for p in places]
        else:
            sets = []
            for group in interaction_cst:
                if isinstance(group, str) or not isinstance(
                    group, Sequence | set | frozenset | np.ndarray
                ):
                    raise TypeError(
                        "interaction_cst must be a sequence of groups of columns; one "
                        f"of them is {group!r}."
                    )
                sets.append([self.position(key, role) for key in group])
            named = {p for group in sets for p in group}
            rest = [p for p in places if p not in named]
            sets += [rest] if rest else []
        out = np.zeros((len(sets), d), dtype=np.uint8)
        for mask, group in zip(out, sets, strict=True):
            for position in group:
                mask[self.features(position, role)] = 1
        return out
