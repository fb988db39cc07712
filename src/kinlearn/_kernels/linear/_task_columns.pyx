"""Columns of the rows of many tasks: scores, gradients, and block descent by feature.

Rows lie in the order of their tasks. A task has one *output* or several (a class each),
and an output has a score for each row of its task: the pair of output and row. Pairs
lie output by output:

  task t       rows row_ptr[t] .. row_ptr[t + 1], outputs out_ptr[t] .. out_ptr[t + 1],
  output p     pairs pair_ptr[p] .. pair_ptr[p + 1], in the order of its task's rows.

Features are dense (a row of `columns` for each feature) or sparse (compressed columns).
Coefficients have a row for each feature, which is a block of the penalty, and a column
for each output.

`*_sweeps` minimise, block after block,

  1/2 sum_i v_i (r_i - x_i w_p - b_p)^2 + alpha sum_j |s_j|_2 + own_alpha sum |o|,

where w = s + o, the pair i belongs to output p, and the intercepts b are eliminated.
What is kept are q = v r, without the changes of the intercepts, which `offset` sums up:
r is q / v + offset.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdlib cimport free, malloc

from kinlearn._kernels._typedefs cimport f64_t, intp_t

cdef extern from "linear/_loops.h" nogil:
    f64_t dot "kinlearn_dot" (const f64_t* x, const f64_t* y, intp_t n) noexcept
    void moments "kinlearn_moments" (
        const f64_t* x, const f64_t* v, intp_t n, f64_t* first, f64_t* second) noexcept
    void add "kinlearn_add" (
        f64_t a, const f64_t* x, intp_t n, f64_t* y) noexcept
    void subtract_weighted "kinlearn_subtract_weighted" (
        f64_t a, const f64_t* x, const f64_t* v, intp_t n, f64_t* y) noexcept

cdef enum:
    MOST_TURNS = 50  # between the shared and the own coefficients of a feature
    MOST_STEPS = 100  # of Newton's method for the length of a block


# ------------------------------------------------------------- one block of the penalty

cdef f64_t _shrunken_length(
    const f64_t* c, const f64_t* curvature, f64_t alpha, intp_t n
) noexcept nogil:
    """The length s of the minimiser of 1/2 sum_p L_p w_p^2 - c_p w_p + alpha |w|.

    It solves |c / (L s + alpha)| = 1; then w = c s / (L s + alpha). The inverse of the
    left side is nearly a line in s, and concave: Newton's method comes from the left.
    """
    cdef f64_t norm = 0.0, most = 0.0, s, value, slope, one, step
    cdef intp_t p
    cdef int _i
    for p in range(n):
        norm += c[p] * c[p]
        if curvature[p] > most:
            most = curvature[p]
    norm = sqrt(norm)
    if norm <= alpha or most <= 0.0:
        return 0.0
    s = (norm - alpha) / most
    for _i in range(MOST_STEPS):
        value = slope = 0.0
        for p in range(n):
            one = c[p] / (curvature[p] * s + alpha)
            one = one * one
            value += one
            slope += one * curvature[p] / (curvature[p] * s + alpha)
        # of 1 / sqrt(value): -1/2 value^(-3/2) value'
        step = (1.0 - 1.0 / sqrt(value)) * value * sqrt(value) / slope
        s += step
        if fabs(step) <= 1e-15 * s:
            break
    return s


cdef f64_t _minimise_block(
    f64_t* g, const f64_t* curvature, f64_t* shared, f64_t* own, f64_t* change,
    f64_t* work, f64_t alpha, f64_t own_alpha, intp_t n,
) noexcept nogil:
    """Minimise one feature's block; g is minus the gradient, and follows.

    `change` gets that of the coefficients. Returns the sum of curvature times change^2.
    """
    cdef f64_t length, new, moved, first_move = 0.0, fell = 0.0
    cdef intp_t p
    cdef int turn
    for p in range(n):
        change[p] = 0.0
    for turn in range(MOST_TURNS):
        moved = 0.0
        if alpha < INFINITY:
            for p in range(n):
                work[p] = curvature[p] * shared[p] + g[p]
            length = _shrunken_length(work, curvature, alpha, n)
            for p in range(n):
                new = 0.0
                if length > 0.0:
                    new = work[p] * length / (curvature[p] * length + alpha)
                if new != shared[p]:
                    moved += curvature[p] * (new - shared[p]) * (new - shared[p])
                    g[p] -= curvature[p] * (new - shared[p])
                    change[p] += new - shared[p]
                    shared[p] = new
        if own_alpha == INFINITY:
            break
        for p in range(n):
            if curvature[p] <= 0.0:
                continue
            new = curvature[p] * own[p] + g[p]
            if new > own_alpha:
                new = (new - own_alpha) / curvature[p]
            elif new < -own_alpha:
                new = (new + own_alpha) / curvature[p]
            else:
                new = 0.0
            if new != own[p]:
                moved += curvature[p] * (new - own[p]) * (new - own[p])
                g[p] -= curvature[p] * (new - own[p])
                change[p] += new - own[p]
                own[p] = new
        if turn == 0:
            first_move = moved
        if moved <= 1e-10 * first_move or alpha == INFINITY:
            break
    for p in range(n):
        fell += curvature[p] * change[p] * change[p]
    return fell


# ------------------------------------------------------------------------------- dense

def dense_scores(
    const f64_t[:, ::1] columns,
    const intp_t[::1] features,
    const f64_t[:, ::1] coef,
    const intp_t[::1] row_ptr,
    const intp_t[::1] out_ptr,
    const intp_t[::1] pair_ptr,
    f64_t[::1] scores,
):
    """Add what the features give to the scores of all pairs."""
    cdef intp_t k, j, t, p
    with nogil:
        for k in range(features.shape[0]):
            j = features[k]
            for t in range(row_ptr.shape[0] - 1):
                for p in range(out_ptr[t], out_ptr[t + 1]):
                    if coef[j, p] != 0.0 and row_ptr[t] < row_ptr[t + 1]:
                        add(
                            coef[j, p], &columns[j, row_ptr[t]],
                            row_ptr[t + 1] - row_ptr[t], &scores[pair_ptr[p]],
                        )


def dense_gradients(
    const f64_t[:, ::1] columns,
    const intp_t[::1] features,
    const f64_t[::1] q,
    const intp_t[::1] row_ptr,
    const intp_t[::1] out_ptr,
    const intp_t[::1] pair_ptr,
    f64_t[:, ::1] out,
):
    """Sums of x q over the pairs of each output, a row of `out` for each feature."""
    cdef intp_t k, j, t, p
    with nogil:
        for k in range(features.shape[0]):
            j = features[k]
            for t in range(row_ptr.shape[0] - 1):
                for p in range(out_ptr[t], out_ptr[t + 1]):
                    out[k, p] = 0.0
                    if row_ptr[t] < row_ptr[t + 1]:
                        out[k, p] = dot(
                            &columns[j, row_ptr[t]], &q[pair_ptr[p]],
                            row_ptr[t + 1] - row_ptr[t],
                        )


def dense_moments(
    const f64_t[:, ::1] columns,
    const intp_t[::1] features,
    const f64_t[::1] v,
    const intp_t[::1] row_ptr,
    const intp_t[::1] out_ptr,
    const intp_t[::1] pair_ptr,
    f64_t[:, ::1] first,
    f64_t[:, ::1] second,
):
    """Sums of v x and v x^2 over the pairs of each output."""
    cdef intp_t k, j, t, p
    with nogil:
        for k in range(features.shape[0]):
            j = features[k]
            for t in range(row_ptr.shape[0] - 1):
                for p in range(out_ptr[t], out_ptr[t + 1]):
                    first[k, p] = second[k, p] = 0.0
                    if row_ptr[t] < row_ptr[t + 1]:
                        moments(
                            &columns[j, row_ptr[t]], &v[pair_ptr[p]],
                            row_ptr[t + 1] - row_ptr[t], &first[k, p], &second[k, p],
                        )


def dense_sweeps(
    const f64_t[:, ::1] columns,
    const intp_t[::1] features,
    const f64_t[:, ::1] first,
    const f64_t[:, ::1] curvature,
    const f64_t[::1] total,
    const f64_t[::1] v,
    const intp_t[::1] row_ptr,
    const intp_t[::1] out_ptr,
    const intp_t[::1] pair_ptr,
    f64_t[:, ::1] shared,
    f64_t[:, ::1] own,
    f64_t[::1] q,
    f64_t[::1] offset,
    f64_t alpha,
    f64_t own_alpha,
    f64_t tol,
    intp_t max_sweeps,
):
    """Sweep over the features' blocks until one sweep changes little.

    `first` and `curvature` are of the features: sums of v x, and of v x^2 about the
    weighted mean; `total` is the sum of v of each output. Returns the sum of curvature
    times change^2 of the last sweep, about twice what the objective fell by.
    """
    cdef intp_t n = shared.shape[1], sweep = 0, k, j, t, p, size
    cdef f64_t fell = 0.0
    cdef f64_t* work = <f64_t*> malloc(3 * n * sizeof(f64_t))
    if work == NULL:
        raise MemoryError
    cdef f64_t* g = work
    cdef f64_t* change = work + n
    try:
        while sweep < max_sweeps:
            sweep += 1
            fell = 0.0
            with nogil:
                for k in range(features.shape[0]):
                    j = features[k]
                    for t in range(row_ptr.shape[0] - 1):
                        size = row_ptr[t + 1] - row_ptr[t]
                        for p in range(out_ptr[t], out_ptr[t + 1]):
                            g[p] = 0.0
                            if curvature[k, p] > 0.0:
                                g[p] = offset[p] * first[k, p] + dot(
                                    &columns[j, row_ptr[t]], &q[pair_ptr[p]], size
                                )
                    fell += _minimise_block(
                        g, &curvature[k, 0], &shared[j, 0], &own[j, 0], change,
                        work + 2 * n, alpha, own_alpha, n,
                    )
                    for t in range(row_ptr.shape[0] - 1):
                        size = row_ptr[t + 1] - row_ptr[t]
                        for p in range(out_ptr[t], out_ptr[t + 1]):
                            if change[p] != 0.0:
                                subtract_weighted(
                                    change[p], &columns[j, row_ptr[t]],
                                    &v[pair_ptr[p]], size, &q[pair_ptr[p]],
                                )
                                offset[p] += change[p] * first[k, p] / total[p]
            PyErr_CheckSignals()
            if fell <= tol:
                break
    finally:
        free(work)
    return fell


# ------------------------------------------------------------------------------ sparse

def sparse_scores(
    const f64_t[::1] data,
    const intp_t[::1] indices,
    const intp_t[::1] indptr,
    const intp_t[::1] features,
    const f64_t[:, ::1] coef,
    const intp_t[::1] task,
    const intp_t[::1] row_ptr,
    const intp_t[::1] out_ptr,
    const intp_t[::1] pair_ptr,
    f64_t[::1] scores,
):
    """Add what the features give to the scores of all pairs."""
    cdef intp_t k, j, i, p, t, at
    with nogil:
        for k in range(features.shape[0]):
            j = features[k]
            for i in range(indptr[j], indptr[j + 1]):
                t = task[indices[i]]
                at = indices[i] - row_ptr[t]
                for p in range(out_ptr[t], out_ptr[t + 1]):
                    scores[pair_ptr[p] + at] += coef[j, p] * data[i]


def sparse_gradients(
    const f64_t[::1] data,
    const intp_t[::1] indices,
    const intp_t[::1] indptr,
    const intp_t[::1] features,
    const f64_t[::1] q,
    const intp_t[::1] task,
    const intp_t[::1] row_ptr,
    const intp_t[::1] out_ptr,
    const intp_t[::1] pair_ptr,
    f64_t[:, ::1] out,
):
    """Sums of x q over the pairs of each output, a row of `out` for each feature."""
    cdef intp_t k, j, i, p, t, at
    with nogil:
        for k in range(features.shape[0]):
            j = features[k]
            for p in range(out.shape[1]):
                out[k, p] = 0.0
            for i in range(indptr[j], indptr[j + 1]):
                t = task[indices[i]]
                at = indices[i] - row_ptr[t]
                for p in range(out_ptr[t], out_ptr[t + 1]):
                    out[k, p] += data[i] * q[pair_ptr[p] + at]


def sparse_moments(
    const f64_t[::1] data,
    const intp_t[::1] indices,
    const intp_t[::1] indptr,
    const intp_t[::1] features,
    const f64_t[::1] v,
    const intp_t[::1] task,
    const intp_t[::1] row_ptr,
    const intp_t[::1] out_ptr,
    const intp_t[::1] pair_ptr,
    f64_t[:, ::1] first,
    f64_t[:, ::1] second,
):
    """Sums of v x and v x^2 over the pairs of each output."""
    cdef intp_t k, j, i, p, t, at
    cdef f64_t vx
    with nogil:
        for k in range(features.shape[0]):
            j = features[k]
            for p in range(first.shape[1]):
                first[k, p] = second[k, p] = 0.0
            for i in range(indptr[j], indptr[j + 1]):
                t = task[indices[i]]
                at = indices[i] - row_ptr[t]
                for p in range(out_ptr[t], out_ptr[t + 1]):
                    vx = v[pair_ptr[p] + at] * data[i]
                    first[k, p] += vx
                    second[k, p] += vx * data[i]


def sparse_sweeps(
    const f64_t[::1] data,
    const intp_t[::1] indices,
    const intp_t[::1] indptr,
    const intp_t[::1] features,
    const f64_t[:, ::1] first,
    const f64_t[:, ::1] curvature,
    const f64_t[::1] total,
    const f64_t[::1] v,
    const intp_t[::1] task,
    const intp_t[::1] row_ptr,
    const intp_t[::1] out_ptr,
    const intp_t[::1] pair_ptr,
    f64_t[:, ::1] shared,
    f64_t[:, ::1] own,
    f64_t[::1] q,
    f64_t[::1] offset,
    f64_t alpha,
    f64_t own_alpha,
    f64_t tol,
    intp_t max_sweeps,
):
    """Sweep over the features' blocks until one changes little; see dense_sweeps."""
    cdef intp_t n = shared.shape[1], sweep = 0, k, j, i, t, p, at
    cdef f64_t fell = 0.0
    cdef f64_t* work = <f64_t*> malloc(3 * n * sizeof(f64_t))
    if work == NULL:
        raise MemoryError
    cdef f64_t* g = work
    cdef f64_t* change = work + n
    try:
        while sweep < max_sweeps:
            sweep += 1
            fell = 0.0
            with nogil:
                for k in range(features.shape[0]):
                    j = features[k]
                    for p in range(n):
                        g[p] = offset[p] * first[k, p]
                    for i in range(indptr[j], indptr[j + 1]):
                        t = task[indices[i]]
                        at = indices[i] - row_ptr[t]
                        for p in range(out_ptr[t], out_ptr[t + 1]):
                            g[p] += data[i] * q[pair_ptr[p] + at]
                    for p in range(n):
                        if curvature[k, p] <= 0.0:
                            g[p] = 0.0
                    fell += _minimise_block(
                        g, &curvature[k, 0], &shared[j, 0], &own[j, 0], change,
                        work + 2 * n, alpha, own_alpha, n,
                    )
                    for i in range(indptr[j], indptr[j + 1]):
                        t = task[indices[i]]
                        at = indices[i] - row_ptr[t]
                        for p in range(out_ptr[t], out_ptr[t + 1]):
                            q[pair_ptr[p] + at] -= (
                                change[p] * v[pair_ptr[p] + at] * data[i]
                            )
                    for p in range(n):
                        if change[p] != 0.0:
                            offset[p] += change[p] * first[k, p] / total[p]
            PyErr_CheckSignals()
            if fell <= tol:
                break
    finally:
        free(work)
    return fell
