"""Versions of the packages, for bug reports."""

import platform
import sys
from importlib import metadata
from typing import TextIO

__all__ = ["show_versions"]

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
