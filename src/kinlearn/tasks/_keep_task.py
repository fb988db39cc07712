"""The task column beside the features: put there, and kept by transformers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kinlearn.tables.internal import AnyTable, FrameTable, append_column, open_table
from kinlearn.tasks._columns import TaskColumns, resolve_columns
from kinlearn.tasks._mixin import remember_columns
from kinlearn.tasks._task_column import task_values
from kinlearn.utils import AllOrNothing
from kinlearn.utils._sklearn import HasMethods
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["KeepTask", "keep_task", "with_task"]


def with_task(X: Table, task: Any, *, name: str = "task") -> Table:
    """Append a task column to X.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    task : array-like of shape (n_samples,)
        Task of each row: integers or strings; integers only if X is a numeric
        array or sparse.
    name : str, default="task"
        Name of the new column, if X is a data frame.

    Returns
    -------
    ndarray, sparse matrix or data frame of shape (n_samples, n_features + 1)
        X with the task as its last column: pass ``task=-1``, or ``task=name``
        for a frame, to an estimator. An array stays float32 as long as that
        holds the task values exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn import with_task
    >>> with_task(np.array([[0.5], [1.5]]), [3, 8])
    array([[0.5, 3. ],
           [1.5, 8. ]])
    """
    table = open_table(X)
    raw = task
    if type(task) is not np.ndarray:
        raw = nw.from_native(task, series_only=True, pass_through=True)
    if isinstance(raw, nw.Series):
        raw = FrameTable(raw.to_frame(), None).column(0)
    elif np.ndim(raw) == 0:
        raise ValueError(
            f"task is {raw!r}, a single value; it must give the task of each of the "
            f"{table.n_rows} rows."
        )
    elif not isinstance(raw, np.ndarray):
        # an array of mixed values would turn numbers into strings
        cells = list(raw)
        raw = np.empty(len(cells), dtype=object)
        raw[:] = cells
    if raw.ndim != 1 or len(raw) != table.n_rows:
        raise ValueError(
            f"task has shape {raw.shape}; X has {table.n_rows} rows, so it must have "
            f"shape ({table.n_rows},)."
        )
    return append_column(table, task_values(raw, "task"), name)


def _names_features(self: "KeepTask") -> bool:
    return hasattr(
        getattr(self, "transformer_", self.transformer), "get_feature_names_out"
    )


class KeepTask(AllOrNothing, TransformerMixin, BaseEstimator):
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
    privileged : str, int, list of them or None, default=None
        Columns that exist in training only, such as those of `SVMPlusClassifier`.
        They go through a clone of the transformer that is their own, and may be absent
        from X in `transform`.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone.
    privileged_transformer_ : transformer or None
        The one of the privileged columns.
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

    Privileged columns come out behind the other ones, before the task. If one of them
    is absent, none comes out.

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
        "privileged": [str, Integral, "array-like", None],
    }

    def __init__(
        self, transformer: Any, *, task: TaskColumn = None, privileged: Any = None
    ) -> None:
        self.transformer = transformer
        self.task = task
        self.privileged = privileged

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
        _, rest, private = self._open_for_fit(X)
        with _telling_of_text(self.transformer):
            self.transformer_ = clone(self.transformer).fit(rest, y, **fit_params)
            if private is not None:
                self.privileged_transformer_ = clone(self.transformer)
                self.privileged_transformer_.fit(private, y, **fit_params)
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
        table, rest, private = self._open_for_fit(X)
        self.transformer_ = clone(self.transformer)
        more = None
        with _telling_of_text(self.transformer):
            out = _fit_transform(self.transformer_, rest, y, **fit_params)
            if private is not None:
                self.privileged_transformer_ = clone(self.transformer)
                more = _fit_transform(
                    self.privileged_transformer_, private, y, **fit_params
                )
        remember_columns(self, self._columns)
        return self._attach(out, more, table, self._columns.task)

    def transform(self, X: Table) -> Table:
        """Transform all columns but the task.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Data with the task column; privileged columns may be absent.

        Returns
        -------
        ndarray, sparse matrix or data frame
            Transformed columns, the task last.
        """
        check_is_fitted(self)
        table = open_table(X)
        columns = self._match(table)
        rest, more = _take(table, X, columns, columns.features), None
        with _telling_of_text(self.transformer):
            out = self.transformer_.transform(rest)
            if columns.privileged and columns.n_columns == self._columns.n_columns:
                private = _take(table, X, columns, columns.privileged)
                more = self.privileged_transformer_.transform(private)
        return self._attach(out, more, table, columns.task)

    def _match(self, table: AnyTable) -> TaskColumns:
        try:
            return self._columns.match(table, type(self).__name__)
        except ValueError as error:
            if self.privileged is not None or table.n_columns >= self.n_features_in_:
                raise
            raise ValueError(
                f"{str(error).rstrip()}\nIf the missing columns exist in training "
                "only, name them: keep_task(..., privileged=[...])."
            ) from error

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
        columns = self._columns
        if columns.task is None and not columns.privileged:
            return self.transformer_.get_feature_names_out(input_features)
        names: list = []
        for transformer, positions in (
            (self.transformer_, columns.features),
            (self.privileged_transformer_, columns.privileged),
        ):
            if transformer is None:
                continue
            given = None
            if input_features is not None:
                given = np.asarray(input_features, dtype=object)[list(positions)]
            names += list(transformer.get_feature_names_out(given))
        if columns.task is not None:
            names.append(self._task_name())
        return np.asarray(names, dtype=object)

    def _task_name(self) -> str:
        names, task = self._columns.names, self._columns.task
        return "task" if names is None or task is None else names[task]

    def _open_for_fit(self, X: Table) -> tuple[AnyTable, Table, Table | None]:
        self._validate_params()
        table = open_table(X)
        self._columns = columns = resolve_columns(table, self.task, self.privileged)
        self.privileged_transformer_ = None
        private = None
        if columns.privileged:
            private = _take(table, X, columns, columns.privileged)
        return table, _take(table, X, columns, columns.features), private

    def _attach(self, out: Any, more: Any, table: Any, position: int | None) -> Table:
        if position is None and not self._columns.privileged:
            return out
        from_frame = isinstance(table, FrameTable)
        if from_frame and sp.issparse(out):
            raise ValueError(
                f"{type(self.transformer_).__name__} gives a sparse matrix, which a "
                f"data frame with {self._columns.where.lower()} cannot hold. Set "
                "sparse_output=False (OneHotEncoder) or sparse_threshold=0 "
                "(ColumnTransformer), or pass an array with integer tasks."
            )
        result = self._container(out, table, self.transformer_)
        if more is not None:
            extra = self._container(more, table, self.privileged_transformer_)
            result = open_table(_side_by_side(result, extra))
        if position is None:
            return result.native
        values: Any = task_values(table.column(position), self._columns.where)
        if from_frame and result.frame.implementation == table.frame.implementation:
            values = table.frame[:, position]  # keeps its type, such as category
        return append_column(result, values, self._task_name())

    def _container(self, out: Any, table: Any, transformer: Any) -> Any:
        """What came out, as a frame if a frame went in."""
        result: Any = open_table(out)
        if not isinstance(table, FrameTable) or isinstance(result, FrameTable):
            return result
        values = result.native
        if hasattr(transformer, "get_feature_names_out"):
            names = transformer.get_feature_names_out()
        else:
            names = [f"x{i}" for i in range(values.shape[1])]
        columns = {str(name): values[:, j] for j, name in enumerate(names)}
        return open_table(table.like(columns))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.transformer)
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        tags.requires_fit = True
        return tags


@contextmanager
def _telling_of_text(transformer: Any) -> Iterator[None]:
    """Say what to do where a transformer of numbers meets text."""
    try:
        yield
    except ValueError as error:
        found = re.fullmatch("could not convert string to float: (.*)", str(error))
        if found is None:
            raise
        raise ValueError(
            f"{type(transformer).__name__} takes numbers, and a column of X holds "
            f"{found[1]}. Encode text before, as keep_task(TableEncoder()) does, or "
            "take a ColumnTransformer."
        ) from error


def _fit_transform(transformer: Any, X: Table, y: Any, **fit_params: Any) -> Any:
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(X, y, **fit_params)
    return transformer.fit(X, y, **fit_params).transform(X)


def _take(
    table: Any, X: Table, columns: TaskColumns, positions: tuple[int, ...]
) -> Table:
    """Some columns of X; X itself, if these are all."""
    if len(positions) == columns.n_columns:
        return X
    if len(positions) == columns.n_columns - 1 and columns.task is not None:
        return table.without(columns.task)
    if isinstance(table, FrameTable):
        return table.frame[:, list(positions)].to_native()
    return table.native[:, list(positions)]


def _side_by_side(left: Any, right: Any) -> Any:
    if isinstance(left, FrameTable):
        return left.frame.with_columns(*right.frame.iter_columns()).to_native()
    if sp.issparse(left.native) or sp.issparse(right.native):
        return sp.hstack([left.native, right.native], format="csr")
    return np.hstack([left.native, right.native])


def keep_task(
    transformer: Any, *, task: TaskColumn = None, privileged: Any = None
) -> KeepTask:
    """Wrap a transformer so that it leaves the task column alone.

    Parameters
    ----------
    transformer : transformer
        Any scikit-learn transformer, `ColumnTransformer` included.
    task : str, int or None, default=None
        Name or position of the task column in front of the transformer.
    privileged : str, int, list of them or None, default=None
        Columns that exist in training only: they are transformed by themselves in
        `fit`, and may be absent in prediction.

    Returns
    -------
    KeepTask
        A transformer; its output carries the task column last (by its own name
        in frames), and privileged columns before it.

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

    Columns that only the training rows have:

    >>> import pandas as pd
    >>> from kinlearn.svm import SVMPlusClassifier
    >>> old = pd.DataFrame({"age": [30, 40, 50, 60], "biopsy": [0.1, 0.4, 0.5, 0.9]})
    >>> model = make_pipeline(
    ...     keep_task(StandardScaler(), privileged="biopsy"),
    ...     SVMPlusClassifier(kernel="linear", privileged="biopsy"),
    ... ).fit(old, [0, 0, 1, 1])
    >>> model.predict(pd.DataFrame({"age": [33, 57]}))
    array([0, 1])
    """
    return KeepTask(transformer, task=task, privileged=privileged)
