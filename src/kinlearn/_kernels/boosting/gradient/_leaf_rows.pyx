"""The rows of a tree's leaves: their histograms, and their parting by a split.

Rows have their features as bins, their gradient and curvature as integer multiples of
powers of two (see _histograms.h), and a task. They may be all rows or those of one
partition; which splits there are, is decided elsewhere.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.boosting.gradient._histograms cimport (
    Sums,
    add_rows,
    prefetch_row,
)
from kinlearn._kernels.boosting.gradient._nodes cimport TASK, Split

cdef enum:
    AHEAD = 12              # rows that are fetched before they are read


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
    """

    def __cinit__(
        self, const u8_t[:, ::1] bins, const i32_t[::1] n_bins, const i32_t[::1] task,
        intp_t n_tasks, intp_t max_leaves,
    ):
        cdef intp_t n = bins.shape[0], d = bins.shape[1], f
        self.bins, self.task, self.n_tasks = bins, task, n_tasks
        self.n_features, self.max_leaves = d, max(max_leaves, 1)
        self.n_bins = <i32_t*> calloc(d, sizeof(i32_t))
        self.offset = <i32_t*> calloc(d + 1, sizeof(i32_t))
        self.rows = <i32_t*> malloc((n + 1) * sizeof(i32_t))
        self.spare = <i32_t*> malloc((n + 1) * sizeof(i32_t))
        self.start = <intp_t*> calloc(self.max_leaves, sizeof(intp_t))
        self.end = <intp_t*> calloc(self.max_leaves, sizeof(intp_t))
        if not (
            self.n_bins and self.offset and self.rows and self.spare and self.start
            and self.end
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
        cdef intp_t i, n = rows.shape[0]
        cdef i64_t g = 0, hc = 0
        self.pairs = pairs
        self.sums = <const Sums*> &pairs[0, 0] if pairs.shape[0] else NULL
        with nogil:
            for i in range(n):
                self.rows[i] = rows[i]
                g += self.sums[rows[i]].g
                hc += self.sums[rows[i]].hc
        self.start[0], self.end[0] = 0, n
        sums[0], sums[1] = g, hc

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
        with nogil:
            self.fill(leaf, <Sums*> &cells[0, 0], of_tasks)

    def part_leaf(
        self, intp_t leaf, intp_t other, const Split[::1] split, const u8_t[::1] bits
    ):
        """Part the rows of a leaf: those that go left stay, the rest go to `other`.

        `split` and `bits` are as :meth:`SplitSearch.find_split` fills them.
        """
        with nogil:
            self.part(leaf, other, &split[0], &bits[0])

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
        cdef intp_t i, j
        cdef i32_t r
        cdef f64_t v
        cdef bint each = departures.shape[0] > 0
        with nogil:
            for i in range(values.shape[0]):
                v = values[i]
                if each:
                    for j in range(self.start[i], self.end[i]):
                        r = self.rows[j]
                        scores[r] += v + departures[i, self.task[r]]
                else:
                    for j in range(self.start[i], self.end[i]):
                        scores[self.rows[j]] += v

    # -------------------------------------------------------------- from C

    cdef intp_t size(self, intp_t leaf) noexcept nogil:
        return self.end[leaf] - self.start[leaf]

    cdef void fill(self, intp_t leaf, Sums* cells, Sums* tasks) noexcept nogil:
        memset(cells, 0, self.n_cells * sizeof(Sums))
        add_rows(
            &self.bins[0, 0], self.n_features, self.offset,
            self.rows + self.start[leaf], self.size(leaf), self.sums, cells)
        if tasks != NULL:
            self.sum_tasks(leaf, tasks)

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
        cdef intp_t i, start = self.start[leaf], end = self.end[leaf]
        cdef intp_t n_left = start, n_right = 0
        cdef intp_t d = self.n_features, f = split.feature
        cdef const u8_t* bins = &self.bins[0, 0]
        cdef u8_t[256] table
        cdef i32_t r, t
        cdef bint left
        if split.feature == TASK:
            for i in range(start, end):
                r = self.rows[i]
                t = self.task[r]
                left = (bits[t >> 3] >> (t & 7)) & 1
                self.rows[n_left] = r
                self.spare[n_right] = r
                n_left += left
                n_right += 1 - left
        else:
            fill_table(split, bits, self.n_bins[f], table)
            for i in range(start, end):
                if i + AHEAD < end:
                    prefetch_row(bins + self.rows[i + AHEAD] * d + f)
                r = self.rows[i]
                left = table[bins[r * d + f]]
                self.rows[n_left] = r
                self.spare[n_right] = r
                n_left += left
                n_right += 1 - left
        memcpy(self.rows + n_left, self.spare, n_right * sizeof(i32_t))
        self.start[other], self.end[other] = n_left, end
        self.end[leaf] = n_left


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
