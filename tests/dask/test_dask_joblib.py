"""Comparisons, searches and the Kin estimators on joblib's Dask backend."""

import re
import time

import joblib
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from kinlearn import KinClassifier, KinRegressor
from kinlearn.audit import compare_sharing
from kinlearn.audit.run._cells import Comparison
from kinlearn.datasets import load_demo
from kinlearn.relatedness import task_distances
from kinlearn.sharing import PerTask, Pooled
from kinlearn.sharing.kin._training import TrainingTable
from kinlearn.svm import MultiTaskSVC, tune_in_two_stages

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def demo():
    X, y = load_demo(as_frame=True, return_X_y=True)
    few = X["clinic"].isin(sorted(X["clinic"].unique())[:3]).to_numpy()
    return X[few], y[few]


@pytest.fixture
def sent(monkeypatch):
    """Counts how often the rows are pickled."""
    tables = []

    def count(table):
        tables.append(table)
        return table.__dict__

    for kind in (Comparison, TrainingTable):
        monkeypatch.setattr(kind, "__getstate__", count, raising=False)
    return tables


def on_workers(client, function):
    """What a function gives on joblib's Dask backend, and what workers did for it."""
    start = time.time()
    with distributed.get_task_stream(client) as stream, joblib.parallel_config("dask"):
        found = function()
    return found, [
        (call["key"], call["worker"])
        for call in stream.data
        if call["startstops"][0]["start"] > start - 0.01  # not of an earlier test
    ]


def assert_on_several(calls, *names):
    """That workers called these functions and no others, and that two did at least."""
    found = {re.search(r"batch_of_(\w+)_\d+_calls", key)[1] for key, _ in calls}
    assert found <= {*names}
    assert len({worker for _, worker in calls}) > 1


def compare(X, y):
    model = GaussianNB()
    ways = {"each": PerTask(model, task="clinic"), "all": Pooled(model, task="clinic")}
    return compare_sharing(
        X, y, task="clinic", estimators=ways, cv=2, curve=False, n_repeats=1
    )


def test_the_comparison_is_the_same_on_dask(client, demo, sent):
    expected = compare(*demo)
    sent.clear()
    found, calls = on_workers(client, lambda: compare(*demo))
    assert str(found) == str(expected)
    assert_on_several(calls, "_run_cell")
    assert len(calls) == 4
    assert len(sent) <= 3  # to each worker once, not with each of the cells


def test_a_search_is_the_same_on_dask(client, demo):
    search = GridSearchCV(
        PerTask(GaussianNB(), task="clinic"),
        {"estimator__var_smoothing": [1e-9, 0.1]},
        cv=2,
    )
    expected = search.fit(*demo).cv_results_["mean_test_score"]
    found, calls = on_workers(
        client, lambda: search.fit(*demo).cv_results_["mean_test_score"]
    )
    assert_array_equal(found, expected)
    # the fit to all rows is divided by tasks
    assert_on_several(calls, "_fit_and_score", "_fit_task")


def test_a_search_in_two_stages_is_the_same_on_dask(client, demo):
    X, y = demo
    options = {
        "plain_grid": {"C": [0.1, 1.0]},
        "correction_grid": {"correction_penalty": [0.1, 10.0]},
        "cv": 2,
    }
    model = MultiTaskSVC(task="clinic", gamma=0.01)
    expected = tune_in_two_stages(model, X[:200], y[:200], **options)
    found, calls = on_workers(
        client, lambda: tune_in_two_stages(model, X[:200], y[:200], **options)
    )
    assert found.best_params == expected.best_params
    assert_array_equal(
        found.correction_results["mean_test_score"],
        expected.correction_results["mean_test_score"],
    )
    assert_on_several(calls, "_fit_and_score")


def test_distances_are_the_same_on_dask(client, demo):
    X, _ = demo
    expected = task_distances(X, task="clinic", method="proxy_a", random_state=0)
    found, calls = on_workers(
        client,
        lambda: task_distances(X, task="clinic", method="proxy_a", random_state=0),
    )
    assert_allclose(found.values, expected.values)
    assert_on_several(calls, "_pair_distance")


@pytest.mark.parametrize("Kin", [KinClassifier, KinRegressor])
def test_kin_is_the_same_on_dask(client, demo, sent, Kin):
    X, y = demo
    y = y if Kin is KinClassifier else X.iloc[:, 0] * (1 + (X["clinic"] == "Elm"))
    options = {"families": ("linear",), "n_folds": 3, "random_state": 0}
    model = Kin(task="clinic", **options)
    method = "predict_proba" if Kin is KinClassifier else "predict"
    expected = getattr(model.fit(X, y), method)(X)
    assert not sent
    found, calls = on_workers(client, lambda: getattr(model.fit(X, y), method)(X))
    assert_array_equal(found, expected)
    # Folds and fits to all rows; models of one task, inside, are not sent further.
    assert_on_several(calls, "_job")
    n_candidates = len(model.candidates_)
    assert len(calls) > 5 * n_candidates
    # to each worker once: for folds, unseen tasks, and all rows
    assert len(sent) <= 3 * (2 * n_candidates + 1)
    assert len(sent) < len(calls)


def test_the_time_limit_of_kin_holds_on_dask(client, demo):
    X, y = demo
    options = {"families": ("linear",), "n_folds": 3, "random_state": 0}
    whole = KinClassifier(task="clinic", **options).fit(X, y)
    model = KinClassifier(task="clinic", time_limit=600, **options)
    found, calls = on_workers(client, lambda: model.fit(X, y).predict_proba(X))
    assert_array_equal(found, whole.predict_proba(X))
    assert_on_several(calls, "_job")
    model = KinClassifier(task="clinic", time_limit=1e-3, **options)
    on_workers(client, lambda: model.fit(X, y))
    assert len(model.candidates_) == 1  # the first is always tried
    assert "the time was over" in model.dropped_.values()
