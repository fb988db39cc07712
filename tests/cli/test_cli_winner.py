"""What a page prints under "Take the winner" runs on the file it came from."""

import json
import shlex
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kinlearn
from kinlearn.audit import default_contenders
from kinlearn.cli import run
from kinlearn.exceptions import UnknownTaskWarning


def _compare(kin, name, *words):
    result = kin("compare", name, "--task", "school", "--folds", 2, "--repeats", 1,
                 "--no-curve", "--out", "page.html", "--json", *words)  # fmt: skip
    assert result.code == 0, result.err
    found = json.loads(result.out)
    page = unescape(Path("page.html").read_text(encoding="utf-8"))
    assert found["run"]["code"] in page
    assert found["run"]["command"] in page
    return found


def _check(found, frame, target):
    """Run both ways; the models must know the same and predict alike."""
    scope: dict = {}
    exec(found["run"]["code"], scope)
    one = scope["model"]
    python = one.predict(scope["X"])
    assert len(python) == frame[target].notna().sum()
    words = shlex.split(found["run"]["command"])
    assert words[0] == "kin"
    assert run([*words[1:], "-q"]) == 0
    assert run(["predict", "model.skops", words[2], "-q", "--out", "out.csv"]) == 0
    two = pd.read_csv("out.csv")["prediction"]
    assert len(two) == len(frame)
    assert type(kinlearn.load("model.skops")[-1]) is type(one)
    return python, two


@pytest.mark.parametrize("models", ["linear", "extra-trees", "boosting"])
def test_the_winner_of_a_table_of_mixed_columns(models, table, kin):
    found = _compare(kin, "pupils.csv", "--target", "passed", "--drop", "score",
                     "--models", models)  # fmt: skip
    python, command = _check(found, table, "passed")
    assert (python == command.to_numpy()).mean() > 0.9


def test_the_winner_of_a_file_with_commas_and_semicolons(table, kin):
    table["class"] = table["age"] - 9
    table.rename(columns={"school": "my school", "score": "it's"}).to_csv(
        "a b.csv", index=False, sep=";", decimal=",", encoding="utf-16"
    )
    result = kin("compare", "a b.csv", "--task", "my school", "--target", "it's",
                 "--drop", "passed", "--categorical", "class", "--models", "linear",
                 "--folds", 2, "--repeats", 1, "--no-curve", "--seed", 3,
                 "--json")  # fmt: skip
    assert result.code == 0, result.err
    found = json.loads(result.out)
    python, command = _check(found, table, "score")
    assert pd.Series(python).corr(command) > 0.95


def test_the_winner_of_a_parquet_file(table, kin):
    table.to_parquet("pupils.parquet")
    found = _compare(kin, "pupils.parquet", "--target", "score", "--drop", "passed",
                     "--models", "extra-trees")  # fmt: skip
    python, command = _check(found, table, "score")
    assert pd.Series(python).corr(command) > 0.95


def test_a_contender_that_is_not_there(table, kin):
    words = ("fit", "pupils.csv", "--task", "school", "--target", "passed", "--save")
    result = kin(*words, "m.skops", "--model", "logistic regression, alon")
    assert result.code == 2
    assert "Did you mean 'logistic regression, alone'?" in result.err
    result = kin(*words, "m.skops", "--model", "ridge, alone", "--form", "pooled")
    assert "Leave --form pooled out" in result.err


@pytest.mark.parametrize("form", ["alone", "pooled", "task as feature"])
def test_a_contender_predicts_new_groups_of_a_table_of_numbers(form, table, kin):
    numbers = table[["age", "height", "passed"]].dropna()
    numbers = numbers.assign(school=np.arange(len(numbers)) % 4)
    numbers.to_csv("numbers.csv", index=False)
    numbers.assign(school=7).to_csv("new.csv", index=False)
    name = f"logistic regression, {form}"
    result = kin("fit", "numbers.csv", "--task", "school", "--target", "passed",
                 "--model", name, "--save", "m.skops")  # fmt: skip
    assert result.code == 0, result.err
    result = kin("predict", "m.skops", "new.csv", "--out", "p.csv")
    assert result.code == 0, result.err
    assert "an unknown school ('7')" in result.err
    X, y = numbers.drop(columns="passed"), numbers["passed"]
    model = default_contenders(X, y, task="school")[name].fit(X, y)
    with pytest.warns(UnknownTaskWarning):
        python = model.predict(X.assign(school=7))
    assert (pd.read_csv("p.csv")["prediction"] == python).all()
