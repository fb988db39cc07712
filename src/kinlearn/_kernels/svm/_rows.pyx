"""Rows of a kernel matrix: what gives them, what keeps the last used ones, and those
of SVM+MTL, K + [same task] K* / correction_penalty.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, intp_t
from kinlearn._kernels.svm._loops cimport kinlearn_add


cdef class RowSource:
    """Rows of a symmetric matrix, and its diagonal; see the .pxd for the contract.

    Attributes
    ----------
    n_rows : int
        Size of the matrix.
    """

    def __init__(self, intp_t n_rows):
        self.n_rows = n_rows
        self.place = np.arange(n_rows, dtype=np.intp)

    cdef void fill(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                   f32_t** out) noexcept nogil:
        pass

    cdef f64_t diagonal(self, intp_t i) noexcept nogil:
        return 0.0

    cdef void reorder(self, const intp_t* order, intp_t m) noexcept nogil:
        pass

    cdef void add_product(self, const intp_t* which, const f64_t* coef, intp_t k,
                          intp_t start, intp_t stop, f64_t* sums) noexcept nogil:
        cdef f32_t cells[BLOCK * CHUNK]
        cdef f32_t* out[BLOCK]
        cdef intp_t left, right, i, b, n_block, piece, block
        for b in range(BLOCK):
            out[b] = cells + b * CHUNK
        for piece in range(n_pieces(stop - start, CHUNK)):
            left = start + piece * CHUNK
            right = min(left + CHUNK, stop)
            for block in range(n_pieces(k, BLOCK)):
                i = block * BLOCK
                n_block = min(BLOCK, k - i)
                self.fill(which + i, n_block, left, right, out)
                for b in range(n_block):
                    kinlearn_add(coef[i + b], out[b], right - left,
                                 sums + left - start)

    # ------------------------------------------------------ doors for Python

    def rows(self, const intp_t[::1] which):
        """Some rows, over all columns.

        Parameters
        ----------
        which : intp array of shape (k,)
            Positions.

        Returns
        -------
        float32 array of shape (k, n_rows)
            The rows.
        """
        cdef intp_t i, b, n_block, piece, k = which.shape[0]
        cdef f32_t* out[BLOCK]
        result = np.empty((k, self.n_rows), dtype=np.float32)
        cdef f32_t[:, ::1] cells = result
        with nogil:
            for piece in range(n_pieces(k, BLOCK)):
                i = piece * BLOCK
                n_block = min(BLOCK, k - i)
                for b in range(n_block):
                    out[b] = &cells[i + b, 0]
                self.fill(&which[i], n_block, 0, self.n_rows, out)
        return result

    def diagonals(self):
        """The diagonal.

        Returns
        -------
        float64 array of shape (n_rows,)
            In the order of the positions.
        """
        result = np.empty(self.n_rows)
        cdef f64_t[::1] cells = result
        cdef intp_t i
        for i in range(self.n_rows):
            cells[i] = self.diagonal(i)
        return result

    def product(self, const f64_t[::1] coef):
        """The matrix times a vector, which is mostly zeros.

        Parameters
        ----------
        coef : float64 array of shape (n_rows,)
            The vector.

        Returns
        -------
        float64 array of shape (n_rows,)
            The product.
        """
        cdef intp_t[::1] which = np.flatnonzero(coef)
        cdef f64_t[::1] values = np.asarray(coef)[which]
        result = np.zeros(self.n_rows)
        cdef f64_t[::1] sums = result
        cdef intp_t piece, left, k = which.shape[0]
        for piece in range(n_pieces(k, PRODUCT_ROWS)):
            left = piece * PRODUCT_ROWS
            with nogil:
                self.add_product(&which[left], &values[left],
                                 min(PRODUCT_ROWS, k - left), 0, self.n_rows, &sums[0])
            PyErr_CheckSignals()  # all of it may take many seconds
        return result


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


cdef class TaskRows(RowSource):
    """The kernel of tasks that share one function and add one of their own each.

    Rows must come sorted by task. Then the rows of a task are neighbours, and only
    their part of the correcting kernel's row is computed. Shrinking keeps the
    order among the active positions; see `find_segments`.

    Parameters
    ----------
    decision : RowSource
        The kernel that all tasks share.
    correction : RowSource or None
        The kernel of the tasks' own functions; None is the decision kernel, which is
        then computed once.
    share : float
        Factor of the correcting kernel; 0 leaves it out.
    task : int32 array of shape (n_rows,), ascending
        Task codes.
    n_tasks : int
        How many there are.
    """

    def __init__(self, RowSource decision, RowSource correction, f64_t share,
                 task, intp_t n_tasks):
        RowSource.__init__(self, decision.n_rows)
        self.decision = decision
        self.correction = correction
        self.share = share
        self.n_tasks = n_tasks
        self.task = np.array(task, dtype=np.int32)
        self.work = np.empty(self.n_rows, dtype=np.int32)
        self.buffer = np.empty(BLOCK * CHUNK, dtype=np.float32)
        self.first = np.zeros(n_tasks, dtype=np.intp)
        self.last = np.zeros(n_tasks, dtype=np.intp)
        self.tail_first = np.zeros(n_tasks, dtype=np.intp)
        self.tail_last = np.zeros(n_tasks, dtype=np.intp)
        self.find_segments(self.n_rows)

    cdef void find_segments(self, intp_t length) noexcept nogil:
        """Where each task begins and ends, both sides of `length` sorted by task."""
        cdef intp_t t, p = 0
        for t in range(self.n_tasks):
            self.first[t] = p
            while p < length and self.task[p] == t:
                p += 1
            self.last[t] = p
        p = length
        for t in range(self.n_tasks):
            self.tail_first[t] = p
            while p < self.n_rows and self.task[p] == t:
                p += 1
            self.tail_last[t] = p

    cdef f64_t diagonal(self, intp_t i) noexcept nogil:
        cdef f64_t own = self.decision.diagonal(i)
        if self.share == 0.0:
            return own
        if self.correction is None:
            return own * (1.0 + self.share)
        return own + self.share * self.correction.diagonal(i)

    cdef void fill(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                   f32_t** out) noexcept nogil:
        cdef intp_t b
        cdef bint together = True
        self.decision.fill(which, k, start, stop, out)
        if self.share == 0.0:
            return
        for b in range(1, k):
            together = together and self.task[which[b]] == self.task[which[0]]
        if together:
            self._add_correction(which, k, start, stop, out)
        else:
            for b in range(k):
                self._add_correction(which + b, 1, start, stop, out + b)

    cdef void _add_correction(self, const intp_t* which, intp_t k, intp_t start,
                              intp_t stop, f32_t** out) noexcept nogil:
        """Add the correcting kernel to rows of one task."""
        cdef intp_t left, right, chunk, piece, end, side, b, j, t = self.task[which[0]]
        cdef f32_t* cells[BLOCK]
        cdef f32_t scale = <f32_t>(1.0 + self.share), share = <f32_t>self.share
        for b in range(k):
            cells[b] = &self.buffer[b * CHUNK]
        for side in range(2):
            if side == 0:
                left = max(start, self.first[t])
                right = min(stop, self.last[t])
            else:
                left = max(start, self.tail_first[t])
                right = min(stop, self.tail_last[t])
            if self.correction is None:
                for b in range(k):
                    for j in range(left, right):
                        out[b][j - start] *= scale
                continue
            for piece in range(n_pieces(right - left, CHUNK)):
                chunk = left + piece * CHUNK
                end = min(chunk + CHUNK, right)
                self.correction.fill(which, k, chunk, end, cells)
                for b in range(k):
                    for j in range(chunk, end):
                        out[b][j - start] += share * cells[b][j - chunk]

    cdef void reorder(self, const intp_t* order, intp_t m) noexcept nogil:
        cdef intp_t p
        self.decision.reorder(order, m)
        if self.correction is not None:
            self.correction.reorder(order, m)
        for p in range(m):
            self.work[p] = self.task[order[p]]
        for p in range(m):
            self.task[p] = self.work[p]
            self.work[p] = <i32_t>self.place[order[p]]
        for p in range(m):
            self.place[p] = self.work[p]
