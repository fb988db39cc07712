"""The tutorial's commands print what the page shows, in the order of the page.

Its Python blocks run among those of the other pages, in tests/test_readme.py; here
only the first, which writes the tables. ``...`` in an output stands for anything.
"""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tests.test_readme import python_blocks

TUTORIAL = Path(__file__).parents[2] / "docs" / "start" / "tutorial.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TIMES = re.compile(r" *\d+\.\d( s\b| │$)", re.MULTILINE)


def _calls(page):
    """(words, what is printed), in the order of the page."""
    for block in _BLOCK.finditer(page):
        for call in re.split(r"^\$ kin ", block[1], flags=re.MULTILINE)[1:]:
            words, _, printed = call.partition("\n")
            yield shlex.split(words), printed


def _plain(text):
    """Without what differs from run to run: times, and blanks at line ends."""
    return re.sub(r" +$", "", _TIMES.sub("#", text), flags=re.MULTILINE)


@pytest.mark.slow
def test_the_tutorial_shows_what_is_printed(kin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = TUTORIAL.read_text(encoding="utf-8")
    exec(python_blocks(page)[0].code, {})
    calls = list(_calls(page))
    assert [words[0] for words, _ in calls] == ["compare", "fit", "predict", "predict"]
    for words, expected in calls:
        monkeypatch.setenv("COLUMNS", "88")
        result = kin(*words)
        printed = _plain(result.err + result.out)
        assert doctest.OutputChecker().check_output(
            _plain(expected), printed, doctest.ELLIPSIS
        ), printed
    for name in ("report.html", "model.skops", "predictions.csv"):
        assert Path(name).stat().st_size > 1000
