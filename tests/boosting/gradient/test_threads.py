"""Threads of one fit: the same model, and no thread is left behind."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.utils import Threads

N = 30_000  # enough for three threads


def make_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    X[:, 4] = rng.integers(0, 8, size=N)
    task = rng.integers(0, 7, size=N)
    y = X[:, 0] + (task % 2) * (X[:, 1] > 0) + np.sin(X[:, 4]) + rng.normal(size=N)
    X[rng.random(size=N) < 0.1, 2] = np.nan
    return np.column_stack([X, task]), y


OPTIONS = {
    "plain": {},
    "draws": {"subsample": 0.7, "max_features": 0.5},
    "constraints": {"monotonic_cst": [1, 0, 0, 0, 0, 0]},
    "categories": {"categorical_features": [4]},
    "quantile": {"loss": "quantile", "quantile": 0.2},
}


def assert_same(one, two):
    for name, value in vars(one.trees_).items():
        assert_array_equal(value, getattr(two.trees_, name), err_msg=name)


@pytest.mark.parametrize("option", OPTIONS)
def test_regressors_are_the_same_for_any_number_of_threads(option):
    X, y = make_rows()
    fits = [
        MultiTaskGradientBoostingRegressor(
            task=5, n_estimators=4, random_state=0, n_jobs=n_jobs, **OPTIONS[option]
        ).fit(X, y)
        for n_jobs in (1, 2, 3)
    ]
    assert_same(fits[0], fits[1])
    assert_same(fits[0], fits[2])


def test_classifiers_are_the_same_for_any_number_of_threads():
    X, y = make_rows()
    label = np.digitize(y, [-0.5, 0.5])
    one, two = (
        MultiTaskGradientBoostingClassifier(
            task=5, n_estimators=3, random_state=0, n_jobs=n_jobs
        ).fit(X, label)
        for n_jobs in (1, 2)
    )
    assert_same(one, two)


def test_few_rows_have_one_thread():
    assert Threads(4, 100).n == 1
    assert Threads(4, N).n == 3


def test_errors_end_the_work_of_helpers():
    threads = Threads(2, N)
    before = threading.active_count()
    with pytest.raises(KeyError), threads.serving():
        raise KeyError
    with pytest.raises(ZeroDivisionError):
        threads.over_rows(lambda some: 1 // some.start, N)
    assert threads.over_rows(lambda some: some.stop - some.start, N) == [N // 2] * 2
    assert threads.map(abs, range(-3, 0)) == [3, 2, 1]
    assert threading.active_count() <= before + 1
