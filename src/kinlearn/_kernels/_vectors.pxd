# See _vectors.h.

from kinlearn._kernels._typedefs cimport f32_t, i32_t, i64_t, intp_t, u32_t


cdef extern from "_vectors.h" nogil:
    enum:
        PADDING "KINLEARN_PADDING"
        LANES "KINLEARN_LANES"

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

    void open_lanes "kinlearn_open_lanes" (u32_t set, u32_t* inside) noexcept
    int count_bits "kinlearn_count_bits" (u32_t set) noexcept
    int lowest_bit "kinlearn_lowest_bit" (u32_t set) noexcept
    void lane_extremes "kinlearn_lane_extremes" (
        const u32_t* inside, const f32_t* x, f32_t* low, f32_t* high) noexcept
    u32_t lanes_at_most "kinlearn_lanes_at_most" (
        const f32_t* x, f32_t cut) noexcept
    i64_t sum_lanes "kinlearn_sum_lanes" (const i64_t* b, u32_t set) noexcept
