"""SVM+ that goes on from its last solution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.svm import SVMPlusClassifier, SVMPlusRegressor, _matrices
from kinlearn.svm.solvers import _plus


def problem(n):
    """x (3 columns) with x* (2 columns), and numbers."""
    rng = np.random.default_rng(0)
    x, privileged = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    value = x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.7 * privileged[:, 0]
    return np.column_stack([x, privileged]), value


@pytest.mark.parametrize("make", [SVMPlusClassifier, SVMPlusRegressor])
@pytest.mark.parametrize("privileged", [[-3, -2], None])
def test_warm_start_goes_on_where_it_stopped(make, privileged):
    X, value = problem(100)
    X = np.column_stack([X, np.arange(100) % 2])
    target = np.digitize(value, [0, 1]) if make is SVMPlusClassifier else value
    group = None if privileged else -1
    options = {"privileged": privileged, "group": group, "tol": 1e-7}
    model = make(warm_start=True, **options).fit(X, target)
    first = model.n_iter_.sum()
    assert model.fit(X, target).n_iter_.sum() < first / 10
    for change in ({"C": 3.0}, {"correction_penalty": 0.1}, {"gamma": 0.2}):
        options |= change
        cold = make(**options).fit(X, target)
        warm = model.set_params(**change).fit(X, target)
        assert_allclose(warm.dual_objective_, cold.dual_objective_, rtol=1e-6)
        assert_allclose(warm.violation_, 0, atol=1e-7)


def test_warm_start_with_few_rows_in_memory(monkeypatch):
    monkeypatch.setattr(_matrices, "_WHOLE_ROWS", 50)
    monkeypatch.setattr(_plus, "_BLOCK", 64)
    X, value = problem(300)
    y = value > 0.5
    options = {"privileged": [-2, -1], "cache_size": 0.05, "C": 0.3}
    model = SVMPlusClassifier(warm_start=True, **options).fit(X, y)
    first = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] < first / 10
    options["C"] = 0.5
    cold = SVMPlusClassifier(**options).fit(X, y)
    warm = model.set_params(C=0.5).fit(X, y)
    assert_allclose(warm.dual_objective_, cold.dual_objective_, rtol=1e-4)


def test_warm_start_begins_anew_for_other_rows():
    X, value = problem(100)
    y, options = value > 0.5, {"privileged": [-2, -1]}
    model = SVMPlusClassifier(warm_start=True, **options).fit(X, y)
    weight = np.linspace(1, 2, 100)
    for X_new, y_new, w in ((X, ~y, None), (X[::2], y[::2], None), (X, y, weight)):
        cold = SVMPlusClassifier(**options).fit(X_new, y_new, w)
        warm = model.fit(X_new, y_new, w)
        assert_array_equal(warm.dual_coef_, cold.dual_coef_)
