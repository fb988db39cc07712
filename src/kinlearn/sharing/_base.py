"""What the forms have in common: the task column, the kind of model, predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from kinlearn.tasks import (
    TaskMixin,
    class_codes,
    find_label_sets,
    numbers,
    remember_columns,
    split_known_task,
    split_task,
)
from kinlearn.utils._sklearn import (
    HasMethods,
    check_sample_weight,
    safe_indexing,
)
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn

__all__ = ["SharingForm", "TrainingRows", "inner_has"]


def inner_has(name: str) -> Callable[[Any], bool]:
    """Condition: the wrapped estimator has a method."""

    def check(self: Any) -> bool:
        getattr(self.estimator, name)  # its AttributeError names the method
        return True

    return check


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to fit on, the task column apart.

    Attributes
    ----------
    rest : ndarray, sparse matrix or data frame
        All columns but the task, as they came.
    task : int32 array of shape (n_samples,)
        Task codes.
    y : ndarray of shape (n_samples,)
        Targets as they came; class labels, not codes.
    sample_weight : float64 array of shape (n_samples,), or None
        Weights.
    """

    rest: Any
    task: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None

    def take(self, index: np.ndarray) -> "TrainingRows":
        """Some of the rows."""
        weight = self.sample_weight
        return TrainingRows(
            safe_indexing(self.rest, index),
            self.task[index],
            self.y[index],
            None if weight is None else weight[index],
        )


class SharingForm(MetaEstimatorMixin, BaseEstimator):
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

    def _open_for_fit(self, X: Table, y: Any, sample_weight: Any) -> TrainingRows:
        """Check what can be checked without reading the features."""
        self._validate_params()
        name = type(self).__name__
        if not (is_classifier(self.estimator) or is_regressor(self.estimator)):
            raise TypeError(
                f"{name} wraps classifiers and regressors; "
                f"{type(self.estimator).__name__} is neither."
            )
        rest, self.tasks_, task, columns = split_task(X, self.task)
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
        return TrainingRows(rest, task, y, sample_weight)

    def _open_for_predict(self, X: Table) -> tuple[Any, np.ndarray]:
        check_is_fitted(self)
        return split_known_task(
            X,
            self._columns,
            self.tasks_,
            unknown_task=self.unknown_task,
            estimator=type(self).__name__,
        )

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
