"""Kernels with their parameters as numbers, and rows of their matrices for the solvers.

`Space` is one kernel; `TaskKernel` is that of SVM+MTL, of which SMO sees some rows at a
time; `StoredRows` has those that block descent of SVM+ works with.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from kinlearn._kernels.svm._plus import gather
from kinlearn._kernels.svm._rows import Kernel, KernelRows, RowCache
from kinlearn._kernels.svm._task_smo import TaskRows
from kinlearn.utils._loaded import demand

__all__ = [
    "KERNELS",
    "SINGLE_FROM",
    "Gamma",
    "KernelName",
    "Space",
    "StoredRows",
    "TaskKernel",
    "correction_space",
    "decision_space",
    "make_space",
]

KernelName: TypeAlias = Literal["linear", "rbf", "poly", "precomputed"]
Gamma: TypeAlias = float | Literal["scale", "auto", "median"]

KERNELS = {
    "linear": Kernel.LINEAR,
    "rbf": Kernel.RBF,
    "poly": Kernel.POLY,
    "precomputed": Kernel.PRECOMPUTED,
}

# Below this many rows the products are in double precision whatever X is: they
# are no bottleneck there, and small problems then agree with scikit-learn's.
SINGLE_FROM = 3000
# rbf in single precision errs by some 1e-7 of gamma |x|^2 in the exponent
_SINGLE_LIMIT = 32.0
# Sparse data of at most so many cells is packed densely: BLAS is that much faster.
_DENSE_CELLS = 2**25
# Up to so many rows SVM+ makes the whole matrix, in double precision: it is cheap
# there, and large C (1e6) needs more digits than single precision has.
_WHOLE_ROWS = 1200
_PACK_COLUMNS = 64
_VARIANCE_ROWS = 1024
_LEAST_SPREAD = 1e-200
_MEDIAN_ROWS = 1000
_EXPANDED_CELLS = 2**22  # of the kernel with support vectors, at a time


@dataclass(frozen=True)
class Space:
    """A kernel whose parameters are numbers.

    Attributes
    ----------
    kernel : {"linear", "rbf", "poly", "precomputed"}
        Which one.
    gamma, coef0 : float
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``.
    degree : int
        Of poly.
    """

    kernel: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    def check(self) -> None:
        """Refuse parameters that no fit leaves behind."""
        demand(self.kernel in KERNELS, "kernel")
        demand(np.isfinite([self.gamma, self.coef0, self.degree]).all(), "gamma")

    def rows(self, X: Any, order: np.ndarray) -> KernelRows:
        """The source of rows of the kernel matrix for the native solvers.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            The data; for a precomputed kernel the matrix.
        order : intp array of shape (n_rows,)
            Which rows of X, in which order.

        Returns
        -------
        KernelRows
            Keeps a copy of dense data, and holds on to other data.
        """
        kind = KERNELS[self.kernel]
        order = np.ascontiguousarray(order, dtype=np.intp)
        if self.kernel == "precomputed":
            return KernelRows(kind, matrix=_matrix(X), base=order)
        options = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        if not sp.issparse(X):
            return KernelRows(kind, **options, packed=self._pack(X, order))
        X = X.tocsr()
        if len(order) * X.shape[1] <= _DENSE_CELLS:
            packed = self._pack(X[order].toarray(), np.arange(len(order)))
            return KernelRows(kind, **options, packed=packed)
        csr = (
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32),
            X.data.astype(np.float64),
        )
        return KernelRows(kind, **options, csr=csr, base=order, n_features=X.shape[1])

    def _pack(self, X: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The rows, column by column: centred for rbf, single if that is enough.

        Distances of the rbf kernel come from products of rows, and products of
        centred rows lose fewer digits.
        """
        centre = np.zeros(X.shape[1])
        if self.kernel == "rbf":
            centre = X.mean(axis=0, dtype=np.float64)
        single = len(order) >= SINGLE_FROM and self._reach(X, centre) < _SINGLE_LIMIT
        out = np.empty(
            (len(order), X.shape[1]), np.float32 if single else np.float64, order="F"
        )
        for left in range(0, X.shape[1], _PACK_COLUMNS):
            part = slice(left, left + _PACK_COLUMNS)
            out[:, part] = X[order, part] - centre[part]
        return out

    def _reach(self, X: np.ndarray, centre: np.ndarray) -> float:
        """The greatest exponent that single precision would have to be good for."""
        if self.kernel != "rbf":
            return 0.0
        norms = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        norms += centre @ centre - 2.0 * (X @ centre)
        return self.gamma * norms.max()

    def between(self, X: Any, Z: Any) -> np.ndarray:
        """The kernel between rows of X and rows of Z, in double precision.

        Parameters
        ----------
        X, Z : ndarray or sparse matrix of shape (n, n_features), (m, n_features)
            Data.

        Returns
        -------
        float64 array of shape (n, m)
            The kernel; not for precomputed ones, which are a part of X.
        """
        if self.kernel == "rbf":
            out = euclidean_distances(X, Z, squared=True).astype(np.float64, copy=False)
            out *= -self.gamma
            return np.exp(out, out=out)
        out = X @ Z.T
        out = np.asarray(out.todense() if sp.issparse(out) else out, dtype=np.float64)
        if self.kernel == "poly":
            out = (self.gamma * out + self.coef0) ** self.degree
        return out

    def matrix(self, X: Any, rows: np.ndarray) -> np.ndarray:
        """The kernel between rows of X, in double precision and C order."""
        if self.kernel != "precomputed":
            part = X[rows].astype(np.float64, copy=False)
            return np.ascontiguousarray(self.between(part, part))
        part = X[rows][:, rows]
        part = part.toarray() if sp.issparse(part) else part
        return np.ascontiguousarray(part, dtype=np.float64)

    def product(
        self, X: Any, goal: np.ndarray, rows: np.ndarray, beta: np.ndarray
    ) -> np.ndarray:
        """The kernel between rows of X and others times the coefficients of these."""
        used = np.flatnonzero(beta)
        support, coef = rows[used], beta[None, used]
        here = X[goal].astype(np.float64, copy=False)
        if self.kernel == "precomputed":
            return self.expand(here, None, support, coef)[:, 0]
        vectors = X[support].astype(np.float64, copy=False)
        sums = coef @ vectors if self.kernel == "linear" else None
        return self.expand(here, vectors, support, coef, sums)[:, 0]

    def expand(
        self,
        X: Any,
        vectors: Any,
        support: np.ndarray,
        dual_coef: np.ndarray,
        coef: np.ndarray | None = None,
    ) -> np.ndarray:
        """Values of machines for new rows, without biases: (n, n_machines).

        Sums over the support vectors by `dual_coef`, which has a row for each machine,
        some rows of X at a time. A precomputed kernel has the vectors in the columns
        `support` of X, others in `vectors`; for a linear one their sums may be given.
        """
        if coef is not None:
            return np.asarray(X @ coef.T, dtype=np.float64)
        out = np.zeros((X.shape[0], len(dual_coef)))
        if dual_coef.shape[1] == 0:
            return out
        step = max(1, _EXPANDED_CELLS // dual_coef.shape[1])
        for left in range(0, X.shape[0], step):
            rows = X[left : left + step]
            if self.kernel == "precomputed":
                K = rows[:, support]
                K = K.toarray() if sp.issparse(K) else K
            else:
                K = self.between(rows, vectors)
            out[left : left + step] = K @ dual_coef.T
        return out


@dataclass(frozen=True)
class TaskKernel:
    """The kernel of SVM+MTL, Q = K + [same task] K* / correction_penalty.

    Attributes
    ----------
    decision, correction : Space
        Kernels.
    X, X_correction : ndarray or sparse matrix
        Rows of the training data, or precomputed matrices; may be the same.
    penalty : float
        Weight of the tasks' corrections, the thesis's gamma.
    """

    decision: Space
    correction: Space
    X: Any
    X_correction: Any
    penalty: float

    @property
    def same(self) -> bool:
        """Whether the correcting kernel is the decision kernel again."""
        return self.decision == self.correction and self.X is self.X_correction

    def rows(self, rows: np.ndarray, task: np.ndarray, n_tasks: int) -> TaskRows:
        """Rows of Q, for rows of the data and their tasks."""
        inverse_penalty = 1.0 / self.penalty
        correction = None
        if inverse_penalty > 0.0 and not self.same:
            correction = self.correction.rows(self.X_correction, rows)
        decision = self.decision.rows(self.X, rows)
        return TaskRows(decision, correction, inverse_penalty, task, n_tasks)

    def matrix(self, rows: np.ndarray, task: np.ndarray) -> np.ndarray:
        """The whole of Q in double precision, for rows of the data and their tasks."""
        Q = self.decision.matrix(self.X, rows)
        if 1.0 / self.penalty > 0.0:
            same = task[:, None] == task
            other = Q if self.same else self.correction.matrix(self.X_correction, rows)
            Q = Q + np.where(same, other / self.penalty, 0.0)
        return Q

    def values(
        self,
        rows: np.ndarray,
        task: np.ndarray,
        n_tasks: int,
        beta: np.ndarray,
        at: np.ndarray,
    ) -> np.ndarray:
        """Q times coefficients in double precision, for some rows.

        Parameters
        ----------
        rows : intp array of shape (n,)
            Rows of the data, task by task.
        task : int array of shape (n,)
            Their tasks.
        n_tasks : int
            Number of tasks.
        beta : float64 array of shape (n,)
            Coefficients, mostly zeros.
        at : intp array of shape (k,), ascending
            Which rows.

        Returns
        -------
        float64 array of shape (k,)
            The product.
        """
        out = self.decision.product(self.X, rows[at], rows, beta)
        if 1.0 / self.penalty > 0.0:
            codes = np.arange(n_tasks + 1)
            bounds = np.searchsorted(task, codes), np.searchsorted(task[at], codes)
            for (left, right), (start, stop) in zip(
                *map(pairwise, bounds), strict=True
            ):
                goal, own = rows[at[start:stop]], rows[left:right]
                out[start:stop] += (
                    self.correction.product(
                        self.X_correction, goal, own, beta[left:right]
                    )
                    / self.penalty
                )
        return out


class StoredRows:
    """Rows of a kernel matrix that stay in memory while a block works with them.

    Parameters
    ----------
    space : Space
        The kernel.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The data; for a precomputed kernel the matrix.
    rows : intp array of shape (n,)
        The rows of X that count, in the order of the matrix.
    most : int
        Rows that may be kept, if there are too many to keep all.

    Attributes
    ----------
    cells : float32 or float64 array of shape (n_slots, n)
        What is kept; `slots` returns where a row is.
    """

    def __init__(self, space: Space, X: Any, rows: np.ndarray, most: int) -> None:
        self._source = space, X, rows
        self._cache: RowCache | None = None  # None: the whole matrix is here
        if len(rows) > _WHOLE_ROWS:
            self._cache = RowCache(space.rows(X, rows), most * len(rows) * 4)
            self.cells = self._cache.stored()
        else:
            self.make_whole()

    def make_whole(self) -> None:
        """Have the whole matrix, in double precision, from now on."""
        space, X, rows = self._source
        self._cache, self.cells = None, space.matrix(X, rows)

    @property
    def whole(self) -> bool:
        """Whether the whole matrix is here."""
        return self._cache is None

    def slots(self, rows: np.ndarray) -> np.ndarray:
        """Rows of `cells` with rows of the matrix; they stay until the next call."""
        return rows if self._cache is None else self._cache.hold(rows)

    def block(
        self, rows: np.ndarray, factor: np.ndarray, group: np.ndarray, out: np.ndarray
    ) -> None:
        """The matrix between rows, times the factors of both; 0 between groups."""
        gather(self.cells, self.slots(rows), rows, factor, group, out)


def _matrix(K: Any) -> np.ndarray:
    if sp.issparse(K):
        K = K.toarray()
    dtype = np.float32 if K.dtype == np.float32 else np.float64
    return np.ascontiguousarray(K, dtype=dtype)


def _variance(X: Any, weight: np.ndarray | None) -> float:
    """Of all cells of X, by the weights of the rows."""
    if weight is None and not sp.issparse(X):
        return X.var(dtype=np.float64)
    if weight is None:
        weight = np.ones(X.shape[0])
    total = weight.sum() * X.shape[1]
    mean = (weight @ X).sum() / total
    if sp.issparse(X):
        return (weight @ X.multiply(X)).sum() / total - mean**2
    squares = 0.0
    for left in range(0, X.shape[0], _VARIANCE_ROWS):
        part = slice(left, left + _VARIANCE_ROWS)
        squares += weight[part] @ ((X[part] - mean) ** 2).sum(axis=1)
    return squares / total


def _inverse(spread: float) -> float:
    """Its inverse; 1 where rows hardly differ, so that this would be infinite."""
    return 1.0 / spread if spread > _LEAST_SPREAD else 1.0


def make_space(
    X: Any,
    kernel: str,
    gamma: Gamma = "scale",
    coef0: float = 0.0,
    degree: int = 3,
    weight: np.ndarray | None = None,
) -> Space:
    """Turn kernel parameters into numbers, by the training data.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Training data.
    kernel : {"linear", "rbf", "poly", "precomputed"}
        Which one.
    gamma : float, "scale", "auto" or "median", default="scale"
        "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features, "median" is 1
        over the median squared distance between rows (of 1,000 evenly spaced ones).
    coef0, degree : float, int
        Of poly.
    weight : float64 array of shape (n_samples,), default=None
        Weights of the rows in the variance; rows without any are left out.

    Returns
    -------
    Space
        The kernel.
    """
    if kernel in ("linear", "precomputed"):
        return Space(kernel)
    if gamma == "scale":
        variance = _variance(X, weight)
        gamma = _inverse(X.shape[1] * variance)
    elif gamma == "auto":
        gamma = 1.0 / X.shape[1]
    elif gamma == "median":
        rows = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
        rows = rows[:: -(-len(rows) // _MEDIAN_ROWS)]
        distances = euclidean_distances(X[rows], squared=True)
        between_rows = distances[np.triu_indices_from(distances, k=1)]
        median = np.median(between_rows) if between_rows.size else 0.0
        if median <= 0.0:  # more than half of the rows are the same
            median = between_rows.mean() if between_rows.size else 0.0
        gamma = _inverse(median)
    return Space(kernel, float(gamma), float(coef0), int(degree))


def decision_space(machine: Any, X: Any, weight: np.ndarray | None) -> Space:
    """The decision kernel by an estimator's parameters."""
    return make_space(
        X, machine.kernel, machine.gamma, machine.coef0, machine.degree, weight
    )


def correction_space(machine: Any, Z: Any, weight: np.ndarray | None) -> Space:
    """The correcting kernel; what is None is that of the decision kernel."""

    def inherit(name: str) -> Any:
        value = getattr(machine, f"correction_{name}")
        return getattr(machine, name) if value is None else value

    return make_space(
        Z,
        inherit("kernel"),
        inherit("gamma"),
        inherit("coef0"),
        inherit("degree"),
        weight,
    )
