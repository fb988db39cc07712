# What the growth of one extremely randomised tree works with.

from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u32_t, u64_t
)
from kinlearn._kernels._vectors cimport LANES


cdef enum:
    LEAF = -1
    TASK_SPLIT = -2
    N_BLOCKS = 2       # one within the other
    N_CATEGORIES = 256


cdef enum Criterion:
    GINI = 0
    ENTROPY = 1
    VARIANCE = 2


cdef struct Node:
    i32_t feature      # LEAF, TASK_SPLIT, or the feature of x <= threshold
    f32_t threshold
    i32_t right        # a leaf's is itself; the left child is always the next node
    # number of the leaf, of the task split, or of the set of categories that go left;
    # of a split by numbers -1
    i32_t slot


cdef struct Settings:
    Criterion criterion
    i32_t max_features
    i32_t n_cuts
    i32_t max_depth
    f64_t task_split_prob
    f64_t task_smoothing
    f64_t min_weight_split
    f64_t min_weight_leaf
    f64_t min_impurity_decrease


# Values and labels by row number: of all rows, or of those of a block. Features
# lie by columns, by rows, or in both ways; the pointer of a way that is not there
# is NULL. Of y, b and w those that the kind of label needs; the others are NULL.
#   two classes        y (0 or 1); b and w if there are weights
#   a number           b; w if there are weights
#   more classes       y; w if there are weights
cdef struct Source:
    const f32_t* columns
    intp_t column_stride       # from one column to the next
    const f32_t* rows
    intp_t row_stride          # from one row to the next
    const i32_t* y
    const i64_t* b             # weight times label
    const i64_t* w
    const i32_t* task
    const f64_t* number        # what y is if it is not a class


# The training rows. Weights and sums are integer multiples of w_unit and b_unit.
cdef struct Data:
    intp_t n_rows
    intp_t n_features
    intp_t n_classes           # more than two, or 0: sums of y decide
    intp_t n_tasks
    const u8_t* has_missing    # by feature
    const u8_t* categorical    # by feature: whether values are codes; NULL: none are
    f64_t w_unit
    f64_t b_unit
    Source source


# The rows of the node at hand: a stretch of an array that growth keeps
# partitioned, and their labels, collected anew for each node.
cdef struct Part:
    intp_t n
    i32_t* rows
    i32_t* y
    i64_t* b
    i64_t* w
    i64_t weight               # sum of w
    i64_t total                # sum of b


cdef struct Split:
    f64_t score
    i32_t feature
    f32_t threshold
    u8_t default_left          # side of NaN, or of a task that has no rows here
    bint perfect               # no other split can be better
    i64_t weight               # of the left side, as in Part
    i64_t total


# The rows of a node, copied together: its whole branch is then grown from nearby
# memory, whatever the size of the data. Within it rows have numbers of their own.
cdef struct Block:
    Source source
    intp_t max_rows            # 0: blocks would not pay
    intp_t start               # of the stretch of rows it covers
    intp_t end                 # 0: there is none at present
    i32_t* numbers             # of its rows where they came from
    f32_t* columns
    i32_t* y
    i64_t* b
    i64_t* w
    i32_t* task
    f64_t* number


# Features as bytes, for large nodes; see _codes.pxd.
cdef struct Codes:
    const u8_t* columns        # by feature, then by row; NULL: there are none
    const f32_t* lowest        # by feature and code: the values that have the code
    const f32_t* highest
    intp_t min_rows            # of a node that reads them
    u8_t* best                 # by row of the node: of the best split so far
    u8_t* x                    # of the feature at hand
    u8_t* y                    # labels of two classes


# A branch of so few rows that its nodes are sets of bits; see _small_nodes.pxd.
cdef struct Small:
    intp_t start               # of the stretch of rows it covers
    intp_t end                 # 0: there is none at present
    u64_t number
    u32_t node                 # the one at hand
    u32_t inside[LANES]        # the same; see _vectors.h
    u32_t best_left            # of the best split so far
    u32_t positive             # y of two classes without weights
    bint all_at_once           # whether features are fetched together, from rows
    f32_t* columns             # LANES values a feature
    u64_t* column_of           # by feature: number of the branch it was fetched for
    i32_t rows[LANES]             # by bit, as in Part when the branch began
    i64_t b[LANES]
    i64_t w[LANES]
    i32_t local_y[LANES]


cdef struct Frame:
    # A node that waits to be grown.
    intp_t start
    intp_t end
    i64_t weight
    i64_t total
    u64_t key
    intp_t n_constants
    u32_t node       # in a small branch: its rows
    i32_t parent     # whose right child this is, or -1
    i32_t depth


cdef struct Grower:
    Data data
    Settings settings
    Part part
    Split best
    u64_t key                  # of the node at hand
    u64_t stream
    Source at                  # where part.rows point to: the data, or a block
    Block blocks[N_BLOCKS]     # large, small
    Codes codes
    Small small
    Frame* stack               # grows with the depth
    intp_t stack_capacity
    # values of features, by row of the node: the first are those of the best split
    # so far, the second those of the feature at hand
    f32_t* x[2]
    f32_t* present             # 1 where there is a value, 0 for NaN
    # drawing features
    i32_t* order               # the features; the identity between nodes
    i32_t* swaps               # what undoes the draws of a node
    u8_t* known_constant       # by feature: constant at an ancestor
    i32_t* constants           # those features, in order of discovery
    intp_t n_constants
    # more than two classes: those of the node get numbers of their own
    intp_t n_local
    i32_t* local_y             # by row of the node
    i32_t* local_class         # by class
    i32_t* classes             # present at the node, ascending
    i64_t* class_weight        # by class; zero between nodes
    i64_t* node_hist           # by local number, as the next three
    i64_t* left_hist
    i64_t* right_hist
    i64_t* missing_hist
    # categories: sums by code, and means; see _categories.pxd
    i64_t category_weight[N_CATEGORIES]
    i64_t category_total[N_CATEGORIES]
    f32_t category_mean[N_CATEGORIES]
    # task splits: sums by task, zero between nodes, and the tasks present
    intp_t n_present
    i32_t* tasks
    i64_t* task_weight
    i64_t* task_total
    u8_t* task_left
    f64_t task_cut             # of the task split tried last
    f64_t task_gamma
    i32_t task_class


cdef struct Tree:
    intp_t n_nodes
    intp_t n_leaves
    intp_t n_task_splits
    Node* nodes
    u8_t* default_left
    f64_t* weight
    f64_t* impurity
    i32_t* leaf_start          # where the rows of a leaf begin
    # by task split: where the tasks' means were cut, the mean of all, and the class
    # that was counted
    f64_t* split_cut
    f64_t* split_mean
    i32_t* split_class
    # tasks against the default side: task split k has those from start[k] on
    i64_t* exception_start
    i32_t* exceptions
    intp_t exceptions_capacity
    # splits by categories: SET_WORDS words each, the codes that go left
    intp_t n_sets
    u64_t* sets
    intp_t sets_capacity
