"""The search for the two-task stump of a round, for answers that are signs (MTAA).

A row has a signed weight: its weight times its label, -1 or +1, as a whole number.
The absolute values sum to 2^30 at most, so every sum here fits 32 bits and is exact:
neither the order of the rows nor the number of threads decides anything. The *edge* of
a stump is the weight of its right answers less that of its wrong ones: the sum over its
branches of the absolute signed weight, since each answers with the heavier label.
"""

import numpy as np

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u32_t
from kinlearn._kernels.boosting.stumps._stumps cimport Cells, Root, Roots
from kinlearn._kernels.boosting.stumps._lanes cimport (
    ROOTS, Extremes, has_avx2, keep_better, walk
)

N_LANES = ROOTS
HAS_AVX2 = has_avx2()

CUT = np.dtype([
    ("edge", np.int64), ("cut", np.int32), ("missing_left", np.int32),
    ("left", np.int32), ("right", np.int32),
])


cdef inline i64_t magnitude(i64_t x) noexcept nogil:
    return -x if x < 0 else x


# ------------------------------------------------------------------------ roots

def find_roots(Cells cells, intp_t first, intp_t last, const i32_t[::1] weight,
               const i32_t[::1] task_total, Roots roots):
    """Offer every stump of some groups as a root.

    Parameters
    ----------
    cells : Cells
        The table.
    first, last : int
        Groups to look at.
    weight : int32 array of shape (n_rows,)
        Signed weights.
    task_total : int32 array of shape (n_tasks,)
        Their sums.
    roots : Roots
        Keeps those that are chosen.
    """
    cdef intp_t g
    with nogil:
        for g in range(first, last):
            _roots_of(cells, g, &weight[0], task_total[cells.group_task[g]], roots)


cdef void _roots_of(Cells cells, intp_t g, const i32_t* weight, i64_t total,
                    Roots roots) noexcept nogil:
    cdef i64_t below = cells.start(g), above = cells.part_end[g, 0]
    cdef i64_t lost = cells.part_end[g, 1], end = cells.part_end[g, 2], e
    cdef i64_t missing = 0
    cdef Root root
    root.task = cells.group_task[g]
    root.feature = cells.group_feature[g]
    if lost == end:  # nothing is missing here: the heavier side will have it
        root.missing_left = -1
        _offer_cuts(cells, g, below, above, 0, weight, total, &root, roots)
        _offer_cuts(cells, g, above, lost, 0, weight, total, &root, roots)
        return
    for e in range(lost, end):
        missing += weight[cells.entry[e] >> 1]
    root.missing_left = 0
    root.cut = cells.n_bins[root.feature] - 1  # the missing ones apart
    root.edge = magnitude(missing) + magnitude(total - missing)
    roots.offer(&root)
    _offer_cuts(cells, g, below, above, 0, weight, total, &root, roots)
    _offer_cuts(cells, g, above, lost, missing, weight, total, &root, roots)
    root.missing_left = 1
    _offer_cuts(cells, g, below, above, missing, weight, total, &root, roots)
    _offer_cuts(cells, g, above, lost, 0, weight, total, &root, roots)


cdef void _offer_cuts(Cells cells, intp_t g, i64_t first, i64_t last, i64_t start,
                      const i32_t* weight, i64_t total, Root* root,
                      Roots roots) noexcept nogil:
    """Follow a part; each cut lies in the middle of the bins that are empty."""
    cdef i64_t a = start, edge, e
    cdef i32_t other
    cdef f64_t bar = roots.bar(root.task)
    for e in range(first, last):
        a += weight[cells.entry[e] >> 1]
        edge = magnitude(a) + magnitude(total - a)
        # One condition: where bins end is hard to guess, what is good enough is not.
        if (cells.entry[e] & 1) & (edge >= bar):
            root.edge = <f64_t>edge
            other = cells.bins[e + 1] if e + 1 < last else cells.group_common[g]
            root.cut = (cells.bins[e] + other) >> 1
            roots.offer(root)
            bar = roots.bar(root.task)


# --------------------------------------------------------------------- children

def fill_lanes(Cells cells, i32_t[::1] task, i32_t[::1] feature, i32_t[::1] cut,
               i32_t[::1] missing_left, const i32_t[::1] weight, u8_t[::1] side,
               u32_t[::1] sides, i32_t[:, ::1] lanes, i32_t[:, ::1] lane_total):
    """Signed weights on the left of up to sixteen roots.

    Parameters
    ----------
    cells : Cells
        The table.
    task, feature, cut, missing_left : int32 arrays of shape (n_roots,)
        The roots; where `missing_left` is -1, it becomes the heavier side of the
        root's task.
    weight : int32 array of shape (n_rows,)
        Signed weights.
    side, sides : uint8 and uint32 arrays of shape (n_rows,), overwritten
        Memory to work in.
    lanes : int32 array of shape (n_rows, 16), filled
        The weight where a root sends the row to the left, otherwise 0.
    lane_total : int32 array of shape (n_tasks, 16), filled
        Sums of `lanes` by task.
    """
    cdef intp_t i, c, t, n = cells.n_rows
    cdef i64_t balance
    with nogil:
        sides[:] = 0
        lane_total[:, :] = 0
        for c in range(task.shape[0]):
            if missing_left[c] < 0:
                t = task[c]
                cells.send(feature[c], cut[c], False, <i32_t>t, &side[0])
                balance = 0
                for i in range(cells.task_indptr[t], cells.task_indptr[t + 1]):
                    balance += (magnitude(weight[i]) if side[i]
                                else -magnitude(weight[i]))
                missing_left[c] = balance >= 0
            for t in range(cells.n_tasks):
                cells.send(feature[c], cut[c], missing_left[c], <i32_t>t, &side[0])
            for i in range(n):
                sides[i] |= <u32_t>side[i] << <u32_t>c
        for t in range(cells.n_tasks):
            for i in range(cells.task_indptr[t], cells.task_indptr[t + 1]):
                for c in range(ROOTS):
                    lanes[i, c] = weight[i] & -<i32_t>((sides[i] >> <u32_t>c) & 1)
                    lane_total[t, c] += lanes[i, c]


def find_children(Cells cells, intp_t first, intp_t last, const i32_t[::1] weight,
                  const i32_t[::1] task_total, const i32_t[:, ::1] lanes,
                  const i32_t[:, ::1] lane_total, const i32_t[::1] closed_task,
                  bint avx2, i32_t[:, ::1] edge, i32_t[:, ::1] group):
    """The best stump below each branch of up to sixteen roots.

    Parameters
    ----------
    cells : Cells
        The table.
    first, last : int
        Groups to look at.
    weight, task_total : int32 arrays
        Signed weights, and their sums by task.
    lanes, lane_total : int32 arrays
        As `fill_lanes` fills them.
    closed_task : int32 array of shape (16,)
        Task that the children of each root may not be of; -1 is none.
    avx2 : bool
        Whether to use these instructions.
    edge, group : int32 arrays of shape (2, 16), filled
        Edge and group of the best stump of each branch; -1 if there is none.
    """
    cdef intp_t g
    cdef i32_t c, t, before = -1
    cdef i32_t[2][ROOTS] total
    cdef i32_t[ROOTS] closed
    with nogil:
        edge[:, :] = -1
        group[:, :] = -1
        for g in range(first, last):
            t = cells.group_task[g]
            if t != before:
                before = t
                for c in range(ROOTS):
                    closed[c] = -<i32_t>(closed_task[c] == t)
                    total[0][c] = lane_total[t, c]
                    total[1][c] = task_total[t] - lane_total[t, c]
            _children_of(cells, g, &weight[0], &lanes[0, 0], total, closed, avx2,
                         &edge[0, 0], &group[0, 0])


cdef void _children_of(Cells cells, intp_t g, const i32_t* weight,
                       const i32_t* lanes, i32_t[ROOTS]* total,
                       const i32_t* closed, bint avx2, i32_t* edge,
                       i32_t* group) noexcept nogil:
    cdef i64_t below = cells.start(g), above = cells.part_end[g, 0]
    cdef i64_t lost = cells.part_end[g, 1], end = cells.part_end[g, 2], e, row
    cdef const i32_t* entry = &cells.entry[0]
    cdef Extremes met
    cdef i32_t[ROOTS] missing
    cdef i32_t[ROOTS] zero
    cdef i32_t all_missing = 0, c, s
    for c in range(ROOTS):
        zero[c] = missing[c] = 0
        for s in range(2):
            met.low[s][c] = met.high[s][c] = 0
    walk(avx2, entry + below, above - below, weight, lanes, zero, 0, &met)
    walk(avx2, entry + above, lost - above, weight, lanes, zero, 0, &met)
    if lost < end:  # and with the missing ones on the side of the walk
        for e in range(lost, end):
            row = entry[e] >> 1
            all_missing += weight[row]
            for c in range(ROOTS):
                missing[c] += lanes[row * ROOTS + c]
        for c in range(ROOTS):
            met.low[0][c] = min(met.low[0][c], missing[c])
            met.high[0][c] = max(met.high[0][c], missing[c])
            met.low[1][c] = min(met.low[1][c], all_missing - missing[c])
            met.high[1][c] = max(met.high[1][c], all_missing - missing[c])
        walk(avx2, entry + below, above - below, weight, lanes, missing,
             all_missing, &met)
        walk(avx2, entry + above, lost - above, weight, lanes, missing,
             all_missing, &met)
    for s in range(2):
        keep_better(&met, s, total[s], closed, <i32_t>g, edge + s * ROOTS,
                    group + s * ROOTS)


# ----------------------------------------------------------------- the best cut

cdef packed struct Cut:
    i64_t edge
    i32_t cut
    i32_t missing_left
    i32_t left
    i32_t right


def best_cut(Cells cells, intp_t g, const i32_t[::1] weight, const u8_t[::1] inside,
             Cut[::1] out):
    """The best cut of a group among some rows, in the middle of its gap.

    Parameters
    ----------
    cells : Cells
        The table.
    g : int
        The group.
    weight : int32 array of shape (n_rows,)
        Signed weights.
    inside : uint8 array of shape (n_rows,)
        1 for the rows that count.
    out : structured array of shape (1,), filled
        Edge, cut, where missing values go, and the signs of both sides. If no cut
        is better than none, all is on the left.
    """
    cdef i64_t[256] sums
    cdef i64_t[256] sizes
    cdef i64_t[256] counts
    cdef i32_t t = cells.group_task[g], common = cells.group_common[g]
    cdef i32_t n_bins = cells.n_bins[cells.group_feature[g]]
    cdef intp_t i, b
    cdef i64_t e, total = 0, w
    with nogil:
        for b in range(256):
            sums[b] = sizes[b] = counts[b] = 0
        for i in range(cells.task_indptr[t], cells.task_indptr[t + 1]):
            if inside[i]:
                sums[common] += weight[i]
                sizes[common] += magnitude(weight[i])
                counts[common] += 1
        total = sums[common]
        for e in range(cells.start(g), cells.part_end[g, 2]):
            i = cells.entry[e] >> 1
            if inside[i]:
                w = weight[i]
                b = cells.bins[e]
                sums[b] += w
                sizes[b] += magnitude(w)
                counts[b] += 1
                sums[common] -= w
                sizes[common] -= magnitude(w)
                counts[common] -= 1
        out[0].edge = -1  # no cut comes first: a cut that gains nothing is not made
        _try_cut(total, total, n_bins - 1, True, &out[0])
        _scan_bins(sums, sizes, counts, n_bins, total, 0, &out[0])
        if counts[255]:
            _scan_bins(sums, sizes, counts, n_bins, total, 1, &out[0])


cdef void _scan_bins(const i64_t* sums, const i64_t* sizes, const i64_t* counts,
                     i32_t n_bins, i64_t total, bint missing_left,
                     Cut* best) noexcept nogil:
    cdef i64_t a = sums[255] if missing_left else 0
    cdef i64_t balance
    cdef i32_t b, last = -1, k
    for b in range(n_bins):
        if not counts[b]:
            continue
        if last >= 0:
            _try_cut(a, total, (last + b) >> 1, missing_left, best)
        a += sums[b]
        last = b
    if last >= 0:  # the missing ones apart
        _try_cut(a, total, n_bins - 1, missing_left, best)
    if not counts[255]:
        balance = 0
        for k in range(n_bins):
            balance += sizes[k] if k <= best.cut else -sizes[k]
        best.missing_left = balance >= 0


cdef inline void _try_cut(i64_t a, i64_t total, i32_t cut, bint missing_left,
                          Cut* best) noexcept nogil:
    cdef i64_t edge = magnitude(a) + magnitude(total - a)
    if edge > best.edge:
        best.edge = edge
        best.cut = cut
        best.missing_left = missing_left
        best.left = (a > 0) - (a < 0)
        best.right = (total - a > 0) - (total - a < 0)
