# The kernel of several tasks, of which solvers see some rows at a time.

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, intp_t
from kinlearn._kernels.svm._rows cimport RowSource


cdef class TaskRows(RowSource):
    cdef RowSource decision
    cdef RowSource correction  # or None: the decision kernel again
    cdef f64_t inverse_penalty
    cdef readonly intp_t n_tasks
    cdef i32_t[::1] task  # by position
    cdef i32_t[::1] work
    cdef f32_t[::1] buffer
    # The positions of a task: among the active ones, and among the others.
    cdef intp_t[::1] first, last, tail_first, tail_last

    cdef void find_segments(self, intp_t length) noexcept nogil
    cdef void _add_correction(self, const intp_t* which, intp_t k, intp_t start,
                              intp_t stop, f32_t** out) noexcept nogil


cdef class MixedRows(RowSource):
    cdef list sources
    cdef RowSource one  # that of the rows that are filled
    cdef i32_t[::1] kind  # by position: which source
    cdef intp_t[::1] local  # by position: the position in that source
    cdef i32_t[::1] work
    cdef intp_t[::1] order
    cdef f32_t[::1] buffer
