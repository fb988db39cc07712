/* The innermost loops of the support vector machines. They are written so that the
 * compiler makes vectors of them; with GCC on Linux it makes one version for each
 * generation of x86-64 processors, and the loader takes the one that fits. */
#ifndef KINLEARN_SVM_LOOPS_H
#define KINLEARN_SVM_LOOPS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    defined(__gnu_linux__)
#define KINLEARN_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KINLEARN_CLONES
#endif

/* exp(x) for x <= 0 to a few units in the last place: x = n log 2 + r, a polynomial
 * for exp(r), and n into the exponent's bits. Below -87 it is exp(-87) = 1.6e-38. */
static inline float kinlearn_exp(float x) {
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float n, r, p;
    int32_t bits;
    x = x < -87.0f ? -87.0f : x;
    n = (x * 1.44269504f + shift) - shift;
    r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    bits = ((int32_t)n + 127) << 23;
    memcpy(&r, &bits, sizeof(float));
    return p * r;
}

/* out = exp(-gamma max(norm_i + norm - 2 dot, 0)) */
KINLEARN_CLONES static void kinlearn_rbf32(
    const float* dot, const double* norm, intptr_t n, double norm_i, double gamma,
    float* out
) {
    const float g = (float)-gamma;
    for (intptr_t j = 0; j < n; j++) {
        float distance = (float)(norm_i + norm[j] - 2.0 * dot[j]);
        distance = distance < 0.0f ? 0.0f : distance;
        out[j] = kinlearn_exp(g * distance);
    }
}

KINLEARN_CLONES static void kinlearn_rbf64(
    const double* dot, const double* norm, intptr_t n, double norm_i, double gamma,
    float* out
) {
    for (intptr_t j = 0; j < n; j++) {
        double distance = norm_i + norm[j] - 2.0 * dot[j];
        distance = distance < 0.0 ? 0.0 : distance;
        out[j] = kinlearn_exp((float)(-gamma * distance));
    }
}

/* out = (gamma dot + coef0)^degree */
KINLEARN_CLONES static void kinlearn_poly32(
    const float* dot, intptr_t n, double gamma, double coef0, int degree, float* out
) {
    for (intptr_t j = 0; j < n; j++) {
        double base = gamma * dot[j] + coef0, power = 1.0;
        for (int k = 0; k < degree; k++) power *= base;
        out[j] = (float)power;
    }
}

KINLEARN_CLONES static void kinlearn_poly64(
    const double* dot, intptr_t n, double gamma, double coef0, int degree, float* out
) {
    for (intptr_t j = 0; j < n; j++) {
        double base = gamma * dot[j] + coef0, power = 1.0;
        for (int k = 0; k < degree; k++) power *= base;
        out[j] = (float)power;
    }
}

/* sums += a x */
KINLEARN_CLONES static void kinlearn_add(
    double a, const float* x, intptr_t n, double* sums
) {
    for (intptr_t j = 0; j < n; j++) sums[j] += a * x[j];
}

/* ------------------------------------------------- steps and choices of SMO
 * Eight lanes, each with the best value that it met and where; among equals the
 * first place wins, so the choice does not depend on the number of lanes. */
typedef double kinlearn_v8d __attribute__((vector_size(64)));
typedef int64_t kinlearn_v8l __attribute__((vector_size(64)));
typedef float kinlearn_v8f __attribute__((vector_size(32)));

#define KINLEARN_LOAD(type, name, address) \
    type name;                             \
    memcpy(&name, address, sizeof(type))
#define KINLEARN_PICK(mask, yes, no) (((mask) & (yes)) | (~(mask) & (no)))
#define KINLEARN_PICKD(mask, yes, no) \
    ((kinlearn_v8d)KINLEARN_PICK(mask, (kinlearn_v8l)(yes), (kinlearn_v8l)(no)))

typedef struct {
    double least, greatest; /* of F + up, and of F + low */
    intptr_t at_least, at_greatest;
} kinlearn_extremes;

/* F += a p + b q, then the least of F + up and the greatest of F + low, over
 * start ... stop - 1. */
KINLEARN_CLONES static void kinlearn_step(
    double* F, const float* p, const float* q, double a, double b, const double* up,
    const double* low, intptr_t start, intptr_t stop, kinlearn_extremes* out
) {
    kinlearn_v8d least = {INFINITY, INFINITY, INFINITY, INFINITY,
                          INFINITY, INFINITY, INFINITY, INFINITY};
    kinlearn_v8d greatest = -least;
    kinlearn_v8l at_least = {0}, at_greatest = {0};
    double best = INFINITY, worst = -INFINITY;
    intptr_t i = start, at_best = start, at_worst = start;
    for (; i + 8 <= stop; i += 8) {
        KINLEARN_LOAD(kinlearn_v8d, f, F + i);
        KINLEARN_LOAD(kinlearn_v8f, x, p + i);
        KINLEARN_LOAD(kinlearn_v8f, z, q + i);
        KINLEARN_LOAD(kinlearn_v8d, u, up + i);
        KINLEARN_LOAD(kinlearn_v8d, l, low + i);
        kinlearn_v8l better, here = (kinlearn_v8l){0} + i;
        f += a * __builtin_convertvector(x, kinlearn_v8d);
        f += b * __builtin_convertvector(z, kinlearn_v8d);
        memcpy(F + i, &f, sizeof f);
        u += f;
        l += f;
        better = u < least;
        least = KINLEARN_PICKD(better, u, least);
        at_least = KINLEARN_PICK(better, here, at_least);
        better = l > greatest;
        greatest = KINLEARN_PICKD(better, l, greatest);
        at_greatest = KINLEARN_PICK(better, here, at_greatest);
    }
    for (int k = 0; k < 8; k++) {
        intptr_t place = at_least[k] + k;
        if (least[k] < best || (least[k] == best && place < at_best)) {
            best = least[k];
            at_best = place;
        }
        place = at_greatest[k] + k;
        if (greatest[k] > worst || (greatest[k] == worst && place < at_worst)) {
            worst = greatest[k];
            at_worst = place;
        }
    }
    for (; i < stop; i++) {
        F[i] += a * p[i];
        F[i] += b * q[i];
        if (F[i] + up[i] < best) {
            best = F[i] + up[i];
            at_best = i;
        }
        if (F[i] + low[i] > worst) {
            worst = F[i] + low[i];
            at_worst = i;
        }
    }
    out->least = best;
    out->at_least = at_best;
    out->greatest = worst;
    out->at_greatest = at_worst;
}

/* The partner j of a row i: the greatest (F_j + low_j - slope_i)^2 / a among the positive
 * differences, with a = diagonal_i + diagonal_j - 2 row_j, at least tau; -1 if there
 * is none. Single precision is enough for a choice. */
KINLEARN_CLONES static intptr_t kinlearn_partner(
    const double* F, const double* low, const float* row, const float* diagonal,
    double slope_i, float diagonal_i, intptr_t start, intptr_t stop
) {
    const float tau = 1e-12f;
    float best[16], gain[16];
    int32_t at[16];
    float top = 0.0f;
    intptr_t found = -1, i = start;
    for (int k = 0; k < 16; k++) {
        best[k] = 0.0f;
        at[k] = -1;
    }
    for (; i + 16 <= stop; i += 16) {
        const int32_t here = (int32_t)(i - start);
        for (int k = 0; k < 16; k++) {
            float v = (float)(F[i + k] + low[i + k] - slope_i);
            float a = diagonal_i + diagonal[i + k] - 2.0f * row[i + k];
            a = a > tau ? a : tau;
            v = v > 0.0f ? v : 0.0f;
            gain[k] = v * v / a;
        }
        for (int k = 0; k < 16; k++) {
            at[k] = gain[k] > best[k] ? here : at[k];
            best[k] = gain[k] > best[k] ? gain[k] : best[k];
        }
    }
    for (int k = 0; k < 16; k++) {
        if (at[k] >= 0 && (best[k] > top ||
                           (best[k] == top && start + at[k] + k < found))) {
            top = best[k];
            found = start + at[k] + k;
        }
    }
    for (; i < stop; i++) {
        float v = (float)(F[i] + low[i] - slope_i);
        float a = diagonal_i + diagonal[i] - 2.0f * row[i];
        a = a > tau ? a : tau;
        v = v > 0.0f ? v : 0.0f;
        if (v * v / a > top) {
            top = v * v / a;
            found = i;
        }
    }
    return found;
}

/* The partner j of a row i where both may move independently: the greatest
 * decrease of the quadratic over the two, bounds left aside, if it is more than that
 * of i alone; -1 if there is none. Row j is free (up = low), or wishes to rise
 * (F + up < 0) or to fall (F + low > 0) and would; i_is_free says whether i, whose
 * slope is `slope`, may turn round. */
KINLEARN_CLONES static intptr_t kinlearn_companion(
    const double* F, const double* up, const double* low, const float* row,
    const float* diagonal, double slope, float diagonal_i, int i_is_free,
    intptr_t start, intptr_t stop
) {
    const float s = (float)slope, d = diagonal_i;
    float best[16], gain[16];
    int32_t at[16];
    float top = s * s / d;
    intptr_t found = -1, i = start;
    for (int k = 0; k < 16; k++) {
        best[k] = top;
        at[k] = -1;
    }
    for (; i < stop; i += 16) {
        const int32_t here = (int32_t)(i - start);
        const int lanes = stop - i < 16 ? (int)(stop - i) : 16;
        for (int k = 0; k < lanes; k++) {
            const float rise = (float)(F[i + k] + up[i + k]);
            const float fall = (float)(F[i + k] + low[i + k]);
            const float q = row[i + k], e = diagonal[i + k];
            const int is_free = up[i + k] == low[i + k];
            const float g = rise < 0.0f || is_free ? rise : fall;
            const float det = d * e - q * q, least = 1e-6f * d * e;
            const float by_i = (q * g - e * s) * s, by_j = (q * s - d * g) * g;
            const int may = (is_free || rise < 0.0f || fall > 0.0f)
                          & (is_free || by_j < 0.0f) & (i_is_free || by_i < 0.0f);
            const float value = -(by_i + by_j) / (det > least ? det : least);
            gain[k] = may ? value : 0.0f;
        }
        for (int k = 0; k < lanes; k++) {
            at[k] = gain[k] > best[k] ? here : at[k];
            best[k] = gain[k] > best[k] ? gain[k] : best[k];
        }
    }
    for (int k = 0; k < 16; k++) {
        if (at[k] >= 0 && (best[k] > top ||
                           (best[k] == top && start + at[k] + k < found))) {
            top = best[k];
            found = start + at[k] + k;
        }
    }
    return found;
}

/* --------------------------------------------------------------------- SVM+ */
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
/* The j with the greatest gap^2 / curve where the gap is positive and j may
 * fall; -1 if there is none. */
#define KINLEARN_PLUS_PARTNER(NAME, PARAMETERS, GAP, SLACK, CURVE)                 \
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
                gap = (SLACK) > 0.0 ? gap : 0.0;                                   \
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
            if (gap > 0.0 && (SLACK) > 0.0 && gap * gap / curve > top) {           \
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
                  double slope_i, double sign, double diagonal),
    F[j] + H[j] - slope_i, z[j] == sign ? a[j] : 0.0,
    diagonal + q[j] + r[j] - 2.0 * (Q[j] + R[j]))

/* b_i grows, b_j falls */
KINLEARN_PLUS_PARTNER(
    kinlearn_plus_partner_b,
    KINLEARN_LIST(const double* H, const double* b, const double* R, const double* r,
                  double slope_i, double diagonal),
    H[j] - slope_i, b[j], diagonal + r[j] - 2.0 * R[j])

/* the pair of an ordinary SVM, u staying as it is */
KINLEARN_PLUS_PARTNER(
    kinlearn_plus_partner_s,
    KINLEARN_LIST(const double* F, const double* a, const double* b, const double* z,
                  const double* Q, const double* q, double slope_i, double sign,
                  double diagonal),
    slope_i + z[j] * F[j], z[j] > 0.0 ? a[j] : b[j],
    diagonal + q[j] - 2.0 * sign * z[j] * Q[j])

#endif
