# The candidate splits x <= cut of a node.

from libc.math cimport INFINITY
from libc.string cimport memset

from kinlearn._kernels._random cimport next_below, next_uniform
from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t, u64_t
from kinlearn._kernels.trees._criteria cimport (
    VARIANCE, classes_purity, pair_purity
)
from kinlearn._kernels.trees._grower cimport Grower
from kinlearn._kernels.trees._scan cimport (
    gather, left_counts, left_histogram, left_sums, left_weighted_sums
)


cdef inline void sum_left(
    Grower* g, const f32_t* x, f32_t cut, i64_t* hist, i64_t* weight, i64_t* total
) noexcept nogil:
    # Sums over the node's rows with x <= cut; never those where x is NaN.
    if g.data.n_classes > 0:
        memset(hist, 0, g.n_local * sizeof(i64_t))
        weight[0] = left_histogram(x, g.local_y, g.part.w, g.part.n, cut, hist)
        total[0] = 0
    elif g.part.b == NULL:
        left_counts(x, g.part.y, g.part.n, cut, weight, total)
    elif g.part.w == NULL:
        left_sums(x, g.part.b, g.part.n, cut, weight, total)
    else:
        left_weighted_sums(x, g.part.w, g.part.b, g.part.n, cut, weight, total)


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


cdef inline void cut_with_missing(
    Grower* g, i32_t feature, f32_t low, f32_t high
) noexcept nogil:
    # Each cut with the missing values on its right, then on its left; at last
    # the values against the missing ones.
    cdef i64_t missing_weight, missing_total, weight, total
    cdef f32_t cut
    cdef intp_t i, c
    cdef i32_t _k
    for i in range(g.part.n):
        g.present[i] = g.x[i] == g.x[i]
    sum_left(
        g, g.present, 0.5, g.missing_hist, &missing_weight, &missing_total)
    if low < high:
        for _k in range(g.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            sum_left(g, g.x, cut, g.left_hist, &weight, &total)
            offer(g, feature, cut, False, weight, total)
            for c in range(g.n_local):
                g.left_hist[c] += g.missing_hist[c]
            weight += missing_weight
            total += missing_total
            offer(g, feature, cut, True, weight, total)
    for c in range(g.n_local):
        g.left_hist[c] = g.node_hist[c] - g.missing_hist[c]
    weight = g.part.weight - missing_weight
    total = g.part.total - missing_total
    offer(g, feature, INFINITY, False, weight, total)


cdef inline bint any_missing(const f32_t* x, intp_t n) noexcept nogil:
    cdef intp_t i
    for i in range(n):
        if x[i] != x[i]:
            return True
    return False


cdef inline bint try_feature(Grower* g, i32_t feature) noexcept nogil:
    # Offer the cuts of one feature; False if it is constant at the node.
    cdef f64_t best_before = g.best.score
    cdef f32_t low, high, cut
    cdef i64_t weight, total
    cdef i32_t _k
    gather(
        g.columns + feature * g.stride, g.part.rows, g.part.n, g.x, &low, &high
    )
    if low > high:  # nothing but NaN
        return False
    if g.data.has_missing[feature] and any_missing(g.x, g.part.n):
        cut_with_missing(g, feature, low, high)
    elif low == high:
        return False
    else:
        for _k in range(g.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            sum_left(g, g.x, cut, g.left_hist, &weight, &total)
            # A NaN that comes later goes where most of the weight went.
            offer(g, feature, cut, 2 * weight > g.part.weight, weight, total)
    if g.best.score > best_before:
        g.x, g.best_x = g.best_x, g.x
    return True


cdef inline intp_t try_features(Grower* g) noexcept nogil:
    # Draw features without replacement until max_features that vary here have
    # been tried, or a perfect split is found; return how many varied. The draws
    # start from the identity at every node, so that they depend on nothing else.
    cdef intp_t d = g.data.n_features
    cdef intp_t n_varying = 0, n_drawn = 0, i, j
    cdef i32_t feature
    while (
        n_drawn < d and n_varying < g.settings.max_features and not g.best.perfect
    ):
        j = n_drawn + <intp_t>next_below(&g.stream, d - n_drawn)
        feature = g.order[j]
        g.order[j] = g.order[n_drawn]
        g.order[n_drawn] = feature
        g.swaps[n_drawn] = <i32_t>j
        n_drawn += 1
        if g.known_constant[feature]:
            continue
        if try_feature(g, feature):
            n_varying += 1
        else:
            g.known_constant[feature] = True
            g.constants[g.n_constants] = feature
            g.n_constants += 1
    for i in range(n_drawn - 1, -1, -1):
        j = g.swaps[i]
        feature = g.order[i]
        g.order[i] = g.order[j]
        g.order[j] = feature
    return n_varying
