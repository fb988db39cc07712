"""What trees of gradient boosting add to the scores of rows."""

from libc.stdlib cimport free, malloc

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.boosting.gradient._nodes cimport LEAF, TASK, Node, goes_left

cdef enum:
    BLOCK = 128     # rows that go through all trees together


cdef inline i32_t find_leaf(
    const Node* nodes, const u8_t* sets, const u8_t* bins, i32_t task, intp_t n_tasks
) noexcept nogil:
    cdef const Node* node = nodes
    cdef int code
    while node.feature != LEAF:
        code = task if node.feature == TASK else bins[node.feature]
        node = nodes + node.left + (not goes_left(node, sets, code, n_tasks))
    return node.left


def add_trees(
    const Node[::1] nodes, const i64_t[::1] tree_start, const i64_t[::1] set_start,
    const u8_t[::1] sets, const i64_t[::1] leaf_start, const f64_t[::1] values,
    const i64_t[::1] departure_start, const i32_t[::1] departure_task,
    const f64_t[::1] departures, const i32_t[::1] output, intp_t n_tasks,
    intp_t first, intp_t last, const u8_t[:, :] bins, const i32_t[::1] task,
    const i32_t[::1] rows, f64_t[:, :] scores,
):
    """Add the values of trees to scores.

    Parameters
    ----------
    nodes, tree_start, set_start, sets, leaf_start, values : arrays
        The trees, one after the other; see `kinlearn.boosting.gradient._model.Trees`.
    departure_start, departure_task, departures : arrays
        What tasks add to the value of a leaf, for each leaf by ascending task.
    output : int32 array of shape (n_trees,)
        The column of scores that each tree adds to.
    n_tasks : int
        Number of tasks; codes outside are unknown.
    first, last : int
        Trees to add: from the first to before the last.
    bins : uint8 array of shape (n, n_features)
        Bins of the rows.
    task : int32 array of shape (n,)
        Task codes.
    rows : int32 array
        Which rows.
    scores : float64 array of shape (n, n_outputs), updated
        Scores.
    """
    cdef intp_t n = rows.shape[0], d = bins.shape[1], start, size, i, f, k
    cdef i32_t r
    cdef i64_t leaf
    cdef f64_t value
    cdef u8_t* block = <u8_t*> malloc(BLOCK * d + 1)
    cdef const u8_t* set_bytes = &sets[0] if sets.shape[0] else NULL
    cdef bint each = departures.shape[0] > 0
    if block == NULL:
        raise MemoryError()
    with nogil:
        for start from 0 <= start < n by BLOCK:
            size = min(BLOCK, n - start)
            for i in range(size):
                r = rows[start + i]
                for f in range(d):
                    block[i * d + f] = bins[r, f]
            for k in range(first, last):
                for i in range(size):
                    r = rows[start + i]
                    leaf = leaf_start[k] + find_leaf(
                        &nodes[tree_start[k]], set_bytes + set_start[k], block + i * d,
                        task[r], n_tasks)
                    value = values[leaf]
                    if each:
                        value += find_departure(
                            departure_start[leaf], departure_start[leaf + 1], task[r],
                            &departure_task[0], &departures[0])
                    scores[r, output[k]] += value
    free(block)


cdef inline f64_t find_departure(
    i64_t low, i64_t high, i32_t task, const i32_t* tasks, const f64_t* departures
) noexcept nogil:
    cdef i64_t middle, end = high
    while low < high:
        middle = (low + high) >> 1
        if tasks[middle] < task:
            low = middle + 1
        else:
            high = middle
    return departures[low] if low < end and tasks[low] == task else 0.0
