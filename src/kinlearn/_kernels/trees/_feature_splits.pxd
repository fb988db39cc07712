# The candidate splits x <= cut of a node.

from libc.math cimport INFINITY, NAN
from libc.string cimport memset

from kinlearn._kernels._random cimport next_below, skip
from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t
from kinlearn._kernels.trees._ahead cimport gather_ahead
from kinlearn._kernels.trees._grower cimport Grower
from kinlearn._kernels.trees._offers cimport offer, random_cut
from kinlearn._kernels.trees._scan cimport left_histogram, left_weighted_sums
from kinlearn._kernels.trees._small_nodes cimport try_small_feature
from kinlearn._kernels.trees._vectors cimport PADDING, gather, left_counts, left_sums


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


cdef inline void cut_with_missing(
    Grower* g, i32_t feature, const f32_t* x, f32_t low, f32_t high
) noexcept nogil:
    # Each cut with the missing values on its right, then on its left; at last
    # the values against the missing ones.
    cdef i64_t missing_weight, missing_total, weight, total
    cdef f32_t cut
    cdef intp_t i, c
    cdef i32_t _k
    for i in range(g.part.n + PADDING):
        g.present[i] = x[i] == x[i] if i < g.part.n else NAN
    sum_left(
        g, g.present, 0.5, g.missing_hist, &missing_weight, &missing_total)
    if low < high:
        for _k in range(g.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            sum_left(g, x, cut, g.left_hist, &weight, &total)
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


cdef inline intp_t fetch(
    Grower* g, i32_t feature, f32_t* low, f32_t* high
) noexcept nogil:
    # Have the feature's values at the node in one of g.x; say which, and extremes.
    cdef intp_t k
    for k in range(g.n_ahead):
        if g.ahead[k] == feature:
            low[0] = g.ahead_low[k]
            high[0] = g.ahead_high[k]
            return 2 + k
    if g.at.columns != NULL:
        gather(
            g.at.columns + feature * g.at.column_stride, 1, g.part.rows, g.part.n,
            g.x[1], low, high,
        )
    else:
        gather(
            g.at.rows + feature, g.at.row_stride, g.part.rows, g.part.n, g.x[1],
            low, high,
        )
    return 1


cdef inline bint try_feature(Grower* g, i32_t feature) noexcept nogil:
    # Offer the cuts of one feature; False if it is constant at the node.
    cdef f64_t best_before = g.best.score
    cdef f32_t low, high, cut
    cdef i64_t weight, total
    cdef i32_t _k
    cdef intp_t place = fetch(g, feature, &low, &high)
    cdef f32_t* x = g.x[place]
    if low > high:  # nothing but NaN
        return False
    if g.data.has_missing[feature] and any_missing(x, g.part.n):
        cut_with_missing(g, feature, x, low, high)
    elif low == high:
        return False
    else:
        for _k in range(g.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            sum_left(g, x, cut, g.left_hist, &weight, &total)
            # A NaN that comes later goes where most of the weight went.
            offer(g, feature, cut, 2 * weight > g.part.weight, weight, total)
    if g.best.score > best_before:
        g.x[place] = g.x[0]
        g.x[0] = x
    return True


cdef inline intp_t try_features(Grower* g) noexcept nogil:
    # Draw features without replacement until max_features that vary here have
    # been tried, or a perfect split is found; return how many varied. The draws
    # start from the identity at every node, so that they depend on nothing else.
    cdef intp_t d = g.data.n_features
    cdef intp_t n_left_over = d - g.n_constants  # of those that may vary
    cdef intp_t n_varying = 0, n_drawn = 0, n_foreseen = 0, i, j
    cdef bint varies, small = g.small.end > 0
    cdef i32_t feature
    g.n_ahead = 0
    while n_varying < g.settings.max_features and not g.best.perfect:
        if n_left_over == 0:  # the other draws would find constants only
            skip(&g.stream, d - n_drawn)
            break
        if n_drawn >= n_foreseen and not small and g.at.columns == NULL:
            n_foreseen = gather_ahead(
                g, n_drawn, g.settings.max_features - n_varying)
        j = n_drawn + <intp_t>next_below(&g.stream, d - n_drawn)
        feature = g.order[j]
        g.order[j] = g.order[n_drawn]
        g.swaps[n_drawn] = <i32_t>j
        n_drawn += 1
        if g.known_constant[feature]:
            continue
        n_left_over -= 1
        varies = try_small_feature(g, feature) if small else try_feature(g, feature)
        if varies:
            n_varying += 1
        else:
            g.known_constant[feature] = True
            g.constants[g.n_constants] = feature
            g.n_constants += 1
    for i in range(n_drawn):
        j = g.swaps[i]
        g.order[j] = <i32_t>j
        g.order[i] = <i32_t>i
    return n_varying
