"""What trees of gradient boosting add to the scores of rows."""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u32_t
from kinlearn._kernels.boosting.gradient._nodes cimport LEAF, TASK, Node, goes_left


cdef extern from "boosting/gradient/_leaf_masks.h" nogil:
    enum:
        BLOCK "KINLEARN_BLOCK"     # rows that go through all trees together
    void goes_right "kinlearn_goes_right" (
        const u8_t* code, u8_t bin, u8_t n_bins, u8_t default_left, u8_t* right
    ) noexcept
    void keep_leaves "kinlearn_keep_leaves" (
        const u8_t* right, u8_t if_left, u8_t if_right, u8_t* leaves
    ) noexcept

cdef enum:
    FEW_ROWS = 16       # as many walk down each tree one by one
    LEAF_BYTES = 4      # bits for the leaves of trees that are gone through by node


cdef struct Tree:
    const Node* nodes
    intp_t n_nodes
    intp_t n_leaves
    const u8_t* sets
    const u32_t* below  # the leaves below each node as bits, of small trees


# A block of rows, feature by feature.
cdef struct Rows:
    const u8_t* bins
    const i32_t* task
    intp_t n
    intp_t n_tasks


cdef inline int code_of(const Node* node, const Rows* rows, intp_t i) noexcept nogil:
    if node.feature == TASK:
        return rows.task[i]
    return rows.bins[<intp_t>node.feature * BLOCK + i]


cdef inline void walk(const Tree* tree, const Rows* rows, i32_t* leaf) noexcept nogil:
    cdef const Node* node
    cdef intp_t i
    for i in range(rows.n):
        node = tree.nodes
        while node.feature != LEAF:
            node = tree.nodes + node.left + (not goes_left(
                node, tree.sets, code_of(node, rows, i), rows.n_tasks))
        leaf[i] = node.left


cdef inline void take_sides_of_tasks(
    const Node* node, const u8_t* sets, const Rows* rows, u8_t* right
) noexcept nogil:
    # 255 for rows that go right of a split by tasks, else 0; see `goes_left`
    cdef const u8_t* bits = sets + node.first_byte
    cdef u8_t of_unknown = 0 if node.default_left else 255
    cdef u32_t n_tasks = <u32_t>rows.n_tasks, code
    cdef intp_t i
    for i in range(rows.n):
        code = <u32_t>rows.task[i]
        if code < n_tasks:
            right[i] = <u8_t>((bits[code >> 3] >> (code & 7) & 1) - 1)
        else:
            right[i] = of_unknown


cdef inline void pass_nodes(
    const Tree* tree, const Rows* rows, const u8_t* first_bit, i32_t* leaf
) noexcept nogil:
    # See _leaf_masks.h; eight leaves are a byte of each row.
    cdef u8_t leaves[BLOCK * LEAF_BYTES]
    cdef u8_t right[BLOCK]
    cdef const Node* node
    cdef u32_t left_leaves, right_leaves
    cdef u8_t bits
    cdef intp_t n_bytes = (tree.n_leaves + 7) // 8, k, b, i
    cdef u8_t last = 255 >> (8 * n_bytes - tree.n_leaves)
    memset(right, 0, BLOCK)
    memset(leaves, 255, BLOCK * n_bytes)
    memset(leaves + BLOCK * (n_bytes - 1), last, BLOCK)
    for k in range(tree.n_nodes):
        node = &tree.nodes[k]
        if node.feature == LEAF:
            continue
        if node.feature != TASK and node.first_byte < 0:
            goes_right(
                rows.bins + <intp_t>node.feature * BLOCK, node.bin, node.n_bins,
                node.default_left, right)
        elif node.feature == TASK:
            take_sides_of_tasks(node, tree.sets, rows, right)
        else:
            for i in range(rows.n):
                right[i] = 0 if goes_left(
                    node, tree.sets, code_of(node, rows, i), rows.n_tasks) else 255
        left_leaves = tree.below[node.left]
        right_leaves = tree.below[node.left + 1]
        for b in range(n_bytes):
            if (left_leaves | right_leaves) >> (8 * b) & 255:
                keep_leaves(
                    right, ~(right_leaves >> (8 * b)) & 255,
                    ~(left_leaves >> (8 * b)) & 255, leaves + BLOCK * b)
    for i in range(rows.n):
        leaf[i] = first_bit[leaves[i]]
    for b in range(1, n_bytes):
        for i in range(rows.n):
            bits = leaves[BLOCK * b + i]
            leaf[i] += first_bit[bits] + (8 * b if bits else 0)


cdef inline void find_below(const Tree* tree, u32_t* below) noexcept nogil:
    cdef const Node* node
    cdef intp_t k
    for k in range(tree.n_nodes - 1, -1, -1):  # children come behind their parents
        node = &tree.nodes[k]
        if node.feature == LEAF:
            below[k] = <u32_t>1 << node.left
        else:
            below[k] = below[node.left] | below[node.left + 1]


def add_trees(
    const Node[::1] nodes, const i64_t[::1] tree_start, const i64_t[::1] set_start,
    const u8_t[::1] sets, const i64_t[::1] leaf_start, const f64_t[::1] values,
    const i64_t[::1] departure_start, const i32_t[::1] departure_task,
    const f64_t[::1] departures, const i32_t[::1] output, intp_t n_tasks,
    intp_t first, intp_t last, const u8_t[:, :] bins, const i32_t[::1] task,
    const i32_t[::1] rows, f64_t[:, :] scores,
):
    """Add the values of trees to scores.

    Parameters
    ----------
    nodes, tree_start, set_start, sets, leaf_start, values : arrays
        The trees, one after the other; see `kinlearn.boosting.gradient._model.Trees`.
    departure_start, departure_task, departures : arrays
        What tasks add to the value of a leaf, for each leaf by ascending task.
    output : int32 array of shape (n_trees,)
        The column of scores that each tree adds to.
    n_tasks : int
        Number of tasks; codes outside are unknown.
    first, last : int
        Trees to add: from the first to before the last.
    bins : uint8 array of shape (n, n_features)
        Bins of the rows.
    task : int32 array of shape (n,)
        Task codes.
    rows : int32 array
        Which rows.
    scores : float64 array of shape (n, n_outputs), updated
        Scores.
    """
    cdef intp_t n = rows.shape[0], d = bins.shape[1], start, i, f, k, n_used = 0
    cdef intp_t first_node = tree_start[first], n_nodes = tree_start[last] - first_node
    cdef i32_t r
    cdef i64_t leaf
    cdef f64_t value
    cdef const u8_t* set_bytes = &sets[0] if sets.shape[0] else NULL
    cdef bint each = departures.shape[0] > 0, many = n > FEW_ROWS
    cdef u8_t first_bit[256]
    cdef i32_t leaf_of[BLOCK]
    cdef i32_t task_of[BLOCK]
    cdef Tree tree
    cdef Rows block
    # beyond the last row, a block has zeros
    cdef u8_t* code = <u8_t*> calloc(BLOCK * d + 1, 1)
    cdef intp_t* used = <intp_t*> malloc((d + 1) * sizeof(intp_t))
    cdef u8_t* is_used = <u8_t*> calloc(d + 1, 1)
    cdef u32_t* below = <u32_t*> malloc((n_nodes + 1) * sizeof(u32_t))
    if code == NULL or used == NULL or is_used == NULL or below == NULL:
        free(code)
        free(used)
        free(is_used)
        free(below)
        raise MemoryError()
    with nogil:
        memset(first_bit, 0, sizeof(first_bit))
        for k in range(8):
            first_bit[1 << k] = <u8_t>k
        for k in range(first_node, first_node + n_nodes):
            if nodes[k].feature >= 0:
                is_used[nodes[k].feature] = 1
        for f in range(d):
            if is_used[f]:
                used[n_used] = f
                n_used += 1
        block.bins, block.task, block.n_tasks = code, task_of, n_tasks
        for start from 0 <= start < n by BLOCK:
            block.n = min(<intp_t>BLOCK, n - start)
            for i in range(block.n):
                r = rows[start + i]
                task_of[i] = task[r]
                for f in range(n_used):
                    code[used[f] * BLOCK + i] = bins[r, used[f]]
            for k in range(first, last):
                tree.nodes = &nodes[tree_start[k]]
                tree.n_nodes = tree_start[k + 1] - tree_start[k]
                tree.n_leaves = leaf_start[k + 1] - leaf_start[k]
                tree.sets = set_bytes + set_start[k]
                tree.below = below + (tree_start[k] - first_node)
                if many and tree.n_leaves <= 8 * LEAF_BYTES:
                    if start == 0:
                        find_below(&tree, below + (tree_start[k] - first_node))
                    pass_nodes(&tree, &block, first_bit, leaf_of)
                else:
                    walk(&tree, &block, leaf_of)
                for i in range(block.n):
                    leaf = leaf_start[k] + leaf_of[i]
                    value = values[leaf]
                    if each:
                        value += find_departure(
                            departure_start[leaf], departure_start[leaf + 1],
                            task_of[i], &departure_task[0], &departures[0])
                    scores[rows[start + i], output[k]] += value
    free(code)
    free(used)
    free(is_used)
    free(below)


cdef inline f64_t find_departure(
    i64_t low, i64_t high, i32_t task, const i32_t* tasks, const f64_t* departures
) noexcept nogil:
    cdef i64_t middle, end = high
    while low < high:
        middle = (low + high) >> 1
        if tasks[middle] < task:
            low = middle + 1
        else:
            high = middle
    return departures[low] if low < end and tasks[low] == task else 0.0
