"""Threads that work together inside of one call of a kernel.

Python makes the threads, one of which calls the kernel while the others serve::

    team.open()
    helpers = [pool.submit(team.serve, i) for i in range(team.n_threads - 1)]
    try:
        ...
    finally:
        team.close()
        for helper in helpers:
            helper.result()

In the kernel, ``team.run(job, &what, n_pieces)`` has all pieces done by then; without
helpers, by the caller alone.
"""

from cpython.pythread cimport (
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_type_lock,
)
from libc.stdlib cimport calloc, free

from kinlearn._kernels._team cimport (
    NO_PIECE,
    Job,
    Sleeper,
    exchange,
    run_job,
    serve,
    wake,
)
from kinlearn._kernels._typedefs cimport intp_t


cdef class Team:
    """A caller and its helpers.

    Parameters
    ----------
    n_threads : int
        How many they are.
    """

    def __cinit__(self, intp_t n_threads):
        cdef intp_t i
        self.n_threads = max(n_threads, 1)
        self.state.state = NO_PIECE
        self.state.is_closed = 1
        self.state.helpers = <Sleeper*> calloc(self.n_threads, sizeof(Sleeper))
        if self.state.helpers == NULL:
            raise MemoryError()
        self.state.n_helpers = self.n_threads - 1
        self.state.caller.lock = held_lock()
        for i in range(self.state.n_helpers):
            self.state.helpers[i].lock = held_lock()

    def __dealloc__(self):
        cdef intp_t i
        if self.state.caller.lock:
            PyThread_free_lock(<PyThread_type_lock> self.state.caller.lock)
        if self.state.helpers:
            for i in range(self.n_threads - 1):
                if self.state.helpers[i].lock:
                    PyThread_free_lock(<PyThread_type_lock> self.state.helpers[i].lock)
        free(self.state.helpers)

    def open(self):
        """Let helpers serve."""
        exchange(&self.state.is_closed, 0)

    def serve(self, intp_t number):
        """Help until the team is closed; `number` is that of the helper, from 0."""
        if not 0 <= number < self.n_threads - 1:
            raise ValueError(f"Helper {number} of {self.n_threads - 1}.")
        with nogil:
            serve(&self.state, &self.state.helpers[number])

    def close(self):
        """Let helpers go."""
        cdef intp_t i
        exchange(&self.state.is_closed, 1)
        for i in range(self.n_threads - 1):
            wake(&self.state.helpers[i])

    cdef void run(self, Job job, void* what, intp_t n_pieces) noexcept nogil:
        run_job(&self.state, job, what, n_pieces)


cdef void* held_lock() except NULL:
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if lock == NULL:
        raise MemoryError()
    PyThread_acquire_lock(lock, 1)
    return <void*> lock
