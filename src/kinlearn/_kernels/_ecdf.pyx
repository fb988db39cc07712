"""Distances between empirical distribution functions, for all pairs of groups.

The functions of all groups stand one behind the other in two arrays, `values`
and `below`. Group g owns the places ``indptr[g]`` to ``indptr[g + 1] - 1``:
`values` are its distinct numbers, ascending, and then infinity; `below` says how
many of its numbers are smaller, so the last entry is how many there are. Equal
numbers being one entry, a merge of two groups needs no inner loops.

Both functions fill the rows `first` to ``last - 1`` of a matrix, above the diagonal,
so that the caller can divide the rows among threads and stop between calls.
"""

from libc.math cimport INFINITY, fabs

from kinlearn._kernels._typedefs cimport f64_t, float_t, i64_t, intp_t


cdef inline i64_t larger(i64_t a, i64_t b) noexcept nogil:
    return a if a > b else b


cdef inline i64_t largest_gap(
    const float_t* values, const i64_t* below,
    const intp_t* cuts_a, const i64_t* passed_a,
    const intp_t* cuts_b, const i64_t* passed_b, intp_t n_cells,
) noexcept nogil:
    # The largest difference of the two distribution functions, times n_a n_b:
    # in integers it is exact, and needs no division.
    cdef i64_t n_a = passed_a[n_cells]
    cdef i64_t n_b = passed_b[n_cells]
    cdef i64_t best = 0
    cdef i64_t gap
    cdef intp_t k, i, j
    cdef float_t in_a, in_b
    for k in range(1, n_cells):
        gap = passed_a[k] * n_b - passed_b[k] * n_a
        best = larger(best, larger(gap, -gap))
    # Inside a cell the gap rises by at most all of a's numbers there and falls
    # by at most all of b's. Most cells cannot beat the best gap at the cuts and
    # are skipped.
    for k in range(n_cells):
        if (passed_a[k + 1] * n_b - passed_b[k] * n_a <= best
                and passed_b[k + 1] * n_a - passed_a[k] * n_b <= best):
            continue
        i = cuts_a[k]
        j = cuts_b[k]
        # Once one group has no number left in the cell, the other moves the gap
        # one way only: to its value at the next cut, which was seen above.
        while i < cuts_a[k + 1] and j < cuts_b[k + 1]:
            in_a = values[i]
            in_b = values[j]
            i += in_a <= in_b
            j += in_b <= in_a
            gap = below[i] * n_b - below[j] * n_a
            best = larger(best, larger(gap, -gap))
    return best


def add_ks(
    const float_t[::1] values, const i64_t[::1] below,
    const intp_t[:, ::1] cuts, const i64_t[:, ::1] passed,
    intp_t first, intp_t last, bint take_max, f64_t[:, ::1] out,
):
    """Add one feature's Kolmogorov-Smirnov statistics to ``out[first:last]``.

    Pairs with an empty group are left alone.

    Parameters
    ----------
    values, below : float array and int64 array of shape (n,)
        The distribution functions of all groups.
    cuts : intp array of shape (n_groups, n_cells + 1)
        ``cuts[g]`` are the places where group g passes the points of a grid that
        all groups share: its first entry, the first that is not below the first
        point, and so on to its last entry, the infinite one. Any grid gives the
        same result; one of pooled quantiles is fast.
    passed : int64 array of shape (n_groups, n_cells + 1)
        ``below[cuts]``.
    first, last : int
        The rows of `out` to fill.
    take_max : bool
        Keep the larger of the old and the new number instead of their sum.
    out : float64 array of shape (n_groups, n_groups), changed
        Entries above the diagonal change.
    """
    cdef intp_t n_groups = cuts.shape[0]
    cdef intp_t n_cells = cuts.shape[1] - 1
    cdef intp_t a, b
    cdef f64_t n_a, n_b, distance
    with nogil:
        for a in range(first, last):
            n_a = passed[a, n_cells]
            for b in range(a + 1, n_groups):
                n_b = passed[b, n_cells]
                if n_a == 0 or n_b == 0:
                    continue
                distance = largest_gap(
                    &values[0], &below[0], &cuts[a, 0], &passed[a, 0],
                    &cuts[b, 0], &passed[b, 0], n_cells,
                ) / (n_a * n_b)
                if not take_max:
                    out[a, b] += distance
                elif distance > out[a, b]:
                    out[a, b] = distance


cdef inline f64_t area_between(
    const f64_t* values, const i64_t* below, intp_t i, f64_t n_a, intp_t j, f64_t n_b
) noexcept nogil:
    # The area between the two distribution functions, from left to right.
    cdef f64_t area = 0.0
    cdef f64_t step_a = 1.0 / n_a
    cdef f64_t step_b = 1.0 / n_b
    cdef f64_t in_a = values[i]
    cdef f64_t in_b = values[j]
    cdef f64_t here = in_a if in_a < in_b else in_b
    cdef f64_t there
    while here < INFINITY:
        i += in_a <= here
        j += in_b <= here
        in_a = values[i]
        in_b = values[j]
        there = in_a if in_a < in_b else in_b
        if there < INFINITY:
            area += fabs(below[i] * step_a - below[j] * step_b) * (there - here)
        here = there
    return area


def fill_wasserstein(
    const f64_t[::1] values, const i64_t[::1] below, const intp_t[::1] indptr,
    intp_t first, intp_t last, f64_t[:, ::1] out,
):
    """Fill ``out[first:last]`` with the Wasserstein distances of order 1.

    Parameters
    ----------
    values, below : float64 array and int64 array of shape (n,)
        The distribution functions of all groups; no group is empty.
    indptr : intp array of shape (n_groups + 1,)
        Where each group begins in them.
    first, last : int
        The rows of `out` to fill.
    out : float64 array of shape (n_groups, n_groups), filled
        Entries above the diagonal are written.
    """
    cdef intp_t n_groups = indptr.shape[0] - 1
    cdef intp_t a, b
    with nogil:
        for a in range(first, last):
            for b in range(a + 1, n_groups):
                out[a, b] = area_between(
                    &values[0], &below[0],
                    indptr[a], below[indptr[a + 1] - 1],
                    indptr[b], below[indptr[b + 1] - 1],
                )
