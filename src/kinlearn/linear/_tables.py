"""Tables of mixed columns: categories that fit did not see, and empty columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn.exceptions import UnusedColumnWarning
from kinlearn.tasks import TaskData
from kinlearn.utils._values import show_values, warn_caller

__all__ = ["Categories", "warn_of_missing"]

_EMPTY = "no value in any row"


def warn_of_missing(encoder: Any) -> None:
    """Name the columns of a table that have no value in any row of fit."""
    meanings = [] if encoder is None else encoder.meanings_
    empty = [each["name"] for each in meanings if each.get("why") == _EMPTY]
    if empty:
        warn_caller(
            "Nothing can be learned from columns that are missing in all rows: "
            f"{show_values(empty)}. Drop them, or look where their values were lost.",
            UnusedColumnWarning,
        )


@dataclass(frozen=True, eq=False)
class Categories:
    """Columns of a table that became indicators, one of which is 1 in every row.

    Attributes
    ----------
    columns : list of intp arrays
        Indicators of each such column, as columns of the numeric X.
    averages : list of float64 arrays
        Their means in fit.
    """

    columns: list[np.ndarray]
    averages: list[np.ndarray]

    @classmethod
    def find(cls, data: TaskData) -> "Categories":
        """The categories of training rows."""
        columns: list[np.ndarray] = []
        averages: list[np.ndarray] = []
        if data.encoder is None:
            return cls(columns, averages)
        origin, weight = data.encoder.origin_, data.sample_weight
        for position in np.unique(origin):
            some = np.flatnonzero(origin == position)
            values = data.X[:, some]
            if np.isin(values, (0.0, 1.0)).all() and (values.sum(axis=1) == 1.0).all():
                columns.append(some)
                averages.append(np.average(values, axis=0, weights=weight))
        return cls(columns, averages)

    def with_averages(self, X: Any) -> Any:
        """X, in which categories that fit did not see are the average one.

        Where all indicators are zero, coefficients mean the category that has none.
        """
        copied = False
        for columns, averages in zip(self.columns, self.averages, strict=True):
            new = ~X[:, columns[averages > 0.0]].any(axis=1)
            if new.any():
                X, copied = X if copied else X.copy(), True
                X[np.ix_(new, columns)] = averages
        return X
