"""Numbers to small bins, the form in which histogram trees read the features, and to
bytes, in which large nodes of extra trees read them first (_feature_bytes.pxd).
"""

from libc.math cimport INFINITY

from kinlearn._kernels._typedefs cimport f32_t, f64_t, float_t, i32_t, intp_t, u8_t
from kinlearn._kernels._vectors cimport prefetch


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


cdef extern from "_byte_bins.h" nogil:
    enum:
        CELLS "KINLEARN_CELLS"
        ROWS "KINLEARN_CELL_ROWS"

    ctypedef struct Cells "kinlearn_cells":
        bint by_bits
        f32_t origin
        f32_t cells_per_unit
        const u8_t* bin_of_cell
        f32_t* lowest
        f32_t* highest

    void bin_values "kinlearn_bin_values" (
        const f32_t* values, intp_t stride, int n, const Cells* how, u8_t* bins
    ) noexcept

cdef enum:
    FEATURES = 16       # as many as share a line of memory

N_CELLS = CELLS


def bin_rows(
    const f32_t[:, :] X,
    const u8_t[::1] by_bits,
    const f32_t[::1] origin,
    const f32_t[::1] cells_per_unit,
    const u8_t[:, ::1] bin_of_cell,
    u8_t[:, :] bins,
    f32_t[:, ::1] lowest,
    f32_t[:, ::1] highest,
):
    """Find the bin of every value, by cells of even width.

    Parameters
    ----------
    X : float32 array of shape (n, n_features), values of a row adjacent
        Rows; NaN is a missing value.
    by_bits : uint8 array of shape (n_features,)
        Whether the cells of a feature are even in the bits of its values, which is
        nearly in their logarithms.
    origin, cells_per_unit : float32 arrays of shape (n_features,)
        Where the first cell begins, and how narrow cells are. Values before the first
        cell belong to it, values behind the last one to that.
    bin_of_cell : uint8 array of shape (n_features, N_CELLS)
        Ascending.
    bins : uint8 array of shape (n_features, n), values of a feature adjacent, filled
        Bins; 255 for a missing value.
    lowest, highest : float32 arrays of shape (n_features, 256), updated
        Extremes of the values in a bin. At 255, `lowest` becomes -inf if there are
        missing values.
    """
    cdef intp_t n = X.shape[0], d = X.shape[1]
    cdef intp_t stride = X.strides[0] // sizeof(f32_t)
    cdef intp_t start, first, f, i, end
    cdef Cells how
    with nogil:
        for start from 0 <= start < n by ROWS:
            end = min(n, start + ROWS)
            for first from 0 <= first < d by FEATURES:
                for i in range(end, min(n, end + ROWS)):
                    prefetch(&X[i, first])
                for f in range(first, min(d, first + FEATURES)):
                    how = Cells(
                        by_bits[f], origin[f], cells_per_unit[f], &bin_of_cell[f, 0],
                        &lowest[f, 0], &highest[f, 0],
                    )
                    bin_values(
                        &X[start, f], stride, <int>(end - start), &how,
                        &bins[f, start],
                    )
