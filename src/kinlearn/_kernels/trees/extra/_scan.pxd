# The loops over the rows of one node. Everything else in growing a tree costs
# next to nothing on large nodes, so these carry no branches that depend on data:
# comparisons become masks, and sums are integers, which compilers may reorder
# into vector lanes (and which add up the same in any order, on any machine).

from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport f32_t, i32_t, i64_t, intp_t, u8_t

ctypedef fused value_t:
    f32_t  # a value
    u8_t   # its code; see _codes.pxd


cdef inline void left_weighted_sums(
    const value_t* x, const i64_t* a, const i64_t* b, intp_t n, value_t cut,
    i64_t* weight, i64_t* total,
) noexcept nogil:
    # Sums of a and of b over the rows left of the cut.
    cdef i64_t go_left, w = 0, s = 0
    cdef intp_t i
    for i in range(n):
        go_left = -<i64_t>(x[i] <= cut)
        w += go_left & a[i]
        s += go_left & b[i]
    weight[0] = w
    total[0] = s


cdef inline i64_t left_histogram(
    const value_t* x, const i32_t* y, const i64_t* a, intp_t n, value_t cut,
    i64_t* hist,
) noexcept nogil:
    # Add the weights left of the cut to hist by class; return their sum.
    # Two tables would halve the wait of a class that follows itself; most
    # nodes are too small for that to pay.
    cdef i64_t go_left, w = 0
    cdef intp_t i
    if a == NULL:
        for i in range(n):
            go_left = x[i] <= cut
            hist[y[i]] += go_left
            w += go_left
    else:
        for i in range(n):
            go_left = a[i] & -<i64_t>(x[i] <= cut)
            hist[y[i]] += go_left
            w += go_left
    return w


# Stable, so that a node's rows stay in ascending order and the next gather walks
# its column forwards. Every row is written to both sides; one of the two places
# is written over later.

cdef inline intp_t partition_rows(
    i32_t* a, const value_t* x, intp_t n, value_t cut, i32_t* spare
) noexcept nogil:
    cdef intp_t i, n_left = 0
    cdef i32_t value
    for i in range(n):
        value = a[i]
        a[n_left] = value
        spare[i - n_left] = value
        n_left += x[i] <= cut
    memcpy(a + n_left, spare, (n - n_left) * sizeof(i32_t))
    return n_left
