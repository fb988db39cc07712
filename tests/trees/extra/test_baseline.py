"""The line and the tasks' offsets that are taken off before trees grow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from kinlearn import with_task
from kinlearn.trees import MultiTaskExtraTreesRegressor
from kinlearn.trees.extra import _tuning
from kinlearn.trees.extra._baseline import (
    _PENALTIES,
    _PRICE,
    LinearPart,
    Residuals,
    learn_offsets,
)


def shrunken_offsets(residual, task, n_tasks, weight=None):
    """Offsets from residuals that lie in one place."""
    rows = Residuals(residual, task, np.ones(len(task)) if weight is None else weight)
    return learn_offsets(lambda function, *args: [function(rows, *args)], n_tasks)


def rows(n=80, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    y = X @ (rng.normal(size=d) / X.std(axis=0)) + 2 * rng.normal(size=n) + 5
    return X, y


def by_hand(X, y, weight):
    """Ridge on standardised rows, and its score, for each penalty."""
    n = weight.sum()
    Z = X - np.average(X, axis=0, weights=weight)
    Z /= np.sqrt(np.average(Z**2, axis=0, weights=weight))
    root = np.sqrt(weight)[:, None]
    for penalty in _PENALTIES * n:
        model = Ridge(penalty).fit(Z, y, sample_weight=weight)
        hat = (root * Z) @ np.linalg.solve(
            Z.T @ (weight[:, None] * Z) + penalty * np.eye(Z.shape[1]), (root * Z).T
        )
        error = weight @ (y - model.predict(Z)) ** 2
        yield (
            (error / n) / (1 - (_PRICE * np.trace(hat) + 1) / n) ** 2,
            model.predict(Z),
        )


@pytest.mark.parametrize("seed", range(10))
def test_it_is_ridge_of_the_least_gcv_score(seed):
    X, y = rows(seed=seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=len(y)).astype(float)
    expected = min(by_hand(X, y, weight), key=lambda scored: scored[0])[1]
    assert_allclose(LinearPart.fit(X.T, y, weight).predict(X.T), expected, rtol=1e-4)


def test_line_weights_are_repeated_rows_in_any_order():
    X, y = rows(200)
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, size=len(y))
    again = rng.permutation(np.repeat(np.arange(len(y)), weight))
    weighted = LinearPart.fit(X.T, y, weight.astype(float))
    repeated = LinearPart.fit(X[again].T, y[again])
    for name in ("coef", "center", "low", "high", "intercept"):
        assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_missing_values_count_as_the_mean_and_far_ones_as_the_last_seen():
    X, y = rows()
    line = LinearPart.fit(X.T, y)
    odd = X[:3].copy()
    odd[0, 2], odd[1, 3], odd[2, 4] = np.nan, 1e30, -1e30
    plain = odd.copy()
    plain[0, 2], plain[1, 3], plain[2, 4] = line.center[2], X[:, 3].max(), X[:, 4].min()
    assert_allclose(line.predict(odd.T), line.predict(plain.T), rtol=1e-12)
    gaps = X.copy()
    gaps[::4, 1] = np.nan
    assert_allclose(LinearPart.fit(gaps.T, y).center[1], np.nanmean(gaps[:, 1]), 1e-6)


@pytest.mark.parametrize(
    "case", ["constant", "all missing", "more than rows", "one row"]
)
def test_features_that_tell_nothing(case):
    X, y = rows()
    if case == "constant":
        X[:, 2] = 7
    elif case == "all missing":
        X[:, 2] = np.nan
    elif case == "more than rows":
        X, y = rows(10, 40)
    else:
        X, y = X[:1], y[:1]
    line = LinearPart.fit(X.T, y)
    assert np.isfinite(line.predict(X.T)).all()
    if case in ("constant", "all missing"):
        assert line.coef[2] == 0


def test_few_rows_do_not_make_a_wild_line():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 30)), rng.normal(size=40)  # nothing to be found
        line = LinearPart.fit(X.T, y)
        assert line.predict(rng.normal(size=(500, 30)).T).std() < 0.8 * y.std()


def tasks_of_slopes(kind, n=1200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    task = rng.integers(8, size=n)
    y = {
        "line": X @ [2.0, -1, 1, 0.5, 0],
        "steps": 2.0 * (X[:, 0] > 0) * (X[:, 1] > 0) * (X[:, 2] > 0),
    }[kind]
    return with_task(X, task), y + 0.5 * (task > 3) + 0.3 * rng.normal(size=n)


def test_auto_takes_the_line_where_it_helps():
    for kind, gain in (("line", 0.02), ("steps", -0.01)):
        X, y = tasks_of_slopes(kind)
        train, test = slice(0, 600), slice(600, None)
        score = {}
        for choice in ("auto", False):
            model = MultiTaskExtraTreesRegressor(
                40, task=-1, linear_part=choice, random_state=0
            ).fit(X[train], y[train])
            score[choice] = r2_score(y[test], model.predict(X[test]))
        assert score["auto"] > score[False] + gain


def test_prediction_is_the_forest_of_the_rest_and_the_line():
    X, y = tasks_of_slopes("line")
    model = MultiTaskExtraTreesRegressor(
        5,
        task=-1,
        linear_part=True,
        min_samples_leaf=5,
        task_split_prob=0.5,
        random_state=0,
    ).fit(X, y)
    line = LinearPart.fit(X[:, :-1].astype(np.float32).T, y)
    assert_allclose(model.linear_coef_, np.append(line.coef, 0))
    rest = clone(model).set_params(linear_part=False)
    rest.fit(X, y - line.predict(X[:, :-1].astype(np.float32).T))
    assert_allclose(model.predict(X), rest.predict(X) + line.predict(X[:, :-1].T))


def test_importances_count_what_line_and_offsets_explain():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    task = np.arange(900) % 30
    level = rng.normal(size=30)
    y = 2 * X[:, 0] + level[task]  # variances 4 and about 1
    model = MultiTaskExtraTreesRegressor(
        10, task=-1, linear_part=True, task_offset=True, random_state=0
    ).fit(with_task(X, task), y)
    total = 4 + level.var()
    importance = model.feature_importances_
    assert_allclose(importance[[0, -1]], [4 / total, level.var() / total], atol=0.05)
    assert_allclose(importance.sum(), 1)
    assert model.task_importance_ == importance[-1]


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


def test_offset_weights_are_repeated_rows_in_any_order():
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
        monkeypatch.setattr(_tuning, "_MOST_ROWS", most)
        error[most] = np.mean((model.fit(X, y).task_offsets_ - level) ** 2)
    half = clone(model).fit(X[:3000], y[:3000])
    known = level[half.tasks_.astype(int)]
    # Half of the rows grow the pilots, but all have a say: ten a task, not five.
    assert error[10_000] < error[3000] < 1.15 * error[10_000]
    assert error[3000] < 0.8 * np.mean((half.task_offsets_ - known) ** 2)
