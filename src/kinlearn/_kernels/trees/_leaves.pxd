# What is filled in when a tree is complete: answers of the leaves, and variances.

from kinlearn._kernels._typedefs cimport f64_t, i32_t, intp_t
from kinlearn._kernels.trees._grower cimport LEAF, Grower, Part, Source, Tree


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
            w = 1.0 if data.w == NULL else data.w[row] * g.data.w_unit
            weight += w
            if g.data.n_classes > 0:
                values[leaf * g.data.n_classes + data.y[row]] += w
            elif data.number != NULL:
                total += w * data.number[row]
            else:
                total += data.y[row] if data.b == NULL else data.b[row] * g.data.b_unit
        if g.data.n_classes > 0:
            for c in range(g.data.n_classes):
                values[leaf * g.data.n_classes + c] /= weight
        else:
            values[leaf] = total / weight


cdef inline void fill_variances(
    const Grower* g, const Part* all, Tree* tree, const f64_t* values, f64_t* mean
) noexcept nogil:
    # Upwards from the leaves; tree.impurity holds sums of squares meanwhile.
    # A child comes after its parent, so the reverse order meets it first.
    cdef intp_t node, leaf, i, left, right
    cdef const Source* data = &g.data.source
    cdef f64_t gap, w, share
    cdef i32_t row
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.nodes[node].feature == LEAF:
            leaf = tree.nodes[node].slot
            mean[node] = values[leaf]
            tree.impurity[node] = 0.0
            for i in range(tree.leaf_start[leaf], tree.leaf_start[leaf + 1]):
                row = all.rows[i]
                w = 1.0 if data.w == NULL else data.w[row] * g.data.w_unit
                gap = data.number[row] - mean[node]
                tree.impurity[node] += w * gap * gap
        else:
            left = node + 1
            right = tree.nodes[node].right
            share = tree.weight[right] / tree.weight[node]
            gap = mean[right] - mean[left]
            mean[node] = mean[left] + share * gap
            tree.impurity[node] = (
                tree.impurity[left] + tree.impurity[right]
                + share * tree.weight[left] * gap * gap
            )
    for node in range(tree.n_nodes):
        tree.impurity[node] /= tree.weight[node]
