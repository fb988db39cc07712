"""The search for the two-task stump of a round, for predictions that are scores (MH).

A row of a task with K labels has K weights, one for each label; that of its own label
is for it, the others are against theirs. The best scores of a branch leave of its
weight 2 sum_l sqrt(W+ W-), where W+ and W- are the weights for and against label l.
The *edge* of a stump is what its scores take away. Weights are whole numbers in
float64, with a sum of 2^50 at most: sums are exact, so neither the order of the rows
nor the number of threads decides anything.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memset

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.boosting.stumps._stumps cimport (
    Cells, Root, Roots, edge_of_cut, start_of
)


cdef class LabelWeights:
    """Weights of all rows for each label of their task.

    Parameters
    ----------
    first : intp array of shape (n_tasks + 1,)
        Where the weights of each task begin; those of a row stand together.
    n_labels : int32 array of shape (n_tasks,)
        Labels of each task.
    label : int32 array of shape (n_rows,), or None
        Label of each row, counted within its task. None: a row is a sum of rows, with
        weights for each label and then against each.
    weight : float64 array
        Whole numbers.
    """

    cdef const intp_t[::1] first
    cdef const i32_t[::1] n_labels
    cdef const i32_t[::1] label
    cdef const f64_t[::1] weight
    cdef intp_t most  # labels
    cdef bint are_sums

    def __init__(self, first, n_labels, label, weight):
        self.first = first
        self.n_labels = n_labels
        self.label = label
        self.weight = weight
        self.most = max(n_labels)
        self.are_sums = label is None


cdef inline void add(f64_t* sums, LabelWeights labels, Cells cells, i32_t task,
                     i64_t row) noexcept nogil:
    """Add a row: K sums of weight for the labels, then K against them."""
    cdef intp_t k, K = labels.n_labels[task]
    cdef i64_t place = row - cells.task_indptr[task]
    cdef const f64_t* weight
    cdef i32_t label
    if labels.are_sums:
        weight = &labels.weight[labels.first[task] + place * 2 * K]
        for k in range(2 * K):
            sums[k] += weight[k]
        return
    weight = &labels.weight[labels.first[task] + place * K]
    label = labels.label[row]
    for k in range(K):
        sums[K + k] += weight[k]
    sums[K + label] -= weight[label]
    sums[label] += weight[label]


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
    cdef f64_t* work = <f64_t*>calloc(4 * labels.most, sizeof(f64_t))
    if work == NULL:
        raise MemoryError()
    with nogil:
        for g in range(first, last):
            _roots_of(cells, g, labels, &total[cells.group_task[g], 0], roots, work)
    free(work)


cdef void _roots_of(Cells cells, intp_t g, LabelWeights labels, const f64_t* total,
                    Roots roots, f64_t* work) noexcept nogil:
    cdef i64_t below = start_of(cells, g), above = cells.part_end[g, 0]
    cdef i64_t lost = cells.part_end[g, 1], end = cells.part_end[g, 2], e, row
    cdef i32_t t = cells.group_task[g]
    cdef intp_t K = labels.n_labels[t]
    cdef f64_t* missing = work
    cdef f64_t* zero = work + 2 * K  # also the sums of a walk: it begins by copying
    cdef Root root
    root.task = t
    root.feature = cells.group_feature[g]
    memset(work, 0, 4 * K * sizeof(f64_t))
    for e in range(lost, end):
        row = cells.entry[e] >> 1
        add(missing, labels, cells, t, row)
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
        add(sums, labels, cells, t, row)
        if cells.entry[e] & 1:
            root.edge = edge_of_cut(sums, total, K)
            if root.edge >= roots.bar(t):
                other = cells.bins[e + 1] if e + 1 < last else cells.group_common[g]
                root.cut = (cells.bins[e] + other) >> 1
                roots.offer(root)


# --------------------------------------------------------------------- children

def task_sums(Cells cells, LabelWeights labels, const u8_t[::1] side,
              f64_t[:, ::1] total):
    """Sums by task.

    Parameters
    ----------
    cells : Cells
        The table.
    labels : LabelWeights
        The weights.
    side : uint8 array of shape (n_rows,), or None
        1 for rows that count; None is all of them.
    total : float64 array of shape (n_tasks, 2 * most labels)
        Added to: for the labels of each task, then against them.
    """
    cdef intp_t i
    cdef i32_t t
    cdef bint every = side is None
    with nogil:
        for t in range(<i32_t>cells.n_tasks):
            for i in range(cells.task_indptr[t], cells.task_indptr[t + 1]):
                if every or side[i]:
                    add(&total[t, 0], labels, cells, t, i)


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
        Sums of the left branch, then of the right one.
    closed_task : int
        Task that the children may not be of; -1 is none.
    edge, group : float64 and int32 arrays of shape (2,), filled
        Edge and group of the best stump of each branch; -1 if there is none.
    """
    cdef intp_t g, s
    cdef f64_t[2] found
    cdef f64_t* work = <f64_t*>calloc(8 * labels.most, sizeof(f64_t))
    if work == NULL:
        raise MemoryError()
    with nogil:
        for s in range(2):
            edge[s] = group[s] = -1
        for g in range(first, last):
            if cells.group_task[g] == closed_task:
                continue
            _children_of(cells, g, labels, &side[0], total, found, work)
            for s in range(2):
                if found[s] > edge[s]:
                    edge[s] = found[s]
                    group[s] = <i32_t>g
    free(work)


cdef void _children_of(Cells cells, intp_t g, LabelWeights labels, const u8_t* side,
                       const f64_t[:, :, ::1] total, f64_t* found,
                       f64_t* work) noexcept nogil:
    cdef i64_t below = start_of(cells, g), above = cells.part_end[g, 0]
    cdef i64_t lost = cells.part_end[g, 1], end = cells.part_end[g, 2], e, row
    cdef i32_t t = cells.group_task[g]
    cdef intp_t K = labels.n_labels[t], s
    cdef f64_t* missing = work
    cdef f64_t* sums = work + 4 * K
    memset(work, 0, 8 * K * sizeof(f64_t))
    for e in range(lost, end):
        row = cells.entry[e] >> 1
        add(missing + (0 if side[row] else 2 * K), labels, cells, t, row)
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
        add(sums + s * 2 * K, labels, cells, t, row)
        changed[s] = True
        if cells.entry[e] & 1:
            for s in range(2):
                if changed[s]:
                    edge = edge_of_cut(sums + s * 2 * K, &total[s, t, 0], K)
                    found[s] = max(found[s], edge)
                    changed[s] = False


# ------------------------------------------------------------------------- bins

def histogram(Cells cells, i32_t task, i32_t feature, LabelWeights labels,
              const u8_t[::1] side, i32_t branch, u8_t[::1] bins, f64_t[:, ::1] out):
    """Sums of the rows of a task by bin of a feature.

    Parameters
    ----------
    cells : Cells
        The table.
    task, feature : int
        Which.
    labels : LabelWeights
        The weights.
    side : uint8 array of shape (n_rows,)
        1 for rows in the left branch of the root.
    branch : int
        Which rows count: those of side 1 or 0, or all if -1.
    bins : uint8 array of shape (n_rows,), overwritten
        Memory to work in.
    out : float64 array of shape (256, 2 * most labels + 2)
        Added to: weights for the labels of the task and against them; in the last
        columns, all of these, and the number of rows.
    """
    cdef intp_t i, b, k, last = out.shape[1] - 1
    with nogil:
        cells.fill_bins(feature, task, &bins[0])
        for i in range(cells.task_indptr[task], cells.task_indptr[task + 1]):
            if branch < 0 or side[i] == branch:
                add(&out[bins[i], 0], labels, cells, task, i)
                out[bins[i], last] += 1
        for b in range(256):
            for k in range(2 * labels.n_labels[task]):
                out[b, last - 1] += out[b, k]
