# One row's share of the objective, minimised exactly, one coordinate at a time.
#
# With everything but row v of V fixed, the objective is, up to a constant,
#
#   f(v) = -2 b'v + v'Mv + 1/2 w (v'v)^2 + (s + v)'P(s + v),        v >= 0,
#
# where b is the row of W V, M the Gram matrix of the other rows (weighted), w the
# weight of the row's own diagonal cell, s the sums of the task's other rows, and
# P the penalty on unequal shares. In one coordinate the derivative is a cubic
# without a square term whose slope is positive, so there is one minimum.

from libc.math cimport cbrt, fabs

from kinlearn._kernels._typedefs cimport f64_t, intp_t

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
    const f64_t* v,
    const f64_t* b,
    const f64_t* gram,
    f64_t w,
    const f64_t* sums,
    const f64_t* penalty,
    intp_t k,
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
    f64_t* v,
    const f64_t* b,
    const f64_t* gram,
    f64_t w,
    const f64_t* sums,
    const f64_t* penalty,
    intp_t k,
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
