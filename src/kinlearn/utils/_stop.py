"""Searches that stop on request, and then return the best they have found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["stop_requested", "stop_searches_if"]

_is_over: ContextVar[Callable[[], bool] | None] = ContextVar("_is_over", default=None)


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
