# What the growth of one extremely randomised tree works with.

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
)
from kinlearn._kernels._vectors cimport PADDING
from kinlearn._kernels.trees.extra._split cimport Candidates, Draws

cdef extern from "trees/extra/_feature_bytes.h" nogil:
    enum:
        BYTES_PADDING "KINLEARN_BYTES_PADDING"

cdef enum:
    N_CATEGORIES = 256


cdef struct Node:
    i32_t feature      # LEAF, TASK_SPLIT, or the feature of x <= threshold
    f32_t threshold
    i32_t right        # a leaf's is itself; the left child is always the next node
    # number of the leaf, of the task split, or of the set of categories that go left;
    # of a split by numbers -1
    i32_t slot


# Values and labels by row number: of all rows, or of those of a block. Features
# lie by columns, by rows, or in both ways; the pointer of a way that is not there
# is NULL. Of y, b and w those that the kind of label needs; the others are NULL.
#   two classes        y (0 or 1); b and w if there are weights
#   a number           b; w if there are weights
#   more classes       y; w if there are weights
cdef struct Source:
    const f32_t* columns
    intp_t column_stride       # from one column to the next
    const f32_t* rows
    intp_t row_stride          # from one row to the next
    const i32_t* y
    const i64_t* b             # weight times label
    const i64_t* w
    const i32_t* task
    const f64_t* number        # what y is if it is not a class


# The training rows.
cdef struct Data:
    intp_t n_rows
    intp_t n_features
    intp_t n_classes           # more than two, or 0: sums of y decide
    intp_t n_tasks
    const u8_t* has_missing    # by feature
    const u8_t* categorical    # by feature: whether values are codes; NULL: none are
    Source source


# The rows of the node at hand: a stretch of an array that growth keeps
# partitioned, and their labels, collected anew for each node.
cdef struct Part:
    intp_t n
    i32_t* rows
    i32_t* y
    i64_t* b
    i64_t* w


# The rows of a node, copied together: its whole branch is then grown from nearby
# memory, whatever the size of the data. Within it rows have numbers of their own.
cdef struct Block:
    intp_t max_rows            # 0: blocks would not pay
    intp_t start               # of the stretch of rows it covers
    intp_t end                 # 0: there is none at present
    i32_t* numbers             # of its rows where they came from
    f32_t* columns
    i32_t* y
    i64_t* b
    i64_t* w
    i32_t* task
    f64_t* number


# Features as bytes, for large nodes; see _feature_bytes.pxd.
cdef struct Bytes:
    const u8_t* columns        # by feature, then by row; NULL: there are none
    const f32_t* lowest        # by feature and bin: the extremes of its values
    const f32_t* highest
    intp_t min_rows            # of a node that reads them
    u8_t* best                 # by row of the node: of the best split so far
    u8_t* x                    # of the feature at hand
    u8_t* y                    # labels of two classes


cdef struct Frame:
    # A node that waits to be grown.
    intp_t start
    intp_t end
    i64_t weight
    i64_t total
    u64_t key
    intp_t n_constants
    i32_t parent     # whose right child this is, or -1
    i32_t depth


# A value at a node, and the row's place there.
cdef struct Placed:
    f32_t x
    i32_t at


cdef struct Grower:
    Data data
    Part part
    Candidates node
    Draws draws
    u64_t key                  # of the node at hand
    u64_t stream
    Source at                  # where part.rows point to: the data, or a block
    Block block
    Bytes bytes
    Frame* stack               # grows with the depth
    intp_t stack_capacity
    # values of features, by row of the node: the first are those of the best split
    # so far, the second those of the feature at hand
    f32_t* x[2]
    f32_t* present             # 1 where there is a value, 0 for NaN
    # where all cuts are tried: values in their order, and classes below a cut
    Placed* sorted
    i64_t* below_hist
    i32_t* constants           # features constant at an ancestor, as they were found
    intp_t n_constants
    # more than two classes: those of the node get numbers of their own
    i32_t* local_y             # by row of the node
    i32_t* local_class         # by class
    i32_t* classes             # present at the node, ascending
    i64_t* class_weight        # by class; zero between nodes
    # categories: sums by code, and means; see _categories.pxd
    i64_t category_weight[N_CATEGORIES]
    i64_t category_total[N_CATEGORIES]
    f32_t category_mean[N_CATEGORIES]
    # task splits: sums by task, zero between nodes, and the tasks present
    intp_t n_present
    i32_t* tasks
    i64_t* task_weight
    i64_t* task_total
    u8_t* task_left
    f64_t task_cut             # of the task split tried last
    f64_t task_gamma
    i32_t task_class


cdef struct Tree:
    intp_t n_nodes
    intp_t n_leaves
    intp_t n_task_splits
    Node* nodes
    u8_t* default_left
    f64_t* weight
    f64_t* impurity
    i32_t* leaf_start          # where the rows of a leaf begin
    # by task split: where the tasks' means were cut, the mean of all, and the class
    # that was counted
    f64_t* split_cut
    f64_t* split_mean
    i32_t* split_class
    # tasks against the default side: task split k has those from start[k] on
    i64_t* exception_start
    i32_t* exceptions
    intp_t exceptions_capacity
    # splits by categories: SET_WORDS words each, the codes that go left
    intp_t n_sets
    u64_t* sets
    intp_t sets_capacity


# ----------------------------------------------------------------------------
# Memory
# ----------------------------------------------------------------------------

# Of one call: taken array by array, checked once, given back at once. Or kept
# for the next call, which takes arrays of about the same sizes in the same order: the
# pages of fresh memory cost more to get than a small tree takes to grow.

cdef enum:
    MOST_ARRAYS = 64


cdef struct Arena:
    intp_t n_arrays              # taken
    bint failed
    void* arrays[MOST_ARRAYS]
    size_t sizes[MOST_ARRAYS]     # 0: there is no such array


cdef inline void open_arena(Arena* arena) noexcept nogil:
    memset(arena, 0, sizeof(Arena))


cdef inline void* take(Arena* arena, intp_t n, size_t size) noexcept nogil:
    # For n things; never zero bytes, so that NULL means failure.
    cdef intp_t i = arena.n_arrays
    cdef size_t wanted = (n + 1) * size
    if i == MOST_ARRAYS:
        arena.failed = True
        return NULL
    if arena.sizes[i] < wanted:
        free(arena.arrays[i])
        arena.arrays[i] = malloc(wanted)
        arena.sizes[i] = 0 if arena.arrays[i] == NULL else wanted
        if arena.arrays[i] == NULL:
            arena.failed = True
            return NULL
    arena.n_arrays += 1
    return arena.arrays[i]


cdef inline void* take_zeroed(Arena* arena, intp_t n, size_t size) noexcept nogil:
    cdef void* array = take(arena, n, size)
    if array != NULL:
        memset(array, 0, (n + 1) * size)
    return array


cdef inline void give_back(Arena* arena) noexcept nogil:
    # All arrays may be taken again.
    arena.n_arrays = 0
    arena.failed = False


cdef inline void release(Arena* arena) noexcept nogil:
    cdef intp_t i
    for i in range(MOST_ARRAYS):
        free(arena.arrays[i])
    open_arena(arena)


cdef inline intp_t most_leaves(const Grower* g, const Part* all) noexcept nogil:
    # No leaf has less weight than min_weight_leaf, unless it is the only one.
    cdef f64_t by_weight = g.node.weight * g.node.w_unit
    if g.node.settings.min_weight_leaf * all.n <= by_weight:
        return all.n
    return 1 + <intp_t>(by_weight / g.node.settings.min_weight_leaf)


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
    g.draws.n_features = d
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
    if g.block.max_rows > 0:
        allocate_block(arena, &g.block, data, d)
    for i in range(2):
        g.x[i] = <f32_t*>take(arena, n + PADDING, sizeof(f32_t))
    if g.bytes.columns != NULL:
        g.bytes.best = <u8_t*>take(arena, n + BYTES_PADDING, sizeof(u8_t))
        g.bytes.x = <u8_t*>take(arena, n + BYTES_PADDING, sizeof(u8_t))
        g.bytes.y = <u8_t*>take(arena, n + BYTES_PADDING, sizeof(u8_t))
    if data.y != NULL:
        g.part.y = <i32_t*>take(arena, n + PADDING, sizeof(i32_t))
    if data.b != NULL:
        g.part.b = <i64_t*>take(arena, n + PADDING, sizeof(i64_t))
    if data.w != NULL:
        g.part.w = <i64_t*>take(arena, n, sizeof(i64_t))
    g.present = <f32_t*>take(
        arena, n + PADDING if missing else 0, sizeof(f32_t))
    if g.node.settings.n_cuts == 0:
        g.sorted = <Placed*>take(arena, n, sizeof(Placed))
        g.below_hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
    g.draws.order = <i32_t*>take(arena, d, sizeof(i32_t))
    g.draws.swaps = <i32_t*>take(arena, d, sizeof(i32_t))
    g.constants = <i32_t*>take(arena, d, sizeof(i32_t))
    g.draws.constant = <u8_t*>take_zeroed(arena, d, sizeof(u8_t))
    if n_classes > 0:
        g.local_y = <i32_t*>take(arena, n, sizeof(i32_t))
        g.local_class = <i32_t*>take(arena, n_classes, sizeof(i32_t))
        g.classes = <i32_t*>take(arena, n_classes, sizeof(i32_t))
        g.class_weight = <i64_t*>take_zeroed(arena, n_classes, sizeof(i64_t))
        g.node.hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
        g.node.left_hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
        g.node.right_hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
        g.node.missing_hist = <i64_t*>take(arena, n_classes, sizeof(i64_t))
    if n_tasks > 1 and g.node.settings.task_split_prob > 0:
        g.tasks = <i32_t*>take(arena, n_tasks, sizeof(i32_t))
        g.task_weight = <i64_t*>take_zeroed(arena, n_tasks, sizeof(i64_t))
        g.task_total = <i64_t*>take_zeroed(arena, n_tasks, sizeof(i64_t))
        g.task_left = <u8_t*>take(arena, n_tasks, sizeof(u8_t))
    if not arena.failed:
        for i in range(d):
            g.draws.order[i] = <i32_t>i


cdef inline void load_rows(Arena* arena, Grower* g, Part* all) noexcept nogil:
    # The rows that have weight, and their sums, which are those of the root.
    cdef const Source* data = &g.data.source
    cdef intp_t row, n = 0
    all.rows = <i32_t*>take(arena, g.data.n_rows, sizeof(i32_t))
    if arena.failed:
        return
    for row in range(g.data.n_rows):
        if data.w != NULL and data.w[row] == 0:
            continue
        all.rows[n] = <i32_t>row
        if data.b != NULL:
            g.node.total += data.b[row]
        elif data.y != NULL:
            g.node.total += data.y[row]
        g.node.weight += 1 if data.w == NULL else data.w[row]
        n += 1
    all.n = n


cdef inline bint reserve_stack(Grower* g, intp_t n) noexcept nogil:
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
