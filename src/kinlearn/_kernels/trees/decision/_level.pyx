"""Multi-task trees level by level: passes over one part of the rows, and the driver's.

A part counts the cells of the bins of a feature at a node; the sums of all parts tell
the driver the node's best cut, by the same scan as in _mt_tree_split.pyx. The rows of
a node are a stretch of ``order[tree]`` and stay in ascending order.
"""

import numpy as np

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from kinlearn._kernels._random cimport next_below
from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
from kinlearn._kernels.trees.decision._split cimport (
    MISSING, N_BINS, Search, Split, try_entries
)


def count_cells(
    const u8_t[::1, :] bins,
    const i32_t[::1] cells,
    const i64_t[::1] weights,
    const i32_t[:, ::1] counts,
    const i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    const i64_t[::1] request_start,
    const i32_t[::1] feature,
    intp_t n_cells,
    i64_t[::1] key,
    i64_t[::1] weight,
    i64_t[::1] rows,
):
    """Weight and number of rows of each cell in each bin of the requested features.

    Node i requests ``feature[request_start[i]:request_start[i + 1]]``; the feature -1
    has the one bin 0. A row of tree t weighs ``weights[row] * counts[t, row]``; either
    may be None, for 1. The sums of request r, bin b and cell c get the key
    ``(r * 256 + b) * n_cells + c``; those of a bin come next to each other.

    Returns
    -------
    int
        Number of sums.
    """
    cdef intp_t i, k, n, at = 0
    cdef i64_t r, w
    cdef i32_t b, c, row
    cdef const i32_t* stretch
    cdef bint has_weights = weights is not None, has_counts = counts is not None
    cdef intp_t most = max(np.subtract(end, start).max(initial=0), 1)
    cdef i32_t[::1] next_row = np.empty(most, dtype=np.int32)
    cdef i32_t[::1] touched = np.empty(min(n_cells, most), dtype=np.int32)
    cdef i64_t[::1] cell_weight = np.zeros(n_cells, dtype=np.int64)
    cdef i64_t[::1] cell_rows = np.zeros(n_cells, dtype=np.int64)
    cdef i32_t n_touched, t
    cdef i32_t head[N_BINS]
    with nogil:
        for i in range(start.shape[0]):
            n = end[i] - start[i]
            if n == 0:
                continue
            stretch = &order[tree[i], start[i]]
            for r in range(request_start[i], request_start[i + 1]):
                memset(head, -1, sizeof(head))
                for k in range(n):
                    b = 0 if feature[r] < 0 else bins[stretch[k], feature[r]]
                    next_row[k] = head[b]
                    head[b] = <i32_t>k
                for b in range(N_BINS):
                    n_touched = 0
                    k = head[b]
                    while k >= 0:
                        row = stretch[k]
                        c = cells[row]
                        w = weights[row] if has_weights else 1
                        if has_counts:
                            w = w * counts[tree[i], row]
                        if cell_rows[c] == 0:
                            touched[n_touched] = c
                            n_touched += 1
                        cell_weight[c] += w
                        cell_rows[c] += 1
                        k = next_row[k]
                    for t in range(n_touched):
                        c = touched[t]
                        key[at] = (r * N_BINS + b) * n_cells + c
                        weight[at] = cell_weight[c]
                        rows[at] = cell_rows[c]
                        cell_weight[c] = cell_rows[c] = 0
                        at += 1
    return at


def move_bins(
    const u8_t[::1, :] bins,
    const i32_t[::1] cells,
    const i32_t[::1] cell_task,
    intp_t n_tasks,
    i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    const i32_t[::1] feature,
    const i32_t[::1] cut,
    const u8_t[::1] missing_left,
    const i32_t[:, ::1] child,
    const i64_t[::1] gone_start,
    const i32_t[::1] gone,
    i32_t[:, ::1] opened,
):
    """Carry out the splits of the open nodes.

    Node i sends bins up to ``cut[i]`` of ``feature[i]`` to ``child[0, i]``, the number
    of an open node of the next level, and the others to ``child[1, i]``; the rows of a
    child -1 are done with. So are those of the tasks
    ``gone[gone_start[k]:gone_start[k + 1]]`` in the open node k of the next level.
    ``opened[:, k]`` becomes the ends of its stretch.
    """
    cdef intp_t i, j, n_left, n_right
    cdef i64_t e
    cdef i32_t row, side, k
    cdef u8_t b
    cdef i32_t* rows
    cdef intp_t most = max(np.subtract(end, start).max(initial=0), 1)
    cdef i32_t* spare = <i32_t*>malloc(most * sizeof(i32_t))
    # which children a task has left, as bits: 1 the left one, 2 the right one
    cdef u8_t* leaves = <u8_t*>malloc(max(n_tasks, 1))
    try:
        if spare == NULL or leaves == NULL:
            raise MemoryError("no memory for the rows of a node")
        memset(leaves, 0, n_tasks)
        with nogil:
            for i in range(start.shape[0]):
                if end[i] == start[i] or (child[0, i] < 0 and child[1, i] < 0):
                    continue
                rows = &order[tree[i], start[i]]
                for side in range(2):
                    k = child[side, i]
                    if k >= 0:
                        for e in range(gone_start[k], gone_start[k + 1]):
                            leaves[gone[e]] |= 1 << side
                n_left = n_right = 0
                for j in range(end[i] - start[i]):
                    row = rows[j]
                    b = bins[row, feature[i]]
                    if b == MISSING:
                        side = not missing_left[i]
                    else:
                        side = b > cut[i]
                    if child[side, i] < 0 or leaves[cell_task[cells[row]]] >> side & 1:
                        continue
                    if side == 0:
                        rows[n_left] = row
                        n_left += 1
                    else:
                        spare[n_right] = row
                        n_right += 1
                memcpy(rows + n_left, spare, n_right * sizeof(i32_t))
                if child[0, i] >= 0:
                    opened[0, child[0, i]] = start[i]
                    opened[1, child[0, i]] = start[i] + <i32_t>n_left
                if child[1, i] >= 0:
                    opened[0, child[1, i]] = start[i] + <i32_t>n_left
                    opened[1, child[1, i]] = start[i] + <i32_t>(n_left + n_right)
                for side in range(2):
                    k = child[side, i]
                    if k >= 0:
                        for e in range(gone_start[k], gone_start[k + 1]):
                            leaves[gone[e]] = 0
    finally:
        free(spare)
        free(leaves)


def drawn_features(u64_t stream, i32_t[::1] out):
    """All features in the order in which the node of a stream draws them."""
    cdef intp_t k, j, n = out.shape[0]
    with nogil:
        for k in range(n):
            out[k] = <i32_t>k
        for k in range(n):
            j = k + <intp_t>next_below(&stream, <u64_t>(n - k))
            out[k], out[j] = out[j], out[k]


def best_cut(
    const i64_t[::1] request_start,
    const i32_t[::1] feature,
    const i32_t[::1] n_bins,
    const i32_t[::1] bins,
    const i32_t[::1] cell,
    const i64_t[::1] weight,
    const i64_t[::1] rows,
    const i64_t[::1] cell_total,
    const i32_t[::1] cell_group,
    const i64_t[::1] group_total,
    intp_t n_rows,
    i32_t criterion,
    intp_t min_samples_leaf,
    i64_t min_weight_leaf,
    intp_t max_features,
):
    """The best cut of a node by sums over bins and cells, feature by feature.

    Parameters
    ----------
    request_start : int64 array of shape (n_requests + 1,)
        Where the sums of each feature begin.
    feature : int32 array of shape (n_requests,)
        Features in the order in which they are tried.
    n_bins : int32 array of shape (n_features,)
        Bins of each feature.
    bins, cell : int32 arrays of shape (n_sums,)
        Bin, ascending in each request, and cell as numbered within the node.
    weight, rows : int64 arrays of shape (n_sums,)
        The sums.
    cell_total, cell_group, group_total : arrays of the node's cells and tasks
        Weights, and the task of each cell as numbered within the node. Under the joint
        criterion there is one group.
    n_rows, criterion, min_samples_leaf, min_weight_leaf, max_features : int
        Rows of the node, and the settings.

    Returns
    -------
    n_tried : int
        Features that are not constant here; no more are looked at than `max_features`.
    found : tuple or None
        Number of the request, bin, `missing_left`, `has_missing` and gain.
    """
    cdef intp_t r, first, found = -1, n_tried = 0
    cdef intp_t n_cells = cell_total.shape[0], n_groups = group_total.shape[0]
    cdef i32_t before
    cdef Search s
    cdef Split best
    cdef i64_t[::1] left_cell = np.zeros(n_cells, dtype=np.int64)
    cdef i64_t[::1] left_group = np.zeros(n_groups, dtype=np.int64)
    cdef f64_t[::1] reduction = np.zeros(n_groups, dtype=np.float64)
    cdef i32_t[::1] touched = np.zeros(n_groups, dtype=np.int32)
    cdef i32_t[::1] is_touched = np.zeros(n_groups, dtype=np.int32)
    s.n_rows = n_rows
    s.n_cells = <i32_t>n_cells
    s.n_groups = <i32_t>n_groups
    s.cell_total = &cell_total[0]
    s.cell_group = &cell_group[0]
    s.group_total = &group_total[0]
    s.total = 0
    s.criterion = criterion
    s.min_samples_leaf = min_samples_leaf
    s.min_weight_leaf = min_weight_leaf
    s.left_cell = &left_cell[0]
    s.left_group = &left_group[0]
    s.reduction = &reduction[0]
    s.touched = &touched[0]
    s.is_touched = &is_touched[0]
    s.n_touched = 0
    best.gain = best.second = -1.0
    best.feature = -1
    with nogil:
        for r in range(n_cells):
            s.total += cell_total[r]
        s.inv_total = 1.0 / <f64_t>s.total
        for r in range(feature.shape[0]):
            first = request_start[r]
            before = best.feature
            if request_start[r + 1] == first:
                continue
            n_tried += try_entries(
                &s, request_start[r + 1] - first, &bins[first], &cell[first],
                &weight[first], &rows[first], feature[r], n_bins[feature[r]], &best)
            if best.feature != before:
                found = r
            if n_tried == max_features:
                break
    if found < 0:
        return n_tried, None
    return n_tried, (found, best.bin, bool(best.missing_left), bool(best.has_missing),
                     best.gain)
