"""Searches that stop on request, and then return the best they have found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["stop_searches_if", "told_to_stop"]

_asked: ContextVar[Callable[[], bool] | None] = ContextVar("_asked", default=None)


@contextmanager
def stop_searches_if(asked: Callable[[], bool]) -> Iterator[None]:
    """Stop the searches inside as soon as `asked` returns True.

    A search calls it between its steps, so the step under way is finished.

    Parameters
    ----------
    asked : callable
        Without arguments; returns whether the time is over. Once True, it stays so.

    Examples
    --------
    >>> from kinlearn.utils import stop_searches_if, told_to_stop
    >>> with stop_searches_if(lambda: True):
    ...     told_to_stop()
    True
    >>> told_to_stop()
    False
    """
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def told_to_stop() -> bool:
    """Whether a search should stop and return the best it has found.

    Returns
    -------
    bool
        False outside of :func:`stop_searches_if`.

    Examples
    --------
    >>> from kinlearn.utils import told_to_stop
    >>> told_to_stop()
    False
    """
    asked = _asked.get()
    return asked is not None and asked()
