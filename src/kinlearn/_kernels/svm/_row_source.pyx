"""The base of everything that gives rows of a kernel matrix."""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from kinlearn._kernels._typedefs cimport f32_t, f64_t, intp_t
from kinlearn._kernels.svm._loops cimport kinlearn_add


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
        cdef intp_t left, right, i, b, n_block, piece, block
        for b in range(BLOCK):
            out[b] = cells + b * CHUNK
        for piece in range(n_pieces(stop - start, CHUNK)):
            left = start + piece * CHUNK
            right = min(left + CHUNK, stop)
            for block in range(n_pieces(k, BLOCK)):
                i = block * BLOCK
                n_block = min(BLOCK, k - i)
                self.fill(which + i, n_block, left, right, out)
                for b in range(n_block):
                    kinlearn_add(coef[i + b], out[b], right - left,
                                 sums + left - start)

    # ------------------------------------------------------ doors for Python

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
        cdef intp_t i, b, n_block, piece, k = which.shape[0]
        cdef f32_t* out[BLOCK]
        result = np.empty((k, self.n_rows), dtype=np.float32)
        cdef f32_t[:, ::1] cells = result
        with nogil:
            for piece in range(n_pieces(k, BLOCK)):
                i = piece * BLOCK
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
        cdef intp_t piece, left, k = which.shape[0]
        for piece in range(n_pieces(k, PRODUCT_ROWS)):
            left = piece * PRODUCT_ROWS
            with nogil:
                self.add_product(&which[left], &values[left],
                                 min(PRODUCT_ROWS, k - left), 0, self.n_rows, &sums[0])
            PyErr_CheckSignals()  # all of it may take many seconds
        return result
