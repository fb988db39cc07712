"""Freed memory that goes back to the system."""

import ctypes
from contextlib import suppress

__all__ = ["give_memory_back"]


def give_memory_back() -> None:
    """Return what was freed, wherever glibc holds it for the next request.

    Each thread has a heap of its own there, which only shrinks from its end: fits by
    several threads, one after the other, held several times what they needed. It takes
    milliseconds, so it is for the ends of long steps. Elsewhere nothing happens.
    """
    with suppress(OSError, AttributeError, TypeError):  # TypeError: on Windows
        ctypes.CDLL(None).malloc_trim(0)
