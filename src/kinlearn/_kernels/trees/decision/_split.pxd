# What the search for a node's split reads, uses and finds.
#
# A *cell* is a pair (task, label); a *group* is the set of cells whose entropy
# the criterion takes together: a task, or all cells under the joint criterion.
# Both are numbered within the node, so that nothing here depends on how many
# tasks there are elsewhere.
#
# Weights are integers: row counts, or fixed-point numbers. Sums of them are
# exact, whatever the order, so equal data give equal trees.

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t

cdef enum:
    JOINT = 0
    SUM = 1
    MAX = 2
    MISSING = 255
    N_BINS = 256
    # histograms are used when a node has this many rows for each cell ...
    DENSE_ROWS = 100
    # ... or when it has so few cells that the histogram stays in the L1 cache
    FEW_CELLS = 6
    # roles of cells in the order of categories
    OTHER_TASK = 0
    OTHER_LABEL = 1
    COUNTED = 2

cdef struct Search:
    # the node: rows in ascending order, with cell and weight beside them
    intp_t n_rows
    const i32_t* row
    const i32_t* cell
    const i64_t* weight
    i32_t n_cells
    i32_t n_groups
    const i64_t* cell_total
    const i32_t* cell_group
    const i64_t* group_total
    i64_t total
    f64_t inv_total
    # the settings
    i32_t criterion
    intp_t min_samples_leaf
    i64_t min_weight_leaf
    f64_t row_weight
    # scratch: a histogram [bin, cell], or the rows of each bin as linked lists
    bint dense
    i64_t* histogram
    i32_t* bin_rows
    u64_t* occupied
    i32_t* head
    i32_t* next_row
    # scratch: state of a scan from left to right
    i64_t* left_cell
    i64_t* left_group
    f64_t* reduction
    i32_t* touched
    i32_t* is_touched
    i32_t n_touched
    intp_t n_left
    i64_t left_weight
    f64_t sum_gain
    f64_t sum_reduction
    f64_t max_gain
    i32_t max_group
    # categories: by cell, whether it counts for their order; bins by row of the data
    const u8_t* role
    u8_t* ranked

cdef struct Split:
    f64_t gain
    f64_t second
    i32_t feature
    i32_t bin
    bint missing_left
    bint has_missing
    # of categories: what was taken off the gain; bins at the node, those on the left
    f64_t handicap
    u64_t[4] present
    u64_t[4] on_left

cdef f64_t xlogx(i64_t x) noexcept nogil

cdef void start_search(Search* s) noexcept nogil

cdef bint try_feature(Search* s, const u8_t* column, intp_t stride,
                      i32_t feature, i32_t n_bins, Split* best) noexcept nogil

cdef bint try_categories(Search* s, const u8_t* column, intp_t stride,
                         i32_t feature, i32_t n_bins, Split* best) noexcept nogil

cdef bint has_bit(const u64_t* set, i32_t b) noexcept nogil

cdef bint try_entries(Search* s, intp_t n, const i32_t* bins, const i32_t* cell,
                      const i64_t* weight, const i64_t* rows, i32_t feature,
                      i32_t n_bins, Split* best) noexcept nogil
