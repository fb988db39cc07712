"""Models that come out of files: compiled code must not follow their numbers outside.

Compiled code looks nothing up twice: a child of a node, a feature or a task is a place
in memory. So what a file or a pickle says is checked once, before a model is used.
Every estimator has ``_check_loaded()``, which raises `UnsoundModelError`; the functions
here are what it calls.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.utils._values import show_values

__all__ = [
    "UnsoundModelError",
    "check_below",
    "check_finite",
    "check_numbers",
    "check_sparse",
    "check_starts",
    "check_vectors",
    "demand",
]


class UnsoundModelError(ValueError):
    """A loaded model holds numbers that no fit leaves behind."""


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
