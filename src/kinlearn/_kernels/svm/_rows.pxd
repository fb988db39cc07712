# What solvers see of a kernel matrix: some of its rows at a time, and its diagonal.
#
# Rows and columns go by position. A solver may reorder the positions (shrinking
# moves the rows that still matter to the front); `place` says which row of the data
# stands where. Nothing here is safe for two threads at once.

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, intp_t

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

    # A row, which stays valid while the next MIN_SLOTS - 1 rows are asked for.
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


cdef class TaskRows(RowSource):
    cdef RowSource decision
    cdef RowSource correction  # or None: the decision kernel again
    cdef f64_t share  # 1 / correction_penalty
    cdef readonly intp_t n_tasks
    cdef i32_t[::1] task  # by position
    cdef i32_t[::1] work
    cdef f32_t[::1] buffer
    # The positions of a task: among the active ones, and among the others.
    cdef intp_t[::1] first, last, tail_first, tail_last

    cdef void find_segments(self, intp_t length) noexcept nogil
    cdef void _add_correction(self, const intp_t* which, intp_t k, intp_t start,
                              intp_t stop, f32_t** out) noexcept nogil
