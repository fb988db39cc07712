"""Votes of weighted trees for new rows."""

import numpy as np

from kinlearn._kernels._typedefs cimport f64_t, float_t, i32_t, i64_t, intp_t

# What a walk reads of a node. A leaf has left = -1.
cdef packed struct Step:
    f64_t threshold
    i32_t left
    i32_t feature
    i32_t label
    i32_t missing_left

STEP = np.dtype([
    ("threshold", np.float64), ("left", np.int32), ("feature", np.int32),
    ("label", np.int32), ("missing_left", np.int32),
])


cdef inline i32_t _label(const Step* steps, const float_t* x) noexcept nogil:
    cdef i32_t v = 0
    cdef float_t value
    cdef bint left
    while steps[v].left >= 0:
        value = x[steps[v].feature]
        left = value <= steps[v].threshold
        if value != value:
            left = steps[v].missing_left
        v = steps[v].left + (not left)
    return steps[v].label


def add_votes(const float_t[:, ::1] X, const Step[::1] steps,
              const i32_t[::1] roots, const f64_t[::1] votes, f64_t[:, ::1] out):
    """Add the vote of each tree to the class that it answers.

    Parameters
    ----------
    X : float array of shape (n, n_features), row-major
        NaN is a missing value.
    steps : structured array
        Nodes of all trees; children are counted within their tree.
    roots : int32 array of shape (n_trees,)
        First node of each tree.
    votes : float64 array of shape (n_trees,)
        Weights of the trees; those of 0 are passed by.
    out : float64 array of shape (n, n_classes)
        Added to.
    """
    cdef intp_t i, t
    with nogil:
        for i in range(X.shape[0]):
            for t in range(roots.shape[0]):
                if votes[t] > 0:
                    out[i, _label(&steps[roots[t]], &X[i, 0])] += votes[t]


def add_votes_sparse(const float_t[::1] data, const i32_t[::1] indices,
                     const i64_t[::1] indptr, float_t[::1] line,
                     const Step[::1] steps, const i32_t[::1] roots,
                     const f64_t[::1] votes, f64_t[:, ::1] out):
    """The same for rows of a CSR matrix; `line` is zero, and of its width."""
    cdef intp_t i, j, t
    with nogil:
        for i in range(indptr.shape[0] - 1):
            for j in range(indptr[i], indptr[i + 1]):
                line[indices[j]] = data[j]
            for t in range(roots.shape[0]):
                if votes[t] > 0:
                    out[i, _label(&steps[roots[t]], &line[0])] += votes[t]
            for j in range(indptr[i], indptr[i + 1]):
                line[indices[j]] = 0
