# The arithmetic of splits, for trees that one place grows (_grow_forest.pyx) and for
# the driver of trees whose rows lie in partitions (partitions/_draws.pyx).
#
# A split is worth purity(left) + purity(right), where purity is minus the
# impurity times the weight, less the terms that all splits of a node share.

from libc.math cimport INFINITY, log2
from libc.string cimport memcpy

from kinlearn._kernels._random cimport next_below, next_uniform, skip
from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u64_t

cdef enum:
    LEAF = -1
    TASK_SPLIT = -2


cdef enum Criterion:
    GINI = 0
    ENTROPY = 1
    VARIANCE = 2


cdef struct Settings:
    Criterion criterion
    i32_t max_features
    i32_t n_cuts               # at random; 0: all
    i32_t max_depth
    f64_t task_split_prob
    f64_t task_smoothing
    f64_t min_weight_split
    f64_t min_weight_leaf
    f64_t min_impurity_decrease


cdef inline Settings read_settings(object record):
    return Settings(
        <Criterion><int>record.criterion, record.max_features, record.n_cuts,
        record.max_depth, record.task_split_prob, record.task_smoothing,
        record.min_weight_split, record.min_weight_leaf, record.min_impurity_decrease,
    )


cdef struct Split:
    f64_t score
    i32_t feature              # LEAF: there is none
    f32_t threshold
    u8_t default_left          # side of NaN, or of a task that has no rows here
    bint perfect               # no other split can be better
    i64_t weight               # of the left side
    i64_t total


# The node at hand, and the best of its splits so far. Weights and sums of labels are
# integer multiples of w_unit and b_unit. With more than two classes histograms decide,
# in which the classes of the node have numbers of their own.
cdef struct Candidates:
    Settings settings
    f64_t w_unit
    f64_t b_unit
    f64_t whole_weight         # of all rows of the tree
    intp_t n_rows              # at the node; 0: not known
    i64_t weight
    i64_t total
    intp_t n_classes           # of the histograms; 0: there are none
    i64_t* hist                # of the node
    i64_t* left_hist           # of the split at hand
    i64_t* right_hist
    i64_t* missing_hist        # of the rows without a value of the feature at hand
    i64_t* best_hist           # left of the best split; NULL: nobody needs it
    Split best


# ----------------------------------------------------------------------------
# Impurities, from sums of weights
# ----------------------------------------------------------------------------

cdef inline f64_t xlogx(f64_t x) noexcept nogil:
    return x * log2(x) if x > 0 else 0.0


# Two classes, or a number: w is the weight, b the weighted sum of y (0 or 1, or
# the number). The Gini index of two classes is twice the variance of the 0/1
# label, so it needs no code of its own.

cdef inline f64_t pair_purity(Criterion criterion, f64_t w, f64_t b) noexcept nogil:
    if criterion == ENTROPY:
        return xlogx(w - b) + xlogx(b) - xlogx(w)
    return b * b / w


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


cdef inline f64_t node_purity(const Candidates* c) noexcept nogil:
    if c.n_classes > 0:
        return classes_purity(
            c.settings.criterion, c.hist, c.n_classes, c.weight, c.w_unit)
    return pair_purity(
        c.settings.criterion, c.weight * c.w_unit, c.total * c.b_unit)


cdef inline f64_t node_impurity(const Candidates* c) noexcept nogil:
    # Of classes; the variances are filled in when the tree is complete.
    cdef bint entropy = c.settings.criterion == ENTROPY
    cdef f64_t total = 0.0, p
    cdef intp_t k
    if c.n_classes > 0:
        for k in range(c.n_classes):
            p = <f64_t>c.hist[k] / c.weight
            total += xlogx(p) if entropy else p * p
        return -total if entropy else 1.0 - total
    if c.settings.criterion == VARIANCE:
        return 0.0
    p = c.total * c.b_unit / (c.weight * c.w_unit)
    return -(xlogx(1 - p) + xlogx(p)) if entropy else 2 * p * (1 - p)


# ----------------------------------------------------------------------------
# Which split of a node is the best
# ----------------------------------------------------------------------------

cdef inline void begin_search(Candidates* c) noexcept nogil:
    c.best.score = -INFINITY
    c.best.feature = LEAF
    c.best.perfect = False


cdef inline bint is_perfect(
    const Candidates* c, i64_t weight, i64_t total
) noexcept nogil:
    # Whether no other split can be better: two rows, or two classes set apart.
    # More than half of the nodes of a full-grown tree end their search with it.
    cdef i64_t weight_right = c.weight - weight
    if c.n_rows == 2:
        return True
    if c.n_classes > 0:
        return c.n_classes == 2 and (
            c.left_hist[0] == 0 and c.right_hist[1] == 0
            or c.left_hist[1] == 0 and c.right_hist[0] == 0
        )
    if c.settings.criterion == VARIANCE:
        return False
    return (
        total == 0 and c.total == weight_right
        or total == weight and c.total == weight
    )


cdef inline void offer(
    Candidates* c, i32_t feature, f32_t threshold, bint default_left,
    i64_t weight, i64_t total,
) noexcept nogil:
    # Take the split with these sums on its left (left_hist too, if there are
    # more than two classes) when it is allowed and better than the best so far.
    cdef i64_t weight_right = c.weight - weight
    cdef f64_t w_left = weight * c.w_unit
    cdef f64_t w_right = weight_right * c.w_unit
    cdef f64_t score
    cdef intp_t k
    if w_left < c.settings.min_weight_leaf or w_right < c.settings.min_weight_leaf:
        return
    if c.n_classes > 0:
        for k in range(c.n_classes):
            c.right_hist[k] = c.hist[k] - c.left_hist[k]
        score = (
            classes_purity(
                c.settings.criterion, c.left_hist, c.n_classes, weight, c.w_unit)
            + classes_purity(
                c.settings.criterion, c.right_hist, c.n_classes, weight_right,
                c.w_unit)
        )
    else:
        score = (
            pair_purity(c.settings.criterion, w_left, total * c.b_unit)
            + pair_purity(
                c.settings.criterion, w_right, (c.total - total) * c.b_unit)
        )
    if score > c.best.score:
        c.best.score = score
        c.best.feature = feature
        c.best.threshold = threshold
        c.best.default_left = default_left
        c.best.weight = weight
        c.best.total = total
        c.best.perfect = is_perfect(c, weight, total)
        if c.best_hist != NULL:
            memcpy(c.best_hist, c.left_hist, c.n_classes * sizeof(i64_t))


cdef inline void offer_sides(
    Candidates* c, i32_t feature, f32_t cut, bint missing, i64_t weight, i64_t total,
    i64_t missing_weight, i64_t missing_total,
) noexcept nogil:
    # A cut with these sums on its left; with missing values on its right, then on
    # its left.
    cdef intp_t k
    if not missing:
        # A NaN that comes later goes where most of the weight went.
        offer(c, feature, cut, 2 * weight > c.weight, weight, total)
        return
    offer(c, feature, cut, False, weight, total)
    for k in range(c.n_classes):
        c.left_hist[k] += c.missing_hist[k]
    offer(c, feature, cut, True, weight + missing_weight, total + missing_total)


cdef inline void offer_present(
    Candidates* c, i32_t feature, i64_t missing_weight, i64_t missing_total
) noexcept nogil:
    # The values against the missing ones.
    cdef intp_t k
    for k in range(c.n_classes):
        c.left_hist[k] = c.hist[k] - c.missing_hist[k]
    offer(
        c, feature, INFINITY, False, c.weight - missing_weight,
        c.total - missing_total,
    )


cdef inline bint is_split(const Candidates* c) noexcept nogil:
    # Whether there is a split, and it lowers the impurity enough.
    cdef f64_t decrease
    if c.best.feature == LEAF:
        return False
    if c.settings.min_impurity_decrease > 0:
        decrease = (c.best.score - node_purity(c)) / c.whole_weight
        if c.settings.criterion == GINI and c.n_classes == 0:
            decrease *= 2  # two classes: see pair_purity
        # up to one rounding
        return decrease + 2.220446049250313e-16 >= c.settings.min_impurity_decrease
    return True


# ----------------------------------------------------------------------------
# What a node's stream draws
# ----------------------------------------------------------------------------

cdef struct Draws:
    # Features without replacement, from the identity at every node, so that the draws
    # depend on nothing else.
    intp_t n_features
    intp_t n_drawn
    intp_t n_open              # of those not drawn yet that may vary
    i32_t* order               # the features; the identity between nodes
    i32_t* swaps               # what undoes the draws of a node
    u8_t* constant             # by feature: constant at an ancestor


cdef inline void begin_draws(Draws* d, intp_t n_constants) noexcept nogil:
    d.n_drawn = 0
    d.n_open = d.n_features - n_constants


cdef inline i32_t draw_feature(Draws* d, u64_t* stream) noexcept nogil:
    # The next feature that may vary; -1 if there is none any more.
    cdef intp_t j
    cdef i32_t feature
    while d.n_open > 0:
        j = d.n_drawn + <intp_t>next_below(stream, d.n_features - d.n_drawn)
        feature = d.order[j]
        d.order[j] = d.order[d.n_drawn]
        d.swaps[d.n_drawn] = <i32_t>j
        d.n_drawn += 1
        if not d.constant[feature]:
            d.n_open -= 1
            return feature
    skip(stream, d.n_features - d.n_drawn)  # these would find constants only
    return -1


cdef inline void undo_draws(Draws* d) noexcept nogil:
    cdef intp_t i, j
    for i in range(d.n_drawn):
        j = d.swaps[i]
        d.order[j] = <i32_t>j
        d.order[i] = <i32_t>i


cdef inline f32_t random_cut(f32_t low, f32_t high, u64_t* stream) noexcept nogil:
    # low <= cut < high: no side is ever empty, whatever the rounding.
    cdef f32_t cut = <f32_t>(low + next_uniform(stream) * (<f64_t>high - low))
    return cut if cut < high else low


# ----------------------------------------------------------------------------
# Means of tasks and categories, the paper's phi
# ----------------------------------------------------------------------------

cdef inline f64_t node_mean(
    const Candidates* c, intp_t positive, f64_t* unit
) noexcept nogil:
    # The mean label at the node, and the unit that sums of labels have. With more than
    # two classes the label is whether the class is `positive`.
    cdef i64_t total = c.total
    unit[0] = c.b_unit
    if c.n_classes > 0:
        unit[0] = c.w_unit
        total = c.hist[positive]
    return total * unit[0] / (c.weight * c.w_unit)


cdef inline f64_t drawn_mean(
    f64_t total, f64_t weight, f64_t mean, f64_t smoothing
) noexcept nogil:
    # The mean of some rows, drawn towards another.
    return (total + smoothing * mean) / (weight + smoothing)


cdef inline f64_t task_cut(f64_t low, f64_t high, u64_t* stream) noexcept nogil:
    # low < cut <= high: tasks with a mean below the cut go left.
    cdef f64_t cut = low + next_uniform(stream) * (high - low)
    return high if cut <= low else cut
