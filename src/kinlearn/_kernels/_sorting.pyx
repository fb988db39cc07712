"""Grouping rows by a small integer code, in linear time."""

from kinlearn._kernels._typedefs cimport i32_t, intp_t


def group_by_code(const i32_t[::1] codes, intp_t[::1] indptr, intp_t[::1] order):
    """Stable counting sort of the rows by their code.

    Parameters
    ----------
    codes : int32 array of shape (n,)
        Codes in 0 .. k - 1; the caller has checked them.
    indptr : intp array of shape (k + 1,), filled
        Rows of code c are ``order[indptr[c]:indptr[c + 1]]``.
    order : intp array of shape (n,), filled
        Row numbers, ascending within each code.
    """
    cdef intp_t n = codes.shape[0]
    cdef intp_t k = indptr.shape[0] - 1
    cdef intp_t i, c
    with nogil:
        for c in range(k + 1):
            indptr[c] = 0
        for i in range(n):
            indptr[codes[i] + 1] += 1
        for c in range(k):
            indptr[c + 1] += indptr[c]
        # indptr[c] walks from the start of group c to its end, which is the
        # start of group c + 1: shifting by one place restores the starts.
        for i in range(n):
            c = codes[i]
            order[indptr[c]] = i
            indptr[c] += 1
        for c in range(k, 0, -1):
            indptr[c] = indptr[c - 1]
        indptr[0] = 0
