# See _find_split.pyx.

from kinlearn._kernels._typedefs cimport f64_t, i8_t, i32_t, intp_t, u8_t, u64_t
from kinlearn._kernels.boosting.gradient._histograms cimport Scale, Sums
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


# The best split of a node by one feature, or by tasks.
cdef struct Found:
    f64_t score         # -infinity for none
    Split split


# The search for the split of a node: what is sought, and what was found so far.
cdef struct Quest:
    const Place* place
    const Sums* cells
    const Sums* tasks           # NULL for no task split
    f64_t parent
    intp_t n_candidates
    i32_t* candidates           # (n_features,), the features to look at
    Found* found                # (n_features + 1,), the last one by tasks
    u8_t* bits                  # of splits by sets: (n_features, 32), and of tasks


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
    cdef Quest[2] quests        # two, so that both children are searched at once
    cdef intp_t n_threads
    cdef Groups* scratch        # (n_threads,)

    cdef void find(
        self, const Place* place, const u8_t* open, const Sums* cells,
        const Sums* tasks, Split* split, u8_t* bits) noexcept nogil
    cdef void prepare(
        self, int quest, const Place* place, const u8_t* open, const Sums* cells,
        const Sums* tasks) noexcept nogil
    cdef void look(
        self, int quest, intp_t first, intp_t last, intp_t thread) noexcept nogil
    cdef void choose(self, int quest, Split* split, u8_t* bits) noexcept nogil
    cdef void narrow(self, i32_t feature, u8_t* open) noexcept nogil
    cdef f64_t value(self, const Place* place) noexcept nogil

    cdef void _draw(self, Quest* quest, const u8_t* open) noexcept nogil
    cdef void _look_at_feature(
        self, const Quest* quest, i32_t f, f64_t floor, Found* found) noexcept nogil
    cdef void _look_at_groups(
        self, const Quest* quest, const Sums* cells, intp_t n_cells, intp_t n_codes,
        Groups* groups, Found* found, u8_t* bits, intp_t n_bytes) noexcept nogil
