"""Passes over the rows of one partition, for growth level by level.

The driver (_draws.pyx) requests extremes and sums of the open nodes, which those of
other partitions are added to. The rows of a node are a stretch of ``order[tree]``, as
in _grow_forest.pyx, and stay in ascending order. Many of the open nodes have no row in
this partition: their stretch is empty, and costs nothing but a look.

Weights `w` and labels `b` have one row for all trees or, of bootstrap samples, one for
each tree.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t
)
from kinlearn._kernels._vectors cimport (
    PADDING, gather, left_counts, left_sums
)
from kinlearn._kernels.trees.extra._rows cimport (
    copy_rows, left_histogram, left_weighted_sums, partition_rows
)
from kinlearn._kernels.trees.extra._split cimport LEAF, TASK_SPLIT


cdef intp_t longest(const i32_t[::1] start, const i32_t[::1] end) noexcept nogil:
    cdef intp_t i, n = 0
    for i in range(start.shape[0]):
        n = max(n, <intp_t>(end[i] - start[i]))
    return n


cdef void* memory_for(intp_t n, size_t size) except NULL:
    cdef void* memory = malloc((n + PADDING + 1) * size)
    if memory == NULL:
        raise MemoryError("no memory for the rows of a node")
    return memory


def move_rows(
    const f32_t[:, ::1] columns,
    const i32_t[::1] task,
    intp_t n_tasks,
    i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    const i32_t[::1] feature,
    const f32_t[::1] threshold,
    const u8_t[::1] default_left,
    const i64_t[::1] exception_start,
    const i32_t[::1] exceptions,
    const i32_t[::1] left,
    const i32_t[::1] right,
    i32_t[:, ::1] opened,
    i32_t[:, ::1] closed,
):
    """Carry out the splits of the open nodes.

    Node i splits by ``feature[i]`` or by task; then tasks in
    ``exceptions[exception_start[i]:exception_start[i + 1]]`` go against the default
    side. A side is the open node ``left[i]`` of the next level, or, if that is
    negative, the leaf ``-1 - left[i]``. A node that is a leaf itself has the feature
    -1, and `left` says which. Rows of ``opened[:, k]`` and ``closed[:, k]`` become the
    ends of the stretch of open node or leaf k.
    """
    cdef intp_t i, j, n, n_left, first, _k
    cdef i64_t e
    cdef f32_t cut, low, high
    cdef i32_t* rows
    cdef intp_t most = longest(start, end)
    cdef f32_t* x = NULL
    cdef i32_t* spare = NULL
    cdef u8_t* against = NULL
    cdef i32_t side[2]
    cdef intp_t ends[3]
    try:
        x = <f32_t*>memory_for(most, sizeof(f32_t))
        spare = <i32_t*>memory_for(most, sizeof(i32_t))
        against = <u8_t*>memory_for(n_tasks, sizeof(u8_t))
        memset(against, 0, n_tasks)
        with nogil:
            for i in range(start.shape[0]):
                first, n = start[i], end[i] - start[i]
                if n == 0:
                    continue
                if feature[i] == LEAF:
                    closed[0, -1 - left[i]] = <i32_t>first
                    closed[1, -1 - left[i]] = <i32_t>(first + n)
                    continue
                rows = &order[tree[i], first]
                cut = threshold[i]
                if feature[i] == TASK_SPLIT:
                    for e in range(exception_start[i], exception_start[i + 1]):
                        against[exceptions[e]] = 1
                    for j in range(n):
                        # left is 0, to be cut at 0.5
                        x[j] = against[task[rows[j]]] == default_left[i]
                    for e in range(exception_start[i], exception_start[i + 1]):
                        against[exceptions[e]] = 0
                else:
                    gather(&columns[feature[i], 0], 1, rows, n, x, &low, &high)
                    if default_left[i]:
                        for j in range(n):
                            x[j] = -INFINITY if x[j] != x[j] else x[j]
                n_left = partition_rows(rows, x, n, cut, spare)
                side[0], side[1] = left[i], right[i]
                ends[0], ends[1], ends[2] = first, first + n_left, first + n
                for _k in range(2):
                    if side[_k] >= 0:
                        opened[0, side[_k]] = <i32_t>ends[_k]
                        opened[1, side[_k]] = <i32_t>ends[_k + 1]
                    else:
                        closed[0, -1 - side[_k]] = <i32_t>ends[_k]
                        closed[1, -1 - side[_k]] = <i32_t>ends[_k + 1]
    finally:
        free(x)
        free(spare)
        free(against)


def take_rows(
    const f32_t[:, :] columns,
    const i32_t[::1] rows,
    f32_t[:, ::1] out,
    intp_t at,
):
    """Copy the values of some rows to ``out[:, at:]``, feature by feature.

    In `columns` the values of a feature lie together, or those of a row, which is
    faster: otherwise few of the values that come from memory are wanted.
    """
    cdef intp_t f, i, n = rows.shape[0], d = columns.shape[0]
    cdef const f32_t* source
    cdef const i32_t* row
    cdef f32_t* target
    if n == 0 or d == 0:
        return
    if at < 0 or at + n > out.shape[1] or out.shape[0] != d:
        raise ValueError("these rows do not fit")
    row = &rows[0]
    with nogil:
        if columns.strides[0] == sizeof(f32_t) and d > 1:
            copy_rows(
                &columns[0, 0], columns.strides[1] // sizeof(f32_t), d, row, n,
                &out[0, at], out.shape[1],
            )
        else:
            for f in range(d):
                source, target = &columns[f, 0], &out[f, at]
                for i in range(n):
                    target[i] = source[row[i]]


def extremes(
    const f32_t[:, ::1] columns,
    const u8_t[::1] has_missing,
    const i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    const i64_t[::1] request_start,
    const i32_t[::1] feature,
    f32_t[::1] low,
    f32_t[::1] high,
    u8_t[::1] missing,
):
    """Least and greatest value of the features that each node requests.

    `low` and `high` stay inf and -inf where there is no value; `missing` becomes 1
    where there is a NaN. Request r of node i is in
    ``request_start[i] <= r < request_start[i + 1]``.
    """
    cdef intp_t i, j, n
    cdef i64_t r
    cdef f32_t* x = <f32_t*>memory_for(longest(start, end), sizeof(f32_t))
    with nogil:
        for i in range(start.shape[0]):
            n = end[i] - start[i]
            for r in range(request_start[i], request_start[i + 1]):
                low[r], high[r], missing[r] = INFINITY, -INFINITY, 0
                if n == 0:
                    continue
                gather(
                    &columns[feature[r], 0], 1, &order[tree[i], start[i]], n, x,
                    &low[r], &high[r],
                )
                if has_missing[feature[r]]:
                    for j in range(n):
                        if x[j] != x[j]:
                            missing[r] = 1
                            break
    free(x)


def number_extremes(
    const f64_t[::1] number,
    const i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    f64_t[::1] low,
    f64_t[::1] high,
):
    """Least and greatest number to predict in each node; inf and -inf if none."""
    cdef intp_t i, j
    cdef f64_t value
    with nogil:
        for i in range(start.shape[0]):
            low[i], high[i] = INFINITY, -INFINITY
            for j in range(start[i], end[i]):
                value = number[order[tree[i], j]]
                low[i] = min(low[i], value)
                high[i] = max(high[i], value)


def sums_left(
    const f32_t[:, ::1] columns,
    const i32_t[::1] y,
    const i64_t[:, ::1] b,
    const i64_t[:, ::1] w,
    intp_t n_classes,
    const i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    const i64_t[::1] cut_start,
    const i32_t[::1] feature,
    const f32_t[::1] cut,
    i64_t[::1] weight,
    i64_t[::1] total,
    i64_t[:, ::1] hist,
):
    """Sums over the rows at or below each cut; never those where the value is NaN.

    Labels come as in ``grow_tree``. With `n_classes`, `hist` is filled instead of
    `total`. All must be zero before.
    """
    cdef intp_t i, j, n, most = longest(start, end)
    cdef i64_t r
    cdef const i32_t* rows
    cdef f32_t low, high
    cdef f32_t* x = NULL
    cdef i32_t* near_y = NULL
    cdef i64_t* near_b = NULL
    cdef i64_t* near_w = NULL
    try:
        x = <f32_t*>memory_for(most, sizeof(f32_t))
        near_y = <i32_t*>memory_for(most, sizeof(i32_t))
        near_b = <i64_t*>memory_for(most, sizeof(i64_t))
        near_w = <i64_t*>memory_for(most, sizeof(i64_t))
        with nogil:
            for i in range(start.shape[0]):
                n = end[i] - start[i]
                if n == 0 or cut_start[i] == cut_start[i + 1]:
                    continue
                rows = &order[tree[i], start[i]]
                if y is not None:
                    for j in range(n):
                        near_y[j] = y[rows[j]]
                if b is not None:
                    for j in range(n):
                        near_b[j] = b[tree[i] if b.shape[0] > 1 else 0, rows[j]]
                if w is not None:
                    for j in range(n):
                        near_w[j] = w[tree[i] if w.shape[0] > 1 else 0, rows[j]]
                for r in range(cut_start[i], cut_start[i + 1]):
                    if r == cut_start[i] or feature[r] != feature[r - 1]:
                        gather(&columns[feature[r], 0], 1, rows, n, x, &low, &high)
                    if n_classes > 0:
                        weight[r] = left_histogram(
                            x, near_y, near_w if w is not None else NULL, n, cut[r],
                            &hist[r, 0],
                        )
                    elif b is None:
                        left_counts(x, near_y, n, cut[r], &weight[r], &total[r])
                    elif w is None:
                        left_sums(x, near_b, n, cut[r], &weight[r], &total[r])
                    else:
                        left_weighted_sums(
                            x, near_w, near_b, n, cut[r], &weight[r], &total[r])
    finally:
        free(x)
        free(near_y)
        free(near_b)
        free(near_w)


def sums_by_task(
    const i32_t[::1] y,
    const i64_t[:, ::1] b,
    const i64_t[:, ::1] w,
    intp_t n_classes,
    const i32_t[::1] task,
    intp_t n_tasks,
    const i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    const u8_t[::1] wanted,
    i64_t[::1] key,
    i64_t[::1] weight,
    i64_t[::1] total,
):
    """Sums of each task, with `n_classes` of each class of it, at the wanted nodes.

    Returns how many there are. They fill `key` (the node times the number of groups,
    plus the group), `weight` and `total`; a group is a task, or a class of a task.
    These arrays have an entry for every row at these nodes.
    """
    cdef intp_t n_each = max(n_classes, <intp_t>1)
    cdef intp_t n_groups = n_tasks * n_each
    cdef intp_t i, j, n = 0, first
    cdef i64_t group
    cdef i32_t row
    cdef i64_t* place = <i64_t*>memory_for(n_groups, sizeof(i64_t))
    with nogil:
        for group in range(n_groups):
            place[group] = -1
        for i in range(start.shape[0]):
            if not wanted[i]:
                continue
            first = n
            for j in range(start[i], end[i]):
                row = order[tree[i], j]
                group = task[row] * n_each
                if n_classes > 0:
                    group += y[row]
                if place[group] < 0:
                    place[group] = n
                    key[n] = i * n_groups + group
                    weight[n] = 0
                    total[n] = 0
                    n += 1
                weight[place[group]] += 1 if w is None else w[
                    tree[i] if w.shape[0] > 1 else 0, row]
                if b is not None:
                    total[place[group]] += b[
                        tree[i] if b.shape[0] > 1 else 0, row]
                elif n_classes == 0:
                    total[place[group]] += y[row]
            for j in range(first, n):
                place[key[j] - i * n_groups] = -1
    free(place)
    return n


def moments(
    const f64_t[::1] number,
    const f64_t[:, ::1] row_weight,
    const i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    f64_t[::1] weight,
    f64_t[::1] total,
    f64_t[::1] squares,
):
    """Weight, sum, and sum of squares about the mean, of each leaf's numbers."""
    cdef intp_t i, j
    cdef f64_t each, mean
    cdef i32_t row
    with nogil:
        for i in range(start.shape[0]):
            weight[i], total[i], squares[i] = 0, 0, 0
            for j in range(start[i], end[i]):
                row = order[tree[i], j]
                each = 1.0 if row_weight is None else row_weight[
                    tree[i] if row_weight.shape[0] > 1 else 0, row]
                weight[i] += each
                total[i] += each * number[row]
            mean = total[i] / weight[i] if weight[i] > 0 else 0
            for j in range(start[i], end[i]):
                row = order[tree[i], j]
                each = 1.0 if row_weight is None else row_weight[
                    tree[i] if row_weight.shape[0] > 1 else 0, row]
                squares[i] += each * (number[row] - mean) * (number[row] - mean)
