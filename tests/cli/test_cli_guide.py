"""The guide's console blocks print what the page says."""

import re
import shlex
import textwrap
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "compare" / "command-line.md"
_BLOCK = re.compile(r"^( *)```console\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_TIMES = re.compile(r" *\d+\.\d( s\b| │$)", re.MULTILINE)


def _calls():
    """(words, what is printed), in the order of the page."""
    for block in _BLOCK.finditer(GUIDE.read_text(encoding="utf-8")):
        text = textwrap.dedent(block[1] + block[2].removeprefix(block[1]))
        for call in re.split(r"^\$ kin ", text, flags=re.MULTILINE)[1:]:
            words, _, printed = call.partition("\n")
            yield shlex.split(words), printed


def _plain(text):
    """Without what differs from run to run: times, and blanks at line ends."""
    return [line.rstrip() for line in _TIMES.sub("#", text).splitlines()]


@pytest.mark.slow
def test_the_page_shows_what_is_printed(kin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls = list(_calls())
    assert len(calls) >= 6
    for words, printed in calls:
        monkeypatch.setenv("COLUMNS", "88")
        result = kin(*words)
        # remarks come first: nothing is said before it is clear that all is well
        assert _plain(result.err + result.out) == _plain(printed), words
