# See _leaf_rows.pyx.

from kinlearn._kernels._team cimport Team
from kinlearn._kernels._typedefs cimport i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.boosting.gradient._histograms cimport Sums
from kinlearn._kernels.boosting.gradient._nodes cimport Split


cdef class LeafRows:
    cdef const u8_t[:, ::1] bins
    cdef const i32_t[::1] task
    cdef const i64_t[:, ::1] pairs
    cdef const Sums* sums       # the same
    cdef readonly intp_t n_tasks
    cdef readonly intp_t n_cells
    cdef readonly intp_t max_leaves
    cdef intp_t n_features
    cdef i32_t* n_bins
    cdef i32_t* offset
    cdef i32_t* rows            # leaf by leaf, each leaf's ascending
    cdef i32_t* spare
    cdef intp_t* start          # of the rows of each leaf
    cdef intp_t* end

    cdef intp_t* n_left         # of each block of rows that are parted
    cdef Sums* block_sums
    cdef readonly Team team

    cdef intp_t size(self, intp_t leaf) noexcept nogil
    cdef void fill(self, intp_t leaf, Sums* cells, Sums* tasks) noexcept nogil
    cdef void fill_features(
        self, intp_t leaf, intp_t first, intp_t last, Sums* cells, Sums* tasks
    ) noexcept nogil
    cdef void part(
        self, intp_t leaf, intp_t other, const Split* split, const u8_t* bits
    ) noexcept nogil
    cdef void fill_block(
        self, intp_t leaf, intp_t block, intp_t n_blocks, Sums* cells,
        Sums* tasks) noexcept nogil
    cdef void sum_tasks(self, intp_t leaf, Sums* tasks) noexcept nogil
