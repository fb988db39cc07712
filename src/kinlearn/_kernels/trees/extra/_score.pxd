# Impurities, from sums of weights; random cuts, and which split of a node is best.
#
# A split is worth purity(left) + purity(right), where purity is minus the
# impurity times the weight, less the terms that all splits of a node share.

from libc.math cimport log2

from kinlearn._kernels._random cimport next_uniform
from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t, u64_t
from kinlearn._kernels.trees.extra._grower cimport (
    ENTROPY, VARIANCE, Criterion, Grower
)


cdef inline f64_t xlogx(f64_t x) noexcept nogil:
    return x * log2(x) if x > 0 else 0.0


# Two classes, or a number: w is the weight, b the weighted sum of y (0 or 1, or
# the number). The Gini index of two classes is twice the variance of the 0/1
# label, so it needs no code of its own.

cdef inline f64_t pair_purity(Criterion criterion, f64_t w, f64_t b) noexcept nogil:
    if criterion == ENTROPY:
        return xlogx(w - b) + xlogx(b) - xlogx(w)
    return b * b / w


cdef inline f64_t pair_impurity(Criterion criterion, f64_t w, f64_t b) noexcept nogil:
    # Of two classes.
    cdef f64_t p = b / w
    if criterion == ENTROPY:
        return -(xlogx(1 - p) + xlogx(p))
    return 2 * p * (1 - p)


# More classes: k weights by class, each a multiple of `unit`.

cdef inline f64_t classes_purity(
    Criterion criterion, const i64_t* hist, intp_t k, i64_t w, f64_t unit
) noexcept nogil:
    cdef f64_t total = 0.0, h
    cdef intp_t c
    if criterion == ENTROPY:
        for c in range(k):
            total += xlogx(hist[c] * unit)
        return total - xlogx(w * unit)
    for c in range(k):
        h = hist[c] * unit
        total += h * h
    return total / (w * unit)


cdef inline f64_t classes_impurity(
    Criterion criterion, const i64_t* hist, intp_t k, i64_t w
) noexcept nogil:
    cdef f64_t total = 0.0, p
    cdef intp_t c
    for c in range(k):
        p = <f64_t>hist[c] / w
        total += xlogx(p) if criterion == ENTROPY else p * p
    return -total if criterion == ENTROPY else 1.0 - total


cdef inline bint is_perfect(Grower* g, i64_t weight, i64_t total) noexcept nogil:
    # Whether no other split can be better: two rows, or two classes set apart.
    # More than half of the nodes of a full-grown tree end their search with it.
    cdef i64_t weight_right = g.part.weight - weight
    if g.part.n == 2:
        return True
    if g.data.n_classes > 0:
        return g.n_local == 2 and (
            g.left_hist[0] == 0 and g.right_hist[1] == 0
            or g.left_hist[1] == 0 and g.right_hist[0] == 0
        )
    if g.settings.criterion == VARIANCE:
        return False
    return (
        total == 0 and g.part.total == weight_right
        or total == weight and g.part.total == weight
    )


cdef inline void offer(
    Grower* g, i32_t feature, f32_t threshold, bint default_left,
    i64_t weight, i64_t total,
) noexcept nogil:
    # Take the split with these sums on its left (left_hist too, if there are
    # more than two classes) when it is allowed and better than the best so far.
    cdef i64_t weight_right = g.part.weight - weight
    cdef f64_t w_left = weight * g.data.w_unit
    cdef f64_t w_right = weight_right * g.data.w_unit
    cdef f64_t unit = g.data.b_unit
    cdef f64_t score
    cdef intp_t c
    if w_left < g.settings.min_weight_leaf or w_right < g.settings.min_weight_leaf:
        return
    if g.data.n_classes > 0:
        for c in range(g.n_local):
            g.right_hist[c] = g.node_hist[c] - g.left_hist[c]
        unit = g.data.w_unit
        score = (
            classes_purity(
                g.settings.criterion, g.left_hist, g.n_local, weight, unit)
            + classes_purity(
                g.settings.criterion, g.right_hist, g.n_local, weight_right, unit)
        )
    else:
        score = (
            pair_purity(g.settings.criterion, w_left, total * unit)
            + pair_purity(
                g.settings.criterion, w_right, (g.part.total - total) * unit)
        )
    if score > g.best.score:
        g.best.score = score
        g.best.feature = feature
        g.best.threshold = threshold
        g.best.default_left = default_left
        g.best.weight = weight
        g.best.total = total
        g.best.perfect = is_perfect(g, weight, total)


cdef inline f32_t random_cut(f32_t low, f32_t high, u64_t* stream) noexcept nogil:
    # low <= cut < high: no side is ever empty, whatever the rounding.
    cdef f32_t cut = <f32_t>(low + next_uniform(stream) * (<f64_t>high - low))
    return cut if cut < high else low
