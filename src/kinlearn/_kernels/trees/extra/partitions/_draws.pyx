"""The driver's part of growth level by level: what to ask, and which split to take.

A node draws from its own stream in the order that tests/reference/extra_trees.py
tells, so the splits are those of _grow_forest.pyx. Which feature comes next depends on
which of those before are constant at the node. So the driver asks for the features
that come if none is (`foresee`), draws when it has their extremes (`draw_cuts`), and
asks again for the few nodes at which one turned out to be constant.
"""

from libc.math cimport INFINITY

from kinlearn._kernels._random cimport (
    derive_stream, next_below, next_uniform, skip
)
from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
)
from kinlearn._kernels.trees.extra._grower cimport (
    GINI, LEAF, TASK_SPLIT, VARIANCE, Criterion
)
from kinlearn._kernels.trees.extra._score cimport (
    classes_impurity, classes_purity, pair_impurity, pair_purity, random_cut
)

cdef f64_t EPSILON = 2.220446049250313e-16


cdef inline bint has_bit(const u64_t[:, ::1] bits, intp_t i, intp_t k) noexcept nogil:
    return (bits[i, k >> 6] >> (k & 63)) & 1


def child_keys(const u64_t[::1] key, u64_t side, u64_t[::1] out):
    """Keys of the left (1) or right (2) children of nodes."""
    cdef intp_t i
    for i in range(key.shape[0]):
        out[i] = derive_stream(key[i], side)


# ----------------------------------------------------------------------------
# Drawing
# ----------------------------------------------------------------------------

cdef struct Draws:
    # Features without replacement, from the identity at every node.
    intp_t n_features
    intp_t n_drawn
    intp_t n_left_over       # of those that may vary
    i32_t* order
    i32_t* swaps


cdef inline void begin(
    Draws* d, const u64_t[:, ::1] constant, intp_t i
) noexcept nogil:
    cdef intp_t k
    d.n_drawn = 0
    d.n_left_over = d.n_features
    for k in range(d.n_features):
        d.n_left_over = d.n_left_over - has_bit(constant, i, k)


cdef inline i32_t draw(Draws* d, u64_t* stream) noexcept nogil:
    cdef intp_t j = d.n_drawn + <intp_t>next_below(stream, d.n_features - d.n_drawn)
    cdef i32_t feature = d.order[j]
    d.order[j] = d.order[d.n_drawn]
    d.swaps[d.n_drawn] = <i32_t>j
    d.n_drawn = d.n_drawn + 1
    return feature


cdef inline void undo(Draws* d) noexcept nogil:
    cdef intp_t i, j
    for i in range(d.n_drawn):
        j = d.swaps[i]
        d.order[j] = <i32_t>j
        d.order[i] = <i32_t>i


def foresee(
    const u64_t[::1] key,
    const u64_t[:, ::1] constant,
    intp_t n_features,
    intp_t max_features,
    intp_t n_cuts,
    f64_t task_split_prob,
    i32_t[:, ::1] work,
    i32_t[:, ::1] feature,
    u8_t[::1] wants_task,
):
    """The features that nodes draw, and whether they try a task split, if none of the
    features that may vary is constant.

    Parameters
    ----------
    key : uint64 array of shape (n_nodes,)
        Of the nodes.
    constant : uint64 array of shape (n_nodes, n_words)
        Bits of the features that are constant at an ancestor.
    work : int32 array of shape (3, n_features)
        Rows of 0, 1, 2, ...; anything; and -1. Left so.
    feature : int32 array of shape (n_nodes, max_features)
        To be filled; -1 where there are not so many.
    wants_task : uint8 array of shape (n_nodes,)
        To be filled.
    """
    cdef Draws d = Draws(n_features, 0, 0, &work[0, 0], &work[1, 0])
    cdef u64_t stream
    cdef intp_t i, k, n
    cdef i32_t f
    with nogil:
        for i in range(key.shape[0]):
            stream = key[i]
            begin(&d, constant, i)
            n = 0
            while n < max_features:
                if d.n_left_over == 0:
                    skip(&stream, n_features - d.n_drawn)
                    break
                f = draw(&d, &stream)
                if has_bit(constant, i, f):
                    continue
                d.n_left_over = d.n_left_over - 1
                feature[i, n] = f
                n += 1
                skip(&stream, n_cuts)
            undo(&d)
            for k in range(n, max_features):
                feature[i, k] = -1
            wants_task[i] = next_uniform(&stream) < task_split_prob or n == 0


def draw_cuts(
    u64_t[::1] stream,
    u64_t[:, ::1] constant,
    intp_t n_features,
    intp_t max_features,
    intp_t n_cuts,
    f64_t task_split_prob,
    i32_t[:, ::1] work,
    const i64_t[::1] request_start,
    const i32_t[::1] requested,
    const f32_t[::1] low,
    const f32_t[::1] high,
    const u8_t[::1] missing,
    i64_t[::1] n_found,
    i32_t[:, ::1] feature,
    f32_t[:, ::1] cut,
    u8_t[:, ::1] with_missing,
    u8_t[::1] wants_task,
    u8_t[::1] short,
):
    """Draw the cuts of nodes from the extremes of the features they requested.

    `stream` holds the nodes' keys, and afterwards what their streams have become.
    Node i gets the first ``n_found[i]`` of ``feature[i]`` and ``cut[i]``; where values
    are missing, the feature has a last cut at infinity, and `with_missing` is 1.
    Features found to be constant are added to `constant`. A node is `short` if it
    draws a feature that it did not request; its stream is then its key again.
    """
    cdef Draws d = Draws(n_features, 0, 0, &work[0, 0], &work[1, 0])
    cdef i32_t* place = &work[2, 0]  # of a feature among the node's requests, or -1
    cdef u64_t key
    cdef intp_t i, n, n_varying
    cdef i64_t r
    cdef i32_t f, _k
    with nogil:
        for i in range(stream.shape[0]):
            key = stream[i]
            for r in range(request_start[i], request_start[i + 1]):
                place[requested[r]] = <i32_t>(r - request_start[i])
            begin(&d, constant, i)
            n = n_varying = 0
            short[i] = 0
            while n_varying < max_features:
                if d.n_left_over == 0:
                    skip(&stream[i], n_features - d.n_drawn)
                    break
                f = draw(&d, &stream[i])
                if has_bit(constant, i, f):
                    continue
                if place[f] < 0:
                    short[i] = 1
                    break
                d.n_left_over = d.n_left_over - 1
                r = request_start[i] + place[f]
                if not (low[r] < high[r] or low[r] == high[r] and missing[r]):
                    constant[i, f >> 6] |= <u64_t>1 << (f & 63)
                    continue
                n_varying += 1
                if low[r] < high[r]:
                    for _k in range(n_cuts):
                        feature[i, n] = f
                        cut[i, n] = random_cut(low[r], high[r], &stream[i])
                        with_missing[i, n] = missing[r]
                        n += 1
                if missing[r]:
                    feature[i, n] = f
                    cut[i, n] = INFINITY
                    with_missing[i, n] = 1
                    n += 1
            undo(&d)
            for r in range(request_start[i], request_start[i + 1]):
                place[requested[r]] = -1
            if short[i]:
                stream[i] = key
                n_found[i] = 0
            else:
                n_found[i] = n
                wants_task[i] = (
                    next_uniform(&stream[i]) < task_split_prob or n_varying == 0)


# ----------------------------------------------------------------------------
# Task splits
# ----------------------------------------------------------------------------

cdef inline intp_t drawn_class(
    const i64_t[:, ::1] hist, intp_t i, u64_t* stream
) noexcept nogil:
    # One of the classes present.
    cdef intp_t c, n = 0
    for c in range(hist.shape[1]):
        n += hist[i, c] > 0
    n = <intp_t>next_below(stream, n)
    for c in range(hist.shape[1]):
        if hist[i, c] > 0:
            if n == 0:
                return c
            n -= 1
    return 0


def cut_tasks(
    u64_t[::1] stream,
    const i64_t[::1] weight,
    const i64_t[::1] total,
    const i64_t[:, ::1] hist,
    f64_t w_unit,
    f64_t b_unit,
    f64_t task_smoothing,
    const i64_t[::1] group_start,
    const i32_t[::1] group,
    const i64_t[::1] group_weight,
    const i64_t[::1] group_total,
    f64_t[::1] phi,
    u8_t[::1] goes_left,
    f64_t[::1] split_cut,
    f64_t[::1] split_mean,
    i32_t[::1] split_class,
    u8_t[::1] found,
    u8_t[::1] default_left,
    i64_t[::1] left_weight,
    i64_t[::1] left_total,
    i64_t[:, ::1] left_hist,
):
    """Draw a cut between the tasks' means, at the nodes that have sums by task.

    Parameters
    ----------
    group_start : int64 array of shape (n_nodes + 1,)
        Where each node's groups begin. A group is a task or, with `hist`, a class of
        a task (the task times the number of classes, plus the class), ascending.
    phi, goes_left : arrays of shape (n_groups,)
        To be filled: the group's task's smoothed mean, and whether it goes left.
    split_cut, split_mean, split_class : arrays by node
        To be filled: the cut, the node's mean, and the class whose share it is.
    found, default_left, left_weight, left_total, left_hist : arrays by node
        To be filled: whether there is such a split, the side of other tasks, and the
        sums of its left side.
    """
    cdef intp_t i, c, positive, n_each = 1 if hist is None else hist.shape[1]
    cdef i64_t g, first, after, w, b
    cdef f64_t unit, gamma, low, high, cut, mean
    with nogil:
        for i in range(stream.shape[0]):
            found[i] = 0
            first, after = group_start[i], group_start[i + 1]
            if first == after:
                continue
            positive, unit = 0, b_unit
            b = 0 if total is None else total[i]
            if hist is not None:
                positive = drawn_class(hist, i, &stream[i])
                unit = w_unit
                b = hist[i, positive]
            gamma = b * unit / (weight[i] * w_unit)
            low, high = INFINITY, -INFINITY
            while first < after:
                w = b = 0
                g = first
                while g < after and group[g] // n_each == group[first] // n_each:
                    w += group_weight[g]
                    if hist is None:
                        b += group_total[g]
                    elif group[g] % n_each == positive:
                        b += group_weight[g]
                    g += 1
                mean = (b * unit + task_smoothing * gamma) / (
                    w * w_unit + task_smoothing)
                low, high = min(low, mean), max(high, mean)
                while first < g:
                    phi[first] = mean
                    first += 1
            if not low < high:
                continue
            found[i] = 1
            cut = low + next_uniform(&stream[i]) * (high - low)
            if cut <= low:
                cut = high
            split_cut[i], split_mean[i] = cut, gamma
            split_class[i] = 1 if hist is None else <i32_t>positive
            default_left[i] = gamma < cut
            left_weight[i] = 0
            if hist is None:
                left_total[i] = 0
            else:
                for c in range(n_each):
                    left_hist[i, c] = 0
            for g in range(group_start[i], after):
                goes_left[g] = phi[g] < cut
                if goes_left[g]:
                    left_weight[i] += group_weight[g]
                    if hist is None:
                        left_total[i] += group_total[g]
                    else:
                        left_hist[i, group[g] % n_each] += group_weight[g]


# ----------------------------------------------------------------------------
# Choosing
# ----------------------------------------------------------------------------

cdef struct Judge:
    # Of splits of one node.
    Criterion criterion
    intp_t n_classes
    f64_t w_unit
    f64_t b_unit
    f64_t min_weight_leaf
    i64_t weight
    i64_t total
    i64_t* hist
    i64_t* left
    i64_t* right


cdef inline f64_t score(Judge* s, i64_t weight, i64_t total) noexcept nogil:
    # What a split is worth with these sums, and s.left, on its left; see _offers.pxd.
    cdef i64_t weight_right = s.weight - weight
    cdef f64_t w_left = weight * s.w_unit
    cdef f64_t w_right = weight_right * s.w_unit
    cdef intp_t c
    if w_left < s.min_weight_leaf or w_right < s.min_weight_leaf:
        return -INFINITY
    if s.n_classes > 0:
        for c in range(s.n_classes):
            s.right[c] = s.hist[c] - s.left[c]
        return (
            classes_purity(s.criterion, s.left, s.n_classes, weight, s.w_unit)
            + classes_purity(
                s.criterion, s.right, s.n_classes, weight_right, s.w_unit)
        )
    return (
        pair_purity(s.criterion, w_left, total * s.b_unit)
        + pair_purity(s.criterion, w_right, (s.total - total) * s.b_unit)
    )


cdef inline f64_t purity(Judge* s) noexcept nogil:
    if s.n_classes > 0:
        return classes_purity(
            s.criterion, s.hist, s.n_classes, s.weight, s.w_unit)
    return pair_purity(
        s.criterion, s.weight * s.w_unit, s.total * s.b_unit)


def choose(
    int criterion,
    f64_t w_unit,
    f64_t b_unit,
    f64_t min_weight_leaf,
    f64_t min_impurity_decrease,
    f64_t root_weight,
    i64_t[:, ::1] work,
    const i64_t[::1] weight,
    const i64_t[::1] total,
    i64_t[:, ::1] hist,
    const i64_t[::1] cut_start,
    const i32_t[::1] cut_feature,
    const f32_t[::1] cut,
    const u8_t[::1] with_missing,
    const i64_t[::1] cut_weight,
    const i64_t[::1] cut_total,
    const i64_t[:, ::1] cut_hist,
    const u8_t[::1] task_found,
    const u8_t[::1] task_default,
    const i64_t[::1] task_weight,
    const i64_t[::1] task_total,
    const i64_t[:, ::1] task_hist,
    i32_t[::1] feature,
    f32_t[::1] threshold,
    u8_t[::1] default_left,
    i64_t[::1] left_weight,
    i64_t[::1] left_total,
    i64_t[:, ::1] left_hist,
):
    """Take the best split of each node; its feature is -1 if there is none.

    Parameters
    ----------
    work : int64 array of shape (2, n_classes)
        Anything.
    weight, total, hist : arrays by node
        Sums of the node; those that the kind of label has not are None.
    cut_start : int64 array of shape (n_nodes + 1,)
        Where each node's cuts begin; these come as `draw_cuts` gives them.
    cut_weight, cut_total, cut_hist : arrays by cut
        Sums of the rows at or below the cut.
    task_found, task_default, task_weight, task_total, task_hist : arrays by node
        Of `cut_tasks`.
    feature, threshold, default_left, left_weight, left_total, left_hist : by node
        To be filled.
    """
    cdef Judge s
    cdef intp_t i, c, k, n_classes = 0 if hist is None else hist.shape[1]
    cdef i64_t r, last, w, t, missing_weight, missing_total
    cdef f64_t best, value
    cdef bint to_left
    cdef int n_sides
    s.criterion = <Criterion>criterion
    s.n_classes = n_classes
    s.w_unit, s.b_unit = w_unit, b_unit
    s.min_weight_leaf = min_weight_leaf
    s.total = 0
    s.hist = s.left = s.right = NULL
    if n_classes > 0:
        s.left, s.right = &work[0, 0], &work[1, 0]
    with nogil:
        for i in range(weight.shape[0]):
            s.weight = weight[i]
            if n_classes > 0:
                s.hist = &hist[i, 0]
            else:
                s.total = total[i]
            best = -INFINITY
            feature[i] = LEAF
            for r in range(cut_start[i], cut_start[i + 1]):
                missing_weight = missing_total = 0
                last = r
                if with_missing[r] and cut[r] != INFINITY:
                    while cut[last] != INFINITY:  # where the values are known
                        last += 1
                    missing_weight = weight[i] - cut_weight[last]
                    if n_classes == 0:
                        missing_total = total[i] - cut_total[last]
                n_sides = 2 if last > r else 1
                for k in range(n_sides):  # missing values right, then left
                    w = cut_weight[r] + k * missing_weight
                    t = 0
                    if n_classes == 0:
                        t = cut_total[r] + k * missing_total
                    for c in range(n_classes):
                        s.left[c] = cut_hist[r, c]
                        if k > 0:
                            s.left[c] += hist[i, c] - cut_hist[last, c]
                    to_left = k > 0
                    if not with_missing[r]:
                        # A NaN that comes later goes where most of the weight went.
                        to_left = 2 * w > weight[i]
                    value = score(&s, w, t)
                    if value > best:
                        best = value
                        feature[i] = cut_feature[r]
                        threshold[i] = cut[r]
                        default_left[i] = to_left
                        left_weight[i] = w
                        if n_classes == 0:
                            left_total[i] = t
                        for c in range(n_classes):
                            left_hist[i, c] = s.left[c]
            if task_found[i]:
                for c in range(n_classes):
                    s.left[c] = task_hist[i, c]
                t = 0 if n_classes > 0 else task_total[i]
                value = score(&s, task_weight[i], t)
                if value > best:
                    best = value
                    feature[i] = TASK_SPLIT
                    threshold[i] = 0.5
                    default_left[i] = task_default[i]
                    left_weight[i] = task_weight[i]
                    if n_classes == 0:
                        left_total[i] = t
                    for c in range(n_classes):
                        left_hist[i, c] = s.left[c]
            if feature[i] != LEAF and min_impurity_decrease > 0:
                value = (best - purity(&s)) / root_weight
                if s.criterion == GINI and n_classes == 0:
                    value *= 2  # two classes: see _criteria.pxd
                if not value + EPSILON >= min_impurity_decrease:
                    feature[i] = LEAF


def impurities(
    int criterion,
    const i64_t[::1] weight,
    const i64_t[::1] total,
    const i64_t[:, ::1] hist,
    f64_t w_unit,
    f64_t b_unit,
    f64_t[::1] out,
):
    """Impurity of nodes of classes, from their sums; 0 for numbers."""
    cdef intp_t i
    with nogil:
        for i in range(weight.shape[0]):
            if hist is not None:
                out[i] = classes_impurity(
                    <Criterion>criterion, &hist[i, 0], hist.shape[1], weight[i])
            elif criterion == VARIANCE:
                out[i] = 0
            else:
                out[i] = pair_impurity(
                    <Criterion>criterion, weight[i] * w_unit, total[i] * b_unit)
