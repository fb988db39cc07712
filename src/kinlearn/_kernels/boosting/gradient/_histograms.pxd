# See _histograms.h.

from kinlearn._kernels._typedefs cimport f64_t, i32_t, i64_t, intp_t, u8_t


cdef extern from "boosting/gradient/_histograms.h" nogil:
    ctypedef struct Sums "kinlearn_sums":
        i64_t g
        i64_t hc

    ctypedef struct Scale "kinlearn_scale":
        f64_t g_unit
        f64_t h_unit
        f64_t l2
        i64_t count_mask
        int bits
        i64_t least_count
        f64_t least_h

    ctypedef struct Cut "kinlearn_cut":
        f64_t score
        int bin
        int missing_left
        Sums left

    void prefetch_row "kinlearn_prefetch_row" (const void* address) noexcept
    f64_t bar "kinlearn_bar" (f64_t score) noexcept
    f64_t gradient "kinlearn_gradient" (const Sums* s, const Scale* k) noexcept
    f64_t curvature "kinlearn_curvature" (const Sums* s, const Scale* k) noexcept
    i64_t count "kinlearn_count" (const Sums* s, const Scale* k) noexcept
    void add_rows "kinlearn_fill" (
        const u8_t* bins, intp_t stride, intp_t n_features, const i32_t* offset,
        const i32_t* rows, intp_t n, const Sums* pairs, Sums* hist, const i32_t* task,
        Sums* tasks) noexcept
    void add "kinlearn_add_cells" (
        Sums* whole, const Sums* part, intp_t n) noexcept
    void subtract "kinlearn_subtract" (
        Sums* whole, const Sums* part, intp_t n) noexcept
    void scan "kinlearn_scan" (
        const Sums* cell, int last, Sums start, Sums node, int missing_left,
        const Scale* k, f64_t floor, Cut* best) noexcept
    void scan_bounded "kinlearn_scan_bounded" (
        const Sums* cell, int last, Sums start, Sums node, int missing_left,
        const Scale* k, int direction, f64_t lower, f64_t upper, Cut* best) noexcept
    f64_t value_of "kinlearn_value" (
        f64_t g, f64_t h, f64_t l2, f64_t lower, f64_t upper) noexcept
    f64_t side "kinlearn_side" (
        f64_t g, f64_t h, f64_t l2, f64_t lower, f64_t upper) noexcept
