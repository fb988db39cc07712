# Large nodes of X that lies by rows: features as codes of one byte, column by column.
#
# Such a node would stream nearly all of X from memory for the few features that it
# draws. Codes are a quarter of X, and only the columns drawn are read. A code is the
# number of a bin of the feature's values, so it decides x <= cut, except in the one
# bin that the cut lies in: the rows of that bin are looked up in X. So are those that
# may have the extremes. The splits are the same as without codes.

from libc.math cimport INFINITY

from kinlearn._kernels._typedefs cimport f32_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.trees.extra._grower cimport Grower
from kinlearn._kernels._vectors cimport prefetch

cdef extern from "trees/extra/_codes.h" nogil:
    enum:
        CODES_PADDING "KINLEARN_CODES_PADDING"
        MISSING "KINLEARN_MISSING"

    void gather_codes "kinlearn_gather_codes" (
        const u8_t* source, const i32_t* rows, intp_t n, u8_t* out, int* least,
        int* greatest, int* after_values) noexcept
    intp_t find_code "kinlearn_find_code" (
        const u8_t* x, intp_t n, u8_t code, i32_t* found) noexcept
    void left_code_counts "kinlearn_left_code_counts" (
        const u8_t* x, const u8_t* y, intp_t n, u8_t cut, i64_t* weight,
        i64_t* total) noexcept
    void left_code_sums "kinlearn_left_code_sums" (
        const u8_t* x, const i64_t* b, intp_t n, u8_t cut, i64_t* weight,
        i64_t* total) noexcept
    void pack_labels "kinlearn_pack_labels" (
        const i32_t* y, intp_t n, u8_t* out) noexcept

cdef enum:
    N_CODES = 256
    FEWEST_ROWS = 1024     # of a node that is worth the search for bins
    LOOK_AHEAD = 8         # rows of X that are fetched at the same time


cdef inline void set_coded_size(Grower* g) noexcept nogil:
    # Less where there are few rows in all, so that tests of small problems get here.
    g.codes.min_rows = min(<intp_t>FEWEST_ROWS, 1 + g.data.n_rows // 8)


cdef inline bint is_coded(const Grower* g) noexcept nogil:
    # Whether the node at hand is looked at through codes.
    return (
        g.codes.columns != NULL and g.at.columns == NULL and g.small.end == 0
        and g.part.n >= g.codes.min_rows
    )


cdef inline f32_t exact(const Grower* g, i32_t feature, intp_t i) noexcept nogil:
    return g.at.rows[g.part.rows[i] * g.at.row_stride + feature]


cdef inline void fetch_soon(Grower* g, i32_t feature, intp_t i) noexcept nogil:
    prefetch(g.at.rows + g.part.rows[i] * g.at.row_stride + feature)


cdef inline intp_t list_rows(
    Grower* g, i32_t feature, const u8_t* x, int code, i32_t* found
) noexcept nogil:
    # Where the node's rows have the code; the first values are fetched already.
    cdef intp_t n = find_code(x, g.part.n, <u8_t>code, found), k
    for k in range(min(n, <intp_t>LOOK_AHEAD)):
        fetch_soon(g, feature, found[k])
    return n


cdef inline f32_t extreme(
    Grower* g, i32_t feature, const u8_t* x, int code, bint greatest
) noexcept nogil:
    # The least value of the node's rows with this code, or the greatest.
    cdef f32_t lowest = g.codes.lowest[<intp_t>feature * N_CODES + code]
    cdef f32_t highest = g.codes.highest[<intp_t>feature * N_CODES + code]
    cdef f32_t value, best = -INFINITY if greatest else INFINITY
    cdef f32_t bound = highest if greatest else lowest
    cdef i32_t* found = <i32_t*>g.x[1]
    cdef intp_t n, k
    if lowest == highest:
        return lowest
    n = list_rows(g, feature, x, code, found)
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
    # Alter codes x such that "at most the code that is returned" says "at most the
    # cut". Those rows of the returned code that lie beyond the cut get the next one.
    cdef const f32_t* lowest = g.codes.lowest + <intp_t>feature * N_CODES
    cdef i32_t* found = <i32_t*>g.x[1]
    cdef int code = MISSING - 2
    cdef intp_t n, k
    while code > 0 and not lowest[code] <= cut:
        code -= 1
    n_settled[0] = 0
    if cut >= g.codes.highest[<intp_t>feature * N_CODES + code]:
        return code
    n = list_rows(g, feature, x, code, found)
    for k in range(n):
        if k + LOOK_AHEAD < n:
            fetch_soon(g, feature, found[k + LOOK_AHEAD])
        x[found[k]] += exact(g, feature, found[k]) > cut
    n_settled[0] = n
    return code


cdef inline void unsettle(Grower* g, u8_t* x, int code, intp_t n) noexcept nogil:
    # Undo the last `settle`.
    cdef const i32_t* found = <i32_t*>g.x[1]
    cdef intp_t k
    for k in range(n):
        x[found[k]] = <u8_t>code
