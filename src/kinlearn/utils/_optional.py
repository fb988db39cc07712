"""Packages that only some users have."""

from importlib import import_module
from typing import Any

__all__ = ["import_optional"]


def import_optional(name: str, *, extra: str, purpose: str) -> Any:
    """Import a package of an extra, or raise an error with how to install it.

    Parameters
    ----------
    name : str
        Module to import, such as ``"matplotlib.pyplot"``.
    extra : str
        The extra of kinlearn that brings it.
    purpose : str
        What it is needed for, as the subject of the error's sentence.

    Returns
    -------
    module
        The imported module.

    Examples
    --------
    >>> from kinlearn.utils import import_optional
    >>> import_optional("json", extra="report", purpose="Saving").dumps([1])
    '[1]'
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
