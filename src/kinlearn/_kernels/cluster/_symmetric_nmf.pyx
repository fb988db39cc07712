"""Sweeps of coordinate descent for symmetric NMF with tasks.

Three forms of the affinity: dense, sparse, and as the product of the data (see
`sweep_terms`), which never makes the matrix. All change V and the sums that
belong to it, and return by how much the objective fell.

A row's part of the objective is minimised exactly, one coordinate at a time. With
everything but row v of V fixed, the objective is, up to a constant,

  f(v) = -2 b'v + v'Mv + 1/2 w (v'v)^2 + (s + v)'P(s + v),        v >= 0,

where b is the row of W V, M the Gram matrix of the other rows (weighted), w the weight
of the row's own diagonal cell, s the sums of the task's other rows, and P the penalty
on unequal shares. In one coordinate the derivative is a cubic without a square term
whose slope is positive, so there is one minimum.
"""

from libc.math cimport cbrt, fabs

from kinlearn._kernels._typedefs cimport f64_t, float_t, i32_t, intp_t

cdef enum:
    PASSES = 2  # over the coordinates of a row; more does not pay


cdef inline f64_t positive_root(f64_t w, f64_t p, f64_t q) noexcept nogil:
    """The root of w v^3 + p v + q with w, p >= 0, or 0 if it is negative."""
    cdef f64_t v = 0.0, step
    cdef int _i
    if q >= 0.0 or (w <= 0.0 and p <= 0.0):
        return 0.0
    # Both guesses lie right of the root, from where Newton's method on a convex
    # rising function falls towards it.
    if w > 0.0:
        v = cbrt(-q / w)
    if p > 0.0 and (w <= 0.0 or -q / p < v):
        v = -q / p
    for _i in range(60):
        step = (w * v * v * v + p * v + q) / (3.0 * w * v * v + p)
        v -= step
        if fabs(step) <= 1e-14 * v:
            break
    return v


cdef inline f64_t row_objective(
    const f64_t* v, const f64_t* b, const f64_t* gram, f64_t w, const f64_t* sums,
    const f64_t* penalty, intp_t k,
) noexcept nogil:
    cdef f64_t out = 0.0, norm = 0.0
    cdef intp_t j, m
    for j in range(k):
        norm += v[j] * v[j]
        out -= 2.0 * b[j] * v[j]
        for m in range(k):
            out += v[j] * gram[j * k + m] * v[m]
            out += (sums[j] + v[j]) * penalty[j * k + m] * (sums[m] + v[m])
    return out + 0.5 * w * norm * norm


cdef inline f64_t minimise_row(
    f64_t* v, const f64_t* b, const f64_t* gram, f64_t w, const f64_t* sums,
    const f64_t* penalty, intp_t k,
) noexcept nogil:
    """Improve v; by how much the objective fell."""
    cdef f64_t before = row_objective(v, b, gram, w, sums, penalty, k)
    cdef f64_t norm, p, q
    cdef intp_t j, m
    cdef int _i
    for _i in range(PASSES):
        for j in range(k):
            norm = 0.0
            q = -b[j]
            for m in range(k):
                q += penalty[j * k + m] * sums[m]
                if m != j:
                    norm += v[m] * v[m]
                    q += (gram[j * k + m] + penalty[j * k + m]) * v[m]
            p = w * norm + gram[j * k + j] + penalty[j * k + j]
            v[j] = positive_root(w, p, q)
    return before - row_objective(v, b, gram, w, sums, penalty, k)


cdef f64_t _update(
    intp_t i,
    intp_t t,
    f64_t[:, ::1] V,
    f64_t[:, :, ::1] gram,
    f64_t[:, ::1] sums,
    const f64_t[:, ::1] weight,
    const f64_t[:, :, ::1] penalty,
    const f64_t* b,
    f64_t* work,
) noexcept nogil:
    """Minimise row i and bring `gram` and `sums` up to date.

    `work` is of length k (k + 2); its first k numbers get the change of the row.
    """
    cdef intp_t k = V.shape[1], j, m, s
    cdef f64_t* old = work
    cdef f64_t* others = work + k
    cdef f64_t* rest = work + 2 * k
    cdef f64_t w = weight[t, t], fell
    for j in range(k):
        old[j] = V[i, j]
    for j in range(k):
        others[j] = sums[t, j] - old[j]
        for m in range(k):
            rest[j * k + m] = gram[t, j, m] - w * old[j] * old[m]
        if rest[j * k + j] < 0.0:  # by rounding
            rest[j * k + j] = 0.0
    fell = minimise_row(&V[i, 0], b, rest, w, others, &penalty[t, 0, 0], k)
    for j in range(k):
        sums[t, j] = others[j] + V[i, j]
        for m in range(k):
            rest[j * k + m] = V[i, j] * V[i, m] - old[j] * old[m]
    for s in range(weight.shape[0]):
        for j in range(k * k):
            (&gram[s, 0, 0])[j] += weight[t, s] * rest[j]
    for j in range(k):
        old[j] = V[i, j] - old[j]
    return fell


cdef inline f64_t _dot(const float_t* a, const f64_t* b, intp_t n) noexcept nogil:
    # Eight sums that the compiler keeps in vector registers; one sum would wait
    # for each addition.
    cdef f64_t sums[8]
    cdef f64_t out = 0.0
    cdef intp_t at = 0, u
    for u in range(8):
        sums[u] = 0.0
    while at + 8 <= n:
        for u in range(8):
            sums[u] += a[at + u] * b[at + u]
        at += 8
    while at < n:
        out += a[at] * b[at]
        at += 1
    for u in range(8):
        out += sums[u]
    return out


def sweep_dense(
    const float_t[:, ::1] W,
    const i32_t[::1] task,
    const intp_t[::1] order,
    f64_t[:, ::1] V,
    f64_t[:, ::1] columns,
    f64_t[:, :, ::1] gram,
    f64_t[:, ::1] sums,
    const f64_t[:, ::1] weight,
    const f64_t[:, :, ::1] penalty,
    f64_t[::1] work,
):
    """One sweep over the rows of a dense affinity.

    Parameters
    ----------
    W : array of shape (n, n)
        Affinity, symmetric, with a zero diagonal.
    task : int32 array of shape (n,)
        Task codes.
    order : intp array
        The rows that have a turn, in the order of their turns.
    V : array of shape (n, k), changed
        The factor.
    columns : array of shape (k, n), changed
        The same, column by column.
    gram : array of shape (n_tasks, k, k), changed
        Weighted Gram matrices, ``gram[t] = sum_s weight[t, s] V_s' V_s``.
    sums : array of shape (n_tasks, k), changed
        Sums of the rows of each task.
    weight : array of shape (n_tasks, n_tasks)
        Weight of a cell in the loss, by the tasks of its row and column.
    penalty : array of shape (n_tasks, k, k)
        Quadratic form in the sums of each task.
    work : array of shape (k * (k + 3),)
        Scratch.

    Returns
    -------
    float
        By how much the objective fell.
    """
    cdef intp_t n = V.shape[0], k = V.shape[1], i, j, r
    cdef f64_t fell = 0.0
    cdef f64_t* b = &work[k * (k + 2)]
    with nogil:
        for r in range(order.shape[0]):
            i = order[r]
            for j in range(k):
                b[j] = _dot(&W[i, 0], &columns[j, 0], n)
            fell += _update(i, task[i], V, gram, sums, weight, penalty, b, &work[0])
            for j in range(k):
                columns[j, i] = V[i, j]
    return fell


def sweep_sparse(
    const i32_t[::1] indptr,
    const i32_t[::1] indices,
    const float_t[::1] data,
    const i32_t[::1] task,
    const intp_t[::1] order,
    f64_t[:, ::1] V,
    f64_t[:, :, ::1] gram,
    f64_t[:, ::1] sums,
    const f64_t[:, ::1] weight,
    const f64_t[:, :, ::1] penalty,
    f64_t[::1] work,
):
    """One sweep over the rows of a sparse affinity (CSR); see `sweep_dense`."""
    cdef intp_t k = V.shape[1], i, j, r, e
    cdef f64_t fell = 0.0
    cdef f64_t* b = &work[k * (k + 2)]
    with nogil:
        for r in range(order.shape[0]):
            i = order[r]
            for j in range(k):
                b[j] = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                for j in range(k):
                    b[j] += data[e] * V[indices[e], j]
            fell += _update(i, task[i], V, gram, sums, weight, penalty, b, &work[0])
    return fell


cdef inline void _read(
    intp_t i,
    f64_t factor,
    const i32_t[::1] indptr,
    const i32_t[::1] places,
    const f64_t[:, ::1] values,
    const f64_t* totals,
    intp_t k,
    f64_t* b,
) noexcept nogil:
    """Add to row i of W V from totals; `places` are those of its entries."""
    cdef intp_t e, j
    cdef f64_t p, q
    cdef const f64_t* total
    for e in range(indptr[i], indptr[i + 1]):
        p, q = factor * values[e, 0], factor * values[e, 1]
        total = totals + 2 * k * <intp_t>places[e]
        for j in range(k):
            b[j] += p * total[k + j] + q * total[j]


cdef inline void _write(
    intp_t i,
    f64_t factor,
    const i32_t[::1] indptr,
    const i32_t[::1] places,
    const f64_t[:, ::1] values,
    const f64_t* change,
    intp_t k,
    f64_t* totals,
) noexcept nogil:
    """Add the change of row i of V to totals; `places` are those of its entries."""
    cdef intp_t e, j
    cdef f64_t p, q
    cdef f64_t* total
    for e in range(indptr[i], indptr[i + 1]):
        p, q = factor * values[e, 0], factor * values[e, 1]
        total = totals + 2 * k * <intp_t>places[e]
        for j in range(k):
            total[j] += p * change[j]
            total[k + j] += q * change[j]


def term_slots(
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const intp_t[::1] task_starts,
    const intp_t[::1] task_rows,
    i32_t[::1] last,
    i32_t[::1] slots,
):
    """Number the terms of every task, so that totals of one task have no gaps.

    Parameters
    ----------
    indptr, terms, task_starts, task_rows
        See `sweep_terms` and `term_product`.
    last : int32 array of shape (n_terms,), all -1, changed
        Scratch.
    slots : int32 array of shape (n_entries,), changed
        The number of each entry's task and term.

    Returns
    -------
    int
        How many there are.
    """
    cdef intp_t t, r, e
    cdef i32_t first, count = 0
    with nogil:
        for t in range(task_starts.shape[0] - 1):
            first = count
            for r in range(task_starts[t], task_starts[t + 1]):
                for e in range(indptr[task_rows[r]], indptr[task_rows[r] + 1]):
                    if last[terms[e]] < first:
                        last[terms[e]] = count
                        count += 1
                    slots[e] = last[terms[e]]
    return count


def term_totals(
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const i32_t[::1] slots,
    const f64_t[:, ::1] values,
    const i32_t[::1] task,
    const f64_t[:, ::1] write,
    const intp_t[::1] wide,
    const f64_t[:, ::1] V,
    f64_t[:, :, ::1] totals,
    f64_t[:, ::1] narrow,
):
    """Totals of V by term: ``totals[g, f, :k] = sum_i write[task_i, g] p_if V_i``.

    The other half of `totals`, which must be zero at first, has q for p. See
    `sweep_terms` for the parameters.
    """
    cdef intp_t k = V.shape[1], i, g
    cdef f64_t w
    with nogil:
        for i in range(V.shape[0]):
            for g in range(write.shape[1]):
                w = write[task[i], g]
                if w == 0.0:
                    continue
                if wide[g] < 0:
                    _write(i, w, indptr, slots, values, &V[i, 0], k, &narrow[0, 0])
                else:
                    _write(
                        i, w, indptr, terms, values, &V[i, 0], k,
                        &totals[wide[g], 0, 0],
                    )


def term_product(
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const f64_t[:, ::1] values,
    const i32_t[::1] task,
    const intp_t[::1] task_starts,
    const intp_t[::1] task_rows,
    const f64_t[:, ::1] read,
    const f64_t[:, ::1] write,
    const intp_t[::1] readers,
    const intp_t[::1] writers,
    const f64_t[::1] diagonal,
    const f64_t[:, ::1] V,
    f64_t[:, ::1] totals,
    f64_t[:, ::1] out,
):
    """W V into `out`, one group of tasks after another.

    So there are totals of one group at a time, and the time does not grow with the
    number of tasks if most groups are of one task. See `sweep_terms` for the
    parameters not listed.

    Parameters
    ----------
    task_starts, task_rows : intp arrays
        The rows of each task, ascending.
    readers, writers : intp arrays of shape (n_groups,)
        The only task that reads or writes the group; -1 if there are several.
    totals : array of shape (n_terms, 2 k), zero before and after
        Scratch.
    out : array of shape (n, k), changed
        The product.
    """
    cdef intp_t n = V.shape[0], k = V.shape[1], r, i, j, e, g, first, last
    with nogil:
        for i in range(n):
            for j in range(k):
                out[i, j] = -diagonal[i] * V[i, j]
        for g in range(read.shape[1]):
            first, last = 0, n
            if writers[g] >= 0:
                first, last = task_starts[writers[g]], task_starts[writers[g] + 1]
            for r in range(first, last):
                # all rows ascending too: the same sums as those of a sweep
                i = task_rows[r] if writers[g] >= 0 else r
                if write[task[i], g] != 0.0:
                    _write(
                        i, write[task[i], g], indptr, terms, values, &V[i, 0], k,
                        &totals[0, 0],
                    )
            first, last = 0, n
            if readers[g] >= 0:
                first, last = task_starts[readers[g]], task_starts[readers[g] + 1]
            for r in range(first, last):
                i = task_rows[r]
                if read[task[i], g] != 0.0:
                    _read(
                        i, read[task[i], g], indptr, terms, values, &totals[0, 0], k,
                        &out[i, 0],
                    )
            first, last = 0, n
            if writers[g] >= 0:
                first, last = task_starts[writers[g]], task_starts[writers[g] + 1]
            for r in range(first, last):
                i = task_rows[r]
                for e in range(indptr[i], indptr[i + 1]):
                    for j in range(2 * k):
                        totals[terms[e], j] = 0.0


def sweep_terms(
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const i32_t[::1] slots,
    const f64_t[:, ::1] values,
    const f64_t[:, ::1] read,
    const f64_t[:, ::1] write,
    const intp_t[::1] wide,
    const f64_t[::1] diagonal,
    f64_t[:, :, ::1] totals,
    f64_t[:, ::1] narrow,
    const i32_t[::1] task,
    const intp_t[::1] order,
    f64_t[:, ::1] V,
    f64_t[:, :, ::1] gram,
    f64_t[:, ::1] sums,
    const f64_t[:, ::1] weight,
    const f64_t[:, :, ::1] penalty,
    f64_t[::1] work,
):
    """One sweep with the affinity ``L o (P Q' + Q P')``, which is never made.

    P and Q have the pattern of the data; L is constant on pairs of tasks and
    factored as ``read write'`` over groups of tasks. A turn costs as much as the
    row has terms. See `sweep_dense` for the parameters not listed.

    Parameters
    ----------
    indptr, terms : int32 arrays
        Pattern of the data (CSR).
    values : array of shape (n_entries, 2)
        P and Q.
    read, write : arrays of shape (n_tasks, n_groups)
        Factors of L.
    slots : int32 array of shape (n_entries,)
        From `term_slots`.
    wide : intp array of shape (n_groups,)
        Where in `totals` a group is; -1 if it is in `narrow`, as groups are that one
        task alone reads and writes.
    diagonal : array of shape (n,)
        Diagonal of the affinity, which is taken off.
    totals : array of shape (n_wide, n_terms, 2 k), changed
        From `term_totals`.
    narrow : array of shape (n_slots, 2 k), changed
        From `term_totals`, by slot.

    Returns
    -------
    float
        By how much the objective fell.
    """
    cdef intp_t k = V.shape[1], i, j, g, r
    cdef f64_t fell = 0.0, w
    cdef f64_t* b = &work[k * (k + 2)]
    with nogil:
        for r in range(order.shape[0]):
            i = order[r]
            for j in range(k):
                b[j] = -diagonal[i] * V[i, j]
            for g in range(read.shape[1]):
                w = read[task[i], g]
                if w == 0.0:
                    continue
                if wide[g] < 0:
                    _read(i, w, indptr, slots, values, &narrow[0, 0], k, b)
                else:
                    _read(i, w, indptr, terms, values, &totals[wide[g], 0, 0], k, b)
            fell += _update(i, task[i], V, gram, sums, weight, penalty, b, &work[0])
            for g in range(write.shape[1]):
                w = write[task[i], g]
                if w == 0.0:
                    continue
                if wide[g] < 0:
                    _write(i, w, indptr, slots, values, &work[0], k, &narrow[0, 0])
                else:
                    _write(
                        i, w, indptr, terms, values, &work[0], k,
                        &totals[wide[g], 0, 0],
                    )
    return fell


def term_norms(
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const f64_t[:, ::1] values,
    const i32_t[::1] starts,
    const i32_t[::1] rows,
    const f64_t[:, ::1] by_term,
    const i32_t[::1] task,
    const f64_t[:, ::1] factor,
    i32_t[::1] head,
    f64_t[::1] cells,
    f64_t[::1] out,
    intp_t first,
    intp_t last,
):
    """Add up the squared cells of ``P Q' + Q P'``, weighted by pairs of tasks.

    It takes some rows, so that the caller can look for Ctrl-C between calls: first
    row 0 and those behind it, then those after them, with the same arrays.

    Parameters
    ----------
    indptr, terms, values
        The data by row; see `sweep_terms`.
    starts, rows, by_term
        The same by term (CSC), rows ascending.
    task : int32 array of shape (n,)
        Task codes.
    factor : array of shape (n_tasks, n_tasks)
        Weight of a squared cell.
    head : int32 array of shape (n_terms,), changed
        A copy of ``starts[:-1]`` for the first call.
    cells : array of shape (n,), zero
        Scratch: one row of the affinity.
    out : array of shape (n_tasks,), zero for the first call, changed
        Twice the sum over the cells right of the diagonal, by the row's task.
    first, last : int
        Rows of this call, without `last`.
    """
    cdef intp_t n = task.shape[0], i, e, c, other
    cdef f64_t p, q
    with nogil:
        for i in range(first, last):
            for e in range(indptr[i], indptr[i + 1]):
                head[terms[e]] += 1  # row i itself; earlier rows went before
                p, q = values[e, 0], values[e, 1]
                for c in range(head[terms[e]], starts[terms[e] + 1]):
                    cells[rows[c]] += p * by_term[c, 1] + q * by_term[c, 0]
            for other in range(i + 1, n):
                if cells[other] != 0.0:
                    p = factor[task[i], task[other]]
                    out[task[i]] += 2.0 * p * cells[other] * cells[other]
                    cells[other] = 0.0
