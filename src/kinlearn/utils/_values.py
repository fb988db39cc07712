"""Values: which are missing or too large, and how messages tell users of them."""

import re
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

__all__ = [
    "MISSING_TYPES",
    "are_missing",
    "as_float32",
    "name_largest",
    "no_formula",
    "plain_option",
    "show_values",
    "visible",
    "warn_caller",
]

MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
# Control characters but for line ends and tabs, marks that turn the direction of
# writing, and those of no width: a name could hide or turn what stands beside it.
_UNSEEN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200b\\u200e\\u200f"
    "\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ud800-\\udfff]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def visible(text: str) -> str:
    """A text whose characters that are not seen are written as Python writes them."""
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


def no_formula(cell: Any) -> Any:
    """A cell of a CSV file as no spreadsheet runs it; numbers stay as they are.

    Text that begins like a formula gets an apostrophe in front, as in a spreadsheet.
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


_LARGE = 1e30  # whose higher powers are not finite


def name_largest(X: Any) -> str:
    """Which column of X has the largest number, and what to do about it.

    Nothing if X has no large numbers, which then are not what is wrong.
    """
    names = getattr(X, "columns", None)
    try:
        if hasattr(X, "select_dtypes"):
            X = X.select_dtypes("number")
            names = X.columns
        size = abs(X if hasattr(X, "max") else np.asarray(X, dtype=float)).max(axis=0)
        size = size.toarray() if hasattr(size, "toarray") else size
        size = np.ravel(np.asarray(size, dtype=np.float64))
        column = int(np.nanargmax(size))
    except (AttributeError, IndexError, NotImplementedError, TypeError, ValueError):
        return "Look at the largest ones of X and y, and scale them."
    if size[column] < _LARGE:
        return ""
    name = column if names is None else str(names[column])
    return (
        "Numbers are too large for it: the largest ones of X are in column "
        f"{name!r} (up to {size[column]:g}); put it, or the targets, in a larger unit, "
        "or scale them."
    )


def plain_option(option: Any) -> bool | str:
    """A parameter that is a word or a boolean, which may be one of NumPy's."""
    return option if isinstance(option, str) else bool(option)


def show_values(values: Any, limit: int = 5) -> str:
    """Write some values for a message: ``'a', 'b', 'c' and 4 more``."""
    shown = [repr(v.item() if isinstance(v, np.generic) else v) for v in values[:limit]]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def are_missing(cells: Any) -> np.ndarray:
    """Which of some objects are NaN, None or pandas' NA, as a bool array."""
    return np.fromiter(
        (
            type(v).__name__ in MISSING_TYPES
            or (isinstance(v, float | np.floating) and v != v)
            for v in cells
        ),
        dtype=bool,
        count=len(cells),
    )


def as_float32(X: np.ndarray) -> np.ndarray:
    """X as float32, which trees work with; large values are refused."""
    if X.dtype == np.float32:
        return X
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    if np.isinf(narrow).any():
        row, column = np.argwhere(np.isinf(narrow))[0]
        raise ValueError(
            f"Input X contains infinity or a value too large for dtype('float32') in "
            f"row {row}, feature {column}: {X[row, column]:g}. Scale the feature."
        )
    return narrow


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, as of the line that led here from outside of kinlearn and scikit-learn."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(
        ("kinlearn.", "sklearn.", "joblib.")
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
