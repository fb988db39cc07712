"""A bounded store of kernel rows that forgets the row unused for longest."""

import numpy as np

from kinlearn._kernels._typedefs cimport f32_t, i32_t, intp_t
from kinlearn._kernels.svm._row_source cimport RowSource


cdef class RowCache:
    """Rows of a matrix, computed once and kept while there is room.

    Parameters
    ----------
    source : RowSource
        Computes the rows.
    n_bytes : int
        Room; some rows are kept in any case.

    Attributes
    ----------
    length : int
        Number of active positions, which every row covers.
    n_slots, n_used, n_computed : int
        Rows that there is room for, that are there, and that were computed so far.
    """

    def __init__(self, RowSource source, intp_t n_bytes):
        cdef intp_t n = source.n_rows, n_cells
        self.source = source
        self.length = n
        n_cells = max(min(n_bytes // 4, n * n), min(MIN_SLOTS, n) * n, 1)
        self.cells = np.empty(n_cells, dtype=np.float32)
        self.n_slots = min(n, n_cells // max(n, 1))
        self.slot_of = np.empty(n, dtype=np.int32)
        # shrinking makes room for more slots, never for more than there are rows
        self.position = np.empty(n, dtype=np.int32)
        self.before = np.empty(n, dtype=np.int32)
        self.after = np.empty(n, dtype=np.int32)
        self.work = np.empty(n, dtype=np.int32)
        self.order = np.empty(n, dtype=np.intp)
        self._forget()

    cdef void _forget(self) noexcept nogil:
        cdef intp_t i
        self.n_used = 0
        self.newest = self.oldest = -1
        for i in range(self.source.n_rows):
            self.slot_of[i] = -1

    cdef void _unlink(self, i32_t slot) noexcept nogil:
        cdef i32_t b = self.before[slot], a = self.after[slot]
        if b >= 0:
            self.after[b] = a
        else:
            self.newest = a
        if a >= 0:
            self.before[a] = b
        else:
            self.oldest = b

    cdef void _link_newest(self, i32_t slot) noexcept nogil:
        self.before[slot] = -1
        self.after[slot] = self.newest
        if self.newest >= 0:
            self.before[self.newest] = slot
        else:
            self.oldest = slot
        self.newest = slot

    cdef void _touch(self, i32_t slot) noexcept nogil:
        if self.newest != slot:
            self._unlink(slot)
            self._link_newest(slot)

    cdef i32_t _take_slot(self, intp_t i) noexcept nogil:
        """A slot for position i, the newest one; its row is yet to be filled."""
        cdef i32_t slot
        if self.n_used < self.n_slots:
            slot = <i32_t>self.n_used
            self.n_used = self.n_used + 1
        else:
            slot = self.oldest
            self._unlink(slot)
            self.slot_of[self.position[slot]] = -1
        self.position[slot] = <i32_t>i
        self.slot_of[i] = slot
        self._link_newest(slot)
        return slot

    cdef const f32_t* row(self, intp_t i) noexcept nogil:
        cdef i32_t slot = self.slot_of[i]
        cdef f32_t* out
        if slot >= 0:
            self._touch(slot)
            return &self.cells[slot * self.length]
        slot = self._take_slot(i)
        out = &self.cells[slot * self.length]
        self.source.fill(&i, 1, 0, self.length, &out)
        self.n_computed = self.n_computed + 1
        return out

    cdef void shrink(self, const intp_t* keep, intp_t m) noexcept nogil:
        cdef intp_t old = self.length, p, j, at = m, n_kept = 0
        cdef i32_t slot
        cdef f32_t* source
        cdef f32_t* goal
        # the new order of the old active positions: those that stay, then the rest
        j = 0
        for p in range(old):
            if j < m and keep[j] == p:
                self.order[j] = p
                j += 1
            else:
                self.order[at] = p
                at += 1
        self.source.reorder(&self.order[0], old)
        # new position of each old one: by inverting, in `work`
        for p in range(old):
            self.work[self.order[p]] = <i32_t>p
        # rows move to the front of the store, in place: no cell moves backwards
        for p in range(old):
            self.slot_of[p] = -1
        for slot in range(<i32_t>self.n_used):
            if self.work[self.position[slot]] >= m:
                self.position[slot] = -1  # leaves
                continue
            source = &self.cells[slot * old]
            goal = &self.cells[n_kept * m]
            for j in range(m):
                goal[j] = source[keep[j]]
            self.position[slot] = self.work[self.position[slot]]
            self.slot_of[self.position[slot]] = <i32_t>n_kept
            n_kept += 1
        # the list, from the oldest, with the new numbers of the slots
        slot = self.oldest
        at = 0
        while slot >= 0:
            if self.position[slot] >= 0:
                self.work[at] = self.position[slot]
                at += 1
            slot = self.before[slot]
        self.newest = self.oldest = -1
        self.n_used = n_kept
        for j in range(at):
            slot = self.slot_of[self.work[j]]
            self.position[slot] = self.work[j]
            self._link_newest(slot)
        self.length = m
        self.n_slots = min(m, self.cells.shape[0] // max(m, 1))

    cdef void restore(self) noexcept nogil:
        cdef intp_t n = self.source.n_rows, p
        for p in range(n):
            self.order[self.source.place[p]] = p
        self.source.reorder(&self.order[0], n)
        self.length = n
        self.n_slots = min(n, self.cells.shape[0] // max(n, 1))
        self._forget()

    # ------------------------------------------------------ doors for Python

    def rows(self, const intp_t[::1] which):
        """Some rows, through the store.

        Parameters
        ----------
        which : intp array of shape (k,)
            Active positions, each once.

        Returns
        -------
        float32 array of shape (k, length)
            The rows.
        """
        cdef intp_t b, j, k = which.shape[0]
        cdef const f32_t* source
        result = np.empty((k, self.length), dtype=np.float32)
        cdef f32_t[:, ::1] cells = result
        for b in range(k):
            source = self.row(which[b])
            for j in range(self.length):
                cells[b, j] = source[j]
        return result

    def shrink_to(self, const intp_t[::1] keep):
        """Keep some of the active positions.

        Parameters
        ----------
        keep : intp array, ascending
            At least one.
        """
        self.shrink(&keep[0], keep.shape[0])

    def restore_all(self):
        """Make all positions active, in the order of the data."""
        self.restore()
