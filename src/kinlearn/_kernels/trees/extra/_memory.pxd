# Memory of one call: taken piece by piece, checked once, given back at once. Or kept
# for the next call, which takes pieces of about the same sizes in the same order: the
# pages of fresh memory cost more to get than a small tree takes to grow.

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
from kinlearn._kernels.trees.extra._codes cimport CODES_PADDING
from kinlearn._kernels.trees.extra._grower cimport (
    N_BLOCKS, Block, Frame, Grower, Node, Part, Source, Tree
)
from kinlearn._kernels._vectors cimport LANES, PADDING

cdef enum:
    MAX_PIECES = 64


cdef struct Arena:
    intp_t n_pieces              # taken
    bint failed
    void* pieces[MAX_PIECES]
    size_t sizes[MAX_PIECES]     # 0: there is no such piece


cdef inline void open_arena(Arena* arena) noexcept nogil:
    memset(arena, 0, sizeof(Arena))


cdef inline void* take(Arena* arena, intp_t n, size_t size) noexcept nogil:
    # Room for n things; never zero bytes, so that NULL means failure.
    cdef intp_t i = arena.n_pieces
    cdef size_t wanted = (n + 1) * size
    if i == MAX_PIECES:
        arena.failed = True
        return NULL
    if arena.sizes[i] < wanted:
        free(arena.pieces[i])
        arena.pieces[i] = malloc(wanted)
        arena.sizes[i] = 0 if arena.pieces[i] == NULL else wanted
        if arena.pieces[i] == NULL:
            arena.failed = True
            return NULL
    arena.n_pieces += 1
    return arena.pieces[i]


cdef inline void* take_zeroed(Arena* arena, intp_t n, size_t size) noexcept nogil:
    cdef void* piece = take(arena, n, size)
    if piece != NULL:
        memset(piece, 0, (n + 1) * size)
    return piece


cdef inline void give_back(Arena* arena) noexcept nogil:
    # All pieces may be taken again.
    arena.n_pieces = 0
    arena.failed = False


cdef inline void release(Arena* arena) noexcept nogil:
    cdef intp_t i
    for i in range(MAX_PIECES):
        free(arena.pieces[i])
    open_arena(arena)


cdef inline intp_t most_leaves(const Grower* g, const Part* all) noexcept nogil:
    # No leaf has less weight than min_weight_leaf, unless it is the only one.
    cdef f64_t by_weight = all.weight * g.data.w_unit
    if g.settings.min_weight_leaf * all.n <= by_weight:
        return all.n
    return 1 + <intp_t>(by_weight / g.settings.min_weight_leaf)


cdef inline void allocate_block(
    Arena* arena, Block* block, const Source* data, intp_t n_features
) noexcept nogil:
    cdef intp_t m = block.max_rows
    block.columns = <f32_t*>take(arena, n_features * m, sizeof(f32_t))
    block.numbers = <i32_t*>take(arena, m, sizeof(i32_t))
    block.task = <i32_t*>take(arena, m, sizeof(i32_t))
    if data.number != NULL:
        block.number = <f64_t*>take(arena, m, sizeof(f64_t))
    if data.y != NULL:
        block.y = <i32_t*>take(arena, m, sizeof(i32_t))
    if data.b != NULL:
        block.b = <i64_t*>take(arena, m, sizeof(i64_t))
    if data.w != NULL:
        block.w = <i64_t*>take(arena, m, sizeof(i64_t))


cdef inline void allocate(
    Arena* arena, Grower* g, const Part* all, Tree* tree
) noexcept nogil:
    # As little as the rows loaded may need: an allocator hands out what the last
    # tree gave back in other places, so in the end every byte has been touched.
    cdef const Source* data = &g.data.source
    cdef intp_t n = all.n, leaves = most_leaves(g, all)
    cdef intp_t d = g.data.n_features
    cdef intp_t n_classes = g.data.n_classes
    cdef intp_t n_tasks = g.data.n_tasks
    cdef intp_t i
    cdef bint missing = False
    for i in range(d):
        missing = missing or g.data.has_missing[i]
    tree.nodes = <Node*>take(arena, 2 * leaves, sizeof(Node))
    tree.default_left = <u8_t*>take(arena, 2 * leaves, sizeof(u8_t))
    tree.weight = <f64_t*>take(arena, 2 * leaves, sizeof(f64_t))
    tree.impurity = <f64_t*>take(arena, 2 * leaves, sizeof(f64_t))
    tree.leaf_start = <i32_t*>take(arena, leaves + 1, sizeof(i32_t))
    tree.exception_start = <i64_t*>take(arena, leaves + 1, sizeof(i64_t))
    tree.split_cut = <f64_t*>take(arena, leaves, sizeof(f64_t))
    tree.split_mean = <f64_t*>take(arena, leaves, sizeof(f64_t))
    tree.split_class = <i32_t*>take(arena, leaves, sizeof(i32_t))
    for i in range(N_BLOCKS):
        if g.blocks[i].max_rows > 0:
            allocate_block(arena, &g.blocks[i], data, d)
    for i in range(2):
        g.x[i] = <f32_t*>take(arena, n + PADDING, sizeof(f32_t))
    if g.codes.columns != NULL:
        g.codes.best = <u8_t*>take(arena, n + CODES_PADDING, sizeof(u8_t))
        g.codes.x = <u8_t*>take(arena, n + CODES_PADDING, sizeof(u8_t))
        g.codes.y = <u8_t*>take(arena, n + CODES_PADDING, sizeof(u8_t))
    if data.y != NULL:
        g.part.y = <i32_t*>take(arena, n + PADDING, sizeof(i32_t))
    if data.b != NULL:
        g.part.b = <i64_t*>take(arena, n + PADDING, sizeof(i64_t))
    if data.w != NULL:
        g.part.w = <i64_t*>take(arena, n, sizeof(i64_t))
    g.small.columns = <f32_t*>take(arena, d * LANES, sizeof(f32_t))
    g.small.column_of = <u64_t*>take_zeroed(arena, d, sizeof(u64_t))
    g.present = <f32_t*>take(
        arena, n + PADDING if missing else 0, sizeof(f32_t))
    g.order = <i32_t*>take(arena, d, sizeof(i32_t))
    g.swaps = <i32_t*>take(arena, d, sizeof(i32_t))
    g.constants = <i32_t*>take(arena, d, sizeof(i32_t))
    g.known_constant = <u8_t*>take_zeroed(arena, d, sizeof(u8_t))
    if n_classes > 0:
        g.local_y = <i32_t*>take(arena, n, sizeof(i32_t))
        g.local_class = <i32_t*>take(arena, n_classes, sizeof(i32_t))
        g.classes = <i32_t*>take(arena, n_classes, sizeof(i32_t))
        g.class_weight = <i64_t*>take_zeroed(arena, n_classes, sizeof(i64_t))
        g.node_hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
        g.left_hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
        g.right_hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
        g.missing_hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
    if n_tasks > 1 and g.settings.task_split_prob > 0:
        g.tasks = <i32_t*>take(arena, n_tasks, sizeof(i32_t))
        g.task_weight = <i64_t*>take_zeroed(arena, n_tasks, sizeof(i64_t))
        g.task_total = <i64_t*>take_zeroed(arena, n_tasks, sizeof(i64_t))
        g.task_left = <u8_t*>take(arena, n_tasks, sizeof(u8_t))
    if not arena.failed:
        for i in range(d):
            g.order[i] = <i32_t>i


cdef inline void load_rows(
    Arena* arena, Part* all, intp_t n_rows, const Source* data
) noexcept nogil:
    # The rows that have weight, and their sums.
    cdef intp_t row, n = 0
    all.rows = <i32_t*>take(arena, n_rows, sizeof(i32_t))
    if arena.failed:
        return
    for row in range(n_rows):
        if data.w != NULL and data.w[row] == 0:
            continue
        all.rows[n] = <i32_t>row
        if data.b != NULL:
            all.total += data.b[row]
        elif data.y != NULL:
            all.total += data.y[row]
        all.weight += 1 if data.w == NULL else data.w[row]
        n += 1
    all.n = n


cdef inline bint make_room(Grower* g, intp_t n) noexcept nogil:
    # For n frames on the stack; False when there is no memory.
    cdef Frame* grown
    if n <= g.stack_capacity:
        return True
    grown = <Frame*>realloc(g.stack, 2 * n * sizeof(Frame))
    if grown == NULL:
        return False
    g.stack = grown
    g.stack_capacity = 2 * n
    return True
