# The labels of a node's rows, and what they tell of it; what is filled in when a tree
# is complete: predictions of the leaves, and variances.

from libc.stdlib cimport qsort

from kinlearn._kernels._typedefs cimport f64_t, i32_t, intp_t
from kinlearn._kernels.trees.extra._grower cimport Grower, Node, Part, Source, Tree
from kinlearn._kernels.trees.extra._rows cimport compare_i32
from kinlearn._kernels.trees.extra._split cimport LEAF, VARIANCE


cdef inline void read_labels(Grower* g) noexcept nogil:
    cdef Part* p = &g.part
    cdef intp_t i
    if p.y != NULL:
        for i in range(p.n):
            p.y[i] = g.at.y[p.rows[i]]
    if p.b != NULL:
        for i in range(p.n):
            p.b[i] = g.at.b[p.rows[i]]
    if p.w != NULL:
        for i in range(p.n):
            p.w[i] = g.at.w[p.rows[i]]


cdef inline void number_classes(Grower* g) noexcept nogil:
    # Give the classes present at the node the numbers 0, 1, ... in their order,
    # so that histograms are as long as they need be.
    cdef Part* p = &g.part
    cdef intp_t i, n_local = 0
    cdef i32_t c
    for i in range(p.n):
        c = p.y[i]
        if g.class_weight[c] == 0:
            g.classes[n_local] = c
            n_local += 1
        g.class_weight[c] += 1 if p.w == NULL else p.w[i]
    qsort(g.classes, n_local, sizeof(i32_t), &compare_i32)
    for i in range(n_local):
        c = g.classes[i]
        g.local_class[c] = <i32_t>i
        g.node.hist[i] = g.class_weight[c]
        g.class_weight[c] = 0
    for i in range(p.n):
        g.local_y[i] = g.local_class[p.y[i]]
    g.node.n_classes = n_local


cdef inline bint is_pure(Grower* g) noexcept nogil:
    cdef Part* p = &g.part
    cdef intp_t i
    if g.data.n_classes > 0:
        return g.node.n_classes == 1
    if g.node.settings.criterion != VARIANCE:
        return g.node.total == 0 or g.node.total == g.node.weight
    # A node of different numbers shows it within the first few rows.
    for i in range(1, p.n):
        if g.at.number[p.rows[i]] != g.at.number[p.rows[0]]:
            return False
    return True


cdef inline void fill_leaves(
    const Grower* g, const Part* all, const Tree* tree, f64_t* values
) noexcept nogil:
    # Class frequencies (of the second class, if there are two) or the mean.
    cdef intp_t leaf, i, c
    cdef const Source* data = &g.data.source
    cdef f64_t w, total, weight
    cdef i32_t row
    for leaf in range(tree.n_leaves):
        weight = total = 0.0
        for c in range(g.data.n_classes):
            values[leaf * g.data.n_classes + c] = 0.0
        for i in range(tree.leaf_start[leaf], tree.leaf_start[leaf + 1]):
            row = all.rows[i]
            w = 1.0 if data.w == NULL else data.w[row] * g.node.w_unit
            weight += w
            if g.data.n_classes > 0:
                values[leaf * g.data.n_classes + data.y[row]] += w
            elif data.number != NULL:
                total += w * data.number[row]
            else:
                total += data.y[row] if data.b == NULL else data.b[row] * g.node.b_unit
        if g.data.n_classes > 0:
            for c in range(g.data.n_classes):
                values[leaf * g.data.n_classes + c] /= weight
        else:
            values[leaf] = total / weight


cdef inline void spread_up(
    const Node* nodes, intp_t n_nodes, const f64_t* weight, f64_t* mean, f64_t* squares
) noexcept nogil:
    # Means, and sums of squares about them, upwards from the leaves, which have theirs.
    # A child comes after its parent, so the reverse order meets it first.
    cdef intp_t node, left, right
    cdef f64_t gap, fraction
    for node in range(n_nodes - 1, -1, -1):
        if nodes[node].feature != LEAF:
            left = node + 1
            right = nodes[node].right
            fraction = weight[right] / weight[node]
            gap = mean[right] - mean[left]
            mean[node] = mean[left] + fraction * gap
            squares[node] = (
                squares[left] + squares[right] + fraction * weight[left] * gap * gap
            )


cdef inline void fill_variances(
    const Grower* g, const Part* all, Tree* tree, const f64_t* values, f64_t* mean
) noexcept nogil:
    # tree.impurity holds sums of squares meanwhile.
    cdef intp_t node, leaf, i
    cdef const Source* data = &g.data.source
    cdef f64_t gap, w
    cdef i32_t row
    for node in range(tree.n_nodes):
        if tree.nodes[node].feature == LEAF:
            leaf = tree.nodes[node].slot
            mean[node] = values[leaf]
            tree.impurity[node] = 0.0
            for i in range(tree.leaf_start[leaf], tree.leaf_start[leaf + 1]):
                row = all.rows[i]
                w = 1.0 if data.w == NULL else data.w[row] * g.node.w_unit
                gap = data.number[row] - mean[node]
                tree.impurity[node] += w * gap * gap
    spread_up(tree.nodes, tree.n_nodes, tree.weight, mean, tree.impurity)
    for node in range(tree.n_nodes):
        tree.impurity[node] /= tree.weight[node]
