"""Warnings that point at the line of the user, however deep they are found."""

import sys
import warnings
from types import FrameType

__all__ = ["warn_caller"]


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, as of the line that led here from outside of kinlearn and scikit-learn."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(
        ("kinlearn.", "sklearn.", "joblib.")
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
