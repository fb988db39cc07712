# See _find_split.pyx.

from kinlearn._kernels._typedefs cimport f64_t, i8_t, i32_t, intp_t, u8_t, u64_t
from kinlearn._kernels.boosting.gradient._histograms cimport Cut, Scale, Sums
from kinlearn._kernels.boosting.gradient._nodes cimport Split


# Tasks or categories of a node, to be put in order.
cdef struct Groups:
    intp_t n
    i32_t* id
    Sums* sums
    f64_t* key
    f64_t* g
    f64_t* h


# A node, beside its histogram.
cdef struct Place:
    i32_t node
    u64_t path          # from the root: decides the features that are drawn
    i32_t depth
    Sums sums
    f64_t lower         # bounds of values in it
    f64_t upper


cdef class SplitSearch:
    cdef readonly intp_t n_features
    cdef readonly intp_t n_tasks
    cdef readonly intp_t n_groups
    cdef readonly intp_t n_cells
    cdef readonly intp_t set_bytes
    cdef readonly bint task_splits
    cdef Scale scale
    cdef f64_t noise
    cdef u64_t seed
    cdef intp_t max_features
    cdef bint bounded
    cdef i32_t* offset
    cdef i32_t* n_bins
    cdef u8_t* categorical
    cdef i8_t* direction
    cdef u8_t* groups           # (n_groups, n_features)
    # memory
    cdef u8_t* allowed          # (n_features,)
    cdef i32_t* candidates
    cdef Groups scratch

    cdef void find(
        self, const Place* place, const u8_t* open, const Sums* cells,
        const Sums* tasks, Split* split, u8_t* bits) noexcept nogil
    cdef void narrow(self, i32_t feature, u8_t* open) noexcept nogil
    cdef f64_t value(self, const Place* place) noexcept nogil

    cdef intp_t _draw(self, u64_t path, const u8_t* open) noexcept nogil
    cdef bint _search_feature(
        self, const Place* place, i32_t f, const Sums* cells, Cut* best,
        Split* split) noexcept nogil
    cdef bint _search_groups(
        self, const Place* place, const Sums* cells, intp_t n_cells, intp_t n_codes,
        f64_t parent, Cut* best, Split* split, u8_t* bits) noexcept nogil
