"""The public surface of kinlearn, as the project-wide tests see it.

Everything is discovered: a package that joins ``kinlearn._SUBPACKAGES`` is
tested without an edit here. ``kinlearn.dask`` is no lazy package, but public where
Dask is installed.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import kinlearn

HAS_DASK = find_spec("distributed") is not None


def public_modules() -> list[ModuleType]:
    """The package itself and every public subpackage."""
    names = [f"kinlearn.{name}" for name in kinlearn._SUBPACKAGES]
    if HAS_DASK:
        names.append("kinlearn.dask")
    return [kinlearn, *map(import_module, names)]


def public_objects() -> dict[str, object]:
    """Dotted name -> object, for every name in the ``__all__`` of a module."""
    return {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in public_modules()
        for name in sorted(module.__all__)
    }


def own_members(cls: type) -> Iterator[tuple[str, Callable | property]]:
    """Public methods and properties of a class that are written in kinlearn.

    What scikit-learn or Python itself brings along (``get_params``, the
    ``set_fit_request`` that scikit-learn generates) is theirs to document and
    changes with their versions.
    """
    for name in sorted(dir(cls)):
        home = next((c for c in cls.__mro__ if name in vars(c)), object)
        if name.startswith("_") or not home.__module__.startswith("kinlearn"):
            continue
        member = vars(home)[name]
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        member = getattr(member, "fn", member)  # scikit-learn's available_if
        if inspect.isfunction(member) or isinstance(member, property | cached_property):
            yield name, member
