# The number types of all kernels, each named once.
#
# NumPy's intp is Py_ssize_t; row and task counts use it, so that no product of
# two counts overflows on large data. Codes that are stored per row (task,
# class, node) are 32-bit: half the memory traffic of the hot loops.

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

ctypedef Py_ssize_t intp_t
ctypedef int8_t i8_t
ctypedef uint8_t u8_t
ctypedef int32_t i32_t
ctypedef uint32_t u32_t
ctypedef int64_t i64_t
ctypedef uint64_t u64_t
ctypedef float f32_t
ctypedef double f64_t

ctypedef fused float_t:
    f32_t
    f64_t
