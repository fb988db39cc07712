"""One model that sees the task."""

from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from kinlearn.sharing._base import OneModel, SharingForm
from kinlearn.sharing._fitting import (
    TrainingRows,
    category_codes,
    needs_text,
    splits_categories,
    takes_codes,
)
from kinlearn.tables.internal import comes_from, open_table
from kinlearn.utils._sklearn import StrOptions, safe_indexing, target_encoder
from kinlearn.utils._typing import LabelRule, TaskColumn

__all__ = ["TaskAsFeature"]


def _attach(rest: Any, block: Any, names: list[str]) -> Any:
    """Put columns behind the others, in the container that those are in."""
    frame = nw.from_native(rest, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        _check_names(frame, names)
        block = block.toarray() if sp.issparse(block) else block
        series = [
            nw.new_series(name, block[:, j], backend=frame.implementation)
            for j, name in enumerate(names)
        ]
        return frame.with_columns(*series).to_native()
    if sp.issparse(rest):
        return sp.hstack([rest, sp.csr_array(block)], format=rest.format)
    block = block.toarray() if sp.issparse(block) else block
    if rest.dtype.kind == "f":
        block = block.astype(rest.dtype, copy=False)
    return np.hstack([rest, block])


def _is_frame(X: Any) -> bool:
    return isinstance(nw.from_native(X, pass_through=True), nw.DataFrame)


def _check_names(frame: nw.DataFrame, names: list[str]) -> None:
    if not all(isinstance(name, str) for name in frame.columns):
        raise ValueError(
            "The columns of X have no string names, so the task cannot be added to "
            "them. Name them: X.columns = X.columns.astype(str)."
        )
    taken = [name for name in names if name in frame.columns]
    if taken:
        raise ValueError(
            f"X has a column named {taken[0]!r}, which is what the task becomes. "
            "Rename that column."
        )


class TaskAsFeature(OneModel):
    """One model for all tasks, which sees the task as one more feature.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn classifier or regressor.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    encoding : {"auto", "onehot", "category", "target"}, default="auto"
        How the task becomes features: an indicator column for each task; one
        categorical column, for estimators that take such (a `category` column
        of a pandas frame; for arrays, task codes that are added to the
        estimator's categorical features); or the tasks' cross-fitted mean
        targets (scikit-learn's `TargetEncoder`, which knows no weights). "auto" is
        "category" for LightGBM, XGBoost, CatBoost, and estimators with a
        ``categorical_features`` parameter and at most 255 tasks, "target" for these
        with more, and "onehot" for all others.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict for the average task: no
        indicator set, a missing category, the overall mean; "warn" names them in a
        warning, "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get (classifiers): its own and those of all tasks that
        it has one in common with, from task to task; its own alone; or those that a
        mapping from tasks to classes gives it. See :ref:`label-sets`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    encoding_ : str
        The encoding that was used.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels (classifiers).
    task_classes_ : dict
        Labels of each task (classifiers).
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    PerTask : One model for each task.
    Pooled : One model that does not see the task.

    Notes
    -----
    Probabilities of classes that a task may get are the model's own; a tree or a forest
    gives zeros of its own accord, where a leaf holds no row of a class.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from kinlearn.sharing import TaskAsFeature
    >>> X = [[0, 1], [1, 1], [0, 2], [1, 2]]
    >>> model = TaskAsFeature(LinearRegression(), task=-1).fit(X, [0, 1, 2, 3])
    >>> model.predict([[0, 1], [0, 2]]).round(6)
    array([0., 2.])
    """

    _parameter_constraints: dict = {
        **SharingForm._parameter_constraints,
        "encoding": [StrOptions({"auto", "onehot", "category", "target"})],
    }

    _MOST_CATEGORIES = 255  # of HistGradientBoosting's bins
    _MOST_CELLS = 2**29  # of dense indicators: 4 GiB

    def __init__(
        self,
        estimator: Any,
        *,
        task: TaskColumn = None,
        encoding: Literal["auto", "onehot", "category", "target"] = "auto",
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
    ) -> None:
        super().__init__(
            estimator, task=task, unknown_task=unknown_task, label_sets=label_sets
        )
        self.encoding = encoding

    def _fit_estimator(self, rows: TrainingRows) -> Any:
        fitted = super()._fit_estimator(rows)
        if self.encoding_ == "category" and not splits_categories(self.estimator):
            # some take text for numbers when they are fitted, and cannot predict then
            few = np.arange(1)
            try:
                fitted.predict(
                    self._features(safe_indexing(rows.rest, few), rows.task[few])
                )
            except TypeError as error:
                raise ValueError(
                    f'encoding="category" needs an estimator that splits categories, '
                    f"such as one with a categorical_features parameter; "
                    f'{type(self.estimator).__name__} does not. Use encoding="onehot".'
                ) from error
        return fitted

    def _fit_features(self, rows: TrainingRows) -> tuple[Any, list[int]]:
        self.encoding_ = self._choose_encoding(rows.rest)
        block = None
        if self.encoding_ == "target" and len(self.tasks_) > 1:
            kind = "continuous"
            if is_classifier(self.estimator):
                kind = "binary" if len(self.classes_) == 2 else "multiclass"
            self._encoder = target_encoder(kind, n_splits=min(5, len(rows.y)))
            block = self._encoder.fit_transform(rows.task.reshape(-1, 1), rows.y)
        features = self._features(rows.rest, rows.task, block)
        categories = category_codes(self.table_encoder_, self.estimator)
        if self.encoding_ == "category" and len(self.tasks_) > 1:
            categories = [*categories, features.shape[1] - 1]
        return features, categories

    def _choose_encoding(self, rest: Any) -> str:
        native = splits_categories(self.estimator) and not sp.issparse(rest)
        if self.encoding == "auto":
            if not native:
                return "onehot"
            most: float = np.inf
            if comes_from(self.estimator, "sklearn"):
                params = self.estimator.get_params()
                most = params.get("max_bins", self._MOST_CATEGORIES)
            return "category" if len(self.tasks_) <= most else "target"
        if self.encoding == "category" and not native and not _is_frame(rest):
            raise ValueError(
                f'encoding="category" on an array needs an estimator that splits '
                f"categories, such as one with a categorical_features parameter; "
                f"{type(self.estimator).__name__} does not. Use a data frame, or "
                'encoding="onehot".'
            )
        return self.encoding

    def _features(self, rest: Any, task: np.ndarray, block: Any = None) -> Any:
        if len(self.tasks_) == 1:
            return rest
        name = self._task_name()
        if self.encoding_ == "onehot":
            # int32: scikit-learn's trees take no wider indices of sparse X
            known = np.flatnonzero(task >= 0).astype(np.int32)
            shape = len(task), len(self.tasks_)
            if shape[0] * shape[1] > self._MOST_CELLS and not sp.issparse(rest):
                raise ValueError(
                    f"One indicator column for each of {shape[1]} tasks would take "
                    f"{shape[0] * shape[1] * 8 / 2**30:.1f} GiB for {shape[0]} rows. "
                    'Use encoding="target", or pass X as a sparse matrix.'
                )
            block = sp.csr_array(
                (np.ones(len(known)), (known, task[known])), shape=shape
            )
            return _attach(rest, block, [f"{name}={t}" for t in self.tasks_])
        if self.encoding_ == "target":
            if block is None:
                block = self._encoder.transform(task.reshape(-1, 1))
            names = [f"{name}_mean_{j}" for j in range(block.shape[1])]
            return _attach(rest, block, names)
        if takes_codes(self.estimator) and _is_frame(rest):
            # of a frame they number the values that are in it, new rows' anew
            table = open_table(rest)
            every = range(table.n_columns)
            if table.is_numeric(every):
                rest = table.matrix(every, order=None, accept_sparse=False)
        text = needs_text(self.estimator)
        unknown = "(unknown)" if text else None
        values = [*map(str, self.tasks_.tolist()), unknown]  # -1, the unknown, is last
        if not _is_frame(rest):
            codes = task.astype(np.float64)
            codes[task < 0] = np.nan
            if not text:
                return _attach(rest, codes.reshape(-1, 1), [name])
            labels = np.array(values, dtype=object)[task].reshape(-1, 1)
            return np.hstack([rest.astype(object), labels])
        frame = nw.from_native(rest)
        _check_names(frame, [name])
        cells = [values[t] for t in task]
        series = nw.new_series(name, cells, nw.String, backend=frame.implementation)
        series = series if text else series.cast(nw.Categorical)
        return frame.with_columns(series).to_native()

    def _task_name(self) -> str:
        names = self._columns.names
        return "task" if names is None else names[self._columns.task]
