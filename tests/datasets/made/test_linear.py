"""The linear problems of SVM+MTL against the spec and hand arithmetic."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

from kinlearn.datasets import make_linear_classification, make_linear_regression

# thesis, chapter 4, as printed there
D20 = (
    "1 1 1 1 1 1 1 1 1",
    "1 1 1 1 1 1 1 0 1 0 1",
    "1 1 1 1 1 1 0 1 0 1 0 0 0 0 1",
)
D30 = (
    "1 1 2 3 3 1 1 1 1 0 2 0 2 2 0 2 0",
    "1 1 2 3 3 1 1 1 0 2 0 2 2 0 0 0 0 2 0 2",
    "1 1 2 3 3 1 1 0 1 0 0 3 0 0 2 0 2 0 2",
)
# thesis, chapter 5
STEEP = (
    "1 1 2 3 3 1 1 1 1 0 4 0 4 4 0 0 0 0 0 0",
    "1 1 2 3 3 1 1 1 0 4 0 2 4 0 0 0 0 0 0 0",
    "1 1 2 3 3 1 1 0 1 0 0 4 0 0 4 0 0 0 0 0",
)


def vectors(lines, n_features):
    rows = [[float(cell) for cell in line.split()] for line in lines]
    return np.array([row + [0.0] * (n_features - len(row)) for row in rows])


def linear_part(X, truth):
    task = X[:, -1].astype(int)
    return (X[:, :-1] * truth.coef[task]).sum(axis=1) + truth.intercept[task]


@pytest.mark.parametrize(
    ("design", "coef", "offset", "noise", "rows"),
    [
        ("d20", vectors(D20, 20), 0.5, 0.0, 300),
        ("d30_costs", vectors(D30, 30), 4.0, 0.0, 600),
        ("d30_noise", vectors(D30, 30), 0.0, 0.5, 900),
        ("d2", np.array([[1, 0.2], [1, 0.4]]), 0.3, 0.0, 60),
    ],
)
def test_classification_designs(design, coef, offset, noise, rows):
    X, y, truth = make_linear_classification(
        design=design, return_truth=True, random_state=0
    )
    assert len(X) == rows
    assert_array_equal(truth.coef, coef)
    assert_array_equal(truth.intercept, np.full(len(coef), offset))
    assert truth.noise == noise
    assert np.abs(X[:, :-1]).max() < 1
    assert X[:, :-1].min() < -0.9
    value = linear_part(X, truth)
    assert_array_equal(truth.clean_y, value > 0)
    if noise == 0:
        assert_array_equal(y, truth.clean_y)
    else:
        assert 0 < np.mean(y != truth.clean_y) < 0.1


@pytest.mark.parametrize(
    ("design", "coef", "noise", "low", "rows"),
    [
        ("d30_n20", vectors(D30, 30), 1.0, 0.0, 60),
        ("d30_n50", vectors(D30, 30), 1.0, 0.0, 150),
        ("d20_n100", vectors(STEEP, 20), 0.5, -1.0, 300),
    ],
)
def test_regression_designs(design, coef, noise, low, rows):
    X, y, truth = make_linear_regression(
        design=design, return_truth=True, random_state=0
    )
    assert len(X) == rows
    assert_array_equal(truth.coef, coef)
    assert low <= X[:, :-1].min() < low + 0.05
    assert 0.95 < X[:, :-1].max() < 1
    value = linear_part(X, truth)
    assert_allclose(truth.clean_y, value)
    assert_allclose(np.std(y - value), noise, rtol=5 / np.sqrt(2 * rows))


def test_most_labels_are_positive_where_costs_are_unequal():
    _, y = make_linear_classification(5000, design="d30_costs", random_state=0)
    assert_allclose(y.mean(), 0.85, atol=0.02)


@pytest.mark.parametrize(("design", "published"), [("d30_n50", 2.5), ("d20_n100", 7.8)])
def test_pooled_error_is_near_the_published_one(design, published):
    # what a pooled linear model cannot explain: the noise, the tasks' own
    # coefficients times the variance of x, and the tasks' own means
    X, y, truth = make_linear_regression(
        20_000, design=design, return_truth=True, random_state=0
    )
    low = -1.0 if design == "d20_n100" else 0.0
    variance, mean = (1.0 - low) ** 2 / 12, (1.0 + low) / 2
    own = truth.coef - truth.coef.mean(axis=0)
    floor = (
        truth.noise**2
        + variance * (own**2).sum(axis=1).mean()
        + np.var(mean * truth.coef.sum(axis=1))
    )
    pooled = LinearRegression().fit(X[:, :-1], y)
    error = np.mean((pooled.predict(X[:, :-1]) - y) ** 2)
    assert_allclose(error, floor, rtol=0.02)
    assert floor < published < 1.3 * floor


def test_own_coefficients_and_rows_of_each_task():
    coef = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]]
    X, y, truth = make_linear_regression(
        [3, 4, 5, 6],
        coef=coef,
        offset=10.0,
        noise=0.0,
        low=5,
        high=6,
        return_truth=True,
        random_state=0,
    )
    assert_array_equal(np.bincount(X[:, -1].astype(int)), [3, 4, 5, 6])
    assert_array_equal(truth.coef, coef)
    task = X[:, -1]
    assert_allclose(y[task == 2], 10 + X[task == 2, 0] + X[task == 2, 1])
    assert_allclose(y[task == 3], 10 - X[task == 3, 0])


def test_the_truth_is_a_copy():
    *_, truth = make_linear_regression(return_truth=True, random_state=0)
    truth.coef[:] = 0
    *_, again = make_linear_regression(return_truth=True, random_state=0)
    assert again.coef.any()
