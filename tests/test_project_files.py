"""The files around the package agree with it: versions, Pythons, addresses."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import kinlearn

ROOT = Path(__file__).parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
NEWEST_PYTHON = 14


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _project() -> dict:
    return tomllib.loads(_text("pyproject.toml"))["project"]


def _sections() -> dict[str, str]:
    """Versions of the changelog, newest first, and the date behind each."""
    heads = re.findall(r"^## (\S+)(?: \((.+)\))?$", _text("CHANGELOG.md"), re.MULTILINE)
    return dict(heads)


def test_citation_is_of_this_version():
    citation = yaml.safe_load(_text("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == kinlearn.__version__.partition(".dev")[0]
    assert citation["license"] == _project()["license"]
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in _project()["authors"]
    ]


def test_changelog_has_a_section_of_this_version():
    sections = _sections()
    assert next(iter(sections)) == "Unreleased"
    if ".dev" not in kinlearn.__version__:
        assert kinlearn.__version__ in sections
        citation = yaml.safe_load(_text("CITATION.cff"))
        assert sections[kinlearn.__version__] == str(citation["date-released"])


def test_classifiers_name_every_python():
    oldest = re.fullmatch(r">=3\.(\d+)", _project()["requires-python"])
    named = [
        int(match[1])
        for name in _project()["classifiers"]
        if (match := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", name))
    ]
    assert named == list(range(int(oldest[1]), NEWEST_PYTHON + 1))
    assert f"Python 3.{oldest[1]} to 3.{NEWEST_PYTHON}" in _text("README.md")


def test_addresses_are_of_one_repository():
    addresses = _project()["urls"]
    assert set(addresses) == {
        *("Homepage", "Documentation", "Source", "Issues", "Changelog")
    }
    home = addresses["Homepage"]
    assert all(url.startswith(home) for url in addresses.values())
    assert yaml.safe_load(_text("CITATION.cff"))["repository-code"] == home
    for url in addresses.values():
        _, branch, path = url.partition("/blob/main/")
        assert not branch or (ROOT / path).is_file(), url


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_forms_are_complete(form):
    content = yaml.safe_load(form.read_text(encoding="utf-8"))
    if form.stem == "config":
        assert {"name", "url", "about"} == set(content["contact_links"][0])
        return
    assert {"name", "description", "body"} <= set(content)
    ids = [part["id"] for part in content["body"]]
    assert len(set(ids)) == len(ids)


def test_forms_are_found():
    assert [form.stem for form in FORMS] == ["bug", "config", "wish"]


def test_hooks_come_from_the_package_index_in_one_version():
    repositories = yaml.safe_load(_text(".pre-commit-config.yaml"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        (package,) = hook["additional_dependencies"]
        assert re.fullmatch(r"[a-z-]+==\d+(\.\d+)+", package), hook["id"]


def test_commands_of_the_makefile_are_those_of_the_pages():
    there = set(re.findall(r"^([a-z][a-z0-9-]*):", _text("Makefile"), re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:`|^)make ([a-z0-9-]+)", _text(page), re.MULTILINE))
        assert sorted(named - there) == [], page
