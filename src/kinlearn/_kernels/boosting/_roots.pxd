# The stumps that are candidates for the root; see _roots.pyx.

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u64_t

cdef packed struct Root:
    f64_t key  # larger is better
    f64_t edge
    i32_t task
    i32_t feature
    i32_t cut
    i32_t missing_left

cdef class Roots:
    cdef public object kept  # structured array of shape (n_heaps, size)
    cdef public object sizes
    cdef Root[:, ::1] heaps
    cdef intp_t[::1] filled
    cdef bint per_task, stochastic
    cdef u64_t seed
    cdef f64_t all_weight

    cdef f64_t bar(self, i32_t task) noexcept nogil
    cdef void offer(self, Root* root) noexcept nogil
    cdef void _insert(self, intp_t h, const Root* root) noexcept nogil
