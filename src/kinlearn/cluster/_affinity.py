"""The affinity between rows: dense, sparse, or left as the data it comes from.

A form of affinity knows its product with V, its degrees, the sum of its squared
cells, and a sweep of the solver. Rows that come after a fit have an affinity to its
rows only, of which `cross_product` gives the product with V.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from kinlearn._kernels.cluster._symmetric_nmf import (
    sweep_dense,
    sweep_sparse,
    sweep_terms,
    term_norms,
    term_product,
    term_slots,
    term_totals,
)
from kinlearn.utils import group_rows

__all__ = [
    "Affinity",
    "TermAffinity",
    "build_affinity",
    "cross_product",
    "cross_product_by_task",
    "explicit_affinity",
]

_CHUNK = 2**24  # cells of a temporary
_CELLS = 2**20  # of a block of a dense affinity
_ADDITIONS = 2**24  # of a call of a kernel, so that Ctrl-C is noticed in between


def _pattern(X: Any) -> Any:
    """1 where X is not zero."""
    if sp.issparse(X):
        return sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
    return (X != 0).astype(X.dtype)


def _unit_rows(X: Any) -> Any:
    """Rows of length 1; zero rows stay."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else (X * X).sum(axis=1)
    length = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return _scale_rows(X, inverse.astype(X.dtype))


def _scale_rows(X: Any, factor: np.ndarray) -> Any:
    if sp.issparse(X):
        data = X.data * np.repeat(factor, np.diff(X.indptr))
        return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return X * factor[:, None]


def _halves(X: Any, kind: str) -> tuple[Any, Any]:
    """P and Q with the ``"shared"`` or ``"cosine"`` affinity P Q' + Q P'."""
    if kind == "shared":
        return X, _pattern(X)
    unit = _unit_rows(X)
    return unit, unit * unit.dtype.type(0.5)


def explicit_affinity(
    X: Any, kind: str, gamma: float, task: np.ndarray, lambdas: np.ndarray
) -> Any:
    """The weighted affinity as a matrix with a zero diagonal, made block by block.

    X has the features, or for ``kind="precomputed"`` the affinity itself; the result is
    sparse if X is. `lambdas` are the weights by the tasks of row and column.
    """
    if sp.issparse(X) and kind != "rbf":
        return _explicit_sparse(X, kind, task, lambdas)
    n = len(task)
    if kind == "precomputed":
        by_task = lambdas.astype(X.dtype)[:, task]
        W = np.empty((n, n), dtype=X.dtype)
        for i in range(n):
            np.multiply(X[i], by_task[task[i]], out=W[i])
    else:
        W = _explicit_dense(X, kind, gamma, task, lambdas)
    np.fill_diagonal(W, 0)
    return W


def _explicit_dense(
    X: Any, kind: str, gamma: float, task: np.ndarray, lambdas: np.ndarray
) -> np.ndarray:
    """The affinity of dense rows, some of a task with all later tasks at a time."""
    n = len(task)
    P, Q = (X, X) if kind == "rbf" else _halves(X, kind)
    W = np.zeros((n, n), dtype=X.dtype)
    indptr, order = group_rows(task, len(lambdas))
    for t in range(len(lambdas)):
        others = order[indptr[t] :]
        factor = lambdas[t, task[others]].astype(X.dtype)
        others, factor = others[factor > 0], factor[factor > 0]
        P_others, Q_others = P[others], Q[others]
        step = max(1, _CELLS // max(len(others), 1))
        for first in range(indptr[t], indptr[t + 1], step):
            rows = order[first : min(first + step, indptr[t + 1])]
            if kind == "rbf":
                block = rbf_kernel(X[rows], P_others, gamma=gamma)
            else:
                block = P[rows] @ Q_others.T
                block += Q[rows] @ P_others.T
            block *= factor
            W[np.ix_(rows, others)] = block
            W[np.ix_(others, rows)] = block.T
    return W


def _explicit_sparse(
    X: sp.csr_array, kind: str, task: np.ndarray, lambdas: np.ndarray
) -> sp.csr_array:
    """The affinity of sparse rows, a few rows at a time into one growing array.

    Joining blocks would need the memory of the result several times.
    """
    n = X.shape[0]
    P, Q = (X, X) if kind == "precomputed" else _halves(X, kind)
    P_columns, Q_columns = P.T.tocsr(), Q.T.tocsr()
    data, columns = np.empty(0, dtype=X.dtype), np.empty(0, dtype=np.int32)
    sizes = np.zeros(n + 1, dtype=np.int64)
    step = max(1, _CHUNK // (32 * n))
    used = 0
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        if kind == "precomputed":
            some = sp.csr_array(P[rows])
        else:
            some = sp.csr_array(P[rows] @ Q_columns + Q[rows] @ P_columns)
        row = np.repeat(np.arange(n)[rows], np.diff(some.indptr))
        value = some.data * lambdas[task[row], task[some.indices]].astype(X.dtype)
        kept = (value != 0) & (row != some.indices)
        end = used + int(kept.sum())
        if end > len(data):  # rows to come are like those so far
            size = max(end, int(1.05 * end * n / rows.stop))
            data.resize(size, refcheck=False)
            columns.resize(size, refcheck=False)
        data[used:end], columns[used:end] = value[kept], some.indices[kept]
        sizes[1 + first : 1 + rows.stop] = np.bincount(
            row[kept] - first, minlength=rows.stop - first
        )
        used = end
    data.resize(used, refcheck=False)
    columns.resize(used, refcheck=False)
    small = used <= np.iinfo(np.int32).max
    starts = np.cumsum(sizes).astype(np.int32 if small else np.int64)
    W = sp.csr_array((data, columns, starts), shape=(n, n))
    W.sort_indices()
    return W


@dataclass(frozen=True, eq=False)
class Affinity:
    """A dense or CSR matrix, with a zero diagonal."""

    W: Any
    task: np.ndarray

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.task)

    def product(self, V: np.ndarray) -> np.ndarray:
        """W V."""
        return np.asarray(self.W @ V, dtype=np.float64)

    def product_inside(self, V: np.ndarray) -> np.ndarray:
        """W V over pairs of rows of the same task."""
        indptr, order = group_rows(self.task, int(self.task.max()) + 1)
        if np.diff(indptr).max() == self.n:  # no copy of the whole
            return self.product(V)
        out = np.empty(V.shape)
        for t in range(len(indptr) - 1):
            rows = order[indptr[t] : indptr[t + 1]]
            out[rows] = self.W[np.ix_(rows, rows)] @ V[rows]
        return out

    @cached_property
    def degrees(self) -> np.ndarray:
        """Row sums."""
        return np.asarray(self.W.sum(axis=1), dtype=np.float64).ravel()

    def scaled(self, factor: np.ndarray) -> "Affinity":
        """Rows and columns times a factor, in place: the matrix is ours."""
        if sp.issparse(self.W):
            starts, step = self.W.indptr, max(1, _CHUNK // (32 * self.n))
            for first in range(0, self.n, step):
                some = factor[first : first + step]
                counts = np.diff(starts[first : first + step + 1])
                cells = slice(starts[first], starts[first] + counts.sum())
                rows = np.repeat(some, counts)
                self.W.data[cells] *= (rows * factor[self.W.indices[cells]]).astype(
                    self.W.dtype
                )
        else:
            factor = factor.astype(self.W.dtype)
            np.multiply(self.W, factor[:, None], out=self.W)
            np.multiply(self.W, factor, out=self.W)
        return Affinity(self.W, self.task)

    def squares(self, factor: np.ndarray) -> np.ndarray:
        """Sums of squared cells by the task of the row.

        `factor`, an array of shape (n_tasks, n_tasks), weighs them by the tasks of row
        and column.
        """
        out = np.zeros(len(factor))
        tasks = np.eye(len(factor), dtype=self.W.dtype)[self.task]
        step = max(1, 2**17 // self.n)
        for i in range(0, self.n, step):
            some, task = self.W[i : i + step], self.task[i : i + step]
            by_task = np.asarray((some * some) @ tasks)
            row = (by_task * factor[task]).sum(axis=1)
            out += np.bincount(task, weights=row, minlength=len(factor))
        return out

    def sweeper(
        self, order: np.ndarray, V: np.ndarray, state: Sequence[np.ndarray]
    ) -> Callable[[], float]:
        """A function of no arguments that makes one sweep; see the kernels."""
        if sp.issparse(self.W):
            rows = (self.W.indptr, self.W.indices, self.W.data, self.task, order, V)
            return lambda: sweep_sparse(*rows, *state)
        columns = np.ascontiguousarray(V.T)
        return lambda: sweep_dense(self.W, self.task, order, V, columns, *state)


@dataclass(frozen=True, eq=False)
class TermAffinity:
    """``L o (P Q' + Q P')`` of sparse P and Q, never made.

    A product costs as much as there are entries in the data, where the matrix may
    have a cell for every pair of rows.
    """

    P: sp.csr_array
    Q: sp.csr_array
    task: np.ndarray
    lambdas: np.ndarray

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.task)

    @cached_property
    def _values(self) -> np.ndarray:
        return np.ascontiguousarray(
            np.column_stack([self.P.data, self.Q.data]), dtype=np.float64
        )

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        return _task_groups(self.lambdas)

    @cached_property
    def _groups_inside(self) -> tuple[np.ndarray, np.ndarray]:
        return _task_groups(np.diag(np.diag(self.lambdas)))

    @cached_property
    def _task_rows(self) -> tuple[np.ndarray, np.ndarray]:
        return group_rows(self.task, len(self.lambdas))

    @cached_property
    def _slots(self) -> tuple[int, np.ndarray]:
        indptr, terms = self.P.indptr, self.P.indices
        slots, last = np.empty_like(terms), np.full(self.P.shape[1], -1, terms.dtype)
        return term_slots(indptr, terms, *self._task_rows, last, slots), slots

    @cached_property
    def _diagonal(self) -> np.ndarray:
        cells = np.add.reduceat(
            np.append(2.0 * self._values.prod(axis=1), 0.0), self.P.indptr[:-1]
        )
        cells[np.diff(self.P.indptr) == 0] = 0.0
        return cells * self.lambdas[self.task, self.task]

    def _product(
        self, V: np.ndarray, groups: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        V = np.ascontiguousarray(V, dtype=np.float64)
        out = np.empty_like(V)
        term_product(
            self.P.indptr,
            self.P.indices,
            self._values,
            self.task,
            *self._task_rows,
            *groups,
            *(_only_task(factor) for factor in groups),
            self._diagonal,
            V,
            np.zeros((self.P.shape[1], 2 * V.shape[1])),
            out,
        )
        return out

    def product(self, V: np.ndarray) -> np.ndarray:
        """W V."""
        return self._product(V, self._groups)

    def product_inside(self, V: np.ndarray) -> np.ndarray:
        """W V over pairs of rows of the same task."""
        return self._product(V, self._groups_inside)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Row sums."""
        sums = self.product(np.ones((self.n, 1))).ravel()
        # what is left of the diagonal by rounding is no affinity
        return np.where(sums > 1e-12 * self._diagonal, sums, 0.0)

    def scaled(self, factor: np.ndarray) -> "TermAffinity":
        """Rows and columns times a factor."""
        P, Q = (_scale_rows(half, factor) for half in (self.P, self.Q))
        return TermAffinity(P, Q, self.task, self.lambdas)

    def squares(self, factor: np.ndarray) -> np.ndarray:
        """Weighted sum of squared cells by the task of the row; see `Affinity`."""
        columns = [half.tocsc() for half in (self.P, self.Q)]
        out = np.zeros(len(factor))
        arrays = (
            self.P.indptr,
            self.P.indices,
            self._values,
            columns[0].indptr,
            columns[0].indices,
            np.ascontiguousarray(
                np.column_stack([c.data for c in columns]), dtype=np.float64
            ),
            self.task,
            factor * self.lambdas**2,
            columns[0].indptr[:-1].copy(),
            np.zeros(self.n),
            out,
        )
        cuts = self._cuts(np.diff(columns[0].indptr))
        for first, last in pairwise(cuts):
            term_norms(*arrays, first, last)
        return out

    def _cuts(self, rows_of_terms: np.ndarray) -> list[int]:
        """Row numbers that part the comparison of all rows into equal work."""
        per_entry = np.cumsum(rows_of_terms[self.P.indices], dtype=np.int64)
        work = np.append(0, per_entry)[self.P.indptr[1:]] + self.n * np.arange(self.n)
        inner = np.flatnonzero(np.diff(work // _ADDITIONS)) + 1
        return [0, *inner.tolist(), self.n]

    def sweeper(
        self, order: np.ndarray, V: np.ndarray, state: Sequence[np.ndarray]
    ) -> Callable[[], float]:
        """A function of no arguments that makes one sweep; see the kernels."""
        n_slots, slots = self._slots
        rows = (self.P.indptr, self.P.indices, slots, self._values)
        read, write = self._groups
        reader, writer = (_only_task(factor) for factor in self._groups)
        # A task's own group needs memory for its own terms only. With 7,232 texts of
        # 20,176 terms in 200 tasks: 18 MB instead of 124, and 25 ms instead of 33.
        is_wide = (reader < 0) | (reader != writer)
        wide = np.where(is_wide, np.cumsum(is_wide) - 1, -1)
        width = 2 * V.shape[1]
        totals = np.zeros((is_wide.sum(), self.P.shape[1], width))
        narrow = np.zeros((0 if is_wide.all() else max(n_slots, 1), width))
        term_totals(*rows, self.task, write, wide, V, totals, narrow)
        data = (*rows, read, write, wide, self._diagonal, totals, narrow)
        return lambda: sweep_terms(*data, self.task, order, V, *state)


def _task_groups(lambdas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factor symmetric weights by pairs of tasks as ``read write'`` over few groups.

    Both are of shape (n_tasks, n_groups). With one number within and one between tasks,
    there are a group for each task and one for all, of which a task uses two.
    """
    n = len(lambdas)
    between = lambdas[0, -1]
    rest = lambdas - between
    if n > 1 and not np.any(rest - np.diag(np.diag(rest))):
        read = np.column_stack([np.diag(np.diag(rest)), np.full(n, between)])
        write = np.column_stack([np.eye(n), np.ones(n)])
        used = read.any(axis=0)
        return (
            np.ascontiguousarray(read[:, used]),
            np.ascontiguousarray(write[:, used]),
        )
    return np.eye(n), np.ascontiguousarray(lambdas.T, dtype=np.float64)


def _only_task(factor: np.ndarray) -> np.ndarray:
    """The only task that has to do with each group, or -1."""
    used = factor != 0
    return np.where(used.sum(axis=0) == 1, used.argmax(axis=0), -1)


def build_affinity(
    X: Any,
    kind: str,
    gamma: float,
    task: np.ndarray,
    lambdas: np.ndarray,
    *,
    normalize: bool,
    n_clusters: int = 2,
) -> tuple[Affinity | TermAffinity, np.ndarray]:
    """The affinity of the rows in the form that costs least.

    Also what rows and columns were multiplied with: one over the roots of the degrees
    with `normalize`. `n_clusters` is for the estimate of memory; the rest is as in
    `explicit_affinity`.
    """
    by_terms = sp.issparse(X) and kind in ("shared", "cosine")
    # totals by term and group of tasks; with very many tasks the matrix is smaller
    n_totals = (len(lambdas) + 1) * X.shape[1] * 2 * n_clusters
    if by_terms and n_totals <= max(X.shape[0] ** 2, _CHUNK):
        P, Q = _halves(X, kind)
        affinity: Any = TermAffinity(P, Q, task, lambdas)
    else:
        affinity = Affinity(explicit_affinity(X, kind, gamma, task, lambdas), task)
    degrees = affinity.degrees
    scale = (degrees > 0).astype(np.float64)  # nothing reaches an isolated row
    if normalize:
        np.divide(scale, np.sqrt(degrees), out=scale, where=degrees > 0)
    if normalize or not scale.all():
        affinity = affinity.scaled(scale)
    return affinity, scale


def cross_product(
    X_new: Any, X: Any, kind: str, gamma: float, U: np.ndarray
) -> np.ndarray:
    """Product of the affinity of new rows to old ones with U.

    For ``kind="precomputed"``, `X_new` is the affinity itself.
    """
    if kind == "precomputed":
        return np.asarray(X_new @ U)
    if kind == "rbf":
        step = max(1, _CHUNK // len(U))
        products = [
            rbf_kernel(X_new[i : i + step], X, gamma=gamma) @ U
            for i in range(0, X_new.shape[0], step)
        ]
        return np.concatenate(products)
    (P_new, Q_new), (P, Q) = _halves(X_new, kind), _halves(X, kind)
    return np.asarray(P_new @ (Q.T @ U) + Q_new @ (P.T @ U))


def cross_product_by_task(
    X_new: Any,
    X: Any,
    kind: str,
    gamma: float,
    U: np.ndarray,
    *,
    new_task: np.ndarray,
    task: np.ndarray,
    lambdas: np.ndarray,
) -> np.ndarray:
    """`cross_product` with the affinity times weights by the tasks of both rows.

    X is None for ``kind="precomputed"``.
    """
    out = np.zeros((len(new_task), U.shape[1]))
    for read, write in zip(
        *(factor.T for factor in _task_groups(lambdas)), strict=True
    ):
        new = np.flatnonzero(read[new_task])
        old = np.flatnonzero(write[task])
        if not len(new):
            continue
        factor = write[task[old]][:, None]
        some, rows = X_new[new], None if X is None else X[old]
        if X is None and len(old) < len(task):
            some = some[:, old]
        product = cross_product(some, rows, kind, gamma, factor * U[old])
        out[new] += read[new_task[new]][:, None] * product
    return out
