/* Histograms of gradients and curvatures, and the search for cuts in them.
 *
 * A cell holds two integers: the sum of the gradients, and the sum of the curvatures
 * shifted left by some bits, below which the rows are counted. One addition of 16 bytes
 * serves all three, and no order of rows changes a sum. SSE2 belongs to every x86-64
 * processor; elsewhere plain loops give the same bits. */
#ifndef KINLEARN_HISTOGRAMS_H
#define KINLEARN_HISTOGRAMS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(KINLEARN_PLAIN_LOOPS)
#define KINLEARN_SSE2 1
#include <emmintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define kinlearn_prefetch_row(address) __builtin_prefetch(address)
#else
#define kinlearn_prefetch_row(address) ((void)(address))
#endif

#define KINLEARN_AHEAD 12 /* rows that are fetched before they are read */

typedef struct {
    int64_t g;
    int64_t hc;
} kinlearn_sums;

/* What turns sums into numbers, and what a side must have. */
typedef struct {
    double g_unit;
    double h_unit;
    double l2;
    int64_t count_mask; /* 2^bits - 1 */
    int bits;
    int64_t least_count;
    double least_h;
} kinlearn_scale;

typedef struct {
    double score; /* sum of G^2 / (H + l2) over the two sides */
    int bin;
    int missing_left;
    kinlearn_sums left;
} kinlearn_cut;

/* What another score must exceed to be better: rounding must not decide between equals,
 * or weights would not be the same as repeated rows. */
static inline double kinlearn_bar(double score) {
    return score + 1e-10 * fabs(score);
}

static inline double kinlearn_gradient(const kinlearn_sums* s, const kinlearn_scale* k) {
    return (double)s->g * k->g_unit;
}

static inline double kinlearn_curvature(const kinlearn_sums* s, const kinlearn_scale* k) {
    return (double)(s->hc >> k->bits) * k->h_unit;
}

static inline int64_t kinlearn_count(const kinlearn_sums* s, const kinlearn_scale* k) {
    return s->hc & k->count_mask;
}

static inline void kinlearn_add_row(
    const uint8_t* bins, intptr_t n_features, const int32_t* offset,
    const kinlearn_sums* row, kinlearn_sums* hist
) {
#if KINLEARN_SSE2
    const __m128i v = _mm_loadu_si128((const __m128i*)row);
    intptr_t f = 0;
    for (; f + 4 <= n_features; f += 4) {
        __m128i* a = (__m128i*)(hist + offset[f] + bins[f]);
        __m128i* b = (__m128i*)(hist + offset[f + 1] + bins[f + 1]);
        __m128i* c = (__m128i*)(hist + offset[f + 2] + bins[f + 2]);
        __m128i* d = (__m128i*)(hist + offset[f + 3] + bins[f + 3]);
        _mm_storeu_si128(a, _mm_add_epi64(_mm_loadu_si128(a), v));
        _mm_storeu_si128(b, _mm_add_epi64(_mm_loadu_si128(b), v));
        _mm_storeu_si128(c, _mm_add_epi64(_mm_loadu_si128(c), v));
        _mm_storeu_si128(d, _mm_add_epi64(_mm_loadu_si128(d), v));
    }
    for (; f < n_features; f++) {
        __m128i* a = (__m128i*)(hist + offset[f] + bins[f]);
        _mm_storeu_si128(a, _mm_add_epi64(_mm_loadu_si128(a), v));
    }
#else
    for (intptr_t f = 0; f < n_features; f++) {
        kinlearn_sums* cell = hist + offset[f] + bins[f];
        cell->g += row->g;
        cell->hc += row->hc;
    }
#endif
}

/* Add rows[0..n) to the histogram of n_features features, of rows of `stride` bins, and
 * by task unless `tasks` is NULL. */
static inline void kinlearn_fill(
    const uint8_t* bins, intptr_t stride, intptr_t n_features, const int32_t* offset,
    const int32_t* rows, intptr_t n, const kinlearn_sums* pairs, kinlearn_sums* hist,
    const int32_t* task, kinlearn_sums* tasks
) {
    for (intptr_t i = 0; i < n; i++) {
        if (i + KINLEARN_AHEAD < n) {
            const intptr_t next = rows[i + KINLEARN_AHEAD];
            kinlearn_prefetch_row(bins + next * stride);
            kinlearn_prefetch_row(pairs + next);
        }
        const intptr_t r = rows[i];
        kinlearn_add_row(bins + r * stride, n_features, offset, pairs + r, hist);
        if (tasks) {
            kinlearn_sums* cell = tasks + task[r];
            cell->g += pairs[r].g;
            cell->hc += pairs[r].hc;
        }
    }
}

/* whole -= part */
static inline void kinlearn_subtract(
    kinlearn_sums* whole, const kinlearn_sums* part, intptr_t n
) {
    for (intptr_t i = 0; i < n; i++) {
        whole[i].g -= part[i].g;
        whole[i].hc -= part[i].hc;
    }
}

/* whole += part */
static inline void kinlearn_add_cells(
    kinlearn_sums* whole, const kinlearn_sums* part, intptr_t n
) {
    for (intptr_t i = 0; i < n; i++) {
        whole[i].g += part[i].g;
        whole[i].hc += part[i].hc;
    }
}

/* The largest of n > 0 numbers; the four after them are overwritten. */
static inline double kinlearn_largest(double* x, int n) {
    double top[4];
    x[n] = x[n + 1] = x[n + 2] = x[n + 3] = x[0];
#if KINLEARN_SSE2
    __m128d a = _mm_loadu_pd(x), b = _mm_loadu_pd(x + 2);
    for (int i = 4; i < n; i += 4) {
        a = _mm_max_pd(a, _mm_loadu_pd(x + i));
        b = _mm_max_pd(b, _mm_loadu_pd(x + i + 2));
    }
    _mm_storeu_pd(top, a);
    _mm_storeu_pd(top + 2, b);
#else
    memcpy(top, x, sizeof(top));
    for (int i = 4; i < n; i += 4) {
        for (int j = 0; j < 4; j++) top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
    }
#endif
    for (int j = 1; j < 4; j++) top[0] = top[j] > top[0] ? top[j] : top[0];
    return top[0];
}

/* The best cut after a bin, with `start` (the missing rows, or nothing) on the left and
 * the rest of `node` on the right; cuts up to bin `last`. Where no score reaches
 * `floor`, nothing need be found. */
static inline void kinlearn_scan(
    const kinlearn_sums* cell, int last, kinlearn_sums start, kinlearn_sums node,
    int missing_left, const kinlearn_scale* k, double floor, kinlearn_cut* best
) {
    double gl[256], hl[256], score[256 + 4];
    uint8_t bin[256];
    int64_t g = start.g, hc = start.hc;
    const int64_t least = k->least_count, mask = k->count_mask;
    const int64_t least_h = (int64_t)ceil(k->least_h / k->h_unit);
    int from = 0, to = last, n = 0;
    for (; from <= last; from++) { /* bins before the first cut that is allowed */
        g += cell[from].g;
        hc += cell[from].hc;
        if ((hc & mask) >= least && (hc >> k->bits) >= least_h) break;
    }
    /* and those after the last one; after bin `last`, one cell alone is on the right */
    for (int64_t right = cell[last + 1].hc; to >= from; right += cell[to--].hc) {
        if ((right & mask) >= least && (right >> k->bits) >= least_h) break;
    }
    if (from > to) return;
    for (int b = from;;) {
        gl[n] = (double)g;
        hl[n] = (double)(hc >> k->bits);
        bin[n] = (uint8_t)b;
        /* a cut after an empty bin is the one before it: the next overwrites it */
        n += b == from || cell[b].hc != 0;
        if (++b > to) break;
        g += cell[b].g;
        hc += cell[b].hc;
    }
    const double G = (double)node.g * k->g_unit;
    const double H = (double)(node.hc >> k->bits) * k->h_unit + k->l2;
    const double gu = k->g_unit, hu = k->h_unit, l2 = k->l2;
    for (int i = 0; i < n; i++) {
        const double left = gl[i] * gu, right = G - left;
        const double h_left = hl[i] * hu, h_right = H - h_left;
        const double h = h_left + l2;
        score[i] = (left * left * h_right + right * right * h) / (h * h_right);
    }
    double bar = kinlearn_bar(best->score);
    int at = -1;
    const double top = kinlearn_largest(score, n);
    if (!(top > bar && top >= floor)) return;
    for (int i = 0; i < n; i++) {
        if (score[i] > bar) {
            bar = kinlearn_bar(score[i]);
            at = i;
        }
    }
    if (at < 0) return;
    best->score = score[at];
    best->bin = bin[at];
    best->missing_left = missing_left;
    g = start.g;
    hc = start.hc;
    for (int b = 0; b <= best->bin; b++) {
        g += cell[b].g;
        hc += cell[b].hc;
    }
    best->left.g = g;
    best->left.hc = hc;
}

static inline double kinlearn_value(
    double g, double h, double l2, double lower, double upper
) {
    double v = h + l2 > 0 ? -g / (h + l2) : 0.0;
    v = v < lower ? lower : v;
    return v > upper ? upper : v;
}

/* What a side gains by its value: G^2 / (H + l2), less if the value is bounded. */
static inline double kinlearn_side(
    double g, double h, double l2, double lower, double upper
) {
    const double v = kinlearn_value(g, h, l2, lower, upper);
    return -v * (2 * g + (h + l2) * v);
}

/* As kinlearn_scan, for values within bounds that may have to rise or fall. */
static inline void kinlearn_scan_bounded(
    const kinlearn_sums* cell, int last, kinlearn_sums start, kinlearn_sums node,
    int missing_left, const kinlearn_scale* k, int direction, double lower, double upper,
    kinlearn_cut* best
) {
    kinlearn_sums left = start;
    const double G = kinlearn_gradient(&node, k), H = kinlearn_curvature(&node, k);
    const int64_t count = kinlearn_count(&node, k);
    for (int b = 0; b <= last; b++) {
        left.g += cell[b].g;
        left.hc += cell[b].hc;
        const int64_t n = kinlearn_count(&left, k);
        const double g = kinlearn_gradient(&left, k), h = kinlearn_curvature(&left, k);
        if (n < k->least_count || h < k->least_h) continue;
        if (count - n < k->least_count || H - h < k->least_h) break;
        const double rise = kinlearn_value(G - g, H - h, k->l2, lower, upper) -
                            kinlearn_value(g, h, k->l2, lower, upper);
        if (direction * rise < 0) continue;
        const double score = kinlearn_side(g, h, k->l2, lower, upper) +
                             kinlearn_side(G - g, H - h, k->l2, lower, upper);
        if (score > kinlearn_bar(best->score)) {
            best->score = score;
            best->bin = b;
            best->missing_left = missing_left;
            best->left = left;
        }
    }
}

#endif
