"""Trees of gradient boosting whose rows lie in one place, grown without the GIL."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport calloc, free, malloc

from kinlearn._kernels._typedefs cimport i32_t, i64_t, intp_t
from kinlearn._kernels.boosting.gradient._boosted_growth cimport Growth
from kinlearn._kernels.boosting.gradient._histograms cimport Sums, subtract
from kinlearn._kernels.boosting.gradient._leaf_rows cimport LeafRows

cdef i64_t SIGNAL_CELLS = 1 << 27   # cells between two looks for Ctrl-C: below a second


cdef class Grower:
    """Grows trees, with memory for the histograms of their leaves.

    Parameters
    ----------
    growth : Growth
        The tree.
    rows : LeafRows
        Its rows.
    """

    cdef readonly Growth growth
    cdef readonly LeafRows rows
    # memory
    cdef intp_t n_task_cells    # after the cells of features
    cdef Sums** slots           # histograms, made when they are needed
    cdef i32_t* free_slots
    cdef intp_t n_free
    cdef i32_t* slot_of         # the histogram of each leaf; -1 for none
    cdef i64_t cells_since
    cdef object error

    def __cinit__(self, Growth growth, LeafRows rows):
        cdef intp_t n = growth.max_leaves + 1
        self.growth, self.rows = growth, rows
        self.n_task_cells = rows.n_tasks if growth.search.task_splits else 0
        self.slots = <Sums**> calloc(n, sizeof(Sums*))
        self.free_slots = <i32_t*> calloc(n, sizeof(i32_t))
        self.slot_of = <i32_t*> calloc(n, sizeof(i32_t))
        if not (self.slots and self.free_slots and self.slot_of):
            raise MemoryError()

    def __dealloc__(self):
        cdef intp_t i
        if self.slots:
            for i in range(self.growth.max_leaves + 1):
                free(self.slots[i])
        free(self.slots)
        free(self.free_slots)
        free(self.slot_of)

    def grow(self, const i64_t[::1] sums):
        """Grow a tree from rows that have begun, with these sums."""
        cdef bint done
        cdef intp_t i
        self.n_free = self.growth.max_leaves + 1
        for i in range(self.n_free):
            self.free_slots[i] = <i32_t> i
            self.slot_of[i] = -1
        self.growth.begin(sums)
        with nogil:
            done = self._grow()
        if not done:
            error, self.error = self.error, None
            raise MemoryError() if error is None else error

    cdef bint _grow(self) noexcept nogil:
        cdef intp_t leaf, other
        if self.growth.wants(0):
            if not self._fill(0):
                return False
            self._find(0)
        while True:
            leaf = self.growth.best()
            if leaf < 0:
                return True
            other = self.growth.split(leaf)
            self.rows.part(
                leaf, other, &self.growth.leaves[leaf].split, self.growth.bits(leaf))
            if not self._share_histogram(leaf, other):
                return False
            self._find(leaf)
            self._find(other)

    cdef void _find(self, intp_t leaf) noexcept nogil:
        cdef Sums* cells
        if self.slot_of[leaf] >= 0:
            cells = self.slots[self.slot_of[leaf]]
            self.growth.find(leaf, cells, cells + self.rows.n_cells)

    cdef bint _fill(self, intp_t leaf) noexcept nogil:
        # Into a histogram of its own; False without memory.
        cdef i32_t slot
        cdef Sums* cells
        self.n_free = self.n_free - 1
        slot = self.slot_of[leaf] = self.free_slots[self.n_free]
        if self.slots[slot] == NULL:
            self.slots[slot] = <Sums*> malloc(
                (self.rows.n_cells + self.n_task_cells) * sizeof(Sums))
            if self.slots[slot] == NULL:
                return False
        cells = self.slots[slot]
        self.rows.fill(
            leaf, cells, cells + self.rows.n_cells if self.n_task_cells else NULL)
        self.cells_since = (
            self.cells_since + self.rows.size(leaf) * self.rows.n_features)
        if self.cells_since > SIGNAL_CELLS:
            self.cells_since = 0
            with gil:
                try:
                    PyErr_CheckSignals()
                except BaseException as error:      # Ctrl-C; raised at the end
                    self.error = error
                    return False
        return True

    cdef void _release(self, intp_t leaf) noexcept nogil:
        if self.slot_of[leaf] >= 0:
            self.free_slots[self.n_free] = self.slot_of[leaf]
            self.n_free = self.n_free + 1
            self.slot_of[leaf] = -1

    cdef bint _share_histogram(self, intp_t leaf, intp_t other) noexcept nogil:
        # `leaf` has its parent's: the smaller child is filled, the other is the rest
        cdef intp_t small = leaf, large = other
        cdef i32_t slot = self.slot_of[leaf]
        self.slot_of[other] = -1
        if not (self.growth.wants(leaf) or self.growth.wants(other)):
            self._release(leaf)
            return True
        if self.growth.is_smaller(other, leaf):
            small, large = other, leaf
        self.slot_of[large] = slot
        if not self._fill(small):
            return False
        subtract(
            self.slots[slot], self.slots[self.slot_of[small]],
            self.rows.n_cells + self.n_task_cells)
        if not self.growth.wants(small):
            self._release(small)
        if not self.growth.wants(large):
            self._release(large)
        return True
