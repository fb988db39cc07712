"""Two-task stumps: sorted cells for their search, candidates for roots, and scores.

**Cells** of a binned table, sorted by task, feature and bin, once for all rounds. The
rows are numbered task by task. A *group* is a feature within a task. Its most
frequent bin, the common one, is not stored. The other cells stand in three parts: the
bins below the common one, ascending; those above, descending; missing values. A walk
along one of the first two parts passes all its cuts, so the best cut of a group costs
its cells and nothing else: not the bins that it lacks, and not the rows that share a
value. An entry is twice the row's number, plus one if it is the last of its bin,
where the walk has reached a cut.

**Candidates** for the root of a stump are the K best of all that are offered. Three
choosers: the best of all tasks, the best of each task, or a draw without repetition
with odds inversely proportional to the score (W- + W0 / 2). The draw gives each stump
a key, the logarithm of a uniform number times its score, and keeps the largest keys
(Efraimidis & Spirakis 2006). The number belongs to the stump, so the order in which
stumps are offered, and by which thread, does not matter.

**Scores** of new rows add up only the rounds that predict the row's task, so many
tasks cost no more than few. A node of task -1 predicts no task.
"""

import numpy as np

from libc.math cimport INFINITY, log
from libc.string cimport memset

from kinlearn._kernels._random cimport derive_stream, next_uniform
from kinlearn._kernels._typedefs cimport (
    f64_t, float_t, i32_t, i64_t, intp_t, u8_t, u64_t
)

ctypedef fused number_t:
    i32_t
    f64_t

BLOCK = FEATURES
MISSING_BIN = MISSING


cdef class Cells:
    """The sorted cells of a table: what `sort_entries` filled, and an index.

    Parameters
    ----------
    task_indptr : intp array of shape (n_tasks + 1,)
        Boundaries of the tasks in the rows.
    entry, bins, group_task, group_feature, group_common, part_end, feature_common
        As `sort_entries` fills them.
    n_bins : int32 array of shape (n_features,)
        Bins of each feature, the one of missing values not counted.
    """

    def __init__(self, task_indptr, entry, bins, group_task, group_feature,
                 group_common, part_end, feature_common, n_bins):
        self.task_indptr = task_indptr
        self.entry = entry
        self.bins = bins
        self.group_task = group_task
        self.group_feature = group_feature
        self.group_common = group_common
        self.part_end = part_end
        self.feature_common = feature_common
        self.n_bins = n_bins
        self.n_tasks = len(task_indptr) - 1
        self.n_rows = task_indptr[self.n_tasks]
        self.n_groups = len(group_task)
        n_blocks = -(-len(n_bins) // BLOCK) * self.n_tasks
        of_block = np.bincount(group_feature // BLOCK * self.n_tasks + group_task,
                               minlength=n_blocks)
        self.block_indptr = np.concatenate([[0], np.cumsum(of_block)]).astype(np.intp)

    cdef intp_t group_of(self, i32_t feature, i32_t task) noexcept nogil:
        """The group of a feature in a task; -1 if it has none."""
        cdef intp_t block = feature // FEATURES * self.n_tasks + task
        cdef intp_t low = self.block_indptr[block]
        cdef intp_t end = self.block_indptr[block + 1], high, middle
        # it is the last of these if none before it is left out
        end = high = min(end, low + feature % FEATURES + 1)
        if low < end and self.group_feature[end - 1] == feature:
            return end - 1
        while low < high:
            middle = (low + high) >> 1
            if self.group_feature[middle] < feature:
                low = middle + 1
            else:
                high = middle
        return low if low < end and self.group_feature[low] == feature else -1

    cdef void send(self, i32_t feature, i32_t cut, bint missing_left, i32_t task,
                   u8_t* side) noexcept nogil:
        """1 in `side` for the rows of a task that a test sends to the left."""
        cdef intp_t g = self.group_of(feature, task)
        cdef intp_t start = self.task_indptr[task], stop = self.task_indptr[task + 1]
        cdef i64_t e
        if g < 0:
            memset(side + start, self.feature_common[feature] <= cut, stop - start)
            return
        memset(side + start, self.group_common[g] <= cut, stop - start)
        for e in range(start_of(self, g), self.part_end[g, 2]):
            if self.bins[e] == MISSING:
                side[self.entry[e] >> 1] = missing_left
            else:
                side[self.entry[e] >> 1] = self.bins[e] <= cut

    cdef void fill_bins(self, i32_t feature, i32_t task, u8_t* out) noexcept nogil:
        """The bins of the rows of a task."""
        cdef intp_t g = self.group_of(feature, task)
        cdef intp_t start = self.task_indptr[task], stop = self.task_indptr[task + 1]
        cdef i64_t e
        if g < 0:
            memset(out + start, self.feature_common[feature], stop - start)
            return
        memset(out + start, self.group_common[g], stop - start)
        for e in range(start_of(self, g), self.part_end[g, 2]):
            out[self.entry[e] >> 1] = self.bins[e]


def send_rows(Cells cells, i32_t feature, i32_t cut, bint missing_left,
              i32_t task, u8_t[::1] side):
    """Which rows a test sends to the left.

    Parameters
    ----------
    cells : Cells
        The table.
    feature, cut, missing_left : int
        The test: bin at most `cut`, and where missing values go.
    task : int
        The task; -1 is all of them.
    side : uint8 array of shape (n_rows,), filled for the rows of the task
        1 for the left.
    """
    cdef intp_t t, last = task + 1 if task >= 0 else cells.n_tasks
    with nogil:
        for t in range(max(task, 0), last):
            cells.send(feature, cut, missing_left, <i32_t>t, &side[0])


def sort_entries(const u8_t[::1, :] codes, const i32_t[::1] order,
                 const intp_t[::1] task_indptr, i32_t first_feature,
                 i64_t n_filled, const u8_t[:, :] common_bins, i32_t[::1] entry,
                 u8_t[::1] bins, u8_t[::1] feature_common, i32_t[::1] group_task,
                 i32_t[::1] group_feature, u8_t[::1] group_common,
                 i64_t[:, ::1] part_end):
    """Sort the cells of some features, at most 64 (`BLOCK`).

    Parameters
    ----------
    codes : uint8 array of shape (n_all, n_features), column-major
        Bins; 255 is a missing value.
    order : int32 array of shape (n,)
        Rows that take part, task by task.
    task_indptr : intp array of shape (n_tasks + 1,)
        Boundaries of the tasks in `order`.
    first_feature : int
        Number of the first of these features.
    n_filled : int
        Entries of earlier features.
    common_bins : uint8 array of shape (n_tasks, n_features), or None
        The common bins of the groups; None is the most frequent of each.
    entry, bins : int32 and uint8 arrays, filled from `n_filled` on
        The entries and their bins.
    feature_common : uint8 array of shape (n_features,)
        Most frequent bin over all rows; filled if `common_bins` is None.
    group_task, group_feature, group_common, part_end : arrays, filled
        Task, feature, common bin and the ends of the three parts of each group,
        with place for all pairs of task and feature. A group without entries whose
        common bin is the feature's is left out.

    Returns
    -------
    n_groups, n_filled : int
        Groups found, and entries in all.
    """
    cdef intp_t n_tasks = task_indptr.shape[0] - 1, t, g = 0
    cdef i32_t f, common
    cdef i64_t end = n_filled
    cdef i64_t[256] counts
    cdef bint given = common_bins is not None
    with nogil:
        for f in range(0 if given else <i32_t>codes.shape[1]):
            _count(codes, order, 0, order.shape[0], f, counts)
            feature_common[f] = _most_frequent(counts)
        for t in range(n_tasks):
            if task_indptr[t] == task_indptr[t + 1]:
                continue
            for f in range(<i32_t>codes.shape[1]):
                _count(codes, order, task_indptr[t], task_indptr[t + 1], f, counts)
                common = common_bins[t, f] if given else _most_frequent(counts)
                if (counts[common] == task_indptr[t + 1] - task_indptr[t]
                        and common == feature_common[f]):
                    continue
                group_task[g] = <i32_t>t
                group_feature[g] = first_feature + f
                group_common[g] = <u8_t>common
                end = _fill(codes, order, task_indptr[t], task_indptr[t + 1], f,
                            common, counts, end, entry, bins, part_end, g)
                g += 1
    return g, end


cdef void _count(const u8_t[::1, :] codes, const i32_t[::1] order, intp_t start,
                 intp_t stop, i32_t f, i64_t* counts) noexcept nogil:
    cdef intp_t i
    memset(counts, 0, 256 * sizeof(i64_t))
    for i in range(start, stop):
        counts[codes[order[i], f]] += 1


cdef u8_t _most_frequent(const i64_t* counts) noexcept nogil:
    """Of the bins of values; the lowest of equals."""
    cdef intp_t b, best = 0
    for b in range(1, MISSING):
        if counts[b] > counts[best]:
            best = b
    return <u8_t>best


cdef i64_t _fill(const u8_t[::1, :] codes, const i32_t[::1] order, intp_t start,
                 intp_t stop, i32_t f, i32_t common, const i64_t* counts,
                 i64_t end, i32_t[::1] entry, u8_t[::1] bins,
                 i64_t[:, ::1] part_end, intp_t g) noexcept nogil:
    """Counting sort of one group; where its entries end."""
    cdef i64_t[256] place
    cdef i64_t at
    cdef intp_t i, b
    cdef u8_t code
    for b in range(common):
        place[b] = end
        end += counts[b]
    part_end[g, 0] = end
    for b in range(MISSING - 1, common, -1):
        place[b] = end
        end += counts[b]
    part_end[g, 1] = end
    place[MISSING] = end
    end += counts[MISSING]
    part_end[g, 2] = end
    for i in range(start, stop):
        code = codes[order[i], f]
        if code != common:
            at = place[code]
            place[code] += 1
            entry[at] = <i32_t>(2 * i)
            bins[at] = code
    for b in range(MISSING):
        if b != common and counts[b]:
            entry[place[b] - 1] += 1
    return end


ROOT = np.dtype([
    ("key", np.float64), ("edge", np.float64), ("task", np.int32),
    ("feature", np.int32), ("cut", np.int32), ("missing_left", np.int32),
])


cdef bint _worse(const Root* a, const Root* b) noexcept nogil:
    """Whether a comes after b: less good, or later among equals."""
    if a.key != b.key:
        return a.key < b.key
    if a.feature != b.feature:
        return a.feature > b.feature
    if a.task != b.task:
        return a.task > b.task
    if a.cut != b.cut:
        return a.cut > b.cut
    return a.missing_left > b.missing_left


cdef class Roots:
    """Heaps of the best stumps, the worst one on top.

    Parameters
    ----------
    size : int
        Stumps to keep; for each task if `per_task`.
    n_tasks : int
        Number of tasks.
    per_task : bool
        Whether each task keeps its own.
    stochastic : bool
        Whether to draw them.
    seed : int
        Of the draw.
    all_weight : float
        What the weights of all rows sum to; the largest edge there can be.
    """

    def __init__(self, intp_t size, intp_t n_tasks, bint per_task, bint stochastic,
                 u64_t seed, f64_t all_weight):
        n_heaps = n_tasks if per_task else 1
        self.kept = self.heaps = np.empty((n_heaps, size), dtype=ROOT)
        self.sizes = self.filled = np.zeros(n_heaps, dtype=np.intp)
        self.per_task = per_task
        self.stochastic = stochastic
        self.seed = seed
        self.all_weight = all_weight

    def merge(self, Roots other):
        """Offer what another one kept, with the keys that it has."""
        cdef intp_t h, i
        for h in range(other.heaps.shape[0]):
            for i in range(other.filled[h]):
                self._insert(h, &other.heaps[h, i])

    def best(self):
        """What was kept, the best first."""
        kept = np.concatenate(
            [row[:n] for row, n in zip(self.kept, self.sizes, strict=True)])
        names = ("missing_left", "cut", "task", "feature")
        return kept[np.lexsort([*(kept[name] for name in names), -kept["key"]])]

    cdef f64_t bar(self, i32_t task) noexcept nogil:
        """The least edge that is still of interest."""
        cdef intp_t h = task if self.per_task else 0
        if self.stochastic or self.filled[h] < self.heaps.shape[1]:
            return -INFINITY
        return self.heaps[h, 0].key

    cdef void offer(self, Root* root) noexcept nogil:
        cdef u64_t stream
        root.key = root.edge
        if self.stochastic:
            stream = derive_stream(
                derive_stream(self.seed, <u64_t>root.feature),
                (<u64_t>root.task << 10) + (<u64_t>root.cut << 2)
                + <u64_t>(root.missing_left + 1))
            root.key = (log(next_uniform(&stream))
                        * 0.5 * (1.0 - root.edge / self.all_weight))
        self._insert(root.task if self.per_task else 0, root)

    cdef void _insert(self, intp_t h, const Root* root) noexcept nogil:
        cdef intp_t n = self.filled[h], i, child
        cdef Root* heap = &self.heaps[h, 0]
        if n < self.heaps.shape[1]:  # let it rise
            self.filled[h] += 1
            i = n
            while i and _worse(root, heap + (i - 1) // 2):
                heap[i] = heap[(i - 1) // 2]
                i = (i - 1) // 2
            heap[i] = root[0]
            return
        if not _worse(heap, root):
            return
        i = 0  # in the place of the worst, let it sink
        while 2 * i + 1 < n:
            child = 2 * i + 1
            if child + 1 < n and _worse(heap + child + 1, heap + child):
                child += 1
            if not _worse(heap + child, root):
                break
            heap[i] = heap[child]
            i = child
        heap[i] = root[0]


cdef struct Best:
    f64_t edge
    i32_t cut
    bint missing_left


def heavier_sides(Cells cells, Root[::1] roots, const number_t[::1] size,
                  const number_t[::1] task_size):
    """Where missing values go, for roots whose task has none: to the heavier side.

    Parameters
    ----------
    cells : Cells
        The table.
    roots : structured array
        Candidates; `missing_left` is filled where it is -1.
    size : int32 or float64 array of shape (n_rows,)
        Weights of the rows, whole numbers.
    task_size : array of shape (n_tasks,)
        Their sums by task.
    """
    cdef intp_t r, g
    cdef i64_t e
    cdef f64_t left, stored
    with nogil:
        for r in range(roots.shape[0]):
            if roots[r].missing_left >= 0:
                continue
            g = cells.group_of(roots[r].feature, roots[r].task)
            left = stored = 0.0
            for e in range(start_of(cells, g), cells.part_end[g, 2]):
                stored += size[cells.entry[e] >> 1]
                if cells.bins[e] <= roots[r].cut:
                    left += size[cells.entry[e] >> 1]
            if cells.group_common[g] <= roots[r].cut:
                left += task_size[roots[r].task] - stored
            roots[r].missing_left = 2.0 * left >= task_size[roots[r].task]


def sum_cells(const i32_t[::1] entry, const i64_t[::1] cell_end,
              const i32_t[::1] cell, const number_t[:, ::1] values,
              number_t[:, ::1] out):
    """Add up rows by cell.

    Parameters
    ----------
    entry : int32 array
        As `sort_entries` fills it.
    cell_end, cell : int64 and int32 arrays of shape (n,)
        Where the entries of each cell end, and the line of `out` that they go to.
    values : int32 or float64 array of shape (n_rows, width)
        Values of the rows.
    out : array of shape (n_cells, width)
        Added to.
    """
    cdef intp_t c, k
    cdef i64_t e = 0
    cdef const number_t* row
    cdef number_t* line
    with nogil:
        for c in range(cell.shape[0]):
            line = &out[cell[c], 0]
            while e < cell_end[c]:
                row = &values[entry[e] >> 1, 0]
                for k in range(values.shape[1]):
                    line[k] += row[k]
                e += 1


def best_cut(const f64_t[:, ::1] sums, i32_t n_bins, intp_t n_labels):
    """The best cut of a feature in one task, in the middle of its gap.

    Parameters
    ----------
    sums : float64 array of shape (256, width)
        Whole numbers by bin, the last of missing values: weights for each label and
        against each, or a signed weight; then, in the last two columns, the weight in
        any case and the number of rows.
    n_bins : int
        Bins of the feature.
    n_labels : int
        Labels; 0 if weights are signed.

    Returns
    -------
    cut, missing_left : int and bool
        The cut, and where missing values go: if there are none, to the heavier side. If
        no cut is better than none at all, everything is on the left.
    """
    cdef intp_t width = max(2 * n_labels, 1), size = sums.shape[1] - 2, b, k
    cdef f64_t[:, ::1] work = np.zeros((2, width))
    cdef f64_t* total = &work[0, 0]
    cdef f64_t* left = &work[1, 0]
    cdef Best best
    cdef f64_t below = 0.0, every = 0.0
    with nogil:
        for b in range(256):
            for k in range(width):
                total[k] += sums[b, k]
        # no cut comes first: a cut that gains nothing is not made
        best.edge = edge_of_cut(total, total, n_labels)
        best.cut = n_bins - 1
        best.missing_left = True
        _scan_bins(sums, n_bins, n_labels, total, left, False, &best)
        if sums[MISSING, size + 1] > 0:
            _scan_bins(sums, n_bins, n_labels, total, left, True, &best)
        else:
            for b in range(n_bins):
                every += sums[b, size]
                if b <= best.cut:
                    below += sums[b, size]
            best.missing_left = 2.0 * below >= every
    return best.cut, bool(best.missing_left)


cdef void _scan_bins(const f64_t[:, ::1] sums, i32_t n_bins, intp_t n_labels,
                     const f64_t* total, f64_t* left, bint missing_left,
                     Best* best) noexcept nogil:
    """Cuts in ascending order."""
    cdef i32_t b, last = -1
    cdef intp_t k, width = max(2 * n_labels, 1), count = sums.shape[1] - 1
    for k in range(width):
        left[k] = sums[MISSING, k] if missing_left else 0.0
    for b in range(n_bins):
        if sums[b, count] == 0:
            continue
        if last >= 0:
            _try_cut(left, total, n_labels, (last + b) >> 1, missing_left, best)
        for k in range(width):
            left[k] += sums[b, k]
        last = b
    if last >= 0:  # the missing ones apart
        _try_cut(left, total, n_labels, n_bins - 1, missing_left, best)


cdef void _try_cut(const f64_t* left, const f64_t* total, intp_t n_labels, i32_t cut,
                   bint missing_left, Best* best) noexcept nogil:
    cdef f64_t edge = edge_of_cut(left, total, n_labels)
    if edge > best.edge * (1 + 1e-12):  # beyond rounding
        best.edge = edge
        best.cut = cut
        best.missing_left = missing_left


cdef packed struct Stump:
    f64_t threshold
    i64_t first_value  # of the left branch; the right one's follow
    i32_t task
    i32_t feature
    i32_t missing_left
    i32_t unused

STUMP = np.dtype([
    ("threshold", np.float64), ("first_value", np.int64), ("task", np.int32),
    ("feature", np.int32), ("missing_left", np.int32), ("unused", np.int32),
])


cdef inline bint _left(const Stump* node, const float_t* x) noexcept nogil:
    cdef float_t value = x[node.feature]
    return node.missing_left if value != value else value <= node.threshold


cdef inline void _add(const Stump* node, const float_t* x, const f64_t* values,
                      intp_t size, f64_t* out) noexcept nogil:
    cdef intp_t k
    cdef const f64_t* value = values + node.first_value
    if not _left(node, x):
        value += size
    for k in range(size):
        out[k] += value[k]


cdef void _add_row(const float_t* x, i32_t task, const Stump* stumps,
                   const i32_t* rounds, intp_t n_rounds, const f64_t* values,
                   intp_t size, f64_t* out) noexcept nogil:
    cdef intp_t i
    cdef const Stump* root
    cdef const Stump* child
    for i in range(n_rounds):
        root = stumps + 3 * rounds[i]
        child = root + (1 if _left(root, x) else 2)
        if root.task == task:
            _add(root, x, values, size, out)
        if child.task == task:
            _add(child, x, values, size, out)


def add_scores(const float_t[:, ::1] X, const i32_t[::1] task,
               const Stump[:, ::1] stumps, const f64_t[::1] values,
               const i32_t[::1] sizes, const intp_t[::1] indptr,
               const i32_t[::1] rounds, f64_t[:, ::1] out):
    """Add up the scores of each row.

    Parameters
    ----------
    X : float array of shape (n, n_features), row-major
        NaN is a missing value.
    task : int32 array of shape (n,)
        Tasks; a row of -1 is left alone.
    stumps : structured array of shape (n_rounds, 3)
        Root, left child and right child of each round.
    values : float64 array
        Predictions of all nodes.
    sizes : int32 array of shape (n_tasks,)
        Values that a prediction for each task has.
    indptr, rounds : intp and int32 arrays
        Rounds that may predict each task, ascending.
    out : float64 array of shape (n, most values)
        Added to.
    """
    cdef intp_t i
    cdef i32_t t
    with nogil:
        for i in range(X.shape[0]):
            t = task[i]
            if t >= 0 and indptr[t] < indptr[t + 1]:
                _add_row(&X[i, 0], t, &stumps[0, 0], &rounds[indptr[t]],
                         indptr[t + 1] - indptr[t], &values[0], sizes[t], &out[i, 0])


def add_scores_sparse(const float_t[::1] data, const i32_t[::1] indices,
                      const i64_t[::1] row_indptr, float_t[::1] line,
                      const i32_t[::1] task, const Stump[:, ::1] stumps,
                      const f64_t[::1] values, const i32_t[::1] sizes,
                      const intp_t[::1] indptr, const i32_t[::1] rounds,
                      f64_t[:, ::1] out):
    """The same for rows of a CSR matrix; `line` is zero, and of its width."""
    cdef intp_t i, j
    cdef i32_t t
    with nogil:
        for i in range(row_indptr.shape[0] - 1):
            t = task[i]
            if t < 0 or indptr[t] == indptr[t + 1]:
                continue
            for j in range(row_indptr[i], row_indptr[i + 1]):
                line[indices[j]] = data[j]
            _add_row(&line[0], t, &stumps[0, 0], &rounds[indptr[t]],
                     indptr[t + 1] - indptr[t], &values[0], sizes[t], &out[i, 0])
            for j in range(row_indptr[i], row_indptr[i + 1]):
                line[indices[j]] = 0
