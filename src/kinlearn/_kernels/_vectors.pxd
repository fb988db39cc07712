# See _vectors.h.

from kinlearn._kernels._typedefs cimport f32_t, i32_t, i64_t, intp_t


cdef extern from "_vectors.h" nogil:
    enum:
        PADDING "KINLEARN_PADDING"

    void prefetch "kinlearn_prefetch" (const void* address) noexcept

    void gather "kinlearn_gather" (
        const f32_t* source, intp_t stride, const i32_t* rows, intp_t n, f32_t* out,
        f32_t* low, f32_t* high) noexcept
    void left_counts "kinlearn_left_counts" (
        const f32_t* x, const i32_t* y, intp_t n, f32_t cut, i64_t* weight,
        i64_t* total) noexcept
    void left_sums "kinlearn_left_sums" (
        const f32_t* x, const i64_t* b, intp_t n, f32_t cut, i64_t* weight,
        i64_t* total) noexcept

    void turn_rows "kinlearn_turn_rows" (
        const f32_t* const* rows, intp_t n, f32_t* target, intp_t stride) noexcept
