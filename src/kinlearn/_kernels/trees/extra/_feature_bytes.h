/* The innermost loops over bins of one byte, sixteen at a time; see _feature_bytes.pxd.
 * Buffers of bins by row of a node are longer by KINLEARN_BYTES_PADDING: behind the
 * last bin follow those of missing values, which go to no side. */
#ifndef KINLEARN_FEATURE_BYTES_H
#define KINLEARN_FEATURE_BYTES_H

#include <stdint.h>
#include <string.h>

#include "../../_byte_bins.h"
#include "../../_vectors.h"

#define KINLEARN_BYTES_PADDING 16

/* out[i] = source[rows[i]]; the least and the greatest bin, which is that of missing
 * values if there are any, and the greatest one of a value plus 1 (0: no values). */
static inline void kinlearn_gather_bins(
    const uint8_t* source, const int32_t* rows, intptr_t n, uint8_t* out,
    int* least, int* greatest, int* after_values
) {
    uint8_t low = KINLEARN_MISSING, high = 0, after = 0;
    intptr_t i;
    if (rows[n - 1] - rows[0] == n - 1) { /* rows ascend: these are all */
        memcpy(out, source + rows[0], n);
    } else {
        for (i = 0; i + 4 <= n; i += 4) {
            uint8_t a = source[rows[i]], b = source[rows[i + 1]];
            uint8_t c = source[rows[i + 2]], d = source[rows[i + 3]];
            out[i] = a;
            out[i + 1] = b;
            out[i + 2] = c;
            out[i + 3] = d;
        }
        for (; i < n; i++) out[i] = source[rows[i]];
    }
    for (i = 0; i < n; i++) {
        uint8_t c = out[i], next = (uint8_t)(c + 1); /* 0 for a missing value */
        low = c < low ? c : low;
        high = c > high ? c : high;
        after = next > after ? next : after;
    }
    memset(out + n, KINLEARN_MISSING, KINLEARN_BYTES_PADDING);
    *least = low;
    *greatest = high;
    *after_values = after;
}

/* Where x is the bin; how many these are. */
static inline intptr_t kinlearn_find_bin(
    const uint8_t* x, intptr_t n, uint8_t bin, int32_t* found
) {
    intptr_t n_found = 0, i = 0;
#if KINLEARN_SSE2
    const __m128i wanted = _mm_set1_epi8((char)bin);
    for (; i + 16 <= n; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i*)(x + i));
        uint32_t hits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, wanted));
        while (hits) {
            found[n_found++] = (int32_t)(i + kinlearn_lowest_bit(hits));
            hits &= hits - 1;
        }
    }
#endif
    for (; i < n; i++) {
        if (x[i] == bin) found[n_found++] = (int32_t)i;
    }
    return n_found;
}

/* y as bytes. */
static inline void kinlearn_pack_labels(const int32_t* y, intptr_t n, uint8_t* out) {
    for (intptr_t i = 0; i < n; i++) out[i] = (uint8_t)y[i];
}

/* Rows with x <= cut, and how many of them have y = 1. */
static inline void kinlearn_left_bin_counts(
    const uint8_t* x, const uint8_t* y, intptr_t n, uint8_t cut, int64_t* weight,
    int64_t* total
) {
#if KINLEARN_SSE2
    const __m128i cuts = _mm_set1_epi8((char)cut), one = _mm_set1_epi8(1);
    const __m128i zero = _mm_setzero_si128();
    __m128i w = zero, b = zero;
    int64_t ws[2], bs[2];
    for (intptr_t i = 0; i < n; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i*)(x + i));
        __m128i left = _mm_and_si128(_mm_cmpeq_epi8(_mm_min_epu8(v, cuts), v), one);
        __m128i both = _mm_and_si128(left, _mm_loadu_si128((const __m128i*)(y + i)));
        w = _mm_add_epi64(w, _mm_sad_epu8(left, zero));
        b = _mm_add_epi64(b, _mm_sad_epu8(both, zero));
    }
    _mm_storeu_si128((__m128i*)ws, w);
    _mm_storeu_si128((__m128i*)bs, b);
    *weight = ws[0] + ws[1];
    *total = bs[0] + bs[1];
#else
    int64_t w = 0, b = 0;
    for (intptr_t i = 0; i < n; i++) {
        w += x[i] <= cut;
        b += (x[i] <= cut) & y[i];
    }
    *weight = w;
    *total = b;
#endif
}

/* Rows with x <= cut, and the sum of their b. */
static inline void kinlearn_left_bin_sums(
    const uint8_t* x, const int64_t* b, intptr_t n, uint8_t cut, int64_t* weight,
    int64_t* total
) {
    int64_t w = 0, s = 0;
    for (intptr_t i = 0; i < n; i++) {
        w += x[i] <= cut;
        s += b[i] & -(int64_t)(x[i] <= cut);
    }
    *weight = w;
    *total = s;
}

#endif
