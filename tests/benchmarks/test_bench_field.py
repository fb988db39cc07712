"""The field of data in small groups: ranks, records, an estimator of one's own."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score

from benchmarks.field import __main__ as field
from benchmarks.field import contenders, picture, sets
from benchmarks.field.outside import lacks_lme4, lme4
from benchmarks.field.ranking import complete, means_table, rank_rows, ranking, ranks
from benchmarks.jsonlines import read_records
from kinlearn.datasets.loaded._multilevel import RECIPES

PLACE = f"{__name__}."


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
    def record(name, split, score, regime="rows", data="a"):
        return {"set": data, "regime": regime, "split": split, "contender": name,
                "score": score}  # fmt: skip

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
        "rows": {"a": {"x": (0.5, 2.5), "y": (0.7, 1.0), "z": (0.5, 2.5)}},
        "groups": {"a": {"y": (0.2, 1.0)}},
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
