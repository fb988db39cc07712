"""A tree that grows best leaf first, wherever its rows lie.

Whoever has the rows asks for the leaf to split, parts its rows, and brings sums over
those of the new leaves::

    growth.begin(sums)
    if growth.wants_split(0):
        growth.find_split(0, ...)
    while (leaf := growth.best_leaf()) >= 0:
        growth.copy_split(leaf, split, bits)    # by which rows are parted
        other = growth.split_leaf(leaf)
        for child in (leaf, other):
            if growth.wants_split(child):
                growth.find_split(child, ...)
    growth.copy_tree(...)

`Grower` does that from C for rows in one place.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from kinlearn._kernels._random cimport derive_stream
from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t
from kinlearn._kernels.boosting.gradient._find_split cimport SplitSearch
from kinlearn._kernels.boosting.gradient._histograms cimport (
    Sums,
    bar,
    count,
    curvature,
)
from kinlearn._kernels.boosting.gradient._nodes cimport LEAF, Node, Split


cdef class Growth:
    """The leaves of a tree, their best splits, and the nodes above them.

    Parameters
    ----------
    search : SplitSearch
        Finds splits.
    max_leaves, max_depth : int
        Limits; a depth of 0 is none.

    Attributes
    ----------
    n_leaves, n_nodes, n_set_bytes : int
        How large the tree is.
    """

    def __cinit__(self, SplitSearch search, *, intp_t max_leaves, intp_t max_depth):
        cdef intp_t n = max(max_leaves, 1)
        self.search, self.max_leaves, self.max_depth = search, n, max_depth
        self.leaves = <Leaf*> calloc(n, sizeof(Leaf))
        self.leaf_bits = <u8_t*> calloc(n, search.set_bytes)
        self.open = <u8_t*> calloc(n, search.n_groups + 1)
        self.nodes = <Node*> calloc(2 * n, sizeof(Node))
        self.gain = <f64_t*> calloc(2 * n, sizeof(f64_t))
        self.value = <f64_t*> calloc(2 * n, sizeof(f64_t))
        self.weight = <f64_t*> calloc(2 * n, sizeof(f64_t))
        self.sets = <u8_t*> calloc(n, search.set_bytes)
        if not (
            self.leaves and self.leaf_bits and self.open and self.nodes and self.gain
            and self.value and self.weight and self.sets
        ):
            raise MemoryError()

    def __dealloc__(self):
        free(self.leaves)
        free(self.leaf_bits)
        free(self.open)
        free(self.nodes)
        free(self.gain)
        free(self.value)
        free(self.weight)
        free(self.sets)

    def begin(self, const i64_t[::1] sums):
        """Begin a tree whose root, leaf 0, has these sums."""
        cdef Sums of_root
        of_root.g, of_root.hc = sums[0], sums[1]
        self.start(of_root)

    def wants_split(self, intp_t leaf):
        """Whether a leaf may be split, so that its best split must be found."""
        return self.wants(leaf)

    def find_split(
        self, intp_t leaf, const i64_t[:, ::1] cells, const i64_t[:, ::1] tasks
    ):
        """Find the best split of a leaf; `SplitSearch.find_split` has the arrays."""
        cdef Sums* of_tasks = <Sums*> &tasks[0, 0] if tasks.shape[0] else NULL
        with nogil:
            self.find(leaf, <const Sums*> &cells[0, 0], of_tasks)

    def best_leaf(self):
        """The leaf to split next; -1 if there is none, or there are enough."""
        return self.best()

    def copy_split(self, intp_t leaf, Split[::1] split, u8_t[::1] bits):
        """The best split of a leaf, for parting its rows."""
        split[0] = self.leaves[leaf].split
        memcpy(&bits[0], self.bits(leaf), self.search.set_bytes)

    def put_split(self, intp_t leaf, const Split[::1] split, const u8_t[::1] bits):
        """Take the best split of a leaf as `copy_split` gave it."""
        self.leaves[leaf].split = split[0]
        memcpy(self.bits(leaf), &bits[0], self.search.set_bytes)

    def split_leaf(self, intp_t leaf):
        """Split a leaf by its best split: its left side keeps the number.

        Returns the number of the right side.
        """
        return self.split(leaf)

    def copy_tree(
        self, Node[::1] nodes, f64_t[::1] gain, f64_t[::1] value, f64_t[::1] weight,
        u8_t[::1] sets, f64_t[::1] leaf_value, f64_t[:, ::1] bounds,
    ):
        """The tree as it is now.

        Parameters
        ----------
        nodes, gain, value, weight : arrays of shape (n_nodes,), filled
            The nodes, gains of splits, and of all nodes the Newton step and the
            curvature.
        sets : uint8 array of shape (n_set_bytes,), filled
            Bits of categories and tasks that go left.
        leaf_value : float64 array of shape (n_leaves,), filled
            The Newton steps of the leaves, by their numbers.
        bounds : float64 array of shape (n_leaves, 2), filled
            Bounds of the values in each leaf.
        """
        cdef intp_t i
        for i in range(self.n_nodes):
            nodes[i] = self.nodes[i]
            gain[i], value[i], weight[i] = self.gain[i], self.value[i], self.weight[i]
        for i in range(self.n_leaves):
            nodes[self.leaves[i].place.node].left = <i32_t> i
            leaf_value[i] = self.value[self.leaves[i].place.node]
            bounds[i, 0] = self.leaves[i].place.lower
            bounds[i, 1] = self.leaves[i].place.upper
        for i in range(self.n_set_bytes):
            sets[i] = self.sets[i]

    # -------------------------------------------------------------- from C

    cdef u8_t* bits(self, intp_t leaf) noexcept nogil:
        return self.leaf_bits + leaf * self.search.set_bytes

    cdef void start(self, Sums sums) noexcept nogil:
        cdef Leaf* leaf = &self.leaves[0]
        memset(leaf, 0, sizeof(Leaf))
        leaf.place.sums = sums
        leaf.place.lower, leaf.place.upper = -INFINITY, INFINITY
        memset(self.open, 1, self.search.n_groups)
        self.n_leaves, self.n_nodes, self.n_set_bytes = 1, 1, 0
        self._close(leaf)

    cdef bint wants(self, intp_t leaf) noexcept nogil:
        cdef const Place* place = &self.leaves[leaf].place
        return (
            self.n_leaves < self.max_leaves
            and (self.max_depth == 0 or place.depth < self.max_depth)
            and count(&place.sums, &self.search.scale)
            >= 2 * self.search.scale.least_count
            and curvature(&place.sums, &self.search.scale) > 0
        )

    cdef bint is_smaller(self, intp_t leaf, intp_t other) noexcept nogil:
        return (
            count(&self.leaves[leaf].place.sums, &self.search.scale)
            < count(&self.leaves[other].place.sums, &self.search.scale))

    cdef void find(
        self, intp_t leaf, const Sums* cells, const Sums* tasks
    ) noexcept nogil:
        self.search.find(
            &self.leaves[leaf].place, self.open + leaf * self.search.n_groups, cells,
            tasks, &self.leaves[leaf].split, self.bits(leaf))

    # `find` in three: `self.search.look` comes between these two.

    cdef void prepare(
        self, int quest, intp_t leaf, const Sums* cells, const Sums* tasks
    ) noexcept nogil:
        self.search.prepare(
            quest, &self.leaves[leaf].place, self.open + leaf * self.search.n_groups,
            cells, tasks)

    cdef void choose(self, int quest, intp_t leaf) noexcept nogil:
        self.search.choose(quest, &self.leaves[leaf].split, self.bits(leaf))

    cdef intp_t best(self) noexcept nogil:
        cdef intp_t best = 0, i
        if self.n_leaves == self.max_leaves:
            return -1
        for i in range(1, self.n_leaves):
            if self.leaves[i].split.gain > bar(self.leaves[best].split.gain):
                best = i
        return best if self.leaves[best].split.gain > 0 else -1

    cdef intp_t split(self, intp_t number) noexcept nogil:
        cdef Leaf* leaf = &self.leaves[number]
        cdef Leaf* other = &self.leaves[self.n_leaves]
        cdef Split* split = &leaf.split
        cdef Node* node = &self.nodes[leaf.place.node]
        cdef u8_t* open = self.open + number * self.search.n_groups
        cdef f64_t middle
        node.feature = split.feature
        node.left = <i32_t> self.n_nodes
        node.bin = split.bin
        node.default_left = split.default_left
        if split.feature >= 0:
            node.n_bins = <u8_t> self.search.n_bins[split.feature]
        if split.by_set:
            node.first_byte = <i32_t> self.n_set_bytes
            memcpy(
                self.sets + self.n_set_bytes, self.bits(number),
                self.search.set_bytes)
            self.n_set_bytes = self.n_set_bytes + self.search.set_bytes
        self.gain[leaf.place.node] = split.gain
        leaf.place.depth += 1
        other[0] = leaf[0]
        # a leaf's own, so that the order of splits does not matter
        other.place.path = derive_stream(leaf.place.path, 2)
        leaf.place.path = derive_stream(leaf.place.path, 1)
        if split.feature >= 0:
            self.search.narrow(split.feature, open)
        memcpy(
            self.open + self.n_leaves * self.search.n_groups, open,
            self.search.n_groups)
        other.place.sums.g -= split.left_g
        other.place.sums.hc -= split.left_hc
        leaf.place.sums.g, leaf.place.sums.hc = split.left_g, split.left_hc
        if split.feature >= 0 and self.search.direction[split.feature]:
            middle = self.search.value(&leaf.place) + self.search.value(&other.place)
            middle /= 2
            if self.search.direction[split.feature] > 0:
                leaf.place.upper = other.place.lower = middle
            else:
                leaf.place.lower = other.place.upper = middle
        leaf.place.node = <i32_t> self.n_nodes
        other.place.node = <i32_t> self.n_nodes + 1
        self._close(leaf)
        self._close(other)
        leaf.split.gain = other.split.gain = 0      # until another is found
        self.n_nodes = self.n_nodes + 2
        self.n_leaves = self.n_leaves + 1
        return self.n_leaves - 1

    cdef void _close(self, const Leaf* leaf) noexcept nogil:
        cdef i32_t i = leaf.place.node
        memset(&self.nodes[i], 0, sizeof(Node))
        self.nodes[i].feature = LEAF
        self.nodes[i].first_byte = -1
        self.gain[i] = 0
        self.value[i] = self.search.value(&leaf.place)
        self.weight[i] = curvature(&leaf.place.sums, &self.search.scale)
