"""The field of data in small groups: ranks, records, an estimator of one's own."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score

from benchmarks.field import __main__ as field
from benchmarks.field import contenders, picture, sets
from benchmarks.field.outside import lacks_lme4, lme4
from benchmarks.field.ranking import (
    complete,
    means_table,
    pair_rows,
    pairs,
    rank_rows,
    ranking,
    ranks,
)
from benchmarks.jsonlines import read_records
from kinlearn.datasets.loaded._multilevel import RECIPES

PLACE = f"{__name__}."


def record(name, split, score, regime="rows", data="exam", seconds=0.5, **more):
    return {"set": data, "regime": regime, "split": split, "contender": name,
            "score": score, "processor_seconds": seconds, **more}  # fmt: skip


class Group(RegressorMixin, BaseEstimator):
    """The mean of the group's training rows, or of all."""

    def __init__(self, shift=0.0, task=None):
        self.shift, self.task = shift, task

    def fit(self, X, y):
        self.rows_, self.y_ = X[:, self.task], y
        return self

    def predict(self, X):
        known = [self.y_[self.rows_ == t] for t in X[:, self.task]]
        return self.shift + np.array([(k if len(k) else self.y_).mean() for k in known])


class Classes(ClassifierMixin, BaseEstimator):
    """Refuses to be fitted: there is no set for it here."""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """One set of four groups, and two recorded contenders on its first split."""
    task = np.repeat(np.arange(4.0), 6)
    y = 10 * task + np.tile(np.arange(6.0), 4)
    X = np.column_stack([np.arange(24.0) % 5, task])
    rows = np.arange(24)
    splits = {
        "rows": [(rows[::2], rows[1::2])],
        "groups": [(rows[:18], rows[18:])],
    }
    data = sets.Set("sleepstudy", "regression", X, y, splits)
    monkeypatch.setattr(sets, "load_set", lambda name: data)
    path = tmp_path / "field.jsonl"
    records = [
        {"set": "sleepstudy", "regime": regime, "split": 0, "contender": name}
        | {"score": score, "code": "x", "processor_seconds": 0.1}
        for regime in sets.REGIMES
        for name, score in (("good", 0.9), ("bad", -0.5))
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return data, path


def test_its_sets_are_those_of_the_loader():
    kinds = {
        name: "classification" if recipe.classes else "regression"
        for name, recipe in RECIPES.items()
    }
    assert kinds == sets.SETS


def test_ranks_by_hand():
    found = ranks(
        [
            record("x", 0, 0.1),
            record("x", 0, 0.5),  # later: counts
            record("x", 1, 9.0),  # the others lack this split
            record("y", 0, 0.7),
            record("z", 0, 0.5),
            record("y", 0, 0.2, regime="groups"),
        ]
    )
    assert found == {
        "rows": {"exam": {"x": (0.5, 2.5), "y": (0.7, 1.0), "z": (0.5, 2.5)}},
        "groups": {"exam": {"y": (0.2, 1.0)}},
    }


def test_an_estimator_is_played_and_ranked(toy, capsys):
    data, path = toy
    assert field.main([f"{PLACE}Group", "--records", str(path), "--limit", "1"]) == 0
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if "Group" in line]
    train, test = data.splits["rows"][0]
    model = Group(task=-1).fit(data.X[train], data.y[train])
    score = r2_score(data.y[test], model.predict(data.X[test]))
    assert score > 0.9
    assert rows[0] == f"| **{PLACE}Group** | 1.0 | {score:.3f} |"
    assert " | 3.0 | " in rows[1]  # groups that it does not know
    assert len(read_records(path)) == 4  # nothing is added


def test_settings_are_values_of_python(toy, capsys):
    _, path = toy
    words = [f"{PLACE}Group", "--set", "shift=100.0", "--records", str(path)]
    assert field.main([*words, "--limit", "1"]) == 0
    assert "| 3.0 |" in capsys.readouterr().out.split("## groups")[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere.Model"], "cannot be imported"),
        ([f"{PLACE}Group", "--set", "shift"], "NAME=VALUE; got 'shift'"),
        ([f"{PLACE}Group", "--only", "mars"], "no set 'mars'. Known: nlschools"),
        ([f"{PLACE}Classes"], "Nothing to play: no set of classification"),
    ],
)
def test_wrong_calls_are_one_line(toy, capsys, words, says):
    _, path = toy
    words = [*words, "--records", str(path), "--limit", "1"]
    if "Classes" in words[0]:
        words += ["--only", "sleepstudy"]
    assert field.main(words) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_indicators_of_groups_are_nothing_for_new_ones():
    X = np.array([[1.0, 0], [2.0, 1], [3.0, 1]])
    model = contenders.Grouped(Group(task=0), "one-hot").fit(X, np.arange(3.0))
    features = model._features(np.array([[5.0, 1], [6.0, 7]]))
    assert_allclose(features, [[5, 0, 1], [6, 0, 0]])


def test_what_is_recorded_is_not_played_again(toy, monkeypatch, capsys):
    _, path = toy
    entry = contenders.Entry("mine", lambda kind, seed: Group(task=-1), {})
    monkeypatch.setattr(contenders, "CONTENDERS", (entry,))
    words = ["--record", "--records", str(path), "--limit", "1", "--only", "sleepstudy"]
    assert field.main(words) == 0
    assert len(read_records(path)) == 6
    assert field.main(words) == 0
    assert len(read_records(path)) == 6
    assert {"commit", "versions", "code"} <= set(read_records(path)[-1])
    other = contenders.Entry("mine", lambda kind, seed: Group(shift=1.0, task=-1), {})
    monkeypatch.setattr(contenders, "CONTENDERS", (other,))
    assert field.main(words) == 0
    assert len(read_records(path)) == 8


SCORES = {"exam": (0.9, 0.5, 0.1), "star": (0.8, 0.6, 0.2), "ohio": (0.7, 0.3, 0.5)}


def three(regime="rows"):
    """Three contenders on three sets: mean ranks 1, 7/3 and 8/3."""
    return [
        record(name, split, score + 0.01 * split, regime, data)
        for data, scores in SCORES.items()
        for name, score in zip(("kinlearn a", "b", "c"), scores, strict=True)
        for split in (0, 1)
    ]


def test_ranking_and_its_tests():
    found = ranking(three(), "rows")
    assert found.contenders == ["kinlearn a", "b", "c"]
    assert_allclose(found.mean, [1, 7 / 3, 8 / 3])
    assert (found.n_sets, found.n_runs) == (3, 6)
    # 12 / (n k (k + 1)) * sum of squared rank sums - 3 n (k + 1), chi2 of k - 1
    statistic = 12 / (3 * 3 * 4) * (9 + 49 + 64) - 36
    assert_allclose(found.p, chi2.sf(statistic, 2))
    assert_allclose(found.difference, 2.343 * np.sqrt(12 / 18), rtol=1e-3)
    assert found.alike("kinlearn a") == ["b", "c"]
    assert ranking(three(), "rows", ["b"]) is None
    assert ranking(three(), "groups") is None


def test_who_lacks_a_split_or_failed_is_left_out():
    failed = record("d", 0, None, error="ValueError: no")
    fewer = [*three(), record("d", 0, 0.99), record("e", 1, 0.99), failed]
    assert {each["contender"] for each in complete(fewer)} == {"kinlearn a", "b", "c"}
    # of sets that they share
    assert ranking(fewer, "rows", ["b", "c", "e"]).n_sets == 1


def test_rows_of_the_tables():
    both = three() + three("groups")
    rows, notes = rank_rows(both)
    heading = ["contender", "mean rank, rows", "mean rank, groups", "processor, s"]
    assert rows[0] == heading
    assert rows[1] == ["kinlearn a", "1.0", "1.0", "0.5"]
    assert notes[1].startswith("groups: 3 sets, 6 splits, 3 contenders; Friedman p = ")
    assert notes[0].endswith("the first, kinlearn a: b; c.")
    table = means_table(both, "rows")
    assert table[0] == ["contender", "star", "exam", "ohio"]
    assert table[1] == [
        "kinlearn a",
        *(f"**{x}** / 0.50" for x in (0.805, 0.905, 0.705)),
    ]
    assert table[2][3] == "0.305 / 0.50"


def test_pairs_over_the_sets():
    found = pairs(three(), "rows", "kinlearn a")
    assert found["b"][:2] == (3, 3)
    assert_allclose(found["b"][2:], [(0.4 + 0.2 + 0.4) / 3, 0.5])  # 2 * 2 ** -3, twice
    assert_allclose(found["c"][2:], [(0.8 + 0.6 + 0.2) / 3, 0.5])
    against = pairs(three(), "rows", "b")["c"]
    assert against[:2] == (2, 3)
    rows = pair_rows(three() + three("groups"), "kinlearn a")
    assert rows[1] == ["b", *["3 of 3", "+0.333", "0.5"] * 2]


def test_the_picture_is_drawn_from_the_ranks(tmp_path):
    lines = [json.dumps(each) for each in three() + three("groups")]
    (tmp_path / "field.jsonl").write_text("\n".join(lines) + "\n")
    found = picture.data(tmp_path)
    assert found["regimes"]["rows"]["mean"] == [1.0, 2.333, 2.667]
    assert json.loads(json.dumps(found)) == found
    picture.draw(found, tmp_path / "field.svg")
    assert (
        (tmp_path / "field.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")
    )


@pytest.mark.skipif(bool(lacks_lme4()), reason="R with lme4 is not installed")
def test_lme4_is_the_same_mixed_model():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(12.0), 10)
    X = np.column_stack([rng.normal(size=(120, 2)), np.ones(120), task])
    y = X[:, 0] + rng.normal(size=12)[task.astype(int)] + rng.normal(size=120)
    test = np.vstack([X[:5], [[1.0, 2.0, 1.0, 99.0]]])  # the last group is new
    theirs = lme4("regression", 0).fit(X, y).score_values(test)
    ours = contenders.mixed("regression", 0).fit(X, y).predict(test)
    assert_allclose(theirs, ours, atol=1e-3)


def test_contenders_that_cannot_play_are_named(toy, monkeypatch, capsys):
    _, path = toy
    absent = (
        contenders.Entry("a", str, needs=("no_such_module",)),
        contenders.Entry("b", str, lacks=lambda: "a program"),
    )
    monkeypatch.setattr(contenders, "CONTENDERS", absent)
    assert field.main(["--record", "--records", str(path)]) == 0
    out = capsys.readouterr().out
    assert "left out: a needs no_such_module." in out
    assert "left out: b needs a program." in out
    assert field.main(["--record", "--contender", "c", "--records", str(path)]) == 2
    assert "no contender 'c'. Known: a; b." in capsys.readouterr().err


def test_a_failure_is_recorded_and_the_others_go_on(toy, monkeypatch, capsys):
    _, path = toy
    entries = (
        contenders.Entry("falls", lambda kind, seed: Classes()),
        contenders.Entry("stands", lambda kind, seed: Group(task=-1)),
    )
    monkeypatch.setattr(contenders, "CONTENDERS", entries)
    words = ["--record", "--records", str(path), "--limit", "1", "--only", "sleepstudy"]
    assert field.main(words) == 0
    last = read_records(path)[-4:]
    assert [each["contender"] for each in last] == ["falls", "stands"] * 2
    assert last[0]["error"].startswith("AttributeError")
    assert "falls" not in ranks(last)["rows"]["sleepstudy"]
    assert "AttributeError" in capsys.readouterr().out
