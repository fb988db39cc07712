# The last used rows of a RowSource, in float32, bounded in bytes.
#
# All rows are as long as the active prefix of the positions. `shrink` makes that
# prefix shorter, and keeps what the rows hold of it; `restore` brings back all
# positions, in the order of the data, and forgets the rows.

from kinlearn._kernels._typedefs cimport f32_t, i32_t, intp_t
from kinlearn._kernels.svm._row_source cimport RowSource

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
