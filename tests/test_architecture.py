"""The page on the architecture shows the tree and the imports of today."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "docs" / "make_architecture_picture.py"
RENEW = "run .venv/bin/python docs/make_architecture_picture.py"


def script():
    """The script as a module."""
    spec = spec_from_file_location("make_architecture_picture", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_and_picture_are_those_of_the_tree():
    drawn = script()
    assert drawn.PAGE.read_text(encoding="utf-8") == drawn.page(), RENEW
    assert drawn.PICTURE.read_text(encoding="utf-8") == drawn.picture(), RENEW


def test_every_package_says_what_it_is():
    lines = script().tree().splitlines()[1:-1]
    assert len(lines) > 30
    assert [line for line in lines if not line.rpartition("/")[2].strip()] == []
