# Copying the rows of a small node together, and undoing it.

from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport f32_t, i32_t, intp_t
from kinlearn._kernels.trees._grower cimport Grower, Source

# More than fits near the processor; but one column at a time is read, densely.
cdef enum:
    BLOCK_BYTES = 2097152
    TILE = 16


cdef inline intp_t block_rows(const Grower* g) noexcept nogil:
    # Rows of the largest block, or 0. A block copies every feature once; a branch
    # of m rows gathers max_features of them on each of log2(m) levels and more.
    cdef intp_t m = BLOCK_BYTES // (g.data.n_features * sizeof(f32_t))
    cdef intp_t levels = 0
    while (m >> levels) > 1:
        levels += 1
    if g.data.n_features > g.settings.max_features * levels:
        return 0
    if g.data.n_rows > m:
        return m
    return 0 if g.data.source.columns != NULL else g.data.n_rows


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
            source[j] = g.at.rows + g.part.rows[i + j] * g.at.row_stride
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
        source = g.at.columns + f * g.at.column_stride
        target = g.block.columns + f * n
        for i in range(n):
            target[i] = source[g.part.rows[i]]


cdef inline void enter_block(Grower* g, intp_t start) noexcept nogil:
    cdef intp_t n = g.part.n
    cdef i32_t* rows = g.part.rows
    cdef intp_t i
    g.block.start = start
    g.block.end = start + n
    if g.at.rows != NULL:
        copy_rows(g)
    else:
        copy_columns(g)
    for i in range(n):
        g.block.task[i] = g.at.task[rows[i]]
    if g.at.number != NULL:
        for i in range(n):
            g.block.number[i] = g.at.number[rows[i]]
    if g.at.y != NULL:
        for i in range(n):
            g.block.y[i] = g.at.y[rows[i]]
    if g.at.b != NULL:
        for i in range(n):
            g.block.b[i] = g.at.b[rows[i]]
    if g.at.w != NULL:
        for i in range(n):
            g.block.w[i] = g.at.w[rows[i]]
    memcpy(g.block.numbers, rows, n * sizeof(i32_t))
    for i in range(n):
        rows[i] = <i32_t>i
    g.at = Source(
        g.block.columns, n, NULL, 0, g.block.y, g.block.b, g.block.w, g.block.task,
        g.block.number,
    )


cdef inline void leave_block(Grower* g, i32_t* all_rows) noexcept nogil:
    cdef intp_t i
    for i in range(g.block.start, g.block.end):
        all_rows[i] = g.block.numbers[all_rows[i]]
    g.block.end = 0
    g.at = g.data.source
