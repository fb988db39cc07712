"""Rows of the kernels of several tasks: common and correcting parts, and kernels that
differ from task to task.
"""

import numpy as np

from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, intp_t
from kinlearn._kernels.svm._rows cimport BLOCK, CHUNK, RowSource, n_chunks


cdef class TaskRows(RowSource):
    """The kernel of SVM+MTL, K + [same task] K* / correction_penalty.

    Rows must come sorted by task. Then the rows of a task are neighbours, and only
    their part of the correcting kernel's row is computed. Shrinking keeps the
    order among the active positions; see `find_segments`.

    Parameters
    ----------
    decision : RowSource
        The kernel that all tasks share.
    correction : RowSource or None
        The kernel of the tasks' corrections; None is the decision kernel, which is
        then computed once.
    inverse_penalty : float
        1 / correction_penalty, the factor of the correcting kernel; 0 leaves it out.
    task : int32 array of shape (n_rows,), ascending
        Task codes.
    n_tasks : int
        How many there are.
    """

    def __init__(self, RowSource decision, RowSource correction, f64_t inverse_penalty,
                 task, intp_t n_tasks):
        RowSource.__init__(self, decision.n_rows)
        self.decision = decision
        self.correction = correction
        self.inverse_penalty = inverse_penalty
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
        cdef f64_t decision = self.decision.diagonal(i)
        if self.inverse_penalty == 0.0:
            return decision
        if self.correction is None:
            return decision * (1.0 + self.inverse_penalty)
        return decision + self.inverse_penalty * self.correction.diagonal(i)

    cdef void fill(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                   f32_t** out) noexcept nogil:
        cdef intp_t b
        cdef bint together = True
        self.decision.fill(which, k, start, stop, out)
        if self.inverse_penalty == 0.0:
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
        cdef intp_t left, right, begin, chunk, end, side, b, j, t = self.task[which[0]]
        cdef f32_t* cells[BLOCK]
        cdef f32_t scale = <f32_t>(1.0 + self.inverse_penalty)
        cdef f32_t factor = <f32_t>self.inverse_penalty
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
            for chunk in range(n_chunks(right - left, CHUNK)):
                begin = left + chunk * CHUNK
                end = min(begin + CHUNK, right)
                self.correction.fill(which, k, begin, end, cells)
                for b in range(k):
                    for j in range(begin, end):
                        out[b][j - start] += factor * cells[b][j - begin]

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


cdef class MixedRows(RowSource):
    """Rows of several kernels, each between rows of its own; 0 between those of two.

    Parameters
    ----------
    sources : list of RowSource
        One for each kernel, of the rows that it has, in their order.
    kind : int32 array of shape (n_rows,)
        Which kernel each row has.
    """

    def __init__(self, sources, kind):
        RowSource.__init__(self, len(kind))
        self.sources = list(sources)
        self.kind = np.array(kind, dtype=np.int32)
        self.local = np.empty(self.n_rows, dtype=np.intp)
        self.work = np.empty(self.n_rows, dtype=np.int32)
        self.order = np.empty(self.n_rows, dtype=np.intp)
        self.buffer = np.empty(BLOCK * CHUNK, dtype=np.float32)
        for k in range(len(self.sources)):
            mine = np.flatnonzero(np.asarray(self.kind) == k)
            np.asarray(self.local)[mine] = np.arange(len(mine))

    cdef f64_t diagonal(self, intp_t i) noexcept nogil:
        cdef f64_t out
        with gil:
            out = (<RowSource>self.sources[self.kind[i]]).diagonal(self.local[i])
        return out

    cdef void fill(self, const intp_t* which, intp_t k, intp_t start, intp_t stop,
                   f32_t** out) noexcept nogil:
        cdef intp_t b, j, chunk, left, right, first, n
        cdef i32_t kind
        cdef intp_t here
        cdef f32_t* cells = &self.buffer[0]
        for b in range(k):
            kind = self.kind[which[b]]
            here = self.local[which[b]]
            with gil:
                self.one = <RowSource>self.sources[kind]
            for chunk in range(n_chunks(stop - start, CHUNK)):
                left = start + chunk * CHUNK
                right = min(left + CHUNK, stop)
                # positions of a kind stand in the same order here and in its source
                first, n = 0, 0
                for j in range(left, right):
                    if self.kind[j] == kind:
                        if n == 0:
                            first = self.local[j]
                        n += 1
                self.one.fill(&here, 1, first, first + n, &cells)
                n = 0
                for j in range(left, right):
                    if self.kind[j] == kind:
                        out[b][j - start] = cells[n]
                        n += 1
                    else:
                        out[b][j - start] = 0.0

    cdef void reorder(self, const intp_t* order, intp_t m) noexcept nogil:
        cdef intp_t p, n
        cdef i32_t k, n_kinds
        with gil:
            n_kinds = <i32_t>len(self.sources)
        for k in range(n_kinds):
            n = 0
            for p in range(m):
                if self.kind[order[p]] == k:
                    self.order[n] = self.local[order[p]]
                    n += 1
            if n == 0:
                continue
            with gil:
                self.one = <RowSource>self.sources[k]
            self.one.reorder(&self.order[0], n)
        for p in range(m):
            self.work[p] = self.kind[order[p]]
        for p in range(m):
            self.kind[p] = self.work[p]
            self.work[p] = <i32_t>self.place[order[p]]
        for p in range(m):
            self.place[p] = self.work[p]
        for k in range(n_kinds):  # ranks among the first m
            n = 0
            for p in range(m):
                if self.kind[p] == k:
                    self.local[p] = n
                    n += 1
