"""Of tables of many cells no copies stay, and some candidates take drawn rows."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.boosting import MultiTaskGradientBoostingRegressor
from kinlearn.sharing.kin import _candidates, _training, _trials
from kinlearn.sharing.kin._candidates import Candidate
from kinlearn.sharing.kin._folds import rows_to_folds
from kinlearn.sharing.kin._training import Table, TrainingTable
from kinlearn.tasks import check_task_data


def _rows(n=160):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    X[::7, 1] = np.nan
    return with_task(X, np.arange(n) % 4), X[:, 0] + rng.normal(size=n)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("estimator", [KinClassifier, KinRegressor])
def test_rows_that_are_made_for_each_fit_are_those_that_are_kept(
    estimator, n_jobs, monkeypatch
):
    X, y = _rows()
    y = y > 0 if estimator is KinClassifier else y
    families = ["linear", "boosting"]
    model = estimator(task=-1, families=families, n_jobs=n_jobs, random_state=0)
    monkeypatch.setattr(_training, "_ROWS_AT_ONCE", 50)
    one = model.fit(X, y).predict(X)
    seen = model.seen_score_
    monkeypatch.setattr(_training, "_MANY_CELLS", 0)
    assert_array_equal(model.fit(np.asfortranarray(X), y).predict(X), one)
    assert model.seen_score_ == seen


def test_a_large_table_keeps_all_rows_only_as_long_as_they_are_wanted(monkeypatch):
    monkeypatch.setattr(_training, "_MANY_CELLS", 0)
    X, _ = _rows()
    table = Table(X[:, :-1], X[:, -1].astype(np.int32), None)
    assert_array_equal(table.rows(False, some=np.arange(9)), X[:9])
    assert not table._whole
    with table.whole(False, -1):
        assert np.shares_memory(table.rows(False), table.rows(False))
        assert_array_equal(table.rows(False), X)
    assert not table._whole


def test_forests_and_pooled_lines_see_some_of_many_rows(monkeypatch):
    monkeypatch.setattr(_candidates, "_MANY_ROWS", 100)
    monkeypatch.setattr(_candidates, "_ROWS_A_FEATURE", 1)
    X, y = _rows(400)
    sizes = {}
    draw = TrainingTable._drawn

    def drawn(train, candidate, rows):
        found = draw(train, candidate, rows)
        before, after = (np.arange(train.n_samples)[each] for each in (rows, found))
        assert (np.diff(after) > 0).all()
        assert np.isin(after, before).all()
        sizes.setdefault(candidate.name, set()).add(len(after))
        return found

    monkeypatch.setattr(TrainingTable, "_drawn", drawn)
    KinRegressor(
        task=-1, families=["linear", "trees"], n_estimators=3, random_state=0
    ).fit(X, y)
    some = {name for name in sizes if "extra trees" in name or "pooled" in name}
    assert len(some) == 3
    assert all(sizes[name] == {100} for name in some)
    assert all(max(sizes[name]) >= 300 for name in sizes.keys() - some)


def test_drawn_rows_have_their_share_of_each_task():
    task = np.repeat(np.arange(3), [100, 300, 600]).astype(np.int32)
    n = len(task)
    table = Table(np.zeros((n, 1)), task, None)
    train = TrainingTable(table, np.zeros(n), np.ones(n), False, 3, 0, [], 0)
    candidate = Candidate("some", "shared", None, most_rows=100)
    rows = train._drawn(candidate, slice(None))
    assert_array_equal(np.bincount(task[rows]), [10, 30, 60])
    assert_array_equal(train._drawn(candidate, slice(None)), rows)
    few = np.arange(50)
    assert train._drawn(candidate, few) is few


def test_dealing_rows_to_folds_copies_no_table():
    X = np.random.default_rng(0).normal(size=(40_000, 51)).astype(np.float32)
    X[:, -1] = np.arange(len(X)) % 50
    data = check_task_data(X, X[:, 0], task=-1, labels="numbers")
    tracemalloc.start()
    try:
        rows_to_folds(data, 5, np.random.RandomState(0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.8 * X.nbytes


def test_boosters_of_all_rows_need_no_copy_of_them(monkeypatch):
    monkeypatch.setattr(_training, "_MANY_CELLS", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 80)).astype(np.float32)
    task = np.arange(len(X), dtype=np.int32) % 4
    y = X[:, 0] + rng.normal(size=len(X))
    train = TrainingTable(Table(X, task, None), y, np.ones(len(X)), False, 4, 0, [], 0)
    booster = MultiTaskGradientBoostingRegressor(
        task=-1,
        n_estimators=2,
        max_bins=64,
        max_features=0.1,
        linear_part=False,
        random_state=0,
    )
    candidate = Candidate("boosting", "shared", booster)
    assert train.takes_bins(candidate)
    train.bins  # noqa: B018 - they are there from the folds
    tracemalloc.start()
    try:
        model = train.fit(candidate, {})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * X.nbytes
    plain = booster.fit(with_task(X, task), y)
    assert_array_equal(
        plain.predict(with_task(X, task)), model.predict(with_task(X, task))
    )


@pytest.mark.parametrize("large", [True, False])
def test_freed_memory_goes_back_where_tables_are_large(large, monkeypatch):
    monkeypatch.setattr(_training, "_MANY_CELLS", 0 if large else 10**9)
    called = []
    monkeypatch.setattr(_trials, "give_memory_back", lambda: called.append(1))
    X, y = _rows()
    model = KinRegressor(task=-1, families=["linear"], random_state=0).fit(X, y)
    # after each candidate and each step that frees much
    assert len(called) == (len(model.candidates_) + len(model.dropped_) + 2) * large
