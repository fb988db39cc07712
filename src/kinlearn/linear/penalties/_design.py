"""Rows of many tasks as the solvers see them: where pairs lie, and their features."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import kinlearn._kernels.linear._task_columns as kernels

__all__ = ["Design", "Layout"]

_CHUNK = 2**21  # numbers that are turned around, or held as gradients, at a time


@dataclass(frozen=True, eq=False)
class Layout:
    """Where rows, outputs and pairs of both lie.

    Rows are in the order of their tasks. An output is what has coefficients: a task,
    or a class of a task. It has a pair with each row of its task.

    Attributes
    ----------
    row_ptr : intp array of shape (n_tasks + 1,)
        Task t has the rows ``row_ptr[t]:row_ptr[t + 1]``.
    out_ptr : intp array of shape (n_tasks + 1,)
        It has the outputs ``out_ptr[t]:out_ptr[t + 1]``.
    label : intp array of shape (n_outputs,)
        Class code of each output; 0 where a task has one output.
    """

    row_ptr: np.ndarray
    out_ptr: np.ndarray
    label: np.ndarray

    @classmethod
    def of(cls, task: np.ndarray, n_outputs: np.ndarray, label: np.ndarray) -> "Layout":
        """Of rows in the order of their tasks, and the outputs of each task."""
        rows = np.bincount(task, minlength=len(n_outputs))
        pointers = [
            np.concatenate([[0], np.cumsum(each)]) for each in (rows, n_outputs)
        ]
        row_ptr, out_ptr = (each.astype(np.intp) for each in pointers)
        return cls(row_ptr, out_ptr, label.astype(np.intp))

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.row_ptr) - 1

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.label)

    @cached_property
    def output_task(self) -> np.ndarray:
        """Task of each output."""
        return np.repeat(np.arange(self.n_tasks), np.diff(self.out_ptr))

    @cached_property
    def pair_ptr(self) -> np.ndarray:
        """Output p has the pairs ``pair_ptr[p]:pair_ptr[p + 1]``."""
        size = np.diff(self.row_ptr)[self.output_task]
        return np.concatenate([[0], np.cumsum(size)]).astype(np.intp)

    @cached_property
    def pair_output(self) -> np.ndarray:
        """Output of each pair."""
        return np.repeat(np.arange(self.n_outputs), np.diff(self.pair_ptr))

    @cached_property
    def pair_row(self) -> np.ndarray:
        """Row of each pair."""
        start = self.row_ptr[self.output_task] - self.pair_ptr[:-1]
        return np.arange(self.pair_ptr[-1]) + start[self.pair_output]

    @cached_property
    def row_task(self) -> np.ndarray:
        """Task of each row."""
        return np.repeat(np.arange(self.n_tasks), np.diff(self.row_ptr))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over the pairs of each output."""
        return np.bincount(self.pair_output, values, minlength=self.n_outputs)

    def take(self, rows: np.ndarray) -> "Layout":
        """Of some rows, in their order."""
        n_outputs = np.diff(self.out_ptr)
        return Layout.of(self.row_task[rows], n_outputs, self.label)


@dataclass(frozen=True, eq=False)
class Design:
    """Features of rows, column by column, with the layout that the kernels need.

    Attributes
    ----------
    layout : Layout
        Where the pairs lie.
    columns : float64 array of shape (n_features, n_rows), or csc_array
        Scaled features; a csc_array of shape (n_rows, n_features) if they are sparse.
    """

    layout: Layout
    columns: Any

    @classmethod
    def of(
        cls,
        X: Any,
        order: np.ndarray,
        layout: Layout,
        mean: np.ndarray,
        scale: np.ndarray,
    ) -> "Design":
        """Of the rows of X in the order given, centred (if dense) and scaled."""
        if sp.issparse(X):
            columns = sp.csc_array(sp.csr_array(X)[order].astype(np.float64))
            columns.sort_indices()
            columns.data = columns.data / np.repeat(scale, np.diff(columns.indptr))
            return cls(layout, _with_wide_indices(columns))
        columns = np.empty((X.shape[1], len(order)))
        step = max(_CHUNK // max(X.shape[1], 1), 1)
        for start in range(0, len(order), step):
            some = X[order[start : start + step]].T
            columns[:, start : start + step] = (some - mean[:, None]) / scale[:, None]
        return cls(layout, columns)

    @property
    def is_sparse(self) -> bool:
        """Whether the features are sparse."""
        return sp.issparse(self.columns)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.columns.shape[1 if self.is_sparse else 0]

    def take(self, rows: np.ndarray) -> "Design":
        """Some rows, in their order."""
        layout = self.layout.take(rows)
        if not self.is_sparse:
            return Design(layout, np.ascontiguousarray(self.columns[:, rows]))
        columns = self.columns[rows]
        columns.sort_indices()
        return Design(layout, _with_wide_indices(columns))

    def _call(self, name: str, features: Any, *arrays: Any, after: tuple = ()) -> Any:
        """Call a kernel of dense or sparse columns."""
        where = self.layout
        features = self._all if features is None else features
        pointers: tuple = (where.row_ptr, where.out_ptr, where.pair_ptr)
        if self.is_sparse:
            X = self.columns
            parts: tuple = (X.data, X.indices, X.indptr, features)
            pointers = (where.row_task, *pointers)
        else:
            parts = (self.columns, features)
        kernel = getattr(kernels, ("sparse_" if self.is_sparse else "dense_") + name)
        return kernel(*parts, *arrays, *pointers, *after)

    @cached_property
    def _all(self) -> np.ndarray:
        return np.arange(self.n_features)

    def scores(
        self, coef: np.ndarray, features: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores of all pairs by some features, without intercepts."""
        out = np.zeros(self.layout.pair_ptr[-1])
        self._call("scores", features, coef, after=(out,))
        return out

    def gradients(
        self, q: np.ndarray, features: np.ndarray | None = None
    ) -> np.ndarray:
        """Sums of x q by output, of shape (n_features, n_outputs)."""
        n = self.n_features if features is None else len(features)
        out = np.empty((n, self.layout.n_outputs))
        self._call("gradients", features, q, after=(out,))
        return out

    def chunks(self) -> list[np.ndarray]:
        """All features, so many at a time that their gradients take little memory."""
        step = max(_CHUNK // max(self.layout.n_outputs, 1), 1)
        return [
            self._all[start : start + step] for start in range(0, self.n_features, step)
        ]

    def moments(
        self, v: np.ndarray, features: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums of v x, and of v x^2 about the weighted mean, by feature and output."""
        first = np.empty((len(features), self.layout.n_outputs))
        second = np.empty_like(first)
        self._call("moments", features, v, after=(first, second))
        total = self.layout.sums(v)
        about = second - first**2 / np.where(total > 0, total, 1.0)
        # what rounding leaves of a constant column is no curvature
        return first, np.where(about > 1e-12 * second, about, 0.0)

    def sweeps(
        self, v: np.ndarray, features: np.ndarray, first: np.ndarray, *rest: Any
    ) -> float:
        """Block descent over some features; see the kernel."""
        curvature, *after = rest
        total = self.layout.sums(v)
        before = (first, curvature, np.where(total > 0, total, 1.0), v)
        return self._call("sweeps", features, *before, after=tuple(after))

    def largest_curvature(self, v: np.ndarray) -> float:
        """The largest eigenvalue of any output's weighted covariance, by power steps.

        A bound from above to within some percent, for which a twentieth is added.
        """
        where = self.layout
        total = where.sums(v)
        total[total == 0] = 1.0
        coef = np.random.default_rng(0).normal(size=(self.n_features, where.n_outputs))
        value = np.zeros(where.n_outputs)
        for _ in range(50):
            norm = np.linalg.norm(coef, axis=0)
            coef /= np.where(norm > 0, norm, 1.0)
            scores = self.scores(coef)
            scores -= (where.sums(v * scores) / total)[where.pair_output]
            coef = self.gradients(v * scores)
            before, value = value, np.linalg.norm(coef, axis=0)
            if np.all(value <= 1.001 * before):
                break
        return 1.05 * float(value.max(initial=0.0))


def _with_wide_indices(columns: Any) -> Any:
    """Compressed columns with the integers that the kernels take."""
    columns.indices = columns.indices.astype(np.intp)
    columns.indptr = columns.indptr.astype(np.intp)
    return columns
