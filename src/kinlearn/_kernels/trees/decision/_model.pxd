# The arrays of a tree while it grows.

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t

cdef packed struct Node:
    i32_t left
    i32_t feature
    i32_t bin
    u8_t missing_left
    i64_t n_rows
    i64_t weight
    f64_t impurity
    f64_t gain
    f64_t decrease


cdef packed struct Decision:
    i32_t node
    i32_t task
    i64_t n_rows
    intp_t first_value

cdef packed struct Value:
    i32_t label
    i64_t weight


cdef class TreeArrays:
    cdef object nodes_, decisions_, values_, sets_
    cdef Node[::1] nodes
    cdef Decision[::1] decisions
    cdef Value[::1] values
    cdef u64_t[:, ::1] sets
    cdef intp_t n_nodes, n_decisions, n_values, n_sets

    cdef intp_t new_node(self) except -1 nogil
    cdef int new_decision(self, i32_t node, i32_t task, i64_t n_rows) except -1 nogil
    cdef int new_value(self, i32_t label, i64_t weight) except -1 nogil
    cdef intp_t new_set(self, const u64_t* words) except -1 nogil
    cdef void _renumber(self, i32_t[::1] number, Node[::1] nodes, u64_t[:, ::1] sets,
                        const u8_t[::1] categorical)

cdef object doubled(array)
