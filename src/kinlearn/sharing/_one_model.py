"""Forms with a single estimator behind all tasks."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from kinlearn.sharing._base import SharingForm, TrainingRows
from kinlearn.sharing._tables import (
    CategoriesError,
    encode_rows,
    natively,
    needs_text,
    not_numbers,
    splits_categories,
)
from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import comes_from, open_table, warn_of_unused
from kinlearn.tasks import TaskMixin
from kinlearn.utils._sklearn import safe_indexing
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn

__all__ = ["OneModel", "Pooled", "category_codes", "fit_clone"]


def fit_clone(
    estimator: Any,
    rows: TrainingRows,
    some: bool = False,
    encode: bool = False,
    categorical: Sequence[int] = (),
) -> Any:
    """Fit a clone; if they are `some` of all rows, one class needs no estimator.

    To `encode` a table of more than numbers makes a pipeline of an estimator that does
    not read it. `categorical` are columns of X that hold categories.
    """
    y, weight = rows.y, rows.sample_weight
    if is_classifier(estimator) and some and (y == y[0]).all():
        estimator = DummyClassifier(strategy="prior")
    encoder, rows = encode_rows(estimator, rows) if encode else (None, rows)
    if encoder is not None:
        categorical = category_codes(encoder, estimator)
    params = {} if weight is None else {"sample_weight": weight}
    missing_allowed = get_tags(estimator).input_tags.allow_nan
    X = _with_values(rows.rest) if missing_allowed else rows.rest
    model, more = _native_categories(clone(estimator), X, categorical)
    try:
        model.fit(X, y, **params, **more)
    except (TypeError, ValueError) as error:
        odd = not_numbers(X)
        if not odd or isinstance(estimator, TaskMixin):
            raise
        raise _unread(estimator, odd, error) from error
    if encoder is None:
        return model
    return Pipeline([("table", encoder), ("model", model)])


def category_codes(encoder: TableEncoder | None, estimator: Any) -> list[int]:
    """Columns of encoded rows that are categories to an estimator."""
    if encoder is None or needs_text(estimator):
        return []
    return np.flatnonzero(encoder.categorical_).tolist()


def _native_categories(
    estimator: Any, X: Any, categorical: Sequence[int]
) -> tuple[Any, dict[str, Any]]:
    if not len(categorical) or not splits_categories(estimator):
        return estimator, {}
    if isinstance(X, np.ndarray):  # codes beyond the bins are left as numbers
        most = estimator.get_params().get("max_bins") or np.inf
        if comes_from(estimator, "sklearn"):
            categorical = [j for j in categorical if not np.nanmax(X[:, j]) >= most]
    return natively(estimator, X, list(categorical))


def _unread(estimator: Any, odd: dict[str, Any], error: Exception) -> CategoriesError:
    name = type(estimator).__name__
    shown = ", ".join(f"{column!r} ({dtype})" for column, dtype in odd.items())
    return CategoriesError(
        f"{name} failed on a table with {len(odd)} column(s) that are no numbers, "
        f"{shown}: {error} Put an encoder in front of it: "
        f'make_pipeline(kinlearn.TableEncoder(categories="indicators", fill=True, '
        f"scale=True), {name}(...))."
    )


def _with_values(X: Any) -> Any:
    """X with zeros in columns of numbers without any value.

    Some tasks never measure a column, and scikit-learn's boosters fail on such.
    """
    if isinstance(X, np.ndarray):
        if X.dtype.kind != "f":
            return X
        empty = np.isnan(X).all(axis=0)
        return np.where(empty, X.dtype.type(0), X) if empty.any() else X
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    unknown = [
        column
        for column in frame.iter_columns()
        if column.dtype.is_float() and (column.is_null() | column.is_nan()).all()
    ]
    if not unknown:
        return X
    # False is 0; the name may be any, not only a string
    zeros = [(each.is_null() & False).cast(nw.Float64) for each in unknown]
    return frame.with_columns(*zeros).to_native()


class OneModel(SharingForm):
    """A single estimator behind all tasks; predictions keep to a task's labels.

    Labels and probabilities do; `decision_function` is the estimator's own.
    """

    table_encoder_: TableEncoder | None = None

    def _encode(self, rows: TrainingRows) -> TrainingRows:
        """Training rows as the estimator takes them."""
        self.table_encoder_, rows = encode_rows(self.estimator, rows)
        if self.table_encoder_ is not None:
            warn_of_unused(self.table_encoder_.meanings_)
        return rows

    def _answer(self, method: str, rest: Any, task: np.ndarray) -> np.ndarray:
        if self.table_encoder_ is not None:
            rest = self.table_encoder_._encode(open_table(rest))
        X = self._features(rest, task)
        answer = getattr(self.estimator_, method)(X)
        if not is_classifier(self.estimator) or self._label_sets.complete:
            return answer
        if method == "predict_proba":
            return self._label_sets.restrict(answer, task)
        if method == "predict":
            return self._keep_to_labels(answer, X, task)
        return answer

    def _keep_to_labels(
        self, answer: np.ndarray, X: Any, task: np.ndarray
    ) -> np.ndarray:
        """Replace labels that the row's task does not have by its likeliest one."""
        allowed = self._label_sets.allowed(task)
        codes = np.searchsorted(self.classes_, answer)
        wrong = np.flatnonzero(~allowed[np.arange(len(codes)), codes])
        if len(wrong) == 0:
            return answer
        scores = self._class_scores(safe_indexing(X, wrong))
        codes[wrong] = np.where(allowed[wrong], scores, -np.inf).argmax(axis=1)
        return self.classes_[codes]

    def _class_scores(self, X: Any) -> np.ndarray:
        """A score for each class; their shares in training if there is none."""
        model = self.estimator_
        if hasattr(model, "predict_proba"):
            return model.predict_proba(X)
        # one-vs-one scores are of pairs of classes, not of classes
        pairs = getattr(model, "decision_function_shape", None) == "ovo"
        if hasattr(model, "decision_function") and not pairs:
            scores = model.decision_function(X)
            if scores.ndim == 1:
                return np.column_stack([-scores, scores])
            if scores.shape[1] == len(self.classes_):
                return scores
        return np.broadcast_to(self._class_share, (X.shape[0], len(self.classes_)))

    def _remember_shares(self, rows: TrainingRows) -> None:
        if is_classifier(self.estimator):
            _, counts = np.unique(rows.y, return_counts=True)
            self._class_share = counts / counts.sum()


class Pooled(OneModel):
    """One model for all tasks, which does not see the task.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn classifier or regressor.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict with the one model, as for all
        others; "warn" names them in a warning, "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get (classifiers): its own and those of all tasks that
        it has one in common with, from task to task; its own alone; or those that a
        mapping from tasks to classes gives it. See :ref:`label-sets`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
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
    TaskAsFeature : One model that sees the task.

    Notes
    -----
    Probabilities of classes that a task may get are the model's own; a tree or a forest
    gives zeros of its own accord, where a leaf holds no row of a class.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from kinlearn.sharing import Pooled
    >>> X = [[0, 1], [1, 1], [0, 2], [1, 2]]
    >>> Pooled(Ridge(alpha=0), task=-1).fit(X, [0, 1, 2, 3]).predict([[0, 1], [0, 2]])
    array([1., 1.])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        task: TaskColumn = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.unknown_task = unknown_task
        self.label_sets = label_sets

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit one model to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, if the estimator takes them.

        Returns
        -------
        Pooled
            The fitted form.
        """
        rows = self._open_for_fit(X, y, sample_weight)
        self._remember_shares(rows)
        rows = self._encode(rows)
        codes = category_codes(self.table_encoder_, self.estimator)
        self.estimator_ = fit_clone(self.estimator, rows, categorical=codes)
        return self

    def _features(self, rest: Any, task: np.ndarray) -> Any:
        return rest
