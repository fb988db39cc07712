"""Fitted support vector machines of several tasks, and their values for new rows."""

import itertools
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn.svm._kernel import CorrectionSpace, Space
from kinlearn.svm._matrices import TaskKernel
from kinlearn.utils import group_rows
from kinlearn.utils._loaded import (
    check_below,
    check_finite,
    check_numbers,
    check_starts,
    check_vectors,
    demand,
)

__all__ = ["Blocks", "Correction", "Machines"]


@dataclass(frozen=True)
class Blocks:
    """Which columns of X each kernel works on.

    Precomputed matrices have a column for each training row and come first: K,
    then K*; features follow.

    Attributes
    ----------
    decision, correction : slice
        Columns of each kernel.
    """

    decision: slice
    correction: slice

    @classmethod
    def find(
        cls, kernel: str, correction_kernel: str, shape: tuple[int, int], estimator: str
    ) -> Self:
        """The columns of each kernel, by the shape of the training data.

        Parameters
        ----------
        kernel, correction_kernel : str
            Kernels.
        shape : tuple of int
            Rows and columns of X in fit, without the task column.
        estimator : str
            Name for messages.

        Returns
        -------
        Blocks
            The columns.
        """
        n, width = shape
        everything, first, rest = slice(0, width), slice(0, n), slice(n, width)
        given = kernel == "precomputed", correction_kernel == "precomputed"
        if not any(given) or (all(given) and width == n):
            return cls(everything, everything)
        if all(given):
            expected, found = f"{n} columns, or {2 * n} for K and K*", width == 2 * n
            decision, correction = first, rest
        else:
            expected, found = (
                f"more than {n} columns: the matrix, then features",
                (width > n),
            )
            decision, correction = (first, rest) if given[0] else (rest, first)
        if not found:
            raise ValueError(
                f"{estimator} with a precomputed kernel and {n} training rows needs "
                f"{expected}; X has {width} columns beside the task. A matrix has one "
                "column for each training row, so cut its columns together with the "
                "rows: scikit-learn's cross-validation does so only for an X that is "
                "one matrix, without features and a task column."
            )
        return cls(decision, correction)

    def split(self, X: Any) -> tuple[Any, Any]:
        """The columns of each kernel; the same object if they are the same."""
        if self.decision == self.correction:
            return X, X
        return X[:, self.decision], X[:, self.correction]


@dataclass(frozen=True)
class Correction:
    """The correction of one task, with the rows that it rests on.

    Attributes
    ----------
    vectors : ndarray or sparse matrix of shape (n_rows, n_features)
        These rows.
    y : array of shape (n_rows,)
        Their targets: codes of classes, or numbers.
    cost : float64 array of shape (n_rows,)
        C times their weights.
    dual_coef : float64 array of shape (n_machines, n_rows)
        Their coefficients. Rows that only bound the task's bias have none.
    """

    vectors: Any
    y: np.ndarray
    cost: np.ndarray
    dual_coef: np.ndarray

    def and_rows(self, X: Any, y: np.ndarray, cost: np.ndarray) -> "Correction":
        """The same with more rows, which have no coefficients yet.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_more, n_features)
            The rows.
        y, cost : arrays of shape (n_more,)
            Their targets and costs.

        Returns
        -------
        Correction
            Of old and new rows.
        """
        both = [self.vectors, X]
        return Correction(
            sp.vstack(both, format="csr") if sp.issparse(X) else np.vstack(both),
            np.concatenate([self.y, y]),
            np.concatenate([self.cost, cost]),
            np.hstack([self.dual_coef, np.zeros((len(self.dual_coef), len(y)))]),
        )

    def take(self, rows: np.ndarray) -> "Correction":
        """Some of the rows.

        Parameters
        ----------
        rows : intp array
            Which.

        Returns
        -------
        Correction
            Of these.
        """
        return Correction(
            self.vectors[rows], self.y[rows], self.cost[rows], self.dual_coef[:, rows]
        )


@dataclass(frozen=True)
class Machines:
    """One machine for each pair of classes to be separated, over all tasks.

    Attributes
    ----------
    decision, correction : Space, CorrectionSpace
        Kernels.
    blocks : Blocks
        Which columns each works on.
    inverse_penalty : float
        1 / correction_penalty.
    support : intp array of shape (n_support,)
        Rows of the training data with a coefficient in any machine, by task.
    indptr : intp array of shape (n_tasks + 1,)
        Boundaries of the tasks in `support`.
    vectors : ndarray or sparse matrix of shape (n_support, n_features)
        These rows.
    y, cost : arrays of shape (n_support,)
        Their targets (codes of classes, or numbers), and C times their weights.
    dual_coef : float64 array of shape (n_machines, n_support)
        Their coefficients.
    intercept : float64 array of shape (n_machines, n_tasks)
        Bias of each task.
    common_intercept : float64 array of shape (n_machines,)
        Bias of the common part.
    coef : float64 array of shape (n_machines, n_features) or None
        The common part, where it is linear.
    task_coef : float64 array of shape (n_machines, n_tasks, n_features) or None
        What each task adds, where that is linear.
    later : dict
        From the code of a task to its `Correction`, where that is not the support
        vectors of fit: its rows came later, or other rows bound its bias. The common
        part does not rest on these.
    """

    decision: Space
    correction: CorrectionSpace
    blocks: Blocks
    inverse_penalty: float
    support: np.ndarray
    indptr: np.ndarray
    vectors: Any
    y: np.ndarray
    cost: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    common_intercept: np.ndarray
    coef: np.ndarray | None = None
    task_coef: np.ndarray | None = None
    later: dict = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        kernel: TaskKernel,
        blocks: Blocks,
        X: Any,
        task: np.ndarray,
        y: np.ndarray,
        cost: np.ndarray,
        beta: np.ndarray,
        intercept: np.ndarray,
        weight: np.ndarray,
    ) -> Self:
        """Collect the solutions.

        Parameters
        ----------
        kernel : TaskKernel
            Kernels and penalty.
        blocks : Blocks
            Their columns.
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Training data.
        task : int array of shape (n_samples,)
            Its tasks.
        y, cost : arrays of shape (n_samples,)
            Its targets, and C times its weights.
        beta : float64 array of shape (n_machines, n_samples)
            Coefficients.
        intercept : float64 array of shape (n_machines, n_tasks)
            Biases; NaN for tasks without rows, which get the common one.
        weight : float64 array of shape (n_machines, n_tasks)
            What each task counts in the common bias.

        Returns
        -------
        Machines
            The machines.
        """
        used = np.flatnonzero((beta != 0).any(axis=0))
        indptr, order = group_rows(task[used], intercept.shape[1])
        support = used[order]
        dual_coef, vectors = beta[:, support], X[support]
        if kernel.decision.kernel == kernel.correction.kernel == "precomputed":
            vectors = vectors[:, :0]  # their kernel with new rows is given
        inverse_penalty = 1.0 / kernel.penalty
        counted = np.where(weight > 0, intercept, 0.0)
        total = weight.sum(axis=1)  # 0 for two classes without weight: no bias
        common = (counted * weight).sum(axis=1) / np.where(total > 0, total, 1.0)
        intercept = np.where(np.isnan(intercept), common[:, None], intercept)
        coef = task_coef = None
        decided, corrected = blocks.split(vectors)
        if kernel.decision.kernel == "linear":
            coef = _weighted_sum(dual_coef, decided)
        if kernel.correction.kernel == "linear":
            task_coef = np.stack(
                [
                    inverse_penalty * _weighted_sum(dual_coef[:, a:b], corrected[a:b])
                    for a, b in itertools.pairwise(indptr)
                ],
                axis=1,
            )
        return cls(
            kernel.decision,
            kernel.correction,
            blocks,
            inverse_penalty,
            support,
            indptr,
            vectors,
            y[support],
            cost[support],
            dual_coef,
            intercept,
            common,
            coef,
            task_coef,
        )

    def check(self, width: int, n_tasks: int, n_machines: int) -> None:
        """Refuse arrays that do not fit a model of so many columns and tasks."""
        n = len(self.support)
        check_numbers("support", self.support, "i", (n,))
        check_below("support", self.support, np.inf)
        check_starts("indptr", self.indptr, n_tasks, n, np.intp)
        check_numbers("cost", self.cost, np.float64, (n,))
        demand(self.y.shape == (n,), "y")
        check_numbers("dual_coef", self.dual_coef, np.float64, (n_machines, n))
        check_numbers("intercept", self.intercept, np.float64, (n_machines, n_tasks))
        check_numbers(
            "common_intercept", self.common_intercept, np.float64, (n_machines,)
        )
        self.decision.check()
        self.correction.check(n_tasks)
        without = self.decision.kernel == self.correction.kernel == "precomputed"
        check_vectors("vectors", self.vectors, n, 0 if without else width)
        for name in ("dual_coef", "intercept", "common_intercept"):
            check_finite(name, getattr(self, name))
        demand(np.isfinite(self.inverse_penalty), "inverse_penalty")
        for name, extra in (("coef", ()), ("task_coef", (n_tasks,))):
            array = getattr(self, name)
            if array is not None:
                check_numbers(name, array, np.float64, (n_machines, *extra, None))
                check_finite(name, array)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.indptr) - 1

    @property
    def is_precomputed(self) -> bool:
        """Whether a kernel is given as a matrix, so that rows have no features."""
        return "precomputed" in (self.decision.kernel, self.correction.kernel)

    def common(self, X: Any) -> np.ndarray:
        """The common part, bias included.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_columns)
            Rows without the task column.

        Returns
        -------
        float64 array of shape (n_samples, n_machines)
            Its values.
        """
        X, _ = self.blocks.split(X)
        vectors, _ = self.blocks.split(self.vectors)
        expansion = vectors, self.support, self.dual_coef, self.coef
        return self.decision.expand(X, *expansion) + self.common_intercept

    def task_part(self, X: Any, task: np.ndarray) -> np.ndarray:
        """What the rows' tasks add to the common part, bias included.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_columns)
            Rows without the task column.
        task : int array of shape (n_samples,)
            Task codes; nothing is added for an unknown task (-1).

        Returns
        -------
        float64 array of shape (n_samples, n_machines)
            The difference to the common part.
        """
        _, X = self.blocks.split(X)
        out = np.zeros((X.shape[0], len(self.dual_coef)))
        known = np.flatnonzero(task >= 0)
        indptr, order = group_rows(task[known], self.n_tasks)
        for t in np.flatnonzero(np.diff(indptr)).tolist():
            rows = known[order[indptr[t] : indptr[t + 1]]]
            bias = self.intercept[:, t] - self.common_intercept
            if self.inverse_penalty == 0:
                out[rows] = bias
                continue
            rests_on = self.correction_of(t)
            _, vectors = self.blocks.split(rests_on.vectors)
            support = self.support[self.indptr[t] : self.indptr[t + 1]]
            coef = None if self.task_coef is None else self.task_coef[:, t]
            values = self.correction.of(t).expand(
                X[rows], vectors, support, rests_on.dual_coef, coef
            )
            factor = self.inverse_penalty if coef is None else 1.0
            out[rows] = factor * values + bias
        return out

    def correction_of(self, t: int | None) -> Correction:
        """The correction of a task.

        Parameters
        ----------
        t : int or None
            Its code; None is a new task, which has no rows yet.

        Returns
        -------
        Correction
            With the rows that are left of the task.
        """
        if t in self.later:
            return self.later[t]
        part = slice(0) if t is None else slice(self.indptr[t], self.indptr[t + 1])
        return Correction(
            self.vectors[part], self.y[part], self.cost[part], self.dual_coef[:, part]
        )

    def with_corrections(
        self,
        place: np.ndarray,
        corrections: dict[int, Correction],
        bias: dict[int, np.ndarray],
        names: list,
    ) -> Self:
        """The same common part with other corrections, or with those of more tasks.

        Parameters
        ----------
        place : int array of shape (n_old_tasks,)
            New codes of the tasks.
        corrections : dict
            From the code of each task that changes or is new to its `Correction`.
        bias : dict
            From the same codes to what the tasks add to the common biases, a float64
            array of shape (n_machines,).
        names : list
            Names of all tasks, by their new codes.

        Returns
        -------
        Machines
            For all tasks.
        """
        n_tasks = len({*place.tolist(), *corrections})
        length = np.zeros(n_tasks, dtype=np.intp)
        length[place] = np.diff(self.indptr)
        intercept = np.empty((len(self.intercept), n_tasks))
        intercept[:, place] = self.intercept
        task_coef = None
        if self.task_coef is not None:
            task_coef = np.empty((len(intercept), n_tasks, self.task_coef.shape[2]))
            task_coef[:, place] = self.task_coef
        for code, correction in corrections.items():
            intercept[:, code] = self.common_intercept + bias[code]
            if task_coef is not None:
                _, corrected = self.blocks.split(correction.vectors)
                summed = _weighted_sum(correction.dual_coef, corrected)
                task_coef[:, code] = self.inverse_penalty * summed
        old = {int(place[code]): correction for code, correction in self.later.items()}
        return replace(
            self,
            correction=self.correction.moved(place, names),
            indptr=np.concatenate([[0], np.cumsum(length)]),
            intercept=intercept,
            task_coef=task_coef,
            later={**old, **corrections},
        )


def _weighted_sum(dual_coef: np.ndarray, vectors: Any) -> np.ndarray:
    return np.asarray(dual_coef @ vectors, dtype=np.float64)
