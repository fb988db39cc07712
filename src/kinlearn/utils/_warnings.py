"""Warnings that point at the line of the user, however deep they are found."""

import sys
import warnings

__all__ = ["warn_caller"]


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, as of the first line outside of kinlearn that led here.

    Parameters
    ----------
    message : str
        What to say.
    category : type
        Of the warning.
    """
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(
        "kinlearn."
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
