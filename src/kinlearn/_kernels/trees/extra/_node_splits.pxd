# The candidate splits of a node: x <= cut by feature, and by the tasks' means.

from libc.math cimport NAN
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from kinlearn._kernels._random cimport next_below
from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels._vectors cimport PADDING, gather, left_counts, left_sums
from kinlearn._kernels.trees.extra._categories cimport (
    has_categories, order_categories
)
from kinlearn._kernels.trees.extra._feature_bytes cimport (
    MISSING, extreme, gather_bins, left_bin_counts, left_bin_sums, pack_labels,
    reads_bytes, settle, unsettle
)
from kinlearn._kernels.trees.extra._grower cimport Grower, Placed
from kinlearn._kernels.trees.extra._rows cimport (
    compare_i32, left_histogram, left_weighted_sums, value_t
)
from kinlearn._kernels.trees.extra._split cimport (
    TASK_SPLIT, begin_draws, draw_feature, drawn_mean, node_mean, offer, offer_present,
    offer_sides, random_cut, task_cut, undo_draws
)


cdef inline void sum_left(
    Grower* g, const value_t* x, value_t cut, i64_t* hist, i64_t* weight, i64_t* total
) noexcept nogil:
    # Sums over the node's rows with x <= cut; never those where x is NaN.
    if g.data.n_classes > 0:
        memset(hist, 0, g.node.n_classes * sizeof(i64_t))
        weight[0] = left_histogram(x, g.local_y, g.part.w, g.part.n, cut, hist)
        total[0] = 0
    elif g.part.b == NULL:
        if value_t is f32_t:
            left_counts(x, g.part.y, g.part.n, cut, weight, total)
        else:
            left_bin_counts(x, g.bytes.y, g.part.n, cut, weight, total)
    elif g.part.w == NULL:
        if value_t is f32_t:
            left_sums(x, g.part.b, g.part.n, cut, weight, total)
        else:
            left_bin_sums(x, g.part.b, g.part.n, cut, weight, total)
    else:
        left_weighted_sums(x, g.part.w, g.part.b, g.part.n, cut, weight, total)


cdef inline bint any_missing(const f32_t* x, intp_t n) noexcept nogil:
    cdef intp_t i
    for i in range(n):
        if x[i] != x[i]:
            return True
    return False


cdef inline void sum_missing(
    Grower* g, const f32_t* x, i64_t* weight, i64_t* total
) noexcept nogil:
    # Over the node's rows where x is NaN.
    cdef intp_t i
    for i in range(g.part.n + PADDING):
        g.present[i] = x[i] == x[i] if i < g.part.n else NAN
    sum_left(g, g.present, 0.5, g.node.missing_hist, weight, total)


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


cdef inline int compare_placed(const void* a, const void* b) noexcept nogil:
    cdef f32_t x = (<const Placed*>a).x
    cdef f32_t y = (<const Placed*>b).x
    return (x > y) - (x < y)


cdef inline void try_all_cuts(
    Grower* g, i32_t feature, const f32_t* x, bint missing, i64_t missing_weight,
    i64_t missing_total,
) noexcept nogil:
    # Offer a cut midway between any two neighbouring values. Sums are of integers, so
    # the order of equal values does not matter.
    cdef intp_t i, n = 0
    cdef i32_t at
    cdef i64_t w, weight = 0, total = 0
    cdef f32_t cut
    for i in range(g.part.n):
        if x[i] == x[i]:
            g.sorted[n].x = x[i]
            g.sorted[n].at = <i32_t>i
            n += 1
    qsort(g.sorted, n, sizeof(Placed), &compare_placed)
    memset(g.below_hist, 0, g.node.n_classes * sizeof(i64_t))
    for i in range(n - 1):
        at = g.sorted[i].at
        w = 1 if g.part.w == NULL else g.part.w[at]
        weight += w
        if g.data.n_classes > 0:
            g.below_hist[g.local_y[at]] += w
        else:
            total += g.part.y[at] if g.part.b == NULL else g.part.b[at]
        if g.sorted[i].x < g.sorted[i + 1].x:
            cut = <f32_t>(0.5 * <f64_t>g.sorted[i].x + 0.5 * <f64_t>g.sorted[i + 1].x)
            if cut >= g.sorted[i + 1].x:
                cut = g.sorted[i].x
            memcpy(g.node.left_hist, g.below_hist, g.node.n_classes * sizeof(i64_t))
            offer_sides(
                &g.node, feature, cut, missing, weight, total, missing_weight,
                missing_total,
            )


cdef inline bint try_feature(Grower* g, i32_t feature) noexcept nogil:
    # Offer the cuts of one feature; False if it is constant at the node.
    cdef f64_t best_before = g.node.best.score
    cdef f32_t low, high, cut
    cdef i64_t weight, total, missing_weight = 0, missing_total = 0
    cdef bint missing
    cdef i32_t _k
    cdef f32_t* x = g.x[1]
    fetch(g, feature, &low, &high)
    if has_categories(g, feature):
        order_categories(g, feature, x, &low, &high)
    if low > high:  # nothing but NaN
        return False
    missing = g.data.has_missing[feature] and any_missing(x, g.part.n)
    if missing:
        sum_missing(g, x, &missing_weight, &missing_total)
    elif low == high:
        return False
    if low < high and g.node.settings.n_cuts == 0:
        try_all_cuts(g, feature, x, missing, missing_weight, missing_total)
    elif low < high:
        for _k in range(g.node.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            sum_left(g, x, cut, g.node.left_hist, &weight, &total)
            offer_sides(
                &g.node, feature, cut, missing, weight, total, missing_weight,
                missing_total,
            )
    if missing:
        offer_present(&g.node, feature, missing_weight, missing_total)
    if g.node.best.score > best_before:
        g.x[1] = g.x[0]
        g.x[0] = x
    return True


cdef inline bint try_feature_bytes(Grower* g, i32_t feature) noexcept nogil:
    # The same where the node is read as bytes.
    cdef f64_t best_before = g.node.best.score
    cdef u8_t* x = g.bytes.x
    cdef i64_t weight, total, missing_weight = 0, missing_total = 0
    cdef int least, greatest, after_values, bin
    cdef bint missing
    cdef f32_t low, high, cut
    cdef intp_t c, n_settled
    cdef i32_t _k
    gather_bins(
        g.bytes.columns + feature * g.data.n_rows, g.part.rows, g.part.n, x, &least,
        &greatest, &after_values,
    )
    if after_values == 0:  # nothing but NaN
        return False
    missing = greatest == MISSING
    low = extreme(g, feature, x, least, False)
    high = extreme(g, feature, x, after_values - 1, True)
    if missing:
        sum_left(g, x, <u8_t>(MISSING - 1), g.node.missing_hist, &weight, &total)
        for c in range(g.node.n_classes):
            g.node.missing_hist[c] = g.node.hist[c] - g.node.missing_hist[c]
        missing_weight = g.node.weight - weight
        missing_total = g.node.total - total
    elif low == high:
        return False
    if low < high:
        for _k in range(g.node.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            bin = settle(g, feature, x, cut, &n_settled)
            sum_left(g, x, <u8_t>bin, g.node.left_hist, &weight, &total)
            unsettle(g, x, bin, n_settled)
            offer_sides(
                &g.node, feature, cut, missing, weight, total, missing_weight,
                missing_total,
            )
    if missing:
        offer_present(&g.node, feature, missing_weight, missing_total)
    if g.node.best.score > best_before:
        g.bytes.x = g.bytes.best
        g.bytes.best = x
    return True


cdef inline intp_t try_features(Grower* g) noexcept nogil:
    # Draw features until max_features that vary here have been tried, or a perfect
    # split is found; return how many varied.
    cdef intp_t n_varying = 0
    cdef bint as_bytes = reads_bytes(g)
    cdef bint varies
    cdef i32_t feature
    if as_bytes and g.data.n_classes == 0 and g.part.b == NULL:
        pack_labels(g.part.y, g.part.n, g.bytes.y)
    begin_draws(&g.draws, g.n_constants)
    while n_varying < g.node.settings.max_features and not g.node.best.perfect:
        feature = draw_feature(&g.draws, &g.stream)
        if feature < 0:
            break
        if as_bytes and not has_categories(g, feature):
            varies = try_feature_bytes(g, feature)
        else:
            varies = try_feature(g, feature)
        if varies:
            n_varying += 1
        elif not has_categories(g, feature):  # below, other categories may be apart
            g.draws.constant[feature] = True
            g.constants[g.n_constants] = feature
            g.n_constants += 1
    undo_draws(&g.draws)
    return n_varying


# ----------------------------------------------------------------------------
# Task splits: tasks with a small mean label go left
# ----------------------------------------------------------------------------

# The cost is that of the node's rows, never that of all tasks: sums by task live in
# arrays that are zero between nodes, and a list says which tasks were touched.

cdef inline void sum_by_task(Grower* g, i32_t positive) noexcept nogil:
    # Weight and sum of labels of each task present. With more than two classes
    # the label is whether the local class is `positive`.
    cdef intp_t i, n_present = 0
    cdef i32_t t
    cdef i64_t w, b
    for i in range(g.part.n):
        t = g.at.task[g.part.rows[i]]
        w = 1 if g.part.w == NULL else g.part.w[i]
        if g.data.n_classes > 0:
            b = w if g.local_y[i] == positive else 0
        else:
            b = g.part.y[i] if g.part.b == NULL else g.part.b[i]
        if g.task_weight[t] == 0:
            g.tasks[n_present] = t
            n_present += 1
        g.task_weight[t] += w
        g.task_total[t] += b
    g.n_present = n_present


cdef inline f64_t task_mean(Grower* g, i32_t t, f64_t gamma, f64_t unit) noexcept nogil:
    return drawn_mean(
        g.task_total[t] * unit, g.task_weight[t] * g.node.w_unit, gamma,
        g.node.settings.task_smoothing,
    )


cdef inline void fill_side(Grower* g, f32_t* x) noexcept nogil:
    # 0 for rows that go left, 1 for the others: a feature to cut at 0.5.
    cdef intp_t i
    for i in range(g.part.n):
        x[i] = not g.task_left[g.at.task[g.part.rows[i]]]


cdef inline void try_tasks(Grower* g) noexcept nogil:
    cdef i32_t positive = 0
    cdef f64_t best_before = g.node.best.score
    cdef f64_t unit, gamma, phi, low, high, cut
    cdef i64_t weight = 0, total = 0
    cdef intp_t k
    cdef i32_t t
    if g.data.n_classes > 0:
        positive = <i32_t>next_below(&g.stream, g.node.n_classes)
    gamma = node_mean(&g.node, positive, &unit)
    sum_by_task(g, positive)

    low = high = task_mean(g, g.tasks[0], gamma, unit)
    for k in range(1, g.n_present):
        phi = task_mean(g, g.tasks[k], gamma, unit)
        low = phi if phi < low else low
        high = phi if phi > high else high
    if low < high:
        cut = task_cut(low, high, &g.stream)
        g.task_cut = cut
        g.task_gamma = gamma
        g.task_class = g.classes[positive] if g.data.n_classes > 0 else 1
        for k in range(g.n_present):
            t = g.tasks[k]
            g.task_left[t] = task_mean(g, t, gamma, unit) < cut
            if g.task_left[t]:
                weight += g.task_weight[t]
                total += g.task_total[t]
        if g.data.n_classes > 0:
            fill_side(g, g.x[1])
            sum_left(g, g.x[1], 0.5, g.node.left_hist, &weight, &total)
        offer(&g.node, TASK_SPLIT, 0.5, gamma < cut, weight, total)
        if g.node.best.score > best_before:
            fill_side(g, g.x[0])

    for k in range(g.n_present):
        g.task_weight[g.tasks[k]] = 0
        g.task_total[g.tasks[k]] = 0


cdef inline intp_t list_exceptions(Grower* g, i32_t* out) noexcept nogil:
    # The tasks present that go against the default side, ascending.
    cdef intp_t k, n = 0
    for k in range(g.n_present):
        if g.task_left[g.tasks[k]] != g.node.best.default_left:
            out[n] = g.tasks[k]
            n += 1
    qsort(out, n, sizeof(i32_t), &compare_i32)
    return n
