"""What must not come in by the door: an index left in the file, a leaking column."""

import json

import numpy as np
import pandas as pd
import pytest

import kinlearn


def _by_class(n_rows=240):
    """A file sorted by what is to be predicted, as files are."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], n_rows // 2)
    return pd.DataFrame(
        {
            "school": rng.choice(list("abc"), n_rows),
            "size": y + rng.normal(0, 1.2, n_rows),
            "noise": rng.normal(size=n_rows),
            "passed": y,
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _fit_score(kin, name, *words):
    call = kin("fit", name, "--target", "passed", "--task", "school", "--json",
               "--save", "m.skops", *words)  # fmt: skip
    assert call.code == 0, call.err
    return json.loads(call.out)["seen_score"], call.err


def _compared(kin, name, *words):
    call = kin("compare", name, "--target", "passed", "--task", "school", "--json",
               "--folds", 3, "--repeats", 1, "--models", "boosting", "--no-kin",
               "--no-curve", *words)  # fmt: skip
    assert call.code == 0, call.err
    document = json.loads(call.out)
    return document["contenders"][0]["macro"], document, call.err


def test_a_shuffled_index_in_the_file_flatters_no_more(kin, folder):
    frame = _by_class()
    frame = frame.sample(frac=1, random_state=0)
    frame.to_csv("index.csv")
    frame.to_csv("clean.csv", index=False)
    found, remarks = _fit_score(kin, "index.csv")
    assert "Column 'Unnamed: 0' is not used: it is an index of the rows" in remarks
    truth, _ = _fit_score(kin, "clean.csv")
    assert found == truth < 0.8


def test_an_index_that_is_kept_flatters(kin, folder):
    _by_class().sample(frac=1, random_state=0).to_csv("index.csv")
    found, _, _ = _compared(kin, "index.csv", "--keep", "Unnamed: 0")
    assert found > 0.95


def test_one_row_without_a_task_hides_no_index(kin, folder):
    frame = _by_class()
    frame.loc[17, "school"] = None
    frame.to_csv("index.csv")
    frame.to_csv("clean.csv", index=False)
    truth, _, _ = _compared(kin, "clean.csv")
    found, document, remarks = _compared(kin, "index.csv", "--out", "page.html")
    assert found == truth < 0.85
    assert "Rows without a task (school) are left out: 1." in remarks
    (suspect,) = document["suspects"]
    assert (suspect["column"], suspect["left_out"]) == ("Unnamed: 0", True)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Columns that were left out" in page
    assert "Unnamed: 0: is an index of the rows" in page


def test_rows_that_were_filtered_away_hide_no_index(kin, folder):
    frame = _by_class(600)
    frame[frame["noise"] > 0].sample(frac=1, random_state=0).to_csv("index.csv")
    _, document, _ = _compared(kin, "index.csv")
    assert document["suspects"][0]["what"] == "index"


def test_a_column_that_knows_the_target_is_used_and_remarked_on(kin, folder):
    frame = _by_class()
    frame["paid back"] = 10 * frame["passed"] + frame["noise"]
    frame.to_csv("leak.csv", index=False)
    score, document, remarks = _compared(kin, "leak.csv", "--out", "page.html")
    assert score > 0.99
    sentence = "Column 'paid back' alone predicts the target with AUC 1.000."
    assert remarks.count(sentence) == 1
    (suspect,) = document["suspects"]
    assert (suspect["what"], suspect["left_out"]) == ("prediction", False)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Look at these columns first" in page
    _, document, remarks = _compared(kin, "leak.csv", "--keep", "paid back")
    assert document["suspects"] == []
    assert "alone predicts" not in remarks
    _, document, _ = _compared(kin, "leak.csv", "--drop", "paid back")
    assert document["suspects"] == []


def test_measurements_and_counts_of_days_are_used(kin, folder):
    frame = _by_class().sample(frac=1, random_state=0)
    frame["day"] = np.arange(1, len(frame) + 1)
    frame["income"] = np.random.default_rng(1).choice(10**6, len(frame), replace=False)
    frame.to_csv("days.csv", index=False)
    call = kin("compare", "days.csv", "--target", "passed", "--task", "school",
               "--folds", 2, "--repeats", 1, "--models", "regression", "--no-kin",
               "--no-curve")  # fmt: skip
    assert "4 columns (4 numbers)" in call.err
    assert "not used" not in call.err


def test_distances_know_no_index_either(kin, folder):
    frame = _by_class()
    frame.to_csv("index.csv")
    words = ("relate", "index.csv", "--task", "school", "--method", "ks", "--json")
    for more in ((), ("--target", "passed")):
        call = kin(*words, *more)
        assert "Column 'Unnamed: 0' is not used" in call.err
        assert [s["column"] for s in json.loads(call.out)["suspects"]] == ["Unnamed: 0"]
    frame.drop(columns="passed").to_csv("clean.csv", index=False)
    clean = kin("relate", "clean.csv", *words[2:])
    call = kin(*words, "--target", "passed")
    both = [json.loads(c.out)["distances"] for c in (clean, call)]
    assert both[0] == both[1]


def test_another_name_of_the_group_is_remarked_on(kin, folder):
    frame = _by_class()
    frame["school name"] = frame["school"].map({"a": "Ash", "b": "Beech", "c": "Cedar"})
    frame.to_csv("names.csv", index=False)
    call = kin("relate", "names.csv", "--task", "school", "--target", "passed")
    assert call.err.count("Column 'school name' has a value of its own") == 1


def test_an_index_alone_is_nothing_to_learn_from(kin, folder):
    frame = _by_class()[["school", "passed"]]
    frame.to_csv("index.csv")
    call = kin("fit", "index.csv", "--target", "passed", "--task", "school",
               "--save", "m.skops")  # fmt: skip
    assert call.code == 2
    assert "No column of index.csv is left to learn from" in call.err
    assert "--keep" in call.err


def test_a_column_that_was_left_out_is_not_needed_again_in_python(kin, folder):
    frame = _by_class()
    frame.to_csv("index.csv")
    words = ("--target", "passed", "--task", "school", "--model", "extra-trees")
    call = kin("fit", "index.csv", *words, "--save", "m.skops")
    assert call.code == 0, call.err
    model = kinlearn.load("m.skops")
    assert list(model.feature_names_in_) == ["size", "noise", "school"]
    assert kin("predict", "m.skops", "index.csv", "--out", "p.csv").err == ""
    predicted = pd.read_csv("p.csv")["prediction"]
    assert (model.predict(frame[model.feature_names_in_]) == predicted).all()
