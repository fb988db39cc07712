"""Rows of kernel matrices: what computes them, in blocks through BLAS, and what keeps
the last used ones.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from scipy.linalg.cython_blas cimport dgemm, dgemv, sgemm, sgemv

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, intp_t
from kinlearn._kernels.svm._loops cimport (
    kinlearn_add,
    kinlearn_poly32,
    kinlearn_poly64,
    kinlearn_rbf32,
    kinlearn_rbf64,
)


cdef class RowSource:
    """Rows of a symmetric matrix, and its diagonal; see the .pxd for the contract.

    Attributes
    ----------
    n_rows : int
        Size of the matrix.
    """

    def __init__(self, intp_t n_rows):
        self.n_rows = n_rows
        self.place = np.arange(n_rows, dtype=np.intp)

    cdef void fill(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                   f32_t** out) noexcept nogil:
        pass

    cdef f64_t diagonal(self, intp_t i) noexcept nogil:
        return 0.0

    cdef void reorder(self, const intp_t* order, intp_t m) noexcept nogil:
        pass

    cdef void add_product(self, const intp_t* which, const f64_t* coef, intp_t k,
                          intp_t start, intp_t stop, f64_t* sums) noexcept nogil:
        cdef f32_t cells[BLOCK * CHUNK]
        cdef f32_t* out[BLOCK]
        cdef intp_t left, right, i, b, n_block, chunk, block
        for b in range(BLOCK):
            out[b] = cells + b * CHUNK
        for chunk in range(n_chunks(stop - start, CHUNK)):
            left = start + chunk * CHUNK
            right = min(left + CHUNK, stop)
            for block in range(n_chunks(k, BLOCK)):
                i = block * BLOCK
                n_block = min(BLOCK, k - i)
                self.fill(which + i, n_block, left, right, out)
                for b in range(n_block):
                    kinlearn_add(coef[i + b], out[b], right - left,
                                 sums + left - start)

    # ----------------------------------------------------------- for Python

    def rows(self, const intp_t[::1] which):
        """Some rows, over all columns.

        Parameters
        ----------
        which : intp array of shape (k,)
            Positions.

        Returns
        -------
        float32 array of shape (k, n_rows)
            The rows.
        """
        cdef intp_t i, b, n_block, chunk, k = which.shape[0]
        cdef f32_t* out[BLOCK]
        result = np.empty((k, self.n_rows), dtype=np.float32)
        cdef f32_t[:, ::1] cells = result
        with nogil:
            for chunk in range(n_chunks(k, BLOCK)):
                i = chunk * BLOCK
                n_block = min(BLOCK, k - i)
                for b in range(n_block):
                    out[b] = &cells[i + b, 0]
                self.fill(&which[i], n_block, 0, self.n_rows, out)
        return result

    def diagonals(self):
        """The diagonal.

        Returns
        -------
        float64 array of shape (n_rows,)
            In the order of the positions.
        """
        result = np.empty(self.n_rows)
        cdef f64_t[::1] cells = result
        cdef intp_t i
        for i in range(self.n_rows):
            cells[i] = self.diagonal(i)
        return result

    def product(self, const f64_t[::1] coef):
        """The matrix times a vector, which is mostly zeros.

        Parameters
        ----------
        coef : float64 array of shape (n_rows,)
            The vector.

        Returns
        -------
        float64 array of shape (n_rows,)
            The product.
        """
        cdef intp_t[::1] which = np.flatnonzero(coef)
        cdef f64_t[::1] values = np.asarray(coef)[which]
        result = np.zeros(self.n_rows)
        cdef f64_t[::1] sums = result
        cdef intp_t chunk, left, k = which.shape[0]
        for chunk in range(n_chunks(k, PRODUCT_ROWS)):
            left = chunk * PRODUCT_ROWS
            with nogil:
                self.add_product(&which[left], &values[left],
                                 min(PRODUCT_ROWS, k - left), 0, self.n_rows, &sums[0])
            PyErr_CheckSignals()  # all of it may take many seconds
        return result


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
        cdef intp_t b, f, j, left, right, chunk
        cdef int d = <int>self.n_features, ld = <int>self.n_rows
        cdef int m, n = <int>k, width = CHUNK, one = 1
        cdef f32_t unit = 1.0, zero = 0.0
        cdef f32_t* q = &self.query32[0]
        cdef f32_t* dots = &self.dots32[0]
        cdef f32_t* x
        for f in range(d):
            for b in range(k):
                q[b * d + f] = self.packed32[which[b], f]
        for chunk in range(n_chunks(stop - start, CHUNK)):
            left = start + chunk * CHUNK
            right = min(left + CHUNK, stop)
            m = <int>(right - left)
            x = &self.packed32[left, 0]
            if k == 1:
                sgemv("N", &m, &d, &unit, x, &ld, q, &one, &zero, dots, &one)
            else:
                sgemm("N", "N", &m, &n, &d, &unit, x, &ld, q, &d, &zero, dots, &width)
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
        cdef intp_t b, f, left, right, chunk
        cdef int d = <int>self.n_features, ld = <int>self.n_rows
        cdef int m, n = <int>k, width = CHUNK, one = 1
        cdef f64_t unit = 1.0, zero = 0.0
        cdef f64_t* q = &self.query64[0]
        cdef f64_t* dots = &self.dots64[0]
        cdef f64_t* x
        for f in range(d):
            for b in range(k):
                q[b * d + f] = self.packed64[which[b], f]
        for chunk in range(n_chunks(stop - start, CHUNK)):
            left = start + chunk * CHUNK
            right = min(left + CHUNK, stop)
            m = <int>(right - left)
            x = &self.packed64[left, 0]
            if k == 1:
                dgemv("N", &m, &d, &unit, x, &ld, q, &one, &zero, dots, &one)
            else:
                dgemm("N", "N", &m, &n, &d, &unit, x, &ld, q, &d, &zero, dots, &width)
            for b in range(k):
                self._finish64(dots + b * CHUNK, self.norm[which[b]], left, right,
                               out[b] + left - start)

    cdef void _finish64(self, const f64_t* dots, f64_t norm, intp_t start, intp_t stop,
                        f32_t* out) noexcept nogil:
        cdef intp_t j
        if self.kernel == RBF:
            kinlearn_rbf64(dots, &self.norm[start], stop - start, norm, self.gamma, out)
        elif self.kernel == POLY:
            kinlearn_poly64(dots, stop - start, self.gamma, self.coef0, self.degree,
                            out)
        else:
            for j in range(stop - start):
                out[j] = <f32_t>dots[j]

    cdef void _fill_sparse(self, intp_t i, intp_t start, intp_t stop,
                           f32_t* out) noexcept nogil:
        cdef intp_t e, j, left, right, chunk, r = self.base[self.place[i]], s
        cdef f64_t* dots = &self.dots64[0]
        cdef f64_t total
        for e in range(self.indptr[r], self.indptr[r + 1]):
            self.dense[self.indices[e]] = self.data[e]
        for chunk in range(n_chunks(stop - start, CHUNK)):
            left = start + chunk * CHUNK
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


cdef class RowCache:
    """Rows of a matrix, computed once and kept while memory allows.

    Parameters
    ----------
    source : RowSource
        Computes the rows.
    n_bytes : int
        Memory for them; some rows are kept in any case.

    Attributes
    ----------
    length : int
        Number of active positions, which every row covers.
    n_slots, n_used, n_computed : int
        Rows that fit in, that are there, and that were computed so far.
    """

    def __init__(self, RowSource source, intp_t n_bytes):
        cdef intp_t n = source.n_rows, n_cells
        self.source = source
        self.length = n
        n_cells = max(min(n_bytes // 4, n * n), min(MIN_SLOTS, n) * n, 1)
        self.cells = np.empty(n_cells, dtype=np.float32)
        self.n_slots = min(n, n_cells // max(n, 1))
        self.slot_of = np.empty(n, dtype=np.int32)
        # shorter rows leave memory for more slots, never for more than there are rows
        self.position = np.empty(n, dtype=np.int32)
        self.before = np.empty(n, dtype=np.int32)
        self.after = np.empty(n, dtype=np.int32)
        self.work = np.empty(n, dtype=np.int32)
        self.order = np.empty(n, dtype=np.intp)
        self._forget()

    cdef void _forget(self) noexcept nogil:
        cdef intp_t i
        self.n_used = 0
        self.newest = self.oldest = -1
        for i in range(self.source.n_rows):
            self.slot_of[i] = -1

    cdef void _unlink(self, i32_t slot) noexcept nogil:
        cdef i32_t b = self.before[slot], a = self.after[slot]
        if b >= 0:
            self.after[b] = a
        else:
            self.newest = a
        if a >= 0:
            self.before[a] = b
        else:
            self.oldest = b

    cdef void _link_newest(self, i32_t slot) noexcept nogil:
        self.before[slot] = -1
        self.after[slot] = self.newest
        if self.newest >= 0:
            self.before[self.newest] = slot
        else:
            self.oldest = slot
        self.newest = slot

    cdef void _touch(self, i32_t slot) noexcept nogil:
        if self.newest != slot:
            self._unlink(slot)
            self._link_newest(slot)

    cdef i32_t _take_slot(self, intp_t i) noexcept nogil:
        """A slot for position i, the newest one; its row is yet to be filled."""
        cdef i32_t slot
        if self.n_used < self.n_slots:
            slot = <i32_t>self.n_used
            self.n_used = self.n_used + 1
        else:
            slot = self.oldest
            self._unlink(slot)
            self.slot_of[self.position[slot]] = -1
        self.position[slot] = <i32_t>i
        self.slot_of[i] = slot
        self._link_newest(slot)
        return slot

    cdef const f32_t* row(self, intp_t i) noexcept nogil:
        cdef i32_t slot = self.slot_of[i]
        cdef f32_t* out
        if slot >= 0:
            self._touch(slot)
            return &self.cells[slot * self.length]
        slot = self._take_slot(i)
        out = &self.cells[slot * self.length]
        self.source.fill(&i, 1, 0, self.length, &out)
        self.n_computed = self.n_computed + 1
        return out

    cdef void shrink(self, const intp_t* keep, intp_t m) noexcept nogil:
        cdef intp_t old = self.length, p, j, at = m, n_kept = 0
        cdef i32_t slot
        cdef f32_t* source
        cdef f32_t* goal
        # the new order of the old active positions: those that stay, then the rest
        j = 0
        for p in range(old):
            if j < m and keep[j] == p:
                self.order[j] = p
                j += 1
            else:
                self.order[at] = p
                at += 1
        self.source.reorder(&self.order[0], old)
        # new position of each old one: by inverting, in `work`
        for p in range(old):
            self.work[self.order[p]] = <i32_t>p
        # rows move to the front of the store, in place: no cell moves backwards
        for p in range(old):
            self.slot_of[p] = -1
        for slot in range(<i32_t>self.n_used):
            if self.work[self.position[slot]] >= m:
                self.position[slot] = -1  # leaves
                continue
            source = &self.cells[slot * old]
            goal = &self.cells[n_kept * m]
            for j in range(m):
                goal[j] = source[keep[j]]
            self.position[slot] = self.work[self.position[slot]]
            self.slot_of[self.position[slot]] = <i32_t>n_kept
            n_kept += 1
        # the list, from the oldest, with the new numbers of the slots
        slot = self.oldest
        at = 0
        while slot >= 0:
            if self.position[slot] >= 0:
                self.work[at] = self.position[slot]
                at += 1
            slot = self.before[slot]
        self.newest = self.oldest = -1
        self.n_used = n_kept
        for j in range(at):
            slot = self.slot_of[self.work[j]]
            self.position[slot] = self.work[j]
            self._link_newest(slot)
        self.length = m
        self.n_slots = min(m, self.cells.shape[0] // max(m, 1))

    cdef void restore(self) noexcept nogil:
        cdef intp_t n = self.source.n_rows, p
        for p in range(n):
            self.order[self.source.place[p]] = p
        self.source.reorder(&self.order[0], n)
        self.length = n
        self.n_slots = min(n, self.cells.shape[0] // max(n, 1))
        self._forget()

    # ----------------------------------------------------------- for Python

    def rows(self, const intp_t[::1] which):
        """Some rows, through the store.

        Parameters
        ----------
        which : intp array of shape (k,)
            Active positions, each once.

        Returns
        -------
        float32 array of shape (k, length)
            The rows.
        """
        cdef intp_t b, j, k = which.shape[0]
        cdef const f32_t* source
        result = np.empty((k, self.length), dtype=np.float32)
        cdef f32_t[:, ::1] cells = result
        for b in range(k):
            source = self.row(which[b])
            for j in range(self.length):
                cells[b, j] = source[j]
        return result

    def stored(self):
        """The memory of the rows, which `hold` fills.

        Returns
        -------
        float32 array of shape (n_slots, length)
            Not to be changed.
        """
        cells = np.asarray(self.cells)[:self.n_slots * self.length]
        return cells.reshape(self.n_slots, self.length)

    def hold(self, const intp_t[::1] which):
        """Have several rows at once, those that are missing computed in blocks.

        Parameters
        ----------
        which : intp array of shape (k,)
            Active positions, at most `n_slots` different ones.

        Returns
        -------
        intp array of shape (k,)
            Where `stored` has them until the next call.
        """
        cdef intp_t b, i, chunk, n_block
        cdef i32_t slot
        cdef f32_t* out[BLOCK]
        for b in range(which.shape[0]):
            slot = self.slot_of[which[b]]
            if slot >= 0:
                self._touch(slot)
        slot_of = np.asarray(self.slot_of)
        positions = np.asarray(which)
        cdef intp_t[::1] missing = np.unique(positions[slot_of[positions] < 0])
        with nogil:
            for chunk in range(n_chunks(missing.shape[0], BLOCK)):
                i = chunk * BLOCK
                n_block = min(BLOCK, missing.shape[0] - i)
                for b in range(n_block):
                    slot = self._take_slot(missing[i + b])
                    out[b] = &self.cells[slot * self.length]
                self.source.fill(&missing[i], n_block, 0, self.length, out)
        self.n_computed += missing.shape[0]
        return slot_of[positions].astype(np.intp)

    def shrink_to(self, const intp_t[::1] keep):
        """Keep some of the active positions.

        Parameters
        ----------
        keep : intp array, ascending
            At least one.
        """
        self.shrink(&keep[0], keep.shape[0])

    def restore_all(self):
        """Make all positions active, in the order of the data."""
        self.restore()
