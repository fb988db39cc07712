# See _lanes.h.

from kinlearn._kernels._typedefs cimport i32_t, intp_t


cdef extern from "boosting/stumps/_lanes.h" nogil:
    enum:
        ROOTS "KINLEARN_ROOTS"

    ctypedef struct Extremes "kinlearn_extremes":
        i32_t[2][16] low
        i32_t[2][16] high

    bint has_avx2 "kinlearn_has_avx2" () noexcept
    void walk "kinlearn_walk" (
        bint avx2, const i32_t* entry, intp_t n, const i32_t* weight,
        const i32_t* lanes, const i32_t* start, i32_t all, Extremes* out) noexcept
    void keep_better "kinlearn_keep_better" (
        const Extremes* met, int side, const i32_t* total, const i32_t* closed,
        i32_t group, i32_t* best, i32_t* best_group) noexcept
