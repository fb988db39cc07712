# The loops over the rows of one node. Everything else in growing a tree costs
# next to nothing on large nodes, so these carry no branches that depend on data:
# comparisons become masks, and sums are integers, which compilers may reorder
# into vector lanes (and which add up the same in any order, on any machine).

from libc.math cimport INFINITY
from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport f32_t, i32_t, i64_t, intp_t


cdef inline void gather(
    const f32_t* column, const i32_t* rows, intp_t n, f32_t* out,
    f32_t* lowest, f32_t* highest,
) noexcept nogil:
    # Copy a node's values of one feature, and find their extremes. NaN fails
    # every comparison, so the extremes are those of the values present. Four
    # chains each, because one chain of minima waits four cycles a row.
    cdef f32_t x0, x1, x2, x3
    cdef f32_t a0, a1, a2, a3, b0, b1, b2, b3
    cdef intp_t i = 0
    a0 = a1 = a2 = a3 = INFINITY
    b0 = b1 = b2 = b3 = -INFINITY
    while i + 4 <= n:
        x0 = column[rows[i]]
        x1 = column[rows[i + 1]]
        x2 = column[rows[i + 2]]
        x3 = column[rows[i + 3]]
        out[i] = x0
        out[i + 1] = x1
        out[i + 2] = x2
        out[i + 3] = x3
        a0 = x0 if x0 < a0 else a0
        a1 = x1 if x1 < a1 else a1
        a2 = x2 if x2 < a2 else a2
        a3 = x3 if x3 < a3 else a3
        b0 = x0 if x0 > b0 else b0
        b1 = x1 if x1 > b1 else b1
        b2 = x2 if x2 > b2 else b2
        b3 = x3 if x3 > b3 else b3
        i += 4
    while i < n:
        x0 = column[rows[i]]
        out[i] = x0
        a0 = x0 if x0 < a0 else a0
        b0 = x0 if x0 > b0 else b0
        i += 1
    a0 = a1 if a1 < a0 else a0
    a2 = a3 if a3 < a2 else a2
    lowest[0] = a2 if a2 < a0 else a0
    b0 = b1 if b1 > b0 else b0
    b2 = b3 if b3 > b2 else b2
    highest[0] = b2 if b2 > b0 else b0


cdef inline void left_counts(
    const f32_t* x, const i32_t* y, intp_t n, f32_t cut,
    i64_t* weight, i64_t* total,
) noexcept nogil:
    # Rows left of the cut, and how many of them have y = 1.
    cdef i32_t go_left, w = 0, b = 0
    cdef intp_t i
    for i in range(n):
        go_left = x[i] <= cut
        w += go_left
        b += go_left & y[i]
    weight[0] = w
    total[0] = b


cdef inline void left_sums(
    const f32_t* x, const i64_t* b, intp_t n, f32_t cut,
    i64_t* weight, i64_t* total,
) noexcept nogil:
    # Rows left of the cut, and the sum of their b.
    cdef i64_t go_left, w = 0, s = 0
    cdef intp_t i
    for i in range(n):
        go_left = -<i64_t>(x[i] <= cut)
        w -= go_left
        s += go_left & b[i]
    weight[0] = w
    total[0] = s


cdef inline void left_weighted_sums(
    const f32_t* x, const i64_t* a, const i64_t* b, intp_t n, f32_t cut,
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
    const f32_t* x, const i32_t* y, const i64_t* a, intp_t n, f32_t cut,
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

cdef inline intp_t partition_i32(
    i32_t* a, const f32_t* x, intp_t n, f32_t cut, i32_t* spare
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


cdef inline void partition_i64(
    i64_t* a, const f32_t* x, intp_t n, f32_t cut, i64_t* spare
) noexcept nogil:
    cdef intp_t i, n_left = 0
    cdef i64_t value
    for i in range(n):
        value = a[i]
        a[n_left] = value
        spare[i - n_left] = value
        n_left += x[i] <= cut
    memcpy(a + n_left, spare, (n - n_left) * sizeof(i64_t))
