"""A kernel with its parameters as numbers, and the data in the form it wants."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from kinlearn._kernels.svm._kernel_rows import Kernel, KernelRows

__all__ = ["Space", "make_space"]

KERNELS = {
    "linear": Kernel.LINEAR,
    "rbf": Kernel.RBF,
    "poly": Kernel.POLY,
    "precomputed": Kernel.PRECOMPUTED,
}

# Below this many rows the products are in double precision whatever X is: they
# are no bottleneck there, and small problems then agree with scikit-learn's.
_SINGLE_FROM = 3000
# rbf in single precision errs by some 1e-7 of gamma |x|^2 in the exponent
_SINGLE_LIMIT = 32.0
# Sparse data of at most so many cells is packed densely: BLAS is that much faster.
_DENSE_CELLS = 2**25
_MEDIAN_ROWS = 1000


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

    def rows(self, X):
        """What gives rows of the kernel matrix of X to the native solvers.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            The data; for a precomputed kernel the matrix.

        Returns
        -------
        KernelRows
            Keeps a copy of the data; positions are the rows of X.
        """
        kind = KERNELS[self.kernel]
        options = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        if self.kernel == "precomputed":
            return KernelRows(kind, matrix=_matrix(X))
        if sp.issparse(X):
            if X.shape[0] * X.shape[1] > _DENSE_CELLS:
                X = X.tocsr()
                parts = (
                    X.indptr.astype(np.int32),
                    X.indices.astype(np.int32),
                    X.data.astype(np.float64),
                )
                return KernelRows(kind, **options, csr=parts, n_features=X.shape[1])
            X = X.toarray()
        return KernelRows(kind, **options, packed=self._pack(X))

    def _pack(self, X):
        packed = np.array(X, dtype=np.float64, order="F")
        if self.kernel == "rbf" and len(packed):
            packed -= packed.mean(axis=0)  # products of centred rows lose no digits
        if len(packed) < _SINGLE_FROM:
            return packed
        if self.kernel == "rbf":
            reach = self.gamma * np.einsum("ij,ij->i", packed, packed).max()
            if reach > _SINGLE_LIMIT:
                return packed
        return packed.astype(np.float32)

    def between(self, X, Z):
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


def _matrix(K):
    if sp.issparse(K):
        K = K.toarray()
    dtype = np.float32 if K.dtype == np.float32 else np.float64
    return np.ascontiguousarray(K, dtype=dtype)


def make_space(X, kernel, gamma="scale", coef0=0.0, degree=3):
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

    Returns
    -------
    Space
        The kernel.
    """
    if kernel in ("linear", "precomputed"):
        return Space(kernel)
    if gamma == "scale":
        if sp.issparse(X):
            variance = X.multiply(X).mean() - X.mean() ** 2
        else:
            variance = X.var(dtype=np.float64)
        gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    elif gamma == "auto":
        gamma = 1.0 / X.shape[1]
    elif gamma == "median":
        step = -(-X.shape[0] // _MEDIAN_ROWS)
        distances = euclidean_distances(X[::step], squared=True)
        apart = distances[np.triu_indices_from(distances, k=1)]
        median = np.median(apart) if apart.size else 0.0
        if median <= 0.0:  # more than half of the rows are the same
            median = apart.mean() if apart.size else 0.0
        gamma = 1.0 / median if median > 0 else 1.0
    return Space(kernel, float(gamma), float(coef0), int(degree))
