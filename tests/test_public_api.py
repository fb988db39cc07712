"""The public names and their signatures, against a snapshot.

A change of the snapshot is a change for users: it shows in the diff, and
belongs in CHANGELOG.md. To renew it, with the package installed::

    .venv/bin/python -m tests.test_public_api
"""

import ast
import difflib
import inspect
import re
from pathlib import Path

import pytest

import kinlearn
from tests.surface import HAS_DASK, own_members, public_modules, public_objects
from tests.versions import needs_callbacks

SNAPSHOT = Path(__file__).with_name("public_api.txt")
# Packages that a user imports by themselves, or not at all.
NOT_LAZY = {"cli", "dask", "utils"}
RENEW = ".venv/bin/python -m tests.test_public_api"


def public_api() -> list[str]:
    """One line a name: ``module.name(signature)``, classes with their members."""
    lines = []
    for name, thing in public_objects().items():
        if inspect.isclass(thing):
            lines.append(f"class {name}{_signature(thing)}")
            lines += [
                f"    {member}{_signature(value)}"
                for member, value in own_members(thing)
            ]
        else:
            lines.append(f"{name}{_signature(thing)}")
    return lines


def _signature(thing: object) -> str:
    raised = inspect.isclass(thing) and issubclass(thing, Exception)
    if raised or not callable(thing):
        return ""
    signature = inspect.signature(thing)
    # Annotations are for type checkers; here they would only make noise.
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    text = str(inspect.Signature(bare))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


@needs_callbacks
def test_public_api_equals_the_snapshot():
    text = SNAPSHOT.read_text(encoding="utf-8")
    if not HAS_DASK:
        text = re.sub(r"^class kinlearn\.dask\..*\n(    .*\n)*", "", text, flags=re.M)
    recorded = text.splitlines()
    change = list(difflib.unified_diff(recorded, public_api(), "snapshot", "now", n=0))
    assert not change, (
        "the public API changed:\n" + "\n".join(change) + "\n\nIf that is meant, renew "
        f"the snapshot ({RENEW}) and say it in CHANGELOG.md."
    )


def for_other_packages(module) -> set[str]:
    """Folders of a package and its internal.py, which are there once imported."""
    folders = Path(module.__file__).parent.glob("*/__init__.py")
    return {"internal", *(path.parent.name for path in folders)}


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.__name__)
def test_all_names_exist_and_nothing_else_is_public(module):
    names = dir(module)
    assert sorted(set(module.__all__) - set(names)) == []
    imported_by_the_language = {"annotations"} if "annotations" in names else set()
    outside = {name for name in names if not name.startswith("_")}
    outside -= {*module.__all__, *imported_by_the_language}
    if module is kinlearn:
        outside -= set(kinlearn._SUBPACKAGES)
    else:
        outside -= for_other_packages(module)
    assert sorted(outside) == []


def test_every_package_is_public_or_known_not_to_be():
    root = Path(kinlearn.__file__).parent
    found = {path.parent.name for path in root.glob("*/__init__.py")}
    found |= {path.stem for path in root.glob("*.py")}
    found = {name for name in found if not name.startswith("_")}
    assert sorted(found - NOT_LAZY - set(kinlearn._SUBPACKAGES)) == []


def test_lazy_names_are_the_ones_type_checkers_see():
    tree = ast.parse(Path(kinlearn.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == kinlearn._HOMES
    assert set(kinlearn.__all__) == {"__version__", *typed}


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        kinlearn.nonsense  # noqa: B018


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(public_api()) + "\n", encoding="utf-8")
