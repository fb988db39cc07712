"""The rows of a tree's leaves: their histograms, and their parting by a split.

Rows have their features as bins, their gradient and curvature as integer multiples of
powers of two (see _histograms.h), and a task. They may be all rows or those of one
partition; which splits there are, is decided elsewhere.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove, memset

from kinlearn._kernels._team cimport Team
from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.boosting.gradient._histograms cimport (
    Sums,
    add_rows,
    prefetch_row,
)
from kinlearn._kernels.boosting.gradient._nodes cimport TASK, Split

cdef enum:
    AHEAD = 12              # rows that are fetched before they are read
    BLOCK = 8192            # rows that a thread begins with, or adds values to, at once
    PARTED = 2048           # that it parts at once: most leaves have few

# What threads need to know to begin a tree.
cdef struct Beginning:
    const i32_t* source
    i32_t* rows
    intp_t n
    const Sums* pairs
    Sums* sums              # of each block, filled

# The same, to part the rows of a leaf.
cdef struct Parting:
    i32_t* rows             # of the leaf
    i32_t* spare
    intp_t n
    intp_t* n_left          # of each block, filled
    const u8_t* bins        # of the feature, or NULL for a split by tasks
    intp_t stride
    const i32_t* task
    const u8_t* bits
    u8_t[256] table

# The same, to add values to scores.
cdef struct Adding:
    const i32_t* rows
    const intp_t* start
    const intp_t* end
    intp_t n_leaves
    const i32_t* task
    intp_t n_tasks
    const f64_t* values
    const f64_t* departures     # or NULL
    char* scores
    intp_t stride


cdef class LeafRows:
    """Rows, and which leaf of the tree each of them is in.

    Parameters
    ----------
    bins : uint8 array of shape (n, n_features), C-contiguous
        Bins of the features; ``n_bins[f]`` is the bin of missing values.
    n_bins : int32 array of shape (n_features,)
        Bins of each feature, at most 255, without that of missing values.
    task : int32 array of shape (n,)
        Task codes.
    n_tasks : int
        Number of tasks.
    max_leaves : int
        The most leaves that a tree has.
    team : Team, default=None
        Threads that work together; None is this one.
    """

    def __cinit__(
        self, const u8_t[:, ::1] bins, const i32_t[::1] n_bins, const i32_t[::1] task,
        intp_t n_tasks, intp_t max_leaves, Team team=None,
    ):
        cdef intp_t n = bins.shape[0], d = bins.shape[1], f
        self.bins, self.task, self.n_tasks = bins, task, n_tasks
        self.n_features, self.max_leaves = d, max(max_leaves, 1)
        self.team = Team(1) if team is None else team
        self.n_bins = <i32_t*> calloc(d, sizeof(i32_t))
        self.offset = <i32_t*> calloc(d + 1, sizeof(i32_t))
        self.rows = <i32_t*> malloc((n + 1) * sizeof(i32_t))
        self.spare = <i32_t*> malloc((n + 1) * sizeof(i32_t))
        self.start = <intp_t*> calloc(self.max_leaves, sizeof(intp_t))
        self.end = <intp_t*> calloc(self.max_leaves, sizeof(intp_t))
        self.n_left = <intp_t*> calloc(n // PARTED + 1, sizeof(intp_t))
        self.block_sums = <Sums*> calloc(n // BLOCK + 1, sizeof(Sums))
        if not (
            self.n_bins and self.offset and self.rows and self.spare and self.start
            and self.end and self.n_left and self.block_sums
        ):
            raise MemoryError()
        for f in range(d):
            self.n_bins[f] = n_bins[f]
            self.offset[f + 1] = self.offset[f] + n_bins[f] + 1
        self.n_cells = self.offset[d]

    def __dealloc__(self):
        free(self.n_bins)
        free(self.offset)
        free(self.rows)
        free(self.spare)
        free(self.start)
        free(self.end)
        free(self.n_left)
        free(self.block_sums)

    def begin(
        self, const i64_t[:, ::1] pairs, const i32_t[::1] rows, i64_t[::1] sums
    ):
        """Begin a tree: all rows are in leaf 0.

        Parameters
        ----------
        pairs : int64 array of shape (n, 2)
            Gradient, and curvature with count, of each row; kept, not copied.
        rows : int32 array
            Rows to grow with, ascending.
        sums : int64 array of shape (2,), filled
            Sums over them.
        """
        cdef intp_t i, n = rows.shape[0], n_blocks = (n + BLOCK - 1) // BLOCK
        cdef Beginning what
        self.pairs = pairs
        self.sums = <const Sums*> &pairs[0, 0] if pairs.shape[0] else NULL
        self.start[0], self.end[0] = 0, n
        sums[0] = sums[1] = 0
        what.source = &rows[0] if n else NULL
        what.rows, what.n, what.pairs = self.rows, n, self.sums
        what.sums = self.block_sums
        with nogil:
            self.team.run(begin_block, &what, n_blocks)
            for i in range(n_blocks):
                sums[0] += self.block_sums[i].g
                sums[1] += self.block_sums[i].hc

    def fill_leaf(self, intp_t leaf, i64_t[:, ::1] cells, i64_t[:, ::1] tasks):
        """Sums over the rows of a leaf.

        Parameters
        ----------
        leaf : int
            Its number.
        cells : int64 array of shape (n_cells, 2), filled
            Its histogram: sums by the bins of each feature.
        tasks : int64 array of shape (n_tasks, 2), filled
            Sums by task; an array without rows is left alone.
        """
        cdef Sums* of_tasks = <Sums*> &tasks[0, 0] if tasks.shape[0] else NULL
        self.check_leaf(leaf)
        with nogil:
            self.fill(leaf, <Sums*> &cells[0, 0], of_tasks)

    def part_leaf(
        self, intp_t leaf, intp_t other, const Split[::1] split, const u8_t[::1] bits
    ):
        """Part the rows of a leaf: those that go left stay, the rest go to `other`.

        `split` and `bits` are as :meth:`SplitSearch.find_split` fills them.
        """
        self.check_leaf(leaf)
        self.check_leaf(other)
        with nogil:
            self.part(leaf, other, &split[0], &bits[0])

    def check_leaf(self, intp_t leaf):
        """Refuse a number beyond the leaves that there is memory for."""
        if not 0 <= leaf < self.max_leaves:
            raise IndexError(f"There is no leaf {leaf} of {self.max_leaves}.")

    def leaf_size(self, intp_t leaf):
        """How many rows a leaf has here."""
        return self.size(leaf)

    def task_sums(self, i64_t[:, :, ::1] sums):
        """Sums of the rows of each leaf by task, of shape (n_leaves, n_tasks, 2)."""
        cdef intp_t i
        with nogil:
            for i in range(sums.shape[0]):
                self.sum_tasks(i, <Sums*> &sums[i, 0, 0])

    def leaf_rows(self, i32_t[::1] rows, i32_t[::1] start):
        """The rows leaf by leaf, and where each leaf begins; one more for the end."""
        cdef intp_t n = 0, i, size
        for i in range(start.shape[0] - 1):
            size = self.size(i)
            start[i] = <i32_t> n
            if size:
                memcpy(&rows[n], self.rows + self.start[i], size * sizeof(i32_t))
            n += size
        start[start.shape[0] - 1] = <i32_t> n

    def add_values(
        self, const f64_t[::1] values, const f64_t[:, ::1] departures, f64_t[:] scores
    ):
        """Add the values of leaves to the scores of their rows.

        `departures` has a row for each leaf and a column for each task, or no rows.
        """
        cdef Adding what
        cdef intp_t n = 0, i
        if values.shape[0] == 0 or scores.shape[0] == 0:
            return
        what.rows, what.start, what.end = self.rows, self.start, self.end
        what.n_leaves, what.n_tasks = values.shape[0], self.n_tasks
        what.task, what.values = &self.task[0], &values[0]
        what.departures = &departures[0, 0] if departures.shape[0] else NULL
        what.scores, what.stride = <char*> &scores[0], scores.strides[0]
        with nogil:
            for i in range(what.n_leaves):
                n = max(n, self.end[i])
            self.team.run(add_to_block, &what, n // BLOCK + 1)

    # -------------------------------------------------------------- from C

    cdef intp_t size(self, intp_t leaf) noexcept nogil:
        return self.end[leaf] - self.start[leaf]

    cdef void fill(self, intp_t leaf, Sums* cells, Sums* tasks) noexcept nogil:
        self.fill_features(leaf, 0, self.n_features, cells, tasks)

    cdef void fill_features(
        self, intp_t leaf, intp_t first, intp_t last, Sums* cells, Sums* tasks
    ) noexcept nogil:
        # Of features from `first` to before `last`, and of tasks unless that is NULL.
        cdef i32_t* offset = self.offset + first
        memset(cells + offset[0], 0, (self.offset[last] - offset[0]) * sizeof(Sums))
        if tasks != NULL:
            memset(tasks, 0, self.n_tasks * sizeof(Sums))
        if self.size(leaf):
            add_rows(
                &self.bins[0, 0] + first, self.n_features, last - first, offset,
                self.rows + self.start[leaf], self.size(leaf), self.sums, cells,
                &self.task[0], tasks)

    cdef void fill_block(
        self, intp_t leaf, intp_t block, intp_t n_blocks, Sums* cells, Sums* tasks
    ) noexcept nogil:
        # Of all features, by one of the blocks that the rows are divided into.
        cdef intp_t n = self.size(leaf), first = n * block // n_blocks
        cdef intp_t last = n * (block + 1) // n_blocks
        memset(cells, 0, self.n_cells * sizeof(Sums))
        if tasks != NULL:
            memset(tasks, 0, self.n_tasks * sizeof(Sums))
        add_rows(
            &self.bins[0, 0], self.n_features, self.n_features, self.offset,
            self.rows + self.start[leaf] + first, last - first, self.sums, cells,
            &self.task[0], tasks)

    cdef void sum_tasks(self, intp_t leaf, Sums* tasks) noexcept nogil:
        cdef intp_t i
        cdef const Sums* row
        cdef Sums* cell
        memset(tasks, 0, self.n_tasks * sizeof(Sums))
        for i in range(self.start[leaf], self.end[leaf]):
            row = &self.sums[self.rows[i]]
            cell = &tasks[self.task[self.rows[i]]]
            cell.g += row.g
            cell.hc += row.hc

    cdef void part(
        self, intp_t leaf, intp_t other, const Split* split, const u8_t* bits
    ) noexcept nogil:
        # In order, so that rows stay ascending.
        cdef intp_t start = self.start[leaf], n = self.size(leaf)
        cdef intp_t n_blocks = (n + PARTED - 1) // PARTED, i, size, n_left = 0, done = 0
        cdef Parting what
        what.rows, what.spare, what.n = self.rows + start, self.spare, n
        what.n_left, what.task, what.bits = self.n_left, &self.task[0], bits
        what.bins, what.stride = NULL, self.n_features
        if split.feature != TASK:
            what.bins = &self.bins[0, 0] + split.feature
            fill_table(split, bits, self.n_bins[split.feature], what.table)
        self.team.run(part_block, &what, n_blocks)
        # blocks have their left rows in place and their right ones in `spare`
        for i in range(n_blocks):
            if i:
                memmove(
                    what.rows + n_left, what.rows + i * PARTED,
                    self.n_left[i] * sizeof(i32_t))
            n_left += self.n_left[i]
        for i in range(n_blocks):
            size = min(<intp_t> PARTED, n - i * PARTED) - self.n_left[i]
            memcpy(
                what.rows + n_left + done, what.spare + i * PARTED,
                size * sizeof(i32_t))
            done += size
        self.start[other], self.end[other] = start + n_left, start + n
        self.end[leaf] = start + n_left


cdef void begin_block(void* argument, intp_t block) noexcept nogil:
    cdef Beginning* what = <Beginning*> argument
    cdef i64_t g = 0, hc = 0
    cdef i32_t r
    cdef intp_t i
    for i in range(block * BLOCK, min((block + 1) * BLOCK, what.n)):
        r = what.source[i]
        what.rows[i] = r
        g += what.pairs[r].g
        hc += what.pairs[r].hc
    what.sums[block].g, what.sums[block].hc = g, hc


cdef void part_block(void* argument, intp_t block) noexcept nogil:
    cdef Parting* what = <Parting*> argument
    cdef i32_t* rows = what.rows + block * PARTED
    cdef i32_t* spare = what.spare + block * PARTED
    cdef intp_t n = min(<intp_t> PARTED, what.n - block * PARTED), i
    cdef intp_t n_left = 0, n_right = 0
    cdef i32_t r, t
    cdef bint left
    if what.bins == NULL:
        for i in range(n):
            r = rows[i]
            t = what.task[r]
            left = (what.bits[t >> 3] >> (t & 7)) & 1
            rows[n_left] = r
            spare[n_right] = r
            n_left += left
            n_right += 1 - left
    else:
        for i in range(n):
            if i + AHEAD < n:
                prefetch_row(what.bins + rows[i + AHEAD] * what.stride)
            r = rows[i]
            left = what.table[what.bins[r * what.stride]]
            rows[n_left] = r
            spare[n_right] = r
            n_left += left
            n_right += 1 - left
    what.n_left[block] = n_left


cdef void add_to_block(void* argument, intp_t block) noexcept nogil:
    cdef Adding* what = <Adding*> argument
    cdef intp_t leaf, i, first, last
    cdef const f64_t* departures = what.departures
    cdef f64_t* score
    cdef f64_t value
    cdef i32_t r
    for leaf in range(what.n_leaves):
        first = max(what.start[leaf], block * BLOCK)
        last = min(what.end[leaf], (block + 1) * BLOCK)
        value = what.values[leaf]
        for i in range(first, last):
            r = what.rows[i]
            score = <f64_t*> (what.scores + r * what.stride)
            if departures != NULL:
                score[0] += value + departures[leaf * what.n_tasks + what.task[r]]
            else:
                score[0] += value


cdef inline void fill_table(
    const Split* split, const u8_t* bits, int n_bins, u8_t* table
) noexcept nogil:
    # Whether each bin goes left.
    cdef int i
    for i in range(256):
        if i >= n_bins:
            table[i] = split.default_left
        elif split.by_set:
            table[i] = (bits[i >> 3] >> (i & 7)) & 1
        else:
            table[i] = i <= split.bin
