"""Single values: which are missing, and how messages show some of them."""

from typing import Any

import numpy as np

__all__ = ["MISSING_TYPES", "are_missing", "show_values"]

MISSING_TYPES = {"NoneType", "NAType", "NaTType"}


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
