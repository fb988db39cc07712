"""C and epsilon from the data, against hand arithmetic and known noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.svm import analytic_C, analytic_epsilon


def test_C_is_the_larger_of_the_two_ends():
    # mean 2, deviation 1: ends 5 and -1; mirrored, -5 and 1
    assert_allclose(analytic_C([1, 3]), 5)
    assert_allclose(analytic_C([-1, -3]), 5)


def test_C_counts_a_weight_of_two_as_the_row_twice():
    assert_allclose(analytic_C([1, 4], [1, 2]), analytic_C([1, 4, 4]))


def test_C_of_zeros_is_a_usable_number():
    assert analytic_C([0, 0, 0]) == 1


def test_epsilon_by_the_formula_over_all_distances():
    rng = np.random.default_rng(0)
    X, y, task = rng.normal(size=(60, 2)), rng.normal(size=60), np.arange(60) % 2
    total = 0.0
    for i in range(60):
        others = [j for j in range(60) if j != i and task[j] == task[i]]
        others.sort(key=lambda j: np.sum((X[i] - X[j]) ** 2))
        total += (y[i] - y[others[:4]].mean()) ** 2
    sigma = np.sqrt(total / 60 / 1.25)
    expected = 3 * sigma * np.sqrt(np.log(60) / 60)
    assert_allclose(analytic_epsilon(X, y, task, n_neighbors=4), expected)


@pytest.mark.parametrize("n_neighbors", [1, 3, 6])
def test_epsilon_finds_the_noise(n_neighbors):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(3000, 1))
    y = np.cos(5 * X[:, 0]) + rng.normal(scale=0.3, size=3000)
    expected = 3 * 0.3 * np.sqrt(np.log(3000) / 3000)
    epsilon = analytic_epsilon(X, y, n_neighbors=n_neighbors)
    assert_allclose(epsilon, expected, rtol=0.05)


def test_epsilon_of_few_rows_is_zero():
    assert analytic_epsilon([[1.0], [2.0]], [1, 2]) == 0


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="1 values that are NaN"):
        analytic_C([1, np.nan])
    with pytest.raises(ValueError, match="1 or more"):
        analytic_epsilon([[1.0], [2.0]], [1, 2], n_neighbors=0)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="y is empty"):
        analytic_C([])
