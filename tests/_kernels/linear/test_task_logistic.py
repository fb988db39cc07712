"""Logistic regressions of many tasks against their slow twin."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn._kernels.linear._task_logistic import fit_task_logistic
from tests.reference.task_logistic import fit_logistic


def fit(X, sign, weight, sizes, cost, max_iter=100):
    n_features = X.shape[1]
    coef = np.zeros((len(sizes), n_features + 1))
    n_iter = np.empty(len(sizes), dtype=np.intp)
    fit_task_logistic(
        X,
        sign,
        weight,
        np.r_[0, np.cumsum(sizes)].astype(np.intp),
        cost,
        1e-9,
        max_iter,
        np.empty((n_features + 1) * (n_features + 4)),
        coef,
        n_iter,
    )
    return coef, n_iter


@pytest.mark.parametrize("seed", range(20))
def test_as_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 40, size=rng.integers(1, 6))
    n, d = sizes.sum(), rng.integers(1, 8)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 5)
    sign = np.where(X[:, 0] + rng.logistic(size=n) > 0, 1, -1).astype(np.int8)
    starts = np.cumsum(sizes) - sizes
    sign[starts], sign[starts + 1] = -1, 1  # both classes everywhere
    weight = rng.uniform(0.2, 3.0, size=n)
    cost = 10.0 ** rng.uniform(-3, 2)
    coef, n_iter = fit(X, sign, weight, sizes, cost)
    assert (n_iter >= 0).all()
    for t, (first, size) in enumerate(zip(starts, sizes, strict=True)):
        rows = slice(first, first + size)
        twin = fit_logistic(X[rows], sign[rows], weight[rows], cost)
        assert_allclose(coef[t], twin, rtol=1e-4, atol=1e-5)


def test_rows_of_no_weight_are_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    sign = np.where(rng.random(30) > 0.5, 1, -1).astype(np.int8)
    weight = (np.arange(30) % 3 > 0).astype(float)
    some = weight > 0
    one, _ = fit(X, sign, weight, [30], 1.0)
    two, _ = fit(X[some], sign[some], weight[some], [some.sum()], 1.0)
    assert_allclose(one, two, atol=1e-9)


def test_too_few_steps_are_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    sign = np.where(X[:, 0] > 0, 1, -1).astype(np.int8)
    assert fit(X, sign, np.ones(30), [30], 1e4, max_iter=1)[1] == -1


def test_far_rows_and_separable_classes_end():
    X = np.r_[np.full(10, -1e6), np.full(10, 1e6)][:, None]
    sign = np.repeat([-1, 1], 10).astype(np.int8)
    coef, _ = fit(X, sign, np.ones(20), [20], 1.0)
    assert np.isfinite(coef).all()
    assert (np.sign(X[:, 0] * coef[0, 0] + coef[0, 1]) == sign).all()
