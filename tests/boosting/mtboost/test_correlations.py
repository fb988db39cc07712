"""Correlations of tasks beside those of permuted labels and of rows drawn again."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import with_task
from kinlearn.boosting import MTBoostClassifier, MTBoostRegressor

FEW = {"n_permutations": 9, "n_resamples": 6, "random_state": 0}
PAIRS = np.triu_indices(4, k=1)


def rows(seed, n=320):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, 5)), np.arange(n) % 4


@pytest.mark.parametrize("make", [MTBoostClassifier, MTBoostRegressor])
def test_relations_that_are_there_are_found(make):
    rng, X, task = rows(0)
    score = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=len(X))
    score[task == 3] *= -1
    y = score > 0 if make is MTBoostClassifier else score
    Z = with_task(X, task)
    model = make(task=-1, n_estimators=10, random_state=0).fit(Z, y)
    found = model.task_correlations(Z, y, **FEW)
    assert_array_equal(found.correlation, model.task_correlation_)
    assert_array_equal(found.p_value[PAIRS], 0.1)  # the least that 9 can give
    sign = np.array([1, 1, -1, 1, -1, -1])
    assert (sign * found.low[PAIRS] > 0).all()
    assert (sign * found.high[PAIRS] > 0).all()
    assert (found.low <= found.high).all()
    assert found.chance < 0.7


def test_tasks_of_noise_are_as_related_as_by_chance():
    """Few rounds tie tasks of noise by 0.4 and more; the p-values see through it."""
    p_values, sizes, chances = [], [], []
    for seed in range(3):
        rng, X, task = rows(seed, 160)
        y, Z = rng.integers(0, 2, len(X)), with_task(X, task)
        model = MTBoostClassifier(task=-1, n_estimators=10, random_state=0).fit(Z, y)
        found = model.task_correlations(Z, y, **FEW)
        p_values.append(found.p_value[PAIRS])
        sizes.append(np.abs(model.task_correlation_[PAIRS]).mean())
        chances.append(found.chance)
    assert np.mean(p_values) > 0.3
    assert abs(np.mean(sizes) - np.mean(chances)) < 0.25


def test_rows_of_fit_are_wanted():
    rng, X, task = rows(0, 80)
    y, Z = rng.integers(0, 2, len(X)), with_task(X, task)
    model = MTBoostClassifier(task=-1, n_estimators=2, random_state=0).fit(Z, y)
    some = task != 2
    with pytest.raises(ValueError, match="lacks 1 of its 4 tasks"):
        model.task_correlations(Z[some], y[some])
    with pytest.raises(ValueError, match="n_permutations == 0, must be >= 1"):
        model.task_correlations(Z, y, n_permutations=0)


def test_rows_without_weight_are_absent():
    rng = np.random.default_rng(3)
    X = with_task(rng.normal(size=(90, 3)), np.arange(90) % 3)
    y = (X[:, 0] > 0).astype(int)
    weight = np.ones(90)
    weight[np.flatnonzero(X[:, -1] == 0)[3:]] = 0.0
    model = MTBoostClassifier(task=-1, n_estimators=5, random_state=0)
    model.fit(X, y, weight)
    options = {"n_permutations": 3, "n_resamples": 3, "random_state": 0}
    found = model.task_correlations(X, y, weight, **options)
    other = np.where(weight > 0, y, 1 - y)
    again = model.task_correlations(X, other, weight, **options)
    assert_array_equal(found.p_value, again.p_value)
    assert_array_equal(found.low, again.low)
    assert found.chance == again.chance
    with pytest.raises(ValueError, match="y has 7, which fit did not see"):
        model.task_correlations(X, np.where(weight > 0, y * 7, y), weight, **options)
