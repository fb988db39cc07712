# The sorted cells as the kernels read them; see _stumps.pyx.

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t


cdef class Cells:
    cdef public intp_t n_rows, n_tasks, n_features, n_groups
    cdef const intp_t[::1] task_indptr  # rows of each task
    cdef const i32_t[::1] entry
    cdef const u8_t[::1] bins
    cdef const i32_t[::1] group_task, group_feature
    cdef const u8_t[::1] group_common
    cdef const i64_t[:, ::1] part_end
    # groups by feature
    cdef const intp_t[::1] feature_indptr
    cdef const i32_t[::1] feature_groups
    cdef const u8_t[::1] feature_common
    cdef const i32_t[::1] n_bins

    cdef i64_t start(self, intp_t g) noexcept nogil
    cdef intp_t group_of(self, i32_t feature, i32_t task) noexcept nogil
    cdef void send(self, i32_t feature, i32_t cut, bint missing_left, i32_t task,
                   u8_t* side) noexcept nogil


# The stumps that are candidates for the root.
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
