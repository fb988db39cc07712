"""Predictions of forests: which leaf does a row reach, and what do the leaves hold?

A forest is the trees' arrays end to end. Numbers inside a tree (right child, leaf,
task split) count from the tree's own start; `tree_start`, `leaf_start` and
`split_start` hold where each tree begins.

A tree that many rows will pass is packed first. Others are walked as
they are, a handful of rows in step, without branches that depend on the values: a
leaf is its own right child and its threshold is -inf, so rows that have arrived stay
there.

`place_task` finds where a task belongs that was not there when a tree was grown: its
rows run down the tree, and at a task split all of them take the side that the task's
own mean label there gives, by the cut and the smoothing that the split was made with.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u32_t, u64_t
)
from kinlearn._kernels._vectors cimport prefetch
from kinlearn._kernels.trees.extra._categories cimport SET_WORDS, is_in_set
from kinlearn._kernels.trees.extra._grower cimport (
    Arena, Node, give_back, open_arena, release, take
)
from kinlearn._kernels.trees.extra._split cimport LEAF, TASK_SPLIT, drawn_mean


# ----------------------------------------------------------------------------
# A tree in a form that many rows walk down fast
# ----------------------------------------------------------------------------

# Eight bytes a node, so that a tree of some hundred thousand nodes stays near the
# processor. The left child is the next node, so a step is one place on, or that and
# the distance of the right child; a leaf's distance leads back to itself.

cdef enum:
    WALKERS = 8          # rows in step: each overlaps the others' waits for memory
    QUIET_NAN = 0x7FC00000
    MOST_LEAVES = 0x400000
    # A row gains by a packed tree what packing that many nodes costs.
    NODES_PER_ROW = 64
    LOT = 4096           # rows that go down one packed tree after the other


cdef struct Tree:
    const Node* nodes
    intp_t n_nodes
    const u8_t* default_left
    intp_t n_task_splits
    const i64_t* exception_start
    const i32_t* exceptions
    const u64_t* sets    # of categories; NULL: there are none


cdef struct PackedNode:
    # What is compared with a feature. NaN for a leaf, which nothing is less than,
    # with the leaf's number in its low bits; the number of a task split.
    f32_t threshold
    # From the low bits: feature (n_features for a task split), default_left, and how
    # far behind the left child the right one is (-1 for a leaf).
    i32_t link


cdef struct Packed:
    PackedNode* nodes
    int feature_bits
    i32_t n_features
    # by task split, a bit for each task that goes against the default side; with
    # very many tasks NULL, and the lists are searched
    u64_t* listed
    intp_t n_words
    intp_t n_tasks
    const Tree* tree


cdef inline bint is_listed(
    const i32_t* sorted_list, intp_t n, i32_t wanted
) noexcept nogil:
    cdef intp_t low = 0, half
    while n > 1:
        half = n >> 1
        low += half if sorted_list[low + half] <= wanted else 0
        n -= half
    return n == 1 and sorted_list[low] == wanted


cdef inline bint is_exception(const Tree* tree, u32_t slot, i32_t task) noexcept nogil:
    cdef i64_t start = tree.exception_start[slot]
    return is_listed(
        tree.exceptions + start, tree.exception_start[slot + 1] - start, task)


cdef inline int bits_for(intp_t n_features) noexcept nogil:
    cdef int bits = 1
    while (n_features >> bits) > 0:
        bits += 1
    return bits


cdef inline bint fits(intp_t n_nodes, intp_t n_features) noexcept nogil:
    # Whether a tree's numbers have room in eight bytes a node.
    return n_nodes // 2 < MOST_LEAVES and (
        n_nodes < <intp_t>1 << (30 - bits_for(n_features)))


cdef inline intp_t words_for(const Tree* tree, intp_t n_tasks) noexcept nogil:
    # 64-bit words for each task split, or 0 if they would be more than the nodes.
    cdef intp_t n = (n_tasks + 63) // 64
    return n if tree.n_task_splits * n <= 2 * tree.n_nodes else 0


cdef inline void pack(Packed* p) noexcept nogil:
    cdef const Node* node
    cdef PackedNode* out
    cdef u32_t feature, bits
    cdef intp_t i, k
    for i in range(p.tree.n_nodes):
        node = &p.tree.nodes[i]
        out = &p.nodes[i]
        feature = 0 if node.feature == LEAF else <u32_t>node.feature
        out.threshold = node.threshold
        if node.feature < 0:
            bits = <u32_t>node.slot
            if node.feature == LEAF:
                bits |= <u32_t>QUIET_NAN
            else:
                feature = <u32_t>p.n_features
            memcpy(&out.threshold, &bits, sizeof(bits))
        feature |= <u32_t>p.tree.default_left[i] << p.feature_bits
        out.link = <i32_t>(
            <u32_t>(node.right - i - 1) << (p.feature_bits + 1) | feature)
    if p.listed != NULL:
        memset(p.listed, 0, p.tree.n_task_splits * p.n_words * sizeof(u64_t))
        for i in range(p.tree.n_task_splits):
            for k in range(p.tree.exception_start[i], p.tree.exception_start[i + 1]):
                p.listed[i * p.n_words + (p.tree.exceptions[k] >> 6)] |= (
                    <u64_t>1 << (p.tree.exceptions[k] & 63))


cdef inline bint task_goes_right(
    const Packed* p, const PackedNode* node, i32_t task
) noexcept nogil:
    cdef bint default_left = node.link >> p.feature_bits & 1
    cdef u32_t slot
    memcpy(&slot, &node.threshold, sizeof(slot))
    if p.listed == NULL:
        return default_left == is_exception(p.tree, slot, task)
    if task < 0 or task >= p.n_tasks:
        return not default_left
    return default_left == (
        p.listed[slot * p.n_words + (task >> 6)] >> (task & 63) & 1)


cdef inline void walk(
    const Packed* p, const f32_t* x, intp_t stride, const i32_t* task, intp_t n,
    bint by_task, bint missing, bint categories, i32_t* leaf,
) noexcept nogil:
    # The numbers of the leaves that n rows reach. `by_task`, `missing` and `categories`
    # are known where this is called: there may be task splits, missing values, or
    # splits by categories.
    cdef const PackedNode* at[WALKERS]
    cdef const PackedNode* node
    cdef const f32_t* first
    cdef intp_t row[WALKERS]
    cdef const Node* source
    cdef i32_t mask = (<i32_t>1 << p.feature_bits) - 1
    cdef int shift = p.feature_bits + 1, k
    cdef intp_t i, j, right, moved, last = max(n - WALKERS, <intp_t>0)
    cdef u32_t bits
    cdef f32_t value
    for k in range(WALKERS):
        row[k] = min(<intp_t>k, n - 1) * stride
    i = 0
    while i < n:
        i = min(i, last)  # the last ones may be the same rows again
        first = x + i * stride
        if i + 2 * WALKERS <= n:
            for j from 0 <= j < WALKERS * stride by 16:
                prefetch(first + WALKERS * stride + j)
        for k in range(WALKERS):
            at[k] = p.nodes
        moved = 1
        while moved:
            moved = 0
            for k in range(WALKERS):
                node = at[k]
                if by_task and (node.link & mask) == p.n_features:
                    right = task_goes_right(p, node, task[min(i + k, n - 1)])
                else:
                    value = first[row[k] + (node.link & mask)]
                    right = not (value <= node.threshold)
                    if categories:
                        source = &p.tree.nodes[node - p.nodes]
                        if source.feature >= 0 and source.slot >= 0:
                            right = not (value == value and is_in_set(
                                p.tree.sets + source.slot * SET_WORDS, value))
                    if missing:
                        right &= not (
                            value != value and node.link >> p.feature_bits & 1)
                # Arithmetic, because a branch would be guessed wrong half the time.
                at[k] = node + 1 + ((node.link >> shift) & -right)
                moved |= at[k] - node
        for k in range(WALKERS):
            memcpy(&bits, &at[k].threshold, sizeof(bits))
            leaf[min(i + k, n - 1)] = <i32_t>(bits & (MOST_LEAVES - 1))
        i += WALKERS


# ----------------------------------------------------------------------------
# Rows down the trees
# ----------------------------------------------------------------------------

cdef struct Queries:
    intp_t n_rows
    const f32_t* x
    intp_t row_stride
    intp_t column_stride
    const i32_t* task
    bint missing         # whether there may be NaN


cdef inline bint task_goes_left(
    const Tree* tree, i32_t node, i32_t task
) noexcept nogil:
    return tree.default_left[node] != is_exception(
        tree, tree.nodes[node].slot, task)


cdef inline void walk_unpacked(
    const Tree* tree, const Queries* q, i32_t* leaf_of
) noexcept nogil:
    # leaf_of[row] becomes the number of the leaf's node.
    cdef const Node* node
    cdef const f32_t* x_of[WALKERS]
    cdef i32_t at[WALKERS]
    cdef intp_t row[WALKERS]
    cdef i32_t feature, next_left, left, on_the_way
    cdef f32_t x
    cdef intp_t i
    cdef int k
    for i from 0 <= i < q.n_rows by WALKERS:
        for k in range(WALKERS):  # the last ones may be the same row
            at[k] = 0
            row[k] = min(i + k, q.n_rows - 1)
            x_of[k] = q.x + row[k] * q.row_stride
        on_the_way = 1
        while on_the_way:
            on_the_way = 0
            for k in range(WALKERS):
                node = &tree.nodes[at[k]]
                feature = node.feature
                on_the_way |= feature + 1  # zero at a leaf
                # A leaf reads the first feature and stays, whatever it is.
                x = x_of[k][(feature & ~(feature >> 31)) * q.column_stride]
                left = x <= node.threshold
                if tree.sets != NULL and feature >= 0 and node.slot >= 0 and x == x:
                    left = is_in_set(tree.sets + node.slot * SET_WORDS, x)
                if feature == TASK_SPLIT:
                    left = task_goes_left(tree, at[k], q.task[row[k]])
                elif q.missing and x != x and feature >= 0:
                    left = tree.default_left[at[k]]
                # Arithmetic, because a branch would be guessed wrong half the time.
                next_left = at[k] + 1
                at[k] = node.right ^ ((node.right ^ next_left) & -left)
        for k in range(WALKERS):
            leaf_of[row[k]] = at[k]


cdef inline void walk_packed(
    const Packed* p, const Queries* q, i32_t* leaf
) noexcept nogil:
    # leaf[row] becomes the number of the leaf.
    cdef intp_t n = q.n_rows
    if p.tree.sets != NULL:
        walk(p, q.x, q.row_stride, q.task, n, True, True, True, leaf)
    elif p.tree.n_task_splits > 0:
        if q.missing:
            walk(p, q.x, q.row_stride, q.task, n, True, True, False, leaf)
        else:
            walk(p, q.x, q.row_stride, q.task, n, True, False, False, leaf)
    elif q.missing:
        walk(p, q.x, q.row_stride, q.task, n, False, True, False, leaf)
    else:
        walk(p, q.x, q.row_stride, q.task, n, False, False, False, leaf)


cdef inline void pack_tree(
    Arena* arena, const Tree* tree, intp_t n_features, Packed* p
) noexcept nogil:
    cdef i64_t k
    p.tree = tree
    p.n_features = <i32_t>n_features
    p.feature_bits = bits_for(n_features)
    p.nodes = <PackedNode*>take(arena, tree.n_nodes, sizeof(PackedNode))
    p.n_tasks = 0
    for k in range(
        tree.exception_start[0], tree.exception_start[tree.n_task_splits]
    ):
        p.n_tasks = max(p.n_tasks, <intp_t>tree.exceptions[k] + 1)
    p.n_words = words_for(tree, p.n_tasks)
    p.listed = NULL
    if p.n_words > 0:
        p.listed = <u64_t*>take(
            arena, tree.n_task_splits * p.n_words, sizeof(u64_t))
    if not arena.failed:
        pack(p)


cdef Queries queries(
    const f32_t[:, :] X, const i32_t[::1] task, bint missing
) noexcept:
    return Queries(
        X.shape[0], &X[0, 0], X.strides[0] // sizeof(f32_t),
        X.strides[1] // sizeof(f32_t), &task[0], missing,
    )


cdef Tree tree_at(
    const Node[::1] nodes, const u8_t[::1] default_left, const i64_t[::1] tree_start,
    const i64_t[::1] split_start, const i64_t[::1] exception_start,
    const i32_t[::1] exceptions, const i64_t[::1] set_start,
    const u64_t[:, ::1] sets, intp_t t,
) noexcept nogil:
    cdef Tree tree = Tree(
        &nodes[tree_start[t]], tree_start[t + 1] - tree_start[t],
        &default_left[tree_start[t]], split_start[t + 1] - split_start[t],
        &exception_start[split_start[t]], NULL, NULL,
    )
    if exceptions.shape[0] > 0:
        tree.exceptions = &exceptions[0]
    if sets is not None and set_start[t] < set_start[t + 1]:
        tree.sets = &sets[set_start[t], 0]
    return tree


def apply_trees(
    const Node[::1] nodes,
    const u8_t[::1] default_left,
    const i64_t[::1] tree_start,
    const i64_t[::1] split_start,
    const i64_t[::1] exception_start,
    const i32_t[::1] exceptions,
    const f32_t[:, :] X,
    const i32_t[::1] task,
    bint missing,
    i32_t[:, ::1] out,
    const i64_t[::1] set_start=None,
    const u64_t[:, ::1] sets=None,
):
    """Fill ``out[tree, row]`` with the number of the leaf's node.

    `task` holds codes; one that no split lists (-1, say) takes the default sides.
    `missing` says whether X may hold NaN. The sets of categories of tree t begin at
    ``set_start[t]``.
    """
    cdef Queries q = queries(X, task, missing)
    cdef Tree tree
    cdef intp_t t
    with nogil:
        for t in range(out.shape[0]):
            tree = tree_at(
                nodes, default_left, tree_start, split_start, exception_start,
                exceptions, set_start, sets, t,
            )
            walk_unpacked(&tree, &q, &out[t, 0])


def add_values(
    const Node[::1] nodes,
    const u8_t[::1] default_left,
    const i64_t[::1] tree_start,
    const i64_t[::1] leaf_start,
    const i64_t[::1] split_start,
    const i64_t[::1] exception_start,
    const i32_t[::1] exceptions,
    const f64_t[:, ::1] values,
    const f32_t[:, :] X,
    const i32_t[::1] task,
    bint missing,
    intp_t first_tree,
    intp_t last_tree,
    f64_t[:, ::1] out,
    const i64_t[::1] own_start=None,
    const i32_t[::1] own_task=None,
    const f64_t[:, ::1] own_values=None,
    const i64_t[::1] set_start=None,
    const u64_t[:, ::1] sets=None,
):
    """Add to ``out[row]`` the leaf values of the trees first_tree .. last_tree - 1.

    With `own_start` a leaf k of the forest has values of their own for the tasks
    ``own_task[own_start[k]:own_start[k + 1]]`` (ascending).
    """
    cdef Queries q = queries(X, task, missing)
    cdef Queries lot = q
    cdef Arena arena
    cdef Tree tree
    cdef Packed packed
    cdef const f64_t* answer
    cdef i32_t* leaf_of = NULL
    cdef intp_t n_values = values.shape[1]
    cdef intp_t t, i, c, start
    cdef i64_t leaf, own
    cdef bint is_packed
    open_arena(&arena)
    with nogil:
        for t in range(first_tree, last_tree):
            tree = tree_at(
                nodes, default_left, tree_start, split_start, exception_start,
                exceptions, set_start, sets, t,
            )
            give_back(&arena)
            leaf_of = <i32_t*>take(&arena, LOT, sizeof(i32_t))
            is_packed = (
                q.column_stride == 1 and q.n_rows * NODES_PER_ROW >= tree.n_nodes
                and fits(tree.n_nodes, X.shape[1])
            )
            if is_packed:
                pack_tree(&arena, &tree, X.shape[1], &packed)
            if arena.failed:
                break
            for start from 0 <= start < q.n_rows by LOT:
                lot.n_rows = min(<intp_t>LOT, q.n_rows - start)
                lot.x = q.x + start * q.row_stride
                lot.task = q.task + start
                if is_packed:
                    walk_packed(&packed, &lot, leaf_of)
                else:
                    walk_unpacked(&tree, &lot, leaf_of)
                    for i in range(lot.n_rows):
                        leaf_of[i] = tree.nodes[leaf_of[i]].slot
                if own_start is None and n_values == 1:
                    for i in range(lot.n_rows):
                        out[start + i, 0] += values[leaf_start[t] + leaf_of[i], 0]
                    continue
                for i in range(lot.n_rows):
                    answer = &values[leaf_start[t] + leaf_of[i], 0]
                    if own_start is not None:
                        leaf = leaf_start[t] + leaf_of[i]
                        own = find_own(
                            own_start[leaf], own_start[leaf + 1], own_task, lot.task[i])
                        if own >= 0:
                            answer = &own_values[own, 0]
                    for c in range(n_values):
                        out[start + i, c] += answer[c]
    if arena.failed:
        release(&arena)
        raise MemoryError("no memory to predict with a tree of this many nodes")
    release(&arena)


cdef inline i64_t find_own(
    i64_t start, i64_t end, const i32_t[::1] own_task, i32_t task
) noexcept nogil:
    # Where the task's entry is, or -1.
    cdef i64_t middle
    while start < end:
        middle = (start + end) >> 1
        if own_task[middle] == task:
            return middle
        if own_task[middle] < task:
            start = middle + 1
        else:
            end = middle
    return -1


cdef struct Stretch:
    intp_t node
    intp_t start
    intp_t end


cdef inline f64_t task_mean(
    const f64_t[::1] y, const f64_t[::1] w, bint of_class, i32_t positive,
    const intp_t* rows, intp_t n, f64_t gamma, f64_t smoothing,
) noexcept nogil:
    cdef f64_t weight = 0, total = 0
    cdef intp_t i
    for i in range(n):
        weight += w[rows[i]]
        if of_class:
            total += w[rows[i]] if y[rows[i]] == positive else 0.0
        else:
            total += w[rows[i]] * y[rows[i]]
    return drawn_mean(total, weight, gamma, smoothing)


def place_task(
    const Node[::1] nodes,
    const u8_t[::1] default_left,
    const i64_t[::1] tree_start,
    const i64_t[::1] split_start,
    const f64_t[::1] split_cut,
    const f64_t[::1] split_mean,
    const i32_t[::1] split_class,
    bint of_class,
    f64_t smoothing,
    const f32_t[:, ::1] X,
    const f64_t[::1] y,
    const f64_t[::1] w,
    i32_t[:, ::1] leaf,
    u8_t[::1] side,
    const i64_t[::1] set_start=None,
    const u64_t[:, ::1] sets=None,
):
    """Run the rows of one new task down every tree.

    Parameters
    ----------
    nodes, ..., split_class : arrays
        Of the forest.
    of_class : bool
        Whether the means are shares of ``split_class``; else they are means of y.
    smoothing : float
        Rows' worth of the node's mean in the task's.
    X, y, w : arrays by row
        The task's rows, which have weight.
    leaf : int32 array of shape (n_trees, n_rows)
        To be filled with the leaves' nodes, counted from the tree's start.
    side : uint8 array of shape (n_task_splits,)
        To be filled with 1 where the task goes left, 0 where it goes right; left as
        it is where it does not come.
    """
    cdef intp_t n_rows = X.shape[0], t, i, n_left, n_stack, row
    cdef intp_t most = n_rows + 2
    cdef intp_t* rows = <intp_t*>malloc(n_rows * sizeof(intp_t))
    cdef intp_t* spare = <intp_t*>malloc(n_rows * sizeof(intp_t))
    cdef Stretch* stack = <Stretch*>malloc(most * sizeof(Stretch))
    cdef Stretch at
    cdef const Node* node
    cdef f32_t x
    cdef bint left
    cdef i64_t k
    if rows == NULL or spare == NULL or stack == NULL:
        free(rows)
        free(spare)
        free(stack)
        raise MemoryError("no memory to place a task of this many rows")
    with nogil:
        for t in range(tree_start.shape[0] - 1):
            for i in range(n_rows):
                rows[i] = i
            stack[0] = Stretch(0, 0, n_rows)
            n_stack = 1
            while n_stack > 0:  # stretches are not empty, so there are few
                n_stack -= 1
                at = stack[n_stack]
                node = &nodes[tree_start[t] + at.node]
                if node.feature == LEAF:
                    for i in range(at.start, at.end):
                        leaf[t, rows[i]] = <i32_t>at.node
                    continue
                if node.feature == TASK_SPLIT:
                    k = split_start[t] + node.slot
                    left = task_mean(
                        y, w, of_class, split_class[k], rows + at.start,
                        at.end - at.start, split_mean[k], smoothing,
                    ) < split_cut[k]
                    side[k] = left
                    at.node = at.node + 1 if left else node.right
                    stack[n_stack] = at
                    n_stack += 1
                    continue
                n_left = 0
                for i in range(at.start, at.end):
                    row = rows[i]
                    x = X[row, node.feature]
                    left = x <= node.threshold
                    if sets is not None and node.slot >= 0 and x == x:
                        left = is_in_set(&sets[set_start[t] + node.slot, 0], x)
                    if x != x:
                        left = default_left[tree_start[t] + at.node]
                    if left:
                        rows[at.start + n_left] = row
                        n_left += 1
                    else:
                        spare[i - at.start - n_left] = row
                for i in range(at.end - at.start - n_left):
                    rows[at.start + n_left + i] = spare[i]
                if n_left < at.end - at.start:
                    stack[n_stack] = Stretch(
                        node.right, at.start + n_left, at.end)
                    n_stack += 1
                if n_left > 0:
                    stack[n_stack] = Stretch(
                        at.node + 1, at.start, at.start + n_left)
                    n_stack += 1
    free(rows)
    free(spare)
    free(stack)
