# What solvers see of a kernel matrix: some of its rows at a time, and its diagonal.
#
# Rows and columns go by position. A solver may reorder the positions (shrinking
# moves the rows that still matter to the front); `place` says which row of the data
# stands where. Nothing here is safe for two threads at once.

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t

cdef enum:
    BLOCK = 16  # rows that are computed together at the most
    PRODUCT_ROWS = 256  # rows of a product between two looks for Ctrl-C
    CHUNK = 1024  # columns of them that stay in the processor's cache meanwhile


cdef inline intp_t n_chunks(intp_t length, intp_t size) noexcept nogil:
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


cpdef enum Kernel:
    LINEAR = 0
    RBF = 1
    POLY = 2
    PRECOMPUTED = 3


cdef class KernelRows(RowSource):
    cdef intp_t n_features
    cdef Kernel kernel
    cdef f64_t gamma, coef0
    cdef int degree
    # Dense: one of these, feature by feature, in the order of the positions.
    cdef f32_t[::1, :] packed32
    cdef f64_t[::1, :] packed64
    # Precomputed: one of these, in the order of the data.
    cdef const f32_t[:, ::1] matrix32
    cdef const f64_t[:, ::1] matrix64
    # Sparse: rows of the data, and one of them as a dense one.
    cdef const i32_t[::1] indices
    cdef const i64_t[::1] indptr
    cdef const f64_t[::1] data
    cdef f64_t[::1] dense
    cdef intp_t[::1] base  # precomputed and sparse: place -> row of the data
    cdef bint single, sparse
    cdef f64_t[::1] norm  # squared lengths by position (PRECOMPUTED: the diagonal)
    cdef f32_t[::1] query32, dots32
    cdef f64_t[::1] query64, dots64
    cdef f64_t[::1] work

    cdef void _fill32(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                      f32_t** out) noexcept nogil
    cdef void _fill64(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                      f32_t** out) noexcept nogil
    cdef void _fill_sparse(self, intp_t i, intp_t start, intp_t stop,
                           f32_t* out) noexcept nogil
    cdef void _fill_precomputed(self, intp_t i, intp_t start, intp_t stop,
                                f32_t* out) noexcept nogil
    cdef void _finish64(self, const f64_t* dots, f64_t norm, intp_t start, intp_t stop,
                        f32_t* out) noexcept nogil


# The last used rows of a RowSource, in float32, bounded in bytes.
#
# All rows are as long as the active prefix of the positions. `shrink` makes that
# prefix shorter, and keeps what the rows hold of it; `restore` brings back all
# positions, in the order of the data, and forgets the rows.
cdef enum:
    MIN_SLOTS = 32  # rows that are kept whatever the bound


cdef class RowCache:
    cdef RowSource source
    cdef readonly intp_t length  # active positions
    cdef readonly intp_t n_slots, n_used, n_computed
    cdef f32_t[::1] cells
    cdef i32_t[::1] slot_of  # position -> slot, or -1
    cdef i32_t[::1] position  # slot -> position
    cdef i32_t[::1] before, after  # the slots from the last used to the first
    cdef i32_t newest, oldest
    cdef intp_t[::1] order
    cdef i32_t[::1] work

    # A row, which stays valid while the next MIN_SLOTS - 1 rows are requested.
    cdef const f32_t* row(self, intp_t i) noexcept nogil
    # keep: the m positions that stay active, ascending. self.order then holds what
    # stood where, for the old active positions; the source is reordered alike.
    cdef void shrink(self, const intp_t* keep, intp_t m) noexcept nogil
    cdef void restore(self) noexcept nogil

    cdef i32_t _take_slot(self, intp_t i) noexcept nogil
    cdef void _touch(self, i32_t slot) noexcept nogil
    cdef void _unlink(self, i32_t slot) noexcept nogil
    cdef void _link_newest(self, i32_t slot) noexcept nogil
    cdef void _forget(self) noexcept nogil
