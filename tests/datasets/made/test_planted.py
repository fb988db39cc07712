"""Planted clusters: the truth is what was asked for, and the rows follow it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

from kinlearn.datasets import make_clustered_classification, make_clustered_regression

both = pytest.mark.parametrize(
    "make", [make_clustered_classification, make_clustered_regression]
)


def cosines(a, b):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    return a @ b.T


@both
def test_clusters_outlier_and_negative_task(make):
    *_, truth = make(return_truth=True, random_state=0)
    assert_array_equal(truth.cluster, [0] * 5 + [1] * 5 + [-1, 0])
    assert_array_equal(truth.sign, [1] * 11 + [-1])
    assert_allclose(truth.centers @ truth.centers.T, np.eye(2), atol=1e-12)
    to_centers = cosines(truth.coef, truth.centers)
    assert (to_centers[:5, 0] > 0.9).all()
    assert (to_centers[5:10, 1] > 0.9).all()
    assert (np.abs(to_centers[:5, 1]) < 0.4).all()
    assert_allclose(to_centers[10], 0.0, atol=1e-12)
    assert to_centers[11, 0] < -0.9


@both
def test_spread_is_the_length_of_a_tasks_own_part(make):
    *_, truth = make(
        400, n_outliers=0, n_negative=0, spread=0.5, return_truth=True, random_state=0
    )
    own = truth.coef - truth.centers[truth.cluster]
    length = np.sqrt(np.mean((own**2).sum(axis=1)))
    assert_allclose(length, 0.5, rtol=5 / np.sqrt(2 * 400 * 10))


@both
def test_without_spread_a_cluster_is_one_task(make):
    *_, truth = make(7, spread=0, n_negative=2, return_truth=True, random_state=0)
    assert_array_equal(truth.cluster, [0, 0, 1, 1, -1, 0, 1])
    assert_allclose(truth.coef[0], truth.coef[1])
    assert_allclose(truth.coef[5], -truth.coef[0])
    assert_allclose(truth.coef[6], -truth.coef[2])


@both
def test_more_directions_than_features(make):
    *_, truth = make(20, n_clusters=6, n_features=3, return_truth=True, random_state=0)
    assert truth.centers.shape == (6, 3)
    assert_allclose(np.linalg.norm(truth.centers, axis=1), 1.0)


def test_the_error_of_the_truth_is_the_arctangent_of_the_noise():
    X, y, truth = make_clustered_classification(
        4,
        n_samples_per_task=40_000,
        spread=0,
        noise=0.5,
        return_truth=True,
        random_state=0,
    )
    expected = np.arctan(0.5) / np.pi
    sigma = np.sqrt(expected * (1 - expected) / 40_000)
    for t in range(4):
        rows = X[:, -1] == t
        right = X[rows, :-1] @ truth.coef[t] > 0
        assert_array_equal(right, truth.clean_y[rows])
        assert_allclose(np.mean(right != y[rows]), expected, atol=5 * sigma)


def test_least_squares_finds_the_planted_coefficients():
    X, y, truth = make_clustered_regression(
        6, n_samples_per_task=5000, noise=0.3, return_truth=True, random_state=0
    )
    for t in range(6):
        rows = X[:, -1] == t
        model = LinearRegression().fit(X[rows, :-1], y[rows])
        assert_allclose(model.coef_, truth.coef[t], atol=5 * 0.3 / np.sqrt(5000))
        residual = np.std(y[rows] - truth.clean_y[rows])
        assert_allclose(residual, 0.3, rtol=5 / np.sqrt(2 * 5000))


def test_both_kinds_plant_the_same_tasks():
    X, y, truth = make_clustered_classification(return_truth=True, random_state=4)
    X_too, value, truth_too = make_clustered_regression(
        return_truth=True, random_state=4
    )
    assert_array_equal(X, X_too)
    assert_array_equal(truth.coef, truth_too.coef)
    assert_array_equal(y, value > 0)


@both
def test_rows_of_each_task(make):
    X, _ = make(4, n_clusters=1, n_samples_per_task=[5, 10, 15, 20], random_state=0)
    assert_array_equal(np.bincount(X[:, -1].astype(int)), [5, 10, 15, 20])
