from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t
from kinlearn._kernels.svm._rows cimport RowSource

cpdef enum Kernel:
    LINEAR = 0
    RBF = 1
    POLY = 2
    PRECOMPUTED = 3


cdef class KernelRows(RowSource):
    cdef intp_t n_features
    cdef Kernel kernel
    cdef f64_t gamma, coef0
    cdef int degree
    # Dense: one of these, feature by feature, in the order of the positions.
    cdef f32_t[::1, :] packed32
    cdef f64_t[::1, :] packed64
    # Precomputed: one of these, in the order of the data.
    cdef const f32_t[:, ::1] matrix32
    cdef const f64_t[:, ::1] matrix64
    # Sparse: rows of the data, and room for one of them.
    cdef const i32_t[::1] indices
    cdef const i64_t[::1] indptr
    cdef const f64_t[::1] data
    cdef f64_t[::1] dense
    cdef intp_t[::1] base  # precomputed and sparse: place -> row of the data
    cdef bint single, sparse
    cdef f64_t[::1] norm  # squared lengths by position (PRECOMPUTED: the diagonal)
    cdef f32_t[::1] query32, dots32
    cdef f64_t[::1] query64, dots64
    cdef f64_t[::1] work

    cdef void _fill32(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                      f32_t** out) noexcept nogil
    cdef void _fill64(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                      f32_t** out) noexcept nogil
    cdef void _fill_sparse(self, intp_t i, intp_t start, intp_t stop,
                           f32_t* out) noexcept nogil
    cdef void _fill_precomputed(self, intp_t i, intp_t start, intp_t stop,
                                f32_t* out) noexcept nogil
    cdef void _finish64(self, const f64_t* dots, f64_t own, intp_t start, intp_t stop,
                        f32_t* out) noexcept nogil
