"""Entries to the kernels' random generator, for tests and for Python twins."""

from kinlearn._kernels._random cimport (
    derive_stream, next_below, next_u64, next_uniform, skip
)
from kinlearn._kernels._typedefs cimport f64_t, i64_t, intp_t, u64_t


def stream_state(u64_t seed, u64_t number):
    """State of stream `number` under `seed`."""
    return derive_stream(seed, number)


def skipped(u64_t state, u64_t n):
    """State after n numbers were drawn."""
    skip(&state, n)
    return state


def fill_u64(u64_t state, u64_t[::1] out):
    """Fill `out` with raw 64-bit draws; return the state afterwards."""
    cdef intp_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = next_u64(&state)
    return state


def fill_uniform(u64_t state, f64_t[::1] out):
    """Fill `out` with draws from the open interval (0, 1); return the state."""
    cdef intp_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = next_uniform(&state)
    return state


def fill_below(u64_t state, u64_t n, i64_t[::1] out):
    """Fill `out` with draws from 0 .. n - 1; return the state afterwards."""
    cdef intp_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = <i64_t>next_below(&state, n)
    return state
