"""Columns as models need them: numbers and categories, prepared inside a fold."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from kinlearn.tables._containers import FrameTable, open_table
from kinlearn.tasks._columns import find_column
from kinlearn.utils._typing import Table

__all__ = ["ColumnKinds", "read_columns"]

_CATEGORIES = (nw.String, nw.Categorical, nw.Enum, nw.Object)
# of one column; rarer ones share an indicator
_MOST_CATEGORIES = 20


@dataclass(frozen=True)
class ColumnKinds:
    """Which columns are numbers and which are categories; the task is neither.

    Attributes
    ----------
    numbers, categories : tuple of str
        Column names; both empty for arrays, which hold numbers only.
    sparse : bool
        Whether X is a sparse matrix.
    """

    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sparse: bool = False

    def preparation(self, *, scaled: bool) -> Any:
        """A transformer of all columns but the task, or None if none is needed.

        Parameters
        ----------
        scaled : bool
            Whether the model needs numbers of one scale and none missing; if
            not, categories become codes, and missing values stay.

        Returns
        -------
        transformer or None
            Not fitted.
        """
        if not scaled:
            return self._codes() if self.categories else None
        if self.sparse:
            return MaxAbsScaler()
        scale = make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True),
            StandardScaler(),
        )
        if not self.categories:
            return scale
        indicators = OneHotEncoder(
            max_categories=_MOST_CATEGORIES,
            handle_unknown="infrequent_if_exist",
            sparse_output=False,
        )
        return ColumnTransformer(
            [
                ("numbers", scale, list(self.numbers)),
                ("categories", indicators, list(self.categories)),
            ],
            sparse_threshold=0,
        )

    def _codes(self) -> ColumnTransformer:
        # scales nothing, but makes plain floats of a library's own integers
        same = StandardScaler(with_mean=False, with_std=False)
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        return ColumnTransformer(
            [
                ("numbers", same, list(self.numbers)),
                ("categories", codes, list(self.categories)),
            ],
            verbose_feature_names_out=False,
        )


def read_columns(X: Table, task: str | int) -> ColumnKinds:
    """Distinguish numbers and categories by the types of the columns.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame
        Rows with the task column.
    task : str or int
        The task column.

    Returns
    -------
    ColumnKinds
        What the columns hold.
    """
    table = open_table(X)
    if not isinstance(table, FrameTable):
        return ColumnKinds(sparse=sp.issparse(X))
    position = find_column(task, table, "Task")
    numbers, categories = [], []
    for place, name in enumerate(table.frame.columns):
        dtype = table.frame[:, place].dtype
        if place == position:
            continue
        if dtype.is_numeric() or dtype == nw.Boolean:
            numbers.append(name)
        elif dtype in _CATEGORIES:
            categories.append(name)
        else:
            raise TypeError(
                f"Column {name!r} holds {dtype}; the default contenders take numbers, "
                "strings and categories. Turn it into numbers (dates: days since the "
                "first), drop it, or pass estimators of your own."
            )
    return ColumnKinds(tuple(numbers), tuple(categories))
