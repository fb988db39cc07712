# cython: nonecheck=False
# The debug build would ask for the GIL to check that `self` is not None.
"""Multi-task trees of rows in partitions, level by level.

A partition counts the cells of the bins of a feature at a node, and moves its rows from
level to level: the rows of a node are a stretch of ``order[tree]`` and stay ascending.
`SumGrower` is the driver's: it finds the split of a node from the sums of all
partitions, as if they were rows.
"""

import numpy as np

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from kinlearn._kernels._typedefs cimport i32_t, i64_t, intp_t, u8_t, u64_t
from kinlearn._kernels.trees.decision._growth cimport Nodes
from kinlearn._kernels.trees.decision._model cimport TreeArrays
from kinlearn._kernels.trees.decision._split cimport (
    FEW_CELLS, MISSING, N_BINS, Split, fill_xlogx, has_bit
)

fill_xlogx()


def count_cells(
    const u8_t[::1, :] bins,
    const i32_t[::1] cells,
    const i64_t[::1] weights,
    const i32_t[:, ::1] counts,
    const i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    const i64_t[::1] request_start,
    const i32_t[::1] feature,
    intp_t n_cells,
    i64_t[::1] key,
    i64_t[::1] weight,
    i64_t[::1] rows,
):
    """Weight and number of rows of each cell in each bin of the requested features.

    Node i requests ``feature[request_start[i]:request_start[i + 1]]``; the feature -1
    has the one bin 0. A row of tree t weighs ``weights[row] * counts[t, row]``; either
    may be None, for 1. The sums of request r, bin b and cell c get the key
    ``(r * 256 + b) * n_cells + c``; those of a bin come next to each other.

    Returns
    -------
    int
        Number of sums.
    """
    cdef intp_t i, k, n, at = 0
    cdef i64_t r, w
    cdef i32_t b, c, row
    cdef const i32_t* stretch
    cdef bint has_weights = weights is not None, has_counts = counts is not None
    cdef intp_t most = max(np.subtract(end, start).max(initial=0), 1)
    cdef i32_t[::1] next_row = np.empty(most, dtype=np.int32)
    cdef i32_t[::1] touched = np.empty(min(n_cells, most), dtype=np.int32)
    cdef i64_t[::1] cell_weight = np.zeros(n_cells, dtype=np.int64)
    cdef i64_t[::1] cell_rows = np.zeros(n_cells, dtype=np.int64)
    cdef i32_t n_touched, t
    cdef i32_t head[N_BINS]
    with nogil:
        for i in range(start.shape[0]):
            n = end[i] - start[i]
            if n == 0:
                continue
            stretch = &order[tree[i], start[i]]
            for r in range(request_start[i], request_start[i + 1]):
                memset(head, -1, sizeof(head))
                for k in range(n):
                    b = 0 if feature[r] < 0 else bins[stretch[k], feature[r]]
                    next_row[k] = head[b]
                    head[b] = <i32_t>k
                for b in range(N_BINS):
                    n_touched = 0
                    k = head[b]
                    while k >= 0:
                        row = stretch[k]
                        c = cells[row]
                        w = weights[row] if has_weights else 1
                        if has_counts:
                            w = w * counts[tree[i], row]
                        if cell_rows[c] == 0:
                            touched[n_touched] = c
                            n_touched += 1
                        cell_weight[c] += w
                        cell_rows[c] += 1
                        k = next_row[k]
                    for t in range(n_touched):
                        c = touched[t]
                        key[at] = (r * N_BINS + b) * n_cells + c
                        weight[at] = cell_weight[c]
                        rows[at] = cell_rows[c]
                        cell_weight[c] = cell_rows[c] = 0
                        at += 1
    return at


def move_bins(
    const u8_t[::1, :] bins,
    const i32_t[::1] cells,
    const i32_t[::1] cell_task,
    intp_t n_tasks,
    i32_t[:, ::1] order,
    const i32_t[::1] tree,
    const i32_t[::1] start,
    const i32_t[::1] end,
    const i32_t[::1] feature,
    const u64_t[:, ::1] sides,
    const i32_t[:, ::1] child,
    const i64_t[::1] gone_start,
    const i32_t[::1] gone,
    i32_t[:, ::1] opened,
):
    """Carry out the splits of the open nodes.

    Node i sends the bins of ``feature[i]`` whose bits are in ``sides[i]`` to
    ``child[0, i]``, the number of an open node of the next level, and the others to
    ``child[1, i]``; the rows of a child -1 are done with. So are those of the tasks
    ``gone[gone_start[k]:gone_start[k + 1]]`` in the open node k of the next level.
    ``opened[:, k]`` becomes the ends of its stretch.
    """
    cdef intp_t i, j, n_left, n_right
    cdef i64_t e
    cdef i32_t row, side, k
    cdef i32_t* rows
    cdef intp_t most = max(np.subtract(end, start).max(initial=0), 1)
    cdef i32_t* spare = <i32_t*>malloc(most * sizeof(i32_t))
    # which children a task has left, as bits: 1 the left one, 2 the right one
    cdef u8_t* leaves = <u8_t*>malloc(max(n_tasks, 1))
    try:
        if spare == NULL or leaves == NULL:
            raise MemoryError("no memory for the rows of a node")
        memset(leaves, 0, n_tasks)
        with nogil:
            for i in range(start.shape[0]):
                if end[i] == start[i] or (child[0, i] < 0 and child[1, i] < 0):
                    continue
                rows = &order[tree[i], start[i]]
                for side in range(2):
                    k = child[side, i]
                    if k >= 0:
                        for e in range(gone_start[k], gone_start[k + 1]):
                            leaves[gone[e]] |= 1 << side
                n_left = n_right = 0
                for j in range(end[i] - start[i]):
                    row = rows[j]
                    side = not has_bit(&sides[i, 0], bins[row, feature[i]])
                    if child[side, i] < 0 or leaves[cell_task[cells[row]]] >> side & 1:
                        continue
                    if side == 0:
                        rows[n_left] = row
                        n_left += 1
                    else:
                        spare[n_right] = row
                        n_right += 1
                memcpy(rows + n_left, spare, n_right * sizeof(i32_t))
                if child[0, i] >= 0:
                    opened[0, child[0, i]] = start[i]
                    opened[1, child[0, i]] = start[i] + <i32_t>n_left
                if child[1, i] >= 0:
                    opened[0, child[1, i]] = start[i] + <i32_t>n_left
                    opened[1, child[1, i]] = start[i] + <i32_t>(n_left + n_right)
                for side in range(2):
                    k = child[side, i]
                    if k >= 0:
                        for e in range(gone_start[k], gone_start[k + 1]):
                            leaves[gone[e]] = 0
    finally:
        free(spare)
        free(leaves)


cdef class SumGrower(Nodes):
    """Nodes of trees by sums over the rows: decides tasks there, and splits them.

    Parameters
    ----------
    n_bins, cell_task, cell_label, n_tasks, settings, categorical, row_weight
        As in `grow_tree`.
    """

    # sums of a feature: numbers, cells within the node, bins, weights, rows
    cdef i32_t[::1] number, local, next_item
    cdef u8_t[::1] bins, ranked
    cdef i64_t[::1] item_weight, item_rows
    cdef i64_t[::1] left_rows  # by cell within the node

    def __init__(self, n_bins, cell_task, cell_label, n_tasks, settings,
                 categorical=None, row_weight=1.0):
        super().__init__(n_bins, cell_task, cell_label, n_tasks, settings, categorical,
                         row_weight, min(len(cell_task), FEW_CELLS))
        self.left_rows = np.zeros(len(cell_task), dtype=np.int64)
        self._reserve(1)

    def arrive(self, TreeArrays tree, i32_t node, i32_t depth,
               const i64_t[::1] cells, const i64_t[::1] weight,
               const i64_t[::1] rows):
        """Decide tasks at a node that has these cells; which of them go on."""
        cdef intp_t k
        open_cells = np.zeros(cells.shape[0], dtype=bool)
        cdef u8_t[::1] is_open = open_cells.view(np.uint8)
        self.tree = tree
        with nogil:
            if self._arrive(node, depth, self._load(cells, weight, rows)):
                for k in range(cells.shape[0]):
                    is_open[k] = self.local_cell[cells[k]] >= 0
            self._clean()
        return open_cells

    def order(self, u64_t stream):
        """Features in the order in which the node of a stream looks at them."""
        cdef intp_t k, n = self.features.shape[0]
        if self.settings.max_features >= n:
            return np.array(self.features)
        for k in range(n):
            self._draw(&stream, k)
        drawn = np.array(self.features)
        self._put_back(n)
        return drawn

    def split(self, TreeArrays tree, i32_t node,
              const i64_t[::1] cells, const i64_t[::1] weight, const i64_t[::1] rows,
              const i32_t[::1] features, const i64_t[::1] start,
              const i64_t[::1] key, const i64_t[::1] key_weight,
              const i64_t[::1] key_rows, i64_t min_weight_leaf):
        """Split a node, or decide its tasks if there is no cut.

        Parameters
        ----------
        tree : TreeArrays
            Where the node is.
        node : int
            Its number there.
        cells, weight, rows : int64 arrays of shape (n_cells,)
            Cells of its open tasks.
        features : int32 array of shape (n_features,)
            Features in the order in which they are tried.
        start : int64 array of shape (n_features + 1,)
            Where the sums of each of them begin.
        key, key_weight, key_rows : int64 arrays of shape (n_sums,)
            Sums, and what of: the number of the cell in the whole data plus the bin
            times the number of all cells; bins are modulo 256, and ascending.
        min_weight_leaf : int
            Least weight of a leaf.

        Returns
        -------
        None or tuple
            None if too many of the features are constant, and there are others. Or the
            left child, -1 if there is none; the feature; the bits of the bins that go
            there; and weight and rows of the cells there.
        """
        cdef intp_t k, n_tried = 0, n = features.shape[0]
        cdef i32_t left = -1, c
        cdef bint enough
        cdef Split best
        left_bins = np.zeros(4, dtype=np.uint64)
        left_weight, left_rows = np.zeros((2, cells.shape[0]), dtype=np.int64)
        cdef u64_t[::1] sides = left_bins
        cdef i64_t[::1] weight_out = left_weight, rows_out = left_rows
        if np.diff(start).max() > self.bins.shape[0]:
            self._reserve(np.diff(start).max())
        self.tree = tree
        self.search.min_weight_leaf = min_weight_leaf
        with nogil:
            self._load(cells, weight, rows)
            self.n_open = self.n_local_cells = 0
            for k in range(self.n_touched):
                self._number(self.touched_task[k])
            self._start_search(self.n_rows, &best)
            for k in range(n):
                self._take(start[k], start[k + 1], key, key_weight, key_rows)
                if self.search.n_items:
                    n_tried += self._try(features[k], &self.bins[0], 1, &best)
                if n_tried == self.settings.max_features:
                    break
            enough = (n_tried == self.settings.max_features
                      or n == self.features.shape[0])
            if best.feature >= 0 and enough:
                for k in range(n):
                    if features[k] == best.feature:
                        self._take(start[k], start[k + 1], key, key_weight, key_rows)
                self._count_left(&best)
                left = self._split_node(node, &best, &sides[0])
                for k in range(cells.shape[0]):
                    c = self.local_cell[cells[k]]
                    weight_out[k] = self.left_cell[c]
                    rows_out[k] = self.left_rows[c]
            elif enough:
                self._decide_open(node)
            self._clean()
        if not enough:
            return None
        return left, best.feature, left_bins, left_weight, left_rows

    cdef int _reserve(self, intp_t n) except -1:
        """Scratch for the sums of a feature."""
        self.number = np.arange(n, dtype=np.int32)
        self.local, self.next_item = np.empty((2, n), dtype=np.int32)
        self.bins, self.ranked = np.empty((2, n), dtype=np.uint8)
        self.item_weight, self.item_rows = np.empty((2, n), dtype=np.int64)
        self.search.row = &self.number[0]
        self.search.cell = &self.local[0]
        self.search.next_item = &self.next_item[0]
        self.search.ranked = &self.ranked[0]
        self.search.weight = &self.item_weight[0]
        self.search.multiplicity = &self.item_rows[0]
        return 0

    cdef void _take(self, intp_t first, intp_t last, const i64_t[::1] key,
                    const i64_t[::1] weight, const i64_t[::1] rows) noexcept nogil:
        """Sums of a feature as the items of the search, without decided tasks."""
        cdef intp_t k, n = 0, n_cells = self.cell_task.shape[0]
        cdef i32_t local
        for k in range(first, last):
            local = self.local_cell[key[k] % n_cells]
            if local >= 0:
                self.local[n] = local
                self.bins[n] = <u8_t>(key[k] // n_cells % N_BINS)
                self.item_weight[n] = weight[k]
                self.item_rows[n] = rows[k]
                n += 1
        self.search.n_items = n

    cdef void _count_left(self, const Split* split) noexcept nogil:
        """Weight and rows of the cells on the left of a split."""
        cdef intp_t k
        cdef u8_t b
        cdef bint goes_left
        for k in range(self.n_local_cells):
            self.left_cell[k] = self.left_rows[k] = 0
        for k in range(self.search.n_items):
            b = self.bins[k]
            if b == MISSING:
                goes_left = split.missing_left
            elif self._has_categories(split.feature):
                goes_left = has_bit(split.on_left, b)
            else:
                goes_left = b <= split.bin
            if goes_left:
                self.left_cell[self.local[k]] += self.item_weight[k]
                self.left_rows[self.local[k]] += self.item_rows[k]
