"""Trees of gradient boosting whose rows lie in one place, grown without the GIL."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport i32_t, i64_t, intp_t
from kinlearn._kernels.boosting.gradient._boosted_growth cimport Growth
from kinlearn._kernels.boosting.gradient._histograms cimport Sums, add, subtract
from kinlearn._kernels.boosting.gradient._leaf_rows cimport LeafRows

cdef enum:
    SHARED_CELLS = 1 << 15          # from which a node is worth the waking of threads
    MANY_TIMES = 4      # cells that are added to, for each that is joined

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
    # leaves whose splits are sought, for the threads that do it
    cdef intp_t small
    cdef intp_t large
    cdef bint[2] is_sought
    cdef intp_t n_pieces
    cdef bint by_rows           # threads fill histograms of their own, which are added
    cdef Sums* blocks           # all of them but the first thread's

    def __cinit__(self, Growth growth, LeafRows rows):
        cdef intp_t n = growth.max_leaves + 1
        self.growth, self.rows = growth, rows
        self.n_task_cells = rows.n_tasks if growth.search.task_splits else 0
        self.slots = <Sums**> calloc(n, sizeof(Sums*))
        self.free_slots = <i32_t*> calloc(n, sizeof(i32_t))
        self.slot_of = <i32_t*> calloc(n, sizeof(i32_t))
        n = rows.n_cells + self.n_task_cells
        self.blocks = <Sums*> malloc(
            max((growth.search.n_threads - 1) * n, 1) * sizeof(Sums))
        if not (self.slots and self.free_slots and self.slot_of and self.blocks):
            raise MemoryError()

    def __dealloc__(self):
        cdef intp_t i
        if self.slots:
            for i in range(self.growth.max_leaves + 1):
                free(self.slots[i])
        free(self.slots)
        free(self.free_slots)
        free(self.slot_of)
        free(self.blocks)

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

    def task_sums(self, i64_t[:, :, ::1] sums):
        """Sums of the rows of each leaf by task, of shape (n_leaves, n_tasks, 2)."""
        cdef intp_t leaf, n_tasks = self.rows.n_tasks
        with nogil:
            for leaf in range(sums.shape[0]):
                if self.n_task_cells and self.slot_of[leaf] >= 0:
                    memcpy(
                        &sums[leaf, 0, 0],
                        self.slots[self.slot_of[leaf]] + self.rows.n_cells,
                        n_tasks * sizeof(Sums))
                else:
                    self.rows.sum_tasks(leaf, <Sums*> &sums[leaf, 0, 0])

    cdef bint _grow(self) noexcept nogil:
        cdef intp_t leaf, other
        if self.growth.wants(0):
            if not self._take_slot(0):
                return False
            self._find(0, -1)
        while True:
            leaf = self.growth.best()
            if leaf < 0:
                return True
            other = self.growth.split(leaf)
            self.rows.part(
                leaf, other, &self.growth.leaves[leaf].split, self.growth.bits(leaf))
            self.slot_of[other] = -1
            if not (self.growth.wants(leaf) or self.growth.wants(other)):
                self._release(leaf)
                continue
            # `leaf` has its parent's histogram: the smaller child is filled, the other
            # is the rest
            if self.growth.is_smaller(other, leaf):
                if not self._take_slot(other):
                    return False
                self._find(other, leaf)
            else:
                self.slot_of[other] = self.slot_of[leaf]
                if not self._take_slot(leaf):
                    return False
                self._find(leaf, other)
            if not self.growth.wants(leaf):
                self._release(leaf)
            if not self.growth.wants(other):
                self._release(other)

    cdef void _find(self, intp_t small, intp_t large) noexcept nogil:
        # Fill the histogram of one leaf, make that of its sibling (-1 for none) from
        # that of their parent, and find the best splits of both.
        cdef intp_t[2] leaves = [small, large]
        cdef intp_t i, n_cells = self.rows.n_cells, n_pieces = 1
        cdef Sums* cells
        self.small, self.large = small, large
        for i in range(2):
            self.is_sought[i] = leaves[i] >= 0 and self.growth.wants(leaves[i])
            if self.is_sought[i]:
                cells = self.slots[self.slot_of[leaves[i]]]
                self.growth.prepare(
                    <int> i, leaves[i], cells,
                    cells + n_cells if self.n_task_cells else NULL)
        if self.rows.size(small) * self.rows.n_features + n_cells > SHARED_CELLS:
            n_pieces = min(self.growth.search.n_threads, self.rows.n_features)
        self.n_pieces = n_pieces
        # features of a row lie side by side: few threads had better not share rows
        self.by_rows = n_pieces > 1 and (
            self.rows.size(small) * self.rows.n_features > MANY_TIMES * n_cells)
        if self.by_rows:
            self.rows.team.run(fill_block, <void*> self, n_pieces)
        self.rows.team.run(find_in_piece, <void*> self, n_pieces)
        for i in range(2):
            if self.is_sought[i]:
                self.growth.choose(<int> i, leaves[i])

    cdef void _find_in_piece(self, intp_t piece) noexcept nogil:
        # Some of the features; the last piece has the tasks, too.
        cdef intp_t d = self.rows.n_features, i
        cdef intp_t first = d * piece // self.n_pieces
        cdef intp_t last = d * (piece + 1) // self.n_pieces
        cdef Sums* part = self.slots[self.slot_of[self.small]]
        cdef Sums* whole
        cdef Sums* tasks = NULL
        if self.n_task_cells and last == d:
            tasks = part + self.rows.n_cells
        if self.by_rows:
            self._join_blocks(part, self.rows.offset[first], self.rows.offset[last])
            if tasks != NULL:
                i = self.rows.n_cells
                self._join_blocks(part, i, i + self.n_task_cells)
        else:
            self.rows.fill_features(self.small, first, last, part, tasks)
        if self.large >= 0:
            whole = self.slots[self.slot_of[self.large]]
            i = self.rows.offset[first]
            subtract(whole + i, part + i, self.rows.offset[last] - i)
            if tasks != NULL:
                subtract(
                    whole + self.rows.n_cells, tasks, self.n_task_cells)
        for i in range(2):
            if self.is_sought[i]:
                self.growth.search.look(<int> i, first, last, piece)

    cdef void _fill_block(self, intp_t block) noexcept nogil:
        cdef intp_t n = self.rows.n_cells + self.n_task_cells
        cdef Sums* cells = self.slots[self.slot_of[self.small]]
        if block > 0:
            cells = self.blocks + (block - 1) * n
        self.rows.fill_block(
            self.small, block, self.n_pieces, cells,
            cells + self.rows.n_cells if self.n_task_cells else NULL)

    cdef void _join_blocks(
        self, Sums* cells, intp_t first, intp_t last
    ) noexcept nogil:
        cdef intp_t n = self.rows.n_cells + self.n_task_cells, block
        for block in range(self.n_pieces - 1):
            add(cells + first, self.blocks + block * n + first, last - first)

    cdef bint _take_slot(self, intp_t leaf) noexcept nogil:
        # A histogram for a leaf; False without memory, or after Ctrl-C.
        cdef i32_t slot
        self.n_free = self.n_free - 1
        slot = self.slot_of[leaf] = self.free_slots[self.n_free]
        if self.slots[slot] == NULL:
            self.slots[slot] = <Sums*> malloc(
                (self.rows.n_cells + self.n_task_cells) * sizeof(Sums))
            if self.slots[slot] == NULL:
                return False
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


cdef void fill_block(void* grower, intp_t block) noexcept nogil:
    (<Grower> grower)._fill_block(block)


cdef void find_in_piece(void* grower, intp_t piece) noexcept nogil:
    (<Grower> grower)._find_in_piece(piece)
