"""Scores of two-task stumps for new rows.

Only the rounds that may answer for a row's task are asked, so many tasks cost no
more than few. A node of task -1 answers for nobody.
"""

import numpy as np

from kinlearn._kernels._typedefs cimport f64_t, float_t, i32_t, i64_t, intp_t

cdef packed struct Stump:
    f64_t threshold
    i64_t first_value  # of the left branch; the right one's follow
    i32_t task
    i32_t feature
    i32_t missing_left
    i32_t unused

STUMP = np.dtype([
    ("threshold", np.float64), ("first_value", np.int64), ("task", np.int32),
    ("feature", np.int32), ("missing_left", np.int32), ("unused", np.int32),
])


cdef inline bint _left(const Stump* node, const float_t* x) noexcept nogil:
    cdef float_t value = x[node.feature]
    return node.missing_left if value != value else value <= node.threshold


cdef inline void _add(const Stump* node, const float_t* x, const f64_t* values,
                      intp_t size, f64_t* out) noexcept nogil:
    cdef intp_t k
    cdef const f64_t* value = values + node.first_value
    if not _left(node, x):
        value += size
    for k in range(size):
        out[k] += value[k]


cdef void _add_row(const float_t* x, i32_t task, const Stump* stumps,
                   const i32_t* rounds, intp_t n_rounds, const f64_t* values,
                   intp_t size, f64_t* out) noexcept nogil:
    cdef intp_t i
    cdef const Stump* root
    cdef const Stump* child
    for i in range(n_rounds):
        root = stumps + 3 * rounds[i]
        child = root + (1 if _left(root, x) else 2)
        if root.task == task:
            _add(root, x, values, size, out)
        if child.task == task:
            _add(child, x, values, size, out)


def add_scores(const float_t[:, ::1] X, const i32_t[::1] task,
               const Stump[:, ::1] stumps, const f64_t[::1] values,
               const i32_t[::1] sizes, const intp_t[::1] indptr,
               const i32_t[::1] rounds, f64_t[:, ::1] out):
    """Add up the scores of each row.

    Parameters
    ----------
    X : float array of shape (n, n_features), row-major
        NaN is a missing value.
    task : int32 array of shape (n,)
        Tasks; a row of -1 is left alone.
    stumps : structured array of shape (n_rounds, 3)
        Root, left child and right child of each round.
    values : float64 array
        Answers of all nodes.
    sizes : int32 array of shape (n_tasks,)
        Values that an answer for each task has.
    indptr, rounds : intp and int32 arrays
        Rounds that may answer for each task, ascending.
    out : float64 array of shape (n, most values)
        Added to.
    """
    cdef intp_t i
    cdef i32_t t
    if stumps.shape[0] == 0:
        return
    with nogil:
        for i in range(X.shape[0]):
            t = task[i]
            if t >= 0 and indptr[t] < indptr[t + 1]:
                _add_row(&X[i, 0], t, &stumps[0, 0], &rounds[indptr[t]],
                         indptr[t + 1] - indptr[t], &values[0], sizes[t], &out[i, 0])


def add_scores_sparse(const float_t[::1] data, const i32_t[::1] indices,
                      const i64_t[::1] row_indptr, float_t[::1] line,
                      const i32_t[::1] task, const Stump[:, ::1] stumps,
                      const f64_t[::1] values, const i32_t[::1] sizes,
                      const intp_t[::1] indptr, const i32_t[::1] rounds,
                      f64_t[:, ::1] out):
    """The same for rows of a CSR matrix; `line` is zero, and of its width."""
    cdef intp_t i, j
    cdef i32_t t
    if stumps.shape[0] == 0:
        return
    with nogil:
        for i in range(row_indptr.shape[0] - 1):
            t = task[i]
            if t < 0 or indptr[t] == indptr[t + 1]:
                continue
            for j in range(row_indptr[i], row_indptr[i + 1]):
                line[indices[j]] = data[j]
            _add_row(&line[0], t, &stumps[0, 0], &rounds[indptr[t]],
                     indptr[t + 1] - indptr[t], &values[0], sizes[t], &out[i, 0])
            for j in range(row_indptr[i], row_indptr[i + 1]):
                line[indices[j]] = 0
