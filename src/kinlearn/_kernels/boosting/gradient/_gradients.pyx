"""Gradients and curvatures of losses, and as integers whose sums are exact."""

from libc.math cimport exp, fabs, fmax, rint
from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t

cpdef enum Loss:
    SQUARED = 0
    LOGISTIC = 1
    POISSON = 2
    GAMMA = 3
    QUANTILE = 4

cdef enum:
    MOST_LOG = 600      # beyond it, exp would overflow in a product


def fill_gradients(
    Loss loss, f64_t quantile, const f64_t[::1] y, const f64_t[::1] score,
    const f64_t[:] weight, f64_t[:] g, f64_t[:] h,
):
    """First and second derivative of the loss of each row, by its score.

    Parameters
    ----------
    loss : Loss
        The loss.
    quantile : float
        Which quantile, for its loss.
    y, score, weight : float64 arrays of shape (n,)
        Targets, scores and weights. Targets of the logistic loss are 0 and 1.
    g, h : float64 arrays of shape (n,), filled
        The derivatives times the weight. The loss of a quantile has no curvature: 1
        stands for it. That of costs is its mean, 1: a cost near 0 has hardly any.
    """
    cdef intp_t n = y.shape[0], i
    cdef f64_t p, w
    with nogil:
        if loss == SQUARED:
            for i in range(n):
                g[i] = weight[i] * (score[i] - y[i])
                h[i] = weight[i]
        elif loss == LOGISTIC:
            for i in range(n):
                w = weight[i]
                p = 1 / (1 + exp(-score[i]))
                g[i] = w * (p - y[i])
                h[i] = w * p * (1 - p)
        elif loss == POISSON:
            for i in range(n):
                p = weight[i] * exp(min(score[i], <f64_t> MOST_LOG))
                g[i] = p - weight[i] * y[i]
                h[i] = p
        elif loss == GAMMA:
            for i in range(n):
                p = weight[i] * y[i] * exp(min(-score[i], <f64_t> MOST_LOG))
                g[i] = weight[i] - p
                h[i] = weight[i]
        else:
            for i in range(n):
                w = weight[i]
                if score[i] > y[i]:
                    g[i] = w * (1 - quantile)
                elif score[i] < y[i]:
                    g[i] = -w * quantile
                else:
                    g[i] = 0
                h[i] = w


def fill_softmax_gradients(
    const i32_t[::1] y, const f64_t[:, ::1] score, const u8_t[:, ::1] allowed,
    const i32_t[::1] task, const f64_t[:] weight, f64_t[:, :] g, f64_t[:, :] h,
):
    """The same of the multinomial loss, over the classes that each task has.

    Parameters
    ----------
    y : int32 array of shape (n,)
        Class codes.
    score : float64 array of shape (n, n_classes)
        Scores.
    allowed : uint8 array of shape (n_tasks, n_classes)
        Which classes a task has.
    task : int32 array of shape (n,)
        Task codes.
    weight : float64 array of shape (n,)
        Weights.
    g, h : float64 arrays of shape (n_classes, n), filled
        The derivatives by the score of each class; zero of classes that a task lacks.
    """
    cdef intp_t n = y.shape[0], n_classes = score.shape[1], i, k
    cdef f64_t top, total, p, w
    cdef const u8_t* has
    with nogil:
        for i in range(n):
            has = &allowed[task[i], 0]
            top = -1e300
            for k in range(n_classes):
                if has[k]:
                    top = fmax(top, score[i, k])
            total = 0
            for k in range(n_classes):
                if has[k]:
                    g[k, i] = exp(score[i, k] - top)
                    total += g[k, i]
            w = weight[i]
            for k in range(n_classes):
                if has[k]:
                    p = g[k, i] / total
                    g[k, i] = w * (p - (y[i] == k))
                    h[k, i] = w * p * (1 - p)
                else:
                    g[k, i] = 0
                    h[k, i] = 0


def largest(const f64_t[:] g, const f64_t[:] h, const f64_t[:] weight):
    """The largest magnitude of a gradient, and of gradient and curvature by weight."""
    cdef intp_t i
    cdef f64_t most_g = 0, by_g = 0, by_h = 0, w = 0, here_g = 0, here_h = 0
    with nogil:
        for i in range(g.shape[0]):
            if weight[i] != w:      # rows of one weight are divided together
                if w > 0:
                    by_g, by_h = fmax(by_g, here_g / w), fmax(by_h, here_h / w)
                    most_g = fmax(most_g, here_g)
                w, here_g, here_h = weight[i], 0, 0
            here_g = max(here_g, fabs(g[i]))
            here_h = max(here_h, h[i])
        if w > 0:
            by_g, by_h = fmax(by_g, here_g / w), fmax(by_h, here_h / w)
            most_g = fmax(most_g, here_g)
    return most_g, by_g, by_h


def fill_pairs(
    const f64_t[:] g, const f64_t[:] h, const i64_t[:] n_rows,
    const i32_t[::1] rows, f64_t g_unit, f64_t h_unit, int bits, f64_t square_unit,
    i64_t[:, ::1] pairs,
):
    """Gradients and curvatures as integers, and the noise of the gradients.

    Parameters
    ----------
    g, h : float64 arrays of shape (n,)
        Gradients and curvatures. They may lie in the memory of `pairs`, those of each
        row where its pair will be.
    n_rows : int64 array of shape (n,)
        How many rows each row stands for.
    rows : int32 array
        Rows that count.
    g_unit, h_unit : float
        Powers of two.
    bits : int
        How far curvatures are shifted; the counts stand below.
    square_unit : float
        What squared gradients are multiples of: the largest gradient times `g_unit`, so
        that their sum is no larger than that of gradients.
    pairs : int64 array of shape (n, 2), filled
        Gradient, and curvature with count, of the rows that count.

    Returns
    -------
    squares, curvatures : int
        Sums over the rows of the squared gradient of one row that each stands for,
        and of the curvature, as multiples of their units: exact, so that those of
        some rows can be added to those of others.
    """
    cdef intp_t i
    cdef i32_t r
    cdef i64_t squares = 0, sum_h = 0, whole
    cdef f64_t per_g = 1 / g_unit, per_h = 1 / h_unit, of_g, of_h
    with nogil:
        for i in range(rows.shape[0]):
            r = rows[i]
            # copied as bytes: the same memory will hold integers
            memcpy(&of_g, &g[r], sizeof(f64_t))
            memcpy(&of_h, &h[r], sizeof(f64_t))
            squares += <i64_t> rint(of_g / n_rows[r] * (of_g / square_unit))
            whole = <i64_t> rint(of_h * per_h)
            sum_h += whole
            pairs[r, 0] = <i64_t> rint(of_g * per_g)
            pairs[r, 1] = (whole << bits) + n_rows[r]
    return squares, sum_h


def fill_numbers(
    const i64_t[:, :, ::1] sums, f64_t[:, ::1] g, f64_t[:, ::1] h, *,
    f64_t g_unit, f64_t h_unit, int bits,
):
    """Gradients and curvatures of whole sums, as numbers.

    Parameters
    ----------
    sums : int64 array of shape (n, m, 2)
        Gradients, and curvatures with counts.
    g, h : float64 arrays of shape (n, m), filled
        The numbers.
    g_unit, h_unit : float
        What they are multiples of.
    bits : int
        Bits of the counts.
    """
    cdef intp_t i, j
    with nogil:
        for i in range(sums.shape[0]):
            for j in range(sums.shape[1]):
                g[i, j] = <f64_t> sums[i, j, 0] * g_unit
                h[i, j] = <f64_t> (sums[i, j, 1] >> bits) * h_unit


def departure_moments(const f64_t[:, :] g, const f64_t[:, :] h):
    """Moments of the departures of tasks from the values of their leaves.

    Parameters
    ----------
    g, h : float64 arrays of shape (n_leaves, n_tasks)
        Sums of gradients and curvatures; zero where a task has no rows.

    Returns
    -------
    spread : float
        Sum of squared departures of gradients over curvatures.
    free : float
        What it grows by, for each unit of the departures' variance.
    n_free : int
        Pairs of leaf and task that have rows, less the leaves that have any.
    """
    cdef intp_t leaf, t, n_tasks = g.shape[1], n_free = 0
    cdef f64_t spread = 0, free = 0, G, H, mean, left, squares
    with nogil:
        for leaf in range(g.shape[0]):
            G = H = squares = 0
            for t in range(n_tasks):
                G += g[leaf, t]
                H += h[leaf, t]
            if H <= 0:
                continue
            mean = G / H
            n_free -= 1
            for t in range(n_tasks):
                if h[leaf, t] > 0:
                    left = g[leaf, t] - h[leaf, t] * mean
                    spread += left * left / h[leaf, t]
                    squares += h[leaf, t] * h[leaf, t]
                    n_free += 1
            free += H - squares / H
    return spread, free, n_free
