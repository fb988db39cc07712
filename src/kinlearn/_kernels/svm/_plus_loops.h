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

/* ------------------------------------------------------- extremes of a group */
typedef struct {
    double value;
    intptr_t at; /* -1 if there is none */
} kinlearn_extreme;

#define KINLEARN_LEAST(k, number)      \
    if ((number) < out[k].value) {     \
        out[k].value = (number);       \
        out[k].at = i;                 \
    }
#define KINLEARN_MOST(k, number)       \
    if ((number) > out[k].value) {     \
        out[k].value = (number);       \
        out[k].at = i;                 \
    }

/* Over start ... stop - 1, z being 1.0 or -1.0: the least gradient of a where z < 0,
 * where z > 0, and of b; the same for the greatest of variables above 0; the greatest
 * -zF of rows that may raise z'a with u as it is, and the least of those that may
 * lower it. Few rows are better than those before, so branches cost less here than
 * vectors, of which the places would have to be found. */
static void kinlearn_plus_extremes(
    const double* F, const double* H, const double* a, const double* b,
    const double* z, intptr_t start, intptr_t stop, kinlearn_extreme* out
) {
    for (int k = 0; k < 8; k++) {
        out[k].value = k < 3 || k == 7 ? INFINITY : -INFINITY;
        out[k].at = -1;
    }
    for (intptr_t i = start; i < stop; i++) {
        const int plus = z[i] > 0.0;
        const double slope = F[i] + H[i], side = -z[i] * F[i];
        KINLEARN_LEAST(plus, slope)
        KINLEARN_LEAST(2, H[i])
        if (a[i] > 0.0) KINLEARN_MOST(3 + plus, slope)
        if (b[i] > 0.0) KINLEARN_MOST(5, H[i])
        if ((plus ? b[i] : a[i]) > 0.0) KINLEARN_MOST(6, side)
        if ((plus ? a[i] : b[i]) > 0.0) KINLEARN_LEAST(7, side)
    }
}

/* ------------------------------------------------- partners, by second order */
/* The j with the greatest gap^2 / curve where the gap is positive and j has room to
 * fall; -1 if there is none. */
#define KINLEARN_PLUS_PARTNER(NAME, PARAMETERS, GAP, ROOM, CURVE)                  \
    KINLEARN_CLONES static intptr_t NAME(PARAMETERS, intptr_t start, intptr_t stop) \
    {                                                                              \
        const double tiny = 1e-12;                                                 \
        double best[8] = {0}, gain[8], top = 0.0;                                  \
        int64_t at[8];                                                             \
        intptr_t found = -1, i = start;                                            \
        for (int k = 0; k < 8; k++) at[k] = -1;                                    \
        for (; i + 8 <= stop; i += 8) {                                            \
            for (int k = 0; k < 8; k++) {                                          \
                const intptr_t j = i + k;                                          \
                double gap = (GAP), curve = (CURVE);                               \
                curve = curve > tiny ? curve : tiny;                               \
                gap = gap > 0.0 ? gap : 0.0;                                       \
                gap = (ROOM) > 0.0 ? gap : 0.0;                                    \
                gain[k] = gap * gap / curve;                                       \
            }                                                                      \
            for (int k = 0; k < 8; k++) {                                          \
                at[k] = gain[k] > best[k] ? i : at[k];                             \
                best[k] = gain[k] > best[k] ? gain[k] : best[k];                   \
            }                                                                      \
        }                                                                          \
        for (int k = 0; k < 8; k++)                                                \
            if (at[k] >= 0 &&                                                      \
                (best[k] > top || (best[k] == top && at[k] + k < found))) {        \
                top = best[k];                                                     \
                found = at[k] + k;                                                 \
            }                                                                      \
        for (; i < stop; i++) {                                                    \
            const intptr_t j = i;                                                  \
            double gap = (GAP), curve = (CURVE);                                   \
            curve = curve > tiny ? curve : tiny;                                   \
            if (gap > 0.0 && (ROOM) > 0.0 && gap * gap / curve > top) {            \
                top = gap * gap / curve;                                           \
                found = i;                                                         \
            }                                                                      \
        }                                                                          \
        return found;                                                              \
    }
#define KINLEARN_LIST(...) __VA_ARGS__

/* a_i grows, a_j of the same label falls */
KINLEARN_PLUS_PARTNER(
    kinlearn_plus_partner_a,
    KINLEARN_LIST(const double* F, const double* H, const double* a, const double* z,
                  const double* Q, const double* R, const double* q, const double* r,
                  double own, double sign, double diagonal),
    F[j] + H[j] - own, z[j] == sign ? a[j] : 0.0,
    diagonal + q[j] + r[j] - 2.0 * (Q[j] + R[j]))

/* b_i grows, b_j falls */
KINLEARN_PLUS_PARTNER(
    kinlearn_plus_partner_b,
    KINLEARN_LIST(const double* H, const double* b, const double* R, const double* r,
                  double own, double diagonal),
    H[j] - own, b[j], diagonal + r[j] - 2.0 * R[j])

/* the pair of an ordinary SVM, u staying as it is */
KINLEARN_PLUS_PARTNER(
    kinlearn_plus_partner_s,
    KINLEARN_LIST(const double* F, const double* a, const double* b, const double* z,
                  const double* Q, const double* q, double own, double sign,
                  double diagonal),
    own + z[j] * F[j], z[j] > 0.0 ? a[j] : b[j],
    diagonal + q[j] - 2.0 * sign * z[j] * Q[j])

#endif
