"""What the forms have in common: the task column, the kind of model, predictions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from kinlearn.sharing._fitting import (
    TrainingRows,
    category_codes,
    checked_predictions,
    encode_rows,
    fit_clone,
)
from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import open_table, warn_of_unused
from kinlearn.tasks import (
    TaskMixin,
    class_codes,
    find_label_sets,
    numbers,
    remember_columns,
    split_known_task,
    split_task,
)
from kinlearn.utils import AllOrNothing
from kinlearn.utils._loaded import demand
from kinlearn.utils._sklearn import (
    HasMethods,
    check_sample_weight,
    safe_indexing,
)
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn

__all__ = ["OneModel", "SharingForm", "inner_has"]


def inner_has(name: str) -> Callable[[Any], bool]:
    """Condition: the wrapped estimator has a method, and what was fitted allows it."""

    def check(self: Any) -> bool:
        # its AttributeError names the method
        getattr(getattr(self, "estimator_", self.estimator), name)
        reason = self._reason_against(name) if hasattr(self, "_reason_against") else ""
        if reason:
            raise AttributeError(reason)
        return True

    return check


def _by_rows(rest: Any) -> Any:
    """An array that stands column by column, row by row: sums have the same digits."""
    if isinstance(rest, np.ndarray) and rest.flags.f_contiguous:
        return np.ascontiguousarray(rest)
    return rest


class SharingForm(AllOrNothing, MetaEstimatorMixin, BaseEstimator):
    """A scikit-learn classifier or regressor, and how it treats tasks.

    A form fills in `fit` and `_predict_by`. It is a classifier or a regressor as
    the estimator inside is.
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        **TaskMixin._task_parameter_constraints,
        **TaskMixin._label_parameter_constraints,
    }

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

    @property
    def _task_column(self) -> TaskColumn:
        """Where the tasks are."""
        return self.task

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "tasks_" in vars(self):
            demand(len(self.tasks_) > 0 and self.tasks_.ndim == 1, "tasks_")
            self._columns.check(self.n_features_in_)
        if hasattr(self, "classes_"):
            demand(len(self.classes_) > 0 and self.classes_.ndim == 1, "classes_")

    def _open_for_fit(self, X: Table, y: Any, sample_weight: Any) -> TrainingRows:
        """Check what can be checked without reading the features."""
        self._validate_params()
        name = type(self).__name__
        if not (is_classifier(self.estimator) or is_regressor(self.estimator)):
            raise TypeError(
                f"{name} wraps classifiers and regressors; "
                f"{type(self.estimator).__name__} is neither."
            )
        rest, self.tasks_, task, columns = split_task(X, self._task_column)
        remember_columns(self, columns)
        if is_classifier(self.estimator):
            self.classes_, codes = class_codes(y, name, task, self.tasks_)
            y = self.classes_[codes]
        else:
            y = numbers(y, name, task, self.tasks_)
        if len(y) != len(task):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {len(task)} rows, y has {len(y)}."
            )
        if sample_weight is not None:
            if not has_fit_parameter(self.estimator, "sample_weight"):
                raise TypeError(
                    f"{type(self.estimator).__name__} takes no sample_weight. Fit "
                    "without weights, or choose another estimator."
                )
            sample_weight = check_sample_weight(
                sample_weight, task, dtype=np.float64, ensure_non_negative=True
            )
        if is_classifier(self.estimator):
            self._label_sets = find_label_sets(
                task,
                codes,
                self.tasks_,
                self.classes_,
                self.label_sets,
                sample_weight,
            )
            if sample_weight is not None:
                self._label_sets = self._label_sets.counting(task, codes, sample_weight)
            self.task_classes_ = self._label_sets.by_task(self.tasks_, self.classes_)
        return TrainingRows(_by_rows(rest), task, y, sample_weight)

    def _open_for_predict(self, X: Table) -> tuple[Any, np.ndarray]:
        check_is_fitted(self)
        rest, task = split_known_task(
            X,
            self._columns,
            self.tasks_,
            unknown_task=self.unknown_task,
            estimator=type(self).__name__,
        )
        return _by_rows(rest), task

    def predict(self, X: Table) -> np.ndarray:
        """Predict class labels or numbers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions; a task gets only labels of its own (``task_classes_``).
        """
        return self._predict_by("predict", *self._open_for_predict(X))

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: Table) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``, zero where the task lacks it.
        """
        return self._predict_by("predict_proba", *self._open_for_predict(X))

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: Table) -> np.ndarray:
        """Confidence of the classifier in each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; one column for two classes.
        """
        return self._predict_by("decision_function", *self._open_for_predict(X))

    def score(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy of a classifier, R^2 of a regressor.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
            The score over all rows.
        """
        score = accuracy_score if is_classifier(self.estimator) else r2_score
        return score(y, self.predict(X), sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        for name in (
            "estimator_type",
            "target_tags",
            "classifier_tags",
            "regressor_tags",
            "input_tags",
            "non_deterministic",
        ):
            setattr(tags, name, getattr(inner, name))
        tags.target_tags.multi_output = False
        return tags


class OneModel(SharingForm):
    """A single estimator behind all tasks; predictions keep to a task's labels.

    Labels and probabilities do; `decision_function` is the estimator's own.
    """

    table_encoder_: TableEncoder | None = None

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
        self
            The fitted form.
        """
        rows = self._open_for_fit(X, y, sample_weight)
        if is_classifier(self.estimator):
            _, counts = np.unique(rows.y, return_counts=True)
            self._class_share = counts / counts.sum()
        self.table_encoder_, rows = encode_rows(self.estimator, rows)
        if self.table_encoder_ is not None:
            warn_of_unused(self.table_encoder_.meanings_)
        self.estimator_ = self._fit_estimator(rows)
        return self

    def _fit_estimator(self, rows: TrainingRows) -> Any:
        features, categorical = self._fit_features(rows)
        return fit_clone(
            self.estimator, replace(rows, rest=features), categorical=categorical
        )

    def _fit_features(self, rows: TrainingRows) -> tuple[Any, list[int]]:
        """What the estimator is fitted to, and which of its columns are categories."""
        categorical = category_codes(self.table_encoder_, self.estimator)
        return self._features(rows.rest, rows.task), categorical

    def _features(self, rest: Any, task: np.ndarray) -> Any:
        """What the estimator sees of rows; by default all columns but the task."""
        return rest

    def _predict_by(self, method: str, rest: Any, task: np.ndarray) -> np.ndarray:
        if self.table_encoder_ is not None:
            rest = self.table_encoder_._encode(open_table(rest))
        X = self._features(rest, task)
        found = checked_predictions(
            getattr(self.estimator_, method)(X),
            self.estimator_,
            method,
            len(task),
            len(self.classes_) if is_classifier(self.estimator) else None,
            X,
        )
        if not is_classifier(self.estimator) or self._label_sets.complete:
            return found
        if method == "predict_proba":
            return self._label_sets.restrict(found, task)
        if method == "predict":
            return self._keep_to_labels(found, X, task)
        return found

    def _keep_to_labels(
        self, found: np.ndarray, X: Any, task: np.ndarray
    ) -> np.ndarray:
        """Replace labels that the row's task does not have by its likeliest one."""
        allowed = self._label_sets.allowed(task)
        codes = np.searchsorted(self.classes_, found)
        wrong = np.flatnonzero(~allowed[np.arange(len(codes)), codes])
        if len(wrong) == 0:
            return found
        scores = self._class_scores(safe_indexing(X, wrong))
        codes[wrong] = np.where(allowed[wrong], scores, -np.inf).argmax(axis=1)
        return self.classes_[codes]

    def _class_scores(self, X: Any) -> np.ndarray:
        """A score for each class; their frequencies in training if there is none."""
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
