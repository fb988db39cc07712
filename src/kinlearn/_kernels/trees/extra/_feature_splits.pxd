# The candidate splits x <= cut of a node.

from libc.math cimport INFINITY, NAN
from libc.string cimport memset

from kinlearn._kernels._random cimport next_below, skip
from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.trees.extra._categories cimport (
    has_categories, order_categories
)
from kinlearn._kernels.trees.extra._codes cimport (
    MISSING, extreme, gather_codes, is_coded, left_code_counts, left_code_sums,
    pack_labels, settle, unsettle,
)
from kinlearn._kernels.trees.extra._grower cimport Grower
from kinlearn._kernels.trees.extra._score cimport offer, random_cut
from kinlearn._kernels.trees.extra._scan cimport (
    left_histogram,
    left_weighted_sums,
    value_t,
)
from kinlearn._kernels.trees.extra._small_nodes cimport try_small_feature
from kinlearn._kernels._vectors cimport PADDING, gather, left_counts, left_sums


cdef inline void sum_left(
    Grower* g, const value_t* x, value_t cut, i64_t* hist, i64_t* weight, i64_t* total
) noexcept nogil:
    # Sums over the node's rows with x <= cut; never those where x is NaN.
    if g.data.n_classes > 0:
        memset(hist, 0, g.n_local * sizeof(i64_t))
        weight[0] = left_histogram(x, g.local_y, g.part.w, g.part.n, cut, hist)
        total[0] = 0
    elif g.part.b == NULL:
        if value_t is f32_t:
            left_counts(x, g.part.y, g.part.n, cut, weight, total)
        else:
            left_code_counts(x, g.codes.y, g.part.n, cut, weight, total)
    elif g.part.w == NULL:
        if value_t is f32_t:
            left_sums(x, g.part.b, g.part.n, cut, weight, total)
        else:
            left_code_sums(x, g.part.b, g.part.n, cut, weight, total)
    else:
        left_weighted_sums(x, g.part.w, g.part.b, g.part.n, cut, weight, total)


cdef inline void offer_sides(
    Grower* g, i32_t feature, f32_t cut, bint missing, i64_t weight, i64_t total,
    i64_t missing_weight, i64_t missing_total,
) noexcept nogil:
    # A cut with these sums on its left; with missing values on its right, then on
    # its left.
    cdef intp_t c
    if not missing:
        # A NaN that comes later goes where most of the weight went.
        offer(g, feature, cut, 2 * weight > g.part.weight, weight, total)
        return
    offer(g, feature, cut, False, weight, total)
    for c in range(g.n_local):
        g.left_hist[c] += g.missing_hist[c]
    offer(g, feature, cut, True, weight + missing_weight, total + missing_total)


cdef inline void offer_present(
    Grower* g, i32_t feature, i64_t missing_weight, i64_t missing_total
) noexcept nogil:
    # The values against the missing ones.
    cdef intp_t c
    for c in range(g.n_local):
        g.left_hist[c] = g.node_hist[c] - g.missing_hist[c]
    offer(
        g, feature, INFINITY, False, g.part.weight - missing_weight,
        g.part.total - missing_total,
    )


cdef inline void cut_with_missing(
    Grower* g, i32_t feature, const f32_t* x, f32_t low, f32_t high
) noexcept nogil:
    # Each cut with the missing values on its right, then on its left; at last
    # the values against the missing ones.
    cdef i64_t missing_weight, missing_total, weight, total
    cdef f32_t cut
    cdef intp_t i
    cdef i32_t _k
    for i in range(g.part.n + PADDING):
        g.present[i] = x[i] == x[i] if i < g.part.n else NAN
    sum_left(
        g, g.present, 0.5, g.missing_hist, &missing_weight, &missing_total)
    if low < high:
        for _k in range(g.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            sum_left(g, x, cut, g.left_hist, &weight, &total)
            offer_sides(
                g, feature, cut, True, weight, total, missing_weight, missing_total)
    offer_present(g, feature, missing_weight, missing_total)


cdef inline bint any_missing(const f32_t* x, intp_t n) noexcept nogil:
    cdef intp_t i
    for i in range(n):
        if x[i] != x[i]:
            return True
    return False


cdef inline void fetch(
    Grower* g, i32_t feature, f32_t* low, f32_t* high
) noexcept nogil:
    # Have the feature's values at the node in g.x[1], and their extremes.
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


cdef inline bint try_feature(Grower* g, i32_t feature) noexcept nogil:
    # Offer the cuts of one feature; False if it is constant at the node.
    cdef f64_t best_before = g.best.score
    cdef f32_t low, high, cut
    cdef i64_t weight, total
    cdef i32_t _k
    cdef f32_t* x = g.x[1]
    fetch(g, feature, &low, &high)
    if has_categories(g, feature):
        order_categories(g, feature, x, &low, &high)
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
            offer_sides(g, feature, cut, False, weight, total, 0, 0)
    if g.best.score > best_before:
        g.x[1] = g.x[0]
        g.x[0] = x
    return True


cdef inline bint try_coded_feature(Grower* g, i32_t feature) noexcept nogil:
    # The same where the node is looked at through codes.
    cdef f64_t best_before = g.best.score
    cdef u8_t* x = g.codes.x
    cdef i64_t weight, total, missing_weight = 0, missing_total = 0
    cdef int least, greatest, after_values, code
    cdef bint missing
    cdef f32_t low, high, cut
    cdef intp_t c, n_settled
    cdef i32_t _k
    gather_codes(
        g.codes.columns + feature * g.data.n_rows, g.part.rows, g.part.n, x, &least,
        &greatest, &after_values,
    )
    if after_values == 0:  # nothing but NaN
        return False
    missing = greatest == MISSING
    low = extreme(g, feature, x, least, False)
    high = extreme(g, feature, x, after_values - 1, True)
    if missing:
        sum_left(g, x, <u8_t>(MISSING - 1), g.missing_hist, &weight, &total)
        for c in range(g.n_local):
            g.missing_hist[c] = g.node_hist[c] - g.missing_hist[c]
        missing_weight = g.part.weight - weight
        missing_total = g.part.total - total
    elif low == high:
        return False
    if low < high:
        for _k in range(g.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            code = settle(g, feature, x, cut, &n_settled)
            sum_left(g, x, <u8_t>code, g.left_hist, &weight, &total)
            unsettle(g, x, code, n_settled)
            offer_sides(
                g, feature, cut, missing, weight, total, missing_weight, missing_total)
    if missing:
        offer_present(g, feature, missing_weight, missing_total)
    if g.best.score > best_before:
        g.codes.x = g.codes.best
        g.codes.best = x
    return True


cdef inline intp_t try_features(Grower* g) noexcept nogil:
    # Draw features without replacement until max_features that vary here have
    # been tried, or a perfect split is found; return how many varied. The draws
    # start from the identity at every node, so that they depend on nothing else.
    cdef intp_t d = g.data.n_features
    cdef intp_t n_left_over = d - g.n_constants  # of those that may vary
    cdef intp_t n_varying = 0, n_drawn = 0, i, j
    cdef bint small = g.small.end > 0, coded = is_coded(g)
    cdef bint varies
    cdef i32_t feature
    if coded and g.data.n_classes == 0 and g.part.b == NULL:
        pack_labels(g.part.y, g.part.n, g.codes.y)
    while n_varying < g.settings.max_features and not g.best.perfect:
        if n_left_over == 0:  # the other draws would find constants only
            skip(&g.stream, d - n_drawn)
            break
        j = n_drawn + <intp_t>next_below(&g.stream, d - n_drawn)
        feature = g.order[j]
        g.order[j] = g.order[n_drawn]
        g.swaps[n_drawn] = <i32_t>j
        n_drawn += 1
        if g.known_constant[feature]:
            continue
        n_left_over -= 1
        if small:
            varies = try_small_feature(g, feature)
        elif coded and not has_categories(g, feature):
            varies = try_coded_feature(g, feature)
        else:
            varies = try_feature(g, feature)
        if varies:
            n_varying += 1
        elif not has_categories(g, feature):  # below, other categories may be apart
            g.known_constant[feature] = True
            g.constants[g.n_constants] = feature
            g.n_constants += 1
    for i in range(n_drawn):
        j = g.swaps[i]
        g.order[j] = <i32_t>j
        g.order[i] = <i32_t>i
    return n_varying
