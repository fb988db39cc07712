"""What the multi-task support vector machines share: kernels, solving, later rows."""

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kinlearn.svm._group_kernels import correction_space
from kinlearn.svm._kernel import decision_space
from kinlearn.svm._matrices import TaskKernel
from kinlearn.svm._problem import Problem, Solution, class_pairs
from kinlearn.svm.estimators._base import (
    SVMMixin,
    check_symmetric,
    coefficients,
    indexable,
    warn_if_unfinished,
    warn_of_scales,
)
from kinlearn.svm.estimators._later import (
    keep_bounding_rows,
    near_common_bias,
    solve_correction,
)
from kinlearn.svm.estimators._machines import Blocks, Machines
from kinlearn.svm.solvers import (
    feasible_start,
    linear_pays,
    solve_linear,
    solve_smo,
    solve_tasks,
)
from kinlearn.tables.internal import NUMBERS
from kinlearn.tasks import TaskData, TaskMixin
from kinlearn.utils._sklearn import StrOptions
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["MultiTaskSVMBase"]

_REMEDY = "Scale the features, lower C"


class MultiTaskSVMBase(SVMMixin, TaskMixin, BaseEstimator, metaclass=ABCMeta):
    """What the classifier and the regressor share."""

    _table_encoding = NUMBERS

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        **SVMMixin._parameter_constraints,
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"auto", "smo", "linear"})],
        "shrinking": ["boolean"],
    }

    intercept_: np.ndarray

    def _make_kernel(self, data: TaskData) -> tuple[TaskKernel, Blocks]:
        """Kernels with parameters as numbers, and the columns they work on."""
        name = type(self).__name__
        correction_kernel = self._correction_kind
        blocks = Blocks.find(self.kernel, correction_kernel, data.X.shape, name)
        X, X_correction = blocks.split(indexable(data.X))
        spaces = [
            ("The kernel", self.kernel, X, blocks.decision),
            (
                "The correcting kernel",
                correction_kernel,
                X_correction,
                blocks.correction,
            ),
        ]
        for what, kind, block, columns in spaces[: 1 if X is X_correction else 2]:
            if kind == "precomputed":
                check_symmetric(block, what, name)
            else:
                warn_of_scales(block, data.feature_names[columns], name, self.task)
        decision = decision_space(self, X, data.sample_weight)
        tasks = None if self.task is None else data.tasks.tolist()
        weight = data.sample_weight
        correction = correction_space(self, X_correction, weight, tasks, "task")
        kernel = TaskKernel(
            decision, correction, X, X_correction, float(self.correction_penalty)
        )
        return kernel, blocks

    def _solve_all(
        self,
        X: Table,
        y: ArrayLike,
        data: TaskData,
        problems: Sequence[Problem],
        cost: np.ndarray,
        weight: np.ndarray,
    ) -> list[Solution]:
        """Solve each problem, and keep the machines; X and y are for callbacks."""
        kernel, blocks = self._make_kernel(data)
        starts = self._old_beta(data, len(problems))

        def solve(problem: Problem, old: np.ndarray | None) -> Solution:
            return self._solve(problem, kernel, old)

        solutions = self._solve_each(X, y, problems, starts, solve)
        warn_if_unfinished(self, solutions, _REMEDY)
        beta = coefficients(problems, solutions, data.n_samples)
        intercept = np.zeros((len(problems), data.n_tasks))
        for m, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
            present = np.bincount(problem.group, minlength=data.n_tasks) > 0
            intercept[m] = np.where(present, solution.intercept, np.nan)
        rows = indexable(data.X), data.task, data.y, cost
        machines = Machines.build(kernel, blocks, *rows, beta, intercept, weight)
        if self.fit_intercept:
            biases = zip(
                problems, machines.intercept, machines.common_intercept, strict=True
            )
            near = [near_common_bias(*each) for each in biases]
            machines = replace(machines, intercept=np.reshape(near, intercept.shape))
            if not machines.is_precomputed:
                machines = keep_bounding_rows(machines, problems, beta, *rows)
        self._machines = machines
        self.support_ = machines.support
        self._n_samples_fit = data.n_samples
        return solutions

    def _solve(
        self, problem: Problem, kernel: TaskKernel, old: np.ndarray | None
    ) -> Solution:
        if len(problem.rows) == 0:  # two classes without weight
            none = np.zeros(problem.n_groups)
            return Solution(np.zeros(0), none, 0, 0.0, 0.0, True)
        options = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "fit_intercept": self.fit_intercept,
        }
        linear = kernel.decision.kernel == kernel.correction.kernel == "linear"
        if self.solver == "linear" and not linear:
            raise ValueError(
                f'solver="linear" needs two linear kernels; got kernel={self.kernel!r} '
                f"and correction_kernel={self.correction_kernel!r}. Use "
                'solver="auto".'
            )
        pays = linear and linear_pays(problem, kernel.X)
        if self.solver == "linear" or (self.solver == "auto" and pays):
            solution = solve_linear(problem, kernel, **options)
            limited = self.solver == "linear" or self.max_iter >= 0
            if solution.converged or limited:
                return solution
        solve = solve_smo if self.solver == "smo" else solve_tasks
        return solve(
            problem,
            kernel,
            **options,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
            start=feasible_start(problem, old),
        )

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit: the common function stays as it is.

        Fitted is the correction of each new task alone, with the same `C` and
        `correction_penalty`. Other tasks do not change.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Targets; no class that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        self
            The machines with these tasks. `dual_coef_` and `support_` stay those of
            fit.
        """
        later = self._later_data(X, y, sample_weight, only_new=True)
        return self._add_later(later, "add_task")

    def _add_later(self, later: Any, method: str) -> Self:
        """Solve the corrections of the rows' tasks; `method` is for messages."""
        machines = self._machines
        if machines.is_precomputed:
            raise ValueError(
                f"{method} needs features, but a kernel is precomputed. Fit anew with "
                "the matrix of all rows."
            )
        X, cost = indexable(later.X), self._later_cost(later)
        former = {code: t for t, code in enumerate(later.place.tolist())}
        names = later.tasks.tolist()
        corrections, biases, solutions = {}, {}, []
        for code in np.unique(later.task).tolist():
            mine = np.flatnonzero(later.task == code)
            rows = machines.correction_of(former.get(code))
            rows = rows.and_rows(X[mine], later.y[mine], cost[mine])
            bias = np.zeros(len(machines.dual_coef))
            if code in former:
                bias = machines.intercept[:, former[code]] - machines.common_intercept
            corrections[code], biases[code], found = solve_correction(
                machines,
                former.get(code),
                names[code],
                rows,
                self._problems(rows.y, rows.cost),
                bias,
                tol=self.tol,
                max_iter=self.max_iter,
                fit_intercept=self.fit_intercept,
                cache_size=self.cache_size,
                shrinking=self.shrinking,
            )
            solutions += found
        warn_if_unfinished(self, solutions, _REMEDY)
        self._machines = machines.with_corrections(
            later.place, corrections, biases, names
        )
        # A regressor has one machine, and shows it alone.
        intercept = self._machines.intercept
        self.intercept_ = intercept if self.intercept_.ndim == 2 else intercept[0]
        self._remember_later(later)
        return self

    @abstractmethod
    def _later_cost(self, later: Any) -> np.ndarray:
        """Costs of later rows."""

    @abstractmethod
    def _problems(self, y: np.ndarray, cost: np.ndarray) -> list[Problem]:
        """The problems of the rows of one task, machine by machine."""

    def _old_beta(self, data: TaskData, n_machines: int) -> Any:
        """Coefficients of the last fit by row, if they are where to start."""
        if not self.warm_start or not hasattr(self, "_machines"):
            return [None] * n_machines
        old = self._machines
        if self._n_samples_fit != data.n_samples or len(old.dual_coef) != n_machines:
            return [None] * n_machines
        beta = np.zeros((n_machines, data.n_samples))
        beta[:, old.support] = old.dual_coef
        return beta

    @property
    def support_vectors_(self) -> Any:
        """Rows of the training data that the machines rest on, task by task."""
        check_is_fitted(self)
        return self._machines.vectors

    @property
    def task_support_(self) -> dict[Any, np.ndarray]:
        """Row numbers of the support vectors of each task, as a dict."""
        check_is_fitted(self)
        m = self._machines
        return {
            task: m.support[m.indptr[t] : m.indptr[t + 1]]
            for t, task in enumerate(self.tasks_.tolist())
        }

    def _weights(self, name: str) -> np.ndarray:
        check_is_fitted(self)
        values = getattr(self._machines, name)
        if values is None:
            raise AttributeError(f"{name}_ exists for a linear kernel only.")
        return values

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the common part; with a linear kernel only."""
        return self._weights("coef")

    @property
    def task_coef_(self) -> np.ndarray:
        """Weights that each task adds; with a linear correcting kernel only."""
        return self._weights("task_coef")

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        n_machines = len(self._machines.dual_coef)
        if n_classes:
            n_machines = len(class_pairs(n_classes, self.multi_class))
        self._machines.check(n_features, n_tasks, n_machines)

    def _values(self, X: Table) -> tuple[np.ndarray, np.ndarray]:
        """Tasks of the rows, and the machines' values for them."""
        rows = self._predict_data(X, order="C")
        X = indexable(rows.X)
        return rows.task, self._machines.common(X) + self._machines.task_part(
            X, rows.task
        )

    def _task_values(self, X: Table) -> np.ndarray:
        """What the rows' tasks add to the common part of the machines' values."""
        rows = self._predict_data(X, order="C")
        return self._machines.task_part(indexable(rows.X), rows.task)

    def _common_values(self, X: Table) -> tuple[np.ndarray, np.ndarray]:
        """Tasks of the rows, and the common part of the machines' values."""
        rows = self._predict_data(X, order="C")
        return rows.task, self._machines.common(indexable(rows.X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # with a task column or features X is not square, and cannot be cut as one
        given = self.kernel == self._correction_kind == "precomputed"
        tags.input_tags.pairwise = given and self.task is None
        return tags
