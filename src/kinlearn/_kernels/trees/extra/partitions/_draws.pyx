"""The driver's part of growth level by level: what to request, which split to take.

A node draws from its own stream in the order that tests/reference/extra_trees.py
tells, so the splits are those of _grow_forest.pyx. Which feature comes next depends on
which of those before are constant at the node. So the driver requests the features
that come if none is (`foresee`), draws when it has their extremes (`draw_cuts`), and
requests more for the few nodes at which one turned out to be constant. `choose` takes
the best split by the sums of the cuts and of the tasks.

The functions take records of arrays, which kinlearn.trees.extra.partitions has.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.string cimport memset

from kinlearn._kernels._random cimport (
    derive_stream, next_below, next_uniform, skip
)
from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
)
from kinlearn._kernels.trees.extra._split cimport (
    LEAF, TASK_SPLIT, Candidates, Draws, Settings, begin_draws, begin_search,
    draw_feature, drawn_mean, is_split, node_impurity, node_mean, offer, offer_present,
    offer_sides, random_cut, read_settings, task_cut, undo_draws
)


def child_keys(const u64_t[::1] key, u64_t side, u64_t[::1] out):
    """Keys of the left (1) or right (2) children of nodes."""
    cdef intp_t i
    for i in range(key.shape[0]):
        out[i] = derive_stream(key[i], side)


# ----------------------------------------------------------------------------
# Drawing
# ----------------------------------------------------------------------------

cdef class Drawing:
    """Memory for the draws of nodes; the same at the end of every call."""

    cdef Draws draws
    cdef i32_t[:, ::1] memory
    cdef u8_t[::1] constant
    cdef i32_t* place  # of a feature among the node's requests, or -1

    def __init__(self, intp_t n_features):
        self.memory = np.full((3, n_features), -1, dtype=np.int32)
        self.constant = np.zeros(n_features, dtype=np.uint8)
        for k in range(n_features):
            self.memory[0, k] = k
        self.draws = Draws(
            n_features, 0, 0, &self.memory[0, 0], &self.memory[1, 0], &self.constant[0])
        self.place = &self.memory[2, 0]


cdef inline void begin_node(
    Draws* d, const u64_t[:, ::1] constant, intp_t i
) noexcept nogil:
    # `constant` has a bit for each feature.
    cdef intp_t k, n_constants = 0
    for k in range(d.n_features):
        d.constant[k] = (constant[i, k >> 6] >> (k & 63)) & 1
        n_constants += d.constant[k]
    begin_draws(d, n_constants)


def foresee(
    nodes, settings, Drawing drawing, i32_t[:, ::1] feature, u8_t[::1] wants_task
):
    """The features that nodes draw, and whether they try a task split, if none of the
    features that may vary is constant.

    Parameters
    ----------
    nodes : OpenNodes
        The nodes.
    settings : Settings
        How to grow.
    drawing : Drawing
        Memory.
    feature : int32 array of shape (n_nodes, max_features)
        To be filled; -1 where there are not so many.
    wants_task : uint8 array of shape (n_nodes,)
        To be filled.
    """
    cdef const u64_t[::1] key = nodes.key
    cdef const u64_t[:, ::1] constant = nodes.constant
    cdef Settings how = read_settings(settings)
    cdef Draws* d = &drawing.draws
    cdef u64_t stream
    cdef intp_t i, k, n
    cdef i32_t f
    with nogil:
        for i in range(key.shape[0]):
            stream = key[i]
            begin_node(d, constant, i)
            n = 0
            while n < how.max_features:
                f = draw_feature(d, &stream)
                if f < 0:
                    break
                feature[i, n] = f
                n += 1
                skip(&stream, how.n_cuts)
            undo_draws(d)
            for k in range(n, how.max_features):
                feature[i, k] = -1
            wants_task[i] = next_uniform(&stream) < how.task_split_prob or n == 0


def draw_cuts(
    drawn,
    settings,
    Drawing drawing,
    const i64_t[::1] request_start,
    const i32_t[::1] requested,
    const f32_t[::1] low,
    const f32_t[::1] high,
    const u8_t[::1] missing,
):
    """Draw the cuts of nodes from the extremes of the features they requested.

    `drawn`, a `NodeDraws`, is filled. Its `stream` holds the nodes' keys, and
    afterwards what their streams have become. Node i gets the first ``n_found[i]`` of
    ``feature[i]`` and ``cut[i]``; where values are missing, the feature has a last cut
    at infinity, and `with_missing` is 1. Features found to be constant are added to
    `constant`. A node is `short` if it draws a feature that it did not request; its
    stream is then its key again.
    """
    cdef u64_t[::1] stream = drawn.stream
    cdef u64_t[:, ::1] constant = drawn.constant
    cdef i64_t[::1] n_found = drawn.n_found
    cdef i32_t[:, ::1] feature = drawn.feature
    cdef f32_t[:, ::1] cut = drawn.cut
    cdef u8_t[:, ::1] with_missing = drawn.with_missing
    cdef u8_t[::1] wants_task = drawn.wants_task
    cdef u8_t[::1] short = drawn.short
    cdef Settings how = read_settings(settings)
    cdef Draws* d = &drawing.draws
    cdef i32_t* place = drawing.place
    cdef u64_t key
    cdef intp_t i, n, n_varying
    cdef i64_t r
    cdef i32_t f, _k
    with nogil:
        for i in range(stream.shape[0]):
            key = stream[i]
            for r in range(request_start[i], request_start[i + 1]):
                place[requested[r]] = <i32_t>(r - request_start[i])
            begin_node(d, constant, i)
            n = n_varying = 0
            short[i] = 0
            while n_varying < how.max_features:
                f = draw_feature(d, &stream[i])
                if f < 0:
                    break
                if place[f] < 0:
                    short[i] = 1
                    break
                r = request_start[i] + place[f]
                if not (low[r] < high[r] or low[r] == high[r] and missing[r]):
                    constant[i, f >> 6] |= <u64_t>1 << (f & 63)
                    continue
                n_varying += 1
                if low[r] < high[r]:
                    for _k in range(how.n_cuts):
                        feature[i, n] = f
                        cut[i, n] = random_cut(low[r], high[r], &stream[i])
                        with_missing[i, n] = missing[r]
                        n += 1
                if missing[r]:
                    feature[i, n] = f
                    cut[i, n] = INFINITY
                    with_missing[i, n] = 1
                    n += 1
            undo_draws(d)
            for r in range(request_start[i], request_start[i + 1]):
                place[requested[r]] = -1
            if short[i]:
                stream[i] = key
                n_found[i] = 0
            else:
                n_found[i] = n
                wants_task[i] = (
                    next_uniform(&stream[i]) < how.task_split_prob or n_varying == 0)


# ----------------------------------------------------------------------------
# Choosing
# ----------------------------------------------------------------------------

cdef class Sums:
    """Sums of weights and labels, by node, by cut or by group of rows."""

    cdef const i64_t[::1] weight
    cdef const i64_t[::1] total
    cdef const i64_t[:, ::1] hist

    def __init__(self, weight, total, hist):
        self.weight, self.total, self.hist = weight, total, hist


cdef class NodeJudge:
    """The sums and units of nodes, one after the other as candidates for a split."""

    cdef Candidates node
    cdef Sums sums
    cdef const i32_t[::1] tree
    cdef const f64_t[::1] w_unit
    cdef const f64_t[::1] b_unit
    cdef const i64_t[::1] root_weight
    cdef i64_t[:, ::1] memory

    def __init__(self, nodes, totals, settings):
        memset(&self.node, 0, sizeof(Candidates))
        self.sums = Sums(nodes.weight, nodes.total, nodes.hist)
        self.tree = nodes.tree
        self.w_unit, self.b_unit = totals.w_unit, totals.b_unit
        self.root_weight = totals.weight
        self.node.settings = read_settings(settings)
        if self.sums.hist is not None:
            self.node.n_classes = self.sums.hist.shape[1]
            self.memory = np.empty((3, self.node.n_classes), dtype=np.int64)
            self.node.left_hist = &self.memory[0, 0]
            self.node.right_hist = &self.memory[1, 0]
            self.node.missing_hist = &self.memory[2, 0]

    cdef Candidates* at(self, intp_t i) noexcept nogil:
        cdef i32_t tree = self.tree[i]
        self.node.w_unit, self.node.b_unit = self.w_unit[tree], self.b_unit[tree]
        self.node.whole_weight = self.root_weight[tree] * self.w_unit[tree]
        self.node.weight = self.sums.weight[i]
        if self.node.n_classes > 0:
            self.node.hist = <i64_t*>&self.sums.hist[i, 0]
        else:
            self.node.total = self.sums.total[i]
        return &self.node


def impurities(nodes, totals, settings, f64_t[::1] out):
    """Impurity of nodes of classes, from their sums; 0 for numbers."""
    cdef NodeJudge judge = NodeJudge(nodes, totals, settings)
    cdef intp_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = node_impurity(judge.at(i))


cdef void offer_cuts(
    Candidates* node, Sums sums, i64_t first, i64_t last, const i32_t[::1] feature,
    const f32_t[::1] cut, const u8_t[::1] with_missing,
) noexcept nogil:
    # The cuts of one node, as `draw_cuts` gives them; `sums` are those of the rows at
    # or below each.
    cdef i64_t r, known, missing_weight = 0, missing_total = 0
    cdef intp_t c
    for r in range(first, last):
        if with_missing[r] and (r == first or feature[r] != feature[r - 1]):
            known = r
            while cut[known] != INFINITY:  # where the values are known
                known += 1
            missing_weight = node.weight - sums.weight[known]
            if node.n_classes == 0:
                missing_total = node.total - sums.total[known]
            for c in range(node.n_classes):
                node.missing_hist[c] = node.hist[c] - sums.hist[known, c]
        if cut[r] == INFINITY:
            offer_present(node, feature[r], missing_weight, missing_total)
            continue
        for c in range(node.n_classes):
            node.left_hist[c] = sums.hist[r, c]
        offer_sides(
            node, feature[r], cut[r], with_missing[r], sums.weight[r],
            0 if node.n_classes > 0 else sums.total[r], missing_weight, missing_total,
        )


cdef intp_t drawn_class(const Candidates* node, u64_t* stream) noexcept nogil:
    # One of the classes present.
    cdef intp_t c, n = 0
    for c in range(node.n_classes):
        n += node.hist[c] > 0
    n = <intp_t>next_below(stream, n)
    for c in range(node.n_classes):
        if node.hist[c] > 0:
            if n == 0:
                return c
            n -= 1
    return 0


cdef struct TaskCut:
    f64_t cut
    f64_t mean
    i32_t split_class


cdef bint offer_tasks(
    Candidates* node, Sums sums, const i32_t[::1] group, i64_t first, i64_t last,
    u64_t* stream, f64_t[::1] phi, u8_t[::1] goes_left, TaskCut* made,
) noexcept nogil:
    # Draw a cut between the tasks' means. A group is a task or, with histograms, a
    # class of a task (the task times the number of classes, plus the class), ascending.
    cdef intp_t n_each = max(node.n_classes, <intp_t>1), positive = 0, c
    cdef i64_t start = first, g, w, b
    cdef f64_t unit, gamma, low = INFINITY, high = -INFINITY, mean, cut
    if node.n_classes > 0:
        positive = drawn_class(node, stream)
    gamma = node_mean(node, positive, &unit)
    while start < last:
        w = b = 0
        g = start
        while g < last and group[g] // n_each == group[start] // n_each:
            w += sums.weight[g]
            if node.n_classes == 0:
                b += sums.total[g]
            elif group[g] % n_each == positive:
                b += sums.weight[g]
            g += 1
        mean = drawn_mean(
            b * unit, w * node.w_unit, gamma, node.settings.task_smoothing)
        low, high = min(low, mean), max(high, mean)
        while start < g:
            phi[start] = mean
            start += 1
    if not low < high:
        return False
    cut = task_cut(low, high, stream)
    made[0] = TaskCut(cut, gamma, <i32_t>positive if node.n_classes > 0 else 1)
    w = b = 0
    for c in range(node.n_classes):
        node.left_hist[c] = 0
    for g in range(first, last):
        goes_left[g] = phi[g] < cut
        if goes_left[g]:
            w += sums.weight[g]
            if node.n_classes > 0:
                node.left_hist[group[g] % n_each] += sums.weight[g]
            else:
                b += sums.total[g]
    offer(node, TASK_SPLIT, 0.5, gamma < cut, w, b)
    return True


def choose(nodes, totals, settings, draws, cuts, cut_sums, groups, splits):
    """Take the best split of each node; its feature is -1 if there is none.

    Parameters
    ----------
    nodes : OpenNodes
        The nodes, with their sums; those that the kind of label has not are None.
    totals : Totals
        Of the trees.
    settings : Settings
        How to grow.
    draws : NodeDraws
        What the nodes drew; the streams go on.
    cuts : CutRequest
        The cuts of `draws`, end to end.
    cut_sums : dict of arrays
        Sums of the rows at or below each cut.
    groups : Groups
        Sums by task at the nodes that try a task split.
    splits : Splits
        To be filled, but for the tasks on each side.

    Returns
    -------
    uint8 array of shape (n_groups,)
        Whether the group's task goes left.
    """
    cdef NodeJudge judge = NodeJudge(nodes, totals, settings)
    cdef Sums of_cuts = Sums(
        cut_sums["weight"], cut_sums.get("total"), cut_sums.get("hist"))
    cdef Sums of_groups = Sums(groups.weight, groups.total, None)
    cdef u64_t[::1] stream = draws.stream
    cdef const f64_t[::1] center = totals.center
    cdef const i64_t[::1] cut_start = cuts.start
    cdef const i32_t[::1] cut_feature = cuts.feature
    cdef const f32_t[::1] cut = cuts.cut
    cdef const u8_t[::1] with_missing = draws.flat(draws.with_missing)
    cdef const i64_t[::1] group_start = groups.start
    cdef const i32_t[::1] group = groups.group
    cdef i32_t[::1] feature = splits.feature
    cdef f32_t[::1] threshold = splits.threshold
    cdef u8_t[::1] default_left = splits.default_left
    cdef i64_t[::1] left_weight = splits.weight
    cdef i64_t[::1] left_total = splits.total
    cdef i64_t[:, ::1] left_hist = splits.hist
    cdef f64_t[::1] split_cut = splits.split_cut
    cdef f64_t[::1] split_mean = splits.split_mean
    cdef i32_t[::1] split_class = splits.split_class
    cdef f64_t[::1] phi = np.empty(group.shape[0])
    cdef u8_t[::1] goes_left = np.zeros(group.shape[0], dtype=np.uint8)
    cdef Candidates* node
    cdef TaskCut made
    cdef intp_t i
    with nogil:
        for i in range(stream.shape[0]):
            node = judge.at(i)
            if node.n_classes > 0:
                node.best_hist = &left_hist[i, 0]
            begin_search(node)
            offer_cuts(
                node, of_cuts, cut_start[i], cut_start[i + 1], cut_feature, cut,
                with_missing,
            )
            if group_start[i] < group_start[i + 1] and offer_tasks(
                node, of_groups, group, group_start[i], group_start[i + 1], &stream[i],
                phi, goes_left, &made,
            ):
                split_cut[i] = made.cut + center[judge.tree[i]]
                split_mean[i] = made.mean + center[judge.tree[i]]
                split_class[i] = made.split_class
            if not is_split(node):
                feature[i] = LEAF
                continue
            feature[i] = node.best.feature
            threshold[i] = node.best.threshold
            default_left[i] = node.best.default_left
            left_weight[i] = node.best.weight
            if node.n_classes == 0:
                left_total[i] = node.best.total
    return np.asarray(goes_left)
