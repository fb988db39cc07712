"""What the multi-task decision tree and its forest have in common."""

import sys
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kinlearn.tables.internal import CODES
from kinlearn.tasks import TaskData, TaskMixin
from kinlearn.trees.decision._growth import CRITERIA, Rows, Settings
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import Table

__all__ = ["MultiTaskTreeModel"]


class MultiTaskTreeModel(TaskMixin, ClassifierMixin, BaseEstimator):
    """Settings of the growth, and predictions of trees.

    A subclass defines which trees it has (`_trees`) and how it is fitted.
    """

    _table_encoding = CODES

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        **TaskMixin._label_parameter_constraints,
        **TaskMixin._categorical_constraints,
        "criterion": [StrOptions(set(CRITERIA))],
        "purity": [Interval(Real, 0, 1, closed="right")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def _growth_settings(self, n_features: int) -> Settings:
        """The parameters as the growth of a tree wants them."""
        return Settings(
            criterion=CRITERIA.index(self.criterion),
            purity=self.purity,
            max_depth=sys.maxsize if self.max_depth is None else self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_features=_n_drawn(self.max_features, n_features),
        )

    def _growth_rows(self, data: TaskData, *, bootstrap: bool = False) -> Rows:
        """The rows as trees are grown from them; their weights count in predictions."""
        rows = Rows.of(data, self.class_weight, bootstrap=bootstrap)
        weight = rows.cell_weight() * rows.scheme.unit
        self._label_sets = data.label_sets.weighed(weight)
        return rows

    def _add_proba(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Mean over the trees of the label frequencies of the rows' decisions."""
        out = np.zeros((X.shape[0], len(self.classes_)))
        for tree in self._trees:
            tree.add_proba(X, task, out)
        if len(self._trees) > 1:
            out /= len(self._trees)
        return out

    def predict_proba(self, X: Table) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``; zero where the task of the row
            does not have the class.
        """
        rows = self._predict_data(X, order="C")

        def of_unknown(some: np.ndarray) -> np.ndarray:
            return self._add_proba(rows.X[some], np.full_like(rows.task[some], -1))

        proba = self._add_proba(rows.X, rows.task)
        return self._label_sets.fill(proba, rows.task, of_unknown)

    def predict(self, X: Table) -> np.ndarray:
        """Most probable class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, each one of its task's.
        """
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of each feature in the information gained within tasks."""
        check_is_fitted(self)
        n_features = len(self.feature_names_)
        return np.mean([t.importances(n_features) for t in self._trees], axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _n_drawn(max_features: float | str | None, n_features: int) -> int:
    """Number of features that a node looks at."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))
