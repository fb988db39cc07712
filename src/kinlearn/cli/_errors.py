"""Errors in a call or its data: one line, with a remedy."""

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from os import PathLike
from typing import Any

__all__ = ["UserError", "data_errors", "file_error", "listed", "one_line", "suggest"]

_LONGEST = 280


class UserError(Exception):
    """What went wrong and what to do about it, in one line."""


def one_line(text: object, longest: int = _LONGEST) -> str:
    """A message of any shape as one line that fits a terminal."""
    from kinlearn.utils import visible  # brings NumPy, which --help does without

    line = visible(" ".join(str(text).split()))
    return line if len(line) <= longest else line[: longest - 3].rstrip() + "..."


def listed(names: Iterable[Any], limit: int = 6) -> str:
    """Names for a message: ``'a', 'b' and 4 more``."""
    names = list(names)
    shown = ", ".join(repr(_short(name)) for name in names[:limit])
    more = len(names) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def _short(name: Any) -> Any:
    text = getattr(name, "item", lambda: name)()
    return text if not isinstance(text, str) or len(text) <= 30 else text[:27] + "..."


def suggest(name: str, known: Iterable[str]) -> str:
    """``Did you mean 'score'?`` and the names there are."""
    known = [str(one) for one in known]
    lower = {one.lower(): one for one in reversed(known)}
    close = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    hint = f"Did you mean {lower[close[0]]!r}? " if close else ""
    return f"{hint}There are: {listed(known)}."


def file_error(error: OSError, path: str | PathLike[str], verb: str) -> UserError:
    """An error of the system about a file, as one of ours."""
    ways = {
        errno.ENOSPC: "the disk is full. Free some space, or write elsewhere.",
        errno.EDQUOT: "your quota is used up. Free some space, or write elsewhere.",
        errno.EROFS: "the folder is read-only. Write elsewhere.",
        errno.ENOENT: "the folder does not exist. Make it first, or write elsewhere.",
        errno.ENOTDIR: "part of the path is a file, not a folder. Check the path.",
        errno.EISDIR: "it is a folder. Name a file.",
        errno.EACCES: "no permission. Check the rights of the file and its folder.",
        errno.EPERM: "no permission. Check the rights of the file and its folder.",
        errno.ENAMETOOLONG: "the name is too long. Choose a shorter one.",
    }
    why = ways.get(error.errno or 0, one_line(error.strerror or error, 120))
    return UserError(f"Cannot {verb} {path}: {why}")


@contextmanager
def data_errors(names: Sequence[tuple[str, str]] = ()) -> Iterator[None]:
    """Pass on the library's errors about the data, without a traceback.

    Only around calls that judge the user's data or settings: what they refuse is
    a ValueError or TypeError whose message was written for a reader.
    """
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        text = str(error)
        for theirs, ours in names:
            text = text.replace(theirs, ours)
        raise UserError(one_line(text)) from error
    except MemoryError as error:
        raise UserError(
            "The memory of this machine is not enough. Use fewer rows or columns."
        ) from error
