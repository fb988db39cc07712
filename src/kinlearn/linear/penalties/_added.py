"""Tasks that come after the fit of a linear model under multi-task penalties."""

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn.linear.penalties._graph import read_graph
from kinlearn.linear.penalties._later import TaskPrior, prior_of
from kinlearn.tasks import TaskMixin
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["AddedTasksMixin", "row_weights"]


class AddedTasksMixin(TaskMixin, metaclass=ABCMeta):
    """`add_task`, and what new tasks have from those of fit."""

    penalty: str
    graph: Any
    ridge: float
    within_penalty: float
    label_sets: Any
    alpha_: float
    coef_: np.ndarray
    intercept_: np.ndarray
    scale_: np.ndarray
    clusters_: np.ndarray
    shared_coef_: np.ndarray
    own_coef_: np.ndarray
    _mean: np.ndarray
    _solution: tuple[np.ndarray, np.ndarray]
    _fit_places: np.ndarray

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit: what fit learned of the others stays.

        New coefficients have a ridge by what was learned: on the features that others
        have, as strong as theirs are weak ("l21", "shared_sparse"); in their directions
        ("trace", "covariance"); towards their mean ("graph"), or towards the cluster
        that suits the rows best ("clustered").

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Targets, or labels; no class that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows.

        Returns
        -------
        self
            The model with these tasks. Predictions for others do not change. Those for
            unknown tasks do, as new tasks count in their mean, and so do those for
            tasks whose rows lack a class that they may get, where it is mixed in.
        """
        later = self._later_data(X, y, sample_weight, only_new=True)
        weight, prior = row_weights(later), self._prior()
        counted = later.take(np.flatnonzero(weight > 0))
        sets = None
        if counted.classes is not None:
            sets = counted.find_label_sets(self._label_sets, self.label_sets)
        coef = np.zeros((later.n_tasks, *self.coef_.shape[1:]))
        intercept = np.zeros((later.n_tasks, *self.intercept_.shape[1:]))
        coef[later.place], intercept[later.place] = self.coef_, self.intercept_
        for t in np.unique(counted.task).tolist():
            mine = counted.take(np.flatnonzero(counted.task == t))
            found, level = self._fit_added(prior, mine, self._scaled_rows(mine.X))
            coef[t] = found / self.scale_
            intercept[t] = level - coef[t] @ self._mean
        self._remember_added(later, coef)
        self._remember_later(later)
        if sets is not None:
            self._label_sets = sets
            self.task_classes_ = sets.by_task(self.tasks_, self.classes_)
        self._set_coefficients(coef, intercept)
        return self

    @abstractmethod
    def _fit_added(
        self, prior: TaskPrior, rows: Any, Z: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts of a task, as those of `coef_`; Z is scaled X."""

    @abstractmethod
    def _set_coefficients(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Keep coefficients, and what follows from them."""

    def _prior(self) -> TaskPrior:
        """Where coefficients of new tasks may lie, in scaled units."""
        shared, own = self._solution
        W = shared + own if own.size else shared
        common = self._common(self._fit_places)[0]  # not of tasks that were added
        common = self._with_classes(common * self.scale_)[None]
        pull = float(self.ridge)
        if self.penalty == "graph":
            fitted = self.tasks_[self._fit_places]
            weights = read_graph(self.graph, fitted, type(self).__name__)
            pull += float(weights.sum(axis=1).mean())
        if self.penalty == "clustered":
            pull = float(self.within_penalty)
            coef = self.coef_[self._fit_places] * self.scale_
            cluster = self.clusters_[self._fit_places]
            centres = [coef[cluster == k].mean(axis=0) for k in np.unique(cluster)]
            common = np.array([self._with_classes(each) for each in centres])
        return prior_of(
            self.penalty,
            W,
            shared,
            self.alpha_,
            centres=common,
            ridge=float(self.ridge),
            pull=pull,
        )

    def _remember_added(self, later: Any, coef: np.ndarray) -> None:
        """Tasks that were added, with parts and clusters.

        All their coefficients are on the features that tasks share, so that they have
        no own part; their clusters are those with the nearest means.
        """
        fitted = later.place[self._fit_places]
        if self.penalty == "shared_sparse":
            shared, own = coef.copy(), np.zeros_like(coef)
            shared[later.place], own[later.place] = self.shared_coef_, self.own_coef_
            self.shared_coef_, self.own_coef_ = shared, own
        if self.penalty == "clustered":
            cluster = np.empty(later.n_tasks, dtype=self.clusters_.dtype)
            cluster[later.place] = self.clusters_
            tasks = (coef * self.scale_).reshape(len(coef), -1)
            known = np.unique(cluster[fitted])
            centres = [tasks[fitted][cluster[fitted] == k].mean(axis=0) for k in known]
            for t in np.flatnonzero(later.is_new).tolist():
                far = [np.sum((tasks[t] - centre) ** 2) for centre in centres]
                cluster[t] = known[np.argmin(far)]
            self.clusters_ = cluster
        self._fit_places = fitted

    def _scaled_rows(self, X: Any) -> Any:
        if sp.issparse(X):
            return sp.csr_array(X).multiply(1 / self.scale_).tocsr()
        return (X - self._mean) / self.scale_

    @abstractmethod
    def _common(self, tasks: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts for unknown tasks: means of these tasks."""

    @abstractmethod
    def _with_classes(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of a task as (n_labels, n_features)."""


def row_weights(data: Any) -> np.ndarray:
    """Weights of rows; every task must have some."""
    if data.sample_weight is None:
        return np.ones(data.n_samples)
    total = np.bincount(data.task, data.sample_weight, minlength=len(data.tasks))
    here = np.bincount(data.task, minlength=len(data.tasks)) > 0
    without = np.flatnonzero(here & (total == 0))
    if len(without):
        raise ValueError(
            f"Task {data.tasks.tolist()[without[0]]!r} has no row of positive weight "
            f"({len(without)} of {here.sum()} tasks are like that). Drop its rows, or "
            "weight them."
        )
    return data.sample_weight
