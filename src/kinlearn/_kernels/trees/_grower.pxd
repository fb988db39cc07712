# What the growth of one extremely randomised tree works with.

from kinlearn._kernels._typedefs cimport (
    f32_t, f64_t, i32_t, i64_t, intp_t, u8_t, u64_t
)
from kinlearn._kernels.trees._criteria cimport Criterion


cdef enum:
    LEAF = -1
    TASK_SPLIT = -2


cdef struct Node:
    i32_t feature      # LEAF, TASK_SPLIT, or the feature of x <= threshold
    f32_t threshold
    i32_t right        # a leaf's is itself; the left child is always the next node
    i32_t slot         # number of the leaf, or of the task split


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


# The training rows. Weights and sums are integer multiples of w_unit and b_unit.
cdef struct Data:
    intp_t n_rows
    intp_t n_features
    intp_t n_classes           # more than two, or 0: sums of y decide
    intp_t n_tasks
    const f32_t* columns       # n_features columns of n_rows values
    const f32_t* rows          # the same by rows, if it is there; else NULL
    intp_t row_stride
    const u8_t* has_missing    # by feature
    const i32_t* task
    const f64_t* number        # what y is if it is not a class
    f64_t w_unit
    f64_t b_unit


# The rows of the node at hand: a stretch of arrays that growth keeps partitioned.
# Of y, b and w those that the kind of label needs; the others are NULL.
#   two classes        y (0 or 1); b and w if there are weights
#   a number           b; w if there are weights
#   more classes       y; w if there are weights
cdef struct Part:
    intp_t n
    i32_t* rows
    i32_t* y
    i64_t* b                   # weight times label
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


# The rows of a small node, copied together: its whole branch is then grown from
# nearby memory, whatever the size of the data. Within it rows have numbers of
# their own.
cdef struct Block:
    intp_t max_rows            # 0: blocks would not pay
    intp_t start               # of the stretch of rows it covers
    intp_t end                 # 0: there is none at present
    f32_t* columns
    i32_t* rows                # their numbers in the data
    i32_t* task
    f64_t* number


cdef struct Frame:
    # A node that waits to be grown.
    intp_t start
    intp_t end
    i64_t weight
    i64_t total
    u64_t key
    intp_t n_constants
    i32_t parent     # whose right child this is, or -1
    i32_t depth


cdef struct Grower:
    Data data
    Settings settings
    Part part
    Split best
    u64_t stream
    # where part.rows point to: the data, or a block
    const f32_t* columns
    intp_t stride              # from one column to the next
    const i32_t* task
    const f64_t* number
    Block block
    Frame* stack               # grows with the depth
    intp_t stack_capacity
    # the feature at hand
    f32_t* x                   # its values, by row of the node
    f32_t* best_x              # those of the best split so far
    f32_t* present             # 1 where there is a value, 0 for NaN
    # drawing features
    i32_t* order               # the features; the identity between nodes
    i32_t* swaps               # what undoes the draws of a node
    u8_t* known_constant       # by feature: constant at an ancestor
    i32_t* constants           # those features, in order of discovery
    intp_t n_constants
    # room for one side of a partition
    i32_t* spare_i32
    i64_t* spare_i64
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
    # task splits: sums by task, zero between nodes, and the tasks present
    intp_t n_present
    i32_t* tasks
    i32_t* row_task            # by row of the node
    i64_t* task_weight
    i64_t* task_total
    u8_t* task_left


cdef struct Tree:
    intp_t n_nodes
    intp_t n_leaves
    intp_t n_task_splits
    Node* nodes
    u8_t* default_left
    f64_t* weight
    f64_t* impurity
    i32_t* leaf_start          # where the rows of a leaf begin
    # tasks against the default side: task split k has those from start[k] on
    i64_t* exception_start
    i32_t* exceptions
    intp_t exceptions_capacity
