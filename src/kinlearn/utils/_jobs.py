"""Long work: joblib beyond this machine, and searches that can be stopped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import cycle
from typing import Any, Literal, Self

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

__all__ = ["SentOnce", "one_by_one", "stop_requested", "stop_searches_if"]

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
