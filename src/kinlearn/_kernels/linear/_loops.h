/* The innermost loops of penalised linear models. They are written so that the compiler
 * makes vectors of them; with GCC on Linux it makes one version for each generation of
 * x86-64 processors, and the loader takes the one that fits. */
#ifndef KINLEARN_LINEAR_LOOPS_H
#define KINLEARN_LINEAR_LOOPS_H

#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    defined(__gnu_linux__)
#define KINLEARN_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KINLEARN_CLONES
#endif

#define KINLEARN_SUMS 16 /* side by side: one sum alone waits for itself */

/* sum of x y */
KINLEARN_CLONES static double kinlearn_dot(
    const double* x, const double* y, intptr_t n
) {
    double sums[KINLEARN_SUMS] = {0}, total = 0.0;
    intptr_t i = 0;
    for (; i + KINLEARN_SUMS <= n; i += KINLEARN_SUMS)
        for (int k = 0; k < KINLEARN_SUMS; k++) sums[k] += x[i + k] * y[i + k];
    for (; i < n; i++) total += x[i] * y[i];
    for (int k = 0; k < KINLEARN_SUMS; k++) total += sums[k];
    return total;
}

/* sums of v x and of v x x */
KINLEARN_CLONES static void kinlearn_moments(
    const double* x, const double* v, intptr_t n, double* first, double* second
) {
    double one[KINLEARN_SUMS] = {0}, two[KINLEARN_SUMS] = {0}, a = 0.0, b = 0.0;
    intptr_t i = 0;
    for (; i + KINLEARN_SUMS <= n; i += KINLEARN_SUMS)
        for (int k = 0; k < KINLEARN_SUMS; k++) {
            double vx = v[i + k] * x[i + k];
            one[k] += vx;
            two[k] += vx * x[i + k];
        }
    for (; i < n; i++) {
        a += v[i] * x[i];
        b += v[i] * x[i] * x[i];
    }
    for (int k = 0; k < KINLEARN_SUMS; k++) {
        a += one[k];
        b += two[k];
    }
    *first = a;
    *second = b;
}

/* y += a x */
KINLEARN_CLONES static void kinlearn_add(
    double a, const double* restrict x, intptr_t n, double* restrict y
) {
    for (intptr_t i = 0; i < n; i++) y[i] += a * x[i];
}

/* y -= a v x */
KINLEARN_CLONES static void kinlearn_subtract_weighted(
    double a, const double* restrict x, const double* restrict v, intptr_t n,
    double* restrict y
) {
    for (intptr_t i = 0; i < n; i++) y[i] -= a * v[i] * x[i];
}

#endif
