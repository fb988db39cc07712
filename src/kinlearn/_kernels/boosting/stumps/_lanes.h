/* The innermost loops of the search for child stumps, for sixteen roots at a time.
 *
 * Each root sends some rows to its left and the others to its right. A lane holds, for
 * one root, the signed weight of the rows on the left; what a walk has met of all rows
 * less that is the weight on the right.
 *
 * A cut with signed weight a on one side and T in all has the edge |a| + |T - a|. That
 * is convex in a, so the best cut of a walk has the least or the greatest a. Only
 * these two are kept; where the cut was is found again for the one stump that is taken.
 *
 * AVX2 is used where the processor has it; both ways give the same integers. */
#ifndef KINLEARN_LANES_H
#define KINLEARN_LANES_H

#include <stdint.h>

#define KINLEARN_ROOTS 16

#if defined(__GNUC__) && defined(__x86_64__)
#define KINLEARN_AVX2 __attribute__((target("avx2")))
#include <immintrin.h>
#define kinlearn_has_avx2() __builtin_cpu_supports("avx2")
#define kinlearn_ahead(address) __builtin_prefetch(address)
#else
#define kinlearn_has_avx2() 0
#define kinlearn_ahead(address) ((void)(address))
#endif

/* Entries that are known before their rows are needed. */
#define KINLEARN_AHEAD 8

/* Least and greatest signed weight, on the left and on the right of each root. */
typedef struct {
    int32_t low[2][KINLEARN_ROOTS];
    int32_t high[2][KINLEARN_ROOTS];
} kinlearn_extremes;

static void kinlearn_walk_plain(
    const int32_t* entry, intptr_t n, const int32_t* weight, const int32_t* lanes,
    const int32_t* start, int32_t all, kinlearn_extremes* out
) {
    int32_t a[KINLEARN_ROOTS];
    for (int c = 0; c < KINLEARN_ROOTS; c++) a[c] = start[c];
    for (intptr_t i = 0; i < n; i++) {
        const intptr_t row = entry[i] >> 1;
        const int32_t* lane = lanes + row * KINLEARN_ROOTS;
        if (i + KINLEARN_AHEAD < n)
            kinlearn_ahead(lanes + (intptr_t)(entry[i + KINLEARN_AHEAD] >> 1) * KINLEARN_ROOTS);
        all += weight[row];
        for (int c = 0; c < KINLEARN_ROOTS; c++) a[c] += lane[c];
        if (entry[i] & 1)
            for (int c = 0; c < KINLEARN_ROOTS; c++) {
                const int32_t left = a[c], right = all - left;
                out->low[0][c] = left < out->low[0][c] ? left : out->low[0][c];
                out->high[0][c] = left > out->high[0][c] ? left : out->high[0][c];
                out->low[1][c] = right < out->low[1][c] ? right : out->low[1][c];
                out->high[1][c] = right > out->high[1][c] ? right : out->high[1][c];
            }
    }
}

#ifdef KINLEARN_AVX2
#define KINLEARN_LOAD(p) _mm256_loadu_si256((const __m256i*)(p))
#define KINLEARN_STORE(p, v) _mm256_storeu_si256((__m256i*)(p), v)

KINLEARN_AVX2 static void kinlearn_walk_avx2(
    const int32_t* entry, intptr_t n, const int32_t* weight, const int32_t* lanes,
    const int32_t* start, int32_t all, kinlearn_extremes* out
) {
    __m256i a0 = KINLEARN_LOAD(start), a1 = KINLEARN_LOAD(start + 8);
    __m256i low00 = KINLEARN_LOAD(out->low[0]), low01 = KINLEARN_LOAD(out->low[0] + 8);
    __m256i low10 = KINLEARN_LOAD(out->low[1]), low11 = KINLEARN_LOAD(out->low[1] + 8);
    __m256i top00 = KINLEARN_LOAD(out->high[0]), top01 = KINLEARN_LOAD(out->high[0] + 8);
    __m256i top10 = KINLEARN_LOAD(out->high[1]), top11 = KINLEARN_LOAD(out->high[1] + 8);
    for (intptr_t i = 0; i < n; i++) {
        const intptr_t row = entry[i] >> 1;
        const int32_t* lane = lanes + row * KINLEARN_ROOTS;
        if (i + KINLEARN_AHEAD < n)
            kinlearn_ahead(lanes + (intptr_t)(entry[i + KINLEARN_AHEAD] >> 1) * KINLEARN_ROOTS);
        all += weight[row];
        a0 = _mm256_add_epi32(a0, KINLEARN_LOAD(lane));
        a1 = _mm256_add_epi32(a1, KINLEARN_LOAD(lane + 8));
        if (entry[i] & 1) {
            const __m256i every = _mm256_set1_epi32(all);
            const __m256i r0 = _mm256_sub_epi32(every, a0);
            const __m256i r1 = _mm256_sub_epi32(every, a1);
            low00 = _mm256_min_epi32(low00, a0);
            low01 = _mm256_min_epi32(low01, a1);
            low10 = _mm256_min_epi32(low10, r0);
            low11 = _mm256_min_epi32(low11, r1);
            top00 = _mm256_max_epi32(top00, a0);
            top01 = _mm256_max_epi32(top01, a1);
            top10 = _mm256_max_epi32(top10, r0);
            top11 = _mm256_max_epi32(top11, r1);
        }
    }
    KINLEARN_STORE(out->low[0], low00);
    KINLEARN_STORE(out->low[0] + 8, low01);
    KINLEARN_STORE(out->low[1], low10);
    KINLEARN_STORE(out->low[1] + 8, low11);
    KINLEARN_STORE(out->high[0], top00);
    KINLEARN_STORE(out->high[0] + 8, top01);
    KINLEARN_STORE(out->high[1], top10);
    KINLEARN_STORE(out->high[1] + 8, top11);
}
#else
#define kinlearn_walk_avx2 kinlearn_walk_plain
#endif

/* Follow a part of a group, from sums to begin with. */
static inline void kinlearn_walk(
    int avx2, const int32_t* entry, intptr_t n, const int32_t* weight,
    const int32_t* lanes, const int32_t* start, int32_t all, kinlearn_extremes* out
) {
    if (avx2)
        kinlearn_walk_avx2(entry, n, weight, lanes, start, all, out);
    else
        kinlearn_walk_plain(entry, n, weight, lanes, start, all, out);
}

/* Take the group as the best one where its best cut is better; `closed` is -1 for
 * roots of the task itself, which may not have it, and 0 for others. */
static inline void kinlearn_keep_better(
    const kinlearn_extremes* met, int side, const int32_t* total, const int32_t* closed,
    int32_t group, int32_t* best, int32_t* best_group
) {
    for (int c = 0; c < KINLEARN_ROOTS; c++) {
        const int32_t T = total[c], a = met->low[side][c], b = met->high[side][c];
        const int32_t one = (a < 0 ? -a : a) + (T < a ? a - T : T - a);
        const int32_t two = (b < 0 ? -b : b) + (T < b ? b - T : T - b);
        const int32_t edge = (one > two ? one : two) | closed[c];
        const int32_t keep = -(edge > best[c]);
        best[c] = (edge & keep) | (best[c] & ~keep);
        best_group[c] = (group & keep) | (best_group[c] & ~keep);
    }
}

#endif
