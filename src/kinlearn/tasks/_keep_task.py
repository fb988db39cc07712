"""Transformers in front of a task-aware estimator: leave the task alone."""

from numbers import Integral
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kinlearn.tables._columns import append_column
from kinlearn.tables._containers import AnyTable, FrameTable, open_table
from kinlearn.tasks._columns import resolve_columns
from kinlearn.tasks._mixin import remember_columns
from kinlearn.tasks._values import task_values
from kinlearn.utils._sklearn import HasMethods
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["KeepTask", "keep_task"]


def _names_features(self: "KeepTask") -> bool:
    return hasattr(
        getattr(self, "transformer_", self.transformer), "get_feature_names_out"
    )


class KeepTask(TransformerMixin, BaseEstimator):
    """Apply a transformer to all columns but the task, and pass the task through.

    In a pipeline, a scaler or encoder would transform the task column too, and
    the tasks would be lost. This wrapper hides the column from the transformer.
    Usually made by :func:`keep_task`.

    Parameters
    ----------
    transformer : transformer
        Any scikit-learn transformer, `ColumnTransformer` included.
    task : str, int or None, default=None
        Name or position of the task column. None keeps nothing.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    Notes
    -----
    A data frame comes out as a data frame of the same library, its task column
    last, under its own name and with its own type. From an array comes an array
    whose LAST column is the task, however wide it has become: the estimator
    behind takes ``task=-1``. Sparse results are possible for arrays and sparse
    X; a frame cannot hold them (``sparse_output=False``).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import keep_task
    >>> X = np.array([[1.0, 7], [3.0, 7], [5.0, 9]])
    >>> keep_task(StandardScaler(), task=-1).fit_transform(X).round(2)
    array([[-1.22,  7.  ],
           [ 0.  ,  7.  ],
           [ 1.22,  9.  ]])
    """

    _parameter_constraints: dict = {
        "transformer": [HasMethods(["fit", "transform"])],
        "task": [str, Integral, None],
    }

    def __init__(self, transformer: Any, *, task: TaskColumn = None) -> None:
        self.transformer = transformer
        self.task = task

    def fit(self, X: Table, y: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit the transformer on all columns but the task.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Data with the task column.
        y : array-like, default=None
            Target, passed on.
        **fit_params : dict
            Passed on.

        Returns
        -------
        KeepTask
            The fitted object.
        """
        _, rest = self._open_for_fit(X)
        self.transformer_ = clone(self.transformer).fit(rest, y, **fit_params)
        remember_columns(self, self._columns)
        return self

    def fit_transform(
        self, X: Table, y: ArrayLike | None = None, **fit_params: Any
    ) -> Table:
        """Fit the transformer and transform X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Data with the task column.
        y : array-like, default=None
            Target, passed on.
        **fit_params : dict
            Passed on.

        Returns
        -------
        ndarray, sparse matrix or data frame
            Transformed columns, the task last.
        """
        table, rest = self._open_for_fit(X)
        self.transformer_ = clone(self.transformer)
        if hasattr(self.transformer_, "fit_transform"):
            out = self.transformer_.fit_transform(rest, y, **fit_params)
        else:
            out = self.transformer_.fit(rest, y, **fit_params).transform(rest)
        remember_columns(self, self._columns)
        return self._attach(out, table, self._columns.task)

    def transform(self, X: Table) -> Table:
        """Transform all columns but the task.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Data with the task column.

        Returns
        -------
        ndarray, sparse matrix or data frame
            Transformed columns, the task last.
        """
        check_is_fitted(self)
        table = open_table(X)
        position = self._columns.match(table, type(self).__name__).task
        rest = X if position is None else table.without(position)
        return self._attach(self.transformer_.transform(rest), table, position)

    @available_if(_names_features)
    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> np.ndarray:
        """Names of the columns that come out, the task last.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X, if X had none.

        Returns
        -------
        ndarray of str
            Column names.
        """
        check_is_fitted(self)
        task = self._columns.task
        if task is None:
            return self.transformer_.get_feature_names_out(input_features)
        if input_features is not None:
            input_features = np.delete(np.asarray(input_features, dtype=object), task)
        names = self.transformer_.get_feature_names_out(input_features)
        return np.append(np.asarray(names, dtype=object), self._task_name())

    def _task_name(self) -> str:
        names, task = self._columns.names, self._columns.task
        return "task" if names is None or task is None else names[task]

    def _open_for_fit(self, X: Table) -> tuple[AnyTable, Table]:
        self._validate_params()
        table = open_table(X)
        self._columns = resolve_columns(table, self.task, None)
        position = self._columns.task
        return table, X if position is None else table.without(position)

    def _attach(self, out: Any, table: Any, position: int | None) -> Table:
        if position is None:
            return out
        where = self._columns.where
        values: Any = task_values(table.column(position), where)
        from_frame = isinstance(table, FrameTable)
        if from_frame and sp.issparse(out):
            raise ValueError(
                f"{type(self.transformer_).__name__} gives a sparse matrix, which a "
                f"data frame with {where.lower()} cannot hold. Set sparse_output=False "
                "(OneHotEncoder) or sparse_threshold=0 (ColumnTransformer), or pass "
                "an array with integer tasks."
            )
        result: Any = open_table(out)
        if from_frame and not isinstance(result, FrameTable):
            result = open_table(self._frame_like(table, result.native))
        if from_frame and result.frame.implementation == table.frame.implementation:
            values = table.frame[:, position]  # keeps its type, such as category
        return append_column(result, values, self._task_name())

    def _frame_like(self, table: FrameTable, values: np.ndarray) -> Any:
        if _names_features(self):
            names = self.transformer_.get_feature_names_out()
        else:
            names = [f"x{i}" for i in range(values.shape[1])]
        frame = nw.from_dict(
            {str(name): values[:, j] for j, name in enumerate(names)},
            backend=table.frame.implementation,
        ).to_native()
        if nw.dependencies.is_pandas_dataframe(frame):
            frame.index = table.native.index
        return frame

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.transformer)
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        tags.requires_fit = True
        return tags


def keep_task(transformer: Any, *, task: TaskColumn) -> KeepTask:
    """Wrap a transformer so that it leaves the task column alone.

    Parameters
    ----------
    transformer : transformer
        Any scikit-learn transformer, `ColumnTransformer` included.
    task : str, int or None
        Name or position of the task column in front of the transformer.

    Returns
    -------
    KeepTask
        A transformer; its output carries the task column last (by its own name
        in frames).

    Examples
    --------
    A whole pipeline, in which a search may tune every step:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import keep_task
    >>> from kinlearn.sharing import PerTask
    >>> model = make_pipeline(
    ...     keep_task(StandardScaler(), task="school"),
    ...     PerTask(LogisticRegression(), task="school"),
    ... )
    """
    return KeepTask(transformer, task=task)
