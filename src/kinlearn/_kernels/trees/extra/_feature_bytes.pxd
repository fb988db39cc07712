# Large nodes of X that lies by rows: bins of features, a byte each, column by column.
#
# Such a node would stream nearly all of X from memory for the few features that it
# draws. Bins are a quarter of X, and only the columns drawn are read. A bin decides
# x <= cut, except the one that the cut lies in: the rows of that bin are looked up in
# X. So are those that may have the extremes. The splits are the same as without bins.

from libc.math cimport INFINITY

from kinlearn._kernels._typedefs cimport f32_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.trees.extra._grower cimport Grower
from kinlearn._kernels._vectors cimport prefetch

cdef extern from "trees/extra/_feature_bytes.h" nogil:
    enum:
        MISSING "KINLEARN_MISSING"

    void gather_bins "kinlearn_gather_bins" (
        const u8_t* source, const i32_t* rows, intp_t n, u8_t* out, int* least,
        int* greatest, int* after_values) noexcept
    intp_t find_bin "kinlearn_find_bin" (
        const u8_t* x, intp_t n, u8_t bin, i32_t* found) noexcept
    void left_bin_counts "kinlearn_left_bin_counts" (
        const u8_t* x, const u8_t* y, intp_t n, u8_t cut, i64_t* weight,
        i64_t* total) noexcept
    void left_bin_sums "kinlearn_left_bin_sums" (
        const u8_t* x, const i64_t* b, intp_t n, u8_t cut, i64_t* weight,
        i64_t* total) noexcept
    void pack_labels "kinlearn_pack_labels" (
        const i32_t* y, intp_t n, u8_t* out) noexcept

cdef enum:
    N_BINS = 256
    FEWEST_ROWS = 1024     # of a node that is worth the search for bins
    LOOK_AHEAD = 8         # rows of X that are fetched at the same time


cdef inline void set_bytes_size(Grower* g) noexcept nogil:
    # Less where there are few rows in all, so that tests of small problems get here.
    g.bytes.min_rows = min(<intp_t>FEWEST_ROWS, 1 + g.data.n_rows // 8)


cdef inline bint reads_bytes(const Grower* g) noexcept nogil:
    # Whether the node at hand is read as bytes.
    return (
        g.bytes.columns != NULL and g.at.columns == NULL
        and g.part.n >= g.bytes.min_rows
    )


cdef inline f32_t exact(const Grower* g, i32_t feature, intp_t i) noexcept nogil:
    return g.at.rows[g.part.rows[i] * g.at.row_stride + feature]


cdef inline void fetch_soon(Grower* g, i32_t feature, intp_t i) noexcept nogil:
    prefetch(g.at.rows + g.part.rows[i] * g.at.row_stride + feature)


cdef inline intp_t list_rows(
    Grower* g, i32_t feature, const u8_t* x, int bin, i32_t* found
) noexcept nogil:
    # Where the node's rows have the bin; the first values are fetched already.
    cdef intp_t n = find_bin(x, g.part.n, <u8_t>bin, found), k
    for k in range(min(n, <intp_t>LOOK_AHEAD)):
        fetch_soon(g, feature, found[k])
    return n


cdef inline f32_t extreme(
    Grower* g, i32_t feature, const u8_t* x, int bin, bint greatest
) noexcept nogil:
    # The least value of the node's rows in this bin, or the greatest.
    cdef f32_t lowest = g.bytes.lowest[<intp_t>feature * N_BINS + bin]
    cdef f32_t highest = g.bytes.highest[<intp_t>feature * N_BINS + bin]
    cdef f32_t value, best = -INFINITY if greatest else INFINITY
    cdef f32_t bound = highest if greatest else lowest
    cdef i32_t* found = <i32_t*>g.x[1]
    cdef intp_t n, k
    if lowest == highest:
        return lowest
    n = list_rows(g, feature, x, bin, found)
    for k in range(n):
        if k + LOOK_AHEAD < n:
            fetch_soon(g, feature, found[k + LOOK_AHEAD])
        value = exact(g, feature, found[k])
        if (value > best) if greatest else (value < best):
            best = value
            if best == bound:
                break
    return best


cdef inline int settle(
    Grower* g, i32_t feature, u8_t* x, f32_t cut, intp_t* n_settled
) noexcept nogil:
    # Alter bins x such that "at most the bin that is returned" says "at most the
    # cut". Those rows of the returned bin that lie beyond the cut get the next one.
    cdef const f32_t* lowest = g.bytes.lowest + <intp_t>feature * N_BINS
    cdef i32_t* found = <i32_t*>g.x[1]
    cdef int bin = MISSING - 2
    cdef intp_t n, k
    while bin > 0 and not lowest[bin] <= cut:
        bin -= 1
    n_settled[0] = 0
    if cut >= g.bytes.highest[<intp_t>feature * N_BINS + bin]:
        return bin
    n = list_rows(g, feature, x, bin, found)
    for k in range(n):
        if k + LOOK_AHEAD < n:
            fetch_soon(g, feature, found[k + LOOK_AHEAD])
        x[found[k]] += exact(g, feature, found[k]) > cut
    n_settled[0] = n
    return bin


cdef inline void unsettle(Grower* g, u8_t* x, int bin, intp_t n) noexcept nogil:
    # Undo the last `settle`.
    cdef const i32_t* found = <i32_t*>g.x[1]
    cdef intp_t k
    for k in range(n):
        x[found[k]] = <u8_t>bin
