# The nodes of boosted trees, as growth writes them and predictions read them.

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t

cdef enum:
    LEAF = -1
    TASK = -2

# 16 bytes; `kinlearn.boosting.gradient._model.NODE` is the same for NumPy.
cdef packed struct Node:
    i32_t feature       # LEAF, TASK, or the feature whose bins are split
    i32_t left          # left child, the right one follows; of a leaf, its number
    i32_t first_byte    # of the bits of what goes left; -1 for a cut between bins
    u8_t bin            # the last one that goes left
    u8_t n_bins         # of the feature; codes from here on are missing values
    u8_t default_left   # where missing values and unknown tasks go
    u8_t unused

# The best split of a node, 32 bytes; `kinlearn.boosting.gradient._model.SPLIT` is the
# same for NumPy. What goes left by a set stands in bits beside it.
cdef packed struct Split:
    f64_t gain          # 0 for none
    i64_t left_g        # sums of the rows that go left
    i64_t left_hc
    i32_t feature       # as of nodes
    u8_t bin
    u8_t by_set
    u8_t default_left
    u8_t unused


cdef inline bint goes_left(
    const Node* node, const u8_t* sets, int code, intp_t n_tasks
) noexcept nogil:
    # `code` is the row's bin of the feature, or its task
    if node.feature == TASK:
        if code < 0 or code >= n_tasks:
            return node.default_left
    elif code >= node.n_bins:
        return node.default_left
    elif node.first_byte < 0:
        return code <= node.bin
    return (sets[node.first_byte + (code >> 3)] >> (code & 7)) & 1
