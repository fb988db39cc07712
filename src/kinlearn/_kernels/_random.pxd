# The random generator of all kernels: SplitMix64 (Steele, Lea & Flood 2014).
#
# One 64-bit word of state, so every tree, node or round can own a stream that
# is derived from its number alone: the model then does not depend on the order
# in which threads get to work. It passes BigCrush.

from kinlearn._kernels._typedefs cimport f64_t, u64_t


cdef inline u64_t mix64(u64_t z) noexcept nogil:
    z = (z ^ (z >> 30)) * <u64_t>0xBF58476D1CE4E5B9U
    z = (z ^ (z >> 27)) * <u64_t>0x94D049BB133111EBU
    return z ^ (z >> 31)


cdef inline u64_t derive_stream(u64_t seed, u64_t number) noexcept nogil:
    # The state of the stream that belongs to `number` under `seed`.
    return mix64(seed ^ mix64(number + <u64_t>0x9E3779B97F4A7C15U))


cdef inline u64_t next_u64(u64_t* state) noexcept nogil:
    state[0] += <u64_t>0x9E3779B97F4A7C15U
    return mix64(state[0])


cdef inline void skip(u64_t* state, u64_t n) noexcept nogil:
    # As if n numbers had been drawn.
    state[0] += n * <u64_t>0x9E3779B97F4A7C15U


cdef inline f64_t next_uniform(u64_t* state) noexcept nogil:
    # Uniform in the OPEN interval (0, 1): the middle of one of 2^52 cells.
    # Never 0 and never 1, so a cut between two numbers never equals the larger.
    return ((next_u64(state) >> 12) + 0.5) * (1.0 / 4503599627370496.0)


cdef inline u64_t next_below(u64_t* state, u64_t n) noexcept nogil:
    # Uniform in 0 .. n - 1 for 0 < n < 2^32 (Lemire's multiply-shift; the bias
    # is below n / 2^32).
    return ((next_u64(state) >> 32) * n) >> 32
