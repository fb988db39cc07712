"""The search for the two-task stump of a round, for answers that are scores (MH).

A row of a task with K labels has K weights, one for each label; that of its own label
is for it, the others are against theirs. The best scores of a branch leave of its
weight 2 sum_l sqrt(W+ W-), where W+ and W- are the weights for and against label l.
The *edge* of a stump is what its scores take away. Weights are whole numbers in
float64, with a sum of 2^50 at most: sums are exact, so neither the order of the rows
nor the number of threads decides anything.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.boosting.stumps._stumps cimport Cells, Root, Roots

BEST = np.dtype([("edge", np.float64), ("cut", np.int32), ("missing_left", np.int32)])

cdef packed struct Best:
    f64_t edge
    i32_t cut
    i32_t missing_left


cdef class LabelWeights:
    """Weights of all rows for each label of their task.

    Parameters
    ----------
    first : intp array of shape (n_tasks + 1,)
        Where the weights of each task begin; those of a row stand together.
    n_labels : int32 array of shape (n_tasks,)
        Labels of each task.
    label : int32 array of shape (n_rows,)
        Label of each row, counted within its task.
    weight : float64 array of shape (first[-1],)
        Whole numbers.
    """

    cdef const intp_t[::1] first
    cdef const i32_t[::1] n_labels
    cdef const i32_t[::1] label
    cdef const f64_t[::1] weight
    cdef intp_t most  # labels

    def __init__(self, first, n_labels, label, weight):
        self.first = first
        self.n_labels = n_labels
        self.label = label
        self.weight = weight
        self.most = max(n_labels)

    cdef const f64_t* of_row(self, Cells cells, i32_t task, i64_t row) noexcept nogil:
        return &self.weight[self.first[task]
                            + (row - cells.task_indptr[task]) * self.n_labels[task]]


cdef inline void add(f64_t* sums, const f64_t* weight, i32_t label,
                     intp_t K) noexcept nogil:
    """Add a row: K sums of weight for the labels, then K against them."""
    cdef intp_t k
    for k in range(K):
        sums[K + k] += weight[k]
    sums[K + label] -= weight[label]
    sums[label] += weight[label]


cdef inline f64_t edge_of_cut(const f64_t* a, const f64_t* total,
                              intp_t K) noexcept nogil:
    """What the scores of both sides take away, `a` being one of them."""
    cdef intp_t k
    cdef f64_t mass = 0.0, left = 0.0
    for k in range(K):
        mass += total[k] + total[K + k]
        left += (sqrt(a[k] * a[K + k])
                 + sqrt((total[k] - a[k]) * (total[K + k] - a[K + k])))
    return mass - 2.0 * left


# ------------------------------------------------------------------------ roots

def find_roots(Cells cells, intp_t first, intp_t last, LabelWeights labels,
               const f64_t[:, ::1] total, Roots roots):
    """Offer every stump of some groups as a root.

    Parameters
    ----------
    cells : Cells
        The table.
    first, last : int
        Groups to look at.
    labels : LabelWeights
        The weights.
    total : float64 array of shape (n_tasks, 2 * most labels)
        Sums of each task: for its K labels, then against them.
    roots : Roots
        Keeps those that are chosen.
    """
    cdef intp_t g
    cdef f64_t* room = <f64_t*>calloc(4 * labels.most, sizeof(f64_t))
    if room == NULL:
        raise MemoryError()
    with nogil:
        for g in range(first, last):
            _roots_of(cells, g, labels, &total[cells.group_task[g], 0], roots, room)
    free(room)


cdef void _roots_of(Cells cells, intp_t g, LabelWeights labels, const f64_t* total,
                    Roots roots, f64_t* room) noexcept nogil:
    cdef i64_t below = cells.start(g), above = cells.part_end[g, 0]
    cdef i64_t lost = cells.part_end[g, 1], end = cells.part_end[g, 2], e, row
    cdef i32_t t = cells.group_task[g]
    cdef intp_t K = labels.n_labels[t]
    cdef f64_t* missing = room
    cdef f64_t* zero = room + 2 * K  # also the sums of a walk: it begins by copying
    cdef Root root
    root.task = t
    root.feature = cells.group_feature[g]
    memset(room, 0, 4 * K * sizeof(f64_t))
    for e in range(lost, end):
        row = cells.entry[e] >> 1
        add(missing, labels.of_row(cells, t, row), labels.label[row], K)
    root.missing_left = -1 if lost == end else 0
    if lost < end:
        root.cut = cells.n_bins[root.feature] - 1  # the missing ones apart
        root.edge = edge_of_cut(missing, total, K)
        roots.offer(&root)
    _offer_cuts(cells, g, below, above, labels, NULL, total, &root, roots, zero)
    _offer_cuts(cells, g, above, lost, labels, missing, total, &root, roots, zero)
    if lost < end:
        root.missing_left = 1
        _offer_cuts(cells, g, below, above, labels, missing, total, &root, roots, zero)
        _offer_cuts(cells, g, above, lost, labels, NULL, total, &root, roots, zero)


cdef void _offer_cuts(Cells cells, intp_t g, i64_t first, i64_t last,
                      LabelWeights labels, const f64_t* start, const f64_t* total,
                      Root* root, Roots roots, f64_t* sums) noexcept nogil:
    """Follow a part; each cut lies in the middle of the bins that are empty."""
    cdef i64_t e, row
    cdef i32_t other, t = root.task
    cdef intp_t K = labels.n_labels[t], k
    for k in range(2 * K):
        sums[k] = start[k] if start != NULL else 0.0
    for e in range(first, last):
        row = cells.entry[e] >> 1
        add(sums, labels.of_row(cells, t, row), labels.label[row], K)
        if cells.entry[e] & 1:
            root.edge = edge_of_cut(sums, total, K)
            if root.edge >= roots.bar(t):
                other = cells.bins[e + 1] if e + 1 < last else cells.group_common[g]
                root.cut = (cells.bins[e] + other) >> 1
                roots.offer(root)


# --------------------------------------------------------------------- children

def branch_sums(Cells cells, LabelWeights labels, const u8_t[::1] side,
                f64_t[:, :, ::1] total):
    """Sums of both branches by task.

    Parameters
    ----------
    cells : Cells
        The table.
    labels : LabelWeights
        The weights.
    side : uint8 array of shape (n_rows,)
        1 for rows in the left branch.
    total : float64 array of shape (2, n_tasks, 2 * most labels), filled
        Of the left branch, then of the right one: for the labels, then against.
    """
    cdef intp_t i
    cdef i32_t t
    with nogil:
        total[:, :, :] = 0.0
        for t in range(<i32_t>cells.n_tasks):
            for i in range(cells.task_indptr[t], cells.task_indptr[t + 1]):
                add(&total[0 if side[i] else 1, t, 0], labels.of_row(cells, t, i),
                    labels.label[i], labels.n_labels[t])


def find_children(Cells cells, intp_t first, intp_t last, LabelWeights labels,
                  const u8_t[::1] side, const f64_t[:, :, ::1] total,
                  i32_t closed_task, f64_t[::1] edge, i32_t[::1] group):
    """The best stump below each branch of a root.

    Parameters
    ----------
    cells : Cells
        The table.
    first, last : int
        Groups to look at.
    labels : LabelWeights
        The weights.
    side : uint8 array of shape (n_rows,)
        1 for rows in the left branch.
    total : float64 array of shape (2, n_tasks, 2 * most labels)
        As `branch_sums` fills it.
    closed_task : int
        Task that the children may not be of; -1 is none.
    edge, group : float64 and int32 arrays of shape (2,), filled
        Edge and group of the best stump of each branch; -1 if there is none.
    """
    cdef intp_t g, s
    cdef f64_t[2] found
    cdef f64_t* room = <f64_t*>calloc(8 * labels.most, sizeof(f64_t))
    if room == NULL:
        raise MemoryError()
    with nogil:
        for s in range(2):
            edge[s] = group[s] = -1
        for g in range(first, last):
            if cells.group_task[g] == closed_task:
                continue
            _children_of(cells, g, labels, &side[0], total, found, room)
            for s in range(2):
                if found[s] > edge[s]:
                    edge[s] = found[s]
                    group[s] = <i32_t>g
    free(room)


cdef void _children_of(Cells cells, intp_t g, LabelWeights labels, const u8_t* side,
                       const f64_t[:, :, ::1] total, f64_t* found,
                       f64_t* room) noexcept nogil:
    cdef i64_t below = cells.start(g), above = cells.part_end[g, 0]
    cdef i64_t lost = cells.part_end[g, 1], end = cells.part_end[g, 2], e, row
    cdef i32_t t = cells.group_task[g]
    cdef intp_t K = labels.n_labels[t], s
    cdef f64_t* missing = room
    cdef f64_t* sums = room + 4 * K
    memset(room, 0, 8 * K * sizeof(f64_t))
    for e in range(lost, end):
        row = cells.entry[e] >> 1
        add(missing + (0 if side[row] else 2 * K), labels.of_row(cells, t, row),
            labels.label[row], K)
    for s in range(2):  # no cut is the least there can be, or the missing ones apart
        found[s] = edge_of_cut(missing + s * 2 * K, &total[s, t, 0], K)
    _walk(cells, below, above, t, labels, side, total, NULL, found, sums)
    _walk(cells, above, lost, t, labels, side, total, NULL, found, sums)
    if lost < end:
        _walk(cells, below, above, t, labels, side, total, missing, found, sums)
        _walk(cells, above, lost, t, labels, side, total, missing, found, sums)


cdef void _walk(Cells cells, i64_t first, i64_t last, i32_t t, LabelWeights labels,
                const u8_t* side, const f64_t[:, :, ::1] total, const f64_t* start,
                f64_t* found, f64_t* sums) noexcept nogil:
    cdef i64_t e, row
    cdef intp_t K = labels.n_labels[t], k, s
    cdef f64_t edge
    cdef bint[2] changed
    changed[0] = changed[1] = start != NULL
    for k in range(4 * K):
        sums[k] = start[k] if start != NULL else 0.0
    for e in range(first, last):
        row = cells.entry[e] >> 1
        s = 0 if side[row] else 1
        add(sums + s * 2 * K, labels.of_row(cells, t, row), labels.label[row], K)
        changed[s] = True
        if cells.entry[e] & 1:
            for s in range(2):
                if changed[s]:
                    edge = edge_of_cut(sums + s * 2 * K, &total[s, t, 0], K)
                    found[s] = max(found[s], edge)
                    changed[s] = False


# ----------------------------------------------------------------- the best cut

def best_cut(Cells cells, intp_t g, LabelWeights labels, const u8_t[::1] inside,
             f64_t[:, ::1] sums, Best[::1] out):
    """The best cut of a group among some rows, in the middle of its gap.

    Parameters
    ----------
    cells : Cells
        The table.
    g : int
        The group.
    labels : LabelWeights
        The weights.
    inside : uint8 array of shape (n_rows,)
        1 for the rows that count.
    sums : float64 array of shape (257, 2 * most labels), overwritten
        Memory to work in.
    out : structured array of shape (1,), filled
        Edge, cut, and where missing values go. If no cut is better than none, all
        is on the left.
    """
    cdef i64_t[256] counts
    cdef i32_t t = cells.group_task[g], common = cells.group_common[g]
    cdef i32_t n_bins = cells.n_bins[cells.group_feature[g]]
    cdef intp_t i, b, k, K = labels.n_labels[t]
    cdef i64_t e
    with nogil:
        sums[:, :] = 0.0
        for b in range(256):
            counts[b] = 0
        for i in range(cells.task_indptr[t], cells.task_indptr[t + 1]):
            if inside[i]:
                add(&sums[256, 0], labels.of_row(cells, t, i), labels.label[i], K)
                counts[common] += 1
        for e in range(cells.start(g), cells.part_end[g, 2]):
            i = cells.entry[e] >> 1
            if inside[i]:
                add(&sums[cells.bins[e], 0], labels.of_row(cells, t, i),
                    labels.label[i], K)
                counts[cells.bins[e]] += 1
                counts[common] -= 1
        for k in range(2 * K):
            sums[common, k] = sums[256, k]
            for b in range(256):
                if b != common:
                    sums[common, k] -= sums[b, k]
        # no cut comes first: a cut that gains nothing is not made
        out[0].edge = edge_of_cut(&sums[256, 0], &sums[256, 0], K)
        out[0].cut = n_bins - 1
        out[0].missing_left = True
        _scan_bins(sums, counts, n_bins, K, False, &out[0])
        if counts[255]:
            _scan_bins(sums, counts, n_bins, K, True, &out[0])
        else:
            out[0].missing_left = _left_is_heavier(sums, n_bins, K, out[0].cut)


cdef void _scan_bins(f64_t[:, ::1] sums, const i64_t* counts, i32_t n_bins, intp_t K,
                     bint missing_left, Best* best) noexcept nogil:
    """Cuts in ascending order; the sums of the bins become those of the left."""
    cdef i32_t b, last = -1
    cdef intp_t k
    for b in range(n_bins):
        if not counts[b]:
            continue
        if last >= 0:
            _try_cut(sums, last, (last + b) >> 1, K, missing_left, best)
        for k in range(2 * K):
            if last >= 0 and not missing_left:
                sums[b, k] += sums[last, k]
            elif missing_left:  # a second walk: they are sums already
                sums[b, k] += sums[255, k]
        last = b
    if last >= 0:  # the missing ones apart
        _try_cut(sums, last, n_bins - 1, K, missing_left, best)


cdef inline void _try_cut(f64_t[:, ::1] sums, i32_t left, i32_t cut, intp_t K,
                          bint missing_left, Best* best) noexcept nogil:
    cdef f64_t edge = edge_of_cut(&sums[left, 0], &sums[256, 0], K)
    if edge > best.edge * (1 + 1e-12):  # beyond rounding
        best.edge = edge
        best.cut = cut
        best.missing_left = missing_left


cdef bint _left_is_heavier(f64_t[:, ::1] sums, i32_t n_bins, intp_t K,
                           i32_t cut) noexcept nogil:
    """By sums of the left up to each bin that has rows."""
    cdef f64_t left = 0.0, total = 0.0, here
    cdef intp_t k
    cdef i32_t b
    for k in range(2 * K):
        total += sums[256, k]
    for b in range(cut + 1):
        here = 0.0
        for k in range(2 * K):
            here += sums[b, k]
        left = max(left, here)
    return 2.0 * left >= total
