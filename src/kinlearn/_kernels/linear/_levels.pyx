"""Mixed models: small matrices, one for each level of a grouping.

A level (a task, a school) has r effects. Its equations are ``M u + V d + R f = R_y``:
M is r x r, d are effects of other groupings (a few columns `V`, by their places) and f
the fixed effects (all columns `R`). Levels of one grouping do not meet, so that they
are eliminated one by one; what they leave to others is subtracted from a dense matrix.
"""

from libc.math cimport log, sqrt

from kinlearn._kernels._typedefs cimport f64_t, i32_t, intp_t


def add_products(const i32_t[::1] codes, const f64_t[:, ::1] Z,
                 const f64_t[:, ::1] F, f64_t[:, :, ::1] out):
    """Add the outer product of two vectors of each row to the matrix of its level.

    Parameters
    ----------
    codes : int32 array of shape (n,)
        Level of each row.
    Z : float64 array of shape (n, q)
        First vectors.
    F : float64 array of shape (n, s)
        Second vectors.
    out : float64 array of shape (n_levels, q, s), added to
        Sums.
    """
    cdef intp_t n = codes.shape[0], q = Z.shape[1], s = F.shape[1]
    cdef intp_t i, a, j, c
    cdef f64_t z
    with nogil:
        for i in range(n):
            c = codes[i]
            for a in range(q):
                z = Z[i, a]
                for j in range(s):
                    out[c, a, j] += z * F[i, j]


def transform(const f64_t[:, ::1] left, const f64_t[:, :, ::1] A,
              const f64_t[:, ::1] right, f64_t[:, :, ::1] out):
    """``left.T @ A[i] @ right`` for each of some small matrices.

    Parameters
    ----------
    left : float64 array of shape (q, r)
        Factor on the left.
    A : float64 array of shape (n, q, s)
        Matrices.
    right : float64 array of shape (s, t), or None
        Factor on the right; None is the identity.
    out : float64 array of shape (n, r, t), filled
        Products.
    """
    cdef intp_t n = A.shape[0], q = A.shape[1], s = A.shape[2]
    cdef intp_t r = left.shape[1], t = out.shape[2]
    cdef intp_t i, a, b, j, k
    cdef f64_t x, factor
    cdef bint plain = right is None
    with nogil:
        for i in range(n):
            for b in range(r):
                for k in range(t):
                    out[i, b, k] = 0.0
            for a in range(q):
                for b in range(r):
                    factor = left[a, b]
                    if factor == 0.0:
                        continue
                    if plain:
                        for j in range(s):
                            out[i, b, j] += factor * A[i, a, j]
                    else:
                        for j in range(s):
                            x = factor * A[i, a, j]
                            for k in range(t):
                                out[i, b, k] += x * right[j, k]


def sum_products(const f64_t[:, :, ::1] A, const f64_t[:, :, ::1] B,
                 f64_t[:, ::1] out):
    """Sum of ``A[i] @ B[i].T`` over small matrices.

    Parameters
    ----------
    A : float64 array of shape (n, q, s)
        Matrices; of their columns, the first t count.
    B : float64 array of shape (n, r, t)
        Matrices.
    out : float64 array of shape (q, r), added to
        The sum.
    """
    cdef intp_t n = A.shape[0], q = A.shape[1], r = B.shape[1], t = B.shape[2]
    cdef intp_t i, a, b, j
    cdef f64_t x
    with nogil:
        for i in range(n):
            for a in range(q):
                for b in range(r):
                    x = 0.0
                    for j in range(t):
                        x += A[i, a, j] * B[i, b, j]
                    out[a, b] += x


cdef void _forward(const f64_t* root, intp_t r, f64_t* x, intp_t stride,
                   intp_t width) noexcept nogil:
    """Solve ``root @ new = x`` in place, for `width` columns of x by rows."""
    cdef intp_t a, b, j
    cdef f64_t cell
    for a in range(r):
        for b in range(a):
            cell = root[a * r + b]
            for j in range(width):
                x[a * stride + j] -= cell * x[b * stride + j]
        cell = 1.0 / root[a * r + a]
        for j in range(width):
            x[a * stride + j] *= cell


cdef void _backward(const f64_t* root, intp_t r, f64_t* x, intp_t stride,
                    intp_t width) noexcept nogil:
    """Solve ``root.T @ new = x`` in place, for `width` columns of x by rows."""
    cdef intp_t a, b, j
    cdef f64_t cell
    for a in range(r - 1, -1, -1):
        for b in range(a + 1, r):
            cell = root[b * r + a]
            for j in range(width):
                x[a * stride + j] -= cell * x[b * stride + j]
        cell = 1.0 / root[a * r + a]
        for j in range(width):
            x[a * stride + j] *= cell


def factor_levels(f64_t[:, :, ::1] M, f64_t[:, :, ::1] R, f64_t[:, ::1] V,
                  const intp_t[::1] indptr):
    """Cholesky roots of the levels, and their other columns divided by them.

    Parameters
    ----------
    M : float64 array of shape (n, r, r), changed
        Positive definite matrices; then their lower roots L, zeros above.
    R : float64 array of shape (n, r, s), changed
        Columns of the fixed effects and the target; then ``L^-1 R``.
    V : float64 array of shape (n_entries, r), changed
        Columns of other groupings' effects, level by level; then ``L^-1 V``.
    indptr : intp array of shape (n + 1,)
        Boundaries of the levels in V.

    Returns
    -------
    float
        Sum of the log determinants; NaN if a matrix is not positive definite.
    """
    cdef intp_t n = M.shape[0], r = M.shape[1], s = R.shape[2]
    cdef intp_t i, a, b, c, e
    cdef f64_t x, total = 0.0
    cdef bint failed = False
    if n == 0 or r == 0:
        return 0.0
    with nogil:
        for i in range(n):
            for b in range(r):
                x = M[i, b, b]
                for c in range(b):
                    x -= M[i, b, c] * M[i, b, c]
                if not x > 0.0:
                    failed = True
                    break
                x = sqrt(x)
                M[i, b, b] = x
                total += log(x)
                for a in range(b + 1, r):
                    for c in range(b):
                        M[i, a, b] -= M[i, a, c] * M[i, b, c]
                    M[i, a, b] /= x
                    M[i, b, a] = 0.0
            if failed:
                break
            if s > 0:
                _forward(&M[i, 0, 0], r, &R[i, 0, 0], s, s)
            for e in range(indptr[i], indptr[i + 1]):
                _forward(&M[i, 0, 0], r, &V[e, 0], 1, 1)
    return float("nan") if failed else 2.0 * total


def subtract_levels(const f64_t[:, :, ::1] R, const f64_t[:, ::1] V,
                    const intp_t[::1] indptr, const intp_t[::1] place,
                    intp_t first, f64_t[:, ::1] D):
    """Subtract what eliminated levels leave to other groupings' effects.

    The part between fixed effects alone is left to the caller: one product of matrices.

    Parameters
    ----------
    R : float64 array of shape (n, r, s)
        Divided columns of the fixed effects and the target.
    V : float64 array of shape (n_entries, r)
        Divided columns of other groupings' effects.
    indptr : intp array of shape (n + 1,)
        Boundaries of the levels in V.
    place : intp array of shape (n_entries,)
        Row of D that each column of V stands for; ascending within a level.
    first : int
        Row of D of the first fixed effect.
    D : float64 array of shape (size, size), changed
        The lower triangle is.
    """
    cdef intp_t n = R.shape[0], r = R.shape[1], s = R.shape[2]
    cdef intp_t i, e, f, a, j
    cdef f64_t x
    with nogil:
        for i in range(n):
            for e in range(indptr[i], indptr[i + 1]):
                for f in range(indptr[i], e + 1):
                    x = 0.0
                    for a in range(r):
                        x += V[e, a] * V[f, a]
                    D[place[e], place[f]] -= x
                for j in range(s):
                    x = 0.0
                    for a in range(r):
                        x += V[e, a] * R[i, a, j]
                    D[first + j, place[e]] -= x


def divide_back(const f64_t[:, :, ::1] root, f64_t[:, :, ::1] R, f64_t[:, ::1] V,
                const intp_t[::1] indptr):
    """``root^-T R`` and ``root^-T V`` in place.

    Parameters
    ----------
    root : float64 array of shape (n, r, r)
        Lower roots.
    R : float64 array of shape (n, r, s), changed
        Columns of every level.
    V : float64 array of shape (n_entries, r), changed
        Columns, level by level.
    indptr : intp array of shape (n + 1,)
        Boundaries of the levels in V.
    """
    cdef intp_t n = root.shape[0], r = root.shape[1], s = R.shape[2]
    cdef intp_t i, e
    if n == 0 or r == 0:
        return
    with nogil:
        for i in range(n):
            if s > 0:
                _backward(&root[i, 0, 0], r, &R[i, 0, 0], s, s)
            for e in range(indptr[i], indptr[i + 1]):
                _backward(&root[i, 0, 0], r, &V[e, 0], 1, 1)


def add_entries(const f64_t[:, ::1] V, const intp_t[::1] indptr,
                const intp_t[::1] place, const f64_t[::1] x, f64_t[:, ::1] out):
    """Add to each level the sum of its entries' columns, times numbers at their places.

    Parameters
    ----------
    V : float64 array of shape (n_entries, r)
        Columns, level by level.
    indptr : intp array of shape (n + 1,)
        Boundaries of the levels.
    place : intp array of shape (n_entries,)
        Where the entry's number is.
    x : float64 array
        The numbers.
    out : float64 array of shape (n, r), added to
        Sums.
    """
    cdef intp_t n = indptr.shape[0] - 1, r = V.shape[1]
    cdef intp_t i, e, a
    with nogil:
        for i in range(n):
            for e in range(indptr[i], indptr[i + 1]):
                for a in range(r):
                    out[i, a] += V[e, a] * x[place[e]]


def inverse_levels(const f64_t[:, :, ::1] root, const f64_t[:, :, ::1] W,
                   const f64_t[:, ::1] U, const intp_t[::1] indptr,
                   const intp_t[::1] place, const f64_t[:, ::1] C, intp_t first,
                   f64_t[:, :, ::1] C_own, f64_t[:, :, ::1] C_fixed,
                   f64_t[:, ::1] C_entries):
    """The parts of the inverse of all equations that belong to the levels' own.

    Parameters
    ----------
    root : float64 array of shape (n, r, r)
        Lower roots of the levels.
    W : float64 array of shape (n, r, s + 1)
        ``M^-1 R``, of the fixed effects; the last column is not read.
    U : float64 array of shape (n_entries, r)
        ``M^-1 V``.
    indptr : intp array of shape (n + 1,)
        Boundaries of the levels in U.
    place : intp array of shape (n_entries,)
        Row of C that each column of U stands for.
    C : float64 array of shape (size, size)
        The inverse of what was left to the others, symmetric.
    first : int
        Row of C of the first fixed effect.
    C_own : float64 array of shape (n, r, r), filled
        Between effects of one level.
    C_fixed : float64 array of shape (n, r, s), changed
        Between a level and the fixed effects; holds ``-W C_ff`` before.
    C_entries : float64 array of shape (n_entries, r), filled
        Between a level and those of other groupings that it meets.
    """
    cdef intp_t n = root.shape[0], r = root.shape[1], s = C_fixed.shape[2]
    cdef intp_t i, e, f, a, b, j
    cdef f64_t x
    if n == 0 or r == 0:
        return
    with nogil:
        for i in range(n):
            for e in range(indptr[i], indptr[i + 1]):
                for a in range(r):
                    C_entries[e, a] = 0.0
                for f in range(indptr[i], indptr[i + 1]):
                    x = C[place[e], place[f]]
                    for a in range(r):
                        C_entries[e, a] -= x * U[f, a]
                for j in range(s):
                    x = C[place[e], first + j]
                    for a in range(r):
                        C_entries[e, a] -= x * W[i, a, j]
                        C_fixed[i, a, j] -= x * U[e, a]
            for a in range(r):
                for b in range(r):
                    C_own[i, a, b] = 1.0 if a == b else 0.0
            _forward(&root[i, 0, 0], r, &C_own[i, 0, 0], r, r)
            _backward(&root[i, 0, 0], r, &C_own[i, 0, 0], r, r)
            for a in range(r):
                for b in range(r):
                    x = 0.0
                    for j in range(s):
                        x += W[i, a, j] * C_fixed[i, b, j]
                    for e in range(indptr[i], indptr[i + 1]):
                        x += U[e, a] * C_entries[e, b]
                    C_own[i, a, b] -= x
