# Nodes of few rows: sets of bits over a branch that was copied together.
#
# Row by row, a node of a handful of rows costs a few wrongly guessed branches for
# each feature, where its loops end; and most nodes of a full-grown tree are of that
# kind. So a branch of at most LANES rows is grown without moving rows: a node is a
# set of bits, a cut takes a few vector instructions, a partition none.

from libc.math cimport INFINITY, NAN

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t, u32_t
from kinlearn._kernels.trees.extra._rows cimport number_in_data
from kinlearn._kernels.trees.extra._categories cimport (
    category_mean, class_to_count, has_categories
)
from kinlearn._kernels.trees.extra._grower cimport Grower, Small
from kinlearn._kernels.trees.extra._split cimport (
    node_mean, offer_present, offer_sides, random_cut
)
from kinlearn._kernels._vectors cimport (
    LANES, count_bits, lane_extremes, lanes_at_most, lowest_bit, open_lanes, prefetch,
    sum_lanes,
)


cdef inline void copy_all_columns(Grower* g) noexcept nogil:
    # From X by rows, the last one repeated.
    cdef Small* s = &g.small
    cdef intp_t d = g.data.n_features, n = s.end - s.start
    cdef const f32_t* source[LANES]
    cdef f32_t* target = s.columns
    cdef intp_t i, k, f
    for i in range(n):
        k = number_in_data(g, s.rows[i])
        source[i] = g.data.source.rows + k * g.data.source.row_stride
        for f from 0 <= f < d by 16:
            prefetch(source[i] + f)
    for i in range(n, LANES):
        source[i] = source[n - 1]
    for f in range(d):
        for k in range(LANES):
            target[k] = source[k][f]
        target += LANES
        s.column_of[f] = s.number


cdef inline void enter_small(Grower* g, intp_t start) noexcept nogil:
    # The rows of the node at hand become the bits 0, 1, ...
    cdef Small* s = &g.small
    cdef intp_t n = g.part.n, i
    cdef i32_t row
    s.start = start
    s.end = start + n
    s.number += 1  # none of the columns at hand belongs to it
    s.positive = 0
    for i in range(n):
        row = g.part.rows[i]
        s.rows[i] = row
        if g.at.b != NULL:
            s.b[i] = g.at.b[row]
        elif g.at.y != NULL and g.data.n_classes == 0:
            s.positive |= <u32_t>g.at.y[row] << i
        if g.at.w != NULL:
            s.w[i] = g.at.w[row]


cdef inline void open_small(Grower* g, u32_t node) noexcept nogil:
    # The node at hand is a set of rows; put them where other nodes have them too.
    cdef intp_t i = 0
    g.small.node = node
    open_lanes(node, g.small.inside)
    while node:
        g.part.rows[i] = g.small.rows[lowest_bit(node)]
        node &= node - 1
        i += 1


cdef inline void number_lanes(Grower* g, u32_t node) noexcept nogil:
    # The numbers of the classes, from the order of rows to that of bits.
    cdef intp_t i = 0
    while node:
        g.small.local_y[lowest_bit(node)] = g.local_y[i]
        node &= node - 1
        i += 1


cdef inline u32_t pack_left(const f32_t* x, f32_t cut, u32_t node) noexcept nogil:
    # The bits of the rows with x <= cut, where x is in the order of rows.
    cdef u32_t left = 0
    cdef intp_t i = 0
    while node:
        if x[i] <= cut:
            left |= node & (0 - node)
        node &= node - 1
        i += 1
    return left


cdef inline const f32_t* small_column(Grower* g, i32_t feature) noexcept nogil:
    # The values of a feature by bit; fetched when it is first asked for.
    cdef Small* s = &g.small
    cdef f32_t* x = s.columns + <intp_t>feature * LANES
    cdef const f32_t* source
    cdef intp_t stride = 1, i
    if s.column_of[feature] != s.number:
        if s.all_at_once:
            copy_all_columns(g)
            return x
        s.column_of[feature] = s.number
        source = g.at.columns + feature * g.at.column_stride
        if g.at.columns == NULL:
            source = g.at.rows + feature
            stride = g.at.row_stride
        for i in range(s.end - s.start):
            x[i] = source[s.rows[i] * stride]
    return x


cdef inline void sum_set(
    Grower* g, u32_t rows, i64_t* hist, i64_t* weight, i64_t* total
) noexcept nogil:
    cdef Small* s = &g.small
    cdef intp_t c, i
    weight[0] = count_bits(rows) if g.at.w == NULL else sum_lanes(s.w, rows)
    if g.data.n_classes > 0:
        for c in range(g.node.n_classes):
            hist[c] = 0
        total[0] = 0
        while rows:
            i = lowest_bit(rows)
            hist[s.local_y[i]] += 1 if g.at.w == NULL else s.w[i]
            rows &= rows - 1
    elif g.at.b == NULL:
        total[0] = count_bits(rows & s.positive)
    else:
        total[0] = sum_lanes(s.b, rows)


cdef inline void order_lanes(
    Grower* g, i32_t feature, const f32_t* codes, f32_t* means
) noexcept nogil:
    # By bit, the mean label of the row's category; NaN for rows that are not here.
    cdef Small* s = &g.small
    cdef i32_t positive = 0
    cdef i64_t weight, total, w
    cdef f64_t mean, unit
    cdef intp_t i, j
    if g.data.n_classes > 0:
        positive = class_to_count(g, feature)
    mean = node_mean(&g.node, positive, &unit)
    for i in range(LANES):
        means[i] = NAN
        if not s.node >> i & 1 or codes[i] != codes[i]:
            continue
        weight = total = 0
        for j in range(LANES):
            if not s.node >> j & 1 or codes[j] != codes[i]:
                continue
            w = 1 if g.at.w == NULL else s.w[j]
            weight += w
            if g.data.n_classes > 0:
                total += w if s.local_y[j] == positive else 0
            else:
                total += s.positive >> j & 1 if g.at.b == NULL else s.b[j]
        means[i] = category_mean(g, weight, total, mean, unit)


cdef inline bint try_small_feature(Grower* g, i32_t feature) noexcept nogil:
    # Offer the cuts of one feature; False if it is constant at the node.
    cdef const f32_t* x = small_column(g, feature)
    cdef u32_t node = g.small.node
    cdef f32_t means[LANES]
    cdef f32_t low, high, cut
    cdef u32_t left, missing = 0
    cdef i64_t weight, total, missing_weight = 0, missing_total = 0
    cdef f64_t best_before
    cdef i32_t _k
    if has_categories(g, feature):
        order_lanes(g, feature, x, means)
        x = means
    lane_extremes(g.small.inside, x, &low, &high)
    if low > high:  # nothing but NaN
        return False
    if g.data.has_missing[feature]:
        missing = node & ~lanes_at_most(x, INFINITY)
    if missing:
        sum_set(g, missing, g.node.missing_hist, &missing_weight, &missing_total)
    elif low == high:
        return False
    if low < high:
        for _k in range(g.node.settings.n_cuts):
            cut = random_cut(low, high, &g.stream)
            left = lanes_at_most(x, cut) & node
            best_before = g.node.best.score
            sum_set(g, left, g.node.left_hist, &weight, &total)
            offer_sides(
                &g.node, feature, cut, missing != 0, weight, total, missing_weight,
                missing_total,
            )
            if g.node.best.score > best_before:
                g.small.best_left = left | (missing if g.node.best.default_left else 0)
    if missing:
        best_before = g.node.best.score
        offer_present(&g.node, feature, missing_weight, missing_total)
        if g.node.best.score > best_before:
            g.small.best_left = node & ~missing
    return True
