"""Packages that only some users have, and the versions of those that are there."""

import platform
import sys
from importlib import import_module, metadata
from typing import Any, TextIO

__all__ = ["import_optional", "show_versions"]

_PACKAGES = (
    "kinlearn",
    "numpy",
    "scipy",
    "scikit-learn",
    "joblib",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "rich",
    "typer",
    "skops",
    "imbalanced-learn",
    "dask",
    "distributed",
)


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


def show_versions(file: TextIO | None = None) -> None:
    """Print the versions of Python, kinlearn and what it works with.

    Parameters
    ----------
    file : text file, default=None
        Where to print; None is standard output.

    Examples
    --------
    >>> import kinlearn
    >>> kinlearn.show_versions()
    python            3...
    platform          ...
    kinlearn          ...
    """
    file = sys.stdout if file is None else file
    rows = [("python", platform.python_version()), ("platform", platform.platform())]
    for name in _PACKAGES:
        try:
            rows.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            rows.append((name, "not installed"))
    width = max(len(name) for name, _ in rows) + 2
    file.writelines(f"{name:<{width}}{version}\n" for name, version in rows)
