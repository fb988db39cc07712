# See _boosted_growth.pyx.

from kinlearn._kernels._typedefs cimport f64_t, intp_t, u8_t
from kinlearn._kernels.boosting.gradient._find_split cimport Place, SplitSearch
from kinlearn._kernels.boosting.gradient._histograms cimport Sums
from kinlearn._kernels.boosting.gradient._nodes cimport Node, Split


cdef struct Leaf:
    Place place
    Split split                 # the best one; a gain of 0 is none


cdef class Growth:
    cdef readonly SplitSearch search
    cdef readonly intp_t max_leaves
    cdef readonly intp_t max_depth
    cdef readonly intp_t n_leaves
    cdef readonly intp_t n_nodes
    cdef readonly intp_t n_set_bytes
    cdef Leaf* leaves
    cdef u8_t* leaf_bits        # (max_leaves, set_bytes), of their splits
    cdef u8_t* open             # (max_leaves, n_groups)
    cdef Node* nodes
    cdef f64_t* gain
    cdef f64_t* value
    cdef f64_t* weight
    cdef u8_t* sets

    cdef void start(self, Sums sums) noexcept nogil
    cdef bint wants(self, intp_t leaf) noexcept nogil
    cdef bint is_smaller(self, intp_t leaf, intp_t other) noexcept nogil
    cdef void find(
        self, intp_t leaf, const Sums* cells, const Sums* tasks) noexcept nogil
    cdef void prepare(
        self, int quest, intp_t leaf, const Sums* cells, const Sums* tasks
    ) noexcept nogil
    cdef void choose(self, int quest, intp_t leaf) noexcept nogil
    cdef intp_t best(self) noexcept nogil
    cdef intp_t split(self, intp_t leaf) noexcept nogil
    cdef u8_t* bits(self, intp_t leaf) noexcept nogil
    cdef void _close(self, const Leaf* leaf) noexcept nogil
