"""Where a task that was not there when a tree was grown belongs in it.

Its rows run down the tree. At a task split all of them take the side that the task's
own mean label there gives, by the cut and the smoothing that the split was made with.
"""

from libc.stdlib cimport free, malloc

from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t
)
from kinlearn._kernels.trees._grower cimport LEAF, TASK_SPLIT, Node

cdef struct Stretch:
    intp_t node
    intp_t start
    intp_t end


cdef inline f64_t task_mean(
    const f64_t[::1] y, const f64_t[::1] w, bint of_class, i32_t positive,
    const intp_t* rows, intp_t n, f64_t gamma, f64_t smoothing,
) noexcept nogil:
    cdef f64_t weight = 0, total = 0
    cdef intp_t i
    for i in range(n):
        weight += w[rows[i]]
        if of_class:
            total += w[rows[i]] if y[rows[i]] == positive else 0.0
        else:
            total += w[rows[i]] * y[rows[i]]
    return (total + smoothing * gamma) / (weight + smoothing)


def place_task(
    const Node[::1] nodes,
    const u8_t[::1] default_left,
    const i64_t[::1] tree_start,
    const i64_t[::1] split_start,
    const f64_t[::1] split_cut,
    const f64_t[::1] split_mean,
    const i32_t[::1] split_class,
    bint of_class,
    f64_t smoothing,
    const f32_t[:, ::1] X,
    const f64_t[::1] y,
    const f64_t[::1] w,
    i32_t[:, ::1] leaf,
    u8_t[::1] side,
):
    """Run the rows of one new task down every tree.

    Parameters
    ----------
    nodes, ..., split_class : arrays
        Of the forest.
    of_class : bool
        Whether the means are shares of ``split_class``; else they are means of y.
    smoothing : float
        Rows' worth of the node's mean in the task's.
    X, y, w : arrays by row
        The task's rows, which have weight.
    leaf : int32 array of shape (n_trees, n_rows)
        To be filled with the leaves' nodes, counted from the tree's start.
    side : uint8 array of shape (n_task_splits,)
        To be filled with 1 where the task goes left, 0 where it goes right; left as
        it is where it does not come.
    """
    cdef intp_t n_rows = X.shape[0], t, i, n_left, n_stack, row
    cdef intp_t most = n_rows + 2
    cdef intp_t* rows = <intp_t*>malloc(n_rows * sizeof(intp_t))
    cdef intp_t* spare = <intp_t*>malloc(n_rows * sizeof(intp_t))
    cdef Stretch* stack = <Stretch*>malloc(most * sizeof(Stretch))
    cdef Stretch at
    cdef const Node* node
    cdef f32_t x
    cdef bint left
    cdef i64_t k
    if rows == NULL or spare == NULL or stack == NULL:
        free(rows)
        free(spare)
        free(stack)
        raise MemoryError("no memory to place a task of this many rows")
    with nogil:
        for t in range(tree_start.shape[0] - 1):
            for i in range(n_rows):
                rows[i] = i
            stack[0] = Stretch(0, 0, n_rows)
            n_stack = 1
            while n_stack > 0:  # stretches are not empty, so there are few
                n_stack -= 1
                at = stack[n_stack]
                node = &nodes[tree_start[t] + at.node]
                if node.feature == LEAF:
                    for i in range(at.start, at.end):
                        leaf[t, rows[i]] = <i32_t>at.node
                    continue
                if node.feature == TASK_SPLIT:
                    k = split_start[t] + node.slot
                    left = task_mean(
                        y, w, of_class, split_class[k], rows + at.start,
                        at.end - at.start, split_mean[k], smoothing,
                    ) < split_cut[k]
                    side[k] = left
                    at.node = at.node + 1 if left else node.right
                    stack[n_stack] = at
                    n_stack += 1
                    continue
                n_left = 0
                for i in range(at.start, at.end):
                    row = rows[i]
                    x = X[row, node.feature]
                    left = x <= node.threshold
                    if x != x:
                        left = default_left[tree_start[t] + at.node]
                    if left:
                        rows[at.start + n_left] = row
                        n_left += 1
                    else:
                        spare[i - at.start - n_left] = row
                for i in range(at.end - at.start - n_left):
                    rows[at.start + n_left + i] = spare[i]
                if n_left < at.end - at.start:
                    stack[n_stack] = Stretch(
                        node.right, at.start + n_left, at.end)
                    n_stack += 1
                if n_left > 0:
                    stack[n_stack] = Stretch(
                        at.node + 1, at.start, at.start + n_left)
                    n_stack += 1
    free(rows)
    free(spare)
    free(stack)
