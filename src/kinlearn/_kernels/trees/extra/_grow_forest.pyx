"""Growing one multi-task extremely randomised tree (Simm et al. 2014).

A node is a function of its rows and of its key alone: the key is derived from its
parent's and from the side, and is the state of the node's own random stream. So
any order of growth gives the same tree; tests/reference/extra_trees.py says in
which order a stream is drawn from. Here the order is depth first, left side first,
in place: the rows of a node are one stretch of an array that each split partitions.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from kinlearn._kernels._random cimport derive_stream, next_below, next_uniform
from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
)
from kinlearn._kernels.trees.extra._categories cimport (
    SET_WORDS, find_means, has_categories, list_left
)
from kinlearn._kernels.trees.extra._feature_bytes cimport (
    MISSING, reads_bytes, set_bytes_size, settle
)
from kinlearn._kernels.trees.extra._grower cimport (
    Arena, Data, Frame, Grower, Node, Part, Source, Tree, allocate, give_back,
    load_rows, open_arena, release, reserve_stack, take
)
from kinlearn._kernels.trees.extra._labels cimport (
    fill_leaves, fill_variances, is_pure, number_classes, read_labels, spread_up
)
from kinlearn._kernels.trees.extra._node_splits cimport (
    list_exceptions, try_features, try_tasks
)
from kinlearn._kernels.trees.extra._rows cimport (
    enter_block, leave_block, partition_rows, set_block_size
)
from kinlearn._kernels.trees.extra._split cimport (
    LEAF, TASK_SPLIT, VARIANCE, begin_search, is_split, node_impurity, read_settings
)

cdef extern from *:
    """
    typedef volatile int stop_flag_t;
    """
    ctypedef int stop_flag_t

cdef enum Status:
    DONE = 0
    STOPPED = 1
    NO_MEMORY = 2

# A node as prediction reads it, 16 bytes: the left child is the next node.
NODE = np.dtype([
    ("feature", np.int32), ("threshold", np.float32),
    ("right", np.int32), ("slot", np.int32),
])


# ----------------------------------------------------------------------------
# One node
# ----------------------------------------------------------------------------

cdef bint find_split(Grower* g) noexcept nogil:
    cdef intp_t n_varying
    begin_search(&g.node)
    if g.data.n_classes == 0:
        read_labels(g)
    n_varying = try_features(g)
    if (
        g.node.settings.task_split_prob > 0 and g.data.n_tasks > 1
        and not g.node.best.perfect
    ):
        # Where no feature varies the task split is the only way on.
        if next_uniform(&g.stream) < g.node.settings.task_split_prob or n_varying == 0:
            try_tasks(g)
    return is_split(&g.node)


cdef intp_t partition_bytes(Grower* g) noexcept nogil:
    cdef Part* p = &g.part
    cdef u8_t* x = g.bytes.best
    cdef intp_t i, _n
    cdef int bin = settle(g, g.node.best.feature, x, g.node.best.threshold, &_n)
    if g.node.best.default_left and g.data.has_missing[g.node.best.feature]:
        for i in range(p.n):
            x[i] = 0 if x[i] == MISSING else x[i]
    return partition_rows(p.rows, x, p.n, <u8_t>bin, <i32_t*>g.x[1])


cdef intp_t partition(Grower* g) noexcept nogil:
    # Bring the rows of the left side to the front; return how many they are.
    cdef Part* p = &g.part
    cdef f32_t cut = g.node.best.threshold
    cdef f32_t* x = g.x[0]
    cdef intp_t i
    if (
        g.node.best.feature >= 0 and reads_bytes(g)
        and not has_categories(g, g.node.best.feature)
    ):
        return partition_bytes(g)
    if g.node.best.feature >= 0 and g.node.best.default_left:
        if g.data.has_missing[g.node.best.feature]:
            for i in range(p.n):
                x[i] = -INFINITY if x[i] != x[i] else x[i]
    return partition_rows(p.rows, x, p.n, cut, <i32_t*>g.x[1])


# ----------------------------------------------------------------------------
# The tree
# ----------------------------------------------------------------------------

cdef bint record_task_split(Grower* g, Tree* tree) noexcept nogil:
    # False when there is no memory.
    cdef intp_t n = tree.exception_start[tree.n_task_splits]
    cdef intp_t capacity
    cdef i32_t* grown
    if n + g.n_present > tree.exceptions_capacity:
        capacity = 2 * (n + g.n_present)
        grown = <i32_t*>realloc(tree.exceptions, capacity * sizeof(i32_t))
        if grown == NULL:
            return False
        tree.exceptions = grown
        tree.exceptions_capacity = capacity
    n += list_exceptions(g, tree.exceptions + n)
    tree.split_cut[tree.n_task_splits] = g.task_cut
    tree.split_mean[tree.n_task_splits] = g.task_gamma
    tree.split_class[tree.n_task_splits] = g.task_class
    tree.n_task_splits += 1
    tree.exception_start[tree.n_task_splits] = n
    return True


cdef bint record_categories(Grower* g, Tree* tree) noexcept nogil:
    # False when there is no memory. The order is found anew: only of the split taken.
    cdef i32_t feature = g.node.best.feature
    cdef intp_t stride = 1, capacity, i
    cdef const f32_t* source = g.at.rows + feature
    cdef u64_t* grown
    if tree.n_sets == tree.sets_capacity:
        capacity = 2 * tree.sets_capacity + 16
        grown = <u64_t*>realloc(tree.sets, capacity * SET_WORDS * sizeof(u64_t))
        if grown == NULL:
            return False
        tree.sets = grown
        tree.sets_capacity = capacity
    if g.at.columns != NULL:
        source = g.at.columns + feature * g.at.column_stride
    else:
        stride = g.at.row_stride
    for i in range(g.part.n):
        g.x[1][i] = source[g.part.rows[i] * stride]
    find_means(g, feature, g.x[1])
    list_left(g, g.node.best.threshold, tree.sets + tree.n_sets * SET_WORDS)
    tree.n_sets += 1
    return True


cdef Status grow(
    Grower* g, const Part* everything, u64_t key, const stop_flag_t* stop, Tree* tree
) noexcept nogil:
    cdef Part* p = &g.part
    cdef Frame f
    cdef Node* node
    cdef f64_t weight
    cdef f64_t enough = max(
        g.node.settings.min_weight_split, 2 * g.node.settings.min_weight_leaf)
    cdef intp_t n_stack = 1, i, n_left
    if not reserve_stack(g, 32):
        return NO_MEMORY
    if g.node.whole_weight == 0:
        g.node.whole_weight = g.node.weight * g.node.w_unit
    g.stack[0] = Frame(
        0, everything.n, g.node.weight, g.node.total, key, 0, -1, 0)
    tree.exception_start[0] = 0
    g.at = g.data.source
    while n_stack > 0:
        if stop[0]:
            return STOPPED
        n_stack -= 1
        f = g.stack[n_stack]
        i = tree.n_nodes
        tree.n_nodes += 1
        if f.parent >= 0:
            tree.nodes[f.parent].right = <i32_t>i

        leave_block(g, f.start, everything.rows)
        p.n = f.end - f.start
        p.rows = everything.rows + f.start
        g.node.n_rows = p.n
        g.node.weight = f.weight
        g.node.total = f.total
        while g.n_constants > f.n_constants:  # those of a finished branch
            g.n_constants -= 1
            g.draws.constant[g.constants[g.n_constants]] = False
        g.key = g.stream = f.key
        enter_block(g, f.start)
        if g.data.n_classes > 0:
            read_labels(g)
            number_classes(g)

        node = &tree.nodes[i]
        weight = f.weight * g.node.w_unit
        tree.weight[i] = weight
        tree.impurity[i] = node_impurity(&g.node)
        tree.default_left[i] = False
        if (
            weight < enough or f.depth >= g.node.settings.max_depth or is_pure(g)
            or not find_split(g)
        ):
            # Prediction stays at a leaf: nothing is <= -inf.
            node[0] = Node(LEAF, -INFINITY, <i32_t>i, <i32_t>tree.n_leaves)
            tree.leaf_start[tree.n_leaves] = <i32_t>f.start
            tree.n_leaves += 1
            continue

        node[0] = Node(g.node.best.feature, g.node.best.threshold, -1, -1)
        tree.default_left[i] = g.node.best.default_left
        if g.node.best.feature == TASK_SPLIT:
            node.slot = <i32_t>tree.n_task_splits
            if not record_task_split(g, tree):
                return NO_MEMORY
        elif has_categories(g, g.node.best.feature):
            node.slot = <i32_t>tree.n_sets
            if not record_categories(g, tree):
                return NO_MEMORY
        n_left = partition(g)
        if not reserve_stack(g, n_stack + 2):
            return NO_MEMORY
        g.stack[n_stack] = Frame(
            f.start + n_left, f.end, f.weight - g.node.best.weight,
            f.total - g.node.best.total, derive_stream(f.key, 2), g.n_constants,
            <i32_t>i, f.depth + 1,
        )
        g.stack[n_stack + 1] = Frame(
            f.start, f.start + n_left, g.node.best.weight, g.node.best.total,
            derive_stream(f.key, 1), g.n_constants, -1, f.depth + 1,
        )
        n_stack += 2
    leave_block(g, everything.n, everything.rows)
    tree.leaf_start[tree.n_leaves] = <i32_t>everything.n
    return DONE


# ----------------------------------------------------------------------------
# The door
# ----------------------------------------------------------------------------

cdef class Workspace:
    """Memory that grows one tree after another."""

    cdef Arena arena

    def __cinit__(self):
        open_arena(&self.arena)

    def __dealloc__(self):
        release(&self.arena)


cdef object copied(const void* source, intp_t n, dtype):
    out = np.empty(n, dtype=dtype)
    cdef u8_t[::1] view
    if n > 0:
        view = out.view(np.uint8)
        memcpy(&view[0], source, view.shape[0])
    return out


cdef Source source_of(rows, labels):
    # See grow_tree. The records keep the arrays.
    cdef Source source
    cdef const f32_t[:, :] columns = rows.columns
    cdef const f32_t[:, :] by_row = rows.by_row
    cdef const i32_t[::1] task = rows.task
    cdef const i32_t[::1] y = labels.y
    cdef const i64_t[::1] b = labels.b
    cdef const i64_t[::1] w = labels.w
    cdef const f64_t[::1] number = labels.number
    memset(&source, 0, sizeof(Source))
    if columns.strides[1] == sizeof(f32_t):
        source.columns = &columns[0, 0]
        source.column_stride = columns.strides[0] // sizeof(f32_t)
    else:
        by_row = columns.T
    if by_row is not None:
        source.rows = &by_row[0, 0]
        source.row_stride = by_row.strides[0] // sizeof(f32_t)
    if y is not None:
        source.y = &y[0]
    if b is not None:
        source.b = &b[0]
    if w is not None:
        source.w = &w[0]
    if number is not None:
        source.number = &number[0]
    source.task = &task[0]
    return source


cdef void set_bytes(Grower* g, feature_bytes):
    cdef const u8_t[:, ::1] bins = feature_bytes.bins
    cdef const f32_t[:, ::1] lowest = feature_bytes.lowest
    cdef const f32_t[:, ::1] highest = feature_bytes.highest
    g.bytes.columns = &bins[0, 0]
    g.bytes.lowest = &lowest[0, 0]
    g.bytes.highest = &highest[0, 0]


def grow_tree(
    rows, labels, settings, u64_t key, f64_t whole_weight, const i32_t[::1] stop,
    Workspace workspace not None,
):
    """Grow one tree, or the branch of a tree below a node whose rows these are.

    Parameters
    ----------
    rows : record
        Of these attributes:

        columns : float32 array of shape (n_features, n_rows)
            X transposed. In memory the values of a feature lie together, or those of a
            row (then `columns` is a view of X).
        by_row : float32 array of shape (n_rows, n_features), or None
            X itself, where the values of a row lie together, if `columns` has the
            other order: growth is faster with both, except on large data, which is
            copied block by block.
        feature_bytes : record or None
            `bins`, a uint8 array of shape (n_features, n_rows): the bins of the
            values, ascending with them, from 0 to 253; 255 for NaN. And `lowest` and
            `highest`, float32 arrays of shape (n_features, 256): extremes of the
            values in a bin; inf and -inf where there are none. For X whose rows lie
            together: large nodes read bins first, and X where they must.
        has_missing : uint8 array of shape (n_features,)
            Whether the feature has a NaN anywhere.
        task : int32 array of shape (n_rows,), n_tasks : int
            Task codes.
    labels : record
        Of `y`, `number`, `b`, `w`, `w_unit`, `b_unit`, `n_classes` (the number of
        classes if it is more than two, else 0). Labels come in one of these forms (the
        other arrays are None):

        ==============  ==============================================================
        two classes     `y` (0 or 1); with weights `b` (weight times y) and `w` instead
        more classes    `y`, `n_classes`; with weights also `w`
        numbers         `number`, and `b` (number times weight); with weights also `w`
        ==============  ==============================================================

        Weights and sums are integers, multiples of `w_unit` and `b_unit`, so that they
        add up the same in any order. Their totals must stay below 2**53.
    settings : record
        As `kinlearn.trees.extra._growth.Settings`; of its `criterion`, 0 is Gini, 1
        entropy, 2 variance. `categorical`, a uint8 array of shape (n_features,) or
        None, tells whether the values of a feature are codes of categories, integers
        from 0 to 255.
    key : int
        Of the root, or of the node at the top of the branch: the state of its random
        stream. Which features are constant there need not be known.
    whole_weight : float
        Weight of all rows of the tree, which `min_impurity_decrease` refers to; 0 if
        these are all of them.
    stop : int32 array of shape (1,)
        Growth gives up soon after another thread makes it nonzero.
    workspace : Workspace
        Memory to work with; of one thread.

    Returns
    -------
    tuple of arrays, or None if it was stopped
        nodes (of dtype NODE, depth first, the left child right behind its parent),
        default_left, weight, impurity (all by node), exception_start and exceptions
        (task split k sends the tasks ``exceptions[start[k]:start[k + 1]]`` against
        its default side), values (by leaf), rows and leaf_start (leaf k holds the
        training rows ``rows[leaf_start[k]:leaf_start[k + 1]]``), split_cut, split_mean
        and split_class (by task split: tasks with a mean below the cut went left, the
        mean of all rows there, the class whose frequency that is), sets (by split of
        categories, four words: bit c says whether code c goes left).
    """
    cdef const u8_t[::1] has_missing = rows.has_missing
    cdef const u8_t[::1] categorical = settings.categorical
    cdef intp_t n_classes = labels.n_classes
    cdef Grower g
    cdef Part all
    cdef Tree tree
    cdef Arena* arena = &workspace.arena
    cdef f64_t* mean = NULL
    cdef f64_t[:, ::1] values
    cdef Status status = NO_MEMORY
    memset(&g, 0, sizeof(Grower))
    memset(&all, 0, sizeof(Part))
    memset(&tree, 0, sizeof(Tree))
    g.data = Data(
        rows.columns.shape[1], rows.columns.shape[0], n_classes, rows.n_tasks,
        &has_missing[0], NULL, source_of(rows, labels),
    )
    if categorical is not None:
        g.data.categorical = &categorical[0]
    g.node.settings = read_settings(settings)
    g.node.w_unit, g.node.b_unit = labels.w_unit, labels.b_unit
    g.node.whole_weight = whole_weight
    if rows.feature_bytes is not None and g.data.source.columns == NULL:
        set_bytes(&g, rows.feature_bytes)
    set_bytes_size(&g)
    set_block_size(&g)
    try:
        with nogil:
            load_rows(arena, &g, &all)
            allocate(arena, &g, &all, &tree)
            if not arena.failed:
                status = grow(&g, &all, key, <const stop_flag_t*>&stop[0], &tree)
        if status == NO_MEMORY:
            raise MemoryError("no memory for a tree of this many rows")
        if status == STOPPED:
            return None
        values = np.empty((tree.n_leaves, max(n_classes, 1)))
        with nogil:
            fill_leaves(&g, &all, &tree, &values[0, 0])
            if g.node.settings.criterion == VARIANCE:
                mean = <f64_t*>take(arena, tree.n_nodes, sizeof(f64_t))
                if mean != NULL:
                    fill_variances(&g, &all, &tree, &values[0, 0], mean)
        if arena.failed:
            raise MemoryError("no memory for a tree of this many rows")
        return (
            copied(tree.nodes, tree.n_nodes, NODE),
            copied(tree.default_left, tree.n_nodes, np.uint8),
            copied(tree.weight, tree.n_nodes, np.float64),
            copied(tree.impurity, tree.n_nodes, np.float64),
            copied(tree.exception_start, tree.n_task_splits + 1, np.int64),
            copied(
                tree.exceptions, tree.exception_start[tree.n_task_splits], np.int32),
            np.asarray(values),
            copied(all.rows, all.n, np.int32),
            copied(tree.leaf_start, tree.n_leaves + 1, np.int32),
            copied(tree.split_cut, tree.n_task_splits, np.float64),
            copied(tree.split_mean, tree.n_task_splits, np.float64),
            copied(tree.split_class, tree.n_task_splits, np.int32),
            copied(tree.sets, tree.n_sets * SET_WORDS, np.uint64).reshape(
                -1, SET_WORDS),
        )
    finally:
        free(tree.exceptions)
        free(tree.sets)
        free(g.stack)
        give_back(arena)


def spread_moments(
    const Node[::1] nodes, const i64_t[::1] tree_start, const f64_t[::1] weight,
    f64_t[::1] mean, f64_t[::1] squares,
):
    """Fill in means, and sums of squares about them, upwards from the leaves.

    The arrays are by node, over all trees; `mean` and `squares` of leaves are given.
    """
    cdef intp_t t, first
    with nogil:
        for t in range(tree_start.shape[0] - 1):
            first = tree_start[t]
            spread_up(
                &nodes[first], tree_start[t + 1] - first, &weight[first], &mean[first],
                &squares[first],
            )


def bootstrap_counts(u64_t stream, intp_t n_rows, intp_t first, i64_t[::1] counts):
    """Count how often each of some rows is drawn, of `n_rows` draws from all rows.

    Parameters
    ----------
    stream : int
        State of the random stream.
    n_rows : int
        Of all rows.
    first : int
        Number of the row that ``counts[0]`` belongs to.
    counts : int64 array
        To be filled.
    """
    cdef intp_t i, _k, row, n = counts.shape[0]
    with nogil:
        for i in range(n):
            counts[i] = 0
        for _k in range(n_rows):
            row = <intp_t>next_below(&stream, n_rows) - first
            if 0 <= row < n:
                counts[row] += 1
