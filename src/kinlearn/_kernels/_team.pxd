# See _team.h.

from kinlearn._kernels._typedefs cimport i64_t, intp_t


cdef extern from "_team.h" nogil:
    ctypedef void (*Job "kinlearn_job")(void* what, intp_t piece) noexcept nogil

    ctypedef struct Sleeper "kinlearn_sleeper":
        void* lock

    ctypedef struct TeamState "kinlearn_team":
        i64_t state
        i64_t is_closed
        Sleeper caller
        Sleeper* helpers
        intp_t n_helpers

    i64_t NO_PIECE "KINLEARN_NO_PIECE"
    i64_t exchange "kinlearn_exchange" (i64_t* p, i64_t v) noexcept
    void wake "kinlearn_wake" (Sleeper* who) noexcept
    void serve "kinlearn_serve" (TeamState* t, Sleeper* me) noexcept
    void run_job "kinlearn_run" (
        TeamState* t, Job job, void* what, intp_t n_pieces) noexcept


cdef class Team:
    cdef TeamState state
    cdef readonly intp_t n_threads

    cdef void run(self, Job job, void* what, intp_t n_pieces) noexcept nogil
