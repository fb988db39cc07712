/* From values to codes of one byte; see _binning.pyx. */
#ifndef KINLEARN_CODING_H
#define KINLEARN_CODING_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define KINLEARN_MISSING 255 /* the code of a missing value */
#define KINLEARN_CELLS 1024
#define KINLEARN_CODING_ROWS 128 /* at most in a call: one line of each stays near */

/* How the values of a feature are coded, and the extremes for each code so far. */
typedef struct {
    int by_bits;
    float origin, cells_per_unit;
    const uint8_t* code_of_cell;
    float *lowest, *highest;
} kinlearn_coding;

/* codes[i] is that of values[i * stride]. */
static inline void kinlearn_code_values(
    const float* values, intptr_t stride, int n, const kinlearn_coding* how,
    uint8_t* codes
) {
    float x[KINLEARN_CODING_ROWS], scaled[KINLEARN_CODING_ROWS];
    int32_t cell[KINLEARN_CODING_ROWS];
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
        uint8_t code = how->code_of_cell[cell[i]];
        codes[i] = code;
        if ((x[i] < lowest[code]) | (x[i] > highest[code])) { /* soon this is rare */
            lowest[code] = x[i] < lowest[code] ? x[i] : lowest[code];
            highest[code] = x[i] > highest[code] ? x[i] : highest[code];
        }
    }
    if (missing) {
        lowest[KINLEARN_MISSING] = -INFINITY;
        for (int i = 0; i < n; i++)
            codes[i] = x[i] == x[i] ? codes[i] : KINLEARN_MISSING;
    }
}

#endif
