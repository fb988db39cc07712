"""Packages that only some users have."""

from importlib import import_module
from typing import Any

__all__ = ["import_optional"]


def import_optional(name: str, *, extra: str, purpose: str) -> Any:
    """Import a module of an extra, or raise an error with how to install it.

    `purpose`, what it is needed for, is the subject of the error's sentence.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise  # the package is there, but broken: its own error says more
        raise ImportError(
            f"{purpose} needs {package}, which is not installed. "
            f"Install it with: pip install 'kinlearn[{extra}]'"
        ) from error
