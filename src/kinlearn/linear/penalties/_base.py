"""What the classifier and the regressor under multi-task penalties have in common."""

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kinlearn.linear._tables import warn_of_missing
from kinlearn.linear.penalties._added import AddedTasksMixin, row_weights
from kinlearn.linear.penalties._design import Design, Layout
from kinlearn.linear.penalties._graph import read_graph
from kinlearn.linear.penalties._losses import Loss
from kinlearn.linear.penalties._path import (
    PenaltyPath,
    alpha_grid,
    deal_folds,
    held_out_losses,
    walk,
)
from kinlearn.linear.penalties._penalties import (
    BlockPenalty,
    ClusterPenalty,
    CovariancePenalty,
    GraphPenalty,
    TracePenalty,
)
from kinlearn.linear.penalties._solution import Solution
from kinlearn.linear.penalties._solvers import Start, start_of
from kinlearn.tables.internal import NUMBERS
from kinlearn.tasks import TaskData, TaskMixin, check_total_weight
from kinlearn.tasks.internal import LARGEST
from kinlearn.utils import group_rows
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["MultiTaskLinearBase"]

_POSITIVE = Interval(Real, 0, None, closed="neither")
_PENALTIES = {"l21", "trace", "graph", "clustered", "covariance", "shared_sparse"}
_MOST_LINKED = 10_000  # outputs; minutes and gigabytes for the eigenvectors
_PATIENCE = 10  # alphas of a path that do not lower the loss


@dataclass(frozen=True, eq=False)
class _Problem:
    """Training rows, encoded: `order` are those of positive weight, task by task."""

    start: Start
    order: np.ndarray
    weight: np.ndarray
    mean: np.ndarray
    scale: np.ndarray


class MultiTaskLinearBase(AddedTasksMixin, BaseEstimator, metaclass=ABCMeta):
    """Fitting, paths, and the relations of tasks."""

    _table_encoding = NUMBERS
    _largest = LARGEST

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        "penalty": [StrOptions(_PENALTIES)],
        "alpha": [_POSITIVE, StrOptions({"auto"})],
        "alphas": ["array-like", None],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "graph": ["array-like", "sparse matrix", Mapping, None],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "within_penalty": [Interval(Real, 1, None, closed="left")],
        "own_penalty": [_POSITIVE, None],
        "ridge": [_POSITIVE],
        "scale": ["boolean"],
        "tol": [_POSITIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    _layout: Layout

    def __init__(
        self,
        penalty: Literal[
            "l21", "trace", "graph", "clustered", "covariance", "shared_sparse"
        ] = "l21",
        alpha: float | Literal["auto"] = "auto",
        *,
        task: TaskColumn = None,
        alphas: ArrayLike | None = None,
        n_alphas: int = 30,
        n_folds: int = 5,
        graph: ArrayLike | Mapping[tuple[Any, Any], float] | None = None,
        n_clusters: int = 2,
        within_penalty: float = 10.0,
        own_penalty: float | None = None,
        ridge: float = 0.1,
        scale: bool = True,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        tol: float = 1e-5,
        max_iter: int = 10_000,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.task = task
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.n_folds = n_folds
        self.graph = graph
        self.n_clusters = n_clusters
        self.within_penalty = within_penalty
        self.own_penalty = own_penalty
        self.ridge = ridge
        self.scale = scale
        self.unknown_task = unknown_task
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the coefficients of all tasks together.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Targets, or labels, which may differ from task to task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence.

        Returns
        -------
        self
            The fitted model.
        """
        self._validate_params()
        return self._fit(self._checked(X, y, sample_weight))

    @abstractmethod
    def _outputs(
        self, data: TaskData, rows: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """How many outputs each task has, and the class of each output."""

    @abstractmethod
    def _loss(self, layout: Layout, y: np.ndarray, weight: np.ndarray) -> Loss:
        """The loss of rows in the order of their tasks."""

    @abstractmethod
    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Values by output (last axis) as an array by task (and class)."""

    # --------------------------------------------------------------- fitting

    def _encode(self, data: TaskData) -> _Problem:
        """Rows as the solvers see them, and where paths begin."""
        check_total_weight(data.sample_weight)
        warn_of_missing(data.encoder)
        weight = row_weights(data)
        order = np.argsort(data.task, kind="stable")
        order = order[weight[order] > 0]
        task, weight = data.task[order], weight[order]
        n_outputs, label = self._outputs(data, order, weight)
        layout = Layout.of(task, n_outputs, label)
        mean, scale = _moments(data.X, order, weight, self.scale)
        design = Design.of(data.X, order, layout, mean, scale)
        loss = self._loss(
            layout, data.y[order], weight / np.bincount(task, weight)[task]
        )
        penalty = self._make_penalty(layout, data.tasks)
        return _Problem(start_of(design, loss, penalty), order, weight, mean, scale)

    def _make_penalty(self, layout: Layout, tasks: np.ndarray) -> Any:
        n = max(layout.n_outputs, 1)
        task, label = layout.output_task, layout.label
        if self.penalty == "l21":
            return BlockPenalty()
        if self.penalty == "shared_sparse":
            return BlockPenalty(
                n**-0.25 if self.own_penalty is None else float(self.own_penalty)
            )
        if self.penalty == "trace":
            return TracePenalty()
        if self.penalty == "covariance":
            return CovariancePenalty(float(self.ridge))
        if self.penalty == "clustered":
            costs = float(self.ridge), float(self.within_penalty)
            return ClusterPenalty(label, self.n_clusters, *costs)
        if max(n, len(tasks)) > _MOST_LINKED:
            classes = "" if n <= len(tasks) else " and classes of tasks"
            raise ValueError(
                f'penalty="graph" of {type(self).__name__} takes the eigenvectors of '
                f"the graph, as a dense matrix, for up to {_MOST_LINKED:,} tasks"
                f"{classes}; here are {max(n, len(tasks)):,}. Fit groups of linked "
                'tasks by themselves, or take penalty="covariance".'
            )
        weights = read_graph(self.graph, tasks, type(self).__name__)
        linked = weights[np.ix_(task, task)] * (label[:, None] == label)
        return GraphPenalty(linked, float(self.ridge))

    def _check_alphas(self) -> None:
        if self.alphas is None:
            return
        alphas = np.asarray(self.alphas, dtype=np.float64)
        if (
            alphas.ndim != 1
            or not len(alphas)
            or not np.all(np.isfinite(alphas) & (alphas > 0))
        ):
            raise ValueError(
                f"alphas must be a list of finite numbers above 0; got {self.alphas!r}."
            )

    def _fit(self, data: TaskData) -> Self:
        """Choose alpha if that is to be done, solve, and keep what was found."""
        self._check_alphas()
        problem = self._encode(data)
        start = problem.start
        limits = float(self.tol), int(self.max_iter)
        alphas = alpha_grid(start, self.alphas, self.n_alphas)
        self._forget("alphas_", "path_losses_")
        if isinstance(self.alpha, Real):
            self.alpha_ = float(self.alpha)
            alphas = np.append(alphas[alphas > self.alpha_], self.alpha_)
            if self.penalty not in ("l21", "shared_sparse", "trace"):
                alphas = alphas[-1:]  # a path does not pay
        else:
            self.alphas_ = alphas
            self.alpha_ = self._choose(data, problem, alphas)
            alphas = alphas[alphas >= self.alpha_]
        found = start.solution
        if start.design.layout.n_outputs:
            for each in walk(start, alphas, *limits):
                found = each
            self._warn_if_unfinished(found)
        self._keep(problem, found)
        return self

    def _choose(self, data: TaskData, problem: _Problem, alphas: np.ndarray) -> float:
        """The alpha with the least loss of rows held out."""
        layout = problem.start.design.layout
        if not layout.n_outputs or len(alphas) == 1:
            return float(alphas[0])
        order = problem.order
        fold = deal_folds(
            data.X[order], data.y[order], data.task[order],
            data.classes is not None, self.n_folds,
        )  # fmt: skip
        fold[np.diff(layout.out_ptr)[layout.row_task] == 0] = -1
        if (fold < 0).all():
            raise ValueError(
                f'alpha="auto" of {type(self).__name__} holds rows out, but every task '
                "(and class) has one sample at the most, copies apart. Give alpha as a "
                "number."
            )
        self.path_losses_ = held_out_losses(
            problem.start, fold, problem.weight, alphas, max(self.tol, 1e-4),
            int(self.max_iter), _PATIENCE if self.alphas is None else len(alphas),
        )  # fmt: skip
        self.alphas_ = alphas[: len(self.path_losses_)]
        return float(alphas[np.argmin(self.path_losses_.mean(axis=1))])

    def _warn_if_unfinished(self, found: Solution) -> None:
        if found.converged:
            return
        advice = "Raise max_iter, alpha or tol."
        if found.n_iter < self.max_iter:
            advice = (
                f"More iterations do not lower it: alpha={found.alpha:.3g} asks for "
                "gradients closer to 0 than the steps bring them. The coefficients, "
                f"with an objective of {found.objective:.6g}, may be right all the "
                "same, but the gap does not prove it. Raise alpha or tol."
            )
        warnings.warn(
            f"{type(self).__name__} stopped after {found.n_iter} iterations with a "
            f"duality gap of {found.gap:.3g}, more than tol={self.tol:g} times the "
            f"loss without features. {advice}",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _keep(self, problem: _Problem, found: Solution) -> None:
        """Fitted attributes, in the units of X."""
        self._layout = problem.start.design.layout
        self._mean, self.scale_ = problem.mean, problem.scale
        self._solution = found.shared, found.own
        self._fit_places = np.arange(len(self.tasks_))
        self.dual_gap_, self.n_iter_ = found.gap, max(found.n_iter, 1)
        self.objective_ = found.objective
        if not self._layout.n_outputs:
            self.dual_gap_ = self.objective_ = 0.0
        self._set_coefficients(*self._in_units(found, problem.mean, problem.scale))
        self._forget("shared_coef_", "own_coef_", "clusters_")
        if self.penalty == "shared_sparse":
            scale = problem.scale[:, None]
            self.shared_coef_ = self._spread_coefficients(found.shared / scale)
            self.own_coef_ = self._spread_coefficients(found.own / scale)
        if self.penalty == "clustered":
            self.clusters_ = self._find_clusters(found.coef)

    def _forget(self, *names: str) -> None:
        """Drop attributes of an earlier fit."""
        for name in names:
            self.__dict__.pop(name, None)

    def _in_units(
        self, found: Solution, mean: np.ndarray, scale: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        coef = found.coef / scale[:, None]
        return self._spread_coefficients(coef), self._spread(
            found.intercept - mean @ coef
        )

    def _spread_coefficients(self, coef: np.ndarray) -> np.ndarray:
        """From (n_features, n_outputs) to (n_tasks, [n_classes,] n_features)."""
        return np.moveaxis(self._spread(coef), 0, -1)

    def _set_coefficients(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        self.coef_, self.intercept_ = np.ascontiguousarray(coef), intercept
        used = self.coef_.reshape(-1, self.coef_.shape[-1]) != 0
        self.selected_features_ = np.flatnonzero(used.any(axis=0))

    def _find_clusters(self, W: np.ndarray) -> np.ndarray:
        """Clusters of the tasks by their coefficients, of all classes together."""
        tasks = self._by_task(W)
        n = min(self.n_clusters, len(np.unique(tasks, axis=0)))
        return KMeans(n, n_init=10, random_state=0).fit(tasks).labels_

    def _by_task(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of (n_features, n_outputs) as a row for each task."""
        return self._spread_coefficients(W).reshape(len(self.tasks_), -1)

    def coefficient_path(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PenaltyPath:
        """Coefficients for all of `alphas`, each solved from the one before.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence.

        Returns
        -------
        PenaltyPath
            Alphas, coefficients, intercepts and duality gaps. The estimator is fitted
            to the last alpha.
        """
        self._validate_params()
        self._check_alphas()
        data = self._checked(X, y, sample_weight)
        problem = self._encode(data)
        alphas = alpha_grid(problem.start, self.alphas, self.n_alphas)
        coefs, intercepts, gaps = [], [], []
        self._layout = problem.start.design.layout
        found = problem.start.solution
        for found in walk(problem.start, alphas, float(self.tol), int(self.max_iter)):
            coef, intercept = self._in_units(found, problem.mean, problem.scale)
            coefs.append(coef)
            intercepts.append(intercept)
            gaps.append(found.gap)
        self._forget("alphas_", "path_losses_")
        self.alpha_ = float(alphas[-1])
        self._warn_if_unfinished(found)
        self._keep(problem, found)
        return PenaltyPath(
            alphas, np.array(coefs), np.array(intercepts), np.array(gaps)
        )

    @abstractmethod
    def _checked(self, X: Any, y: Any, sample_weight: Any) -> TaskData:
        """Checked training data."""

    # ------------------------------------------------------------- relations

    @property
    def task_covariance_(self) -> np.ndarray:
        r"""Covariance of the tasks' coefficients, of trace 1.

        The square root of their inner products (in units of scaled features), which is
        what ``penalty="covariance"`` learns.
        """
        check_is_fitted(self)
        tasks = (self.coef_ * self.scale_).reshape(len(self.tasks_), -1)
        left, values, _ = np.linalg.svd(tasks, full_matrices=False)
        if values.sum() == 0:
            return np.eye(len(tasks)) / len(tasks)
        return (left * (values / values.sum())) @ left.T

    @property
    def task_correlation_(self) -> np.ndarray:
        """The covariance with a diagonal of 1."""
        out = self.task_covariance_
        root = np.sqrt(np.diag(out))
        root[root == 0] = 1.0  # a task without coefficients
        out = out / np.outer(root, root)
        np.fill_diagonal(out, 1.0)
        return np.clip(out, -1.0, 1.0)

    @property
    def task_affinity_(self) -> np.ndarray:
        """The correlation, under the name that all models give to what they learn."""
        return self.task_correlation_

    # ------------------------------------------------------------ prediction

    def _scores(self, X: Any, task: np.ndarray) -> np.ndarray:
        """Scores of rows by their tasks' coefficients; -1 has the common ones."""
        common = self._common()
        coef = np.concatenate([self.coef_, common[0][None]])
        intercept = np.concatenate([self.intercept_, common[1][None]])
        X = sp.csr_array(X) if sp.issparse(X) else X
        n_tasks = len(self.tasks_)
        out = np.empty((len(task), *intercept.shape[1:]))
        indptr, order = group_rows(np.where(task < 0, n_tasks, task), n_tasks + 1)
        for t in np.flatnonzero(np.diff(indptr)).tolist():
            rows = order[indptr[t] : indptr[t + 1]]
            out[rows] = X[rows] @ coef[t].T + intercept[t]
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _moments(
    X: Any, order: np.ndarray, weight: np.ndarray, scale: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Means (0 if sparse) and scales of the features, by the weights of rows."""
    total = weight.sum()
    every = np.zeros(X.shape[0])
    every[order] = weight / total
    mean = np.asarray(every @ X, dtype=np.float64).ravel()
    if sp.issparse(X):
        square = np.asarray(every @ X.multiply(X)).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        exact, centre = 1e-7, np.zeros_like(mean)
    else:
        spread = np.empty(X.shape[1])
        step = max(2**21 // max(len(every), 1), 1)
        for first in range(0, X.shape[1], step):
            some = slice(first, first + step)
            spread[some] = np.sqrt(every @ (X[:, some] - mean[some]) ** 2)
        exact, centre = 1e-14, mean
    # what rounding leaves of a constant is no scale
    constant = spread <= exact * np.abs(mean)
    if not scale:
        return centre, np.ones(len(mean))
    return centre, np.where(constant | (spread == 0), 1.0, spread)
