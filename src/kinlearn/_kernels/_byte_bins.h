/* From values to bins of one byte; see _binning.pyx. */
#ifndef KINLEARN_BYTE_BINS_H
#define KINLEARN_BYTE_BINS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define KINLEARN_MISSING 255 /* the bin of a missing value */
#define KINLEARN_CELLS 1024
#define KINLEARN_CELL_ROWS 128 /* at most in a call: one line of each stays near */

/* How the values of a feature are binned, and the extremes of each bin so far. */
typedef struct {
    int by_bits;
    float origin, cells_per_unit;
    const uint8_t* bin_of_cell;
    float *lowest, *highest;
} kinlearn_cells;

/* bins[i] is that of values[i * stride]. */
static inline void kinlearn_bin_values(
    const float* values, intptr_t stride, int n, const kinlearn_cells* how,
    uint8_t* bins
) {
    float x[KINLEARN_CELL_ROWS], scaled[KINLEARN_CELL_ROWS];
    int32_t cell[KINLEARN_CELL_ROWS];
    const float origin = how->origin, cells_per_unit = how->cells_per_unit;
    const float last = KINLEARN_CELLS - 1;
    float *lowest = how->lowest, *highest = how->highest;
    int missing = 0;
    for (int i = 0; i < n; i++) x[i] = values[i * stride];
    memcpy(scaled, x, n * sizeof(float));
    if (how->by_bits) { /* as numbers: monotone, and nearly logarithms */
        memcpy(cell, x, n * sizeof(float));
        for (int i = 0; i < n; i++)
            scaled[i] = (float)(cell[i] ^ ((cell[i] >> 31) & 0x7fffffff));
    }
    for (int i = 0; i < n; i++) {
        float v = (scaled[i] - origin) * cells_per_unit;
        v = v > 0 ? v : 0; /* NaN too */
        cell[i] = (int32_t)(v < last ? v : last);
        missing |= x[i] != x[i];
    }
    for (int i = 0; i < n; i++) {
        uint8_t bin = how->bin_of_cell[cell[i]];
        bins[i] = bin;
        if ((x[i] < lowest[bin]) | (x[i] > highest[bin])) { /* soon this is rare */
            lowest[bin] = x[i] < lowest[bin] ? x[i] : lowest[bin];
            highest[bin] = x[i] > highest[bin] ? x[i] : highest[bin];
        }
    }
    if (missing) {
        lowest[KINLEARN_MISSING] = -INFINITY;
        for (int i = 0; i < n; i++)
            bins[i] = x[i] == x[i] ? bins[i] : KINLEARN_MISSING;
    }
}

#endif
