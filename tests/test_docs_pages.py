"""The README and the pages beside it: short, linked, complete, and true to the code."""

import inspect
import re
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

from benchmarks.quality import protocols  # noqa: F401 - declares them
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.speed import cases  # noqa: F401 - declares them
from benchmarks.speed.case import CASES
from tests.surface import public_objects

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
MOST_LINES = 110
MOST_BYTES_OF_A_PICTURE = 150_000

_LINK = re.compile(r"\[[^]]*\]\((?!https?:)([^)\s]*)\)")
_CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def _links(text: str) -> list[str]:
    """Targets within the repository, pictures too."""
    return _LINK.findall(_CODE.sub("", text))


def _anchors(text: str) -> set[str]:
    """What headings can be linked by, as GitHub makes it of them."""
    heads = re.findall(r"^#+ (.+)$", _CODE.sub("", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", head.lower()) for head in heads)
    return {head.strip().replace(" ", "-") for head in plain}


def _estimators() -> list[str]:
    return [
        name
        for name, thing in public_objects().items()
        if inspect.isclass(thing)
        and issubclass(thing, BaseEstimator)
        and not name.startswith(("kinlearn.tasks.", "kinlearn.testing."))
    ]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for link in _links(text):
        path, _, anchor = link.partition("#")
        target = ROOT / path if path else ROOT / name
        assert target.is_file(), f"{name} links to {link}"
        if anchor:
            there = _anchors(target.read_text(encoding="utf-8"))
            assert anchor in there, f"{name} links to {link}"


def test_links_are_found():
    assert "docs/_static/clinics.svg" in _links(README)
    assert "docs/models/index.md" in _links(README)
    assert _links("[a](b.md#c) [d](https://e.org)\n```text\n[f](g)\n```\n") == [
        "b.md#c"
    ]
    assert _anchors("# One: `two` three\n") == {"one-two-three"}


def test_readme_is_short():
    assert len(README.splitlines()) <= MOST_LINES


def test_pictures_of_the_readme_are_light_and_described():
    pictures = re.findall(r"!\[([^]]*)\]\(([^)]+)\)", README)
    assert len(pictures) == 2
    for description, path in pictures:
        assert len(description.split()) >= 10, path
        assert (ROOT / path).stat().st_size <= MOST_BYTES_OF_A_PICTURE, path


def test_names_in_the_readme_are_public():
    known = {name.rpartition(".")[2] for name in public_objects()}
    quoted = " ".join(re.findall(r"`([^`\n]+)`", README))
    named = set(
        re.findall(r"\b[A-Z]\w*(?:Classifier|Regressor|Sampler|SVC|SVR|NMF)\b", quoted)
    )
    named -= {"HistGradientBoostingClassifier"}
    assert len(named) >= 10
    assert sorted(named - known) == []


def test_two_commands_are_in_the_readme():
    assert "`make demo`" in README
    assert "`make test`" in README


def test_figures_of_the_readme_name_commands_that_are_there():
    quality = re.findall(r"`make bench-quality NAME=(\S+)`", README)
    speed = re.findall(r"`make bench-speed NAME=(\S+)`", README)
    assert len(quality) == 2
    assert len(speed) == 1
    for pattern in quality:
        assert PROTOCOLS.select([pattern.strip("\"'")]), pattern
    for pattern in speed:
        assert CASES.select([pattern.strip("\"'")]), pattern


@pytest.mark.parametrize("name", _estimators())
def test_every_estimator_is_in_the_table_of_methods(name):
    table = (ROOT / "docs" / "models" / "index.md").read_text(encoding="utf-8")
    cited = re.findall(r"kinlearn\.[\w.]+", table)
    short = name.rpartition(".")[2]
    if name.startswith("kinlearn.dask."):
        assert name in cited
    else:
        assert short in {c.rpartition(".")[2] for c in cited}


def test_estimators_are_found():
    assert "kinlearn.sharing.PerTask" in _estimators()
