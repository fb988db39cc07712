"""One tree of gradient boosting over histograms, best leaf first.

Rows have their features as bins, their gradient and curvature as integer multiples of
powers of two (see _histograms.h), and a task. A node is split by a feature's bins, by
the categories of a feature, or by tasks; see docs/models/gradient-boosting.md for what
is written here in code.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, sqrt
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from kinlearn._kernels._random cimport derive_stream, next_below
from kinlearn._kernels._typedefs cimport (
    f64_t,
    i8_t,
    i32_t,
    i64_t,
    intp_t,
    u8_t,
    u64_t,
)
from kinlearn._kernels.boosting.gradient._histograms cimport (
    Cut,
    Scale,
    Sums,
    bar,
    count,
    curvature,
    fill,
    gradient,
    prefetch_row,
    scan,
    scan_bounded,
    side,
    subtract,
    value_of,
)
from kinlearn._kernels.boosting.gradient._nodes cimport LEAF, TASK, Node

cdef enum:
    AHEAD = 12              # rows that are fetched before they are read
    CATEGORIES = 256        # groups that a feature's split can have, and bits of it
    PRIOR = 10              # noise that tasks are taken to differ by; categories: 0

cdef i64_t SIGNAL_CELLS = 1 << 27   # cells between two looks for Ctrl-C: below a second


cdef struct Leaf:
    intp_t start            # of its rows in Grower.rows
    intp_t end
    i32_t node
    i32_t depth
    i32_t slot              # of its histogram; -1 for none
    Sums sums
    f64_t lower             # bounds of values in it
    f64_t upper
    # the best split; a gain of 0 is none
    f64_t gain
    i32_t feature
    bint by_set
    i32_t bin
    bint default_left
    Sums left


cdef class Grower:
    """Rows and settings that all trees share, and memory for growing them.

    Parameters
    ----------
    bins : uint8 array of shape (n, n_features), C-contiguous
        Bins of the features; ``n_bins[f]`` is the bin of missing values.
    n_bins : int32 array of shape (n_features,)
        Bins of each feature, at most 255, without that of missing values.
    categorical : uint8 array of shape (n_features,)
        Whether bins are categories.
    direction : int8 array of shape (n_features,)
        1 or -1 where values must rise or fall with the feature.
    groups : uint8 array of shape (n_groups, n_features)
        Features that may act together; no groups: all may.
    task : int32 array of shape (n,)
        Task codes.
    n_tasks : int
        Number of tasks.
    max_leaves, max_depth : int
        Limits; a depth of 0 is none.
    least_count : int
        Least count of rows in a leaf.
    least_h : float
        Least sum of curvatures in a leaf, above 0.
    max_features : int
        Features that are drawn for each node.
    l2 : float
        Penalty on values.
    task_splits : bool
        Whether nodes may be split by tasks.
    """

    cdef const u8_t[:, ::1] bins
    cdef const i32_t[::1] task
    cdef readonly intp_t n_tasks
    cdef intp_t n_features
    cdef i32_t* offset
    cdef i32_t* n_bins
    cdef u8_t* categorical
    cdef i8_t* direction
    cdef bint bounded
    cdef u8_t* groups
    cdef intp_t n_groups
    cdef intp_t max_leaves
    cdef intp_t max_depth
    cdef intp_t max_features
    cdef bint task_splits
    cdef Scale scale
    cdef f64_t noise
    cdef const Sums* pairs
    cdef readonly intp_t set_bytes
    # memory
    cdef intp_t n_cells
    cdef Sums** slots
    cdef i32_t* free_slots
    cdef intp_t n_free
    cdef i32_t* rows
    cdef i32_t* spare
    cdef Leaf* leaves
    cdef u8_t* leaf_sets        # (max_leaves, set_bytes)
    cdef u8_t* leaf_groups      # (max_leaves, n_groups)
    cdef u8_t* allowed          # (n_features,)
    cdef i32_t* candidates
    cdef Sums* task_sums        # (n_tasks,), all zero between uses
    cdef i32_t* group_id
    cdef Sums* group_sums
    cdef f64_t* group_key
    cdef f64_t* group_g
    cdef f64_t* group_h
    cdef i64_t cells_since
    cdef u64_t seed
    cdef object error

    def __cinit__(
        self, const u8_t[:, ::1] bins, const i32_t[::1] n_bins,
        const u8_t[::1] categorical, const i8_t[::1] direction,
        const u8_t[:, ::1] groups, const i32_t[::1] task, intp_t n_tasks,
        *, intp_t max_leaves, intp_t max_depth, i64_t least_count, intp_t max_features,
        f64_t least_h, f64_t l2, bint task_splits,
    ):
        cdef intp_t n = bins.shape[0], d = bins.shape[1], f, most
        self.bins, self.task, self.n_tasks = bins, task, n_tasks
        self.n_features, self.n_groups = d, groups.shape[0]
        self.max_leaves = max(min(max_leaves, n), 1)
        self.max_depth, self.max_features = max_depth, max_features
        self.task_splits = task_splits and n_tasks > 1
        self.scale.l2, self.scale.least_count = l2, least_count
        self.scale.least_h = least_h
        self.set_bytes = max(CATEGORIES, n_tasks + 7) >> 3
        most = max(CATEGORIES, n_tasks)
        self.offset = <i32_t*> calloc(d + 1, sizeof(i32_t))
        self.n_bins = <i32_t*> calloc(d, sizeof(i32_t))
        self.categorical = <u8_t*> calloc(d, 1)
        self.direction = <i8_t*> calloc(d, 1)
        self.groups = <u8_t*> calloc(self.n_groups * d + 1, 1)
        self.slots = <Sums**> calloc(self.max_leaves + 1, sizeof(Sums*))
        self.free_slots = <i32_t*> calloc(self.max_leaves + 1, sizeof(i32_t))
        self.rows = <i32_t*> malloc((n + 1) * sizeof(i32_t))
        self.spare = <i32_t*> malloc((n + 1) * sizeof(i32_t))
        self.leaves = <Leaf*> calloc(self.max_leaves, sizeof(Leaf))
        self.leaf_sets = <u8_t*> calloc(self.max_leaves, self.set_bytes)
        self.leaf_groups = <u8_t*> calloc(self.max_leaves, self.n_groups + 1)
        self.allowed = <u8_t*> malloc(d)
        self.candidates = <i32_t*> malloc(d * sizeof(i32_t))
        self.task_sums = <Sums*> calloc(n_tasks, sizeof(Sums))
        self.group_id = <i32_t*> malloc(most * sizeof(i32_t))
        self.group_sums = <Sums*> malloc(most * sizeof(Sums))
        self.group_key = <f64_t*> malloc(most * sizeof(f64_t))
        self.group_g = <f64_t*> malloc(most * sizeof(f64_t))
        self.group_h = <f64_t*> malloc(most * sizeof(f64_t))
        if not (
            self.offset and self.n_bins and self.categorical and self.direction
            and self.groups and self.slots and self.free_slots and self.rows
            and self.spare and self.leaves and self.leaf_sets and self.leaf_groups
            and self.allowed and self.candidates and self.task_sums and self.group_id
            and self.group_sums and self.group_key and self.group_g and self.group_h
        ):
            raise MemoryError()
        for f in range(d):
            self.n_bins[f] = n_bins[f]
            self.offset[f + 1] = self.offset[f] + n_bins[f] + 1
            self.categorical[f] = categorical[f]
            self.direction[f] = direction[f]
            self.bounded = self.bounded or direction[f] != 0
        for f in range(self.n_groups * d):
            self.groups[f] = groups[f // d, f % d]
        self.n_cells = self.offset[d]

    def __dealloc__(self):
        cdef intp_t i
        if self.slots:
            for i in range(self.max_leaves + 1):
                free(self.slots[i])
        free(self.offset)
        free(self.n_bins)
        free(self.categorical)
        free(self.direction)
        free(self.groups)
        free(self.slots)
        free(self.free_slots)
        free(self.rows)
        free(self.spare)
        free(self.leaves)
        free(self.leaf_sets)
        free(self.leaf_groups)
        free(self.allowed)
        free(self.candidates)
        free(self.task_sums)
        free(self.group_id)
        free(self.group_sums)
        free(self.group_key)
        free(self.group_g)
        free(self.group_h)

    # ------------------------------------------------------------------ entry

    def grow(
        self, const i64_t[:, ::1] pairs, const i32_t[::1] rows, *, f64_t g_unit,
        f64_t h_unit, int bits, f64_t noise, u64_t seed, Node[::1] nodes,
        f64_t[::1] gain, f64_t[::1] value, f64_t[::1] weight, u8_t[::1] sets,
        f64_t[:, ::1] leaf_bounds,
    ):
        """Grow a tree.

        Parameters
        ----------
        pairs : int64 array of shape (n, 2)
            Gradient, and curvature shifted by `bits` plus count, of each row.
        rows : int32 array
            Rows to grow with, ascending.
        g_unit, h_unit : float
            What gradients and curvatures are multiples of.
        bits : int
            Bits of the counts.
        noise : float
            Variance of gradients, in units of the curvature.
        seed : int
            Decides the features that are drawn.
        nodes, gain, value, weight : arrays of shape (2 * max_leaves - 1,), filled
            The tree: nodes, gains of splits, and of all nodes the Newton step and the
            curvature.
        sets : uint8 array of shape (max_leaves * set_bytes,), filled
            Bits of categories and tasks that go left.
        leaf_bounds : float64 array of shape (max_leaves, 2), filled
            Bounds of the values in each leaf.

        Returns
        -------
        n_nodes, n_leaves, n_set_bytes : int
            How much of the arrays is filled.
        """
        cdef intp_t n_nodes, n_leaves = 0, n_sets = 0
        cdef intp_t i
        self.pairs = <const Sums*> &pairs[0, 0]
        self.scale.g_unit, self.scale.h_unit = g_unit, h_unit
        self.scale.bits, self.scale.count_mask = bits, ((<i64_t> 1) << bits) - 1
        self.noise, self.seed = noise, seed
        self.n_free = self.max_leaves + 1
        for i in range(self.n_free):
            self.free_slots[i] = <i32_t> i
        with nogil:
            for i in range(rows.shape[0]):
                self.rows[i] = rows[i]
            n_nodes = self._grow(
                rows.shape[0], &nodes[0], &gain[0], &value[0], &weight[0], &sets[0],
                &n_leaves, &n_sets)
            for i in range(n_leaves):
                leaf_bounds[i, 0] = self.leaves[i].lower
                leaf_bounds[i, 1] = self.leaves[i].upper
        if n_nodes < 0:
            error, self.error = self.error, None
            raise MemoryError() if error is None else error
        return n_nodes, n_leaves, n_sets

    def leaf_rows(self, i32_t[::1] rows, i32_t[::1] start):
        """The rows of the last tree, leaf by leaf, and where each leaf begins."""
        cdef intp_t n = 0, i, size
        for i in range(start.shape[0] - 1):
            size = self.leaves[i].end - self.leaves[i].start
            start[i] = <i32_t> n
            if size:
                memcpy(&rows[n], self.rows + self.leaves[i].start, size * sizeof(i32_t))
            n += size
        start[start.shape[0] - 1] = <i32_t> n

    def add_values(
        self, intp_t n_leaves, const f64_t[::1] values,
        const f64_t[:, ::1] departures, f64_t[:] scores,
    ):
        """Add the values of the last tree to the scores of the rows it grew with.

        `departures` has a row for each leaf and a column for each task, or no rows.
        """
        cdef intp_t i, j
        cdef i32_t r
        cdef f64_t v
        cdef bint each = departures.shape[0] > 0
        with nogil:
            for i in range(n_leaves):
                v = values[i]
                if each:
                    for j in range(self.leaves[i].start, self.leaves[i].end):
                        r = self.rows[j]
                        scores[r] += v + departures[i, self.task[r]]
                else:
                    for j in range(self.leaves[i].start, self.leaves[i].end):
                        scores[self.rows[j]] += v

    def task_totals(self, intp_t n_leaves, f64_t[:, ::1] g, f64_t[:, ::1] h):
        """Sums of gradient and curvature of each leaf of the last tree and task."""
        cdef intp_t i, j
        cdef i32_t r, t
        cdef Sums* sums = self.task_sums
        cdef const Sums* row
        with nogil:
            for i in range(n_leaves):
                for j in range(self.leaves[i].start, self.leaves[i].end):
                    r = self.rows[j]
                    t = self.task[r]
                    row = &self.pairs[r]
                    sums[t].g += row.g
                    sums[t].hc += row.hc
                for t in range(<i32_t> self.n_tasks):
                    g[i, t] = gradient(&sums[t], &self.scale)
                    h[i, t] = curvature(&sums[t], &self.scale)
                memset(sums, 0, self.n_tasks * sizeof(Sums))

    # ----------------------------------------------------------------- growth

    cdef intp_t _grow(
        self, intp_t n, Node* nodes, f64_t* gain, f64_t* value, f64_t* weight,
        u8_t* sets, intp_t* n_leaves_out, intp_t* n_sets_out,
    ) noexcept nogil:
        cdef intp_t n_nodes = 1, n_leaves = 1, n_sets = 0, best, i
        cdef Leaf* leaf = &self.leaves[0]
        cdef Leaf* other
        cdef Node* node
        cdef f64_t middle
        memset(leaf, 0, sizeof(Leaf))
        leaf.end = n
        leaf.lower, leaf.upper = -INFINITY, INFINITY
        leaf.slot = -1
        memset(self.leaf_groups, 1, self.n_groups)
        for i in range(n):
            leaf.sums.g += self.pairs[self.rows[i]].g
            leaf.sums.hc += self.pairs[self.rows[i]].hc
        self._close(leaf, nodes, value, weight)
        if self.max_leaves > 1 and self._may_split(leaf):
            if not self._fill(leaf):
                return -1
            self._find_split(0)
        while n_leaves < self.max_leaves:
            best = 0
            for i in range(1, n_leaves):
                if self.leaves[i].gain > bar(self.leaves[best].gain):
                    best = i
            leaf = &self.leaves[best]
            if leaf.gain <= 0:
                break
            other = &self.leaves[n_leaves]
            node = &nodes[leaf.node]
            node.feature = leaf.feature
            node.left = <i32_t> n_nodes
            node.bin = <u8_t> leaf.bin
            node.default_left = leaf.default_left
            node.first_byte = -1
            if leaf.feature >= 0:
                node.n_bins = <u8_t> self.n_bins[leaf.feature]
            if leaf.by_set:
                node.first_byte = <i32_t> n_sets
                memcpy(
                    sets + n_sets, self.leaf_sets + best * self.set_bytes,
                    self.set_bytes)
                n_sets += self.set_bytes
            gain[leaf.node] = leaf.gain
            self._part(best, leaf, other)
            memcpy(
                self.leaf_groups + n_leaves * self.n_groups,
                self.leaf_groups + best * self.n_groups, self.n_groups)
            if leaf.feature >= 0:
                self._narrow(best, leaf.feature)
                self._narrow(n_leaves, leaf.feature)
            other.lower, other.upper = leaf.lower, leaf.upper
            other.depth = leaf.depth + 1
            leaf.depth += 1
            other.sums.g = leaf.sums.g - leaf.left.g
            other.sums.hc = leaf.sums.hc - leaf.left.hc
            leaf.sums = leaf.left
            if leaf.feature >= 0 and self.direction[leaf.feature]:
                middle = (self._value(leaf) + self._value(other)) / 2
                if self.direction[leaf.feature] > 0:
                    leaf.upper = other.lower = middle
                else:
                    leaf.lower = other.upper = middle
            leaf.node = <i32_t> n_nodes
            other.node = <i32_t> n_nodes + 1
            self._close(leaf, nodes, value, weight)
            self._close(other, nodes, value, weight)
            n_nodes += 2
            leaf.gain = other.gain = 0
            n_leaves += 1
            if n_leaves < self.max_leaves:
                if not self._share_histogram(leaf, other):
                    return -1
                self._find_split(best)
                self._find_split(n_leaves - 1)
        for i in range(n_leaves):
            nodes[self.leaves[i].node].left = <i32_t> i
        n_leaves_out[0], n_sets_out[0] = n_leaves, n_sets
        return n_nodes

    cdef f64_t _value(self, Leaf* leaf) noexcept nogil:
        return value_of(
            gradient(&leaf.sums, &self.scale), curvature(&leaf.sums, &self.scale),
            self.scale.l2, leaf.lower, leaf.upper)

    cdef void _close(
        self, Leaf* leaf, Node* nodes, f64_t* value, f64_t* weight
    ) noexcept nogil:
        memset(&nodes[leaf.node], 0, sizeof(Node))
        nodes[leaf.node].feature = LEAF
        nodes[leaf.node].first_byte = -1
        value[leaf.node] = self._value(leaf)
        weight[leaf.node] = curvature(&leaf.sums, &self.scale)

    cdef bint _may_split(self, Leaf* leaf) noexcept nogil:
        return (
            (self.max_depth == 0 or leaf.depth < self.max_depth)
            and count(&leaf.sums, &self.scale) >= 2 * self.scale.least_count
            and leaf.end - leaf.start > 1
            and curvature(&leaf.sums, &self.scale) > 0
        )

    cdef Sums* _histogram(self, Leaf* leaf) noexcept nogil:
        return self.slots[leaf.slot]

    cdef bint _fill(self, Leaf* leaf) noexcept nogil:
        # Into a histogram of its own; False without memory.
        self.n_free = self.n_free - 1
        leaf.slot = self.free_slots[self.n_free]
        if self.slots[leaf.slot] == NULL:
            self.slots[leaf.slot] = <Sums*> malloc(self.n_cells * sizeof(Sums))
            if self.slots[leaf.slot] == NULL:
                return False
        memset(self.slots[leaf.slot], 0, self.n_cells * sizeof(Sums))
        fill(
            &self.bins[0, 0], self.n_features, self.offset, self.rows + leaf.start,
            leaf.end - leaf.start, self.pairs, self.slots[leaf.slot])
        self.cells_since = (
            self.cells_since + (leaf.end - leaf.start) * self.n_features)
        if self.cells_since > SIGNAL_CELLS:
            self.cells_since = 0
            with gil:
                try:
                    PyErr_CheckSignals()
                except BaseException as error:      # Ctrl-C; raised at the end
                    self.error = error
                    return False
        return True

    cdef void _release(self, Leaf* leaf) noexcept nogil:
        if leaf.slot >= 0:
            self.free_slots[self.n_free] = leaf.slot
            self.n_free = self.n_free + 1
            leaf.slot = -1

    cdef bint _share_histogram(self, Leaf* leaf, Leaf* other) noexcept nogil:
        # `leaf` has its parent's: the smaller child is filled, the other is the rest
        cdef Leaf* small = leaf
        cdef Leaf* large = other
        cdef i32_t slot = leaf.slot
        leaf.slot = other.slot = -1
        if not (self._may_split(leaf) or self._may_split(other)):
            leaf.slot = slot
            self._release(leaf)
            return True
        if other.end - other.start < leaf.end - leaf.start:
            small, large = other, leaf
        large.slot = slot
        if not self._fill(small):
            return False
        subtract(self.slots[slot], self.slots[small.slot], self.n_cells)
        if not self._may_split(small):
            self._release(small)
        if not self._may_split(large):
            self._release(large)
        return True

    cdef void _narrow(self, intp_t number, i32_t feature) noexcept nogil:
        # Groups without the feature are closed below.
        cdef intp_t i
        cdef u8_t* open = self.leaf_groups + number * self.n_groups
        for i in range(self.n_groups):
            open[i] = open[i] and self.groups[i * self.n_features + feature]

    cdef void _part(self, intp_t number, Leaf* leaf, Leaf* other) noexcept nogil:
        # Rows that go left stay with `leaf`, the rest become `other`'s; in order.
        cdef intp_t i, n_left = leaf.start, n_right = 0
        cdef intp_t d = self.n_features, f = leaf.feature
        cdef const u8_t* bins = &self.bins[0, 0]
        cdef const u8_t* bits = self.leaf_sets + number * self.set_bytes
        cdef u8_t[256] table
        cdef i32_t r, t
        cdef bint left
        memset(other, 0, sizeof(Leaf))
        other.slot = -1
        if leaf.feature == TASK:
            for i in range(leaf.start, leaf.end):
                r = self.rows[i]
                t = self.task[r]
                left = (bits[t >> 3] >> (t & 7)) & 1
                self.rows[n_left] = r
                self.spare[n_right] = r
                n_left += left
                n_right += 1 - left
        else:
            for i in range(256):
                if i >= self.n_bins[f]:
                    table[i] = leaf.default_left
                elif leaf.by_set:
                    table[i] = (bits[i >> 3] >> (i & 7)) & 1
                else:
                    table[i] = i <= leaf.bin
            for i in range(leaf.start, leaf.end):
                if i + AHEAD < leaf.end:
                    prefetch_row(bins + self.rows[i + AHEAD] * d + f)
                r = self.rows[i]
                left = table[bins[r * d + f]]
                self.rows[n_left] = r
                self.spare[n_right] = r
                n_left += left
                n_right += 1 - left
        memcpy(self.rows + n_left, self.spare, n_right * sizeof(i32_t))
        other.start, other.end = n_left, leaf.end
        leaf.end = n_left

    # ----------------------------------------------------------------- splits

    cdef void _find_split(self, intp_t number) noexcept nogil:
        cdef Leaf* leaf = &self.leaves[number]
        cdef f64_t g, h, parent
        cdef Cut best
        cdef intp_t i, n_candidates
        cdef i32_t f
        leaf.gain = 0
        if leaf.slot < 0:
            return
        g = gradient(&leaf.sums, &self.scale)
        h = curvature(&leaf.sums, &self.scale)
        parent = side(g, h, self.scale.l2, leaf.lower, leaf.upper)
        best.score = bar(parent)    # rounding is no gain
        leaf.feature = LEAF
        n_candidates = self._candidates(number, leaf.node)
        for i in range(n_candidates):
            f = self.candidates[i]
            if self.categorical[f]:
                self._split_categories(number, f, parent, &best)
            else:
                self._split_feature(leaf, f, &best)
        if self.task_splits:
            self._split_tasks(number, parent, &best)
        if leaf.feature != LEAF:
            leaf.gain = (best.score - parent) / 2

    cdef intp_t _candidates(self, intp_t number, i32_t node) noexcept nogil:
        # Features to look at: those of groups that are open, of them a draw.
        cdef intp_t n = 0, f, i, j, wanted
        cdef u8_t* open = self.leaf_groups + number * self.n_groups
        cdef u64_t stream
        cdef i32_t held
        if self.n_groups:
            memset(self.allowed, 0, self.n_features)
            for i in range(self.n_groups):
                if open[i]:
                    for f in range(self.n_features):
                        if self.groups[i * self.n_features + f]:
                            self.allowed[f] = 1
        for f in range(self.n_features):
            if self.n_groups == 0 or self.allowed[f]:
                self.candidates[n] = <i32_t> f
                n += 1
        wanted = self.max_features
        if wanted >= n:
            return n
        stream = derive_stream(self.seed, node)
        for i in range(wanted):
            j = i + <intp_t> next_below(&stream, n - i)
            held = self.candidates[i]
            self.candidates[i] = self.candidates[j]
            self.candidates[j] = held
        return wanted

    cdef void _split_feature(self, Leaf* leaf, i32_t f, Cut* best) noexcept nogil:
        cdef const Sums* cells = self._histogram(leaf) + self.offset[f]
        cdef int n = self.n_bins[f], way, last
        cdef Sums nothing, missing = cells[n]
        cdef f64_t before = best.score
        cdef i64_t n_left, n_right
        nothing.g = nothing.hc = 0
        # to the right; after the last bin, missing rows alone are there
        for way in range(2 if missing.hc else 1):
            last = n - 1 if missing.hc and way == 0 else n - 2
            if self.bounded:
                scan_bounded(
                    cells, last, missing if way else nothing, leaf.sums, way,
                    &self.scale, self.direction[f], leaf.lower, leaf.upper, best)
            else:
                scan(
                    cells, last, missing if way else nothing, leaf.sums, way,
                    &self.scale, best)
        if best.score > before:
            leaf.feature, leaf.bin, leaf.left = f, best.bin, best.left
            leaf.by_set = False
            leaf.default_left = best.missing_left
            if missing.hc == 0:     # they go with most of the rows
                n_left = count(&best.left, &self.scale)
                n_right = count(&leaf.sums, &self.scale) - n_left
                leaf.default_left = n_left >= n_right

    cdef void _split_categories(
        self, intp_t number, i32_t f, f64_t parent, Cut* best
    ) noexcept nogil:
        cdef Leaf* leaf = &self.leaves[number]
        cdef const Sums* cells = self._histogram(leaf) + self.offset[f]
        cdef intp_t n = 0, b
        for b in range(self.n_bins[f] + 1):
            if cells[b].hc:
                self.group_id[n] = <i32_t> b
                self.group_sums[n] = cells[b]
                n += 1
        if self._split_groups(number, n, self.n_bins[f], 0, parent, best):
            leaf.feature = f

    cdef void _split_tasks(
        self, intp_t number, f64_t parent, Cut* best
    ) noexcept nogil:
        cdef Leaf* leaf = &self.leaves[number]
        cdef Sums* sums = self.task_sums
        cdef intp_t n = 0, i
        cdef i32_t r, t
        for i in range(leaf.start, leaf.end):
            r = self.rows[i]
            t = self.task[r]
            if self.pairs[r].hc == 0:
                continue
            if sums[t].hc == 0:
                self.group_id[n] = t
                n += 1
            sums[t].g += self.pairs[r].g
            sums[t].hc += self.pairs[r].hc
        for i in range(n):
            t = self.group_id[i]
            self.group_sums[i] = sums[t]
            sums[t].g = sums[t].hc = 0
        if self._split_groups(number, n, self.n_tasks, PRIOR, parent, best):
            leaf.feature = TASK

    cdef bint _split_groups(
        self, intp_t number, intp_t n, intp_t n_codes, intp_t prior, f64_t parent,
        Cut* best,
    ) noexcept nogil:
        # Groups (tasks, categories) in two parts, by their shrunken gradients.
        cdef Leaf* leaf = &self.leaves[number]
        cdef Scale* k = &self.scale
        cdef u8_t* bits = self.leaf_sets + number * self.set_bytes
        cdef f64_t G = gradient(&leaf.sums, k), H = curvature(&leaf.sums, k)
        cdef f64_t mean, spread = 0, squares = 0, excess, freedom, penalty
        cdef f64_t g, h, all_g = 0, base, score, left_g = 0, left_h = 0
        cdef f64_t l2 = k.l2, lower = leaf.lower, upper = leaf.upper
        cdef i64_t n_left = 0, n_all = count(&leaf.sums, k)
        cdef intp_t i, at = -1, n_there = 0
        cdef Sums left
        cdef bint larger_left
        if n < 2 or H <= 0:
            return False
        mean = G / H
        for i in range(n):
            g = gradient(&self.group_sums[i], k)
            h = curvature(&self.group_sums[i], k)
            self.group_g[i], self.group_h[i] = g, h
            if h > 0:
                spread += (g - h * mean) * (g - h * mean) / h
                squares += h * h
                n_there += 1
        freedom = H - squares / H
        excess = spread + (prior - (n_there - 1)) * self.noise
        if excess <= 0 or freedom <= 0:
            return False
        penalty = self.noise * freedom / excess
        for i in range(n):
            g = (self.group_g[i] - self.group_h[i] * mean)
            g /= self.group_h[i] + penalty if penalty > 0 else self.group_h[i] + 1e-300
            self.group_key[i] = g
            self.group_g[i] = self.group_h[i] * (mean + g)
            all_g += self.group_g[i]
        sort_groups(
            self.group_key, self.group_id, self.group_sums, self.group_g, self.group_h,
            n)
        base = parent - side(between(all_g, G), H, l2, lower, upper)
        left.g = left.hc = 0
        for i in range(n - 1):
            left_g += self.group_g[i]
            left_h += self.group_h[i]
            left.g += self.group_sums[i].g
            left.hc += self.group_sums[i].hc
            n_left = count(&left, k)
            if n_left < k.least_count or left_h < k.least_h:
                continue
            if n_all - n_left < k.least_count or H - left_h < k.least_h:
                break
            g = gradient(&left, k)
            score = base + side(between(left_g, g), left_h, l2, lower, upper) + side(
                between(all_g - left_g, G - g), H - left_h, l2, lower, upper)
            if score > bar(best.score):
                best.score = score
                best.left = left
                at = i
        if at < 0:
            return False
        leaf.by_set = True
        leaf.left = best.left
        n_left = count(&best.left, k)
        larger_left = n_left >= n_all - n_left
        leaf.default_left = larger_left
        leaf.bin = 0
        memset(bits, 255 if larger_left else 0, self.set_bytes)
        for i in range(n):
            if self.group_id[i] >= n_codes:     # missing values of a feature
                leaf.default_left = i <= at
            elif i <= at:
                bits[self.group_id[i] >> 3] |= 1 << (self.group_id[i] & 7)
            else:
                bits[self.group_id[i] >> 3] &= ~(1 << (self.group_id[i] & 7))
        return True


cdef inline f64_t between(f64_t shrunken, f64_t plain) noexcept nogil:
    # Geometric mean, as gains are of squares; nothing if they contradict each other.
    cdef f64_t product = shrunken * plain
    if product <= 0:
        return 0
    return sqrt(product) if plain > 0 else -sqrt(product)


cdef inline bint comes_before(
    const f64_t* key, const i32_t* id, intp_t a, intp_t b
) noexcept nogil:
    return key[a] < key[b] or (key[a] == key[b] and id[a] < id[b])


cdef inline void swap_groups(
    f64_t* key, i32_t* id, Sums* sums, f64_t* g, f64_t* h, intp_t a, intp_t b
) noexcept nogil:
    key[a], key[b] = key[b], key[a]
    id[a], id[b] = id[b], id[a]
    sums[a], sums[b] = sums[b], sums[a]
    g[a], g[b] = g[b], g[a]
    h[a], h[b] = h[b], h[a]


cdef void sort_groups(
    f64_t* key, i32_t* id, Sums* sums, f64_t* g, f64_t* h, intp_t n
) noexcept nogil:
    # Heap sort: no memory, and no order that is slow.
    cdef intp_t start = n // 2, end = n, root, child
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            swap_groups(key, id, sums, g, h, 0, end)
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and comes_before(key, id, child, child + 1):
                child += 1
            if not comes_before(key, id, root, child):
                break
            swap_groups(key, id, sums, g, h, root, child)
            root = child
