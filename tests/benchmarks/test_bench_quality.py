"""Keys, statistics, tables and the command of the quality benchmarks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from benchmarks.environment import build_of_kinlearn, versions
from benchmarks.problems import load
from benchmarks.quality.__main__ import main
from benchmarks.quality.metrics import EXPLAINED_VARIANCE, TASK_AUC
from benchmarks.quality.peers import PEERS, extra_trees, linear
from benchmarks.quality.protocol import (
    PROTOCOLS,
    Contender,
    Metric,
    Protocol,
    Published,
    protocol,
    run_key,
    split_fingerprint,
)
from benchmarks.quality.runner import Run, finished
from benchmarks.quality.statistics import corrected_interval
from benchmarks.quality.table import render


def test_the_interval_by_hand():
    # variance 0.01; (1/3 + 1/3) * 0.01; t of 2 degrees at 97.5% is 4.3027
    found = corrected_interval([0.1, 0.2, 0.3], 1 / 3)
    assert_allclose(found.mean, 0.2)
    assert_allclose(found.high - 0.2, 4.302653 * math.sqrt(0.02 / 3), rtol=1e-6)
    assert_allclose(0.2 - found.low, found.high - 0.2)


def test_the_interval_without_overlap_is_students():
    values = np.random.default_rng(0).normal(size=12)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    found = corrected_interval(values, 0.0, confidence=0.9)
    assert_allclose([found.low, found.high], expected)


def test_one_split_has_no_interval():
    found = corrected_interval([0.4], 0.3)
    assert found.mean == 0.4
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def make_nothing(problem, seed):
    raise NotImplementedError


def toy_protocol(**changes):
    error = Metric("error", "error", None, greater_is_better=False, digits=2)
    declared = Protocol(
        name="toy",
        title="A toy",
        problem="landmine-like",
        n_splits=3,
        split=None,
        metrics=(Metric("auc", "AUC", None, digits=3), error),
        contenders=(
            Contender("plain", make_nothing),
            Contender("new", make_nothing, kind="ours"),
            Contender("absent", make_nothing, needs=("no_such_package",)),
        ),
        baseline="plain",
        methods=("predict",),
        published=(
            Published("old", {"auc": 0.65}, "a paper, table 1"),
            Published("older", {"auc": 0.9, "error": 0.5}, "another paper"),
        ),
        limits={"auc": 0.6, "error": 0.1},
    )
    return replace(declared, **changes)


def toy_record(run, auc, error):
    return {
        "key": run.key,
        "contender": run.contender,
        "error": None,
        "scores": {"auc": auc, "error": error},
        "n_train": 300,
        "n_test": 100,
        "fit_seconds": 1.0,
        "versions": versions(),
        "machine": "abacus",
        "build": build_of_kinlearn(),
    }


def toy_runs():
    return [
        Run("toy", name, split, f"{name}{split}")
        for split in range(3)
        for name in ("plain", "new", "absent")
    ]


def toy_done(runs):
    plain = [(0.5, 0.2), (0.6, 0.3), (0.7, 0.4)]
    new = [(0.6, 0.2), (0.8, 0.2), (0.7, 0.2)]
    scores = {"plain": plain, "new": new}
    return {
        run.key: toy_record(run, *scores[run.contender][run.split])
        for run in runs
        if run.contender in scores
    }


def cells(table):
    rows = [line[2:-2].split(" | ") for line in table.splitlines() if line[:2] == "| "]
    return {row[0]: row[1:] for row in rows}


def test_a_contender_may_have_limits_of_its_own():
    runs = toy_runs()
    contenders = tuple(
        replace(each, limits={"error": 0.15}) if each.name == "new" else each
        for each in toy_protocol().contenders
    )
    rows = cells(render(toy_protocol(contenders=contenders), runs, toy_done(runs)))
    assert rows["new"][4] == "0.20 [0.20, 0.20] **above** limit 0.15"


def test_the_table_by_hand():
    runs = toy_runs()
    table = render(toy_protocol(), runs, toy_done(runs))
    rows = cells(table)
    assert table.startswith("## toy: A toy\n\n| contender | kind | splits | AUC |")
    assert list(rows)[2:] == ["new", "plain", "absent", "old", "older"]
    # half widths are 0.3513 for a standard deviation of 0.1
    assert rows["plain"] == [
        "peer",
        "3",
        "0.600 [0.249, 0.951]",
        "baseline",
        "0.30 [-0.05, 0.65]",
        "baseline",
        "1.00",
    ]
    assert rows["new"] == [
        "ours",
        "3",
        "0.700 [0.349, 1.051] **below** published 0.9",
        "+0.100 [-0.251, +0.451]",
        "0.20 [0.20, 0.20] **above** limit 0.1",
        "-0.10 [-0.45, +0.25]",
        "1.00",
    ]
    assert rows["absent"][1] == "0 (needs no_such_package)"
    assert rows["old"] == ["published", "-", "0.65", "-", "-", "-", "-"]
    assert "- old: a paper, table 1." in table
    assert f"- Measured with kinlearn {versions()['kinlearn']}, numpy" in table
    assert table.count(" on abacus.") == 1


def test_splits_that_share_no_training_rows_are_a_plain_sample():
    runs = toy_runs()
    table = render(toy_protocol(independent=True), runs, toy_done(runs))
    # half widths are 4.3027 / sqrt(3) standard deviations
    assert cells(table)["plain"][2] == "0.600 [0.352, 0.848]"
    assert cells(table)["new"][3] == "+0.100 [-0.148, +0.348]"
    assert "the 95% t interval, since no row trains" in table


def test_only_splits_of_both_are_paired():
    runs = toy_runs()
    done = toy_done(runs)
    del done["plain0"]
    done["plain2"] |= {"error": "ValueError: no | such\nthing"}
    table = render(toy_protocol(), runs, done, times=False)
    assert cells(table)["new"][3] == "+0.200"  # split 1 alone has no interval
    assert cells(table)["plain"][1] == "1"
    assert "- plain: 1 runs failed, ValueError: no | such" in table
    assert "- plain: 2 of 3 runs done." in table


def test_a_limit_that_is_reached_is_not_marked():
    runs = toy_runs()
    relaxed = toy_protocol(limits={"auc": 0.7, "error": 0.2}, published=())
    assert "**" not in render(relaxed, runs, toy_done(runs))


def test_runs_of_another_build_are_told():
    runs = toy_runs()
    done = toy_done(runs)
    done["new1"]["build"] = "another"
    done["plain0"]["versions"]["numpy"] = "0.1"
    notes = render(toy_protocol(), runs, done)
    assert "- new: 1 runs were made by other versions" in notes
    assert "- plain: 1 runs were made by other versions" in notes


def test_the_table_does_not_depend_on_the_order_of_the_runs():
    runs = toy_runs()
    done = toy_done(runs)
    backwards = dict(reversed(done.items()))
    toy = toy_protocol()
    assert render(toy, runs, done) == render(toy, runs, backwards)


def test_an_empty_table_says_so():
    table = render(toy_protocol(), toy_runs(), {})
    assert cells(table)["new"][1] == "0 (none finished)"


def test_a_key_tells_runs_apart():
    toy = toy_protocol()
    plain = toy.contender("plain")
    rows = np.arange(5)
    split = split_fingerprint(rows[:3], rows[3:])
    key = run_key(toy, plain, data="d", split=split, number=0)
    assert key == run_key(toy, plain, data="d", split=split, number=0)
    others = [
        run_key(toy, replace(plain, params={"a": 1}), data="d", split=split, number=0),
        run_key(toy, toy.contender("new"), data="d", split=split, number=0),
        run_key(toy, plain, data="e", split=split, number=0),
        run_key(toy, plain, data="d", split=split, number=1),
        run_key(replace(toy, name="x"), plain, data="d", split=split, number=0),
        run_key(
            replace(toy, metrics=toy.metrics[:1]),
            plain,
            data="d",
            split=split,
            number=0,
        ),
        run_key(
            toy, plain, data="d", split=split_fingerprint(rows[:2], rows[2:]), number=0
        ),
    ]
    assert len({key, *others}) == 8


def test_forgotten_runs_are_not_finished():
    records = [{"key": "a", "n": 1}, {"key": "b"}, {"forget": "a"}, {"forget": "c"}]
    assert finished(records) == {"b": {"key": "b"}}
    assert finished([*records, {"key": "a", "n": 2}])["a"]["n"] == 2


def test_a_protocol_needs_its_baseline():
    contender = Contender("plain", make_nothing)
    for contenders in [(contender,), (contender, contender)]:
        with pytest.raises(ValueError, match="different names with the baseline"):
            protocol(
                "bad",
                problem="landmine-like",
                n_splits=1,
                metrics=(),
                contenders=contenders,
                baseline="plain" if len(contenders) == 2 else "other",
            )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "Unknown protocol 'nonsense'. Known: {known}."),
        ([], "Name a protocol. Known: {known}."),
    ],
)
def test_wrong_names_are_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    expected = message.format(known=", ".join(PROTOCOLS))
    assert capsys.readouterr().err == expected + "\n"


def test_missing_data_is_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KINLEARN_DATA", str(tmp_path))
    assert main(["landmine-75", "--results", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("landmine-75: ")


def test_mean_task_auc_skips_tasks_of_one_class():
    y = np.array([0, 1, 0, 1, 1, 0, 0])
    prediction = np.array([0.1, 0.9, 0.5, 0.4, 0.6, 0.3, 0.2])
    task = np.array([0, 0, 1, 1, 1, 2, 2])
    assert_allclose(TASK_AUC.score(y, prediction, task), (1.0 + 0.5) / 2)


def test_explained_variance_is_of_all_test_rows():
    y, prediction = np.array([1.0, 3.0, 5.0]), np.array([1.0, 3.0, 4.0])
    assert_allclose(EXPLAINED_VARIANCE.score(y, prediction, y), 1 - 1 / 8)


@pytest.mark.parametrize("name", ["dense-classification", "dense-regression"])
def test_peers_fit_and_see_the_task(name):
    problem = load(name, n_rows=400, n_features=3, n_tasks=2)
    forest = extra_trees(
        problem, 0, task="indicators", leaves=[3], max_features=[1.0]
    ).fit(problem.X, problem.y)
    assert forest[-1].n_features_in_ == 3 + 2
    assert len(forest[-1].estimators_) == 300
    for model in (forest, linear(problem, 0).fit(problem.X, problem.y)):
        assert model.score(problem.X, problem.y) > 0.7


def test_peers_have_names_of_their_own():
    assert len({each.name for each in PEERS}) == len(PEERS)
