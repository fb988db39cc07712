# Loops over the rows of one node; copying the rows of a node together, and undoing it.

from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport f32_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels._vectors cimport prefetch, turn_rows
from kinlearn._kernels.trees.extra._grower cimport Block, Grower, Source

cdef enum:
    # More than fits near the processor; but one column at a time is read, densely.
    # Blocks take 0.7 of the time at 1,000,000 x 50, where X lies by rows, 0.9 where it
    # lies by columns; 0.75 at 100,000 x 50. Larger ones around them gained nothing.
    BLOCK_BYTES = 2097152
    BLOCK_BYTES_BELOW_BINS = 4194304  # where large nodes are read as bytes
    TILE = 16  # as turn_rows has it


# ----------------------------------------------------------------------------
# Loops
# ----------------------------------------------------------------------------

# The loops over the rows of one node. Everything else in growing a tree costs
# next to nothing on large nodes, so these carry no branches that depend on data:
# comparisons become masks, and sums are integers, which compilers may reorder
# into vector lanes (and which add up the same in any order, on any machine).

ctypedef fused value_t:
    f32_t  # a value
    u8_t   # its bin; see _feature_bytes.pxd


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


cdef inline int compare_i32(const void* a, const void* b) noexcept nogil:
    cdef i32_t x = (<const i32_t*>a)[0]
    cdef i32_t y = (<const i32_t*>b)[0]
    return (x > y) - (x < y)


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


# ----------------------------------------------------------------------------
# Blocks
# ----------------------------------------------------------------------------

cdef inline void set_block_size(Grower* g) noexcept nogil:
    # A block copies every feature once; a branch of m rows gathers max_features of
    # them on each of log2(m) levels and more. Where that does not pay, there is none.
    cdef intp_t row_bytes = g.data.n_features * sizeof(f32_t)
    cdef intp_t levels = 0, m = BLOCK_BYTES // row_bytes
    while (m >> levels) > 1:
        levels += 1
    if g.data.n_features > g.node.settings.max_features * levels:
        return
    if g.bytes.columns != NULL:
        # less where there are few rows in all, as in set_bytes_size
        g.block.max_rows = min(BLOCK_BYTES_BELOW_BINS // row_bytes, g.data.n_rows // 4)
    elif g.data.n_rows > m or g.data.source.columns == NULL:
        g.block.max_rows = min(m, g.data.n_rows)


cdef inline void copy_rows(
    const f32_t* lines, intp_t line_stride, intp_t d, const i32_t* rows, intp_t n,
    f32_t* columns, intp_t column_stride,
) noexcept nogil:
    # From X by rows: the values of a row share a few cache lines. Sixteen rows
    # at a time fill whole lines of the columns.
    cdef intp_t i, j, f, width
    cdef const f32_t* source[TILE]
    cdef f32_t* target
    for i from 0 <= i < n by TILE:
        width = min(<intp_t>TILE, n - i)
        for j in range(width):
            source[j] = lines + rows[i + j] * line_stride
        for j in range(i + TILE, min(n, i + 2 * TILE)):
            for f from 0 <= f < d by 16:
                prefetch(lines + rows[j] * line_stride + f)
        target = columns + i
        if width == TILE:
            turn_rows(source, d, target, column_stride)
        else:
            for f in range(d):
                for j in range(width):
                    target[j] = source[j][f]
                target += column_stride


cdef inline void copy_columns(Grower* g, f32_t* columns) noexcept nogil:
    cdef intp_t n = g.part.n
    cdef intp_t f, i
    cdef const f32_t* source
    cdef f32_t* target
    for f in range(g.data.n_features):
        if g.draws.constant[f]:  # nobody will ask
            continue
        source = g.at.columns + f * g.at.column_stride
        target = columns + f * n
        for i in range(n):
            target[i] = source[g.part.rows[i]]


cdef inline void enter_block(Grower* g, intp_t start) noexcept nogil:
    # If the node at hand fits, and is in none.
    cdef Block* block = &g.block
    cdef intp_t n = g.part.n
    cdef i32_t* rows = g.part.rows
    cdef intp_t i
    if n > block.max_rows or block.end > 0:
        return
    block.start = start
    block.end = start + n
    if g.at.rows != NULL:
        copy_rows(
            g.at.rows, g.at.row_stride, g.data.n_features, rows, n, block.columns, n)
    else:
        copy_columns(g, block.columns)
    for i in range(n):
        block.task[i] = g.at.task[rows[i]]
    if g.at.number != NULL:
        for i in range(n):
            block.number[i] = g.at.number[rows[i]]
    if g.at.y != NULL:
        for i in range(n):
            block.y[i] = g.at.y[rows[i]]
    if g.at.b != NULL:
        for i in range(n):
            block.b[i] = g.at.b[rows[i]]
    if g.at.w != NULL:
        for i in range(n):
            block.w[i] = g.at.w[rows[i]]
    memcpy(block.numbers, rows, n * sizeof(i32_t))
    for i in range(n):
        rows[i] = <i32_t>i
    g.at = Source(
        block.columns, n, NULL, 0, block.y, block.b, block.w, block.task, block.number)


cdef inline void leave_block(Grower* g, intp_t start, i32_t* rows) noexcept nogil:
    # If it ends at `start` or before.
    cdef Block* block = &g.block
    cdef intp_t i
    if block.end == 0 or block.end > start:
        return
    for i in range(block.start, block.end):
        rows[i] = block.numbers[rows[i]]
    block.end = 0
    g.at = g.data.source
