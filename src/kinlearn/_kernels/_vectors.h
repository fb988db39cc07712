/* The innermost loops of growing, by vectors of four values. SSE2 belongs to every
 * x86-64 processor; elsewhere, or with KINLEARN_PLAIN_LOOPS, plain loops do the same.
 * Both give the same bits: the sums are of integers, and no order of comparisons
 * changes a least or greatest value.
 *
 * Loops over the rows of a node have no rest that is done row by row, for its end
 * would be guessed wrong in every small node: buffers by row of a node are longer by
 * KINLEARN_PADDING, with NaN behind the last value, which goes to no side. */
#ifndef KINLEARN_VECTORS_H
#define KINLEARN_VECTORS_H

#include <math.h>
#include <stdint.h>

#if defined(__SSE2__) && !defined(KINLEARN_PLAIN_LOOPS)
#define KINLEARN_SSE2 1
#include <emmintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define kinlearn_prefetch(address) __builtin_prefetch(address)
#else
#define kinlearn_prefetch(address) ((void)(address))
#endif

#define KINLEARN_PADDING 4

/* out[i] = source[rows[i] * stride], and their extremes. NaN fails every comparison,
 * so the extremes are those of the values present: inf and -inf if there are none. */
static inline void kinlearn_gather(
    const float* source, intptr_t stride, const int32_t* rows, intptr_t n, float* out,
    float* low, float* high
) {
    float least = INFINITY, greatest = -INFINITY;
    intptr_t i = 0;
#if KINLEARN_SSE2
    if (n >= 4) {
        __m128 a = _mm_set1_ps(INFINITY), b = _mm_set1_ps(-INFINITY);
        for (;;) {
            __m128 v01 = _mm_unpacklo_ps(
                _mm_load_ss(source + rows[i] * stride),
                _mm_load_ss(source + rows[i + 1] * stride));
            __m128 v23 = _mm_unpacklo_ps(
                _mm_load_ss(source + rows[i + 2] * stride),
                _mm_load_ss(source + rows[i + 3] * stride));
            __m128 v = _mm_movelh_ps(v01, v23);
            _mm_storeu_ps(out + i, v);
            a = _mm_min_ps(v, a); /* of a NaN and a number, the second */
            b = _mm_max_ps(v, b);
            if (i + 4 >= n) break;
            i = i + 8 <= n ? i + 4 : n - 4; /* the last four may meet some again */
        }
        a = _mm_min_ps(a, _mm_movehl_ps(a, a));
        b = _mm_max_ps(b, _mm_movehl_ps(b, b));
        *low = _mm_cvtss_f32(_mm_min_ss(a, _mm_shuffle_ps(a, a, 1)));
        *high = _mm_cvtss_f32(_mm_max_ss(b, _mm_shuffle_ps(b, b, 1)));
        _mm_storeu_ps(out + n, _mm_set1_ps(NAN));
        return;
    }
#endif
    for (; i < n; i++) {
        float v = source[rows[i] * stride];
        out[i] = v;
        least = v < least ? v : least;
        greatest = v > greatest ? v : greatest;
    }
    for (int k = 0; k < KINLEARN_PADDING; k++) out[n + k] = NAN;
    *low = least;
    *high = greatest;
}

/* Rows with x <= cut, and how many of them have y = 1. */
static inline void kinlearn_left_counts(
    const float* x, const int32_t* y, intptr_t n, float cut, int64_t* weight,
    int64_t* total
) {
#if KINLEARN_SSE2
    const __m128 cuts = _mm_set1_ps(cut);
    __m128i w = _mm_setzero_si128(), b = _mm_setzero_si128();
    int32_t ws[4], bs[4];
    for (intptr_t i = 0; i < n; i += 4) {
        __m128i left = _mm_castps_si128(_mm_cmple_ps(_mm_loadu_ps(x + i), cuts));
        w = _mm_sub_epi32(w, left);
        b = _mm_add_epi32(
            b, _mm_and_si128(left, _mm_loadu_si128((const __m128i*)(y + i))));
    }
    _mm_storeu_si128((__m128i*)ws, w);
    _mm_storeu_si128((__m128i*)bs, b);
    *weight = (int64_t)ws[0] + ws[1] + ws[2] + ws[3];
    *total = (int64_t)bs[0] + bs[1] + bs[2] + bs[3];
#else
    int32_t w = 0, b = 0;
    for (intptr_t i = 0; i < n; i++) {
        w += x[i] <= cut;
        b += (x[i] <= cut) & y[i];
    }
    *weight = w;
    *total = b;
#endif
}

/* Rows with x <= cut, and the sum of their b. */
static inline void kinlearn_left_sums(
    const float* x, const int64_t* b, intptr_t n, float cut, int64_t* weight,
    int64_t* total
) {
#if KINLEARN_SSE2
    const __m128 cuts = _mm_set1_ps(cut);
    __m128i w = _mm_setzero_si128(), s = _mm_setzero_si128();
    int32_t ws[4];
    int64_t ss[2];
    for (intptr_t i = 0; i < n; i += 4) {
        __m128i left = _mm_castps_si128(_mm_cmple_ps(_mm_loadu_ps(x + i), cuts));
        __m128i b01 = _mm_loadu_si128((const __m128i*)(b + i));
        __m128i b23 = _mm_loadu_si128((const __m128i*)(b + i + 2));
        w = _mm_sub_epi32(w, left);
        s = _mm_add_epi64(s, _mm_and_si128(b01, _mm_unpacklo_epi32(left, left)));
        s = _mm_add_epi64(s, _mm_and_si128(b23, _mm_unpackhi_epi32(left, left)));
    }
    _mm_storeu_si128((__m128i*)ws, w);
    _mm_storeu_si128((__m128i*)ss, s);
    *weight = (int64_t)ws[0] + ws[1] + ws[2] + ws[3];
    *total = ss[0] + ss[1];
#else
    int64_t w = 0, s = 0;
    for (intptr_t i = 0; i < n; i++) {
        w += x[i] <= cut;
        s += b[i] & -(int64_t)(x[i] <= cut);
    }
    *weight = w;
    *total = s;
#endif
}

/* The first n values of each of 16 rows, turned: target[f * stride + j] = rows[j][f]. */
static inline void kinlearn_turn_rows(
    const float* const* rows, intptr_t n, float* target, intptr_t stride
) {
    intptr_t f = 0;
#if KINLEARN_SSE2
    for (; f + 4 <= n; f += 4) {
        for (int j = 0; j < 16; j += 4) {
            float* out = target + f * stride + j;
            __m128 a = _mm_loadu_ps(rows[j] + f), b = _mm_loadu_ps(rows[j + 1] + f);
            __m128 c = _mm_loadu_ps(rows[j + 2] + f), d = _mm_loadu_ps(rows[j + 3] + f);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(out, a);
            _mm_storeu_ps(out + stride, b);
            _mm_storeu_ps(out + 2 * stride, c);
            _mm_storeu_ps(out + 3 * stride, d);
        }
    }
#endif
    for (; f < n; f++) {
        for (int j = 0; j < 16; j++) target[f * stride + j] = rows[j][f];
    }
}

/* The lowest bit of those set; there must be one. */
static inline int kinlearn_lowest_bit(uint32_t set) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctz(set);
#else
    int bit = 0;
    while (!(set >> bit & 1)) bit++;
    return bit;
#endif
}

#endif
