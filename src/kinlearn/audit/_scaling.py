"""Numbers of one scale, for the models that need them."""

from typing import Any

import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from kinlearn.tables import TableEncoder
from kinlearn.tables._columns import find_column
from kinlearn.tables._containers import open_table
from kinlearn.utils._typing import Table

__all__ = ["find_scaler"]


def find_scaler(X: Table, task: str | int) -> Any:
    """A transformer of all columns but the task to numbers of one scale, none missing.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame
        Rows with the task column.
    task : str or int
        The task column.

    Returns
    -------
    transformer
        Not fitted; a :class:`~kinlearn.TableEncoder` without a task if X holds more
        than numbers.
    """
    if sp.issparse(X):
        return MaxAbsScaler()
    table = open_table(X)
    position = find_column(task, table, "Task")
    if not table.is_numeric([i for i in range(table.n_columns) if i != position]):
        return TableEncoder(categories="indicators", fill=True, scale=True)
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
