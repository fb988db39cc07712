"""Logistic regressions of many small tasks, one after another, by Newton's method.

For each task the objective of scikit-learn's LogisticRegression with an l2 penalty,

    c sum_i s_i log(1 + exp(-z_i (x_i b + a))) + |b|^2 / 2 ,

z is -1 or 1. Newton's equations are solved by Cholesky's method; a step that does not
lower the objective enough is halved.
"""

from libc.math cimport exp, fabs, log1p, sqrt

from kinlearn._kernels._typedefs cimport f64_t, i8_t, intp_t

cdef enum:
    MOST_HALVINGS = 40


cdef inline f64_t softplus(f64_t v) noexcept nogil:
    """log(1 + exp(v)), without overflow."""
    return v + log1p(exp(-v)) if v > 0 else log1p(exp(v))


cdef f64_t objective(const f64_t[:, ::1] X, const i8_t[::1] sign,
                     const f64_t[::1] weight, intp_t first, intp_t last, f64_t cost,
                     const f64_t *b) noexcept nogil:
    cdef intp_t d = X.shape[1], i, j
    cdef f64_t total = 0.0, score
    for i in range(first, last):
        score = b[d]
        for j in range(d):
            score += X[i, j] * b[j]
        total += weight[i] * softplus(-sign[i] * score)
    total *= cost
    for j in range(d):
        total += 0.5 * b[j] * b[j]
    return total


cdef void expand(const f64_t[:, ::1] X, const i8_t[::1] sign, const f64_t[::1] weight,
                 intp_t first, intp_t last, f64_t cost, const f64_t *b,
                 f64_t *slope, f64_t *curvature) noexcept nogil:
    """Gradient, and the lower half of the second derivatives; the last is a."""
    cdef intp_t d = X.shape[1], m = d + 1, i, j, k
    cdef f64_t score, p, g, h, v
    for j in range(m * m):
        curvature[j] = 0.0
    for j in range(m):
        slope[j] = 0.0
    for i in range(first, last):
        if weight[i] == 0:
            continue
        score = b[d]
        for j in range(d):
            score += X[i, j] * b[j]
        v = exp(-fabs(score))
        p = (1.0 if score >= 0 else v) / (1.0 + v)
        g = cost * weight[i] * (p - (1.0 if sign[i] > 0 else 0.0))
        h = cost * weight[i] * v / ((1.0 + v) * (1.0 + v))
        for j in range(d):
            slope[j] += g * X[i, j]
            v = h * X[i, j]
            for k in range(j + 1):
                curvature[j * m + k] += v * X[i, k]
            curvature[d * m + j] += v
        slope[d] += g
        curvature[d * m + d] += h
    for j in range(d):
        slope[j] += b[j]
        curvature[j * m + j] += 1.0
    # far from the solution all rows may be flat: the level still needs a step
    curvature[d * m + d] += 1e-12


cdef bint solve(f64_t *A, f64_t *x, intp_t m) noexcept nogil:
    """Solve A x = x in place; A is the lower half of a positive definite matrix."""
    cdef intp_t i, j, k
    cdef f64_t total
    for j in range(m):
        total = A[j * m + j]
        for k in range(j):
            total -= A[j * m + k] * A[j * m + k]
        if not total > 0:
            return False
        A[j * m + j] = sqrt(total)
        for i in range(j + 1, m):
            total = A[i * m + j]
            for k in range(j):
                total -= A[i * m + k] * A[j * m + k]
            A[i * m + j] = total / A[j * m + j]
    for i in range(m):
        total = x[i]
        for k in range(i):
            total -= A[i * m + k] * x[k]
        x[i] = total / A[i * m + i]
    for i in range(m - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, m):
            total -= A[k * m + i] * x[k]
        x[i] = total / A[i * m + i]
    return True


def fit_task_logistic(const f64_t[:, ::1] X, const i8_t[::1] sign,
                      const f64_t[::1] weight, const intp_t[::1] indptr, f64_t cost,
                      f64_t tol, intp_t max_iter, f64_t[::1] work,
                      f64_t[:, ::1] coef, intp_t[::1] n_iter):
    """Fit a logistic regression to the rows of each task.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
        Finite features, the rows of a task together.
    sign : int8 array of shape (n_samples,)
        Classes, -1 or 1; each task has both.
    weight : float64 array of shape (n_samples,)
        Weights; each task has some in both classes.
    indptr : intp array of shape (n_tasks + 1,)
        Where the rows of the tasks begin.
    cost : float
        The inverse of the penalty.
    tol : float
        The largest part of the gradient at which a task is done.
    max_iter : int
        Most steps.
    work : float64 array of shape ((n_features + 1) * (n_features + 4),)
        Memory.
    coef : float64 array of shape (n_tasks, n_features + 1), out
        Where to begin, and the solutions; the last column is the intercept.
    n_iter : intp array of shape (n_tasks,), out
        Steps that were taken; -1 if the gradient is still larger than `tol`.
    """
    cdef intp_t d = X.shape[1], m = d + 1, t, step, j, _halving
    cdef f64_t before, after, length, fall, most
    cdef f64_t *curvature = &work[0]
    cdef f64_t *slope = curvature + m * m
    cdef f64_t *move = slope + m
    cdef f64_t *trial = move + m
    cdef f64_t *b
    with nogil:
        for t in range(coef.shape[0]):
            b = &coef[t, 0]
            n_iter[t] = -1
            before = objective(X, sign, weight, indptr[t], indptr[t + 1], cost, b)
            for step in range(max_iter + 1):
                expand(X, sign, weight, indptr[t], indptr[t + 1], cost, b, slope,
                       curvature)
                most = 0.0
                for j in range(m):
                    most = max(most, fabs(slope[j]))
                    move[j] = slope[j]
                if most <= tol:
                    n_iter[t] = step
                    break
                if step == max_iter or not solve(curvature, move, m):
                    break
                fall = 0.0
                for j in range(m):
                    fall += slope[j] * move[j]
                length = 1.0
                for _halving in range(MOST_HALVINGS):
                    for j in range(m):
                        trial[j] = b[j] - length * move[j]
                    after = objective(X, sign, weight, indptr[t], indptr[t + 1],
                                      cost, trial)
                    if after <= before - 1e-4 * length * fall + 1e-12 * fabs(before):
                        break
                    length *= 0.5
                else:
                    break
                for j in range(m):
                    b[j] = trial[j]
                before = after
