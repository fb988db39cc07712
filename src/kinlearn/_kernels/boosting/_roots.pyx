"""The candidates for the root of a two-task stump: the K best of all that are offered.

Three choosers: the best of all tasks, the best of each task, or a draw without
repetition with odds inversely proportional to the score (W- + W0 / 2). The draw gives
each stump a key, the logarithm of a uniform number times its score, and keeps the
largest keys (Efraimidis & Spirakis 2006). The number belongs to the stump, so the
order in which stumps are offered, and by which thread, does not matter.
"""

import numpy as np

from libc.math cimport INFINITY, log

from kinlearn._kernels._random cimport derive_stream, next_uniform
from kinlearn._kernels._typedefs cimport f64_t, i32_t, intp_t, u64_t

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
