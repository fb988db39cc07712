# Gathering several features of a large node at once, where X lies by rows.
#
# A value fetches a cache line, and the line holds other values of the row. So the
# features that a node will draw next are foreseen and fetched together. What was
# foreseen wrongly is fetched alone: the splits do not depend on this.

from libc.math cimport INFINITY

from kinlearn._kernels._random cimport next_below, next_u64
from kinlearn._kernels._typedefs cimport f32_t, i32_t, intp_t, u64_t
from kinlearn._kernels.trees._grower cimport AHEAD, Grower
from kinlearn._kernels.trees._vectors cimport gather, prefetch

cdef enum:
    TILE_ROWS = 64       # whose cache lines are near while all features are read


cdef inline bint gathers_ahead(const Grower* g) noexcept nogil:
    # Not if all but small nodes are read through codes: buffers of all rows would
    # take more memory than these.
    return g.data.source.columns == NULL and g.codes.columns == NULL


cdef inline intp_t foresee(
    Grower* g, intp_t n_drawn, intp_t n_wanted
) noexcept nogil:
    # The features that come next if none of them turns out to be constant; after
    # how many draws the next ones must be foreseen.
    cdef intp_t d = g.data.n_features
    cdef intp_t swaps[AHEAD]
    cdef u64_t stream = g.stream
    cdef intp_t k, j, n_foreseen = 0
    cdef i32_t feature, _cut
    g.n_ahead = 0
    for k in range(n_drawn, min(d, n_drawn + AHEAD)):
        if g.n_ahead == n_wanted:
            break
        j = k + <intp_t>next_below(&stream, d - k)
        feature = g.order[j]
        g.order[j] = g.order[k]
        g.order[k] = feature
        swaps[n_foreseen] = j
        n_foreseen += 1
        if not g.known_constant[feature]:
            g.ahead[g.n_ahead] = feature
            g.n_ahead += 1
            for _cut in range(g.settings.n_cuts):
                next_u64(&stream)
    for k in range(n_foreseen - 1, -1, -1):  # as if nothing had been drawn
        j = swaps[k]
        feature = g.order[n_drawn + k]
        g.order[n_drawn + k] = g.order[j]
        g.order[j] = feature
    return n_drawn + n_foreseen


cdef inline intp_t gather_ahead(
    Grower* g, intp_t n_drawn, intp_t n_wanted
) noexcept nogil:
    # Gather the next features; return how many draws these are good for.
    cdef const i32_t* rows = g.part.rows
    cdef intp_t n = g.part.n, stride = g.at.row_stride
    cdef intp_t start, end, i, k, n_foreseen
    cdef f32_t low, high
    n_foreseen = foresee(g, n_drawn, n_wanted)
    for k in range(g.n_ahead):
        g.ahead_low[k] = INFINITY
        g.ahead_high[k] = -INFINITY
    for start from 0 <= start < n by TILE_ROWS:
        end = min(n, start + TILE_ROWS)
        for k in range(g.n_ahead):
            for i in range(end, min(n, end + TILE_ROWS)):
                prefetch(g.at.rows + rows[i] * stride + g.ahead[k])
        for k in range(g.n_ahead):
            gather(
                g.at.rows + g.ahead[k], stride, rows + start, end - start,
                g.x[2 + k] + start, &low, &high,
            )
            g.ahead_low[k] = min(low, g.ahead_low[k])
            g.ahead_high[k] = max(high, g.ahead_high[k])
    return n_foreseen
