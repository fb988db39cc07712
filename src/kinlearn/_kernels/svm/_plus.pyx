"""SVM+ by elementary moves: descent on a block of rows, and the certificate.

The dual of every SVM+ model, with z_i = +-1, u = a + b - c and a group for each
row, is

    minimise  p'a + 1/2 a'Q a + 1/2 u'R u,     Q_ij = z_i z_j K_ij,
    over a, b >= 0  with  z'a = 0  and  sum of u over each group = 0,

R being K* / gamma within groups and 0 between them. F = p + Q a and H = R u are
kept; the gradient is F + H in a and H in b. Any variable may grow, and those
above 0 may fall. Every feasible direction is a sum of *elementary* ones that
agree with it in all signs, so a point is optimal when none of these descends:

    A   a_i up, a_j down         one group, one label
    B   b_i up, b_j down         one group
    X   a half move that raises z'a, in one group, and one that lowers it, in the
        same group or in another; half moves that raise z'a are
        (a+ up, b down), (a- down, b up), and half of (a+ up, a- down).

To them we add, for speed alone,

    S   the pair of an ordinary SVM, u staying as it is: a_i and b_i change by
        opposite amounts, and so do a_j and b_j.

where R does not count. Each step takes the move that lowers the objective most.
Blocks and sums of the stored kernel rows come from `gather` and `accumulate`.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc

from kinlearn._kernels._typedefs cimport f32_t, f64_t, float_t, i8_t, i32_t, intp_t


cdef extern from "svm/_loops.h" nogil:
    void kinlearn_add64(f64_t a, const f64_t* x, intp_t n, f64_t* sums) noexcept
    void kinlearn_add_four32(const f64_t* a, const f32_t** x, intp_t n,
                             f64_t* sums) noexcept
    void kinlearn_add_four64(const f64_t* a, const f64_t** x, intp_t n,
                             f64_t* sums) noexcept

    ctypedef struct kinlearn_extreme:
        f64_t value
        intp_t at

    void kinlearn_plus_extremes(const f64_t* F, const f64_t* H, const f64_t* a,
                                const f64_t* b, const f64_t* z, intp_t start,
                                intp_t stop, kinlearn_extreme* out) noexcept
    intp_t kinlearn_plus_partner_a(const f64_t* F, const f64_t* H, const f64_t* a,
                                   const f64_t* z, const f64_t* Q, const f64_t* R,
                                   const f64_t* q, const f64_t* r, f64_t slope_i,
                                   f64_t sign, f64_t diagonal, intp_t start,
                                   intp_t stop) noexcept
    intp_t kinlearn_plus_partner_b(const f64_t* H, const f64_t* b, const f64_t* R,
                                   const f64_t* r, f64_t slope_i, f64_t diagonal,
                                   intp_t start, intp_t stop) noexcept
    intp_t kinlearn_plus_partner_s(const f64_t* F, const f64_t* a, const f64_t* b,
                                   const f64_t* z, const f64_t* Q, const f64_t* q,
                                   f64_t slope_i, f64_t sign, f64_t diagonal,
                                   intp_t start, intp_t stop) noexcept

cdef f64_t TINY = 1e-12  # stands in for curvature that is not positive


cdef struct GroupExtremes:
    # of the gradients in a, by label (0: z = -1, 1: z = +1), and in b; `grow` is
    # the least over all variables, `fall` the largest over those above 0; then the
    # best rows of the group for S, up and down
    kinlearn_extreme grow[3]
    kinlearn_extreme fall[3]
    kinlearn_extreme s_up
    kinlearn_extreme s_down


cdef struct Half:
    # a move by which z'a changes by one
    f64_t slope
    intp_t n
    intp_t at[2]
    i8_t kind[2]  # 0: a, 1: b
    f64_t coef[2]


cdef struct Move:
    f64_t gain
    f64_t step
    intp_t blocker  # the variable that ends the step, or -1
    intp_t n
    intp_t at[4]
    i8_t kind[4]
    f64_t coef[4]


cdef struct Found:
    f64_t violation
    f64_t a_gap
    intp_t a_group
    intp_t a_label
    f64_t b_gap
    intp_t b_group
    Half up
    Half down
    kinlearn_extreme s_up
    kinlearn_extreme s_down


cdef inline Half _half(
    f64_t scale, kinlearn_extreme one, i8_t kind1, f64_t coef1,
    kinlearn_extreme two, i8_t kind2, f64_t coef2
) noexcept nogil:
    cdef Half out
    out.n = 2
    out.at[0] = one.at
    out.kind[0] = kind1
    out.coef[0] = scale * coef1
    out.at[1] = two.at
    out.kind[1] = kind2
    out.coef[1] = scale * coef2
    out.slope = scale * (coef1 * one.value + coef2 * two.value)
    return out


cdef void _find(
    const f64_t* F,
    const f64_t* H,
    const f64_t* a,
    const f64_t* b,
    const f64_t* z,
    const intp_t* cuts,
    intp_t n_groups,
    GroupExtremes* ext,
    Found* out,
) noexcept nogil:
    """Extremes of the gradients by group, and the most violating moves.

    Group g is the rows from cuts[g] to cuts[g + 1].
    """
    cdef intp_t g, s
    cdef f64_t gap
    cdef GroupExtremes* e
    cdef Half half
    out.s_up.value = -INFINITY
    out.s_up.at = -1
    out.s_down.value = INFINITY
    out.s_down.at = -1
    for g in range(n_groups):
        # the eight extremes lie in the struct one after another
        kinlearn_plus_extremes(F, H, a, b, z, cuts[g], cuts[g + 1], &ext[g].grow[0])
        if ext[g].s_up.value > out.s_up.value:
            out.s_up = ext[g].s_up
        if ext[g].s_down.value < out.s_down.value:
            out.s_down = ext[g].s_down
    out.a_gap = 0.0
    out.b_gap = 0.0
    out.a_group = out.a_label = out.b_group = -1
    out.up.slope = INFINITY
    out.down.slope = -INFINITY
    for g in range(n_groups):
        e = &ext[g]
        for s in range(2):
            gap = e.fall[s].value - e.grow[s].value
            if e.fall[s].at >= 0 and gap > out.a_gap:
                out.a_gap = gap
                out.a_group = g
                out.a_label = s
        gap = e.fall[2].value - e.grow[2].value
        if e.fall[2].at >= 0 and gap > out.b_gap:
            out.b_gap = gap
            out.b_group = g
        # cheapest ways to raise z'a by one
        if e.grow[1].at >= 0 and e.fall[2].at >= 0:
            half = _half(1.0, e.grow[1], 0, 1.0, e.fall[2], 1, -1.0)
            if half.slope < out.up.slope:
                out.up = half
        if e.fall[0].at >= 0:
            half = _half(1.0, e.fall[0], 0, -1.0, e.grow[2], 1, 1.0)
            if half.slope < out.up.slope:
                out.up = half
            if e.grow[1].at >= 0:
                half = _half(0.5, e.grow[1], 0, 1.0, e.fall[0], 0, -1.0)
                if half.slope < out.up.slope:
                    out.up = half
        # what lowering it by one brings; slope is minus the gradient along it
        if e.fall[1].at >= 0:
            half = _half(1.0, e.fall[1], 0, -1.0, e.grow[2], 1, 1.0)
            if -half.slope > out.down.slope:
                out.down = half
                out.down.slope = -half.slope
            if e.grow[0].at >= 0:
                half = _half(0.5, e.fall[1], 0, -1.0, e.grow[0], 0, 1.0)
                if -half.slope > out.down.slope:
                    out.down = half
                    out.down.slope = -half.slope
        if e.grow[0].at >= 0 and e.fall[2].at >= 0:
            half = _half(1.0, e.grow[0], 0, 1.0, e.fall[2], 1, -1.0)
            if -half.slope > out.down.slope:
                out.down = half
                out.down.slope = -half.slope
    out.violation = max(out.a_gap, out.b_gap)
    if out.up.slope < INFINITY and out.down.slope > -INFINITY:
        out.violation = max(out.violation, out.down.slope - out.up.slope)


cdef void _measure(
    Move* move,
    f64_t slope,
    const f64_t* Q,
    const f64_t* R,
    const f64_t* a,
    const f64_t* b,
    intp_t m,
) noexcept nogil:
    """Step and gain of a move that lowers the objective by `slope` at first."""
    cdef intp_t v, w
    cdef f64_t curve = 0.0, limit = INFINITY, cell, slack
    # a variable that occurs twice (one b in both halves) is made one
    v = 0
    while v < move.n:
        w = v + 1
        while w < move.n:
            if move.at[w] == move.at[v] and move.kind[w] == move.kind[v]:
                move.coef[v] += move.coef[w]
                move.n -= 1
                move.at[w] = move.at[move.n]
                move.kind[w] = move.kind[move.n]
                move.coef[w] = move.coef[move.n]
            else:
                w += 1
        v += 1
    move.blocker = -1
    for v in range(move.n):
        for w in range(move.n):
            cell = R[move.at[v] * m + move.at[w]]
            if move.kind[v] == 0 and move.kind[w] == 0:
                cell += Q[move.at[v] * m + move.at[w]]
            curve += move.coef[v] * move.coef[w] * cell
        if move.coef[v] < 0.0:
            slack = a[move.at[v]] if move.kind[v] == 0 else b[move.at[v]]
            slack = slack / -move.coef[v]
            if slack < limit:
                limit = slack
                move.blocker = v
    move.step = slope / max(curve, TINY)
    if move.step >= limit:
        move.step = limit
    else:
        move.blocker = -1
    move.gain = move.step * (slope - 0.5 * move.step * curve)


cdef inline void _keep(Move* best, Move* move) noexcept nogil:
    if move.gain > best.gain:
        best[0] = move[0]


cdef inline void _put(
    Move* move, intp_t v, i8_t kind, intp_t at, f64_t coef
) noexcept nogil:
    move.kind[v] = kind
    move.at[v] = at
    move.coef[v] = coef


cdef void _best_move(
    const Found* found,
    const GroupExtremes* ext,
    const f64_t* Q,
    const f64_t* R,
    const f64_t* q,
    const f64_t* r,
    const f64_t* F,
    const f64_t* H,
    const f64_t* a,
    const f64_t* b,
    const f64_t* z,
    const intp_t* cuts,
    intp_t m,
    Move* best,
) noexcept nogil:
    """The move of largest gain; partners of pairs by second order.

    q and r are the diagonals: reading them out of Q and R would miss the processor's
    cache at each row.
    """
    cdef intp_t i, j, pick, g
    cdef f64_t gap, value
    cdef Move move
    best.gain = -1.0
    # S
    i = found.s_up.at
    if i >= 0 and found.s_up.value > found.s_down.value:
        pick = kinlearn_plus_partner_s(
            F, a, b, z, Q + i * m, q, found.s_up.value, z[i], q[i], 0, m
        )
        if pick >= 0:
            move.n = 4
            _put(&move, 0, 0, i, z[i])
            _put(&move, 1, 1, i, -z[i])
            _put(&move, 2, 0, pick, -z[pick])
            _put(&move, 3, 1, pick, z[pick])
            _measure(&move, found.s_up.value + z[pick] * F[pick], Q, R, a, b, m)
            _keep(best, &move)
    # A
    g = found.a_group
    if g >= 0:
        i = ext[g].grow[found.a_label].at
        value = ext[g].grow[found.a_label].value
        pick = kinlearn_plus_partner_a(
            F, H, a, z, Q + i * m, R + i * m, q, r, value, z[i], q[i] + r[i],
            cuts[g], cuts[g + 1]
        )
        if pick >= 0:
            move.n = 2
            _put(&move, 0, 0, i, 1.0)
            _put(&move, 1, 0, pick, -1.0)
            _measure(&move, F[pick] + H[pick] - value, Q, R, a, b, m)
            _keep(best, &move)
    # B
    g = found.b_group
    if g >= 0:
        i = ext[g].grow[2].at
        value = ext[g].grow[2].value
        pick = kinlearn_plus_partner_b(
            H, b, R + i * m, r, value, r[i], cuts[g], cuts[g + 1]
        )
        if pick >= 0:
            move.n = 2
            _put(&move, 0, 1, i, 1.0)
            _put(&move, 1, 1, pick, -1.0)
            _measure(&move, H[pick] - value, Q, R, a, b, m)
            _keep(best, &move)
    # X
    gap = found.down.slope - found.up.slope
    if gap > 0.0 and gap < INFINITY:
        move.n = 4
        for j in range(2):
            _put(&move, j, found.up.kind[j], found.up.at[j], found.up.coef[j])
            _put(
                &move, j + 2, found.down.kind[j], found.down.at[j], found.down.coef[j]
            )
        _measure(&move, gap, Q, R, a, b, m)
        _keep(best, &move)


cdef intp_t* _cuts(const i32_t[::1] group, intp_t n_groups) except NULL:
    """Where each group of sorted codes begins, and the end; to be freed."""
    cdef intp_t i = 0, g
    cdef intp_t* cuts = <intp_t*> malloc((n_groups + 1) * sizeof(intp_t))
    if cuts == NULL:
        raise MemoryError
    for g in range(n_groups):
        cuts[g] = i
        while i < group.shape[0] and group[i] == g:
            i += 1
    cuts[n_groups] = i
    return cuts


def descend(
    const f64_t[:, ::1] Q,
    const f64_t[:, ::1] R,
    const f64_t[::1] z,
    const i32_t[::1] group,
    f64_t[::1] F,
    f64_t[::1] H,
    f64_t[::1] a,
    f64_t[::1] b,
    f64_t tol,
    intp_t max_iter,
):
    """Lower the objective over a block of rows, by the best moves.

    Parameters
    ----------
    Q, R : arrays of shape (m, m)
        The two quadratic forms, R being 0 between groups.
    z : array of shape (m,)
        -1 or 1.
    group : int32 array of shape (m,)
        Groups, ascending, counted from 0 within the block.
    F, H, a, b : arrays of shape (m,), changed
        Gradients and variables.
    tol : float
        Violation at which to end.
    max_iter : int
        Most moves to make.

    Returns
    -------
    n_iter : int
        Moves made.
    violation : float
        The violation found last.
    """
    cdef intp_t m = Q.shape[0], n_groups = group[m - 1] + 1, n_iter = 0, v, i, j, first
    cdef f64_t change, coef
    cdef Found found
    cdef Move move
    cdef f64_t* x
    cdef intp_t* cuts = _cuts(group, n_groups)
    cdef GroupExtremes* ext = <GroupExtremes*> malloc(n_groups * sizeof(GroupExtremes))
    cdef f64_t* diagonals = <f64_t*> malloc(2 * m * sizeof(f64_t))
    if ext == NULL or diagonals == NULL:
        free(cuts)
        free(ext)
        free(diagonals)
        raise MemoryError
    with nogil:
        for i in range(m):
            diagonals[i] = Q[i, i]
            diagonals[m + i] = R[i, i]
        while True:
            _find(&F[0], &H[0], &a[0], &b[0], &z[0], cuts, n_groups, ext, &found)
            if found.violation <= tol or n_iter >= max_iter:
                break
            _best_move(
                &found, ext, &Q[0, 0], &R[0, 0], diagonals, diagonals + m, &F[0], &H[0],
                &a[0], &b[0], &z[0], cuts, m, &move
            )
            if move.gain <= 0.0:
                break
            n_iter += 1
            for v in range(move.n):
                i = move.at[v]
                x = &a[i] if move.kind[v] == 0 else &b[i]
                change = move.step * move.coef[v]
                x[0] = 0.0 if v == move.blocker else max(x[0] + change, 0.0)
                if move.kind[v] == 0:
                    kinlearn_add64(change, &Q[i, 0], m, &F[0])
                # a and b of one row change u by the sum of both, which is 0 in S
                coef = move.coef[v]
                for j in range(move.n):
                    if j != v and move.at[j] == i:
                        coef = coef + move.coef[j] if j > v else 0.0
                if coef != 0.0:
                    j = group[i]
                    first = cuts[j]
                    kinlearn_add64(move.step * coef, &R[i, first],
                                   cuts[j + 1] - first, &H[first])
    free(cuts)
    free(ext)
    free(diagonals)
    return n_iter, found.violation


def certify(
    const f64_t[::1] F,
    const f64_t[::1] H,
    const f64_t[::1] a,
    const f64_t[::1] b,
    const f64_t[::1] z,
    const i32_t[::1] group,
    f64_t[:, ::1] offset,
    intp_t[::1] witness,
):
    """Violation over all rows, and what the multipliers may be.

    Parameters
    ----------
    F, H, a, b, z, group : arrays of shape (m,)
        As in `descend`.
    offset : array of shape (n_groups, 6), filled
        Extremes of each group: the least gradient of a where z = -1, of a where
        z = 1 and of b, then the largest of those that may fall; infinite if none.
    witness : intp array of shape (10,), filled
        Rows of the most violating moves; -1 where there are fewer.

    Returns
    -------
    violation : float
        The largest descent along an elementary move.
    low, high : float
        Minus the bias is between these, at the optimum.
    """
    cdef intp_t n_groups = offset.shape[0], g, s
    cdef Found found
    cdef intp_t* cuts = _cuts(group, n_groups)
    cdef GroupExtremes* ext = <GroupExtremes*> malloc(n_groups * sizeof(GroupExtremes))
    if ext == NULL:
        free(cuts)
        raise MemoryError
    with nogil:
        _find(&F[0], &H[0], &a[0], &b[0], &z[0], cuts, n_groups, ext, &found)
        for g in range(n_groups):
            for s in range(3):
                offset[g, s] = ext[g].grow[s].value
                offset[g, s + 3] = ext[g].fall[s].value
        for s in range(10):
            witness[s] = -1
        if found.a_group >= 0:
            witness[0] = ext[found.a_group].grow[found.a_label].at
            witness[1] = ext[found.a_group].fall[found.a_label].at
        if found.b_group >= 0:
            witness[2] = ext[found.b_group].grow[2].at
            witness[3] = ext[found.b_group].fall[2].at
        if found.up.slope < INFINITY and found.down.slope > -INFINITY:
            for s in range(2):
                witness[4 + s] = found.up.at[s]
                witness[6 + s] = found.down.at[s]
        witness[8] = found.s_up.at
        witness[9] = found.s_down.at
    free(cuts)
    free(ext)
    return found.violation, found.down.slope, found.up.slope


def accumulate(
    const float_t[:, ::1] rows,
    const intp_t[::1] slots,
    const f64_t[::1] coef,
    intp_t start,
    f64_t[::1] out,
):
    """Add to `out` the sum of rows by coefficients, in double precision.

    Parameters
    ----------
    rows : array of shape (n_slots, n)
        A store of rows.
    slots : intp array of shape (k,)
        Which of them.
    coef : array of shape (k,)
        Coefficients.
    start : int
        Column of `rows` that belongs to the first of `out`.
    out : array, changed
        Sums.
    """
    cdef intp_t k, n_four = 0, n = out.shape[0]
    cdef const float_t* row[4]
    cdef f64_t four[4]
    if n == 0:
        return
    with nogil:
        for k in range(slots.shape[0] + 3):
            # the last ones are filled up by rows that count nothing
            if k < slots.shape[0]:
                if coef[k] == 0.0:
                    continue
                four[n_four] = coef[k]
                row[n_four] = &rows[slots[k], start]
            elif n_four == 0:
                break
            else:
                four[n_four] = 0.0
                row[n_four] = row[0]
            n_four += 1
            if n_four == 4:
                if float_t is f32_t:
                    kinlearn_add_four32(four, row, n, &out[0])
                else:
                    kinlearn_add_four64(four, row, n, &out[0])
                n_four = 0


def gather(
    const float_t[:, ::1] rows,
    const intp_t[::1] slots,
    const intp_t[::1] columns,
    const f64_t[::1] factor,
    const i32_t[::1] group,
    f64_t[:, ::1] out,
):
    """A block of a matrix: cells times the factors of their row and their column.

    Parameters
    ----------
    rows : array of shape (n_slots, n)
        A store of rows.
    slots, columns : intp arrays of shape (k,)
        Which of them, and which columns.
    factor : array of shape (k,)
        Factors.
    group : int32 array of shape (k,)
        Groups, ascending; cells between different ones become 0.
    out : array of shape (k, k), filled
        The block.
    """
    cdef intp_t i, j, start = 0, stop = 0, k = slots.shape[0]
    cdef f64_t row_factor
    cdef const float_t* row
    cdef f64_t* goal
    with nogil:
        for i in range(k):
            if i == stop:  # a group begins
                start = i
                while stop < k and group[stop] == group[i]:
                    stop += 1
            row = &rows[slots[i], 0]
            goal = &out[i, 0]
            row_factor = factor[i]
            for j in range(start):
                goal[j] = 0.0
            for j in range(start, stop):
                goal[j] = row_factor * factor[j] * row[columns[j]]
            for j in range(stop, k):
                goal[j] = 0.0
