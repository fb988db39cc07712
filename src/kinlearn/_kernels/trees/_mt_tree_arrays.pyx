# cython: nonecheck=False
# The debug build would ask for the GIL to check that `self` is not None.
"""The arrays of a multi-task tree: they grow with it and are put in order."""

import numpy as np

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

    cdef int new_decision(self, i32_t node, i32_t task, i64_t n_rows) except -1 nogil:
        if self.n_decisions == self.decisions.shape[0]:
            with gil:
                self.decisions_ = self.decisions = doubled(self.decisions_)
        self.decisions[self.n_decisions].node = node
        self.decisions[self.n_decisions].task = task
        self.decisions[self.n_decisions].n_rows = n_rows
        self.decisions[self.n_decisions].first_value = self.n_values
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
        self.values[k].label = label
        self.values[k].weight = weight
        self.n_values += 1
        return 0

    cdef intp_t new_node(self) except -1 nogil:
        if self.n_nodes == self.nodes.shape[0]:
            with gil:
                self.nodes_ = self.nodes = doubled(self.nodes_)
        self.nodes[self.n_nodes].left = -1
        self.nodes[self.n_nodes].feature = -1
        self.nodes[self.n_nodes].bin = -1
        self.nodes[self.n_nodes].missing_left = 0
        self.nodes[self.n_nodes].gain = 0.0
        self.nodes[self.n_nodes].decrease = 0.0
        self.n_nodes += 1
        return self.n_nodes - 1

    cdef object finish(self, intp_t n_tasks):
        """Nodes, decisions in the order of node and task, and their values."""
        cdef intp_t n = self.n_decisions, at = 0, k, d, first, last
        found, found_values = (np.empty(n, dtype=DECISION),
                               np.empty(self.n_values, dtype=VALUE))
        cdef Decision[::1] decisions = found
        cdef Value[::1] values = found_values
        cdef i32_t[::1] start = np.zeros(max(n_tasks, self.n_nodes) + 1, dtype=np.int32)
        cdef i32_t[::1] by_task = np.empty(n, dtype=np.int32)
        cdef i32_t[::1] order = np.empty(n, dtype=np.int32)
        with nogil:
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
        return np.array(self.nodes_[:self.n_nodes]), found, found_values


cdef object doubled(array):
    bigger = np.empty(2 * array.shape[0], dtype=array.dtype)
    bigger[:array.shape[0]] = array
    return bigger
