/* The innermost loops of SVM+; see _loops.h for how they become vectors. */
#ifndef KINLEARN_SVM_PLUS_LOOPS_H
#define KINLEARN_SVM_PLUS_LOOPS_H

#include "_loops.h"

/* sums += a x, in double precision */
KINLEARN_CLONES static void kinlearn_add64(
    double a, const double* x, intptr_t n, double* sums
) {
    for (intptr_t j = 0; j < n; j++) sums[j] += a * x[j];
}

/* sums += a[0] x[0] + ... + a[3] x[3]: four rows for one way through the sums */
#define KINLEARN_ADD_FOUR(NAME, TYPE)                                              \
    KINLEARN_CLONES static void NAME(                                              \
        const double* a, const TYPE* const* x, intptr_t n, double* sums            \
    ) {                                                                            \
        const TYPE *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];                 \
        const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];                   \
        for (intptr_t j = 0; j < n; j++)                                           \
            sums[j] += (a0 * x0[j] + a1 * x1[j]) + (a2 * x2[j] + a3 * x3[j]);      \
    }
KINLEARN_ADD_FOUR(kinlearn_add_four32, float)
KINLEARN_ADD_FOUR(kinlearn_add_four64, double)

#endif
