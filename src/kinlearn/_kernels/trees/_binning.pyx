"""Numbers to small bins: the form in which histogram trees read the features."""

from libc.math cimport INFINITY

from kinlearn._kernels._typedefs cimport f64_t, float_t, i32_t, intp_t, u8_t


def assign_bins(const float_t[:, :] X, const f64_t[::1] edges,
                const i32_t[::1] indptr, u8_t[::1, :] out):
    """Bin of every value: how many edges of its feature lie below it.

    Parameters
    ----------
    X : float array of shape (n, n_features), any order
        NaN is a missing value.
    edges : float64 array
        Ascending edges, feature by feature, at most 254 for each.
    indptr : int32 array of shape (n_features + 1,)
        Edges of feature f are ``edges[indptr[f]:indptr[f + 1]]``.
    out : uint8 array of shape (n, n_features), column-major, filled
        x <= edge b exactly when the bin is at most b; 255 for a missing value.
    """
    cdef intp_t n = X.shape[0], i
    cdef i32_t f, k, n_edges
    cdef u8_t low, step
    cdef f64_t value
    # Padded to 255 edges, the search is eight steps without a branch.
    cdef f64_t[255] padded
    with nogil:
        for f in range(<i32_t>X.shape[1]):
            n_edges = indptr[f + 1] - indptr[f]
            for k in range(255):
                padded[k] = edges[indptr[f] + k] if k < n_edges else INFINITY
            for i in range(n):
                value = X[i, f]
                low = 0
                step = 128
                while step:
                    low += step * (padded[low + step - 1] < value)
                    step >>= 1
                out[i, f] = low if value == value else 255
