"""Splits, costs and contenders of the support vector protocols."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.problems import Problem, load
from benchmarks.quality import svm
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


def test_trials_of_made_data_do_not_overlap():
    problem = load("svm:d20")
    first, test = svm.chunk_of_each_task(problem, 0, 15)
    second, same = svm.chunk_of_each_task(problem, 1, 15)
    assert_array_equal(test, same)
    assert len(first) == len(second) == 45
    assert not set(first) & set(second) | set(first) & set(test)
    last, _ = svm.chunk_of_each_task(problem, 19, 100)
    assert not set(last) & set(test)


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
@pytest.mark.parametrize("form", svm.FORMS)
def test_every_form_learns(kind, form, monkeypatch):
    monkeypatch.setattr(svm, "_COSTS", (1.0,))
    monkeypatch.setattr(svm, "_PENALTIES", (10.0, 1.0))
    monkeypatch.setattr(svm, "_WIDTHS", (0.3,))
    problem = _problem(kind, n=90)
    one = svm.contender("x", form, "linear", "rbf", n_folds=3)
    model = one.make(problem, 0, **one.params).fit(problem.X, problem.y)
    answer = model.predict(problem.X)
    if kind == "classification":
        assert np.mean(answer == problem.y) > 0.85
    else:
        assert np.mean((answer - problem.y) ** 2) < 0.3 * problem.y.var()


def test_a_task_of_one_class_gets_it():
    problem = _problem()
    y = np.where(problem.task == 2, 1, problem.y)
    one = svm.contender("x", "each", "linear")
    model = one.make(problem, 0, **one.params).fit(problem.X, y)
    assert (model.predict(problem.X)[problem.task == 2] == 1).all()


def test_costs_move_the_answers(monkeypatch):
    monkeypatch.setattr(svm, "_COSTS", (0.1,))
    problem = _problem(n=120)
    y = np.where(np.random.default_rng(1).random(120) < 0.25, 1 - problem.y, problem.y)
    positives = []
    for costs in ((10, 1), (1, 10)):
        one = svm.contender("x", "mtl", "linear", "linear", costs=costs)
        model = one.make(problem, 0, **one.params).fit(problem.X, y)
        positives.append(model.predict(problem.X).sum())
    assert positives[0] < positives[1]
