"""Offsets of the tasks: their size, and what they do to a forest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import r2_score

from kinlearn import with_task
from kinlearn.trees import MultiTaskExtraTreesRegressor, _pilot
from kinlearn.trees._task_offsets import shrunken_offsets


def test_offsets_of_a_small_example_by_hand():
    # Means 1, 3, 8 of 2 rows each, centre 4; squares within: 2 + 2 + 2, 3 free.
    residual = np.array([0.0, 2.0, 2.0, 4.0, 7.0, 9.0])
    task = np.array([0, 0, 1, 1, 2, 2])
    within = 6 / 3
    between = 2 * (9 + 1 + 16) / 2
    spread = (between - within) / 2  # two rows a task
    expected = np.array([-3.0, -1.0, 4.0, 0.0]) * 2 / (2 + within / spread)
    assert_allclose(shrunken_offsets(residual, task, 4), expected, rtol=1e-6)


def test_variances_are_found_from_many_tasks_of_different_size():
    rng = np.random.default_rng(0)
    size = rng.integers(2, 60, size=2000)
    task = np.repeat(np.arange(2000), size)
    true = rng.normal(scale=0.5, size=2000)
    residual = true[task] + 2.0 * rng.normal(size=len(task))
    mean = np.bincount(task, residual) / size
    # The best linear answer if the variances, 0.25 and 4, were known.
    known = size / (size + 4 / 0.25) * mean
    offsets = shrunken_offsets(residual, task, 2000)
    assert np.mean((offsets - true) ** 2) < 1.02 * np.mean((known - true) ** 2)
    assert np.mean((offsets - true) ** 2) < 0.6 * np.mean((mean - true) ** 2)


def test_weights_are_repeated_rows_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    task, weight = rng.integers(9, size=200), rng.integers(0, 4, size=200)
    residual = rng.normal(size=200) + task
    again = rng.permutation(np.repeat(np.arange(200), weight))
    weighted = shrunken_offsets(residual, task, 9, weight.astype(float))
    repeated = shrunken_offsets(residual[again], task[again], 9)
    assert weighted.any()
    assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("case", ["one task", "one row each", "alike", "constant"])
def test_without_evidence_there_are_none(case):
    task = np.arange(12) // 4
    residual = np.tile([1.0, -1.0], 6)
    if case == "one task":
        task = np.zeros(12, dtype=int)
    elif case == "one row each":
        task = np.arange(12)
    elif case == "constant":
        residual = np.zeros(12)
    assert_array_equal(shrunken_offsets(residual, task, 12), np.zeros(12))


def levels(n=1500, n_tasks=60, seed=0):
    """Many tasks that differ by a constant, with more noise than that."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    task = rng.integers(n_tasks, size=n)
    level = rng.normal(size=n_tasks)
    y = 2 * X[:, 0] + X[:, 1] + level[task] + 1.5 * rng.normal(size=n)
    return with_task(X, task), y, level


def test_offsets_help_where_tasks_differ_by_a_constant():
    X, y, level = levels(3000)
    train, test = slice(0, 1500), slice(1500, None)
    model = MultiTaskExtraTreesRegressor(60, task=-1, linear_part=False, random_state=0)
    score = {}
    for offset in (False, True, "auto"):
        fitted = clone(model).set_params(task_offset=offset).fit(X[train], y[train])
        score[offset] = r2_score(y[test], fitted.predict(X[test]))
    assert np.corrcoef(fitted.task_offsets_, level)[0, 1] > 0.8
    assert score["auto"] == score[True] > score[False] + 0.003
    assert not clone(model).set_params(task_offset=False).fit(X, y).task_offsets_.any()


def test_prediction_is_the_forest_of_the_rest_and_the_offset():
    X, y, _ = levels()
    model = MultiTaskExtraTreesRegressor(
        5,
        task=-1,
        task_offset=True,
        linear_part=False,
        unknown_task="share",
        random_state=0,
    ).fit(X, y)
    task = X[:, -1].astype(int)
    assert model.task_offsets_.any()
    rest = MultiTaskExtraTreesRegressor(
        5,
        task=-1,
        min_samples_leaf=model.min_samples_leaf_,
        task_split_prob=model.task_split_prob_,
        unknown_task="share",
        random_state=0,
    ).fit(X, y - model.task_offsets_[task])
    assert not rest.task_offsets_.any()  # "auto" only where settings are chosen
    assert_allclose(model.predict(X), rest.predict(X) + model.task_offsets_[task])
    strange = X.copy()
    strange[:, -1] = 999
    assert_allclose(model.predict(strange), rest.predict(strange))


def test_rows_beyond_those_that_pilots_see_count_too(monkeypatch):
    X, y, level = levels(6000, n_tasks=600)
    model = MultiTaskExtraTreesRegressor(
        1,
        task=-1,
        task_offset=True,
        max_features=None,
        min_samples_leaf=10,
        task_split_prob=0.25,
        random_state=0,
    )
    error = {}
    for most in (10_000, 3000):
        monkeypatch.setattr(_pilot, "_MOST_ROWS", most)
        error[most] = np.mean((model.fit(X, y).task_offsets_ - level) ** 2)
    half = clone(model).fit(X[:3000], y[:3000])
    known = level[half.tasks_.astype(int)]
    # Half of the rows grow the pilots, but all have a say: ten a task, not five.
    assert error[10_000] < error[3000] < 1.15 * error[10_000]
    assert error[3000] < 0.8 * np.mean((half.task_offsets_ - known) ** 2)
