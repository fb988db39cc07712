# Impurities, from sums of weights.
#
# A split is worth purity(left) + purity(right), where purity is minus the
# impurity times the weight, less the terms that all splits of a node share.

from libc.math cimport log2

from kinlearn._kernels._typedefs cimport f64_t, i64_t, intp_t

cdef enum Criterion:
    GINI = 0
    ENTROPY = 1
    VARIANCE = 2


cdef inline f64_t xlogx(f64_t x) noexcept nogil:
    return x * log2(x) if x > 0 else 0.0


# Two classes, or a number: w is the weight, b the weighted sum of y (0 or 1, or
# the number). The Gini index of two classes is twice the variance of the 0/1
# label, so it needs no code of its own.

cdef inline f64_t pair_purity(Criterion criterion, f64_t w, f64_t b) noexcept nogil:
    if criterion == ENTROPY:
        return xlogx(w - b) + xlogx(b) - xlogx(w)
    return b * b / w


cdef inline f64_t pair_impurity(Criterion criterion, f64_t w, f64_t b) noexcept nogil:
    # Of two classes.
    cdef f64_t p = b / w
    if criterion == ENTROPY:
        return -(xlogx(1 - p) + xlogx(p))
    return 2 * p * (1 - p)


# More classes: k weights by class, each a multiple of `unit`.

cdef inline f64_t classes_purity(
    Criterion criterion, const i64_t* hist, intp_t k, i64_t w, f64_t unit
) noexcept nogil:
    cdef f64_t total = 0.0, h
    cdef intp_t c
    if criterion == ENTROPY:
        for c in range(k):
            total += xlogx(hist[c] * unit)
        return total - xlogx(w * unit)
    for c in range(k):
        h = hist[c] * unit
        total += h * h
    return total / (w * unit)


cdef inline f64_t classes_impurity(
    Criterion criterion, const i64_t* hist, intp_t k, i64_t w
) noexcept nogil:
    cdef f64_t total = 0.0, p
    cdef intp_t c
    for c in range(k):
        p = <f64_t>hist[c] / w
        total += xlogx(p) if criterion == ENTROPY else p * p
    return -total if criterion == ENTROPY else 1.0 - total
