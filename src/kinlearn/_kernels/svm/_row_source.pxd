# What solvers see of a kernel matrix: some of its rows at a time, and its diagonal.
#
# Rows and columns go by position. A solver may reorder the positions (shrinking
# moves the rows that still matter to the front); `place` says which row of the data
# stands where. Nothing here is safe for two threads at once.

from kinlearn._kernels._typedefs cimport f32_t, f64_t, intp_t

cdef enum:
    BLOCK = 16  # rows that are computed together at the most
    PRODUCT_ROWS = 256  # rows of a product between two looks for Ctrl-C
    CHUNK = 1024  # columns of them that stay in the processor's cache meanwhile


cdef inline intp_t n_pieces(intp_t length, intp_t size) noexcept nogil:
    return (length + size - 1) // size if length > 0 else 0


cdef class RowSource:
    cdef readonly intp_t n_rows
    cdef intp_t[::1] place

    # Rows which[0] ... which[k - 1] (k <= BLOCK), columns start ... stop - 1, go to
    # out[0] ... out[k - 1].
    cdef void fill(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                   f32_t** out) noexcept nogil

    cdef f64_t diagonal(self, intp_t i) noexcept nogil

    # Position p < m gets what stood at order[p], a permutation of the first m.
    cdef void reorder(self, const intp_t* order, intp_t m) noexcept nogil

    # sums[j - start] += sum_i coef[i] K[which[i], j], for columns start ... stop - 1
    cdef void add_product(self, const intp_t* which, const f64_t* coef, intp_t k,
                          intp_t start, intp_t stop, f64_t* sums) noexcept nogil
