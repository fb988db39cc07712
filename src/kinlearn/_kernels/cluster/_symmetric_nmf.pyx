"""Sweeps of coordinate descent for symmetric NMF with tasks.

Three forms of the affinity: dense, sparse, and as the product of the data (see
`sweep_terms`), which never makes the matrix. All change V and the sums that
belong to it, and return by how much the objective fell.
"""

from kinlearn._kernels._typedefs cimport f64_t, float_t, i32_t, intp_t
from kinlearn._kernels.cluster._row cimport minimise_row


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

    `work` has room for k (k + 2); its first k numbers get the change of the row.
    """
    cdef intp_t k = V.shape[1], j, m, s
    cdef f64_t* old = work
    cdef f64_t* others = work + k
    cdef f64_t* rest = work + 2 * k
    cdef f64_t w = weight[t, t], fell, change
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
            change = V[i, j] * V[i, m] - old[j] * old[m]
            if change != 0.0:
                for s in range(weight.shape[0]):
                    gram[s, j, m] += weight[s, t] * change
    for j in range(k):
        old[j] = V[i, j] - old[j]
    return fell


cdef inline f64_t _dot(const float_t* a, const f64_t* b, intp_t n) noexcept nogil:
    # Eight sums that the compiler keeps in vector registers; one sum would wait
    # for each addition.
    cdef f64_t part[8]
    cdef f64_t out = 0.0
    cdef intp_t at = 0, u
    for u in range(8):
        part[u] = 0.0
    while at + 8 <= n:
        for u in range(8):
            part[u] += a[at + u] * b[at + u]
        at += 8
    while at < n:
        out += a[at] * b[at]
        at += 1
    for u in range(8):
        out += part[u]
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


cdef void _read(
    intp_t i,
    intp_t t,
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const f64_t[:, ::1] values,
    const f64_t[:, ::1] read,
    const f64_t[::1] own,
    const f64_t[:, :, ::1] totals,
    const f64_t[:, ::1] V,
    f64_t* b,
) noexcept nogil:
    """Row i of W V."""
    cdef intp_t k = V.shape[1], e, g, j
    cdef f64_t p, q
    for j in range(k):
        b[j] = -own[i] * V[i, j]
    for g in range(read.shape[1]):
        if read[t, g] == 0.0:
            continue
        for e in range(indptr[i], indptr[i + 1]):
            p, q = read[t, g] * values[e, 0], read[t, g] * values[e, 1]
            for j in range(k):
                b[j] += p * totals[g, terms[e], k + j] + q * totals[g, terms[e], j]


cdef void _write(
    intp_t i,
    intp_t t,
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const f64_t[:, ::1] values,
    const f64_t[:, ::1] write,
    const f64_t* change,
    f64_t[:, :, ::1] totals,
    intp_t k,
) noexcept nogil:
    """Add the change of row i of V to the totals by term."""
    cdef intp_t e, g, j
    cdef f64_t p, q
    for g in range(write.shape[1]):
        if write[t, g] == 0.0:
            continue
        for e in range(indptr[i], indptr[i + 1]):
            p, q = write[t, g] * values[e, 0], write[t, g] * values[e, 1]
            for j in range(k):
                totals[g, terms[e], j] += p * change[j]
                totals[g, terms[e], k + j] += q * change[j]


def term_totals(
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const f64_t[:, ::1] values,
    const i32_t[::1] task,
    const f64_t[:, ::1] write,
    const f64_t[:, ::1] V,
    f64_t[:, :, ::1] totals,
):
    """Totals of V by term: ``totals[g, f, :k] = sum_i write[task_i, g] p_if V_i``.

    The other half of `totals`, which must be zero at first, has q for p. See
    `sweep_terms` for the parameters.
    """
    cdef intp_t k = V.shape[1], i
    with nogil:
        for i in range(V.shape[0]):
            _write(i, task[i], indptr, terms, values, write, &V[i, 0], totals, k)


def term_product(
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const f64_t[:, ::1] values,
    const i32_t[::1] task,
    const f64_t[:, ::1] read,
    const f64_t[::1] own,
    const f64_t[:, :, ::1] totals,
    const f64_t[:, ::1] V,
    f64_t[:, ::1] out,
):
    """W V into `out`, from the totals of V; see `sweep_terms`."""
    cdef intp_t i
    with nogil:
        for i in range(V.shape[0]):
            _read(i, task[i], indptr, terms, values, read, own, totals, V, &out[i, 0])


def sweep_terms(
    const i32_t[::1] indptr,
    const i32_t[::1] terms,
    const f64_t[:, ::1] values,
    const f64_t[:, ::1] read,
    const f64_t[:, ::1] write,
    const f64_t[::1] own,
    f64_t[:, :, ::1] totals,
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
    own : array of shape (n,)
        Diagonal of the affinity, which is taken off.
    totals : array of shape (n_groups, n_terms, 2 k), changed
        From `term_totals`.

    Returns
    -------
    float
        By how much the objective fell.
    """
    cdef intp_t k = V.shape[1], i, r
    cdef f64_t fell = 0.0
    cdef f64_t* b = &work[k * (k + 2)]
    with nogil:
        for r in range(order.shape[0]):
            i = order[r]
            _read(i, task[i], indptr, terms, values, read, own, totals, V, b)
            fell += _update(i, task[i], V, gram, sums, weight, penalty, b, &work[0])
            _write(i, task[i], indptr, terms, values, write, &work[0], totals, k)
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
):
    """Sum of the squared cells of ``P Q' + Q P'``, weighted by pairs of tasks.

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
        A copy of ``starts[:-1]``.
    cells : array of shape (n,), zero
        Scratch: one row of the affinity.
    out : array of shape (n_tasks,), zero, changed
        Twice the sum over the cells right of the diagonal, by the row's task.
    """
    cdef intp_t n = task.shape[0], i, e, c, other
    cdef f64_t p, q
    with nogil:
        for i in range(n):
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
