"""Sums and quantiles without rounding, and models that no order of rows changes."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.boosting.gradient._exact import (
    as_number,
    exact_sum,
    group_quantiles,
    ratio,
)
from kinlearn.tasks import with_task


@pytest.mark.parametrize("seed", range(5))
def test_exact_sums_are_those_of_fsum(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=200) * 10.0 ** rng.integers(-320, 300, size=200)
    assert as_number(exact_sum(values)) == math.fsum(values)
    parts = [exact_sum(part) for part in np.split(values, [3, 3, 80])]
    assert sum(parts) == exact_sum(values)
    close = rng.normal(size=500)
    assert as_number(exact_sum(close)) == math.fsum(close)


def test_exact_sums_of_nothing_zeros_and_infinities():
    assert exact_sum(np.empty(0)) == exact_sum(np.zeros(3)) == 0
    assert as_number(exact_sum(np.array([5e-324, 0.0]))) == 5e-324
    most = np.finfo(float).max
    assert as_number(exact_sum(np.array([np.inf, -1.0, 1.0]))) == most
    assert ratio(exact_sum(np.ones(3)), exact_sum(np.full(3, 2.0))) == 0.5
    assert ratio(1, 0) == 0.0


@pytest.mark.parametrize("q", [0.1, 0.25, 0.5, 0.9])
def test_quantiles_are_those_of_repeated_rows(q):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 9, size=60).astype(float)
    weight, group = rng.integers(0, 4, size=60), rng.integers(0, 5, size=60)
    found = group_quantiles(values, weight, group, 6, q)
    for g in range(5):
        each = np.repeat(values[group == g], weight[group == g])
        expected = np.quantile(each, q, method="averaged_inverted_cdf")
        assert found[g] == expected
    assert found[5] == 0  # without rows


MODELS = {
    loss: MultiTaskGradientBoostingRegressor(loss, quantile=0.3)
    for loss in ("squared_error", "absolute_error", "quantile", "poisson", "gamma")
}
MODELS["classes"] = MultiTaskGradientBoostingClassifier(class_weight="balanced")


@pytest.mark.parametrize("name", MODELS)
def test_order_of_rows_changes_no_bit(name):
    rng = np.random.default_rng(0)
    n = 300
    X, task = rng.normal(size=(n, 4)), rng.integers(0, 6, size=n)
    y = np.exp((X[:, 0] + (task % 3) * X[:, 1]) / 3)
    X[rng.random(X.shape) < 0.1] = np.nan
    if name == "classes":
        y = (y > 0.8) + 1 * (y > 1.5)
    weight = rng.uniform(0.1, 3, size=n)
    params = {"task": -1, "n_estimators": 8, "learning_rate": 0.3, "random_state": 0}
    model, X = MODELS[name].set_params(**params, min_samples_leaf=5), with_task(X, task)
    found = []
    for order in (np.arange(n), rng.permutation(n)):
        model.fit(X[order], y[order], weight[order])
        found.append(vars(model.trees_) | vars(model._start) | vars(model.bins_))
        found[-1] |= vars(found[-1].pop("line"))
    assert len(found[0]["values"]) > 8
    for key, value in found[0].items():
        assert_array_equal(value, found[1][key], err_msg=key)
