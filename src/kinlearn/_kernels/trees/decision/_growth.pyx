# cython: nonecheck=False
# The debug build would ask for the GIL to check that `self` is not None.
"""Growth of multi-task decision trees on binned features.

At a node, a task whose rows are (nearly) of one label is *decided*: it gets its
prediction there and its rows leave. The other rows are split. A task that had rows
in the parent and has none in a child is decided in the child by its rows in the
parent. So on each way from the root to a leaf every task is decided once.

All of this needs the *cells* of a node, the pairs of a task and a label, with their
weights and numbers of rows. `Grower` counts them from rows that lie in one place, and
grows a tree to the end; `SumGrower` gets them, node by node, from a driver that adds
up what partitions of the rows have counted.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy, memset

from kinlearn._kernels._random cimport derive_stream, next_below
from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
from kinlearn._kernels.trees.decision._model cimport TreeArrays, doubled
from kinlearn._kernels.trees.decision._split cimport (
    COUNTED, DENSE_ROWS, FEW_CELLS, JOINT, MISSING, N_BINS, OTHER_LABEL, OTHER_TASK,
    Search, Split, f, fill_xlogx, has_bit, try_categories, try_feature
)

fill_xlogx()

# Work, in row visits, between two looks for Ctrl-C: some tenths of a second.
cdef enum:
    VISITS_PER_CHECK = 1 << 26
    SPARSE_NODE = 16
    CACHE_BYTES = 1 << 19

# a node that waits for its turn
cdef packed struct Item:
    i32_t node
    i32_t depth
    intp_t start
    intp_t end
    u64_t stream

ITEM = np.dtype([
    ("node", np.int32), ("depth", np.int32), ("start", np.intp), ("end", np.intp),
    ("stream", np.uint64),
])


cdef class Settings:
    """When tasks are decided, and how nodes are split.

    The parameters of the tree, with numbers for the criterion (0 joint, 1 sum, 2 max),
    the depth and the features to look at.
    """

    def __init__(self, *, i32_t criterion, f64_t purity, intp_t max_depth,
                 intp_t min_samples_split, intp_t min_samples_leaf,
                 f64_t min_weight_fraction_leaf, intp_t max_features):
        self.criterion = criterion
        self.purity = purity
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features


cdef inline void _add(Nodes self, i32_t c, i64_t weight, i64_t n_rows) noexcept nogil:
    """Count rows of a cell."""
    cdef i32_t t = self.cell_task[c]
    if self.task_rows[t] == 0:
        self.touched_task[self.n_touched] = t
        self.n_touched += 1
        self.task_head[t] = -1
    if self.cell_weight[c] == 0:
        self.cell_next[c] = self.task_head[t]
        self.task_head[t] = c
        self.task_cells[t] += 1
    self.cell_weight[c] += weight
    self.task_rows[t] += n_rows


cdef class Nodes:
    """One node at a time: its cells and tasks, its split, and the tree it is in.

    The cost of a node depends on what is there alone: tasks and cells are counted in
    arrays that are touched where rows are and cleaned afterwards.
    """

    def __init__(self, n_bins, cell_task, cell_label, n_tasks, settings,
                 categorical, row_weight, most_cells):
        self.n_bins = n_bins
        self.cell_task = cell_task
        self.cell_label = cell_label
        self.settings = settings
        self.categorical = categorical
        n_features, n_cells = self.n_bins.shape[0], self.cell_task.shape[0]

        self.cell_weight = np.zeros(n_cells, dtype=np.int64)
        self.task_weight, self.task_top, self.task_rows = np.zeros(
            (3, n_tasks), dtype=np.int64)
        self.task_cells = np.zeros(n_tasks, dtype=np.int32)
        self.task_head, self.touched_task, self.open_task = np.empty(
            (3, n_tasks), dtype=np.int32)
        self.cell_next, self.node_cell, self.cell_open = np.empty(
            (3, n_cells), dtype=np.int32)
        self.local_cell = np.full(n_cells, -1, dtype=np.int32)
        self.open_start = np.empty(n_tasks + 1, dtype=np.int32)
        self.zeros = np.zeros(n_cells, dtype=np.int32)
        self.cell_total, self.left_cell = np.empty((2, n_cells), dtype=np.int64)
        self.open_total, self.left_group = np.empty((2, n_tasks), dtype=np.int64)
        self.joint_total = np.empty(1, dtype=np.int64)

        self.histogram = np.zeros(N_BINS * most_cells, dtype=np.int64)
        self.touched_group, self.is_touched = np.zeros((2, n_tasks), dtype=np.int32)
        self.reduction = np.zeros(n_tasks, dtype=np.float64)
        self.features = np.arange(n_features, dtype=np.int32)
        self.drawn = np.empty(n_features, dtype=np.int32)
        self.role = np.empty(n_cells, dtype=np.uint8)
        self.label_weight = np.zeros(np.max(cell_label) + 1, dtype=np.int64)

        cdef Search* s = &self.search
        s.criterion = self.settings.criterion
        s.min_samples_leaf = self.settings.min_samples_leaf
        s.row_weight = row_weight
        s.cell_total = &self.cell_total[0]
        s.histogram = &self.histogram[0]
        s.left_cell = &self.left_cell[0]
        s.left_group = &self.left_group[0]
        s.reduction = &self.reduction[0]
        s.touched = &self.touched_group[0]
        s.is_touched = &self.is_touched[0]
        s.role = &self.role[0]
        if s.criterion == JOINT:
            s.cell_group = &self.zeros[0]
            s.group_total = &self.joint_total[0]
        else:
            s.cell_group = &self.cell_open[0]
            s.group_total = &self.open_total[0]

    # ------------------------------------------------- tasks and cells of a node

    cdef f64_t _load(self, const i64_t[::1] cells, const i64_t[::1] weight,
                     const i64_t[::1] rows) noexcept nogil:
        """Count cells by their sums; the impurity."""
        cdef intp_t k
        for k in range(cells.shape[0]):
            _add(self, <i32_t>cells[k], weight[k], rows[k])
        return self._weigh_tasks()

    cdef f64_t _weigh_tasks(self) noexcept nogil:
        """Sum the cells of the tasks that have rows at the node; the impurity."""
        cdef intp_t k
        cdef i32_t c, t
        cdef i64_t w
        cdef f64_t impurity = 0.0
        self.n_rows = self.total = 0
        for k in range(self.n_touched):
            t = self.touched_task[k]
            c = self.task_head[t]
            while c >= 0:
                w = self.cell_weight[c]
                self.task_weight[t] += w
                self.task_top[t] = max(self.task_top[t], w)
                impurity -= f(w)
                c = self.cell_next[c]
            impurity += f(self.task_weight[t])
            self.total += self.task_weight[t]
            self.n_rows += self.task_rows[t]
        return max(impurity / <f64_t>self.total, 0.0)

    cdef void _clean(self) noexcept nogil:
        cdef intp_t k
        cdef i32_t c, t
        for k in range(self.n_touched):
            t = self.touched_task[k]
            c = self.task_head[t]
            while c >= 0:
                self.cell_weight[c] = 0
                self.local_cell[c] = -1
                c = self.cell_next[c]
            self.task_weight[t] = 0
            self.task_top[t] = 0
            self.task_rows[t] = 0
            self.task_cells[t] = 0
        self.n_touched = 0

    cdef i64_t _arrive(self, i32_t node, i32_t depth, f64_t impurity) except -1 nogil:
        """Decide the pure tasks, and all if the growth ends; rows of the others."""
        cdef intp_t k
        cdef i64_t n_open_rows = 0
        cdef i32_t t
        self.tree.nodes[node].n_rows = self.n_rows
        self.tree.nodes[node].weight = self.total
        self.tree.nodes[node].impurity = impurity
        self.n_open = 0
        self.n_local_cells = 0
        for k in range(self.n_touched):
            t = self.touched_task[k]
            if self.task_cells[t] == 1 or (
                    self.task_top[t] >= self.settings.purity * self.task_weight[t]):
                self._decide_task(node, t)
            else:
                n_open_rows += self.task_rows[t]
                self._number(t)
        if self.n_open and (depth >= self.settings.max_depth
                            or n_open_rows < self.settings.min_samples_split):
            self._decide_open(node)
            return 0
        return n_open_rows

    cdef void _number(self, i32_t t) noexcept nogil:
        """Number an open task and its cells within the node."""
        cdef i32_t c = self.task_head[t]
        self.open_task[self.n_open] = t
        self.open_total[self.n_open] = self.task_weight[t]
        self.open_start[self.n_open] = self.n_local_cells
        while c >= 0:
            self.node_cell[self.n_local_cells] = c
            self.cell_open[self.n_local_cells] = self.n_open
            self.cell_total[self.n_local_cells] = self.cell_weight[c]
            self.local_cell[c] = self.n_local_cells
            self.n_local_cells += 1
            c = self.cell_next[c]
        self.n_open += 1
        self.open_start[self.n_open] = self.n_local_cells

    cdef int _decide_task(self, i32_t node, i32_t t) except -1 nogil:
        cdef i32_t c = self.task_head[t]
        self.tree.new_decision(node, t, self.task_rows[t])
        while c >= 0:
            self.tree.new_value(self.cell_label[c], self.cell_weight[c])
            c = self.cell_next[c]
        return 0

    cdef int _decide_open(self, i32_t node) except -1 nogil:
        cdef i32_t k
        for k in range(self.n_open):
            self._decide_task(node, self.open_task[k])
        return 0

    # ----------------------------------------------------------------- the split

    cdef void _start_search(self, i64_t n_rows, Split* best) noexcept nogil:
        cdef intp_t k
        cdef Search* s = &self.search
        s.n_rows = n_rows
        s.n_cells = self.n_local_cells
        s.n_groups = 1 if s.criterion == JOINT else self.n_open
        s.total = 0
        for k in range(self.n_open):
            s.total += self.open_total[k]
        self.joint_total[0] = s.total
        s.inv_total = 1.0 / <f64_t>s.total
        s.dense = s.n_cells <= FEW_CELLS
        if self.categorical is not None:
            self._give_roles()
        best.gain = best.second = -1.0
        best.feature = -1

    cdef bint _try(self, i32_t feature, const u8_t* column, intp_t stride,
                   Split* best) noexcept nogil:
        """Improve `best` by a cut of a feature; whether it counts as looked at."""
        if self._has_categories(feature):
            return try_categories(
                &self.search, column, stride, feature, self.n_bins[feature], best)
        return try_feature(
            &self.search, column, stride, feature, self.n_bins[feature], best)

    cdef bint _has_categories(self, i32_t feature) noexcept nogil:
        return self.categorical is not None and self.categorical[feature]

    cdef void _draw(self, u64_t* stream, intp_t k) noexcept nogil:
        """Draw the feature that a node looks at as number k."""
        cdef intp_t n = self.features.shape[0]
        cdef intp_t j = k + <intp_t>next_below(stream, <u64_t>(n - k))
        self.drawn[k] = <i32_t>j
        self.features[k], self.features[j] = self.features[j], self.features[k]

    cdef void _put_back(self, intp_t n_draws) noexcept nogil:
        """Back to the natural order: the draws of a node then depend on its own
        stream alone, not on the nodes that were grown before it."""
        cdef intp_t k, j
        for k in range(n_draws - 1, -1, -1):
            j = self.drawn[k]
            self.features[k], self.features[j] = self.features[j], self.features[k]

    cdef void _give_roles(self) noexcept nogil:
        """What each cell is for the order of categories; see `try_categories`."""
        cdef i32_t c, k, label, counted = -1
        cdef u8_t other
        for c in range(self.n_local_cells):
            label = self.cell_label[self.node_cell[c]]
            self.label_weight[label] += self.cell_total[c]
        for c in range(self.n_local_cells):
            label = self.cell_label[self.node_cell[c]]
            if (counted < 0 or self.label_weight[label] > self.label_weight[counted]
                    or (self.label_weight[label] == self.label_weight[counted]
                        and label < counted)):
                counted = label
        for k in range(self.n_open):
            other = OTHER_TASK
            for c in range(self.open_start[k], self.open_start[k + 1]):
                if self.cell_label[self.node_cell[c]] == counted:
                    other = OTHER_LABEL
            for c in range(self.open_start[k], self.open_start[k + 1]):
                label = self.cell_label[self.node_cell[c]]
                self.role[c] = COUNTED if label == counted else other
        for c in range(self.n_local_cells):
            self.label_weight[self.cell_label[self.node_cell[c]]] = 0

    cdef i32_t _split_node(self, i32_t node, Split* split,
                           u64_t* sides) except -1 nogil:
        """Children of a node whose cells have `left_cell` on the left.

        The left one is returned, and of `sides` the bits of the bins that go there.
        """
        cdef i64_t left_weight = 0
        cdef i32_t left, c, k, b
        if not split.has_missing:
            # where a value that is missing later should go: to the heavier side
            for c in range(self.n_local_cells):
                left_weight += self.left_cell[c]
            split.missing_left = 2 * left_weight > self.joint_total[0]
        for k in range(4):
            sides[k] = 0
        if self._has_categories(split.feature):
            for k in range(4):
                sides[k] = split.on_left[k]
                if split.missing_left:  # and with them categories that are not here
                    sides[k] |= ~split.present[k]
            split.bin = <i32_t>self.tree.new_set(sides)
            split.gain += split.handicap
        else:
            for b in range(split.bin + 1):
                sides[b >> 6] |= <u64_t>1 << (b & 63)
        sides[3] &= ~(<u64_t>1 << 63)
        sides[3] |= <u64_t>split.missing_left << 63
        left = <i32_t>self.tree.new_node()
        self.tree.new_node()
        self.tree.nodes[node].left = left
        self.tree.nodes[node].feature = split.feature
        self.tree.nodes[node].bin = split.bin
        self.tree.nodes[node].missing_left = split.missing_left
        self.tree.nodes[node].gain = split.gain
        self.tree.nodes[node].decrease = self._decrease_and_absent(left)
        return left

    cdef f64_t _decrease_and_absent(self, i32_t left) except -1.0 nogil:
        """Weight times information gained within tasks; decide absent tasks."""
        cdef f64_t decrease = 0.0
        cdef i32_t k, c
        cdef i64_t below, r, task_left
        for k in range(self.n_open):
            task_left = 0
            for c in range(self.open_start[k], self.open_start[k + 1]):
                below = self.left_cell[c]
                r = self.cell_total[c] - below
                task_left += below
                decrease += f(below) + f(r) - f(below + r)
            r = self.open_total[k] - task_left
            decrease -= f(task_left) + f(r) - f(task_left + r)
            if task_left == 0 or r == 0:
                self.tree.new_decision(left + (r == 0), self.open_task[k], 0)
                for c in range(self.open_start[k], self.open_start[k + 1]):
                    self.tree.new_value(self.cell_label[self.node_cell[c]],
                                        self.cell_total[c])
        return max(decrease, 0.0)


# ----------------------------------------------------------- rows in one place

def grow_tree(const u8_t[::1, :] bins, const u8_t[:, ::1] lines,
              const i32_t[::1] n_bins,
              const i32_t[::1] cells, const i64_t[::1] weights,
              const i32_t[::1] cell_task, const i32_t[::1] cell_label,
              intp_t n_tasks, Settings settings, i64_t min_weight_leaf, u64_t stream,
              i32_t depth=0, const u8_t[::1] categorical=None, f64_t row_weight=1.0):
    """Grow one tree, or a branch of one.

    Parameters
    ----------
    bins : uint8 array of shape (n, n_features), column-major
        255 is a missing value.
    lines : uint8 array of shape (n, n_features), row-major
        The same, for the small nodes.
    n_bins : int32 array of shape (n_features,)
        Bins of each feature, the missing one not counted.
    cells : int32 array of shape (n,)
        Cell, the pair of task and label, of each row.
    weights : int64 array of shape (n,)
        Weights; rows of weight 0 are left out, and at least one is not.
    cell_task, cell_label : int32 array of shape (n_cells,)
        What the cells stand for.
    n_tasks : int
        Number of tasks.
    settings : Settings
        Of the growth.
    min_weight_leaf : int
        Least weight of a leaf.
    stream : int
        Random numbers of the first node; each node below has a stream of its own.
    depth : int, default=0
        Depth of the first node.
    categorical : uint8 array of shape (n_features,), default=None
        Whether the bins of a feature are categories.
    row_weight : float, default=1.0
        What a row has in `weights`, by and large: how many rows support a category.

    Returns
    -------
    nodes, decisions, values, sets : arrays
        See `TreeArrays.finish`.
    """
    cdef Grower grower = Grower(
        bins, lines, n_bins, cells, weights, cell_task, cell_label, n_tasks, settings,
        categorical, row_weight)
    grower.search.min_weight_leaf = min_weight_leaf
    with nogil:
        grower.grow(stream, depth)
    return grower.tree.finish(n_tasks, categorical)


cdef class Grower(Nodes):
    """Rows in the order of the nodes, and the nodes that wait."""

    cdef const u8_t[::1, :] bins
    cdef const u8_t[:, ::1] lines
    # rows: each node owns a stretch, ascending in the row number
    cdef i32_t[::1] row, cell, spare_row, spare_cell, local, next_item
    cdef i64_t[::1] weight, spare_weight
    cdef u8_t[::1] ranked
    cdef intp_t visits
    cdef object stack_
    cdef Item[::1] stack
    cdef intp_t n_stack

    def __init__(self, bins, lines, n_bins, cells, weights, cell_task, cell_label,
                 n_tasks, settings, categorical, row_weight):
        rows = np.flatnonzero(weights)
        n = rows.shape[0]
        most_cells = min(len(cell_task), max(FEW_CELLS, n // DENSE_ROWS))
        super().__init__(n_bins, cell_task, cell_label, n_tasks, settings, categorical,
                         row_weight, most_cells)
        self.bins = bins
        self.lines = lines
        self.row = rows.astype(np.int32)
        self.cell = np.asarray(cells)[rows]
        self.weight = np.asarray(weights)[rows]
        self.spare_row, self.spare_cell, self.local, self.next_item = np.empty(
            (4, n), dtype=np.int32)
        self.spare_weight = np.empty(n, dtype=np.int64)
        self.ranked = np.empty(
            1 if categorical is None else self.bins.shape[0], dtype=np.uint8)
        self.search.cell = &self.local[0]
        self.search.next_item = &self.next_item[0]
        self.search.ranked = &self.ranked[0]
        self.tree = TreeArrays()
        self.stack_ = self.stack = np.empty(64, dtype=ITEM)

    cdef int grow(self, u64_t stream, i32_t depth) except -1 nogil:
        cdef Item item
        cdef Split split
        cdef intp_t i, end, middle
        self._push(0, depth, 0, self.row.shape[0], stream)
        while self.n_stack:
            self.n_stack -= 1
            item = self.stack[self.n_stack]
            for i in range(item.start, item.end):
                _add(self, self.cell[i], self.weight[i], 1)
            end = self._keep_open(
                item, self._arrive(item.node, item.depth, self._weigh_tasks()))
            split.feature = -1
            if end > item.start:
                self._best_split(item, end, &split)
                if split.feature < 0:
                    self._decide_open(item.node)
            self._clean()
            if split.feature >= 0:
                middle = self._partition(item, end, &split)
                # the left child is grown first: its rows are still in the cache
                self._push(self.tree.nodes[item.node].left + 1, item.depth + 1, middle,
                           end, derive_stream(item.stream, 2))
                self._push(self.tree.nodes[item.node].left, item.depth + 1, item.start,
                           middle, derive_stream(item.stream, 1))
            self._check_signals(item.end - item.start)
        return 0

    cdef intp_t _keep_open(self, Item item, i64_t n_open_rows) noexcept nogil:
        """Rows of the open tasks first, with their cells within the node; their end."""
        cdef intp_t i, end = item.start
        cdef i32_t c, local
        if n_open_rows == 0:
            return end
        if n_open_rows == item.end - item.start:
            for i in range(item.start, item.end):
                self.local[i - item.start] = self.local_cell[self.cell[i]]
            return item.end
        for i in range(item.start, item.end):
            c = self.cell[i]
            local = self.local_cell[c]
            self.row[end] = self.row[i]
            self.cell[end] = c
            self.weight[end] = self.weight[i]
            self.local[end - item.start] = local
            end += local >= 0
        return end

    cdef int _best_split(self, Item item, intp_t end, Split* best) except -1 nogil:
        cdef intp_t k, n_tried = 0, n_draws = 0, n = end - item.start
        cdef intp_t n_features = self.features.shape[0]
        cdef u64_t state = item.stream
        cdef bint draw = self.settings.max_features < n_features
        cdef Search* s = &self.search
        s.n_items = n
        s.row = &self.row[item.start]
        s.weight = &self.weight[item.start]
        self._start_search(n, best)
        s.dense = s.dense or n >= DENSE_ROWS * s.n_cells
        for k in range(n_features):
            if draw:
                self._draw(&state, k)
                n_draws += 1
            n_tried += self._try(self.features[k], self._column(n, self.features[k]),
                                 self._stride(n), best)
            self._check_signals(n)
            if n_tried == self.settings.max_features:
                break
        self._put_back(n_draws)
        return 0

    cdef inline intp_t _stride(self, intp_t n_rows) noexcept nogil:
        # Rows that are far apart miss the cache at every read of a column; a line
        # of the row-major copy brings all features at once, for the nodes below too.
        if (n_rows * SPARSE_NODE > self.bins.shape[0]
                or n_rows * self.bins.shape[1] > CACHE_BYTES):
            return 1
        return self.bins.shape[1]

    cdef inline const u8_t* _column(self, intp_t n_rows, i32_t feature) noexcept nogil:
        if self._stride(n_rows) == 1:
            return &self.bins[0, feature]
        return &self.lines[0, feature]

    cdef intp_t _partition(self, Item item, intp_t end, Split* split) except -1 nogil:
        """Rows of the left child first, and the children."""
        cdef intp_t i, at = item.start, n_right = 0
        cdef u8_t b
        cdef bint goes_left
        cdef const u8_t* column = self._column(end - item.start, split.feature)
        cdef intp_t stride = self._stride(end - item.start)
        cdef i64_t w
        cdef i32_t cut = split.bin
        cdef u64_t[4] sides
        if self._has_categories(split.feature):
            # those on the left as bin 0, those on the right as bin 1
            for i in range(item.start, end):
                b = column[self.row[i] * stride]
                if b != MISSING:
                    b = not has_bit(split.on_left, b)
                self.ranked[self.row[i]] = b
            column, stride, cut = &self.ranked[0], 1, 0
        memset(&self.left_cell[0], 0, self.n_local_cells * sizeof(i64_t))
        for i in range(item.start, end):
            b = column[self.row[i] * stride]
            w = self.weight[i]
            goes_left = split.missing_left if b == MISSING else b <= cut
            self.left_cell[self.local[i - item.start]] += w * goes_left
            self.spare_row[n_right] = self.row[i]
            self.spare_cell[n_right] = self.cell[i]
            self.spare_weight[n_right] = w
            self.row[at] = self.row[i]
            self.cell[at] = self.cell[i]
            self.weight[at] = w
            at += goes_left
            n_right += not goes_left
        memcpy(&self.row[at], &self.spare_row[0], n_right * sizeof(i32_t))
        memcpy(&self.cell[at], &self.spare_cell[0], n_right * sizeof(i32_t))
        memcpy(&self.weight[at], &self.spare_weight[0], n_right * sizeof(i64_t))
        self._split_node(item.node, split, sides)
        return at

    cdef int _check_signals(self, intp_t n_visits) except -1 nogil:
        self.visits += n_visits
        if self.visits > VISITS_PER_CHECK:
            self.visits = 0
            with gil:
                PyErr_CheckSignals()
        return 0

    cdef int _push(self, i32_t node, i32_t depth, intp_t start, intp_t end,
                   u64_t stream) except -1 nogil:
        if self.n_stack == self.stack.shape[0]:
            with gil:
                self.stack_ = self.stack = doubled(self.stack_)
        self.stack[self.n_stack] = Item(node, depth, start, end, stream)
        self.n_stack += 1
        return 0
