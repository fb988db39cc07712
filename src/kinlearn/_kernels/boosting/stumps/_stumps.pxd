# The sorted cells as the kernels read them; see _stumps.pyx.

from libc.math cimport fabs, sqrt

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t

cdef enum:
    MISSING = 255  # the bin of missing values
    FEATURES = 64  # of a block


cdef class Cells:
    cdef public intp_t n_rows, n_tasks, n_groups
    cdef const intp_t[::1] task_indptr  # rows of each task
    cdef const i32_t[::1] entry
    cdef const u8_t[::1] bins
    cdef const i32_t[::1] group_task, group_feature
    cdef const u8_t[::1] group_common
    cdef const i64_t[:, ::1] part_end
    cdef const intp_t[::1] block_indptr  # groups of each block of features and task
    cdef const u8_t[::1] feature_common
    cdef const i32_t[::1] n_bins

    cdef intp_t group_of(self, i32_t feature, i32_t task) noexcept nogil
    cdef void send(self, i32_t feature, i32_t cut, bint missing_left, i32_t task,
                   u8_t* side) noexcept nogil
    cdef void fill_bins(self, i32_t feature, i32_t task, u8_t* out) noexcept nogil


cdef inline i64_t start_of(Cells cells, intp_t g) noexcept nogil:
    """Where the entries of a group begin."""
    return cells.part_end[g - 1, 2] if g else 0


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


cdef inline f64_t edge_of_cut(const f64_t* a, const f64_t* total,
                              intp_t K) noexcept nogil:
    """What both sides of a cut gain, `a` being the sums of one of them.

    Of K labels: what their scores take away of the weight. If K is 0, sums are signed
    weights: the weight of right predictions less that of wrong ones.
    """
    cdef intp_t k
    cdef f64_t mass = 0.0, left = 0.0
    if K == 0:
        return fabs(a[0]) + fabs(total[0] - a[0])
    for k in range(K):
        mass += total[k] + total[K + k]
        left += (sqrt(a[k] * a[K + k])
                 + sqrt((total[k] - a[k]) * (total[K + k] - a[K + k])))
    return mass - 2.0 * left
