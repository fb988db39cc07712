# The sorted cells as the kernels read them; see _entries.pyx.

from kinlearn._kernels._typedefs cimport i32_t, i64_t, intp_t, u8_t


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
