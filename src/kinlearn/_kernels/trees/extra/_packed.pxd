# A tree in a form that many rows walk down fast.
#
# Eight bytes a node, so that a tree of some hundred thousand nodes stays near the
# processor. The left child is the next node, so a step is one place on, or that and
# the distance of the right child; a leaf's distance leads back to itself.

from libc.string cimport memcpy, memset

from kinlearn._kernels._typedefs cimport f32_t, i32_t, i64_t, intp_t, u8_t, u32_t, u64_t
from kinlearn._kernels.trees.extra._categories cimport SET_WORDS, is_in_set
from kinlearn._kernels.trees.extra._grower cimport Node
from kinlearn._kernels.trees.extra._split cimport LEAF
from kinlearn._kernels._vectors cimport prefetch

cdef enum:
    WALKERS = 8          # rows in step: each overlaps the others' waits for memory
    QUIET_NAN = 0x7FC00000
    MOST_LEAVES = 0x400000


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
