# The candidate task split of a node: tasks with a small mean label go left.
#
# The cost is that of the node's rows, never that of all tasks: sums by task live in
# arrays that are zero between nodes, and a list says which tasks were touched.

from libc.stdlib cimport qsort

from kinlearn._kernels._random cimport next_below
from kinlearn._kernels._typedefs cimport f32_t, f64_t, i32_t, i64_t, intp_t
from kinlearn._kernels.trees.extra._feature_splits cimport sum_left
from kinlearn._kernels.trees.extra._grower cimport Grower
from kinlearn._kernels.trees.extra._split cimport (
    TASK_SPLIT, drawn_mean, node_mean, offer, task_cut
)


cdef inline int compare_i32(const void* a, const void* b) noexcept nogil:
    cdef i32_t x = (<const i32_t*>a)[0]
    cdef i32_t y = (<const i32_t*>b)[0]
    return (x > y) - (x < y)


cdef inline void sum_by_task(Grower* g, i32_t positive) noexcept nogil:
    # Weight and sum of labels of each task present. With more than two classes
    # the label is whether the local class is `positive`.
    cdef intp_t i, n_present = 0
    cdef i32_t t
    cdef i64_t w, b
    for i in range(g.part.n):
        t = g.at.task[g.part.rows[i]]
        w = 1 if g.part.w == NULL else g.part.w[i]
        if g.data.n_classes > 0:
            b = w if g.local_y[i] == positive else 0
        else:
            b = g.part.y[i] if g.part.b == NULL else g.part.b[i]
        if g.task_weight[t] == 0:
            g.tasks[n_present] = t
            n_present += 1
        g.task_weight[t] += w
        g.task_total[t] += b
    g.n_present = n_present


cdef inline f64_t task_mean(Grower* g, i32_t t, f64_t gamma, f64_t unit) noexcept nogil:
    return drawn_mean(
        g.task_total[t] * unit, g.task_weight[t] * g.node.w_unit, gamma,
        g.node.settings.task_smoothing,
    )


cdef inline void fill_side(Grower* g, f32_t* x) noexcept nogil:
    # 0 for rows that go left, 1 for the others: a feature to cut at 0.5.
    cdef intp_t i
    for i in range(g.part.n):
        x[i] = not g.task_left[g.at.task[g.part.rows[i]]]


cdef inline void try_tasks(Grower* g) noexcept nogil:
    cdef i32_t positive = 0
    cdef f64_t best_before = g.node.best.score
    cdef f64_t unit, gamma, phi, low, high, cut
    cdef i64_t weight = 0, total = 0
    cdef intp_t k
    cdef i32_t t
    if g.data.n_classes > 0:
        positive = <i32_t>next_below(&g.stream, g.node.n_classes)
    gamma = node_mean(&g.node, positive, &unit)
    sum_by_task(g, positive)

    low = high = task_mean(g, g.tasks[0], gamma, unit)
    for k in range(1, g.n_present):
        phi = task_mean(g, g.tasks[k], gamma, unit)
        low = phi if phi < low else low
        high = phi if phi > high else high
    if low < high:
        cut = task_cut(low, high, &g.stream)
        g.task_cut = cut
        g.task_gamma = gamma
        g.task_class = g.classes[positive] if g.data.n_classes > 0 else 1
        for k in range(g.n_present):
            t = g.tasks[k]
            g.task_left[t] = task_mean(g, t, gamma, unit) < cut
            if g.task_left[t]:
                weight += g.task_weight[t]
                total += g.task_total[t]
        if g.data.n_classes > 0:
            fill_side(g, g.x[1])
            sum_left(g, g.x[1], 0.5, g.node.left_hist, &weight, &total)
        offer(&g.node, TASK_SPLIT, 0.5, gamma < cut, weight, total)
        if g.node.best.score > best_before:
            fill_side(g, g.x[0])

    for k in range(g.n_present):
        g.task_weight[g.tasks[k]] = 0
        g.task_total[g.tasks[k]] = 0


cdef inline intp_t list_exceptions(Grower* g, i32_t* out) noexcept nogil:
    # The tasks present that go against the default side, ascending.
    cdef intp_t k, n = 0
    for k in range(g.n_present):
        if g.task_left[g.tasks[k]] != g.node.best.default_left:
            out[n] = g.tasks[k]
            n += 1
    qsort(out, n, sizeof(i32_t), &compare_i32)
    return n
