"""Rows of a kernel matrix, computed in blocks through BLAS when asked for."""

import numpy as np

from scipy.linalg.cython_blas cimport dgemm, dgemv, sgemm, sgemv

from kinlearn._kernels._typedefs cimport f32_t, f64_t, intp_t
from kinlearn._kernels.svm._loops cimport (
    kinlearn_poly32,
    kinlearn_poly64,
    kinlearn_rbf32,
    kinlearn_rbf64,
)
from kinlearn._kernels.svm._rows cimport BLOCK, CHUNK, RowSource, n_pieces


cdef class KernelRows(RowSource):
    """Rows of K for linear, rbf, poly or precomputed kernels.

    Parameters
    ----------
    kernel : Kernel
        Which one.
    gamma, coef0, degree : float, float, int
        Its parameters: ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``.
    packed : float32 or float64 array of shape (n_rows, n_features), in F order
        The data, which this object reorders; or None.
    matrix : float32 or float64 array of shape (n_rows, n_rows), in C order
        The kernel matrix, if it is precomputed; or None.
    csr : tuple of int64, int32 and float64 arrays
        Boundaries, columns and values of sparse data; or None.
    base : intp array of shape (n_rows,)
        Which rows of the matrix or of the sparse data, in which order; None is all.
    n_features : int
        Number of columns of sparse data.

    Notes
    -----
    `kinlearn.svm` packs the data: in single precision where the error is small,
    and centred for the rbf kernel, whose distances come from products.
    """

    def __init__(self, Kernel kernel, f64_t gamma=1.0, f64_t coef0=0.0, int degree=3,
                 *, packed=None, matrix=None, csr=None, base=None, intp_t n_features=0):
        cdef intp_t i, e, r
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        if csr is not None:
            self.sparse = True
            self.indptr, self.indices, self.data = csr
            self._take_base(base, self.indptr.shape[0] - 1)
            self.n_features = n_features
            self.dense = np.zeros(n_features)
            self.norm = np.zeros(self.n_rows)
            for i in range(self.n_rows):
                r = self.base[i]
                for e in range(self.indptr[r], self.indptr[r + 1]):
                    self.norm[i] += self.data[e] * self.data[e]
        elif matrix is not None:
            self._take_base(base, matrix.shape[0])
            self.single = matrix.dtype == np.float32
            if self.single:
                self.matrix32 = matrix
            else:
                self.matrix64 = matrix
            self.norm = np.diagonal(matrix).astype(np.float64)[np.asarray(self.base)]
        else:
            RowSource.__init__(self, packed.shape[0])
            self.n_features = packed.shape[1]
            self.single = packed.dtype == np.float32
            if self.single:
                self.packed32 = packed
                self.query32 = np.empty(BLOCK * max(self.n_features, 1), np.float32)
                self.dots32 = np.empty(BLOCK * CHUNK, np.float32)
            else:
                self.packed64 = packed
                self.query64 = np.empty(BLOCK * max(self.n_features, 1))
            self.norm = np.einsum("ij,ij->i", packed, packed, dtype=np.float64)
        self.dots64 = np.empty(BLOCK * CHUNK)
        self.work = np.empty(self.n_rows)

    def _take_base(self, base, intp_t n_rows):
        self.base = np.arange(n_rows) if base is None else base
        RowSource.__init__(self, self.base.shape[0])

    cdef f64_t diagonal(self, intp_t i) noexcept nogil:
        if self.kernel == RBF:
            return 1.0
        if self.kernel == POLY:
            return (self.gamma * self.norm[i] + self.coef0) ** self.degree
        return self.norm[i]

    cdef void fill(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                   f32_t** out) noexcept nogil:
        cdef intp_t b
        if stop <= start:
            return
        if self.kernel == PRECOMPUTED:
            for b in range(k):
                self._fill_precomputed(which[b], start, stop, out[b])
        elif self.sparse:
            for b in range(k):
                self._fill_sparse(which[b], start, stop, out[b])
        elif self.single:
            self._fill32(which, k, start, stop, out)
        else:
            self._fill64(which, k, start, stop, out)

    cdef void _fill32(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                      f32_t** out) noexcept nogil:
        cdef intp_t b, f, j, left, right, piece
        cdef int d = <int>self.n_features, ld = <int>self.n_rows
        cdef int m, n = <int>k, chunk = CHUNK, one = 1
        cdef f32_t unit = 1.0, zero = 0.0
        cdef f32_t* q = &self.query32[0]
        cdef f32_t* dots = &self.dots32[0]
        cdef f32_t* x
        for f in range(d):
            for b in range(k):
                q[b * d + f] = self.packed32[which[b], f]
        for piece in range(n_pieces(stop - start, CHUNK)):
            left = start + piece * CHUNK
            right = min(left + CHUNK, stop)
            m = <int>(right - left)
            x = &self.packed32[left, 0]
            if k == 1:
                sgemv("N", &m, &d, &unit, x, &ld, q, &one, &zero, dots, &one)
            else:
                sgemm("N", "N", &m, &n, &d, &unit, x, &ld, q, &d, &zero, dots, &chunk)
            for b in range(k):
                if self.kernel == RBF:
                    kinlearn_rbf32(dots + b * CHUNK, &self.norm[left], m,
                                   self.norm[which[b]], self.gamma,
                                   out[b] + left - start)
                elif self.kernel == POLY:
                    kinlearn_poly32(dots + b * CHUNK, m, self.gamma, self.coef0,
                                    self.degree, out[b] + left - start)
                else:
                    for j in range(m):
                        out[b][left - start + j] = dots[b * CHUNK + j]

    cdef void _fill64(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                      f32_t** out) noexcept nogil:
        cdef intp_t b, f, left, right, piece
        cdef int d = <int>self.n_features, ld = <int>self.n_rows
        cdef int m, n = <int>k, chunk = CHUNK, one = 1
        cdef f64_t unit = 1.0, zero = 0.0
        cdef f64_t* q = &self.query64[0]
        cdef f64_t* dots = &self.dots64[0]
        cdef f64_t* x
        for f in range(d):
            for b in range(k):
                q[b * d + f] = self.packed64[which[b], f]
        for piece in range(n_pieces(stop - start, CHUNK)):
            left = start + piece * CHUNK
            right = min(left + CHUNK, stop)
            m = <int>(right - left)
            x = &self.packed64[left, 0]
            if k == 1:
                dgemv("N", &m, &d, &unit, x, &ld, q, &one, &zero, dots, &one)
            else:
                dgemm("N", "N", &m, &n, &d, &unit, x, &ld, q, &d, &zero, dots, &chunk)
            for b in range(k):
                self._finish64(dots + b * CHUNK, self.norm[which[b]], left, right,
                               out[b] + left - start)

    cdef void _finish64(self, const f64_t* dots, f64_t own, intp_t start, intp_t stop,
                        f32_t* out) noexcept nogil:
        cdef intp_t j
        if self.kernel == RBF:
            kinlearn_rbf64(dots, &self.norm[start], stop - start, own, self.gamma, out)
        elif self.kernel == POLY:
            kinlearn_poly64(dots, stop - start, self.gamma, self.coef0, self.degree,
                            out)
        else:
            for j in range(stop - start):
                out[j] = <f32_t>dots[j]

    cdef void _fill_sparse(self, intp_t i, intp_t start, intp_t stop,
                           f32_t* out) noexcept nogil:
        cdef intp_t e, j, left, right, piece, r = self.base[self.place[i]], s
        cdef f64_t* dots = &self.dots64[0]
        cdef f64_t total
        for e in range(self.indptr[r], self.indptr[r + 1]):
            self.dense[self.indices[e]] = self.data[e]
        for piece in range(n_pieces(stop - start, CHUNK)):
            left = start + piece * CHUNK
            right = min(left + CHUNK, stop)
            for j in range(left, right):
                s = self.base[self.place[j]]
                total = 0.0
                for e in range(self.indptr[s], self.indptr[s + 1]):
                    total += self.data[e] * self.dense[self.indices[e]]
                dots[j - left] = total
            self._finish64(dots, self.norm[i], left, right, out + left - start)
        for e in range(self.indptr[r], self.indptr[r + 1]):
            self.dense[self.indices[e]] = 0.0

    cdef void _fill_precomputed(self, intp_t i, intp_t start, intp_t stop,
                                f32_t* out) noexcept nogil:
        cdef intp_t j, r = self.base[self.place[i]]
        if self.single:
            for j in range(start, stop):
                out[j - start] = self.matrix32[r, self.base[self.place[j]]]
        else:
            for j in range(start, stop):
                out[j - start] = <f32_t>self.matrix64[r, self.base[self.place[j]]]

    cdef void reorder(self, const intp_t* order, intp_t m) noexcept nogil:
        cdef intp_t f, p
        for p in range(m):
            self.work[p] = self.norm[order[p]]
        for p in range(m):
            self.norm[p] = self.work[p]
            self.work[p] = <f64_t>self.place[order[p]]  # exact below 2^53
        for p in range(m):
            self.place[p] = <intp_t>self.work[p]
        if self.sparse or self.kernel == PRECOMPUTED:
            return
        for f in range(self.n_features):
            if self.single:
                for p in range(m):
                    self.work[p] = self.packed32[order[p], f]
                for p in range(m):
                    self.packed32[p, f] = <f32_t>self.work[p]
            else:
                for p in range(m):
                    self.work[p] = self.packed64[order[p], f]
                for p in range(m):
                    self.packed64[p, f] = self.work[p]
