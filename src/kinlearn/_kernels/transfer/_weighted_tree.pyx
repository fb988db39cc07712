# cython: nonecheck=False
# The debug build would ask for the GIL to check that `self` is not None.
"""Weighted classification trees (Gini) on binned features: growth, and votes.

Growth goes depth by depth, so that it can end at the first depth at which the
target's rows are predicted well enough. Weights are whole numbers: sums are exact, so
the order of the rows decides nothing, and what a histogram lacks can be found by
subtraction. Rows that lie in a feature's common bin need not be stored at all
("sparse" rows); their weight is what the other bins leave of the node's.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy

from kinlearn._kernels._typedefs cimport f64_t, float_t, i32_t, i64_t, intp_t, u8_t


# Work, in cells added, between two looks for Ctrl-C: some tenths of a second.
cdef enum:
    VISITS_PER_CHECK = 1 << 26

cdef packed struct Node:
    i32_t left  # -1 at a leaf; the right child is the next number
    i32_t feature
    i32_t bin
    i32_t missing_left
    i32_t label
    i32_t start
    i32_t end

NODE = np.dtype([
    ("left", np.int32), ("feature", np.int32), ("bin", np.int32),
    ("missing_left", np.int32), ("label", np.int32), ("start", np.int32),
    ("end", np.int32),
])

cdef struct Split:
    i32_t feature
    i32_t bin
    bint missing_left
    f64_t score


def grow_tree(const u8_t[:, ::1] row_bins, const i64_t[::1] indptr,
              const i32_t[::1] columns, const u8_t[::1] cell_bins,
              const u8_t[::1] common, const i32_t[::1] n_bins,
              const i32_t[::1] rows, const i32_t[::1] labels,
              const i64_t[::1] weights, const u8_t[::1] is_target,
              i32_t n_classes, intp_t max_depth, f64_t trim, i32_t[::1] predictions):
    """Grow one tree.

    Parameters
    ----------
    row_bins : uint8 array of shape (n, n_features), or of no rows
        Bins, where all are stored; the bin ``n_bins[f]`` is a missing value.
    indptr, columns, cell_bins : arrays, or of length 1 and 0
        Otherwise the bins that are not the common one of their feature, row by
        row, ascending in the column.
    common : uint8 array of shape (n_features,)
        The bin that is not stored.
    n_bins : int32 array of shape (n_features,)
        Bins of each feature, the missing one not counted.
    rows : int32 array of shape (m,)
        Rows to grow on.
    labels, weights, is_target, predictions : arrays of shape (m,)
        Of these rows: class, weight (1 at least), whether it is one of the
        target, and the class that the tree predictions (filled).
    n_classes : int
        Number of classes.
    max_depth : int
        Largest depth.
    trim : float
        End at the first depth, from 1 on, at which less than this fraction of the
        target's weight is wrong; 0 is never.

    Returns
    -------
    structured array
        The nodes; the children of a node follow it.
    """
    cdef Grower grower = Grower(
        row_bins, indptr, columns, cell_bins, common, n_bins, rows, labels, weights,
        is_target, n_classes)
    with nogil:
        grower.grow(max_depth, trim)
        grower.predict(predictions)
    # not of the memoryview: a Ctrl-C in its conversion would become a ValueError
    return grower.nodes_[:grower.n_nodes].copy()


cdef class Grower:
    """Rows in the order of the nodes, histograms, and the tree as it grows."""

    cdef const u8_t[:, ::1] row_bins
    cdef const i64_t[::1] indptr
    cdef const i32_t[::1] columns, n_bins, rows
    cdef const u8_t[::1] cell_bins, common
    cdef bint sparse
    cdef intp_t n_rows, n_features, n_classes, visits
    # each node owns a stretch of these, ascending in `place`, the row's number
    # among the rows to grow on
    cdef i32_t[::1] place, spare_place, label
    cdef i64_t[::1] weight
    cdef const u8_t[::1] target
    # weight by feature, bin and class: zero between nodes
    cdef i64_t[::1] histogram
    cdef intp_t[::1] first_cell
    cdef i32_t[::1] touched
    cdef u8_t[::1] is_touched
    cdef intp_t n_touched
    # of the node that is being split, by class
    cdef i64_t[::1] total, left, missing
    cdef object nodes_
    cdef Node[::1] nodes
    cdef intp_t n_nodes
    cdef i64_t wrong, all_target

    def __init__(self, row_bins, indptr, columns, cell_bins, common, n_bins, rows,
                 labels, weights, is_target, n_classes):
        self.row_bins = row_bins
        self.indptr = indptr
        self.columns = columns
        self.cell_bins = cell_bins
        self.common = common
        self.n_bins = n_bins
        self.rows = rows
        self.sparse = self.row_bins.shape[0] == 0
        self.n_rows = n = rows.shape[0]
        self.n_features = self.n_bins.shape[0]
        self.n_classes = n_classes
        self.place = np.arange(n, dtype=np.int32)
        self.spare_place = np.empty(n, dtype=np.int32)
        self.label = np.array(labels)
        self.weight = np.array(weights)
        self.target = is_target
        first = np.concatenate([[0], np.cumsum(np.asarray(n_bins) + 1)])
        self.first_cell = (first * n_classes).astype(np.intp)
        self.histogram = np.zeros(self.first_cell[self.n_features], dtype=np.int64)
        self.touched = np.arange(self.n_features, dtype=np.int32)
        self.is_touched = np.zeros(self.n_features, dtype=np.uint8)
        self.total, self.left, self.missing = np.empty((3, n_classes), dtype=np.int64)
        self.nodes_ = self.nodes = np.empty(64, dtype=NODE)

    # ------------------------------------------------------------- the growth

    cdef int grow(self, intp_t max_depth, f64_t trim) except -1 nogil:
        cdef intp_t first = 0, last = 1, v, depth = 0, i
        for i in range(self.n_rows):
            if self.target[i]:
                self.all_target += self.weight[i]
        self._new_node(0, self.n_rows)
        while first < last and depth < max_depth:
            if depth > 0 and self.wrong < trim * <f64_t>self.all_target:
                break
            for v in range(first, last):
                self._split(v)
            first = last
            last = self.n_nodes
            depth += 1
        return 0

    cdef int _new_node(self, intp_t start, intp_t end) except -1 nogil:
        """A leaf for a stretch of rows, and what it gets wrong of the target."""
        cdef intp_t i, k, best = 0
        cdef i32_t place
        if self.n_nodes == self.nodes.shape[0]:
            with gil:
                bigger = np.empty(2 * self.n_nodes, dtype=NODE)
                bigger[:self.n_nodes] = self.nodes_
                self.nodes_ = self.nodes = bigger
        self._count(start, end)
        for k in range(1, self.n_classes):
            if self.total[k] > self.total[best]:
                best = k
        for i in range(start, end):
            place = self.place[i]
            if self.target[place] and self.label[place] != best:
                self.wrong += self.weight[place]
        self.nodes[self.n_nodes].left = -1
        self.nodes[self.n_nodes].feature = 0
        self.nodes[self.n_nodes].bin = 0
        self.nodes[self.n_nodes].missing_left = 0
        self.nodes[self.n_nodes].label = <i32_t>best
        self.nodes[self.n_nodes].start = <i32_t>start
        self.nodes[self.n_nodes].end = <i32_t>end
        self.n_nodes += 1
        return 0

    cdef void _count(self, intp_t start, intp_t end) noexcept nogil:
        cdef intp_t i, k
        cdef i32_t place
        for k in range(self.n_classes):
            self.total[k] = 0
        for i in range(start, end):
            place = self.place[i]
            self.total[self.label[place]] += self.weight[place]

    cdef int _split(self, intp_t v) except -1 nogil:
        cdef intp_t start = self.nodes[v].start, end = self.nodes[v].end, middle, i, k
        cdef intp_t n_present = 0
        cdef i32_t place
        cdef Split best
        self._count(start, end)
        for k in range(self.n_classes):
            n_present += self.total[k] > 0
        if n_present < 2:
            return 0
        best.feature = -1
        best.score = -1.0
        if self.sparse:
            self._add_sparse(start, end)
        else:
            self._add_dense(start, end)
        self._best_split(&best)
        if best.feature < 0:
            return 0
        for i in range(start, end):  # the leaf's errors go with it
            place = self.place[i]
            if self.target[place] and self.label[place] != self.nodes[v].label:
                self.wrong -= self.weight[place]
        middle = self._partition(start, end, &best)  # and where missing ones go
        self.nodes[v].feature = best.feature
        self.nodes[v].bin = best.bin
        self.nodes[v].missing_left = best.missing_left
        self.nodes[v].left = <i32_t>self.n_nodes
        self._new_node(start, middle)
        self._new_node(middle, end)
        if self.visits > VISITS_PER_CHECK:
            self.visits = 0
            with gil:
                PyErr_CheckSignals()
        return 0

    # --------------------------------------------------------- the histograms

    cdef void _add_dense(self, intp_t start, intp_t end) noexcept nogil:
        cdef intp_t i, f, K = self.n_classes, d = self.n_features
        cdef i32_t place
        cdef i64_t w
        cdef const u8_t* line
        cdef i64_t* cells
        cdef const intp_t* first = &self.first_cell[0]
        for i in range(start, end):
            place = self.place[i]
            w = self.weight[place]
            line = &self.row_bins[self.rows[place], 0]
            cells = &self.histogram[0] + self.label[place]
            for f in range(d):
                cells[first[f] + line[f] * K] += w
        self.n_touched = d
        self.visits += (end - start) * d

    cdef void _add_sparse(self, intp_t start, intp_t end) noexcept nogil:
        """Fill the stored bins, then the common one with what is left."""
        cdef intp_t i, j, k, b, K = self.n_classes
        cdef i32_t place, f
        cdef i64_t w, rest, row
        cdef i64_t* cells
        self.n_touched = 0
        for i in range(start, end):
            place = self.place[i]
            w = self.weight[place]
            row = self.rows[place]
            cells = &self.histogram[0] + self.label[place]
            for j in range(self.indptr[row], self.indptr[row + 1]):
                f = self.columns[j]
                if not self.is_touched[f]:
                    self.is_touched[f] = True
                    self.touched[self.n_touched] = f
                    self.n_touched += 1
                cells[self.first_cell[f] + self.cell_bins[j] * K] += w
            self.visits += self.indptr[row + 1] - self.indptr[row]
        cells = &self.histogram[0]
        for i in range(self.n_touched):
            f = self.touched[i]
            self.is_touched[f] = False
            for k in range(K):
                rest = self.total[k]
                for b in range(self.n_bins[f] + 1):
                    rest -= cells[self.first_cell[f] + b * K + k]
                cells[self.first_cell[f] + self.common[f] * K + k] = rest

    # ------------------------------------------------------------- the search

    cdef void _best_split(self, Split* best) noexcept nogil:
        """The best cut of all features; among equals the first feature's."""
        cdef intp_t i, k, b, K = self.n_classes
        cdef i32_t f
        cdef bint any_missing
        cdef i64_t* cells
        for i in range(self.n_touched):
            f = self.touched[i]
            cells = &self.histogram[self.first_cell[f]]
            any_missing = False
            for k in range(K):
                self.missing[k] = cells[self.n_bins[f] * K + k]
                any_missing = any_missing or self.missing[k] > 0
            self._try_cuts(f, cells, False, best)
            if any_missing:
                self._try_cuts(f, cells, True, best)
            for b in range((self.n_bins[f] + 1) * K):
                cells[b] = 0

    cdef void _try_cuts(self, i32_t f, const i64_t* cells, bint missing_left,
                        Split* best) noexcept nogil:
        cdef intp_t b, k, K = self.n_classes, last = -1, n = self.n_bins[f]
        cdef i64_t here
        cdef bint lost = False
        for k in range(K):
            self.left[k] = self.missing[k] if missing_left else 0
            lost = lost or self.missing[k] > 0
        for b in range(n):
            here = 0
            for k in range(K):
                here += cells[b * K + k]
            if here == 0:
                continue
            if last >= 0:
                # in the middle of the bins that are empty here
                self._try_cut(f, (last + b) >> 1, missing_left, best)
            for k in range(K):
                self.left[k] += cells[b * K + k]
            last = b
        if lost and last >= 0 and not missing_left:  # the missing ones apart
            self._try_cut(f, last, False, best)

    cdef inline void _try_cut(self, i32_t f, intp_t b, bint missing_left,
                              Split* best) noexcept nogil:
        """Gini's criterion: the sum over both sides of sum_k w_k^2 / w."""
        cdef intp_t k
        cdef f64_t one, two, score
        cdef f64_t left = 0.0, right = 0.0, left_2 = 0.0, right_2 = 0.0
        for k in range(self.n_classes):
            one = <f64_t>self.left[k]
            two = <f64_t>(self.total[k] - self.left[k])
            left += one
            right += two
            left_2 += one * one
            right_2 += two * two
        score = left_2 / left + right_2 / right
        # beyond rounding; features come in the order in which rows touch them
        if score > best.score * (1 + 1e-14) or (
            score >= best.score * (1 - 1e-14) and f < best.feature
        ):
            best.score = score
            best.feature = f
            best.bin = <i32_t>b
            best.missing_left = missing_left

    # ---------------------------------------------------------------- the rows

    cdef inline i32_t _bin_of(self, i64_t row, i32_t feature) noexcept nogil:
        cdef i64_t low, high, middle
        if not self.sparse:
            return self.row_bins[row, feature]
        low = self.indptr[row]
        high = self.indptr[row + 1]
        while low < high:
            middle = (low + high) >> 1
            if self.columns[middle] < feature:
                low = middle + 1
            else:
                high = middle
        if low < self.indptr[row + 1] and self.columns[low] == feature:
            return self.cell_bins[low]
        return self.common[feature]

    cdef intp_t _partition(self, intp_t start, intp_t end, Split* split) noexcept nogil:
        cdef intp_t i, n_left = start, n_right = 0
        cdef i64_t balance = 0
        cdef i32_t place, bin_
        cdef bint left, lost = False
        for i in range(start, end):
            place = self.place[i]
            bin_ = self._bin_of(self.rows[place], split.feature)
            left = bin_ <= split.bin
            if bin_ == self.n_bins[split.feature]:
                left = split.missing_left
                lost = True
            balance += self.weight[place] if left else -self.weight[place]
            if left:
                self.place[n_left] = place
                n_left += 1
            else:
                self.spare_place[n_right] = place
                n_right += 1
        if n_right:
            memcpy(&self.place[n_left], &self.spare_place[0], n_right * sizeof(i32_t))
        if not lost:  # later ones go to the heavier side
            split.missing_left = balance >= 0
        return n_left

    cdef void predict(self, i32_t[::1] predictions) noexcept nogil:
        cdef intp_t v, i
        for v in range(self.n_nodes):
            if self.nodes[v].left < 0:
                for i in range(self.nodes[v].start, self.nodes[v].end):
                    predictions[self.place[i]] = self.nodes[v].label


# What a walk reads of a node. A leaf has left = -1.
cdef packed struct Step:
    f64_t threshold
    i32_t left
    i32_t feature
    i32_t label
    i32_t missing_left

STEP = np.dtype([
    ("threshold", np.float64), ("left", np.int32), ("feature", np.int32),
    ("label", np.int32), ("missing_left", np.int32),
])


cdef inline i32_t _label(const Step* steps, const float_t* x) noexcept nogil:
    cdef i32_t v = 0
    cdef float_t value
    cdef bint left
    while steps[v].left >= 0:
        value = x[steps[v].feature]
        left = value <= steps[v].threshold
        if value != value:
            left = steps[v].missing_left
        v = steps[v].left + (not left)
    return steps[v].label


def add_votes(const float_t[:, ::1] X, const Step[::1] steps,
              const i32_t[::1] roots, const f64_t[::1] votes, f64_t[:, ::1] out):
    """Add the vote of each tree to the class that it predictions.

    Parameters
    ----------
    X : float array of shape (n, n_features), row-major
        NaN is a missing value.
    steps : structured array
        Nodes of all trees; children are counted within their tree.
    roots : int32 array of shape (n_trees,)
        First node of each tree.
    votes : float64 array of shape (n_trees,)
        Weights of the trees; those of 0 are passed by.
    out : float64 array of shape (n, n_classes)
        Added to.
    """
    cdef intp_t i, t
    with nogil:
        for i in range(X.shape[0]):
            for t in range(roots.shape[0]):
                if votes[t] > 0:
                    out[i, _label(&steps[roots[t]], &X[i, 0])] += votes[t]


def add_votes_sparse(const float_t[::1] data, const i32_t[::1] indices,
                     const i64_t[::1] indptr, float_t[::1] line,
                     const Step[::1] steps, const i32_t[::1] roots,
                     const f64_t[::1] votes, f64_t[:, ::1] out):
    """The same for rows of a CSR matrix; `line` is zero, and of its width."""
    cdef intp_t i, j, t
    with nogil:
        for i in range(indptr.shape[0] - 1):
            for j in range(indptr[i], indptr[i + 1]):
                line[indices[j]] = data[j]
            for t in range(roots.shape[0]):
                if votes[t] > 0:
                    out[i, _label(&steps[roots[t]], &line[0])] += votes[t]
            for j in range(indptr[i], indptr[i + 1]):
                line[indices[j]] = 0
