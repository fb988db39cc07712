# See _loops.h.

from kinlearn._kernels._typedefs cimport f32_t, f64_t, intp_t


cdef extern from "svm/_loops.h" nogil:
    void kinlearn_rbf32(const f32_t* dot, const f64_t* norm, intp_t n, f64_t norm_i,
                        f64_t gamma, f32_t* out) noexcept
    void kinlearn_rbf64(const f64_t* dot, const f64_t* norm, intp_t n, f64_t norm_i,
                        f64_t gamma, f32_t* out) noexcept
    void kinlearn_poly32(const f32_t* dot, intp_t n, f64_t gamma, f64_t coef0,
                         int degree, f32_t* out) noexcept
    void kinlearn_poly64(const f64_t* dot, intp_t n, f64_t gamma, f64_t coef0,
                         int degree, f32_t* out) noexcept
    void kinlearn_add(f64_t a, const f32_t* x, intp_t n, f64_t* sums) noexcept

    ctypedef struct kinlearn_extremes:
        f64_t least, greatest  # of F + up, and of F + low
        intp_t at_least, at_greatest

    void kinlearn_step(f64_t* F, const f32_t* p, const f32_t* q, f64_t a, f64_t b,
                       const f64_t* up, const f64_t* low, intp_t start, intp_t stop,
                       kinlearn_extremes* out) noexcept
    intp_t kinlearn_partner(const f64_t* F, const f64_t* low, const f32_t* row,
                            const f32_t* diagonal, f64_t slope_i, f32_t diagonal_i,
                            intp_t start, intp_t stop) noexcept
    intp_t kinlearn_companion(const f64_t* F, const f64_t* up, const f64_t* low,
                              const f32_t* row, const f32_t* diagonal, f64_t slope,
                              f32_t diagonal_i, int i_is_free, intp_t start,
                              intp_t stop) noexcept
