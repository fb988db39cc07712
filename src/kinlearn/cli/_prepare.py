"""The way from a table of mixed columns to numbers, as a scikit-learn pipeline.

It never looks at the target: an encoding by mean targets would show each task
what the others' targets are, and "alone" would not be alone any more.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kinlearn.cli._kinds import (
    as_categories,
    as_dates,
    as_numbers,
    as_text,
    as_truth,
    min_level_rows,
)
from kinlearn.tasks import keep_task

__all__ = ["TableColumns", "make_preparation", "unreadable_cells"]

_MAX_LEVELS = 30


class TableColumns(TransformerMixin, BaseEstimator):
    """Read the columns of a table as what they mean.

    Parameters
    ----------
    kinds : list of dict
        As :func:`find_kinds` gives; dropped columns stay away.

    Notes
    -----
    Numbers, and yes/no as 1 and 0, come out as float64 with NaN for missing
    cells. A date becomes its year, month, day of the week (0 is Monday), the days
    since the earliest date in training and, where there are times, the hour.
    Categories come out as text.

    Examples
    --------
    >>> import pandas as pd
    >>> from kinlearn.cli._prepare import TableColumns
    >>> kinds = [{"name": "size", "kind": "number"}, {"name": "new", "kind": "yes/no"}]
    >>> frame = pd.DataFrame({"new": ["no", "yes"], "size": ["1.5", "?"]})
    >>> TableColumns(kinds).fit_transform(frame).to_numpy()
    array([[1.5, 0. ],
           [nan, 1. ]])
    """

    def __init__(self, kinds: list[dict[str, Any]]) -> None:
        self.kinds = kinds

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Remember the columns.

        Parameters
        ----------
        X : pandas.DataFrame
            The table.
        y : object, default=None
            Not looked at.

        Returns
        -------
        TableColumns
            The fitted object.
        """
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Read the columns.

        Parameters
        ----------
        X : pandas.DataFrame
            A table with these columns, in any order.

        Returns
        -------
        pandas.DataFrame
            Numbers and text.
        """
        parts: dict = {}
        for kind in self.kinds:
            if kind["kind"] != "dropped":
                parts |= _read_column(X[kind["name"]], kind)
        return pd.DataFrame(parts, index=X.index)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that come out.

        Parameters
        ----------
        input_features : object, default=None
            Not looked at.

        Returns
        -------
        ndarray of str
            Column names.
        """
        names = [name for kind in self.kinds for name in _names_out(kind)]
        return np.asarray(names, dtype=object)


def _date_parts(kind: dict[str, Any]) -> list[str]:
    parts = ["year", "month", "weekday", "days"]
    return parts + (["hour"] if kind["hours"] else [])


def _names_out(kind: dict[str, Any]) -> list[str]:
    if kind["kind"] == "dropped":
        return []
    if kind["kind"] == "date":
        return [f"{kind['name']}: {part}" for part in _date_parts(kind)]
    return [kind["name"]]


def _read_column(column: pd.Series, kind: dict[str, Any]) -> dict[str, Any]:
    names = _names_out(kind)
    if kind["kind"] == "category":
        return {names[0]: as_categories(column)}
    if kind["kind"] == "yes/no":
        return {names[0]: as_truth(column)}
    if kind["kind"] == "number":
        return {names[0]: as_numbers(column, kind.get("comma"))}
    dates = as_dates(column, kind["format"])
    days = (dates - pd.Timestamp(kind["origin"])) / pd.Timedelta(days=1)
    fields = [dates.dt.year, dates.dt.month, dates.dt.day_of_week, np.floor(days)]
    if kind["hours"]:
        fields.append(dates.dt.hour)
    return {
        name: part.to_numpy(np.float64, na_value=np.nan)
        for name, part in zip(names, fields, strict=True)
    }


def unreadable_cells(
    frame: pd.DataFrame, kinds: list[dict[str, Any]]
) -> dict[str, Any]:
    """Cells that are there but cannot be read as what their column means.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table.
    kinds : list of dict
        As :func:`find_kinds` gives.

    Returns
    -------
    dict
        Column -> (number of such cells, the first of them).
    """
    found = {}
    for kind in kinds:
        if kind["kind"] in ("dropped", "category"):
            continue
        column = frame[kind["name"]]
        values = next(iter(_read_column(column, kind).values()))
        lost = column.notna().to_numpy() & np.isnan(values)
        if lost.any():
            first = as_text(column[lost]).iloc[0]
            found[kind["name"]] = int(lost.sum()), first
    return found


def make_preparation(
    kinds: list[dict[str, Any]],
    n_rows: int,
    *,
    task: str,
    fill: bool = True,
    scale: bool = False,
) -> Any:
    """A pipeline from a table to numbers, that leaves the task column alone.

    Parameters
    ----------
    kinds : list of dict
        As :func:`find_kinds` gives.
    n_rows : int
        Rows of the training table.
    task : str
        The task column.
    fill : bool, default=True
        Put the median for missing numbers, and an indicator beside it.
    scale : bool, default=False
        Bring numbers to unit variance.

    Returns
    -------
    KeepTask
        Not fitted. Categories become indicators: of the 30 most frequent values
        at the most, each in enough rows; all others, and new ones, are one
        "infrequent" value.
    """
    numbers: list[str] = []
    categories: list[str] = []
    for kind in kinds:
        (categories if kind["kind"] == "category" else numbers).extend(_names_out(kind))
    steps: list = []
    if fill:
        filler = SimpleImputer(
            strategy="median", add_indicator=True, keep_empty_features=True
        )
        steps.append(("fill", filler))
    if scale:
        steps.append(("scale", StandardScaler()))
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=min_level_rows(n_rows),
        max_categories=_MAX_LEVELS,
        sparse_output=False,
    )
    parts = []
    if numbers:
        parts.append(("number", Pipeline(steps) if steps else "passthrough", numbers))
    if categories:
        parts.append(("category", encoder, categories))
    # "colour_red" may be a column of its own beside a category "colour".
    clash = any(n.startswith(f"{c}_") for c in categories for n in numbers + categories)
    encode = ColumnTransformer(
        parts, sparse_threshold=0, verbose_feature_names_out=clash
    )
    pipeline = Pipeline([("columns", TableColumns(kinds)), ("encode", encode)])
    return keep_task(pipeline, task=task)
