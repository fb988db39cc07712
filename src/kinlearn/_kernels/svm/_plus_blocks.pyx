"""Blocks and sums of stored kernel rows, for SVM+."""

from kinlearn._kernels._typedefs cimport f32_t, f64_t, float_t, i32_t, intp_t


cdef extern from "svm/_plus_loops.h" nogil:
    void kinlearn_add_four32(const f64_t* a, const f32_t** x, intp_t n,
                             f64_t* sums) noexcept
    void kinlearn_add_four64(const f64_t* a, const f64_t** x, intp_t n,
                             f64_t* sums) noexcept


def accumulate(
    const float_t[:, ::1] rows,
    const intp_t[::1] slots,
    const f64_t[::1] coef,
    intp_t start,
    f64_t[::1] out,
):
    """Add to `out` the sum of rows by coefficients, in double precision.

    Parameters
    ----------
    rows : array of shape (n_slots, n)
        A store of rows.
    slots : intp array of shape (k,)
        Which of them.
    coef : array of shape (k,)
        Coefficients.
    start : int
        Column of `rows` that belongs to the first of `out`.
    out : array, changed
        Sums.
    """
    cdef intp_t k, n_four = 0, n = out.shape[0]
    cdef const float_t* row[4]
    cdef f64_t four[4]
    if n == 0:
        return
    with nogil:
        for k in range(slots.shape[0] + 3):
            # the last ones are filled up by rows that count nothing
            if k < slots.shape[0]:
                if coef[k] == 0.0:
                    continue
                four[n_four] = coef[k]
                row[n_four] = &rows[slots[k], start]
            elif n_four == 0:
                break
            else:
                four[n_four] = 0.0
                row[n_four] = row[0]
            n_four += 1
            if n_four == 4:
                if float_t is f32_t:
                    kinlearn_add_four32(four, row, n, &out[0])
                else:
                    kinlearn_add_four64(four, row, n, &out[0])
                n_four = 0


def gather(
    const float_t[:, ::1] rows,
    const intp_t[::1] slots,
    const intp_t[::1] columns,
    const f64_t[::1] factor,
    const i32_t[::1] group,
    f64_t[:, ::1] out,
):
    """A block of a matrix: cells times the factors of their row and their column.

    Parameters
    ----------
    rows : array of shape (n_slots, n)
        A store of rows.
    slots, columns : intp arrays of shape (k,)
        Which of them, and which columns.
    factor : array of shape (k,)
        Factors.
    group : int32 array of shape (k,)
        Groups, ascending; cells between different ones become 0.
    out : array of shape (k, k), filled
        The block.
    """
    cdef intp_t i, j, start = 0, stop = 0, k = slots.shape[0]
    cdef f64_t own
    cdef const float_t* row
    cdef f64_t* goal
    with nogil:
        for i in range(k):
            if i == stop:  # a group begins
                start = i
                while stop < k and group[stop] == group[i]:
                    stop += 1
            row = &rows[slots[i], 0]
            goal = &out[i, 0]
            own = factor[i]
            for j in range(start):
                goal[j] = 0.0
            for j in range(start, stop):
                goal[j] = own * factor[j] * row[columns[j]]
            for j in range(stop, k):
                goal[j] = 0.0
