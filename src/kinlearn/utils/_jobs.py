"""Long work: joblib beyond this machine, searches that can be stopped, freed memory."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import cycle
from typing import Any, Literal, Self

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

__all__ = [
    "SentOnce",
    "give_memory_back",
    "one_by_one",
    "stop_requested",
    "stop_searches_if",
]

_is_over: ContextVar[Callable[[], bool] | None] = ContextVar("_is_over", default=None)


def one_by_one(
    return_as: Literal["generator", "generator_unordered"] = "generator",
) -> Literal["generator", "generator_unordered", "list"]:
    """How joblib's `Parallel` returns results: each when it is there, if it can.

    "list" for a backend that can do no other, as Ray's.
    """
    backend, _ = get_active_backend()
    return return_as if backend.supports_return_generator else "list"


class SentOnce:
    """A large argument that many jobs share.

    Joblib's Dask backend puts large arguments onto the cluster once for all jobs, but
    measures them by `sys.getsizeof`: an object that only refers to arrays would go
    with every job. Jobs run where their arguments are (unless idle workers steal them),
    so there should be one for each worker; see `in_turn`.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:
        return 1 << 20

    @classmethod
    def in_turn(cls, value: Any, n_jobs: int | None) -> Iterator[Self]:
        """The argument for job after job, without end.

        There is one for each of `n_jobs` workers, to which Dask deals them in turn.
        """
        return cycle([cls(value) for _ in range(effective_n_jobs(n_jobs))])


@contextmanager
def stop_searches_if(is_over: Callable[[], bool]) -> Iterator[None]:
    """Stop the searches inside as soon as `is_over` returns True, and then always.

    A search calls it between its steps, so the step under way is finished.
    """
    token = _is_over.set(is_over)
    try:
        yield
    finally:
        _is_over.reset(token)


def stop_requested() -> bool:
    """Whether a search should stop and return the best it has found."""
    is_over = _is_over.get()
    return is_over is not None and is_over()


def give_memory_back() -> None:
    """Return what was freed, wherever glibc holds it for the next request.

    Each thread has a heap of its own there, which only shrinks from its end: fits by
    several threads, one after the other, held several times what they needed. It takes
    milliseconds, so it is for the ends of long steps. Elsewhere nothing happens.
    """
    with suppress(OSError, AttributeError, TypeError):  # TypeError: on Windows
        ctypes.CDLL(None).malloc_trim(0)
