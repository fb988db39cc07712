"""Multi-task trees that are grown one after the other, with other weights each time."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state

from kinlearn.trees.decision._growth import check_tasks_weigh, whole_weights
from kinlearn.trees.decision._tree import MultiTaskDecisionTreeClassifier

__all__ = ["TreeRounds"]


class TreeRounds:
    """Rows that are checked and binned once, for trees of many rounds.

    A tree is the one that ``fit`` makes, but that the bins of a feature with more
    than 255 values are quantiles by the weights of the beginning.

    Parameters
    ----------
    tree : MultiTaskDecisionTreeClassifier
        The settings, without class weights.
    X : array of shape (n_samples, n_columns)
        Rows with the task column.
    y : int array of shape (n_samples,)
        Labels.
    weight : float64 array of shape (n_samples,)
        Weights of the beginning.
    """

    def __init__(self, tree: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        first = clone(tree)
        data = first._fit_data(X, y, weight, labels="classes")
        self._rows = first._growth_rows(data)
        self._data = data
        self._settings = first._growth_settings(data.X.shape[1])
        self._X = data.X if sp.issparse(data.X) else np.ascontiguousarray(data.X)
        own = first.get_params(deep=False)
        self._fitted = {k: v for k, v in vars(first).items() if k not in own}

    @staticmethod
    def suits(tree: Any) -> bool:
        """Whether a classifier's trees can share their bins."""
        ours = type(tree) is MultiTaskDecisionTreeClassifier
        return ours and tree.class_weight is None

    def fit(self, tree: Any, weight: np.ndarray) -> Any:
        """Grow a tree with these weights; returns it."""
        vars(tree).update(self._fitted)
        whole, unit = whole_weights(weight)
        scheme = replace(self._rows.scheme, unit=unit, row_weight=1.0 / unit)
        rows = replace(self._rows, weight=whole, scheme=scheme)
        if whole is not None:
            data = self._data
            left = np.bincount(data.task[whole > 0], minlength=data.n_tasks)
            check_tasks_weigh(data.tasks, left)
        sets = self._data.label_sets
        tree._label_sets = sets.weighed(rows.cell_weight() * unit)
        seed = check_random_state(tree.random_state).randint(2**31 - 1)
        tree._keep([rows.tree(self._settings, seed)], len(tree.classes_))
        return tree

    def predict(self, tree: Any) -> np.ndarray:
        """What a tree predicts for the rows."""
        task = self._data.task

        def of_unknown(some: np.ndarray) -> np.ndarray:
            return tree._add_proba(self._X[some], np.full_like(task[some], -1))

        proba = tree._add_proba(self._X, task)
        proba = tree._label_sets.fill(proba, task, of_unknown)
        return tree.classes_[np.argmax(proba, axis=1)]
