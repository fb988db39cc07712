"""Models that come out of files: compiled code must not follow their numbers outside.

Compiled code looks nothing up twice: a child of a node, a feature or a task is a place
in memory. So what a file or a pickle says is checked once, before a model is used.
Every estimator has ``_check_loaded()``, which raises `UnsoundModelError`; the functions
here are what it calls. A pickle calls it for each estimator when it is put together; a
model file, whose arrays are packed, when all of it is there (`checked_together`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.utils._values import show_values

__all__ = [
    "CheckedWhenLoaded",
    "UnsoundModelError",
    "check_below",
    "check_finite",
    "check_numbers",
    "check_sparse",
    "check_starts",
    "check_vectors",
    "checked_together",
    "demand",
]


class UnsoundModelError(ValueError):
    """A loaded model holds numbers that no fit leaves behind."""


_waiting: ContextVar[list[Any] | None] = ContextVar("waiting", default=None)


@contextmanager
def checked_together() -> Iterator[None]:
    """Check what is loaded in the block when it ends, and not before."""
    mark = _waiting.set([])
    try:
        yield
        for model in _waiting.get() or ():
            _check(model)
    finally:
        _waiting.reset(mark)


def _check(model: Any) -> None:
    try:
        model._check_loaded()
    except UnsoundModelError as error:
        raise UnsoundModelError(
            f"{error} (of {type(model).__name__}), which no fit leaves behind. The "
            "model is damaged, or somebody changed it: save it again."
        ) from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise UnsoundModelError(
            f"{type(model).__name__} does not hang together ({error}). The model is "
            "damaged, or somebody changed it: save it again."
        ) from error


class CheckedWhenLoaded:
    """Base of estimators whose fitted state is checked when it is loaded."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        above = getattr(super(), "__setstate__", None)
        if above is None:
            vars(self).update(state)
        else:
            above(state)
        waiting = _waiting.get()
        if waiting is None:
            _check(self)
        else:
            waiting.append(self)

    def _check_loaded(self) -> None:
        """Raise `UnsoundModelError` unless compiled code can follow every number."""


def demand(good: Any, what: str) -> None:
    """Refuse a model unless this holds."""
    if not good:
        raise UnsoundModelError(f"{what} does not hang together")


def check_numbers(
    what: str, array: Any, dtype: Any, shape: tuple[int | None, ...]
) -> None:
    """Refuse anything but an array of this type and shape; None is any length.

    A type of one letter is a kind: "f" for floats, "i" for whole numbers.
    """
    if not isinstance(array, np.ndarray):
        raise UnsoundModelError(f"{what} is no array")
    kind = isinstance(dtype, str) and len(dtype) == 1
    if array.dtype.kind != dtype if kind else array.dtype != np.dtype(dtype):
        raise UnsoundModelError(f"{what} has type {array.dtype}, not {dtype}")
    if len(shape) != array.ndim or any(
        n is not None and n != m for n, m in zip(shape, array.shape, strict=True)
    ):
        wanted = show_values(["any" if n is None else n for n in shape])
        raise UnsoundModelError(f"{what} has shape {array.shape}, not ({wanted})")


def check_below(what: str, codes: np.ndarray, end: Any, first: int = 0) -> None:
    """Refuse codes below `first` or not below `end`, a number or one for each."""
    if not codes.size:
        return
    if np.ndim(end):
        good = bool((codes >= first).all() and (codes < end).all())
    else:
        good = codes.min() >= first and codes.max() < end
    if not good:
        raise UnsoundModelError(
            f"{what} has numbers from {codes.min()} to {codes.max()}, of which some "
            "lead outside of the model"
        )


def check_starts(
    what: str, starts: Any, n: int, end: int, dtype: Any = np.int64
) -> None:
    """Refuse boundaries of n things that do not ascend from 0 to `end`."""
    check_numbers(what, starts, dtype, (n + 1,))
    if starts[0] != 0 or starts[-1] != end or (starts[1:] < starts[:-1]).any():
        raise UnsoundModelError(f"{what} does not ascend from 0 to {end}")


def check_vectors(what: str, X: Any, n: int, width: int) -> None:
    """Refuse anything but n finite rows of so many numbers, sparse ones with places."""
    if sp.issparse(X):
        check_sparse(X)
        values = X.data
    else:
        values = np.asarray(X)
    if X.shape != (n, width):
        raise UnsoundModelError(f"{what} has shape {X.shape}, not {(n, width)}")
    check_finite(what, values)


def check_sparse(X: Any) -> None:
    """Refuse a sparse array whose numbers lead outside of it; SciPy would follow."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo":
            X._check()
    except ValueError as error:
        raise UnsoundModelError(f"a sparse array is damaged ({error})") from error


def check_finite(what: str, array: np.ndarray) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(array).all():
        raise UnsoundModelError(f"{what} has numbers that are not finite")
