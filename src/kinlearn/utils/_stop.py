"""Searches that may be told to stop, and then answer with what they have found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["stop_searches_if", "told_to_stop"]

_asked: ContextVar[Callable[[], bool] | None] = ContextVar("_asked", default=None)


@contextmanager
def stop_searches_if(asked: Callable[[], bool]) -> Iterator[None]:
    """Tell the searches inside to stop from when `asked` says so.

    A search asks between its steps, so the one that is under way is finished.

    Parameters
    ----------
    asked : callable
        Without arguments; whether the time is over. Once True, it stays so.

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
    """Whether a search should make do with what it has.

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
