"""Every parameter and every return value of the public surface is annotated.

mypy asks the same of the source, the private part included (``make types``). Here it
is asked of what users can reach, as their editors show it: through decorators, and
with the methods that a class inherits from private ones.
"""

import inspect
import pkgutil
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import get_origin

import pytest

import kinlearn
from tests.surface import HAS_DASK, own_members

# Methods without a public name that users call all the same.
CALLED = ("__call__", "__getitem__", "__init__", "__iter__", "__len__")


def _modules() -> list[ModuleType]:
    """Every module whose dotted name has no private part."""
    found = pkgutil.walk_packages(kinlearn.__path__, "kinlearn.")
    names = [module.name for module in found if "._" not in module.name]
    if not HAS_DASK:
        names = [name for name in names if not name.startswith("kinlearn.dask")]
    return [kinlearn, *map(import_module, names)]


def _functions(name: str, thing: object) -> Iterator[tuple[str, object]]:
    """The functions behind a public name, with dotted names for messages."""
    if not inspect.isclass(thing):
        if callable(thing) and get_origin(thing) is None:  # no alias of types
            yield name, thing
        return
    for key in CALLED:
        home = next((c for c in thing.__mro__ if key in vars(c)), object)
        if home.__module__.startswith("kinlearn"):
            yield f"{name}.{key}", vars(home)[key]
    for key, member in own_members(thing):
        if isinstance(member, property):
            yield f"{name}.{key}", member.fget
        elif isinstance(member, cached_property):
            yield f"{name}.{key}", member.func
        else:
            yield f"{name}.{key}", member


def _places(function: object) -> Iterator[tuple[str, bool]]:
    """Parameters and the return value, and whether each has an annotation."""
    signature = inspect.signature(function)
    for name, parameter in signature.parameters.items():
        if name not in ("self", "cls"):
            yield name, parameter.annotation is not inspect.Parameter.empty
    yield "return", signature.return_annotation is not inspect.Signature.empty


def _missing(things: dict[str, object]) -> tuple[list[str], int]:
    """What has no annotation, as ``name: places``, and how many places there are."""
    lacking, n_places = [], 0
    for public_name, thing in things.items():
        for name, function in _functions(public_name, thing):
            places = dict(_places(function))
            n_places += len(places)
            bare = [place for place, annotated in places.items() if not annotated]
            if bare:
                lacking.append(f"{name}: {', '.join(bare)}")
    return lacking, n_places


@pytest.mark.parametrize("module", _modules(), ids=lambda module: module.__name__)
def test_public_surface_is_annotated(module):
    things = {name: getattr(module, name) for name in module.__all__}
    lacking, n_places = _missing(things)
    n_bare = sum(line.count(",") + 1 for line in lacking)
    share = 1 - n_bare / max(n_places, 1)
    assert not lacking, (
        f"{module.__name__}: {n_places - n_bare} of {n_places} parameters and returns "
        f"({share:.1%}) are annotated; these are not:\n" + "\n".join(lacking)
    )


def test_every_package_is_looked_at():
    names = {module.__name__ for module in _modules()}
    wanted = {f"kinlearn.{name}" for name in kinlearn._SUBPACKAGES}
    assert {"kinlearn", "kinlearn.cli", "kinlearn.utils", *wanted} <= names


def test_a_missing_annotation_is_found():
    def function(a: int, b=1, *args: int, **options) -> None:
        pass

    class Base:
        __module__ = "kinlearn._private"

        def fit(self, X, y: int):
            pass

    class Public(Base):
        __module__ = "kinlearn.planted"

        def __init__(self, a):
            self.a = a

        @property
        def size(self):
            return 1

        @cached_property
        def width(self) -> int:
            return 1

        def _hidden(self, a):
            pass

    lacking, n_places = _missing({"function": function, "Public": Public})
    assert lacking == [
        "function: b, options",
        "Public.__init__: a, return",
        "Public.fit: X, return",
        "Public.size: return",
    ]
    assert n_places == 5 + 2 + 3 + 1 + 1
