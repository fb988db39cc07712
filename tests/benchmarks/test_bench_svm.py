"""Splits, costs and contenders of the support vector protocols."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.problems import Problem, load
from benchmarks.quality import svm, svm_search
from kinlearn import with_task


def _problem(kind="classification", n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    task = np.arange(n) % 3
    value = X[:, 0] + 0.3 * task * X[:, 1]
    y = (value > 0).astype(int) if kind == "classification" else value
    return Problem("tiny", kind, with_task(X, task), y)


def test_every_nth_row_of_each_stratum():
    splits = svm.every_nth(np.array([1, 0, 1, 0, 0, 1]), 2)
    # in the order of the strata: 1, 3, 4, 0, 2, 5
    assert_array_equal(splits[0][1], [1, 2, 4])
    assert_array_equal(splits[1][1], [0, 3, 5])
    assert_array_equal(splits[0][0], splits[1][1])


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_folds_cover_all_rows_and_tasks(kind):
    problem = _problem(kind)
    for repetition in range(2):
        tests = [svm.folds(problem, 5 * repetition + k)[1] for k in range(5)]
        assert sorted(np.concatenate(tests)) == list(range(60))
        for rows in tests:
            assert_array_equal(np.bincount(problem.task[rows]), [4, 4, 4])
    first, again = svm.folds(problem, 5), svm.folds(problem, 5)
    assert_array_equal(first[0], again[0])


def test_numbers_are_first_split_by_order_of_the_group():
    problem = _problem("regression")
    _, test = svm.folds(problem, 0)
    mine = np.flatnonzero(problem.task == 0)
    ordered = mine[np.argsort(problem.X[mine, -2])]
    assert set(test[problem.task[test] == 0]) == set(ordered[::5])


def test_a_quarter_of_the_sampled_rows_are_mines():
    problem = _problem(n=600)
    train, test = svm.mines(problem, 3, size=40)
    rows = np.concatenate([train, test])
    assert len(set(rows)) == len(rows) == 120
    assert_array_equal(np.bincount(problem.task[rows], problem.y[rows]), [10, 10, 10])
    assert problem.y[test].sum() == 6


def test_mines_in_the_order_of_the_file():
    problem = _problem(n=600)
    for clutter, chosen in (("first", slice(None, 30)), ("last", slice(-30, None))):
        found = [svm.in_file_order(problem, k, 40, clutter)[1] for k in range(5)]
        for t in range(3):
            of_task = np.flatnonzero(problem.task == t)
            mine, others = (of_task[problem.y[of_task] == k] for k in (1, 0))
            wanted = np.concatenate([mine[:10], others[chosen]])
            rows = np.concatenate(found)
            assert set(rows[problem.task[rows] == t]) == set(wanted)
    _, test = svm.mines(problem, 0, size=60, fraction=1 / 3)
    assert_array_equal(np.bincount(problem.y[test]), [24, 12])


def test_every_ninth_by_age():
    problem = _problem(n=60)
    tests = [svm.every_ninth_by_age(problem, k)[1] for k in range(9)]
    ages = np.argsort(problem.X[:, 0])
    assert_array_equal(tests[0], ages[::9])
    assert sorted(np.concatenate(tests)) == list(range(60))


def test_trials_of_made_data_do_not_overlap():
    problem = load("svm:nine-ones")
    first, test = svm.trial(problem, 0, 15, 5)
    second, same = svm.trial(problem, 1, 15, 5)
    assert_array_equal(test, same)
    assert len(first) == len(second) == 60
    assert len(test) == 3000
    assert not set(first) & set(second) | set(first) & set(test)
    with pytest.raises(ValueError, match="needs more"):
        svm.trial(problem, 10, 1500, 500)


def test_validation_rows_are_the_last_of_each_task_and_do_not_train():
    problem = load("svm:nine-ones")
    rows, _ = svm.trial(problem, 0, 15, 5)
    X, y = problem.X[rows], problem.y[rows]
    task = X[:, -1].astype(int)
    plan = svm_search.Plan("classification", validation=5)
    ((fit, valid),) = plan.folds(X, task, y)
    assert_array_equal(np.bincount(task[fit]), [15, 15, 15])
    for t in range(3):
        assert set(rows[valid][task[valid] == t]) == set(rows[task == t][-5:])
    one = svm_search.contender("x", "one", "linear", validation=5)
    model = one.make(problem, 0, **one.params)
    scores = [model.fit(X, each).predict(X[valid]) for each in (y, y)]
    assert_array_equal(*scores)
    best, fitted = svm_search._search(
        plan, svm_search._plain_machine(plan), [{"C": 1.0}], X, y, [(fit, valid)]
    )
    assert best == {"C": 1.0}
    assert fitted.shape_fit_[0] == 45


def test_folds_in_the_order_of_a_feature():
    Z = np.arange(20.0)[::-1, np.newaxis]
    y = np.arange(20) % 2
    plan = svm_search.Plan("classification", n_folds=10, ordered=True)
    for k, (_, valid) in enumerate(plan.folds(Z, np.zeros(20, int), y)):
        assert_array_equal(Z[valid, 0], [k, k + 10])


def test_the_first_best_candidate_wins():
    class Constant:
        def __init__(self, value):
            self.value = value

        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.full(len(X), self.value)

    plan = svm_search.Plan("regression")
    X, y = np.zeros((4, 1)), np.zeros(4)
    folds = [(np.arange(2), np.arange(2, 4))]
    candidates = [{"value": v} for v in (3.0, 1.0, -1.0, 2.0)]
    best, model = svm_search._search(plan, Constant, candidates, X, y, folds)
    assert best == {"value": 1.0}
    assert model.value == 1.0


def test_as_much_effort_as_the_multi_task_machine():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 2))
    for kind, y in (("classification", np.arange(30) % 2), ("regression", Z[:, 0])):
        for kernel in ("linear", "rbf"):
            plan = svm_search.Plan(kind, kernel)
            longer = svm_search.Plan(kind, kernel, effort=True)
            n = len(plan.plain(Z, y)) + len(plan.corrections(Z))
            assert n <= len(longer.plain(Z, y)) <= 1.25 * n


def test_weighted_error_by_hand():
    y, answer = np.array([1, 1, 0, 0, 0]), np.array([0, 1, 1, 0, 0])
    # (1 missed + 1 false alarm * 0.2) / (2 + 3 * 0.2), as the thesis has it
    metric = svm.weighted_error((1, 5))
    assert_allclose(metric.score(y, answer, None), 100 * 1.2 / 2.6)
    assert not metric.greater_is_better


def test_texts_become_numbers():
    (ranges,) = svm._numbers(pd.Series(["10-14", "5-9", None]))
    assert_array_equal(ranges, [10, 5, np.nan])
    (two,) = svm._numbers(pd.Series(["no", "yes", "no"]))
    assert_array_equal(two, [0, 1, 0])
    assert len(svm._numbers(pd.Series(["a", "b", "c"]))) == 3


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("form", svm_search.FORMS)
def test_every_form_learns(kind, form, monkeypatch):
    monkeypatch.setattr(svm_search, "_COSTS", (10.0,))
    monkeypatch.setitem(svm_search.GRIDS, "real", ((1, 0.1), (0.5,)))
    problem = _problem(kind, n=90)
    options = {"n_folds": 3, "indicators": form == "one"}
    kernel = "rbf" if form == "rmtl" else "linear"  # without biases, nothing else fits
    one = svm_search.contender("x", form, kernel, **options)
    model = one.make(problem, 0, **one.params).fit(problem.X, problem.y)
    prediction = model.predict(problem.X)
    if kind == "classification":
        assert np.mean(prediction == problem.y) > 0.85
    else:
        assert np.mean((prediction - problem.y) ** 2) < 0.3 * problem.y.var()


def test_a_task_of_one_class_gets_it():
    problem = _problem()
    y = np.where(problem.task == 2, 1, problem.y)
    one = svm_search.contender("x", "each", "linear")
    model = one.make(problem, 0, **one.params).fit(problem.X, y)
    assert (model.predict(problem.X)[problem.task == 2] == 1).all()


def test_costs_move_the_predictions():
    problem = _problem(n=120)
    y = np.where(np.random.default_rng(1).random(120) < 0.25, 1 - problem.y, problem.y)
    positives = []
    for costs in ((10, 1), (1, 10)):
        one = svm_search.contender("x", "mtl", correction="linear", costs=costs)
        model = one.make(problem, 0, **one.params).fit(problem.X, y)
        positives.append(model.predict(problem.X).sum())
    assert positives[0] < positives[1]
