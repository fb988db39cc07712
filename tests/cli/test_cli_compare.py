"""``kin compare`` and ``kin demo``, from the file to the page."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from kinlearn.audit import compare_sharing, default_contenders
from kinlearn.cli import _compare as compare_command
from kinlearn.cli._console import Output
from kinlearn.cli._training import Training
from kinlearn.datasets import load_demo
from kinlearn.tables import find_meanings

COMPARE = ("compare", "pupils.csv", "--target", "passed", "--task", "school")
QUICK = ("--drop", "score", "--no-curve", "--models", "linear")
QUICK = (*QUICK, "--repeats", 1, "--folds", 2)


def test_compare_shows_the_answer_and_writes_the_page(table, kin):
    result = kin(*COMPARE, *QUICK, "--out", "report.html")
    assert result.code == 0, result.err
    for words in ("logistic regression, alone", "north", "Who gains", "report.html"):
        assert words in result.out
    page = Path("report.html").read_text(encoding="utf-8")
    assert "</html>" in page
    assert "logistic regression, pooled" in page
    assert "240 rows, 4 tasks (school)" in result.err
    assert sorted(p.name for p in Path().iterdir()) == ["pupils.csv", "report.html"]


def test_kin_is_played_against_models_of_each_task_alone():
    data = load_demo(as_frame=True)
    columns = _Columns(data.target, "clinic")
    chosen = compare_command._choose(data.data, columns, "kin", False, 0)
    assert "Kin" in chosen
    others = set(chosen) - {"Kin"}
    assert others
    assert all(name.endswith(", alone") for name in others)
    # who names models that are alone gets these, and no others
    named = compare_command._choose(data.data, columns, "kin,linear", False, 0)
    assert {n for n in named if n.endswith(", alone")} == {"logistic regression, alone"}


def test_kin_takes_part_unless_it_is_left_out():
    data = load_demo(as_frame=True)
    columns = _Columns(data.target, "clinic")
    everybody = compare_command._choose(data.data, columns, None, False, 0)
    others = compare_command._choose(data.data, columns, None, True, 0)
    assert set(everybody) - set(others) == {"Kin"}
    assert set(others) == set(default_contenders(data.data, data.target, task="clinic"))
    # words of others do not bring it in
    assert "Kin" not in compare_command._choose(data.data, columns, "linear", False, 0)


@pytest.fixture
def quick_kin(monkeypatch):
    """Kin with few models, and few others."""

    def few(X, y, on_request, **options):
        known = default_contenders(X, y, on_request=on_request, **options)
        few = {n: e for n, e in known.items() if n == "Kin" or n.startswith("logistic")}
        if on_request:
            few["Kin"].set_params(families=["linear"], n_folds=2)
        return few

    monkeypatch.setattr(compare_command, "default_contenders", few)


def test_the_cost_of_kin_is_said_first_and_the_answer_without_it(table, kin, quick_kin):
    words = ("--drop", "score", "--no-curve", "--repeats", 1, "--folds", 2)
    result = kin(*COMPARE, *words)
    assert result.code == 0, result.err
    assert re.search(r"│ Kin +│", result.out)
    said = result.err.splitlines()
    assert said[-2] == compare_command._COST
    assert said[-1].startswith("Before Kin: ")
    others = kin(*COMPARE, *words, "--no-kin")
    assert others.code == 0, others.err
    assert "Kin" not in others.out + others.err
    # the scores without Kin come again below the verdict, which is one only
    figures = re.search(r"is (.* alone and .* sharing)\. The verdict", said[-1])[1]
    assert re.search(rf"Without .*, mean AUC is {figures}\.", result.out)
    assert figures in others.out


def test_compare_gives_the_numbers_of_the_library(tmp_path, kin, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = load_demo(as_frame=True)
    data.frame.to_csv("demo.csv", index=False)
    words = ("compare", "demo.csv", "--target", "readmitted", "--task", "clinic")
    few = ("--no-curve", "--models", "linear", "--repeats", 1, "--folds", 2)
    result = kin(*words, *few, "--json")
    document = json.loads(result.out)
    by_hand = compare_sharing(
        data.data,
        data.target,
        task="clinic",
        estimators=compare_command._choose(
            data.data, _Columns(data.target, "clinic"), "linear", False, 0
        ),
        n_splits=2,
        n_repeats=1,
        curve=False,
    ).to_dict()
    assert document["headline"] == by_hand["headline"]
    assert document["gains"] == by_hand["gains"]
    assert document["verdict"] == by_hand["verdict"]
    assert document["data"]["target_name"] == "readmitted"


class _Columns:
    kind = "classification"

    def __init__(self, y, task):
        self.y, self.task = np.asarray(y), task


def test_only_json_on_standard_output(table, kin):
    result = kin(*COMPARE, *QUICK, "--json", "--out", "report.html")
    document = json.loads(result.out)
    assert document["format"] == "kinlearn-sharing/2"
    assert Path("report.html").exists()


def test_quiet_writes_the_page_and_says_nothing(table, kin):
    result = kin(*COMPARE, *QUICK, "--quiet", "--out", "report.html")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert Path("report.html").exists()


def test_a_stored_run_gives_the_same_again(table, kin):
    first = kin(*COMPARE, *QUICK, "--store", "runs", "--json")
    again = kin(*COMPARE, *QUICK, "--store", "runs", "--json")
    assert first.code == again.code == 0, first.err + again.err
    first, again = json.loads(first.out), json.loads(again.out)
    assert first["gains"] == again["gains"]
    assert first["scores"] == again["scores"]


def test_numbers_to_predict(table, kin):
    words = ("compare", "pupils.csv", "--target", "score", "--task", "school")
    more = ("--drop", "passed", "--metric", "neg_mean_absolute_error")
    result = kin(*words, *QUICK[2:], *more)
    assert result.code == 0, result.err
    assert "ridge regression, alone" in result.out
    # errors are shown as errors: none is negative
    board = result.out.split("Who gains")[0]
    assert " -" not in "".join(line for line in board.splitlines() if "±" in line)


CALLS = [
    (("--metric", "nonsense"), "nonsense"),
    (("--metric", "r2"), "Does --metric r2 suit the target?"),
    (("--folds", "-3"), "--folds -3"),
    (("--folds", "5000"), "5000"),
    (("--repeats", "0"), "--repeats 0"),
    (("--models", "nonsense"), "There are: 'Kin', 'logistic regression'"),
    (("--models", "boosting, Kin", "--no-kin"), "requests Kin, and --no-kin leaves it"),
    (("--models", "multi-task", "--kin"), "--no-kin"),
    (("--store", "pupils.csv"), "--store 'pupils.csv'"),
    (("--store", "nowhere/runs"), "There is no folder nowhere"),
    (("--out", "report.pdf"), "must end in .html"),
    (("--out", "nowhere/report.html"), "There is no folder nowhere"),
]


@pytest.mark.parametrize(("words", "says"), CALLS, ids=[" ".join(w) for w, _ in CALLS])
def test_wrong_calls_are_one_line(words, says, table, kin):
    quick = QUICK if words[0] != "--models" else QUICK[:3]
    result = kin(*COMPARE, *quick, "-q", *words)
    assert result.code == 2, result.err
    assert result.err.count("\n") == 1
    assert len(result.err) < 300
    assert says in result.err
    assert [path.name for path in Path().iterdir()] == ["pupils.csv"]


def _document(n_tasks=3, **changes):
    """A small result, as ``to_dict`` gives it."""
    names = [("trees, alone", "alone"), ("multi-task trees", "multi-task")]
    tasks = [f"t{t}" for t in range(n_tasks)]
    gains = [
        {
            "task": task,
            "n_rows": 10 * (t + 1),
            "alone": 0.5,
            "sharing": 0.6 - 0.01 * t,
            "gain": 0.1 - 0.01 * t,
            "low": None if t else 0.05,
            "high": None if t else 0.15,
            "verdict": "unclear" if t else "helped",
            "reason": "too few rows to tell: 2 rows" if t else None,
        }
        for t, task in enumerate(tasks)
    ]
    document = {
        "metric": {"label": "AUC", "greater_is_better": True},
        "data": {"task_name": "clinic"},
        "cv": {"n_splits": 5, "n_repeats": 1},
        "contenders": [
            {
                "name": name,
                "form": form,
                "macro": 0.5 + 0.1 * i,
                "macro_se": 0.01,
                "micro": 0.5,
                "mean_rank": 2.0 - i,
                "fit_seconds": 1.0,
                "error": None,
            }
            for i, (name, form) in enumerate(names)
        ],
        "headline": {
            "sharing": names[1][0],
            "alone": names[0][0],
            "macro_alone": 0.5,
            "macro_sharing": 0.59,
            "gain": 0.09,
            "low": -0.01,
            "high": 0.19,
            "reason": None,
        },
        "scores": [
            {"contender": name, "task": task, "mean": 0.5}
            for name, _ in names
            for task in tasks
        ],
        "gains": gains,
        "verdict": {"sentence": "Sharing helps.", "details": ["A detail."]},
    }
    return {**document, **changes}


def _shown(document, width=110):
    output = Output()
    output.out = Console(file=io.StringIO(), width=width, markup=False)
    compare_command.show_result(document, output)
    return output.out.file.getvalue()


def test_the_best_stands_on_top():
    lines = _shown(_document()).splitlines()
    multi = next(i for i, line in enumerate(lines) if "multi-task trees" in line)
    alone = next(i for i, line in enumerate(lines) if "trees, alone" in line)
    assert multi < alone


def test_a_contender_that_failed_is_shown_with_its_error():
    document = _document()
    failed = {"macro": None, "macro_se": None, "micro": None, "mean_rank": None}
    document["contenders"][0] |= {**failed, "fit_seconds": None, "error": "no [luck]"}
    assert "no [luck]" in _shown(document)


def test_of_many_tasks_both_ends_are_shown():
    text = _shown(_document(n_tasks=100))
    assert "70 tasks are left out" in " ".join(text.split())
    assert " t0 " in text
    assert " t99 " in text
    assert " t50 " not in text


def test_tasks_without_a_score_are_named():
    document = _document()
    numbers = ("alone", "sharing", "gain", "low", "high", "reason")
    document["gains"][1] |= {**dict.fromkeys(numbers), "verdict": "not scored"}
    assert "not scored" in _shown(document)


def test_errors_are_shown_as_errors():
    document = _document(metric={"label": "RMSE", "greater_is_better": False})
    for contender in document["contenders"]:
        contender["macro"] *= -1
        contender["micro"] *= -1
    board = _shown(document).split("Who gains")[0]
    assert "0.500 ± 0.010" in board
    assert "-0.5" not in board


def test_dates_and_categories_reach_the_comparison_as_such(table):
    frame = pd.read_csv("pupils.csv", dtype=str)[["entered", "sex", "school"]]
    kinds = find_meanings(frame, task="school")
    tasks = frame["school"].unique()
    training = Training(frame, None, None, kinds, "school", None, tasks, [])
    read = training.encoder(categories="category").fit_transform(frame)
    parts = [name for name in read if name.startswith("entered: ")]
    assert set(read.dtypes[parts]) == {np.dtype(np.float64)}
    assert str(read["sex"].dtype) == "category"


@pytest.mark.slow
def test_demo(tmp_path, kin, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = kin("demo")
    assert result.code == 0, result.err
    for clinic in load_demo(as_frame=True).task_names:
        assert clinic in result.out
    # one sentence with names, and who is failed by one model for all
    assert re.search(r"Sharing helps \d+ of 10 clinics.* raises mean AUC", result.out)
    assert result.out.count("hurts 2 of 10 clinics (Juniper, Larch)") == 2
    assert "kinlearn-demo.html" in result.out
    assert [path.name for path in tmp_path.iterdir()] == ["kinlearn-demo.html"]
    assert Path("kinlearn-demo.html").stat().st_size < 1.5e6
