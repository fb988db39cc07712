# Best cut of one feature at one node, by the information gain of the tasks.
#
# A *cell* is a pair (task, label); a *group* is the set of cells whose entropy
# the criterion takes together: a task, or all cells under the joint criterion.
# Both are numbered within the node, so that nothing here depends on how many
# tasks there are elsewhere.
#
# With f(x) = x log x, a group of cells with weights n_c and total n has
#
#     n * IG = sum_c [f(l_c) + f(n_c - l_c) - f(n_c)] - [f(l) + f(n - l) - f(n)]
#
# for left weights l_c and their sum l. The scan moves the bins of a feature to
# the left one by one and updates this *reduction* for the groups it touches.
#
# Weights are integers: row counts, or fixed-point numbers. Sums of them are
# exact, whatever the order, so equal data give equal trees.

from libc.math cimport INFINITY, log, sqrt
from libc.string cimport memset

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t, u64_t

cdef extern from *:
    """
    #include <math.h>
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int kin_lowest_bit(unsigned long long x) {
        unsigned long index; _BitScanForward64(&index, x); return (int)index;
    }
    #else
    static inline int kin_lowest_bit(unsigned long long x) {
        return __builtin_ctzll(x);
    }
    #endif
    /* x log x of small whole weights; 128 KB, half of a common L2 cache at the most. */
    #define KIN_TABLE 16384
    static double kin_xlogx[KIN_TABLE];
    static void kin_fill_xlogx(void) {
        int k;
        for (k = 1; k < KIN_TABLE; k++) kin_xlogx[k] = k * log((double)k);
    }
    /* A later candidate must be better by more than this: rounding, and with it the
       order of rows and tasks, never decides between equal splits. */
    #define KIN_TIE 1e-10
    #define KIN_HANDICAP 0.5
    #define KIN_INV_PI 0.3183098861837907  /* Windows has no M_1_PI */
    """
    int lowest_bit "kin_lowest_bit"(u64_t x) noexcept nogil
    const intp_t TABLE "KIN_TABLE"
    f64_t* XLOGX "kin_xlogx"
    void fill_xlogx "kin_fill_xlogx"() noexcept nogil  # before the first search
    const f64_t TIE "KIN_TIE"
    const f64_t HANDICAP "KIN_HANDICAP"
    const f64_t INV_PI "KIN_INV_PI"

cdef enum:
    JOINT = 0
    SUM = 1
    MAX = 2
    MISSING = 255
    N_BINS = 256
    # histograms are used when a node has this many rows for each cell ...
    DENSE_ROWS = 100
    # ... or when it has so few cells that the histogram stays in the L1 cache
    FEW_CELLS = 6
    # roles of cells in the order of categories
    OTHER_TASK = 0
    OTHER_LABEL = 1
    COUNTED = 2
    MIN_SUPPORT = 2
    DEVIATIONS = 3

cdef struct Search:
    # the node: its items, with cell and weight beside them. An item is a row of the
    # data, or, if there is `multiplicity`, stands for several of the same bin and cell
    intp_t n_items
    const i32_t* row
    const i32_t* cell
    const i64_t* weight
    const i64_t* multiplicity
    i64_t n_rows
    i32_t n_cells
    i32_t n_groups
    const i64_t* cell_total
    const i32_t* cell_group
    const i64_t* group_total
    i64_t total
    f64_t inv_total
    # the settings
    i32_t criterion
    i64_t min_samples_leaf
    i64_t min_weight_leaf
    f64_t row_weight
    # scratch: a histogram [bin, cell], or the items of each bin as linked lists
    bint dense
    i64_t* histogram
    i64_t[N_BINS] bin_rows
    u64_t[4] occupied
    i32_t[N_BINS] head
    i32_t* next_item
    # scratch: state of a scan from left to right
    i64_t* left_cell
    i64_t* left_group
    f64_t* reduction
    i32_t* touched
    i32_t* is_touched
    i32_t n_touched
    i64_t n_left
    i64_t left_weight
    f64_t sum_gain
    f64_t sum_reduction
    f64_t max_gain
    i32_t max_group
    # categories: by cell, whether it counts for their order; bins by row of the data
    const u8_t* role
    u8_t* ranked

cdef struct Split:
    f64_t gain
    f64_t second
    i32_t feature
    i32_t bin
    bint missing_left
    bint has_missing
    # of categories: what was taken off the gain; bins at the node, those on the left
    f64_t handicap
    u64_t[4] present
    u64_t[4] on_left


cdef inline f64_t f(i64_t x) noexcept nogil:
    if x < TABLE:
        return XLOGX[x]
    return <f64_t>x * log(<f64_t>x)


cdef inline bint try_feature(Search* s, const u8_t* column, intp_t stride,
                             i32_t feature, i32_t n_bins, Split* best) noexcept nogil:
    # Improve `best` by the feature's best cut; False if it is constant here.
    cdef bint varies
    if s.dense:
        _fill_histogram(s, column, stride)
    else:
        _link_items(s, column, stride)
    varies = _several_bins(s)
    if varies:
        if s.dense and s.n_cells == 2 and s.n_groups == 1 and s.min_samples_leaf == 1:
            _scan_binary(s, feature, n_bins, best)
        else:
            _scan(s, feature, n_bins, best)
    if s.dense:
        _clear_histogram(s)
    return varies


# ----------------------------------------- categories in the order of their labels
#
# The frequency of a label orders them: of two classes the best cut of this order is the
# best of all ways to part the categories (Breiman et al. 1984). It is the label that
# is the most frequent at the node, among the rows of the tasks that have it there.
# Frequencies are drawn towards the average by a row; categories of less than
# MIN_SUPPORT rows' worth of weight count as average, and stay together.
#
# The rows that give the order also score its cuts, so k categories seem to gain where
# there is nothing to gain: deviations z that are independent normals, parted by their
# signs, have n * IG = (sum |z|)^2 / 2k, which is k / pi on average, with a standard
# deviation of nearly sqrt(k) / 2. A cut that does not gain DEVIATIONS of these more is
# none, and HANDICAP times as much is taken off its gain when features are compared.
# With 1, useful categories would be parted after the numbers, when few of their rows
# are left. Two categories have but one cut, whatever the order.

cdef inline f64_t _noise(const Search* s, i32_t n) noexcept nogil:
    # What a cut of n categories without any information hardly ever gains.
    cdef f64_t k = n - 2, gain
    if n <= 2:
        return 0.0
    gain = (k * INV_PI + 0.5 * DEVIATIONS * sqrt(k)) * s.row_weight * s.inv_total
    return gain * s.n_groups if s.criterion == SUM else gain


cdef inline bint has_bit(const u64_t* set, i32_t b) noexcept nogil:
    return set[b >> 6] >> (b & 63) & 1


cdef inline bint try_categories(Search* s, const u8_t* column, intp_t stride,
                                i32_t feature, i32_t n_bins,
                                Split* best) noexcept nogil:
    # `try_feature` for bins without an order; False also if no cut beats noise.
    cdef i64_t[N_BINS] weight, counted
    cdef i32_t[N_BINS] order
    cdef u8_t[N_BINS] rank
    cdef f64_t[N_BINS] frequency
    cdef i64_t all_weight = 0, all_counted = 0
    cdef f64_t average, noise
    cdef u64_t[4] present
    cdef Split trial
    cdef i32_t b, n = 0, n_apart = 0, k
    cdef bint some_average = False
    cdef intp_t i
    cdef u8_t role
    memset(weight, 0, sizeof(weight))
    memset(counted, 0, sizeof(counted))
    memset(present, 0, sizeof(present))
    for i in range(s.n_items):
        b = column[s.row[i] * stride]
        present[b >> 6] |= <u64_t>1 << (b & 63)
        role = s.role[s.cell[i]]
        if role != OTHER_TASK:
            weight[b] += s.weight[i]
        if role == COUNTED:
            counted[b] += s.weight[i]
    for b in range(MISSING + 1):
        all_weight += weight[b]
        all_counted += counted[b]
    average = <f64_t>all_counted / <f64_t>all_weight
    rank[MISSING] = MISSING
    for b in range(MISSING):
        if not has_bit(present, b):
            continue
        if weight[b] >= MIN_SUPPORT * s.row_weight:
            frequency[b] = (counted[b] + average * s.row_weight) / (
                weight[b] + s.row_weight)
            n_apart += 1
        else:
            frequency[b] = average
            some_average = True
        k = n
        while k > 0 and frequency[order[k - 1]] > frequency[b]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = b
        n += 1
    k = -1
    for b in range(n):
        if b == 0 or frequency[order[b]] != frequency[order[b - 1]]:
            k += 1
        rank[order[b]] = <u8_t>k
    for i in range(s.n_items):
        s.ranked[s.row[i]] = rank[column[s.row[i] * stride]]
    trial.feature = -1
    trial.gain = trial.second = -1.0
    noise = _noise(s, n_apart + some_average)
    if noise > 0.0:  # to be exceeded, not equalled
        trial.gain, trial.second = noise, INFINITY
    if not try_feature(s, s.ranked, 1, feature, n_bins, &trial) or trial.feature < 0:
        return False
    trial.handicap = HANDICAP * noise
    trial.gain -= trial.handicap
    if _better(trial.gain, trial.second, best):
        best[0] = trial
        best.present = present
        memset(best.on_left, 0, sizeof(best.on_left))
        for k in range(n):
            if rank[order[k]] <= trial.bin:
                best.on_left[order[k] >> 6] |= <u64_t>1 << (order[k] & 63)
    return True


# ------------------------------------------------ rows in the order of a feature

cdef inline void _fill_histogram(Search* s, const u8_t* column,
                                 intp_t stride) noexcept nogil:
    cdef intp_t i, n = s.n_items, n_cells = s.n_cells, at
    cdef const i32_t* row = s.row
    cdef const i32_t* cell = s.cell
    cdef const i64_t* weight = s.weight
    cdef i64_t* histogram = s.histogram
    cdef u64_t* occupied = s.occupied
    cdef i64_t* bin_rows = s.bin_rows
    cdef intp_t b
    occupied[0] = occupied[1] = occupied[2] = occupied[3] = 0
    if n < 2 * N_BINS:
        for i in range(n):
            b = column[row[i] * stride]
            histogram[b * n_cells + cell[i]] += weight[i]
            occupied[b >> 6] |= <u64_t>1 << (b & 63)
    else:
        for i in range(n):
            histogram[<intp_t>column[row[i] * stride] * n_cells + cell[i]] += weight[i]
        for b in range(N_BINS):
            for at in range(b * n_cells, (b + 1) * n_cells):
                if histogram[at]:
                    occupied[b >> 6] |= <u64_t>1 << (b & 63)
                    break
    if s.min_samples_leaf > 1 and s.multiplicity == NULL:
        for i in range(n):
            bin_rows[column[row[i] * stride]] += 1
    elif s.min_samples_leaf > 1:
        for i in range(n):
            bin_rows[column[row[i] * stride]] += s.multiplicity[i]


cdef inline void _clear_histogram(Search* s) noexcept nogil:
    cdef intp_t b, at, n_cells = s.n_cells
    cdef i64_t* histogram = s.histogram
    cdef i32_t word
    cdef u64_t bits
    for word in range(4):
        bits = s.occupied[word]
        while bits:
            b = 64 * word + lowest_bit(bits)
            bits &= bits - 1
            for at in range(b * n_cells, (b + 1) * n_cells):
                histogram[at] = 0
            s.bin_rows[b] = 0


cdef inline void _link_items(Search* s, const u8_t* column,
                             intp_t stride) noexcept nogil:
    cdef intp_t i, n = s.n_items
    cdef i32_t b
    cdef u64_t bit
    cdef u64_t* occupied = s.occupied
    occupied[0] = occupied[1] = occupied[2] = occupied[3] = 0
    for i in range(n):
        b = column[s.row[i] * stride]
        bit = <u64_t>1 << (b & 63)
        s.next_item[i] = s.head[b] if occupied[b >> 6] & bit else -1
        s.head[b] = <i32_t>i
        occupied[b >> 6] |= bit


cdef inline bint _several_bins(Search* s) noexcept nogil:
    cdef i32_t word
    cdef i32_t n_words = 0
    for word in range(4):
        if s.occupied[word]:
            if s.occupied[word] & (s.occupied[word] - 1):
                return True
            n_words += 1
    return n_words > 1


# ------------------------------------------------------------ the general scan

cdef inline void _move(Search* s, i32_t cell, i64_t weight) noexcept nogil:
    # Move weight of a cell to the left.
    cdef i32_t group = s.cell_group[cell]
    cdef i64_t left = s.left_cell[cell]
    cdef i64_t right = s.cell_total[cell] - left
    cdef f64_t change = (f(left + weight) - f(left)) + (f(right - weight) - f(right))
    s.left_cell[cell] = left + weight
    s.left_weight += weight
    left = s.left_group[group]
    right = s.group_total[group] - left
    change -= (f(left + weight) - f(left)) + (f(right - weight) - f(right))
    s.left_group[group] = left + weight
    s.reduction[group] += change
    s.sum_reduction += change
    if s.criterion == SUM:
        s.sum_gain += change / <f64_t>s.group_total[group]
    elif s.criterion == MAX and not s.is_touched[group]:
        s.is_touched[group] = 1
        s.touched[s.n_touched] = group
        s.n_touched += 1


cdef inline void _move_bin(Search* s, i32_t b) noexcept nogil:
    cdef i32_t i, cell
    cdef i64_t weight
    cdef const i64_t* line
    if s.dense:
        line = s.histogram + <intp_t>b * s.n_cells
        for cell in range(s.n_cells):
            weight = line[cell]
            if weight:
                _move(s, cell, weight)
        s.n_left += s.bin_rows[b]
    else:
        i = s.head[b]
        while i >= 0:
            _move(s, s.cell[i], s.weight[i])
            s.n_left += 1 if s.multiplicity == NULL else s.multiplicity[i]
            i = s.next_item[i]


cdef inline void _update_max(Search* s) noexcept nogil:
    # Largest gain of a group at this cut.
    #
    # Only the touched groups have changed; all are looked at again when the
    # leader was touched and fell back, which is as rare as its rows are few.
    cdef i32_t k, group
    cdef f64_t gain
    cdef f64_t leader = s.reduction[s.max_group] / <f64_t>s.group_total[s.max_group]
    if leader < s.max_gain:
        s.max_gain = leader
        for group in range(s.n_groups):
            gain = s.reduction[group] / <f64_t>s.group_total[group]
            if gain > s.max_gain:
                s.max_gain = gain
                s.max_group = group
        for k in range(s.n_touched):
            s.is_touched[s.touched[k]] = 0
    else:
        s.max_gain = leader
        for k in range(s.n_touched):
            group = s.touched[k]
            s.is_touched[group] = 0
            gain = s.reduction[group] / <f64_t>s.group_total[group]
            if gain > s.max_gain:
                s.max_gain = gain
                s.max_group = group
    s.n_touched = 0


cdef inline bint _better(f64_t gain, f64_t second, const Split* best) noexcept nogil:
    return gain > best.gain + TIE or (
        gain > best.gain - TIE and second > best.second + TIE)


cdef inline void _cut(Search* s, i32_t feature, i32_t bin, bint missing_left,
                      bint has_missing, Split* best) noexcept nogil:
    # Score the cut between what has moved and what has not.
    cdef f64_t gain, second
    # n_left is not counted when one row is enough on either side
    if s.min_samples_leaf > 1 and (
            s.n_left < s.min_samples_leaf
            or s.n_rows - s.n_left < s.min_samples_leaf):
        return
    if (s.left_weight < s.min_weight_leaf
            or s.total - s.left_weight < s.min_weight_leaf):
        return
    second = s.sum_reduction * s.inv_total
    if s.criterion == JOINT:
        gain = second
    elif s.criterion == SUM:
        gain = s.sum_gain
    else:
        _update_max(s)
        gain = s.max_gain
    if _better(gain, second, best):
        best.gain = gain
        best.second = second
        best.feature = feature
        best.bin = bin
        best.missing_left = missing_left
        best.has_missing = has_missing


cdef inline void _restart(Search* s) noexcept nogil:
    cdef i32_t k
    for k in range(s.n_touched):
        s.is_touched[s.touched[k]] = 0
    memset(s.left_cell, 0, s.n_cells * sizeof(i64_t))
    memset(s.left_group, 0, s.n_groups * sizeof(i64_t))
    memset(s.reduction, 0, s.n_groups * sizeof(f64_t))
    s.n_touched = 0
    s.n_left = 0
    s.left_weight = 0
    s.sum_gain = 0.0
    s.sum_reduction = 0.0
    s.max_gain = 0.0
    s.max_group = 0


cdef inline void _scan(Search* s, i32_t feature, i32_t n_bins,
                       Split* best) noexcept nogil:
    # Score every cut: missing values to the right, then to the left.
    cdef bint has_missing = s.occupied[3] >> 63 != 0
    cdef bint missing_left
    cdef i32_t b, before, word, turn
    cdef u64_t bits
    for turn in range(1 + has_missing):
        missing_left = turn == 1
        _restart(s)
        if missing_left:
            _move_bin(s, MISSING)
        before = -1
        for word in range(4):
            bits = s.occupied[word]
            while bits:
                b = 64 * word + lowest_bit(bits)
                bits &= bits - 1
                if b == MISSING:
                    # all values left, all missing ones right
                    if not missing_left:
                        _cut(s, feature, n_bins - 1, False, True, best)
                    break
                if before >= 0:
                    # the edge in the middle of the empty bins
                    _cut(s, feature, (before + b - 1) // 2, missing_left,
                         has_missing, best)
                _move_bin(s, b)
                before = b


# --------------------------------------------- one group of two cells, the pooled

cdef inline void _scan_binary(Search* s, i32_t feature, i32_t n_bins,
                              Split* best) noexcept nogil:
    # The general scan for two cells in one group, with its state in registers.
    cdef bint has_missing = s.occupied[3] >> 63 != 0
    cdef bint missing_left
    cdef i64_t total0 = s.cell_total[0], total1 = s.cell_total[1]
    cdef i64_t left0, left1, left, right
    cdef i32_t b, before, cut, word, turn
    cdef u64_t bits
    cdef const i64_t* line
    cdef f64_t gain
    cdef f64_t base = f(s.total) - f(total0) - f(total1)
    for turn in range(1 + has_missing):
        missing_left = turn == 1
        left0 = left1 = 0
        if missing_left:
            left0 = s.histogram[2 * MISSING]
            left1 = s.histogram[2 * MISSING + 1]
        before = -1
        for word in range(4):
            bits = s.occupied[word]
            while bits:
                b = 64 * word + lowest_bit(bits)
                bits &= bits - 1
                if b == MISSING:
                    if missing_left:
                        break
                    cut = n_bins - 1
                else:
                    cut = (before + b - 1) >> 1
                left = left0 + left1
                right = s.total - left
                if (before >= 0 and left >= s.min_weight_leaf
                        and right >= s.min_weight_leaf):
                    gain = base
                    gain += f(left0) + f(left1) - f(left)
                    gain += f(total0 - left0) + f(total1 - left1) - f(right)
                    gain *= s.inv_total
                    if gain > best.gain + TIE:
                        best.gain = best.second = gain
                        best.feature = feature
                        best.bin = cut
                        best.missing_left = missing_left
                        best.has_missing = has_missing
                line = s.histogram + 2 * b
                left0 += line[0]
                left1 += line[1]
                before = b
