"""Names that would hide or turn text, run in a spreadsheet, or break a command."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import pupils

ESCAPE, TURN = "\x1b[31mred", "turn\u202eed"
FORMULA = "=1+1"


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pupils(160).drop(columns=["entered", "town", "pupil"])
    names = {"east": ESCAPE, "north": TURN, "south": FORMULA, "west": "@west"}
    frame["school"] = frame["school"].map(names)
    frame.to_csv("pupils.csv", index=False)
    return frame


def _is_safe(text):
    return "\x1b" not in text and "\u202e" not in text and "\x9b" not in text


def test_names_cannot_steer_the_terminal(hostile, kin):
    words = ("pupils.csv", "--task", "school", "--target", "passed", "--drop", "score")
    for result in (
        kin("relate", *words),
        kin("relate", *words, "--json"),
        kin("fit", *words, "--save", "m.skops", "--model", "linear"),
        kin("relate", "pupils.csv", "--task", ESCAPE),
        kin("relate", f"{TURN}.csv", "--task", "school"),
    ):
        assert _is_safe(result.out), result.out
        assert _is_safe(result.err), result.err
    shown = kin("relate", *words).out
    assert r"\x1b[31mred" in shown
    assert r"turn\u202eed" in shown


def test_json_says_the_names_as_they_are(hostile, kin):
    words = ("pupils.csv", "--task", "school", "--target", "passed", "--drop", "score")
    found = json.loads(kin("relate", *words, "--json").out)
    assert sorted(found["tasks"]) == sorted([ESCAPE, TURN, FORMULA, "@west"])


@pytest.mark.parametrize("out", ["out.csv", "out.tsv", None])
def test_spreadsheets_run_no_names(hostile, kin, out):
    words = ("pupils.csv", "--task", "school", "--target", "passed", "--drop", "score")
    assert kin("fit", *words, "--save", "m.skops", "--model", "linear").code == 0
    call = ("predict", "m.skops", "pupils.csv", "--id", "height")
    result = kin(*call, "--out", out) if out else kin(*call)
    assert result.code == 0, result.err
    assert "apostrophe" in result.err
    text = Path(out).read_text(encoding="utf-8") if out else result.out
    assert "'=1+1" in text
    assert "'@west" in text
    assert ",=1+1" not in text
    assert "\n=1+1" not in text


def test_other_formats_have_names_as_they_are(hostile, kin):
    words = ("pupils.csv", "--task", "school", "--target", "passed", "--drop", "score")
    assert kin("fit", *words, "--save", "m.skops", "--model", "linear").code == 0
    result = kin("predict", "m.skops", "pupils.csv", "--out", "out.parquet")
    assert "apostrophe" not in result.err
    found = pd.read_parquet("out.parquet")
    assert found["school"].tolist() == hostile["school"].tolist()


def test_negative_numbers_stay_numbers(tmp_path, kin, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame["group"], frame["y"] = rng.choice(["-1", "+2"], 60), -frame["a"]
    frame.to_csv("t.csv", index=False)
    words = ("t.csv", "--task", "group", "--target", "y", "--model", "linear")
    assert kin("fit", *words, "--save", "m.skops").code == 0
    result = kin("predict", "m.skops", "t.csv", "--id", "a", "--out", "p.csv")
    assert "apostrophe" not in result.err
    found = pd.read_csv("p.csv")
    assert (found["prediction"] < 0).any()
    assert found["a"].dtype == float


def test_the_hint_can_be_copied(table, kin):
    words = ("pupils.csv", "--task", "school", "--target", "passed", "--drop", "score")
    result = kin("fit", *words, "--save", "my model; ls.skops", "--model", "linear")
    hint = result.out[result.out.index("kin predict") :]
    assert shlex.split(hint)[2] == "my model; ls.skops"


def test_signed_models(table, kin):
    words = ("pupils.csv", "--task", "school", "--target", "passed", "--drop", "score")
    fit = ("fit", *words, "--save", "m.skops", "--model", "linear")
    Path("kin.key").write_text("0123456789abcdef0123456789abcdef\n")
    Path("other.key").write_text("f" * 32)
    Path("short.key").write_text("f\n")
    assert kin(*fit, "--sign", "kin.key").code == 0
    predict = ("predict", "m.skops", "pupils.csv", "--out", "p.csv")
    assert kin(*predict, "--verify", "kin.key").code == 0
    assert kin(*predict).code == 0
    wrong = kin(*predict, "--verify", "other.key")
    assert wrong.code == 2
    assert "was not signed with this key" in wrong.err
    assert kin(*fit).code == 0
    unsigned = kin(*predict, "--verify", "kin.key")
    assert unsigned.code == 2
    assert "is not signed" in unsigned.err
    for name, why in (("short.key", "is no key"), ("none.key", "Cannot read")):
        result = kin(*fit, "--sign", name)
        assert result.code == 2
        assert why in result.err
