/* Which leaf of a small tree many rows reach: node by node, not row by row.
 *
 * Each row begins with a bit for every leaf. A node takes away the leaves of its right
 * side from the rows that go left, and those of its left side from the others; one bit
 * stays. No branch depends on a row, and a processor does many rows at once (Lucchese
 * et al., QuickScorer, SIGIR 2015, go row by row instead). */
#ifndef KINLEARN_LEAF_MASKS_H
#define KINLEARN_LEAF_MASKS_H

#include <stdint.h>

#define KINLEARN_BLOCK 128 /* rows at once */

/* 255 for rows that go right of a split by numbers, else 0. */
static inline void kinlearn_goes_right(
    const uint8_t* restrict code, uint8_t bin, uint8_t n_bins, uint8_t default_left,
    uint8_t* restrict right) {
    /* a missing value, from n_bins on, is above every bin */
    const uint8_t back = default_left ? 255 : 0;
    for (int i = 0; i < KINLEARN_BLOCK; i++) {
        const uint8_t above = code[i] > bin ? 255 : 0;
        const uint8_t missing = code[i] >= n_bins ? 255 : 0;
        right[i] = (uint8_t)(above ^ (missing & back));
    }
}

/* Leaves that stay, eight of a tree, where rows go left and where they go right. */
static inline void kinlearn_keep_leaves(
    const uint8_t* restrict right, uint8_t if_left, uint8_t if_right,
    uint8_t* restrict leaves) {
    const uint8_t change = (uint8_t)(if_left ^ if_right);
    for (int i = 0; i < KINLEARN_BLOCK; i++)
        leaves[i] = (uint8_t)(leaves[i] & (if_left ^ (right[i] & change)));
}

#endif
