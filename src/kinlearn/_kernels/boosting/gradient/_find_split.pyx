"""The best split of a node, from sums over its rows wherever they lie.

A node is split by a feature's bins, by the categories of a feature, or by tasks; see
docs/models/gradient-boosting.md for what is written here in code. Sums are integers
(see _histograms.h), so those of partitions can be added in any order.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from kinlearn._kernels._random cimport derive_stream, next_below
from kinlearn._kernels._typedefs cimport (
    f64_t,
    i8_t,
    i32_t,
    i64_t,
    intp_t,
    u8_t,
    u64_t,
)
from kinlearn._kernels.boosting.gradient._histograms cimport (
    Cut,
    Scale,
    Sums,
    bar,
    count,
    curvature,
    gradient,
    scan,
    scan_bounded,
    side,
    value_of,
)
from kinlearn._kernels.boosting.gradient._nodes cimport LEAF, TASK, Split

cdef enum:
    CATEGORIES = 256        # groups that a feature's split can have, and bits of it
    BYTES = CATEGORIES // 8
    PRIOR = 10              # units of noise that tasks are taken to differ by

cdef f64_t NEAR = 1 - 1e-6      # far more than the margin between scores


cdef class SplitSearch:
    """What splits may be, and memory for finding them.

    Parameters
    ----------
    n_bins : int32 array of shape (n_features,)
        Bins of each feature, at most 255, without that of missing values.
    categorical : uint8 array of shape (n_features,)
        Whether bins are categories.
    direction : int8 array of shape (n_features,)
        1 or -1 where values must rise or fall with the feature.
    groups : uint8 array of shape (n_groups, n_features)
        Features that may act together; no groups: all may.
    n_tasks : int
        Number of tasks.
    least_count : int
        Least count of rows in a leaf, at least 1.
    least_h : float
        Least sum of curvatures in a leaf, above 0.
    max_features : int
        Features that are drawn for each node.
    l2 : float
        Penalty on values.
    task_splits : bool
        Whether nodes may be split by tasks.
    n_threads : int, default=1
        How many threads may look for splits at once.

    Attributes
    ----------
    n_cells : int
        Cells of a histogram: the bins of all features, each with one more for missing
        values.
    set_bytes : int
        Bytes for the bits of what goes left.
    """

    def __cinit__(
        self, const i32_t[::1] n_bins, const u8_t[::1] categorical,
        const i8_t[::1] direction, const u8_t[:, ::1] groups, intp_t n_tasks, *,
        i64_t least_count, f64_t least_h, intp_t max_features, f64_t l2,
        bint task_splits, intp_t n_threads=1,
    ):
        cdef intp_t d = n_bins.shape[0], f, i, most = max(CATEGORIES, n_tasks)
        self.n_features, self.n_tasks, self.n_groups = d, n_tasks, groups.shape[0]
        self.max_features = max_features
        self.task_splits = task_splits and n_tasks > 1
        self.scale.l2, self.scale.least_count = l2, least_count
        self.scale.least_h = least_h
        self.set_bytes = max(CATEGORIES, n_tasks + 7) >> 3
        self.offset = <i32_t*> calloc(d + 1, sizeof(i32_t))
        self.n_bins = <i32_t*> calloc(d, sizeof(i32_t))
        self.categorical = <u8_t*> calloc(d, 1)
        self.direction = <i8_t*> calloc(d, 1)
        self.groups = <u8_t*> calloc(self.n_groups * d + 1, 1)
        self.allowed = <u8_t*> malloc(d)
        self.n_threads = max(n_threads, 1)
        self.scratch = <Groups*> calloc(self.n_threads, sizeof(Groups))
        if not (
            self.offset and self.n_bins and self.categorical and self.direction
            and self.groups and self.allowed and self.scratch
        ):
            raise MemoryError()
        for i in range(self.n_threads):
            if not allocate_groups(&self.scratch[i], most):
                raise MemoryError()
        for i in range(2):
            if not allocate_quest(&self.quests[i], d, self.set_bytes):
                raise MemoryError()
        for f in range(d):
            self.n_bins[f] = n_bins[f]
            self.offset[f + 1] = self.offset[f] + n_bins[f] + 1
            self.categorical[f] = categorical[f]
            self.direction[f] = direction[f]
            self.bounded = self.bounded or direction[f] != 0
        for f in range(self.n_groups * d):
            self.groups[f] = groups[f // d, f % d]
        self.n_cells = self.offset[d]

    def __dealloc__(self):
        cdef intp_t i
        free(self.offset)
        free(self.n_bins)
        free(self.categorical)
        free(self.direction)
        free(self.groups)
        free(self.allowed)
        for i in range(2):
            free(self.quests[i].candidates)
            free(self.quests[i].found)
            free(self.quests[i].bits)
        if self.scratch:
            for i in range(self.n_threads):
                free_groups(&self.scratch[i])
        free(self.scratch)

    def begin(self, *, f64_t g_unit, f64_t h_unit, int bits, f64_t noise, u64_t seed):
        """Begin a tree.

        Parameters
        ----------
        g_unit, h_unit : float
            What gradients and curvatures are multiples of.
        bits : int
            Bits of the counts.
        noise : float
            Variance of gradients, in units of the curvature.
        seed : int
            Decides the features that are drawn.
        """
        self.scale.g_unit, self.scale.h_unit = g_unit, h_unit
        self.scale.bits, self.scale.count_mask = bits, ((<i64_t> 1) << bits) - 1
        self.noise, self.seed = noise, seed

    def find_split(
        self, const i64_t[:, ::1] cells, const i64_t[:, ::1] tasks,
        const i64_t[::1] sums, *, f64_t lower, f64_t upper, const u8_t[::1] open,
        u64_t path, Split[::1] split, u8_t[::1] bits,
    ):
        """Find the best split of a node.

        Parameters
        ----------
        cells : int64 array of shape (n_cells, 2)
            Its histogram.
        tasks : int64 array of shape (n_tasks, 2)
            Sums of its rows by task; without rows, if there are no task splits.
        sums : int64 array of shape (2,)
            Sums of all its rows.
        lower, upper : float
            Bounds of values in it.
        open : uint8 array of shape (n_groups,)
            Groups of features that the splits above have left.
        path : int
            Its way from the root, which decides the features that are drawn.
        split : structured array of shape (1,), filled
            The split; a gain of 0 is none.
        bits : uint8 array of shape (set_bytes,), filled
            What goes left, of a split by categories or tasks.
        """
        cdef Place place
        cdef Sums* of_tasks = <Sums*> &tasks[0, 0] if tasks.shape[0] else NULL
        cdef const u8_t* groups = &open[0] if open.shape[0] else NULL
        place.node, place.path, place.depth = 0, path, 0
        place.lower, place.upper = lower, upper
        place.sums.g, place.sums.hc = sums[0], sums[1]
        with nogil:
            self.find(
                &place, groups, <const Sums*> &cells[0, 0], of_tasks, &split[0],
                &bits[0])

    cdef f64_t value(self, const Place* place) noexcept nogil:
        # Of a leaf, were it one.
        return value_of(
            gradient(&place.sums, &self.scale), curvature(&place.sums, &self.scale),
            self.scale.l2, place.lower, place.upper)

    cdef void narrow(self, i32_t feature, u8_t* open) noexcept nogil:
        # Groups without the feature are closed below its split.
        cdef intp_t i
        for i in range(self.n_groups):
            open[i] = open[i] and self.groups[i * self.n_features + feature]

    cdef void find(
        self, const Place* place, const u8_t* open, const Sums* cells,
        const Sums* tasks, Split* split, u8_t* bits,
    ) noexcept nogil:
        self.prepare(0, place, open, cells, tasks)
        self.look(0, 0, self.n_features, 0)
        self.choose(0, split, bits)

    # Features are searched independently of each other, in any order and by any
    # number of threads; only then one of what was found is chosen.

    cdef void prepare(
        self, int number, const Place* place, const u8_t* open, const Sums* cells,
        const Sums* tasks,
    ) noexcept nogil:
        cdef Quest* quest = &self.quests[number]
        quest.place, quest.cells = place, cells
        quest.tasks = tasks if self.task_splits else NULL
        quest.parent = side(
            gradient(&place.sums, &self.scale), curvature(&place.sums, &self.scale),
            self.scale.l2, place.lower, place.upper)
        self._draw(quest, open)

    cdef void look(
        self, int number, intp_t first, intp_t last, intp_t thread
    ) noexcept nogil:
        # At features from `first` to before `last`, and with the last one at tasks.
        # What is far below the best of these will not be chosen, and not be found.
        cdef Quest* quest = &self.quests[number]
        cdef f64_t floor = 0
        cdef intp_t i
        cdef i32_t f
        for i in range(quest.n_candidates):
            f = quest.candidates[i]
            if f < first or f >= last:
                continue
            if self.categorical[f]:
                self._look_at_groups(
                    quest, quest.cells + self.offset[f], self.n_bins[f] + 1,
                    self.n_bins[f], &self.scratch[thread], &quest.found[i],
                    quest.bits + i * BYTES, BYTES)
            else:
                self._look_at_feature(quest, f, floor, &quest.found[i])
                floor = max(floor, NEAR * quest.found[i].score)
        if last == self.n_features and quest.tasks != NULL:
            self._look_at_groups(
                quest, quest.tasks, self.n_tasks, self.n_tasks, &self.scratch[thread],
                &quest.found[self.n_features], quest.bits + self.n_features * BYTES,
                self.set_bytes)

    cdef void choose(self, int number, Split* split, u8_t* bits) noexcept nogil:
        # Of equals, the first.
        cdef Quest* quest = &self.quests[number]
        cdef f64_t best = bar(quest.parent)     # rounding is no gain
        cdef intp_t i, at = -1
        for i in range(quest.n_candidates):
            if quest.found[i].score > bar(best):
                best, at = quest.found[i].score, i
        if quest.tasks != NULL and quest.found[self.n_features].score > bar(best):
            best, at = quest.found[self.n_features].score, self.n_features
        if at < 0:
            memset(split, 0, sizeof(Split))
            split.feature = LEAF
            return
        split[0] = quest.found[at].split
        split.gain = (best - quest.parent) / 2
        if at == self.n_features:
            split.feature = TASK
            memcpy(bits, quest.bits + at * BYTES, self.set_bytes)
            return
        split.feature = quest.candidates[at]
        if split.by_set:
            # all sets of a tree are as long as those of tasks
            memset(bits, 0, self.set_bytes)
            memcpy(bits, quest.bits + at * BYTES, BYTES)

    cdef void _draw(self, Quest* quest, const u8_t* open) noexcept nogil:
        # Features to look at: those of groups that are open, of them a draw.
        cdef intp_t n = 0, f, i, j
        cdef i32_t* candidates = quest.candidates
        cdef u64_t stream
        cdef i32_t held
        if self.n_groups:
            memset(self.allowed, 0, self.n_features)
            for i in range(self.n_groups):
                if open[i]:
                    for f in range(self.n_features):
                        if self.groups[i * self.n_features + f]:
                            self.allowed[f] = 1
        for f in range(self.n_features):
            if self.n_groups == 0 or self.allowed[f]:
                candidates[n] = <i32_t> f
                n += 1
        quest.n_candidates = n
        if self.max_features >= n:
            return
        quest.n_candidates = self.max_features
        stream = derive_stream(self.seed, quest.place.path)
        for i in range(self.max_features):
            j = i + <intp_t> next_below(&stream, n - i)
            held = candidates[i]
            candidates[i] = candidates[j]
            candidates[j] = held

    cdef void _look_at_feature(
        self, const Quest* quest, i32_t f, f64_t floor, Found* found
    ) noexcept nogil:
        cdef const Sums* cells = quest.cells + self.offset[f]
        cdef const Place* place = quest.place
        cdef int n = self.n_bins[f], way, last
        cdef Sums nothing, missing = cells[n]
        cdef Split* split = &found.split
        cdef Cut best
        cdef i64_t n_left
        best.score, best.bin = bar(quest.parent), -1
        nothing.g = nothing.hc = 0
        # to the right; after the last bin, missing rows alone are there
        for way in range(2 if missing.hc else 1):
            last = n - 1 if missing.hc and way == 0 else n - 2
            if self.bounded:
                scan_bounded(
                    cells, last, missing if way else nothing, place.sums, way,
                    &self.scale, self.direction[f], place.lower, place.upper, &best)
            else:
                scan(
                    cells, last, missing if way else nothing, place.sums, way,
                    &self.scale, floor, &best)
        found.score = -INFINITY
        if best.bin < 0:
            return
        found.score = best.score
        split.bin, split.by_set = <u8_t> best.bin, False
        split.left_g, split.left_hc = best.left.g, best.left.hc
        split.default_left = best.missing_left
        if missing.hc == 0:     # they go with most of the rows
            n_left = count(&best.left, &self.scale)
            split.default_left = (
                n_left >= count(&place.sums, &self.scale) - n_left)

    cdef void _look_at_groups(
        self, const Quest* quest, const Sums* cells, intp_t n_cells, intp_t n_codes,
        Groups* groups, Found* found, u8_t* bits, intp_t n_bytes,
    ) noexcept nogil:
        # Groups (tasks, categories) in two parts, by their shrunken gradients.
        cdef i64_t n_left, n_all = count(&quest.place.sums, &self.scale)
        cdef Split* split = &found.split
        cdef intp_t i, at, prior
        cdef i32_t code
        cdef Cut best
        found.score = -INFINITY
        groups.n = 0
        for i in range(n_cells):
            if cells[i].hc:
                groups.id[groups.n] = <i32_t> i
                groups.sums[groups.n] = cells[i]
                groups.n += 1
        prior = PRIOR if cells == quest.tasks else 0
        if not order_groups(groups, quest.place, &self.scale, self.noise, prior):
            return
        best.score = bar(quest.parent)
        at = cut_groups(groups, quest.place, &self.scale, quest.parent, &best)
        if at < 0:
            return
        found.score = best.score
        n_left = count(&best.left, &self.scale)
        split.bin, split.by_set = 0, True
        split.left_g, split.left_hc = best.left.g, best.left.hc
        split.default_left = n_left >= n_all - n_left
        memset(bits, 255 if split.default_left else 0, n_bytes)
        for i in range(groups.n):
            code = groups.id[i]
            if code >= n_codes:     # missing values of a feature
                split.default_left = i <= at
            elif i <= at:
                bits[code >> 3] |= 1 << (code & 7)
            else:
                bits[code >> 3] &= ~(1 << (code & 7))


cdef bint allocate_quest(Quest* quest, intp_t d, intp_t set_bytes) noexcept nogil:
    quest.candidates = <i32_t*> malloc(d * sizeof(i32_t))
    quest.found = <Found*> calloc(d + 1, sizeof(Found))
    quest.bits = <u8_t*> malloc(d * BYTES + set_bytes)
    return quest.candidates != NULL and quest.found != NULL and quest.bits != NULL


# ---------------------------------------------------------------------- groups

cdef bint allocate_groups(Groups* groups, intp_t n) noexcept nogil:
    groups.id = <i32_t*> malloc(n * sizeof(i32_t))
    groups.sums = <Sums*> malloc(n * sizeof(Sums))
    groups.key = <f64_t*> malloc(n * sizeof(f64_t))
    groups.g = <f64_t*> malloc(n * sizeof(f64_t))
    groups.h = <f64_t*> malloc(n * sizeof(f64_t))
    return (
        groups.id != NULL and groups.sums != NULL and groups.key != NULL
        and groups.g != NULL and groups.h != NULL)


cdef void free_groups(Groups* groups) noexcept nogil:
    free(groups.id)
    free(groups.sums)
    free(groups.key)
    free(groups.g)
    free(groups.h)


cdef bint order_groups(
    Groups* groups, const Place* place, const Scale* k, f64_t noise, intp_t prior
) noexcept nogil:
    # Shrunken gradients, and the order by them; False if all is noise.
    cdef f64_t G = gradient(&place.sums, k), H = curvature(&place.sums, k)
    cdef f64_t mean, spread = 0, squares = 0, excess, freedom, penalty, g, h
    cdef intp_t i, n_there = 0
    if groups.n < 2 or H <= 0:
        return False
    mean = G / H
    for i in range(groups.n):
        g = gradient(&groups.sums[i], k)
        h = curvature(&groups.sums[i], k)
        groups.g[i], groups.h[i] = g, h
        if h > 0:
            spread += (g - h * mean) * (g - h * mean) / h
            squares += h * h
            n_there += 1
    freedom = H - squares / H
    excess = spread + (prior - (n_there - 1)) * noise
    if excess <= 0 or freedom <= 0:
        return False
    penalty = noise * freedom / excess
    for i in range(groups.n):
        g = (groups.g[i] - groups.h[i] * mean)
        g /= groups.h[i] + penalty if penalty > 0 else groups.h[i] + 1e-300
        groups.key[i] = g
        groups.g[i] = groups.h[i] * (mean + g)
    return True


cdef intp_t cut_groups(
    Groups* groups, const Place* place, const Scale* k, f64_t parent, Cut* best
) noexcept nogil:
    # The last group of the better cut's left side; -1 if no cut is better.
    cdef f64_t G = gradient(&place.sums, k), H = curvature(&place.sums, k)
    cdef f64_t l2 = k.l2, lower = place.lower, upper = place.upper
    cdef f64_t g, all_g = 0, base, score, left_g = 0, left_h = 0
    cdef i64_t n_left, n_all = count(&place.sums, k)
    cdef intp_t i, at = -1
    cdef Sums left
    for i in range(groups.n):
        all_g += groups.g[i]
    sort_groups(groups)
    base = parent - side(between(all_g, G), H, l2, lower, upper)
    left.g = left.hc = 0
    for i in range(groups.n - 1):
        left_g += groups.g[i]
        left_h += groups.h[i]
        left.g += groups.sums[i].g
        left.hc += groups.sums[i].hc
        n_left = count(&left, k)
        if n_left < k.least_count or left_h < k.least_h:
            continue
        if n_all - n_left < k.least_count or H - left_h < k.least_h:
            break
        g = gradient(&left, k)
        score = base + side(between(left_g, g), left_h, l2, lower, upper) + side(
            between(all_g - left_g, G - g), H - left_h, l2, lower, upper)
        if score > bar(best.score):
            best.score = score
            best.left = left
            at = i
    return at


cdef inline f64_t between(f64_t shrunken, f64_t plain) noexcept nogil:
    # Geometric mean, as gains are of squares; nothing if they contradict each other.
    cdef f64_t product = shrunken * plain
    if product <= 0:
        return 0
    return sqrt(product) if plain > 0 else -sqrt(product)


cdef inline bint comes_before(const Groups* x, intp_t a, intp_t b) noexcept nogil:
    return x.key[a] < x.key[b] or (x.key[a] == x.key[b] and x.id[a] < x.id[b])


cdef inline void swap_groups(Groups* x, intp_t a, intp_t b) noexcept nogil:
    x.key[a], x.key[b] = x.key[b], x.key[a]
    x.id[a], x.id[b] = x.id[b], x.id[a]
    x.sums[a], x.sums[b] = x.sums[b], x.sums[a]
    x.g[a], x.g[b] = x.g[b], x.g[a]
    x.h[a], x.h[b] = x.h[b], x.h[a]


cdef void sort_groups(Groups* x) noexcept nogil:
    # Heap sort: no memory, and no order that is slow.
    cdef intp_t start = x.n // 2, end = x.n, root, child
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            swap_groups(x, 0, end)
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and comes_before(x, child, child + 1):
                child += 1
            if not comes_before(x, root, child):
                break
            swap_groups(x, root, child)
            root = child
