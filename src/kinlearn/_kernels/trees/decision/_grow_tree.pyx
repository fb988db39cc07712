# cython: nonecheck=False
# The debug build would ask for the GIL to check that `self` is not None.
"""Growth of a multi-task decision tree on binned features.

At a node, a task whose rows are (nearly) of one label is *decided*: it gets its
answer there and its rows leave. The other rows are split. A task that had rows
in the parent and has none in a child is decided in the child by its rows in the
parent. So on each way from the root to a leaf every task is decided once.

The cost of a node depends on its rows alone: tasks and cells, the pairs of a
task and a label, are counted in arrays that are touched where rows are and
cleaned afterwards.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy

from kinlearn._kernels._random cimport derive_stream, next_below
from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
from kinlearn._kernels.trees.decision._model cimport TreeArrays, doubled
from kinlearn._kernels.trees.decision._split cimport (
    COUNTED, DENSE_ROWS, FEW_CELLS, JOINT, MISSING, N_BINS, OTHER_LABEL, OTHER_TASK,
    Search, Split, has_bit, start_search, try_categories, try_feature, xlogx
)

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


def grow_tree(const u8_t[::1, :] bins, const u8_t[:, ::1] bin_rows,
              const i32_t[::1] n_bins,
              const i32_t[::1] cells, const i64_t[::1] weights,
              const i32_t[::1] cell_task, const i32_t[::1] cell_label,
              intp_t n_tasks, i32_t criterion, f64_t purity, intp_t max_depth,
              intp_t min_samples_split, intp_t min_samples_leaf,
              i64_t min_weight_leaf, intp_t max_features, u64_t seed, stream=None,
              const u8_t[::1] categorical=None, f64_t row_weight=1.0):
    """Grow one tree.

    Parameters
    ----------
    bins : uint8 array of shape (n, n_features), column-major
        255 is a missing value.
    bin_rows : uint8 array of shape (n, n_features), row-major
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
    criterion : int
        0 joint, 1 sum, 2 max.
    purity : float
        Share of one label at which a task is decided.
    max_depth, min_samples_split, min_samples_leaf, min_weight_leaf : int
        Limits of the growth.
    max_features : int
        Features to look at in a node, those that are constant there not counted.
    seed : int
        Seed of the tree; each node draws its features from a stream of its own.
    stream : int, default=None
        Stream of the first node, if that is no root: then `seed` has no say.
    categorical : uint8 array of shape (n_features,), default=None
        Whether the bins of a feature are categories.
    row_weight : float, default=1.0
        What a row has in `weights`, by and large: how many rows support a category.

    Returns
    -------
    nodes : structured array
        ``left`` child (-1 at a leaf; the right child is the next number),
        ``feature``, ``bin``, ``missing_left``, rows, weight, impurity, gain,
        and ``decrease``: weight times the information gained within tasks.
    decisions : structured array, in the order of node and task
        ``node``, ``task``, ``n_rows`` of the task there (0: decided by the
        parent's rows), ``first_value``.
    values : structured array
        ``label`` and ``weight``; those of a decision are ascending in label.
    sets : uint64 array of shape (n_sets, 4)
        By split of categories, whose number is the node's ``bin``: the bins that go
        left.
    """
    cdef Grower grower = Grower(
        bins, bin_rows, n_bins, cells, weights, cell_task, cell_label, n_tasks,
        criterion, purity, max_depth, min_samples_split, min_samples_leaf,
        min_weight_leaf, max_features,
        derive_stream(seed, 0) if stream is None else <u64_t>stream, categorical,
        row_weight)
    with nogil:
        grower.grow()
    return grower.tree.finish(n_tasks)


cdef class Grower:
    """Rows in the order of the nodes, scratch, and the tree as it grows."""

    cdef const u8_t[::1, :] bins
    cdef const u8_t[:, ::1] lines
    cdef const i32_t[::1] n_bins, cell_task, cell_label
    cdef intp_t n_tasks, max_depth, min_samples_split, max_features
    cdef f64_t purity
    cdef u64_t stream
    # rows: each node owns a stretch, ascending in the row number
    cdef i32_t[::1] row, cell, spare_row, spare_cell
    cdef i64_t[::1] weight, spare_weight
    cdef intp_t n_rows, n_touched
    # by cell and by task of the whole data, zero between nodes
    cdef i64_t[::1] cell_weight, task_weight, task_top
    cdef i32_t[::1] task_rows, task_cells, task_head, cell_next
    cdef i32_t[::1] touched_task, local_cell
    # by cell and by task as numbered within the node
    cdef i32_t n_local_cells, n_open
    cdef i32_t[::1] node_cell, cell_open, open_task, open_start, zeros
    cdef i64_t[::1] cell_total, open_total, joint_total
    # the search
    cdef Search search
    cdef i64_t[::1] histogram, left_cell, left_group
    cdef i32_t[::1] bin_rows, head, next_row, touched_group, is_touched, features
    cdef i32_t[::1] drawn, local
    # categories
    cdef const u8_t[::1] categorical
    cdef u8_t[::1] role, ranked
    cdef i64_t[::1] label_weight
    cdef u64_t[::1] occupied
    cdef f64_t[::1] reduction
    cdef intp_t visits
    # the tree, and the nodes that wait
    cdef TreeArrays tree
    cdef object stack_
    cdef Item[::1] stack
    cdef intp_t n_stack

    def __init__(self, bins, lines, n_bins, cells, weights, cell_task, cell_label,
                 n_tasks, criterion, purity, max_depth, min_samples_split,
                 min_samples_leaf, min_weight_leaf, max_features, stream,
                 categorical, row_weight):
        self.bins = bins
        self.lines = lines
        self.n_bins = n_bins
        self.cell_task = cell_task
        self.cell_label = cell_label
        self.n_tasks = n_tasks
        self.purity = purity
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.stream = stream

        n_features = self.bins.shape[1]
        n_cells = self.cell_task.shape[0]
        rows = np.flatnonzero(weights)
        n = self.n_rows = rows.shape[0]
        self.row = rows.astype(np.int32)
        self.cell = np.asarray(cells)[rows]
        self.weight = np.asarray(weights)[rows]
        self.spare_row, self.spare_cell, self.local, self.next_row = np.empty(
            (4, n), dtype=np.int32)
        self.spare_weight = np.empty(n, dtype=np.int64)

        self.cell_weight = np.zeros(n_cells, dtype=np.int64)
        self.task_weight, self.task_top = np.zeros((2, n_tasks), dtype=np.int64)
        self.task_rows, self.task_cells = np.zeros((2, n_tasks), dtype=np.int32)
        self.task_head, self.touched_task, self.open_task = np.empty(
            (3, n_tasks), dtype=np.int32)
        self.cell_next, self.local_cell, self.node_cell, self.cell_open = np.empty(
            (4, n_cells), dtype=np.int32)
        self.open_start = np.empty(n_tasks + 1, dtype=np.int32)
        self.zeros = np.zeros(n_cells, dtype=np.int32)
        self.cell_total, self.left_cell = np.empty((2, n_cells), dtype=np.int64)
        self.open_total, self.left_group = np.empty((2, n_tasks), dtype=np.int64)
        self.joint_total = np.empty(1, dtype=np.int64)

        most_cells = min(n_cells, max(FEW_CELLS, n // DENSE_ROWS))
        self.histogram = np.zeros(N_BINS * most_cells, dtype=np.int64)
        self.bin_rows, self.head = np.zeros((2, N_BINS), dtype=np.int32)
        self.occupied = np.zeros(N_BINS // 64, dtype=np.uint64)
        self.touched_group, self.is_touched = np.zeros((2, n_tasks), dtype=np.int32)
        self.reduction = np.zeros(n_tasks, dtype=np.float64)
        self.features = np.arange(n_features, dtype=np.int32)
        self.drawn = np.empty(n_features, dtype=np.int32)
        self.categorical = categorical
        self.role = np.empty(n_cells, dtype=np.uint8)
        self.ranked = np.empty(
            1 if categorical is None else self.bins.shape[0], dtype=np.uint8)
        self.label_weight = np.zeros(np.max(cell_label) + 1, dtype=np.int64)
        self.search.criterion = criterion
        self.search.min_samples_leaf = min_samples_leaf
        self.search.min_weight_leaf = min_weight_leaf
        self.search.row_weight = row_weight
        self._point_search()

        self.tree = TreeArrays()
        self.stack_ = self.stack = np.empty(64, dtype=ITEM)

    cdef void _point_search(self):
        self.search.cell = &self.local[0]
        self.search.cell_total = &self.cell_total[0]
        self.search.histogram = &self.histogram[0]
        self.search.bin_rows = &self.bin_rows[0]
        self.search.occupied = &self.occupied[0]
        self.search.head = &self.head[0]
        self.search.next_row = &self.next_row[0]
        self.search.left_cell = &self.left_cell[0]
        self.search.left_group = &self.left_group[0]
        self.search.reduction = &self.reduction[0]
        self.search.touched = &self.touched_group[0]
        self.search.is_touched = &self.is_touched[0]
        self.search.n_touched = 0
        self.search.role = &self.role[0]
        self.search.ranked = &self.ranked[0]
        if self.search.criterion == JOINT:
            self.search.cell_group = &self.zeros[0]
            self.search.group_total = &self.joint_total[0]
        else:
            self.search.cell_group = &self.cell_open[0]
            self.search.group_total = &self.open_total[0]

    cdef int grow(self) except -1 nogil:
        cdef Item item
        cdef Split split
        cdef intp_t end, middle
        self.tree.new_node()
        self._push(0, 0, 0, self.n_rows, self.stream)
        while self.n_stack:
            self.n_stack -= 1
            item = self.stack[self.n_stack]
            self._count(item.node, item.start, item.end)
            end = self._decide(item)
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

    cdef void _count(self, i32_t node, intp_t start, intp_t end) noexcept nogil:
        """Weights of the cells and tasks that have rows at the node."""
        cdef intp_t i, k
        cdef i32_t c, t
        cdef i64_t w, total = 0
        cdef f64_t impurity = 0.0
        self.n_touched = 0
        for i in range(start, end):
            c = self.cell[i]
            t = self.cell_task[c]
            w = self.weight[i]
            if self.task_rows[t] == 0:
                self.touched_task[self.n_touched] = t
                self.n_touched += 1
                self.task_head[t] = -1
            if self.cell_weight[c] == 0:
                self.cell_next[c] = self.task_head[t]
                self.task_head[t] = c
                self.task_cells[t] += 1
            self.cell_weight[c] += w
            self.task_rows[t] += 1
        for k in range(self.n_touched):
            t = self.touched_task[k]
            c = self.task_head[t]
            while c >= 0:
                w = self.cell_weight[c]
                self.task_weight[t] += w
                self.task_top[t] = max(self.task_top[t], w)
                impurity -= xlogx(w)
                c = self.cell_next[c]
            impurity += xlogx(self.task_weight[t])
            total += self.task_weight[t]
        self.tree.nodes[node].n_rows = end - start
        self.tree.nodes[node].weight = total
        self.tree.nodes[node].impurity = max(impurity / <f64_t>total, 0.0)

    cdef void _clean(self) noexcept nogil:
        cdef intp_t k
        cdef i32_t c, t
        for k in range(self.n_touched):
            t = self.touched_task[k]
            c = self.task_head[t]
            while c >= 0:
                self.cell_weight[c] = 0
                c = self.cell_next[c]
            self.task_weight[t] = 0
            self.task_top[t] = 0
            self.task_rows[t] = 0
            self.task_cells[t] = 0

    cdef intp_t _decide(self, Item item) except -1 nogil:
        """Decide the pure tasks; number the cells of the others; their last row."""
        cdef intp_t i, k, end = item.start, n_open_rows = 0
        cdef i32_t c, t, local
        cdef bint pure
        self.n_open = 0
        self.n_local_cells = 0
        for k in range(self.n_touched):
            t = self.touched_task[k]
            pure = self.task_cells[t] == 1 or (
                self.task_top[t] >= self.purity * self.task_weight[t])
            if pure:
                self._decide_task(item.node, t)
            else:
                n_open_rows += self.task_rows[t]
            self._number(t, pure)
        self.open_start[self.n_open] = self.n_local_cells
        if self.n_open == 0:
            return end
        if item.depth >= self.max_depth or n_open_rows < self.min_samples_split:
            self._decide_open(item.node)
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

    cdef inline void _number(self, i32_t t, bint decided) noexcept nogil:
        """Number the cells of a task within the node; -1 if it is decided."""
        cdef i32_t c = self.task_head[t], local
        if not decided:
            self.open_task[self.n_open] = t
            self.open_total[self.n_open] = self.task_weight[t]
            self.open_start[self.n_open] = self.n_local_cells
        while c >= 0:
            local = -1
            if not decided:
                local = self.n_local_cells
                self.node_cell[local] = c
                self.cell_open[local] = self.n_open
                self.cell_total[local] = self.cell_weight[c]
                self.n_local_cells += 1
            self.local_cell[c] = local
            c = self.cell_next[c]
        self.n_open += not decided

    cdef int _best_split(self, Item item, intp_t end, Split* best) except -1 nogil:
        cdef intp_t k, j, n_tried = 0, n_draws = 0, n_features = self.features.shape[0]
        cdef i32_t feature
        cdef u64_t state = item.stream
        cdef bint draw = self.max_features < n_features
        cdef Search* s = &self.search
        s.n_rows = end - item.start
        s.row = &self.row[item.start]
        s.weight = &self.weight[item.start]
        s.n_cells = self.n_local_cells
        s.n_groups = 1 if s.criterion == JOINT else self.n_open
        self.joint_total[0] = 0
        for k in range(self.n_open):
            self.joint_total[0] += self.open_total[k]
        s.total = self.joint_total[0]
        s.inv_total = 1.0 / <f64_t>s.total
        start_search(s)
        if self.categorical is not None:
            self._give_roles()
        best.gain = best.second = -1.0
        for k in range(n_features):
            if draw:
                j = k + <intp_t>next_below(&state, <u64_t>(n_features - k))
                self.drawn[k] = <i32_t>j
                self.features[k], self.features[j] = self.features[j], self.features[k]
                n_draws += 1
            feature = self.features[k]
            if self._has_categories(feature):
                n_tried += try_categories(s, self._column(s.n_rows, feature),
                                          self._stride(s.n_rows), feature,
                                          self.n_bins[feature], best)
            else:
                n_tried += try_feature(s, self._column(s.n_rows, feature),
                                       self._stride(s.n_rows), feature,
                                       self.n_bins[feature], best)
            self._check_signals(s.n_rows)
            if n_tried == self.max_features:
                break
        # Back to the natural order: the draws of a node then depend on its own
        # stream alone, not on the nodes that were grown before it.
        for k in range(n_draws - 1, -1, -1):
            j = self.drawn[k]
            self.features[k], self.features[j] = self.features[j], self.features[k]
        return 0

    cdef inline bint _has_categories(self, i32_t feature) noexcept nogil:
        return self.categorical is not None and self.categorical[feature]

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

    cdef void _mark_sides(self, intp_t start, intp_t end, const u8_t* column,
                          intp_t stride, const Split* split) noexcept nogil:
        """Categories on the left as bin 0, those on the right as bin 1."""
        cdef intp_t i
        cdef u8_t b
        for i in range(start, end):
            b = column[self.row[i] * stride]
            if b != MISSING:
                b = not has_bit(split.on_left, b)
            self.ranked[self.row[i]] = b

    cdef i32_t _new_set(self, const Split* split) except -1 nogil:
        """Categories that are not at the node go the way of missing values."""
        cdef u64_t[4] words
        cdef i32_t k
        for k in range(4):
            words[k] = split.on_left[k]
            if split.missing_left:
                words[k] |= ~split.present[k]
        return <i32_t>self.tree.new_set(words)

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
        """Rows of the left child first; the children, and the tasks they lack."""
        cdef intp_t i, at = item.start, n_right = 0
        cdef i32_t node = item.node, left, c
        cdef u8_t b
        cdef bint goes_left
        cdef const u8_t* column = self._column(end - item.start, split.feature)
        cdef intp_t stride = self._stride(end - item.start)
        cdef i64_t w, left_weight = 0
        cdef i32_t cut = split.bin
        cdef bint categories = self._has_categories(split.feature)
        if categories:
            self._mark_sides(item.start, end, column, stride, split)
            column, stride, cut = &self.ranked[0], 1, 0
        for c in range(self.n_local_cells):
            self.left_cell[c] = 0
        if not split.has_missing:
            # where a value that is missing later should go: to the heavier side
            for i in range(item.start, end):
                b = column[self.row[i] * stride]
                left_weight += (b <= cut) * self.weight[i]
            split.missing_left = 2 * left_weight > self.joint_total[0]
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

        left = <i32_t>self.tree.new_node()
        self.tree.new_node()
        self.tree.nodes[node].left = left
        self.tree.nodes[node].feature = split.feature
        self.tree.nodes[node].bin = split.bin
        if categories:
            self.tree.nodes[node].bin = self._new_set(split)
            split.gain += split.handicap
        self.tree.nodes[node].missing_left = split.missing_left
        self.tree.nodes[node].gain = split.gain
        self.tree.nodes[node].decrease = self._decrease_and_absent(left)
        return at

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
                decrease += xlogx(below) + xlogx(r) - xlogx(below + r)
            r = self.open_total[k] - task_left
            decrease -= xlogx(task_left) + xlogx(r) - xlogx(task_left + r)
            if task_left == 0 or r == 0:
                self.tree.new_decision(left + (r == 0), self.open_task[k], 0)
                for c in range(self.open_start[k], self.open_start[k + 1]):
                    self.tree.new_value(self.cell_label[self.node_cell[c]],
                                        self.cell_total[c])
        return max(decrease, 0.0)

    cdef int _check_signals(self, intp_t n_visits) except -1 nogil:
        self.visits += n_visits
        if self.visits > VISITS_PER_CHECK:
            self.visits = 0
            with gil:
                PyErr_CheckSignals()
        return 0

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

    cdef int _push(self, i32_t node, i32_t depth, intp_t start, intp_t end,
                   u64_t stream) except -1 nogil:
        if self.n_stack == self.stack.shape[0]:
            with gil:
                self.stack_ = self.stack = doubled(self.stack_)
        self.stack[self.n_stack].node = node
        self.stack[self.n_stack].depth = depth
        self.stack[self.n_stack].start = start
        self.stack[self.n_stack].end = end
        self.stack[self.n_stack].stream = stream
        self.n_stack += 1
        return 0
