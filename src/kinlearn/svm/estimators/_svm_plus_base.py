"""What the SVM+ estimators share: columns, kernels, solving, and new rows."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kinlearn.svm._group_kernels import correction_space
from kinlearn.svm._kernel import CorrectionSpace, Space, decision_space
from kinlearn.svm._matrices import StoredRows
from kinlearn.svm._problem import Problem, Solution, class_pairs
from kinlearn.svm.estimators._base import (
    SVMMixin,
    check_symmetric,
    coefficients,
    indexable,
    warn_if_unfinished,
    warn_of_scales,
)
from kinlearn.svm.solvers import solve_plus, start_plus
from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import NUMBERS
from kinlearn.tasks import (
    TaskColumns,
    TaskData,
    check_task_data,
    check_task_rows,
    remember_columns,
)
from kinlearn.utils import AllOrNothing
from kinlearn.utils._loaded import (
    check_below,
    check_finite,
    check_numbers,
    check_vectors,
    demand,
)
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["SVMPlusBase", "without_task"]


def without_task(columns: TaskColumns) -> TaskColumns:
    """The same columns with the task as one that prediction does not look at.

    Parameters
    ----------
    columns : TaskColumns
        What fit saw.

    Returns
    -------
    TaskColumns
        What prediction looks for: features, while all others may be absent.
    """
    if columns.task is None:
        return columns
    unseen = tuple(sorted((*columns.privileged, columns.task)))
    return replace(columns, task=None, privileged=unseen)


def _is_constant(Z: Any) -> bool:
    """Whether all rows are the same."""
    spread = Z.max(axis=0) - Z.min(axis=0)
    return not (spread.nnz if sp.issparse(spread) else spread.any())


class SVMPlusBase(SVMMixin, AllOrNothing, BaseEstimator):
    """Columns that exist in training only, two kernels, and the machines."""

    _parameter_constraints: dict = {
        **SVMMixin._parameter_constraints,
        "privileged": "no_validation",
        "group": [str, Integral, None],
    }

    table_encoder_: TableEncoder | None = None
    _seconds_by_pair = 7e-7

    # --------------------------------------------------------------- reading

    def _fit_rows(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        labels: Literal["classes", "numbers"],
    ) -> TaskData:
        """Check training data; its group and privileged columns may be gone later."""
        data = check_task_data(
            X,
            y,
            sample_weight,
            task=self.group,
            privileged=self.privileged,
            task_role="Group",
            labels=labels,
            encoding=None if self.kernel == "precomputed" else NUMBERS,
            accept_sparse=True,
            order="C",  # sums of the same numbers, whatever X comes in
            estimator=type(self).__name__,
            largest=self._largest,
        )
        remember_columns(self, without_task(data.columns))
        self.table_encoder_ = data.encoder
        self.feature_names_ = data.feature_names
        return data

    def _groups(self, data: TaskData) -> np.ndarray:
        """Group codes; without privileged columns and groups each row is its own."""
        self.groups_ = data.tasks if self.group is not None else None
        if self.group is None and data.privileged is None:
            return np.arange(data.n_samples)
        return data.task

    def _make_spaces(
        self, data: TaskData
    ) -> tuple[tuple[Space, Any], tuple[CorrectionSpace, Any] | None]:
        """Both kernels with the data they work on; None where slacks are free."""
        name = type(self).__name__
        X, weight = indexable(data.X), data.sample_weight
        if self.kernel == "precomputed":
            self._check_square(X, "X", "Kernel")
        else:
            warn_of_scales(X, data.feature_names, name, self.group, self.privileged)
        decision = decision_space(self, X, weight)
        if self.group is None and data.privileged is None:
            return (decision, X), None
        correction_kernel = self._correction_kind
        if data.privileged is None:
            if (correction_kernel == "precomputed") != (self.kernel == "precomputed"):
                raise ValueError(
                    f"{name} with groups has one X for both kernels, so both or none "
                    f"can be precomputed; got kernel={self.kernel!r} and "
                    f"correction_kernel={correction_kernel!r}. Pass the matrix of the "
                    "other one as privileged columns."
                )
            Z = X
        else:
            Z = indexable(data.privileged)
            if correction_kernel == "precomputed":
                self._check_square(Z, "The privileged columns", "Correcting kernel")
            else:
                names = data.columns.all_names[list(data.columns.privileged)]
                if Z.shape[1] == len(names):  # else a table that was encoded and scaled
                    warn_of_scales(Z, names, name, self.group, self.privileged)
        groups = None if self.group is None else data.tasks.tolist()
        correction = correction_space(self, Z, weight, groups, "group")
        if data.privileged is not None and Z.shape[1] and _is_constant(Z):
            # whatever the kernel, it is one number, which changes nothing but rounding
            return (decision, X), (Space("linear"), np.zeros((len(data.y), 1)))
        linear = correction.kernel == "linear" and not sp.issparse(Z)
        if data.privileged is not None and linear:
            Z = Z - Z.mean(axis=0, dtype=np.float64)  # nor does what all rows share
        return (decision, X), (correction, Z)

    def _check_square(self, matrix: Any, what: str, role: str) -> None:
        n, width = matrix.shape
        if n != width:
            raise ValueError(
                f"{role} is precomputed, so {what} must be a square matrix with a "
                f"column for each of the {n} training rows; got {width} columns. "
                "Give a kernel that is computed, or the whole matrix."
            )
        check_symmetric(matrix, f"The {role.lower()}", type(self).__name__)

    # --------------------------------------------------------------- solving

    def _solve_all(
        self, X: Table, y: ArrayLike, data: TaskData, problems: Sequence[Problem]
    ) -> list[Solution]:
        """Solve each problem, and keep the machines; X and y are for callbacks."""
        decision, correction = self._make_spaces(data)

        def solve(problem: Problem, start: Any) -> Solution:
            return self._solve(problem, decision, correction, start)

        starts = self._starts(problems)
        solutions = self._solve_each(X, y, problems, starts, solve)
        remedy = "Scale the features, lower C, raise correction_penalty"
        warn_if_unfinished(self, solutions, remedy)
        beta = coefficients(problems, solutions, data.n_samples)
        self._space, X = decision
        self.support_ = np.flatnonzero((beta != 0).any(axis=0))
        self.support_vectors_ = X[self.support_]
        if self.kernel == "precomputed":  # their kernel with new rows is given
            self.support_vectors_ = self.support_vectors_[:, :0]
        self.dual_coef_ = beta[:, self.support_]
        self.intercept_ = np.concatenate([s.intercept for s in solutions])
        if self.warm_start:
            self._solved = list(zip(problems, solutions, strict=True))
        return solutions

    def _starts(
        self, problems: Sequence[Problem]
    ) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """Where each machine begins: with `warm_start`, at the last solution."""
        solved = getattr(self, "_solved", []) if self.warm_start else []
        if len(solved) != len(problems):
            return [None] * len(problems)
        return [
            start_plus(problem, *former)
            for problem, former in zip(problems, solved, strict=True)
        ]

    def _solve(
        self,
        problem: Problem,
        decision: tuple[Space, Any],
        correction: tuple[CorrectionSpace, Any] | None,
        start: tuple[np.ndarray, np.ndarray] | None,
    ) -> Solution:
        n = len(problem.rows)
        same = correction is not None and (
            decision[0] == correction[0] and decision[1] is correction[1]
        )
        n_stores = 1 if same or correction is None else 2
        most = int(min(self.cache_size, 2**30) * 2**20 / n_stores / (4 * max(n, 1)))
        most = max(most, min(n, 512))  # what a block works with must fit in
        store = StoredRows(decision[0], decision[1], problem.rows, most)
        other = store if same else None
        if correction is not None and not same:
            group = problem.group
            other = StoredRows(*correction, problem.rows, most, group, centred=True)
        return solve_plus(
            problem,
            store,
            other,
            float(self.correction_penalty),
            tol=self.tol,
            max_iter=self.max_iter,
            start=start,
        )

    # -------------------------------------------------------------- new rows

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features; with a linear kernel only."""
        check_is_fitted(self)
        if self._space.kernel != "linear":
            raise AttributeError("coef_ exists for a linear kernel only.")
        return np.asarray(self.dual_coef_ @ self.support_vectors_, dtype=np.float64)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "support_" not in vars(self):
            return  # not fitted
        n, n_machines = len(self.support_), len(self.dual_coef_)
        check_numbers("support_", self.support_, "i", (n,))
        check_below("support_", self.support_, np.inf)
        check_numbers("dual_coef_", self.dual_coef_, np.float64, (None, n))
        check_numbers("intercept_", self.intercept_, np.float64, (n_machines,))
        check_finite("dual_coef_", self.dual_coef_)
        check_finite("intercept_", self.intercept_)
        self._space.check()
        width = 0 if self._space.kernel == "precomputed" else len(self.feature_names_)
        check_vectors("support_vectors_", self.support_vectors_, n, width)
        if hasattr(self, "classes_"):
            pairs = class_pairs(len(self.classes_), self.multi_class)
            demand(len(pairs) == n_machines, "dual_coef_")

    def _values(self, X: Table) -> np.ndarray:
        """Values of the machines for new rows: (n_samples, n_machines)."""
        check_is_fitted(self)
        X = check_task_rows(
            X,
            columns=self._columns,
            tasks=np.zeros(1, dtype=int),
            encoder=self.table_encoder_,
            accept_sparse=True,
            order="C",  # sums of the same numbers, whatever X comes in
            estimator=type(self).__name__,
            largest=self._largest,
        ).X
        X = indexable(X)
        coef = self.coef_ if self._space.kernel == "linear" else None
        expansion = self.support_vectors_, self.support_, self.dual_coef_, coef
        return self._space.expand(X, *expansion) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # with further columns X is not square, and cannot be cut as one
        alone = self.privileged is None and self.group is None
        tags.input_tags.pairwise = self.kernel == "precomputed" and alone
        return tags
