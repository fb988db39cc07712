"""What the multi-task decision tree and its forest have in common."""

import sys
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kinlearn.tables.internal import CODES
from kinlearn.tasks import TaskData, TaskMixin
from kinlearn.trees._sparse import dense_blocks
from kinlearn.trees._weights import later_weights
from kinlearn.trees.decision._growth import CRITERIA, Rows, Settings, check_tasks_weigh
from kinlearn.trees.decision._later import add_rows, reached, renumbered
from kinlearn.trees.decision._model import MultiTaskTree, narrowed
from kinlearn.trees.decision._shrinkage import shrunk
from kinlearn.utils._loaded import demand
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["MultiTaskTreeModel"]


class MultiTaskTreeModel(TaskMixin, ClassifierMixin, BaseEstimator):
    """Settings of the growth, and predictions of trees.

    A subclass defines which trees it has (`_trees`) and how it is fitted.
    """

    # with `shrinkage`, the trees before their values were drawn together
    _grown: list[MultiTaskTree] | None = None

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
        "shrinkage": [Interval(Real, 0, None, closed="left")],
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

    def _keep(self, grown: list[MultiTaskTree], n_classes: int) -> None:
        """Set the trees, with the values that they predict."""
        self._trees = [shrunk(tree, self.shrinkage, n_classes) for tree in grown]
        self._grown = grown if self.shrinkage else None

    def _kept(self) -> list[MultiTaskTree]:
        """The trees as they were grown."""
        return list(self._trees if self._grown is None else self._grown)

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        if self._grown is not None:  # the two go through the model side by side
            demand(len(self._grown) == len(self._trees), "_grown")
        for tree in [*self._trees, *(self._grown or [])]:
            tree.check(n_features, n_tasks, n_classes)

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit, without growing anew.

        The tests stay as they are. The new tasks' rows go down, and are decided as in
        fit: where one label has enough of a task's rows, or at a leaf. Known tasks are
        predicted as before, but for classes that none of a task's own rows has: their
        guess is the mean over all tasks. Every tree of a forest takes all the rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Labels; a new task may have classes that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self
            The model with these tasks.
        """
        later = self._later_data(X, y, sample_weight, only_new=True, new_classes=True)
        return self._add_later(later)

    def partial_fit(
        self,
        X: Table,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows, of known or new tasks, without growing anew.

        The first call is a fit. In later ones the tests stay: rows of a known task
        count in the label frequencies that decide them, where the task was decided
        before; new tasks are added as by :meth:`add_task`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Labels; after the first call, classes that it did not have are for tasks
            that it did not have.
        classes : array-like of shape (n_classes,), default=None
            All classes; y must hold those that the model does not know.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self
            The model.
        """
        if hasattr(self, "tasks_"):
            later = self._later_data(X, y, sample_weight, new_classes=True)
            self._check_later_classes(later, classes)
            return self._add_later(later)
        self._check_first_classes(y, classes)
        return self.fit(X, y, sample_weight)

    def _add_later(self, later: Any) -> Self:
        weight = later_weights(later, self.class_weight)
        rows = np.flatnonzero(weight > 0)
        counts = np.bincount(later.task[rows], minlength=len(later.tasks))
        check_tasks_weigh(later.tasks[later.is_new], counts[later.is_new])
        of_rows = later.task[rows], later.y[rows], weight[rows]
        trees = [
            renumbered(tree, later.place, later.class_place) for tree in self._kept()
        ]
        looking, X = narrowed(trees, later.X)
        at = np.empty((len(trees), len(rows)), dtype=np.int32)
        for some, dense in dense_blocks(X[rows]):
            dense, task = np.ascontiguousarray(dense), later.task[rows][some]
            for number, tree in enumerate(looking):
                at[number, some] = reached(tree, dense, task, later.is_new)
        grown = [
            add_rows(tree, places, *of_rows, later.is_new, self.purity)
            for tree, places in zip(trees, at, strict=True)
        ]
        self._keep(grown, len(later.classes))
        # a class is seen in a task where its rows count
        t, y, w = of_rows
        self._remember_later(replace(later, task=t, y=y, sample_weight=w))
        return self

    def _add_proba(self, X: Any, task: np.ndarray) -> np.ndarray:
        """Mean over the trees of the label frequencies of the rows' decisions."""
        out = np.zeros((X.shape[0], len(self.classes_)))
        trees, X = narrowed(self._trees, X)
        for some, dense in dense_blocks(X):
            for tree in trees:
                tree.add_proba(dense, task[some], out[some])
        if len(trees) > 1:
            out /= len(trees)
        return out

    def _nodes(self, X: Table) -> np.ndarray:
        """Node of each tree at which each row is decided, a column for each tree."""
        rows = self._predict_data(X, order="C")
        trees, features = narrowed(self._trees, rows.X)
        out = np.empty((rows.n_samples, len(trees)), dtype=np.intp)
        for some, dense in dense_blocks(features):
            for number, tree in enumerate(trees):
                out[some, number] = tree.nodes(dense, rows.task[some])
        return out

    def predict_proba(self, X: Table) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
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
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
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
        tags.input_tags.sparse = True
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
