"""Kernels with their parameters as numbers, and sources of rows of their matrices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from kinlearn._kernels.svm._rows import Kernel, KernelRows, RowSource
from kinlearn.utils._loaded import demand

__all__ = [
    "KERNELS",
    "SINGLE_FROM",
    "CorrectionGamma",
    "CorrectionKernel",
    "CorrectionSpace",
    "Gamma",
    "KernelName",
    "Space",
    "decision_space",
    "make_space",
]

KernelFunction: TypeAlias = Callable[[Any, Any], Any]
KernelName: TypeAlias = Literal["linear", "rbf", "poly", "precomputed"] | KernelFunction
Gamma: TypeAlias = float | Literal["scale", "auto", "median"]
CorrectionKernel: TypeAlias = KernelName | Mapping[Any, KernelName]
CorrectionGamma: TypeAlias = Gamma | Mapping[Any, Gamma]

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
_PACK_COLUMNS = 64
_VARIANCE_ROWS = 1024
_LEAST_SPREAD = 1e-200
_MEDIAN_ROWS = 1000
_EXPANDED_CELLS = 2**22  # of the kernel with support vectors, at a time


class CorrectionSpace(Protocol):
    """The kernel of corrections: a `Space` for all groups, or `GroupSpaces`.

    Attributes
    ----------
    kernel : str
        Which one; "mixed" where groups have different ones.
    """

    @property
    def kernel(self) -> str: ...

    def of(self, group: int | None, name: Any = None) -> "Space":
        """The kernel of a group by its code; None is a later one of this name."""

    def moved(self, place: np.ndarray, names: list) -> "CorrectionSpace":
        """The same where groups get the codes `place`, among those of these names."""

    def check(self, n_groups: int = 1) -> None:
        """Refuse what no fit leaves behind."""

    def rows(
        self, X: Any, order: np.ndarray, group: np.ndarray | None = None
    ) -> RowSource:
        """The source of rows of the matrix; right within groups, which it needs."""

    def matrix(
        self, X: Any, rows: np.ndarray, group: np.ndarray | None = None
    ) -> np.ndarray:
        """The same as a whole, in double precision."""


@dataclass(frozen=True)
class Space:
    """A kernel whose parameters are numbers.

    Attributes
    ----------
    kernel : {"linear", "rbf", "poly", "precomputed", "callable"}
        Which one.
    gamma, coef0 : float
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``.
    degree : int
        Of poly.
    function : callable or None
        Of "callable": ``function(X, Z)`` is the kernel between rows of X and of Z.
    """

    kernel: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    function: KernelFunction | None = None

    def of(self, group: int | None, name: Any = None) -> "Space":
        """The kernel of a group: of each the same."""
        return self

    def moved(self, place: np.ndarray, names: list) -> "Space":
        """The same for other groups."""
        return self

    def check(self, n_groups: int = 1) -> None:
        """Refuse parameters that no fit leaves behind."""
        demand(self.kernel in KERNELS or callable(self.function), "kernel")
        demand(np.isfinite([self.gamma, self.coef0, self.degree]).all(), "gamma")

    def rows(
        self, X: Any, order: np.ndarray, group: np.ndarray | None = None
    ) -> KernelRows:
        """The source of rows of the kernel matrix for the native solvers.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            The data; for a precomputed kernel the matrix.
        order : intp array of shape (n_rows,)
            Which rows of X, in which order.
        group : ignored
            The kernel is the same in each.

        Returns
        -------
        KernelRows
            Keeps a copy of dense data, and holds on to other data.
        """
        order = np.ascontiguousarray(order, dtype=np.intp)
        if self.function is not None:
            return KernelRows(Kernel.PRECOMPUTED, matrix=self.matrix(X, order))
        kind = KERNELS[self.kernel]
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
        if self.function is not None:
            return _called(self.function, X, Z)
        if self.kernel == "rbf":
            out = _squared_distances(X, Z)
            out *= -self.gamma
            return np.exp(out, out=out)
        out = X @ Z.T
        out = np.asarray(out.todense() if sp.issparse(out) else out, dtype=np.float64)
        if self.kernel == "poly":
            out = (self.gamma * out + self.coef0) ** self.degree
        return out

    def matrix(
        self, X: Any, rows: np.ndarray, group: np.ndarray | None = None
    ) -> np.ndarray:
        """The kernel between rows of X, in double precision and C order."""
        if self.function is not None:
            K = _called(self.function, X[rows], X[rows])
            _check_own_kernel(K, self.function)
            return np.array(K, order="C")  # ours to change, the function's is not
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


def _squared_distances(X: Any, Z: Any) -> np.ndarray:
    """Between rows, as scikit-learn has them, whose checks cost more than few rows."""
    plain = all(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in (X, Z))
    if not plain:
        return euclidean_distances(X, Z, squared=True).astype(np.float64, copy=False)
    out = -2 * (X @ Z.T)
    out += np.einsum("ij,ij->i", X, X)[:, None]
    out += np.einsum("ij,ij->i", Z, Z)
    np.maximum(out, 0, out=out)
    if X is Z:
        np.fill_diagonal(out, 0)
    return out


def _matrix(K: Any) -> np.ndarray:
    if sp.issparse(K):
        K = K.toarray()
    dtype = np.float32 if K.dtype == np.float32 else np.float64
    return np.ascontiguousarray(K, dtype=dtype)


def _called(function: KernelFunction, X: Any, Z: Any) -> np.ndarray:
    """What a kernel function returns, if that is a matrix of finite numbers."""
    found = function(X, Z)
    K = np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)
    what = f"The kernel function {_name_of(function)}"
    if K.shape != (X.shape[0], Z.shape[0]):
        raise ValueError(
            f"{what} returned an array of shape {K.shape} for {X.shape[0]} and "
            f"{Z.shape[0]} rows. It must return one number for each pair of rows: "
            f"shape {(X.shape[0], Z.shape[0])}."
        )
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(
            f"{what} returned {K[i, j]} for a pair of rows. A kernel is finite: scale "
            "the features, or mend the function."
        )
    return K


def _check_own_kernel(K: np.ndarray, function: KernelFunction) -> None:
    """Refuse a matrix that no kernel between rows and themselves can have."""
    gap = np.abs(K - K.T).max(initial=0.0)
    if gap > 1e-5 * np.abs(K).max(initial=0.0):
        raise ValueError(
            f"The kernel function {_name_of(function)} is not symmetric: for two rows "
            f"it differs by {gap:.3g} with their order. Make it symmetric, such as by "
            "the mean of both orders."
        )
    if K.diagonal().min(initial=0.0) < 0:
        raise ValueError(
            f"The kernel function {_name_of(function)} is {K.diagonal().min():.3g} for "
            "a row and itself, which must not be below 0. Give a positive "
            "semi-definite kernel."
        )


def _name_of(function: KernelFunction) -> str:
    return getattr(function, "__name__", repr(function))


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
    kernel: KernelName,
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
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable
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
    if callable(kernel):
        return Space("callable", function=kernel)
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
