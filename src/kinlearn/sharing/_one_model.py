"""Forms with a single estimator behind all tasks."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from kinlearn.sharing._base import SharingForm, TrainingRows
from kinlearn.sharing._fitting import category_codes, encode_rows, fit_clone
from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import open_table, warn_of_unused
from kinlearn.utils._sklearn import safe_indexing
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["OneModel", "Pooled"]


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
        features, categorical = self._fit_features(rows)
        self.estimator_ = fit_clone(
            self.estimator, replace(rows, rest=features), categorical=categorical
        )
        return self

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
        found = getattr(self.estimator_, method)(X)
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
