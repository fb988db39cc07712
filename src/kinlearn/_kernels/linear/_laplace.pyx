"""Generalised mixed models: what Newton's method needs of the rows.

A row has r effects of its level of the first grouping, with values `A` (a row of Z T),
and K effects of other groupings with values `B`, at the places `place` of one long
vector. Row i and its place k meet in ``entry[i, k]``: a column of cross products
between the row's level and the place.
"""

from libc.math cimport INFINITY, exp, log1p

from kinlearn._kernels._typedefs cimport f64_t, i32_t, intp_t


def family_terms(int family, const f64_t[::1] eta, const f64_t[::1] y,
                 const f64_t[::1] weight, f64_t[::1] slope, f64_t[::1] curve,
                 f64_t[::1] bend):
    """Negative log likelihood of each row and its first three derivatives by eta.

    Parameters
    ----------
    family : int
        0 is Bernoulli with the logit link, 1 is Poisson with the log link.
    eta : float64 array of shape (n,)
        Linear predictors.
    y, weight : float64 arrays of shape (n,)
        Targets and weights.
    slope, curve, bend : float64 arrays of shape (n,), filled
        Derivatives, times weights.

    Returns
    -------
    float
        Weighted sum, without what does not depend on eta; infinity if it overflows.
    """
    cdef intp_t i, n = eta.shape[0]
    cdef f64_t e, m, w, total = 0.0
    with nogil:
        for i in range(n):
            w = weight[i]
            if w == 0.0:
                slope[i] = curve[i] = bend[i] = 0.0
                continue
            if family == 0:
                if eta[i] > 0.0:
                    e = exp(-eta[i])
                    m = 1.0 / (1.0 + e)
                    total += w * (eta[i] * (1.0 - y[i]) + log1p(e))
                else:
                    e = exp(eta[i])
                    m = e / (1.0 + e)
                    total += w * (log1p(e) - eta[i] * y[i])
                e = e / ((1.0 + e) * (1.0 + e))
                slope[i] = w * (m - y[i])
                curve[i] = w * e
                bend[i] = w * e * (1.0 - 2.0 * m)
            else:
                m = exp(eta[i])
                total += w * (m - y[i] * eta[i])
                slope[i] = w * (m - y[i])
                curve[i] = bend[i] = w * m
    return total if total == total else INFINITY


def add_effects(const i32_t[::1] codes, const f64_t[:, ::1] A, const f64_t[:, ::1] u,
                const i32_t[:, ::1] place, const f64_t[:, ::1] B, const f64_t[::1] d,
                f64_t[::1] out):
    """Add the rows' effects, times their values.

    Parameters
    ----------
    codes : int32 array of shape (n,)
        Level of each row in the first grouping.
    A : float64 array of shape (n, r)
        Values of the level's effects.
    u : float64 array of shape (n_levels, r)
        Effects of the levels.
    place : int32 array of shape (n, K)
        Places of the other effects.
    B : float64 array of shape (n, K)
        Their values.
    d : float64 array of shape (size,)
        The other effects.
    out : float64 array of shape (n,), added to
        Sums.
    """
    cdef intp_t n = A.shape[0], r = A.shape[1], K = B.shape[1], i, a
    cdef f64_t x
    with nogil:
        for i in range(n):
            x = 0.0
            for a in range(r):
                x += A[i, a] * u[codes[i], a]
            for a in range(K):
                x += B[i, a] * d[place[i, a]]
            out[i] += x


def sum_scores(const i32_t[::1] codes, const f64_t[:, ::1] A,
               const i32_t[:, ::1] place, const f64_t[:, ::1] B, const f64_t[::1] c,
               f64_t[:, ::1] u, f64_t[::1] d):
    """Add numbers of the rows, times their values, to their effects.

    Parameters
    ----------
    codes : int32 array of shape (n,)
        Level of each row in the first grouping.
    A : float64 array of shape (n, r)
        Values of the level's effects.
    place : int32 array of shape (n, K)
        Places of the other effects.
    B : float64 array of shape (n, K)
        Their values.
    c : float64 array of shape (n,)
        The numbers.
    u : float64 array of shape (n_levels, r), added to
        Sums of the levels.
    d : float64 array of shape (size,), added to
        Sums of the other effects.
    """
    cdef intp_t n = A.shape[0], r = A.shape[1], K = B.shape[1], i, a
    with nogil:
        for i in range(n):
            for a in range(r):
                u[codes[i], a] += c[i] * A[i, a]
            for a in range(K):
                d[place[i, a]] += c[i] * B[i, a]


def sum_row_products(const i32_t[::1] codes, const f64_t[:, ::1] A,
                     const i32_t[:, ::1] place, const i32_t[:, ::1] entry,
                     const f64_t[:, ::1] B, const f64_t[::1] c,
                     f64_t[:, :, ::1] M, f64_t[:, ::1] V, f64_t[:, ::1] D):
    """Add the rows' weighted outer products to the equations of their effects.

    Parameters
    ----------
    codes : int32 array of shape (n,)
        Level of each row in the first grouping.
    A : float64 array of shape (n, r)
        Values of the level's effects.
    place, entry : int32 arrays of shape (n, K)
        Places and entries of the other effects; places ascend in a row.
    B : float64 array of shape (n, K)
        Their values.
    c : float64 array of shape (n,)
        Weights.
    M : float64 array of shape (n_levels, r, r), added to
        Of the levels; the lower triangles are.
    V : float64 array of shape (n_entries, r), added to
        Between levels and other effects.
    D : float64 array of shape (size or more, size or more), added to
        Between other effects; the lower triangle is.
    """
    cdef intp_t n = A.shape[0], r = A.shape[1], K = B.shape[1], i, a, b
    cdef f64_t x
    cdef f64_t* into
    cdef const f64_t* mine
    with nogil:
        for i in range(n):
            if r > 0:
                into = &M[codes[i], 0, 0]
                mine = &A[i, 0]
                for a in range(r):
                    x = c[i] * mine[a]
                    for b in range(a + 1):
                        into[a * r + b] += x * mine[b]
            for a in range(K):
                x = c[i] * B[i, a]
                for b in range(r):
                    V[entry[i, a], b] += x * A[i, b]
                for b in range(a + 1):
                    D[place[i, a], place[i, b]] += x * B[i, b]


def multiply_rows(const i32_t[::1] codes, const f64_t[:, ::1] A,
                  const i32_t[:, ::1] place, const i32_t[:, ::1] entry,
                  const f64_t[:, ::1] B,
                  const f64_t[:, :, ::1] C_own, const f64_t[:, ::1] C_entries,
                  const f64_t[:, ::1] C, f64_t[:, ::1] PA, f64_t[:, ::1] PB,
                  f64_t[::1] leverage):
    """Multiply each row's values by the inverse of the equations, at its own effects.

    Parameters
    ----------
    codes : int32 array of shape (n,)
        Level of each row in the first grouping.
    A : float64 array of shape (n, r)
        Values of the level's effects.
    place, entry : int32 arrays of shape (n, K)
        Places and entries of the other effects.
    B : float64 array of shape (n, K)
        Their values.
    C_own : float64 array of shape (n_levels, r, r)
        The inverse between effects of a level.
    C_entries : float64 array of shape (n_entries, r)
        Between a level and other effects that it meets.
    C : float64 array of shape (size or more, size or more)
        Between other effects, symmetric.
    PA, PB : float64 arrays of shapes (n, r) and (n, K), filled
        Products.
    leverage : float64 array of shape (n,), filled
        Products, times the values once more.
    """
    cdef intp_t n = A.shape[0], r = A.shape[1], K = B.shape[1], i, a, b
    cdef f64_t x, total
    cdef const f64_t* own
    with nogil:
        for i in range(n):
            total = 0.0
            for a in range(r):
                own = &C_own[codes[i], a, 0]
                x = 0.0
                for b in range(r):
                    x += own[b] * A[i, b]
                for b in range(K):
                    x += C_entries[entry[i, b], a] * B[i, b]
                PA[i, a] = x
                total += x * A[i, a]
            for a in range(K):
                x = 0.0
                for b in range(r):
                    x += C_entries[entry[i, a], b] * A[i, b]
                for b in range(K):
                    x += C[place[i, a], place[i, b]] * B[i, b]
                PB[i, a] = x
                total += x * B[i, a]
            leverage[i] = total


def solve_levels(const f64_t[:, :, ::1] root, f64_t[:, ::1] x):
    """``(root root')^-1 x`` of every level, in place.

    Parameters
    ----------
    root : float64 array of shape (n, r, r)
        Lower roots.
    x : float64 array of shape (n, r), changed
        Right-hand sides; then solutions.
    """
    cdef intp_t n = root.shape[0], r = root.shape[1], i, a, b
    with nogil:
        for i in range(n):
            for a in range(r):
                for b in range(a):
                    x[i, a] -= root[i, a, b] * x[i, b]
                x[i, a] /= root[i, a, a]
            for a in range(r - 1, -1, -1):
                for b in range(a + 1, r):
                    x[i, a] -= root[i, b, a] * x[i, b]
                x[i, a] /= root[i, a, a]


def sum_entries(const f64_t[:, ::1] V, const intp_t[::1] indptr,
                const intp_t[::1] place, const f64_t[:, ::1] x, f64_t[::1] out):
    """Add the product of each entry's column with its level's vector to its place.

    Parameters
    ----------
    V : float64 array of shape (n_entries, r)
        Columns, level by level.
    indptr : intp array of shape (n + 1,)
        Boundaries of the levels.
    place : intp array of shape (n_entries,)
        Where each product goes.
    x : float64 array of shape (n, r)
        Vectors of the levels.
    out : float64 array of shape (size,), added to
        Sums.
    """
    cdef intp_t n = indptr.shape[0] - 1, r = V.shape[1], i, e, a
    cdef f64_t total
    with nogil:
        for i in range(n):
            for e in range(indptr[i], indptr[i + 1]):
                total = 0.0
                for a in range(r):
                    total += V[e, a] * x[i, a]
                out[place[e]] += total
