"""The search for the two-task stump of a round, for predictions that are signs (MTAA).

A row has a signed weight: its weight times its label, -1 or +1, as a whole number.
The absolute values sum to 2^30 at most, so every sum here fits 32 bits and is exact:
neither the order of the rows nor the number of threads decides anything. The *edge* of
a stump is the weight of its right predictions less that of its wrong ones: the sum over
its branches of the absolute signed weight, since each predicts the heavier label.
"""

from libc.stdlib cimport calloc, free, malloc

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u32_t
from kinlearn._kernels.boosting.stumps._stumps cimport Cells, Root, Roots, start_of


cdef extern from "boosting/stumps/_lanes.h" nogil:
    enum:
        ROOTS "KINLEARN_ROOTS"

    ctypedef struct Extremes "kinlearn_extremes":
        i32_t[2][16] low
        i32_t[2][16] high

    bint has_avx2 "kinlearn_has_avx2" () noexcept
    void walk "kinlearn_walk" (
        bint avx2, const i32_t* entry, intp_t n, const i32_t* weight,
        const i32_t* lanes, const i32_t* start, i32_t all, Extremes* out) noexcept
    void keep_better "kinlearn_keep_better" (
        const Extremes* met, int side, const i32_t* total, const i32_t* closed,
        i32_t group, i32_t* best, i32_t* best_group) noexcept

N_LANES = ROOTS
HAS_AVX2 = has_avx2()


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
    cdef i64_t below = start_of(cells, g), above = cells.part_end[g, 0]
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

def fill_lanes(Cells cells, const Root[::1] roots, const i32_t[::1] weight,
               i32_t[:, ::1] lanes, i32_t[:, ::1] lane_total):
    """Signed weights on the left of up to sixteen roots.

    Parameters
    ----------
    cells : Cells
        The table.
    roots : structured array of shape (n_roots,)
        The roots.
    weight : int32 array of shape (n_rows,)
        Signed weights.
    lanes : int32 array of shape (n_rows, 16), filled
        The weight where a root sends the row to the left, otherwise 0.
    lane_total : int32 array of shape (n_tasks, 16), filled
        Sums of `lanes` by task.
    """
    cdef intp_t i, c, t, n = cells.n_rows
    cdef u8_t* side = <u8_t*>malloc(n + 1)
    cdef u32_t* sides = <u32_t*>calloc(n + 1, sizeof(u32_t))
    if side == NULL or sides == NULL:
        free(side)
        free(sides)
        raise MemoryError()
    with nogil:
        lane_total[:, :] = 0
        for c in range(roots.shape[0]):
            for t in range(cells.n_tasks):
                cells.send(roots[c].feature, roots[c].cut, roots[c].missing_left,
                           <i32_t>t, side)
            for i in range(n):
                sides[i] |= <u32_t>side[i] << <u32_t>c
        for t in range(cells.n_tasks):
            for i in range(cells.task_indptr[t], cells.task_indptr[t + 1]):
                for c in range(ROOTS):
                    lanes[i, c] = weight[i] & -<i32_t>((sides[i] >> <u32_t>c) & 1)
                    lane_total[t, c] += lanes[i, c]
    free(side)
    free(sides)


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
    cdef i64_t below = start_of(cells, g), above = cells.part_end[g, 0]
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


# ------------------------------------------------------------------------- bins

def histogram(Cells cells, i32_t task, i32_t feature, const i32_t[::1] weight,
              const u8_t[::1] side, i32_t branch, u8_t[::1] bins, f64_t[:, ::1] out):
    """Sums of the rows of a task by bin of a feature.

    Parameters
    ----------
    cells : Cells
        The table.
    task, feature : int
        Which.
    weight : int32 array of shape (n_rows,)
        Signed weights.
    side : uint8 array of shape (n_rows,)
        1 for rows in the left branch of the root.
    branch : int
        Which rows count: those of side 1 or 0, or all if -1.
    bins : uint8 array of shape (n_rows,), overwritten
        Memory to work in.
    out : float64 array of shape (256, 3)
        Added to: signed weights, their magnitudes, and the number of rows.
    """
    cdef intp_t i
    with nogil:
        cells.fill_bins(feature, task, &bins[0])
        for i in range(cells.task_indptr[task], cells.task_indptr[task + 1]):
            if branch < 0 or side[i] == branch:
                out[bins[i], 0] += weight[i]
                out[bins[i], 1] += magnitude(weight[i])
                out[bins[i], 2] += 1
