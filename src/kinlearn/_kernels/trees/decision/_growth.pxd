# A node of a tree: its cells, its tasks and its split, wherever its rows are.

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
from kinlearn._kernels.trees.decision._model cimport TreeArrays
from kinlearn._kernels.trees.decision._split cimport Search, Split


cdef class Settings:
    cdef readonly i32_t criterion
    cdef readonly f64_t purity, min_weight_fraction_leaf
    cdef readonly intp_t max_depth, min_samples_split, min_samples_leaf, max_features


cdef class Nodes:
    cdef const i32_t[::1] n_bins, cell_task, cell_label
    cdef const u8_t[::1] categorical
    cdef Settings settings
    cdef TreeArrays tree
    # by cell and by task of the whole data, zero between nodes
    cdef i64_t[::1] cell_weight, task_weight, task_top, task_rows
    cdef i32_t[::1] task_cells, task_head, cell_next, touched_task, local_cell
    cdef intp_t n_touched
    cdef i64_t n_rows, total
    # by cell and by task as numbered within the node
    cdef i32_t n_local_cells, n_open
    cdef i32_t[::1] node_cell, cell_open, open_task, open_start, zeros
    cdef i64_t[::1] cell_total, open_total, joint_total, left_cell, label_weight
    # the search
    cdef Search search
    cdef i64_t[::1] histogram, left_group
    cdef i32_t[::1] touched_group, is_touched, features, drawn
    cdef f64_t[::1] reduction
    cdef u8_t[::1] role

    cdef f64_t _load(self, const i64_t[::1] cells, const i64_t[::1] weight,
                     const i64_t[::1] rows) noexcept nogil
    cdef f64_t _weigh_tasks(self) noexcept nogil
    cdef void _clean(self) noexcept nogil
    cdef i64_t _arrive(self, i32_t node, i32_t depth, f64_t impurity) except -1 nogil
    cdef void _number(self, i32_t t) noexcept nogil
    cdef int _decide_task(self, i32_t node, i32_t t) except -1 nogil
    cdef int _decide_open(self, i32_t node) except -1 nogil
    cdef void _start_search(self, i64_t n_rows, Split* best) noexcept nogil
    cdef bint _try(self, i32_t feature, const u8_t* column, intp_t stride,
                   Split* best) noexcept nogil
    cdef bint _has_categories(self, i32_t feature) noexcept nogil
    cdef void _draw(self, u64_t* stream, intp_t k) noexcept nogil
    cdef void _put_back(self, intp_t n_draws) noexcept nogil
    cdef void _give_roles(self) noexcept nogil
    cdef i32_t _split_node(self, i32_t node, Split* split, u64_t* sides) except -1 nogil
    cdef f64_t _decrease_and_absent(self, i32_t left) except -1.0 nogil
