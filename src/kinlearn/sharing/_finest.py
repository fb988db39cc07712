"""Estimators that know no levels, on data whose tasks have a path of columns."""

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kinlearn.sharing._base import inner_has
from kinlearn.tables.internal import FrameTable, open_table
from kinlearn.tasks import TaskColumns, remember_columns
from kinlearn.tasks.internal import (
    TaskPaths,
    path_codes,
    read_paths,
    resolve_columns,
    split_path,
)
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["FinestLevel", "without_levels"]


def without_levels(
    X: Table, columns: TaskColumns, task: np.ndarray | None = None
) -> Table:
    """X without the columns above the task.

    Those of an array are set to zero, so that positions stay. `task` are other values
    for the column of the tasks; None leaves it.
    """
    table = open_table(X)
    finest: Any = columns.task
    if isinstance(table, FrameTable):
        frame = nw.from_native(table.native, eager_only=True)
        names = frame.columns
        if task is not None:
            cells = nw.new_series(names[finest], task, backend=frame.implementation)
            if frame.implementation.is_pandas():  # they are matched by their index
                native = frame.to_native().copy()
                native[names[finest]] = cells.to_native().to_numpy()
                frame = nw.from_native(native)
            else:
                frame = frame.with_columns(cells)
        return frame.drop([names[j] for j in columns.levels]).to_native()
    if sp.issparse(table.native):
        out = sp.lil_array(table.native)
        out[:, list(columns.levels)] = 0
        if task is not None:
            out[:, [finest]] = task.reshape(-1, 1)
        return sp.csr_array(out)
    X = np.array(table.native)
    X[:, list(columns.levels)] = 0
    if task is not None:
        X[:, finest] = task
    return X


class FinestLevel(MetaEstimatorMixin, BaseEstimator):
    """An estimator with a single task column, for a path of columns.

    It gets X without the coarser columns (zeros, in arrays), and values of the finest
    that no two paths share: texts such as ``"A / 3"``, or numbers in arrays, where
    those of the column itself are shared.

    Parameters
    ----------
    estimator : estimator
        Its task column is the finest of the path.
    task : list of str or int
        Columns, coarse to fine.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    classes_ : ndarray of shape (n_classes,)
        Those of the model (classifiers).
    tasks_ : ndarray of shape (n_tasks,)
        Names of the tasks.
    """

    _paths: TaskPaths
    _columns: TaskColumns

    def __init__(self, estimator: Any, *, task: Any) -> None:
        self.estimator = estimator
        self.task = task

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the estimator to the finest level.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with all columns of the path.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, if the estimator takes them.

        Returns
        -------
        self
            The fitted estimator.
        """
        X = self.open(X)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, y, **weight)
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def open(self, X: Table) -> Table:
        """Read the path of the rows of fit; X as the estimator takes it."""
        levels, task = split_path(self.task)
        table = open_table(X)
        self._columns = resolve_columns(table, task, None, levels=levels)
        remember_columns(self, self._columns)
        self.tasks_, codes, self._paths = read_paths(table, levels, task)
        return without_levels(X, self._columns, self._values(table, codes))

    def _values(self, table: Any, codes: np.ndarray) -> np.ndarray | None:
        """Values of the task column that no two paths share, if its own are not so."""
        shared = len(self.tasks_) > len(self._paths.values[-1])
        if not shared and (codes >= 0).all():
            return None
        if not isinstance(table, FrameTable):
            most = 0 if shared else int(self.tasks_.max()) + 1
            known = np.arange(len(self.tasks_)) if shared else self.tasks_
            new = most + len(self.tasks_)  # all that are new count as one
            return np.append(known, new)[codes]
        if self.tasks_.dtype != object:
            return np.append(self.tasks_, self.tasks_.max() + 1)[codes]
        return np.append(self.tasks_, "(a new task)")[codes]

    def _again(self, X: Table) -> Table:
        check_is_fitted(self)
        table = open_table(X)
        columns = self._columns.match(table, type(self).__name__)
        codes = path_codes(table, columns, self._paths)[-1]
        return without_levels(X, columns, self._values(table, codes))

    def predict(self, X: Table) -> np.ndarray:
        """Predictions of the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with all columns of the path.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self.estimator_.predict(self._again(X))

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: Table) -> np.ndarray:
        """Probabilities of the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with all columns of the path.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self.estimator_.predict_proba(self._again(X))

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: Table) -> np.ndarray:
        """Scores of the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with all columns of the path.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self.estimator_.decision_function(self._again(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        for name in (
            "estimator_type",
            "target_tags",
            "classifier_tags",
            "regressor_tags",
            "input_tags",
        ):
            setattr(tags, name, getattr(inner, name))
        return tags
