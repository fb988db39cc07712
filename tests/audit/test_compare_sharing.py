"""The whole comparison, on models and data whose answers are known."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.validation import check_is_fitted

from kinlearn import with_task
from kinlearn.audit import SharingResult, compare_sharing
from kinlearn.model_selection import LeaveOneTaskOut
from kinlearn.sharing import PerTask, Pooled
from kinlearn.trees import MultiTaskExtraTreesClassifier
from tests.reference.known_models import Failing, Knower, Noisy, TaskKnower, known_data

# the known models are told the target by a column
pytestmark = pytest.mark.filterwarnings(
    "ignore::kinlearn.exceptions.SuspectColumnWarning"
)

SIZES = (60, 50, 40, 30, 3)
X, Y = known_data(SIZES)
RIGHT = {"t0": 0.95, "t1": 0.9, "t2": 0.0, "t3": 0.7, "t4": 0.5}


def _estimators(**more):
    return {
        "alone": PerTask(Knower(0.6), task="task"),
        "multi": TaskKnower(RIGHT, task="task"),
        **more,
    }


def _compare(**options):
    options = {
        "task": "task",
        "estimators": _estimators(),
        "scoring": "accuracy",
        "n_repeats": 2,
        "curve": False,
    } | options
    return compare_sharing(options.pop("X", X), options.pop("y", Y), **options)


@pytest.fixture(scope="module")
def result():
    return _compare(curve=True, random_state=1)


@pytest.fixture(scope="module")
def data(result):
    return result.to_dict()


def test_gains_are_those_of_the_known_models(data):
    for gain in data["gains"][:4]:
        rows = X[X["task"] == gain["task"]]
        by_hand = (rows["u"] < RIGHT[gain["task"]]).mean() - (rows["u"] < 0.6).mean()
        # folds of a task may differ by a row, so the mean of folds is near, not equal
        assert_allclose(gain["gain"], by_hand, atol=0.02)
    verdicts = {gain["task"]: gain["verdict"] for gain in data["gains"]}
    assert verdicts["t0"] == "helped"
    assert verdicts["t2"] == "hurt"
    assert verdicts["t4"] == "not scored"


def test_the_headline_is_the_difference_of_the_two_means(data):
    headline = data["headline"]
    assert (headline["sharing"], headline["alone"]) == ("multi", "alone")
    difference = headline["macro_sharing"] - headline["macro_alone"]
    assert_allclose(headline["gain"], difference)
    assert headline["low"] < headline["gain"] < headline["high"]
    scored = [gain["gain"] for gain in data["gains"][:4]]
    assert_allclose(headline["gain"], np.mean(scored))


def test_the_leaderboard_is_sorted_and_complete(data):
    macros = [contender["macro"] for contender in data["contenders"]]
    assert macros == sorted(macros, reverse=True)
    for contender in data["contenders"]:
        means = [
            s["mean"] for s in data["scores"] if s["contender"] == contender["name"]
        ]
        assert_allclose(
            contender["macro"], np.mean([m for m in means if m is not None])
        )
        assert contender["shares"] == (contender["form"] != "alone")
        assert contender["error"] is None
        assert contender["fit_seconds"] > 0


def test_small_tasks_are_listed_with_the_reason(data):
    [small] = [task for task in data["tasks"] if not task["scored"]]
    assert (small["task"], small["n_rows"]) == ("t4", 3)
    assert small["reason"].startswith("3 rows are too few for 5 folds")
    assert [t["n_rows"] for t in data["tasks"]] == list(SIZES)


def test_the_dict_has_what_the_page_reads(data):
    assert list(data) == [
        "format",
        "kind",
        "metric",
        "data",
        "cv",
        "tasks",
        "contenders",
        "scores",
        "headline",
        "gains",
        "overall",
        "relatedness",
        "curve",
        "run",
        "verdict",
        "suspects",
    ]
    assert data["data"] == {
        "n_rows": 183,
        "n_features": 2,
        "n_tasks": 5,
        "task_name": "task",
        "target_name": None,
        "classes": [0, 1],
    }
    assert data["cv"]["n_splits"] == 5
    assert data["cv"]["n_repeats"] == 2
    assert {"friedman_p", "wilcoxon_p", "mean_ranks", "n_tasks"} <= set(data["overall"])
    for lines in data["curve"]["lines"]:
        assert len(lines["mean"]) == len(data["curve"]["rows"])
    for name in ("mmd", "ks", "label_shift"):
        entry = data["relatedness"]["distances"][name]
        assert entry["tasks"] == ["t0", "t1", "t2", "t3", "t4"]
        assert np.shape(entry["matrix"]) == (5, 5)
    assert data["relatedness"]["affinity"] is None
    assert {e["distance"] for e in data["relatedness"]["predicts_gain"]} == {
        "mmd",
        "ks",
        "label_shift",
    }
    assert data["run"]["seconds"] > 0
    assert "numpy" in data["run"]["versions"]


def test_distance_and_gain_are_correlated_over_scored_tasks():
    from scipy.stats import spearmanr

    data = _compare().to_dict()
    gains = np.array([gain["gain"] for gain in data["gains"][:4]], dtype=float)
    for entry in data["relatedness"]["predicts_gain"]:
        matrix = np.array(data["relatedness"]["distances"][entry["distance"]]["matrix"])
        by_hand = spearmanr(matrix.sum(axis=1)[:4], gains).statistic
        assert entry["n_tasks"] == 4
        assert_allclose(entry["spearman"], by_hand)


def test_json_round_trip(result):
    text = result.to_json()
    again = SharingResult.from_json(text)
    assert again.to_json() == text
    assert again.to_dict() == result.to_dict() == json.loads(text)
    assert repr(again) == repr(result)
    with pytest.raises(AttributeError, match="was read from a file"):
        again.best_estimator_  # noqa: B018
    with pytest.raises(ValueError, match="not a result of compare_sharing"):
        SharingResult.from_dict({"format": "other/1"})


def test_frame_has_a_row_for_each_contender_and_task(result):
    frame = result.to_frame()
    assert frame.shape == (10, 8)
    assert frame["mean"].isna().sum() == 2
    assert list(frame.loc[frame["task"] == "t4", "n_rows"]) == [3, 3]


def test_repr_is_the_verdict_and_the_leaderboard(result):
    lines = repr(result).splitlines()
    assert lines[0] == result.verdict
    assert lines[3].startswith(result.best_name_)


def test_the_best_is_refitted_on_everything(tmp_path):
    log = tmp_path / "fits"
    result = _compare(
        estimators={
            "alone": PerTask(Knower(0.1), task="task"),
            "multi": TaskKnower(RIGHT, task="task", log=str(log)),
        },
    )
    before = len(log.read_text().splitlines())
    check_is_fitted(result.best_estimator_)
    assert result.best_estimator_ is result.best_estimator_
    fits = log.read_text().splitlines()[before:]
    assert [int(line.split()[1]) for line in fits] == [sum(SIZES)]
    assert result.best_name_ == "multi"


def test_a_pickled_result_leaves_the_data_behind(result):
    again = pickle.loads(pickle.dumps(result))
    assert again.to_json() == result.to_json()
    assert len(pickle.dumps(result)) < 50_000


def test_a_contender_that_fails_once_takes_no_part_but_is_listed():
    bad = Pooled(Failing(X["u"].min()), task="task")
    data = _compare(estimators=_estimators(bad=bad)).to_dict()
    last = data["contenders"][-1]
    assert last["name"] == "bad"
    assert last["macro"] is None
    assert "the smallest u is here" in last["error"]
    assert "failed on 8 of 10 folds" in last["error"]
    assert {score["contender"] for score in data["scores"]} == {"alone", "multi"}
    assert "bad" not in data["headline"]["how_often"]
    text = repr(SharingResult.from_dict(data))
    assert "failed: ValueError" in text


def test_it_is_an_error_if_nobody_is_left_to_compare():
    bad = TaskKnower({}, task="nowhere")
    with pytest.raises(ValueError, match="Task column 'nowhere' is not in X"):
        _compare(estimators={"a": PerTask(Knower(), task="task"), "b": bad})
    failing = Pooled(Failing(1.0), task="task")
    with pytest.raises(RuntimeError, match=r"No sharing contender.*'b': ValueError"):
        _compare(estimators={"a": PerTask(Knower(), task="task"), "b": failing})


def test_warnings_of_contenders_are_listed_and_not_shown():
    noisy = Pooled(Noisy(0.5), task="task")
    data = _compare(estimators=_estimators(noisy=noisy)).to_dict()
    by_name = {c["name"]: c["warnings"] for c in data["contenders"]}
    assert by_name["noisy"] == ["UserWarning: fitted with a warning"]
    assert by_name["multi"] == []


def test_one_class_tasks_are_not_scored_and_not_made_up():
    y = np.where(X["task"] == "t3", 1, Y)
    data = _compare(
        y=y, scoring=None, estimators={"lr": LogisticRegression()}, n_repeats=1
    ).to_dict()
    [task] = [task for task in data["tasks"] if task["task"] == "t3"]
    assert not task["scored"]
    assert task["reason"].startswith("no score: ")
    for score in data["scores"]:
        if score["task"] == "t3":
            assert score["mean"] is None
            assert score["n_folds"] == 0


def test_tasks_with_a_score_on_some_folds_say_so():
    few = X[X["task"] == "t3"].index
    y = np.array(Y)
    y[few] = 0
    y[few[:2]] = 1  # two of five folds have both classes
    data = _compare(
        y=y, scoring=None, estimators={"lr": LogisticRegression()}, n_repeats=1
    ).to_dict()
    [task] = [task for task in data["tasks"] if task["task"] == "t3"]
    assert task["scored"]
    assert task["reason"].startswith("no score in 3 of 5 folds: ")


def test_no_score_anywhere_is_an_error():
    y = (X["task"] == "t0").astype(int).to_numpy()
    with pytest.raises(ValueError, match="roc_auc exists on no task of any fold"):
        _compare(y=y, scoring=None, estimators={"lr": LogisticRegression()})


def test_the_affinity_is_that_of_the_best_multi_task_model():
    trees = MultiTaskExtraTreesClassifier(
        20, task="task", task_split_prob=0.5, min_samples_leaf=5
    )
    data = _compare(estimators=_estimators(trees=trees), n_repeats=1).to_dict()
    trees.set_params(random_state=0).fit(X, Y)
    affinity = data["relatedness"]["affinity"]
    assert affinity["contender"] == "trees"
    assert_allclose(affinity["matrix"], trees.task_affinity_)


def test_matrices_of_many_tasks_are_of_the_largest():
    sizes = [6] * 195 + [7] * 10
    many, y = known_data(sizes)
    data = _compare(
        X=many,
        y=y,
        estimators={"k": Knower(0.6)},
        n_splits=2,
        n_repeats=1,
    ).to_dict()
    entry = data["relatedness"]["distances"]["ks"]
    assert np.shape(entry["matrix"]) == (200, 200)
    assert {f"t{i}" for i in range(195, 205)} <= set(entry["tasks"])
    assert "200 largest of 205" in data["relatedness"]["note"]


def test_progress_counts_up_to_the_total(tmp_path):
    calls = []
    options = {"store": tmp_path / "s", "progress": lambda *call: calls.append(call)}
    _compare(curve=True, **options)
    done, totals, labels = zip(*calls, strict=True)
    assert list(done) == list(range(1, totals[0] + 1))
    assert len(set(totals)) == 1
    assert labels[0] == "alone"
    calls.clear()
    _compare(curve=True, **options)
    assert calls[-1][0] == calls[-1][1] == totals[0]
    assert "found in the store" in calls[0][2]


def test_a_store_gives_the_same_result_again_without_a_fit(tmp_path):
    log = tmp_path / "fits"
    estimators = {
        "alone": PerTask(Knower(0.6, log=str(log)), task="task"),
        "multi": TaskKnower(RIGHT, task="task", log=str(log)),
    }
    options = {"estimators": estimators, "curve": True, "store": tmp_path / "s"}
    first = _compare(**options).to_json()
    fits = log.read_text()
    second = _compare(**options)
    assert second.to_json() == first
    assert log.read_text() == fits
    check_is_fitted(second.best_estimator_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": 1 - Y}, "different now: data"),
        ({"random_state": 1}, "folds.*random_state"),
        ({"n_repeats": 3}, "folds"),
        ({"scoring": "balanced_accuracy"}, "metric name"),
        ({"curve": True}, r"curve \(false then, true now\)"),
        (
            {"estimators": _estimators(more=Pooled(Knower(), task="task"))},
            r"contender more \(new\)",
        ),
        (
            {
                "estimators": {
                    "alone": PerTask(Knower(0.7), task="task"),
                    "multi": TaskKnower(RIGHT, task="task"),
                }
            },
            r"contender alone estimator right \(0.6 then, 0.7 now\)",
        ),
    ],
)
def test_a_store_of_another_run_is_refused(tmp_path, change, message):
    _compare(n_repeats=1, store=tmp_path)
    with pytest.raises(ValueError, match=message):
        _compare(**{"n_repeats": 1, "store": tmp_path} | change)


def test_ctrl_c_keeps_what_is_done(tmp_path):
    def stop(done, total, label):
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _compare(store=tmp_path, progress=stop)
    calls = []
    _compare(store=tmp_path, progress=lambda *call: calls.append(call))
    assert calls[0][0] == 7


def test_the_result_does_not_depend_on_the_number_of_jobs():
    def without_times(n_jobs):
        data = _compare(n_jobs=n_jobs, n_repeats=1, curve=True).to_dict()
        for contender in data["contenders"]:
            for key in ("fit_seconds", "score_seconds", "peak_mib"):
                contender.pop(key)
        for key in ("seconds", "started"):
            data["run"].pop(key)
        return data

    assert without_times(1) == without_times(2)


def test_leave_one_task_out_works_where_models_can_share():
    models = {
        "alone": PerTask(LogisticRegression(), task="task", unknown_task="share"),
        "pooled": Pooled(LogisticRegression(), task="task", unknown_task="share"),
    }
    data = _compare(
        estimators=models, cv=LeaveOneTaskOut(task="task"), n_repeats=None
    ).to_dict()
    assert data["cv"]["splitter"] == "LeaveOneTaskOut"
    # a model of its own for a task without rows is the pooled one
    assert_allclose([gain["gain"] for gain in data["gains"]], 0)


def test_the_code_gives_the_winner():
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(80, 2)), np.arange(80) % 2)
    y = X[:, 0] + rng.normal(size=80)
    result = compare_sharing(X, y, task=-1, n_repeats=1, n_splits=2, curve=False)
    scope = {"X": X, "y": y}
    exec(result.to_dict()["run"]["code"], scope)
    assert_allclose(scope["model"].predict(X), result.best_estimator_.predict(X))


def test_integers_may_be_regressed_on():
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(80, 2)), np.arange(80) % 2)
    y = np.round(X[:, 0]).astype(int)
    data = compare_sharing(
        X,
        y,
        task=-1,
        kind="regression",
        estimators={"ridge": Ridge()},
        n_repeats=1,
        curve=False,
    ).to_dict()
    assert data["kind"] == "regression"
    assert data["metric"]["name"] == "explained_variance"
    assert data["data"]["classes"] is None


def test_tasks_may_be_numbers_of_numpy_or_flags():
    for task in (X["task"].str[1:].astype(int), X["task"] == "t0"):
        frame = X.assign(task=task)
        data = _compare(X=frame, estimators={"k": Knower(0.6)}, n_repeats=1).to_dict()
        assert {t["task"] for t in data["tasks"]} == set(task.tolist())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"task": "clinic"}, ValueError, "'clinic' is not in X"),
        ({"random_state": None}, TypeError, "random_state must be an integer"),
        ({"random_state": -1}, ValueError, "between 0 and"),
        ({"curve": "yes"}, TypeError, "curve must be True or False"),
        ({"progress": 5}, TypeError, "progress must be a function"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be an integer >= 1"),
        ({"X": X.assign(task="a")}, ValueError, "single task, 'a'"),
        ({"y": np.zeros(len(X), int)}, ValueError, "single class, 0"),
        ({"estimators": {"a": 5}}, TypeError, "not an estimator"),
        ({"scoring": "auc"}, ValueError, "'auc' is not a metric"),
    ],
)
def test_bad_calls_are_refused_before_anything_is_fitted(options, error, message):
    with pytest.raises(error, match=message):
        _compare(**options)


def test_the_frame_is_not_changed():
    before = X.copy()
    _compare(n_repeats=1)
    pd.testing.assert_frame_equal(X, before)


def test_the_page_is_written_by_the_report(result, tmp_path, monkeypatch):
    import kinlearn.report

    calls = []
    monkeypatch.setattr(
        kinlearn.report, "write_page", lambda *call: calls.append(call), raising=False
    )
    result.to_html(tmp_path / "page.html")
    assert calls == [(result, tmp_path / "page.html")]
