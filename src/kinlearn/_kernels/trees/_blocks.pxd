# Copying the rows of a small node together, and undoing it.

from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport f32_t, i32_t, intp_t
from kinlearn._kernels.trees._grower cimport Grower

# More than fits near the processor; but one column at a time is read, densely.
cdef enum:
    BLOCK_BYTES = 2097152
    TILE = 16


cdef inline intp_t block_rows(
    intp_t n_rows, intp_t n_features, intp_t max_features
) noexcept nogil:
    # Rows of the largest block, or 0. A block copies every feature once; a branch
    # of m rows gathers max_features of them on each of log2(m) levels and more.
    cdef intp_t m = BLOCK_BYTES // (n_features * sizeof(f32_t))
    cdef intp_t levels = 0
    while (m >> levels) > 1:
        levels += 1
    if n_rows <= m or n_features > max_features * levels:
        return 0
    return m


cdef inline void use_data(Grower* g) noexcept nogil:
    g.columns = g.data.columns
    g.stride = g.data.n_rows
    g.task = g.data.task
    g.number = g.data.number


cdef inline void copy_rows(Grower* g) noexcept nogil:
    # From X by rows: the values of a row share a few cache lines. Sixteen rows
    # at a time fill whole lines of the block's columns.
    cdef intp_t n = g.part.n, d = g.data.n_features
    cdef intp_t i, j, f, width
    cdef const f32_t* source[TILE]
    cdef f32_t* target
    for i from 0 <= i < n by TILE:
        width = min(<intp_t>TILE, n - i)
        for j in range(width):
            source[j] = g.data.rows + g.part.rows[i + j] * g.data.row_stride
        target = g.block.columns + i
        if width == TILE:
            for f in range(d):
                for j in range(TILE):
                    target[j] = source[j][f]
                target += n
        else:
            for f in range(d):
                for j in range(width):
                    target[j] = source[j][f]
                target += n


cdef inline void copy_columns(Grower* g) noexcept nogil:
    cdef intp_t n = g.part.n
    cdef intp_t f, i
    cdef const f32_t* source
    cdef f32_t* target
    for f in range(g.data.n_features):
        if g.known_constant[f]:  # nobody will ask
            continue
        source = g.data.columns + f * g.data.n_rows
        target = g.block.columns + f * n
        for i in range(n):
            target[i] = source[g.part.rows[i]]


cdef inline void enter_block(Grower* g, intp_t start) noexcept nogil:
    cdef intp_t n = g.part.n
    cdef i32_t* rows = g.part.rows
    cdef intp_t i
    g.block.start = start
    g.block.end = start + n
    if g.data.rows != NULL:
        copy_rows(g)
    else:
        copy_columns(g)
    for i in range(n):
        g.block.task[i] = g.data.task[rows[i]]
    if g.data.number != NULL:
        for i in range(n):
            g.block.number[i] = g.data.number[rows[i]]
    memcpy(g.block.rows, rows, n * sizeof(i32_t))
    for i in range(n):
        rows[i] = <i32_t>i
    g.columns = g.block.columns
    g.stride = n
    g.task = g.block.task
    g.number = g.block.number


cdef inline void leave_block(Grower* g, i32_t* all_rows) noexcept nogil:
    cdef intp_t i
    for i in range(g.block.start, g.block.end):
        all_rows[i] = g.block.rows[all_rows[i]]
    g.block.end = 0
    use_data(g)
