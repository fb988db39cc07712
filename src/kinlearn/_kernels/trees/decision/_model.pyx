# cython: nonecheck=False
# The debug build would ask for the GIL to check that `self` is not None.
"""The arrays of a multi-task tree: they grow with it, are put in order, and predict."""

import numpy as np

from kinlearn._kernels._typedefs cimport f64_t, float_t, i32_t, i64_t, intp_t, u64_t


NODE = np.dtype([
    ("left", np.int32), ("feature", np.int32), ("bin", np.int32),
    ("missing_left", np.uint8), ("n_rows", np.int64), ("weight", np.int64),
    ("impurity", np.float64), ("gain", np.float64), ("decrease", np.float64),
])
DECISION = np.dtype([
    ("node", np.int32), ("task", np.int32), ("n_rows", np.int64),
    ("first_value", np.intp),
])
VALUE = np.dtype([("label", np.int32), ("weight", np.int64)])


cdef class TreeArrays:
    """Nodes, the decisions of tasks at them, and the decisions' label weights."""

    def __init__(self):
        self.nodes_ = self.nodes = np.empty(256, dtype=NODE)
        self.decisions_ = self.decisions = np.empty(256, dtype=DECISION)
        self.values_ = self.values = np.empty(256, dtype=VALUE)
        self.sets_ = self.sets = np.empty((16, 4), dtype=np.uint64)
        self.new_node()  # the root

    cdef int new_decision(self, i32_t node, i32_t task, i64_t n_rows) except -1 nogil:
        if self.n_decisions == self.decisions.shape[0]:
            with gil:
                self.decisions_ = self.decisions = doubled(self.decisions_)
        self.decisions[self.n_decisions] = Decision(node, task, n_rows, self.n_values)
        self.n_decisions += 1
        return 0

    cdef int new_value(self, i32_t label, i64_t weight) except -1 nogil:
        """Add a label to the last decision, which stays ascending in label."""
        cdef intp_t k
        if self.n_values == self.values.shape[0]:
            with gil:
                self.values_ = self.values = doubled(self.values_)
        k = self.n_values
        while (k > self.decisions[self.n_decisions - 1].first_value
               and self.values[k - 1].label > label):
            self.values[k] = self.values[k - 1]
            k -= 1
        self.values[k] = Value(label, weight)
        self.n_values += 1
        return 0

    cdef intp_t new_set(self, const u64_t* words) except -1 nogil:
        cdef intp_t k
        if self.n_sets == self.sets.shape[0]:
            with gil:
                self.sets_ = self.sets = doubled(self.sets_)
        for k in range(4):
            self.sets[self.n_sets, k] = words[k]
        self.n_sets += 1
        return self.n_sets - 1

    cdef intp_t new_node(self) except -1 nogil:
        if self.n_nodes == self.nodes.shape[0]:
            with gil:
                self.nodes_ = self.nodes = doubled(self.nodes_)
        self.nodes[self.n_nodes] = Node(-1, -1, -1, 0, 0, 0, 0.0, 0.0, 0.0)
        self.n_nodes += 1
        return self.n_nodes - 1

    def graft(self, i32_t node, grown, const u8_t[::1] categorical=None):
        """Replace a leaf without decisions by a tree, as `finish` gives it."""
        cdef const Node[::1] nodes = grown[0]
        cdef const Decision[::1] decisions = grown[1]
        cdef const Value[::1] values = grown[2]
        cdef const u64_t[:, ::1] sets = grown[3]
        cdef i32_t shift = <i32_t>self.n_nodes - 1, set_shift = <i32_t>self.n_sets
        cdef intp_t k, v, last, at = node
        with nogil:
            for k in range(nodes.shape[0]):
                if k > 0:
                    at = self.new_node()
                self.nodes[at] = nodes[k]
                if nodes[k].left >= 0:
                    self.nodes[at].left += shift
                    if categorical is not None and categorical[nodes[k].feature]:
                        self.nodes[at].bin += set_shift
            for k in range(decisions.shape[0]):
                at = decisions[k].node
                self.new_decision(node if at == 0 else <i32_t>at + shift,
                                  decisions[k].task, decisions[k].n_rows)
                last = values.shape[0]
                if k + 1 < decisions.shape[0]:
                    last = decisions[k + 1].first_value
                for v in range(decisions[k].first_value, last):
                    self.new_value(values[v].label, values[v].weight)
            for k in range(sets.shape[0]):
                self.new_set(&sets[k, 0])

    def finish(self, intp_t n_tasks, const u8_t[::1] categorical=None):
        """The tree, in an order that does not depend on how it was grown.

        Returns
        -------
        nodes : structured array
            ``left`` child (-1 at a leaf; the right child is the next number),
            ``feature``, ``bin``, ``missing_left``, rows, weight, impurity, gain,
            and ``decrease``: weight times the information gained within tasks.
            Numbered as if the left side of a node had been grown before the right.
        decisions : structured array, in the order of node and task
            ``node``, ``task``, ``n_rows`` of the task there (0: decided by the
            parent's rows), ``first_value``.
        values : structured array
            ``label`` and ``weight``; those of a decision are ascending in label.
        sets : uint64 array of shape (n_sets, 4)
            By split of categories, whose number is the node's ``bin``: the bins that
            go left.
        """
        cdef intp_t n = self.n_decisions, at = 0, k, d, first, last
        found_nodes = np.empty(self.n_nodes, dtype=NODE)
        found_sets = np.empty((self.n_sets, 4), dtype=np.uint64)
        found = np.empty(n, dtype=DECISION)
        found_values = np.empty(self.n_values, dtype=VALUE)
        cdef Decision[::1] decisions = found
        cdef Value[::1] values = found_values
        cdef i32_t[::1] start = np.zeros(max(n_tasks, self.n_nodes) + 1, dtype=np.int32)
        cdef i32_t[::1] by_task = np.empty(n, dtype=np.int32)
        cdef i32_t[::1] order = np.empty(n, dtype=np.int32)
        cdef i32_t[::1] number = np.empty(self.n_nodes, dtype=np.int32)
        self._renumber(number, found_nodes, found_sets, categorical)
        with nogil:
            for d in range(n):
                self.decisions[d].node = number[self.decisions[d].node]
            # two stable counting sorts, the one that counts more comes last
            for d in range(n):
                start[self.decisions[d].task + 1] += 1
            for k in range(n_tasks):
                start[k + 1] += start[k]
            for d in range(n):
                k = self.decisions[d].task
                by_task[start[k]] = <i32_t>d
                start[k] += 1
            start[:] = 0
            for d in range(n):
                start[self.decisions[d].node + 1] += 1
            for k in range(self.n_nodes):
                start[k + 1] += start[k]
            for k in range(n):
                d = self.decisions[by_task[k]].node
                order[start[d]] = by_task[k]
                start[d] += 1
            for k in range(n):
                d = order[k]
                first = self.decisions[d].first_value
                last = self.n_values
                if d + 1 < n:
                    last = self.decisions[d + 1].first_value
                decisions[k] = self.decisions[d]
                decisions[k].first_value = at
                for first in range(first, last):
                    values[at] = self.values[first]
                    at += 1
        return found_nodes, found, found_values, found_sets

    cdef void _renumber(self, i32_t[::1] number, Node[::1] nodes, u64_t[:, ::1] sets,
                        const u8_t[::1] categorical):
        """Nodes and sets as if the left side of a node had been grown first."""
        cdef intp_t v, n = 1, n_waiting = 1, n_sets = 0
        cdef i32_t left
        cdef i32_t[::1] waiting = np.empty(self.n_nodes, dtype=np.int32)
        number[0] = waiting[0] = 0
        with nogil:
            while n_waiting:
                n_waiting -= 1
                v = waiting[n_waiting]
                left = self.nodes[v].left
                nodes[number[v]] = self.nodes[v]
                if left < 0:
                    continue
                number[left], number[left + 1] = <i32_t>n, <i32_t>n + 1
                nodes[number[v]].left = <i32_t>n
                n += 2
                waiting[n_waiting], waiting[n_waiting + 1] = left + 1, left
                n_waiting += 2
                if categorical is not None and categorical[self.nodes[v].feature]:
                    sets[n_sets] = self.sets[self.nodes[v].bin]
                    nodes[number[v]].bin = <i32_t>n_sets
                    n_sets += 1


cdef object doubled(array):
    bigger = np.empty((2 * array.shape[0], *array.shape[1:]), dtype=array.dtype)
    bigger[:array.shape[0]] = array
    return bigger


# What a walk reads of a node, in one line of memory. A leaf is its own left
# child and sends everything there. Bit (task mod 64) of `decided` is set if the
# task may be decided at the node: a quick no for most. The lowest bit of
# `missing_left` is the side of missing values; what is above, if it is not 0, is 1 more
# than the number of the set of categories that go left.
cdef packed struct Step:
    f64_t threshold
    i32_t left
    i32_t feature
    u64_t decided
    i64_t missing_left

STEP = np.dtype([
    ("threshold", np.float64), ("left", np.int32), ("feature", np.int32),
    ("decided", np.uint64), ("missing_left", np.int64),
])

# Rows that walk side by side: a step waits for memory, several wait together.
cdef enum:
    LANES = 8

cdef struct Walkers:
    intp_t[LANES] row
    i32_t[LANES] node
    intp_t n_lanes
    intp_t n_started


cdef inline void _start(Walkers* w, intp_t n) noexcept nogil:
    cdef intp_t k
    w.n_lanes = w.n_started = min(<intp_t>LANES, n)
    for k in range(w.n_lanes):
        w.row[k] = k
        w.node[k] = 0


cdef inline void _replace(Walkers* w, intp_t k, intp_t n) noexcept nogil:
    """The row of lane k has arrived: the next one starts, or the lane closes."""
    if w.n_started < n:
        w.row[k] = w.n_started
        w.node[k] = 0
        w.n_started += 1
    else:
        w.n_lanes -= 1
        w.row[k] = w.row[w.n_lanes]
        w.node[k] = w.node[w.n_lanes]


cdef inline i32_t _next(const Step* step, float_t x, const u64_t* sets) noexcept nogil:
    cdef bint left = x <= step.threshold
    cdef i32_t code
    if x != x:
        left = step.missing_left & 1
    elif sets != NULL and step.missing_left > 1:
        code = <i32_t>x & 255
        left = sets[4 * ((step.missing_left >> 1) - 1) + (code >> 6)] >> (code & 63) & 1
    return step.left + (not left)


cdef const u64_t* _words(const u64_t[:, ::1] sets) noexcept:
    if sets is None or sets.shape[0] == 0:
        return NULL
    return &sets[0, 0]


def find_leaves(const float_t[:, ::1] X, const Step[::1] steps, i32_t[::1] leaves,
                const u64_t[:, ::1] sets=None):
    """Leaf of each row of X; `sets` are the codes of categories that go left."""
    cdef intp_t n = X.shape[0], k
    cdef Walkers w
    cdef const u64_t* words = _words(sets)
    cdef i32_t following
    cdef const Step* step
    with nogil:
        _start(&w, n)
        while w.n_lanes:
            k = 0
            while k < w.n_lanes:
                step = &steps[w.node[k]]
                following = _next(step, X[w.row[k], step.feature], words)
                if following == w.node[k]:
                    leaves[w.row[k]] = following
                    _replace(&w, k, n)
                else:
                    w.node[k] = following
                k += 1


def find_decisions(const float_t[:, ::1] X, const i32_t[::1] task,
                   const Step[::1] steps, const i32_t[::1] decision_indptr,
                   const i32_t[::1] decision_task, i32_t[::1] decisions,
                   const u64_t[:, ::1] sets=None):
    """Decision for each row: that of its task, wherever on its way it is taken.

    -1 where the tree knows nothing of the task. The arrays are those of a tree.
    """
    cdef intp_t n = X.shape[0], k
    cdef Walkers w
    cdef const u64_t* words = _words(sets)
    cdef i32_t found, following
    cdef const Step* step
    with nogil:
        _start(&w, n)
        while w.n_lanes:
            k = 0
            while k < w.n_lanes:
                step = &steps[w.node[k]]
                found = -1
                if step.decided >> (task[w.row[k]] & 63) & 1:
                    found = _decision_of(
                        task[w.row[k]], decision_indptr[w.node[k]],
                        decision_indptr[w.node[k] + 1], &decision_task[0])
                following = _next(step, X[w.row[k], step.feature], words)
                if found >= 0 or following == w.node[k]:
                    decisions[w.row[k]] = found
                    _replace(&w, k, n)
                else:
                    w.node[k] = following
                k += 1


cdef inline i32_t _decision_of(i32_t task, i32_t low, i32_t high,
                               const i32_t* decision_task) noexcept nogil:
    """Decision of a task between `low` and `high`, or -1."""
    cdef i32_t end = high, middle
    while low < high:
        middle = (low + high) >> 1
        if decision_task[middle] < task:
            low = middle + 1
        else:
            high = middle
    if low < end and decision_task[low] == task:
        return low
    return -1


def add_frequencies(const i32_t[::1] decisions, const i32_t[::1] value_indptr,
                    const i32_t[::1] value_label, const f64_t[::1] value_share,
                    f64_t[:, ::1] out):
    """Add the label frequencies of each row's decision, if it has one, to `out`."""
    cdef intp_t i, k
    cdef i32_t d
    with nogil:
        for i in range(decisions.shape[0]):
            d = decisions[i]
            if d >= 0:
                for k in range(value_indptr[d], value_indptr[d + 1]):
                    out[i, value_label[k]] += value_share[k]


def mean_of_leaves(const Step[::1] steps, const i32_t[::1] decision_indptr,
                   const i32_t[::1] value_indptr, const i32_t[::1] value_label,
                   const f64_t[::1] value_share, f64_t[:, ::1] out):
    """Average over the tasks of what each predicts on the way to a node.

    Every task is decided once on each way to a leaf, so the line of a leaf sums
    to one. Those of inner nodes in `out`, which is zero, will lack the tasks that are
    decided below. Children are numbered after their parents.
    """
    cdef intp_t v, c, d, k, child
    cdef f64_t total
    with nogil:
        for v in range(steps.shape[0]):
            for d in range(decision_indptr[v], decision_indptr[v + 1]):
                for k in range(value_indptr[d], value_indptr[d + 1]):
                    out[v, value_label[k]] += value_share[k]
            if steps[v].left != v:
                for child in range(steps[v].left, steps[v].left + 2):
                    for c in range(out.shape[1]):
                        out[child, c] += out[v, c]
        for v in range(steps.shape[0]):
            if steps[v].left == v:
                total = 0.0
                for c in range(out.shape[1]):
                    total += out[v, c]
                for c in range(out.shape[1]):
                    out[v, c] /= total
