"""Asking forests: which leaf does a row reach, and what do the leaves answer?

A forest is the trees' arrays end to end. Numbers inside a tree (right child, leaf,
task split) count from the tree's own start; `tree_start`, `leaf_start` and
`split_start` say where each tree begins.

All rows go down a tree together: each node parts its rows as in growing,
left side first, so that both the nodes and the rows of a branch are at hand when
they are needed. A handful of rows goes on in step, each overlapping the others'
waits for memory. Neither way has branches that depend on the values. A leaf is its
own right child and its threshold is -inf, so rows that have arrived stay there.
"""

from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t
)
from kinlearn._kernels.trees._arena cimport Arena, open_arena, release, take
from kinlearn._kernels.trees._grower cimport LEAF, TASK_SPLIT, Node

cdef enum:
    LANES = 8


cdef struct Tree:
    const Node* nodes
    const u8_t* default_left
    const i64_t* exception_start
    const i32_t* exceptions


cdef struct Branch:
    # Rows that wait at a node, as a stretch of all rows.
    i32_t node
    i32_t start
    i32_t end


cdef struct Workspace:
    i32_t* rows
    i32_t* spare
    Branch* waiting      # none of them empty, so never more than rows
    i32_t* leaf_of


cdef struct Queries:
    intp_t n_rows
    const f32_t* x
    intp_t row_stride
    intp_t column_stride
    const i32_t* task
    bint missing         # whether there may be NaN


cdef inline bint is_listed(
    const i32_t* sorted_list, intp_t n, i32_t wanted
) noexcept nogil:
    cdef intp_t low = 0, half
    while n > 1:
        half = n >> 1
        low += half if sorted_list[low + half] <= wanted else 0
        n -= half
    return n == 1 and sorted_list[low] == wanted


cdef inline bint task_goes_left(
    const Tree* tree, i32_t node, i32_t task
) noexcept nogil:
    cdef i32_t slot = tree.nodes[node].slot
    cdef i64_t start = tree.exception_start[slot]
    return tree.default_left[node] != is_listed(
        tree.exceptions + start, tree.exception_start[slot + 1] - start, task)


cdef inline void walk_lanes(
    const Tree* tree, const Queries* q, const i32_t* rows, intp_t n, i32_t start,
    i32_t* leaf_of,
) noexcept nogil:
    # Send up to LANES rows on from the node `start`. The last lanes repeat a row.
    cdef const Node* node
    cdef const f32_t* x_of[LANES]
    cdef i32_t at[LANES]
    cdef i32_t row[LANES]
    cdef i32_t feature, next_left, left, on_the_way = 1
    cdef f32_t x
    cdef int k
    for k in range(LANES):
        at[k] = start
        row[k] = rows[k if k < n else n - 1]
        x_of[k] = q.x + row[k] * q.row_stride
    while on_the_way:
        on_the_way = 0
        for k in range(LANES):
            node = &tree.nodes[at[k]]
            feature = node.feature
            on_the_way |= feature + 1  # zero at a leaf
            # A leaf reads the first feature and stays, whatever it is.
            x = x_of[k][(feature & ~(feature >> 31)) * q.column_stride]
            left = x <= node.threshold
            if feature == TASK_SPLIT:
                left = task_goes_left(tree, at[k], q.task[row[k]])
            elif q.missing and x != x and feature >= 0:
                left = tree.default_left[at[k]]
            # Arithmetic, because a branch would be guessed wrong half the time.
            next_left = at[k] + 1
            at[k] = node.right ^ ((node.right ^ next_left) & -left)
    for k in range(LANES):
        leaf_of[row[k]] = at[k]


cdef inline intp_t part_rows(
    const Tree* tree, const Queries* q, i32_t node, i32_t* rows, intp_t n,
    i32_t* spare,
) noexcept nogil:
    # Bring the rows that go left to the front; return how many they are.
    cdef i32_t feature = tree.nodes[node].feature
    cdef f32_t threshold = tree.nodes[node].threshold
    cdef bint default_left = tree.default_left[node]
    cdef const f32_t* column
    cdef intp_t i, n_left = 0
    cdef i32_t row
    cdef f32_t x
    if feature == TASK_SPLIT:
        for i in range(n):
            row = rows[i]
            rows[n_left] = row
            spare[i - n_left] = row
            n_left += task_goes_left(tree, node, q.task[row])
    else:
        column = q.x + feature * q.column_stride
        if q.missing and default_left:
            for i in range(n):
                row = rows[i]
                x = column[row * q.row_stride]
                rows[n_left] = row
                spare[i - n_left] = row
                n_left += not (x > threshold)  # so does NaN
        else:
            for i in range(n):
                row = rows[i]
                x = column[row * q.row_stride]
                rows[n_left] = row
                spare[i - n_left] = row
                n_left += x <= threshold
    memcpy(rows + n_left, spare, (n - n_left) * sizeof(i32_t))
    return n_left


cdef void find_leaves(
    const Tree* tree, const Queries* q, Workspace* work, i32_t* leaf_of
) noexcept nogil:
    # leaf_of[row] becomes the number of the leaf's node.
    cdef Branch b
    cdef intp_t n_waiting = 1, i
    cdef i32_t middle
    for i in range(q.n_rows):
        work.rows[i] = <i32_t>i
    work.waiting[0] = Branch(0, 0, <i32_t>q.n_rows)
    while n_waiting > 0:
        n_waiting -= 1
        b = work.waiting[n_waiting]
        while b.end - b.start > LANES and tree.nodes[b.node].feature != LEAF:
            middle = b.start + <i32_t>part_rows(
                tree, q, b.node, work.rows + b.start, b.end - b.start, work.spare)
            if middle == b.start:
                b.node = tree.nodes[b.node].right
                continue
            if middle < b.end:
                work.waiting[n_waiting] = Branch(
                    tree.nodes[b.node].right, middle, b.end)
                n_waiting += 1
            b.node += 1
            b.end = middle
        if b.end - b.start > LANES:
            for i in range(b.start, b.end):
                leaf_of[work.rows[i]] = b.node
        else:
            walk_lanes(
                tree, q, work.rows + b.start, b.end - b.start, b.node, leaf_of)


cdef Queries queries(
    const f32_t[:, :] X, const i32_t[::1] task, bint missing
) noexcept:
    return Queries(
        X.shape[0], &X[0, 0], X.strides[0] // sizeof(f32_t),
        X.strides[1] // sizeof(f32_t), &task[0], missing,
    )


cdef Workspace workspace(Arena* arena, intp_t n) except *:
    cdef Workspace work
    open_arena(arena)
    work.rows = <i32_t*>take(arena, n, sizeof(i32_t))
    work.spare = <i32_t*>take(arena, n, sizeof(i32_t))
    work.waiting = <Branch*>take(arena, n, sizeof(Branch))
    work.leaf_of = <i32_t*>take(arena, n, sizeof(i32_t))
    if arena.failed:
        release(arena)
        raise MemoryError("no memory to predict so many rows at once")
    return work


cdef Tree tree_at(
    const Node[::1] nodes, const u8_t[::1] default_left,
    const i64_t[::1] exception_start, const i32_t[::1] exceptions,
    i64_t first_node, i64_t first_split,
) noexcept nogil:
    cdef Tree tree = Tree(
        &nodes[first_node], &default_left[first_node], &exception_start[first_split],
        NULL,
    )
    if exceptions.shape[0] > 0:
        tree.exceptions = &exceptions[0]
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
):
    """Fill ``out[tree, row]`` with the number of the leaf's node.

    `task` holds codes; one that no split lists (-1, say) takes the default sides.
    `missing` says whether X may hold NaN.
    """
    cdef Queries q = queries(X, task, missing)
    cdef Arena arena
    cdef Workspace work = workspace(&arena, X.shape[0])
    cdef Tree tree
    cdef intp_t t
    with nogil:
        for t in range(out.shape[0]):
            tree = tree_at(
                nodes, default_left, exception_start, exceptions,
                tree_start[t], split_start[t],
            )
            find_leaves(&tree, &q, &work, &out[t, 0])
    release(&arena)


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
):
    """Add to ``out[row]`` the leaf values of the trees first_tree .. last_tree - 1.

    With `own_start` a leaf k of the forest has values of their own for the tasks
    ``own_task[own_start[k]:own_start[k + 1]]`` (ascending).
    """
    cdef Queries q = queries(X, task, missing)
    cdef Arena arena
    cdef Workspace work = workspace(&arena, X.shape[0])
    cdef Tree tree
    cdef intp_t n_values = values.shape[1]
    cdef intp_t t, i, c
    cdef i64_t leaf, own
    with nogil:
        for t in range(first_tree, last_tree):
            tree = tree_at(
                nodes, default_left, exception_start, exceptions,
                tree_start[t], split_start[t],
            )
            find_leaves(&tree, &q, &work, work.leaf_of)
            for i in range(q.n_rows):
                leaf = leaf_start[t] + tree.nodes[work.leaf_of[i]].slot
                if own_start is not None:
                    own = find_own(
                        own_start[leaf], own_start[leaf + 1], own_task, task[i])
                    if own >= 0:
                        for c in range(n_values):
                            out[i, c] += own_values[own, c]
                        continue
                for c in range(n_values):
                    out[i, c] += values[leaf, c]
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
