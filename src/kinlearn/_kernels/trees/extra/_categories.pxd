# Categories of extra trees, in the order of their mean labels at a node.
#
# A category is a code from 0 to 255. Rows get the mean label of their category instead
# of the code, drawn towards the node's mean, and these means are cut as numbers are: a
# random cut, as among tasks, parts the categories many against many. A category of
# less weight than MIN_SUPPORT (of labels that are numbers) or MIN_SUPPORT_OF_CLASSES
# counts as average, or the order would follow its noise.
# With more than two classes the label is whether a row has one of the classes present,
# drawn for each node and feature. A split keeps the set of the codes on its left.

from libc.math cimport INFINITY
from libc.string cimport memset

from kinlearn._kernels._random cimport derive_stream
from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t, u64_t
from kinlearn._kernels.trees.extra._grower cimport N_CATEGORIES, Grower
from kinlearn._kernels.trees.extra._split cimport VARIANCE, drawn_mean, node_mean

cdef enum:
    SET_WORDS = 4     # of 64 bits
    FIRST_CLASS = 4   # a node's key also makes the keys of its children
    # rows' worth of weight; one class more or less is more noise than a number
    MIN_SUPPORT = 3
    MIN_SUPPORT_OF_CLASSES = 4


cdef inline bint has_categories(const Grower* g, i32_t feature) noexcept nogil:
    return g.data.categorical != NULL and g.data.categorical[feature]


cdef inline intp_t category_of(f32_t code) noexcept nogil:
    return <intp_t>(<i32_t>code & (N_CATEGORIES - 1))


cdef inline bint is_in_set(const u64_t* set, f32_t code) noexcept nogil:
    cdef intp_t c = category_of(code)
    return set[c >> 6] >> (c & 63) & 1


cdef inline i32_t class_to_count(const Grower* g, i32_t feature) noexcept nogil:
    # Its number among those of the node.
    cdef u64_t draw = derive_stream(g.key, <u64_t>(FIRST_CLASS + feature))
    return <i32_t>(((draw >> 32) * <u64_t>g.node.n_classes) >> 32)


cdef inline f32_t category_mean(
    const Grower* g, i64_t weight, i64_t total, f64_t mean, f64_t unit
) noexcept nogil:
    cdef f64_t w = weight * g.node.w_unit
    if w < (
        MIN_SUPPORT if g.node.settings.criterion == VARIANCE else MIN_SUPPORT_OF_CLASSES
    ):
        return <f32_t>mean
    return <f32_t>drawn_mean(total * unit, w, mean, 1)


cdef inline void find_means(
    Grower* g, i32_t feature, const f32_t* codes
) noexcept nogil:
    # Fill g.category_mean from the codes of the node's rows.
    cdef i32_t positive = 0
    cdef i64_t w, b
    cdef f64_t mean, unit
    cdef intp_t i, c
    if g.data.n_classes > 0:
        positive = class_to_count(g, feature)
    mean = node_mean(&g.node, positive, &unit)
    memset(g.category_weight, 0, sizeof(g.category_weight))
    memset(g.category_total, 0, sizeof(g.category_total))
    for i in range(g.part.n):
        if codes[i] != codes[i]:
            continue
        c = category_of(codes[i])
        w = 1 if g.part.w == NULL else g.part.w[i]
        if g.data.n_classes > 0:
            b = w if g.local_y[i] == positive else 0
        else:
            b = g.part.y[i] if g.part.b == NULL else g.part.b[i]
        g.category_weight[c] += w
        g.category_total[c] += b
    for c in range(N_CATEGORIES):
        g.category_mean[c] = category_mean(
            g, g.category_weight[c], g.category_total[c], mean, unit)


cdef inline void order_categories(
    Grower* g, i32_t feature, f32_t* x, f32_t* low, f32_t* high
) noexcept nogil:
    # Means instead of the codes of the node's rows, and their extremes.
    cdef intp_t i
    find_means(g, feature, x)
    low[0], high[0] = INFINITY, -INFINITY
    for i in range(g.part.n):
        if x[i] != x[i]:
            continue
        x[i] = g.category_mean[category_of(x[i])]
        low[0] = x[i] if x[i] < low[0] else low[0]
        high[0] = x[i] if x[i] > high[0] else high[0]


cdef inline void list_left(const Grower* g, f32_t cut, u64_t* set) noexcept nogil:
    # The codes left of the cut, as find_means has them; those absent are average.
    cdef intp_t c
    memset(set, 0, SET_WORDS * sizeof(u64_t))
    for c in range(N_CATEGORIES):
        if g.category_mean[c] <= cut:
            set[c >> 6] |= <u64_t>1 << (c & 63)
