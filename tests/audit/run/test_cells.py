"""Cells: what is recorded, what a failure costs, what is shared with workers."""

import gc
import sys
from types import ModuleType

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from kinlearn.audit._folds import make_folds
from kinlearn.audit._problem import open_problem
from kinlearn.audit._scoring import choose_scoring
from kinlearn.audit.run import _cells
from kinlearn.audit.run._cells import Cell, Comparison, run_cells
from kinlearn.audit.run._store import open_store
from kinlearn.sharing import PerTask, Pooled
from tests.reference.known_models import (
    Dying,
    Failing,
    Knower,
    Noisy,
    TaskKnower,
    known_data,
)

X, Y = known_data()
PROBLEM = open_problem(X, Y, "task")
FOLDS = make_folds(PROBLEM, cv=None, n_splits=4, n_repeats=1, random_state=0)
COMPARISON = Comparison(PROBLEM, FOLDS, choose_scoring("accuracy", PROBLEM))


def _run(estimators, n_jobs=1, comparison=COMPARISON, n_splits=4):
    splits = range(n_splits)
    cells = [Cell(name, 0, split) for split in splits for name in estimators]
    done = []
    with open_store(None, {}) as store:
        run_cells(
            cells, comparison, estimators, store, n_jobs=n_jobs, report=done.append
        )
        assert len(done) == len(cells)
        return {(c.contender, c.split): store[c.key] for c in cells}


def _by_hand(right, split):
    """Accuracy of each task when rows with a small u are answered rightly."""
    _, test = FOLDS.splits[0][split]
    rows = X.iloc[test]
    share = rows["task"].map(right) if isinstance(right, dict) else right
    return (rows["u"] < share).groupby(rows["task"]).mean().to_numpy()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scores_are_those_computed_by_hand(n_jobs):
    right = {"t0": 0.9, "t1": 0.2, "t2": 0.6}
    records = _run(
        {
            "alone": PerTask(Knower(0.7), task="task"),
            "multi": TaskKnower(right, task="task"),
        },
        n_jobs,
    )
    for split in range(4):
        for name, share in (("alone", 0.7), ("multi", right)):
            record = records[name, split]
            assert record["error"] is None
            assert_allclose(record["values"], _by_hand(share, split))
            _, test = FOLDS.splits[0][split]
            counts = X["task"].iloc[test].value_counts().sort_index()
            micro = np.average(record["values"], weights=counts)
            assert_allclose(record["micro"], micro)


def test_times_and_memory_are_recorded():
    record = _run({"a": Pooled(Knower(pause=0.05), task="task")})["a", 0]
    assert record["fit_seconds"] >= 0.05
    assert record["score_seconds"] > 0
    assert record["peak_mib"] is None or record["peak_mib"] >= 0


class Hungry(Knower):
    """Takes 64 MiB for a moment."""

    def fit(self, X, y):
        np.ones(2**23).sum()
        return super().fit(X, y)


def test_peak_memory_is_that_of_the_moment():
    gc.collect()  # what earlier tests left must not be freed in between
    records = _run({"big": Hungry(), "small": Knower()})
    if records["big", 0]["peak_mib"] is None:
        pytest.skip("this system does not tell the peak memory of a process")
    for split in range(4):
        assert 60 <= records["big", split]["peak_mib"] <= 100
        assert records["small", split]["peak_mib"] <= 30


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_costs_its_own_cells_only(n_jobs):
    smallest = X["u"].min()
    records = _run({"bad": Failing(smallest), "good": Knower()}, n_jobs)
    [lucky] = [s for s in range(4) if X["u"].idxmin() in FOLDS.splits[0][s][1]]
    for split in range(4):
        assert records["good", split]["error"] is None
        error = None if split == lucky else "ValueError: the smallest u is here"
        assert records["bad", split]["error"] == error


@pytest.mark.slow
def test_a_worker_that_dies_costs_its_own_cells_only():
    records = _run({"dying": Dying(), "good": Knower()}, n_jobs=2, n_splits=2)
    for split in range(2):
        assert records["good", split]["error"] is None
        assert "the worker process died" in records["dying", split]["error"]


def test_warnings_are_kept_once_and_not_shown():
    record = _run({"noisy": Pooled(Noisy(), task="task")})["noisy", 0]
    assert record["warnings"] == ["UserWarning: fitted with a warning"]


def test_ctrl_c_is_no_failure_of_a_contender():
    class Stopped(Knower):
        def fit(self, X, y):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run({"good": Knower(), "stopped": Stopped()})


class Nested(Knower):
    """Says how many workers it would get for itself."""

    def predict(self, X):
        n_jobs = joblib.effective_n_jobs(-1)
        return np.full(len(X), 1 if n_jobs == 1 else 0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_contenders_do_not_start_workers_of_their_own(n_jobs):
    records = _run({"nested": Nested()}, n_jobs)
    ones = [Y[test].mean() for _, test in FOLDS.splits[0]]
    assert_allclose([records["nested", s]["micro"] for s in range(4)], ones)


def test_scores_do_not_depend_on_the_number_of_jobs():
    estimators = {"lr": PerTask(LogisticRegression(), task="task")}
    one, two = _run(estimators), _run(estimators, 2)
    for key, record in one.items():
        assert record["values"] == two[key]["values"]


def test_arrays_and_the_threading_backend_work_too():
    problem = open_problem(
        X.assign(task=X["task"].str[1:].astype(int)).to_numpy(), Y, 2
    )
    comparison = Comparison(problem, FOLDS, choose_scoring("accuracy", problem))
    estimators = {"lr": PerTask(LogisticRegression(), task=2)}
    here = _run(estimators, 1, comparison)
    with joblib.parallel_config("threading", n_jobs=2):
        there = _run(estimators, None, comparison)
    there_too = _run(estimators, 2, comparison)
    for key, record in here.items():
        assert record["values"] == there[key]["values"] == there_too[key]["values"]


def test_thread_pools_are_looked_for_again_after_an_import(monkeypatch):
    first = _cells._thread_pools()
    assert _cells._thread_pools() is first
    monkeypatch.setitem(sys.modules, "a_library_with_threads", ModuleType("made"))
    assert _cells._thread_pools() is not first
