"""The search for a penalty, and the linear comparison of the MTBoost protocols."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.quality.mtboost import MTRL, lowest_nearby


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("lowest", range(5))
def test_one_valley_is_found_from_anywhere(first, lowest):
    assert lowest_nearby(lambda n: abs(n - lowest), first, 5) == lowest


def test_equal_neighbours_end_the_search():
    asked = []

    def value(n):
        asked.append(n)
        return 0.0

    assert lowest_nearby(value, 1, 5) == 1
    assert set(asked) == {0, 1, 2}


def test_mtrl_of_one_task_is_ridge_regression():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(2, size=60)
    model = MTRL(0.3).fit(np.c_[X, np.zeros(60)], y)
    # one task has Omega = 1, so the coefficients are penalised twice; the intercept
    # is not
    scale = np.mean((X**2).sum(axis=1))
    centred = X - X.mean(axis=0)
    ridge = 2 * 0.3 * scale * np.eye(4)
    coef = np.linalg.solve(centred.T @ centred + ridge, centred.T @ (2.0 * y - 1))
    assert_allclose(model.model.coef_[0], coef, atol=1e-3)
    level = np.mean(2.0 * y - 1 - X @ coef)
    assert_allclose(model.model.intercept_, level, atol=1e-3)
