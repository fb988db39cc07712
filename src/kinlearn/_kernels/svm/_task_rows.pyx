"""Rows of the kernel of SVM+MTL: K + [same task] K* / correction_penalty."""

import numpy as np

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, intp_t
from kinlearn._kernels.svm._row_source cimport BLOCK, CHUNK, RowSource, n_pieces


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
