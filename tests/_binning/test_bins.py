import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._binning import bin_features


def test_few_distinct_values_get_a_bin_each_with_edges_midway():
    x = np.array([3.0, 1.0, 7.0, 1.0, np.nan])
    bins, codes = bin_features(x[:, None])
    assert_array_equal(bins.edges, [2.0, 5.0])
    assert_array_equal(codes.ravel(), [1, 0, 2, 0, 255])
    assert_array_equal(bins.n_bins, [3])


@pytest.mark.parametrize(("n_distinct", "n_bins"), [(255, 255), (256, 255)])
def test_exact_up_to_255_distinct_values(n_distinct, n_bins):
    X = np.random.default_rng(0).permutation(np.arange(float(n_distinct)))[:, None]
    bins, codes = bin_features(X)
    assert bins.n_bins[0] == n_bins
    assert codes.max() == n_bins - 1


def test_many_values_get_bins_of_equal_weight():
    X = np.random.default_rng(0).normal(size=(25_500, 2)).astype(np.float32)
    bins, codes = bin_features(X)
    for j in range(2):
        assert_array_equal(np.bincount(codes[:, j]), np.full(255, 100))
    assert_array_equal(bins.assign(X), codes)


def test_a_value_that_many_rows_share_keeps_its_own_bin():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(20_000) < 0.5, 0.0, rng.normal(size=20_000))
    bins, codes = bin_features(x[:, None])
    shared = codes[x == 0]
    assert len(np.unique(shared)) == 1
    assert np.abs(x[codes.ravel() == shared.ravel()[0]]).max() < 0.05
    assert bins.n_bins[0] > 100


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2_000, 1))
    weight = rng.integers(0, 4, 2_000).astype(float)
    weighted, _ = bin_features(X, weight)
    repeated, _ = bin_features(np.repeat(X, weight.astype(int), axis=0))
    assert_array_equal(weighted.edges, repeated.edges)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_floats_are_told_apart(dtype):
    low = dtype(1.0)
    x = np.array([low, np.nextafter(low, dtype(2.0))])
    bins, codes = bin_features(x[:, None])
    assert_array_equal(codes.ravel(), [0, 1])
    assert x[0] <= bins.edges[0] < x[1]


def test_thresholds_split_as_the_bins_do():
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(3_000, 20)), 2).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = np.nan
    X[:, 5] = 1.0
    bins, codes = bin_features(X)
    for feature in range(20):
        for cut in range(bins.n_bins[feature]):
            threshold = bins.thresholds(np.array([feature]), np.array([cut]))
            assert_array_equal(
                X[:, feature] <= threshold,
                (codes[:, feature] <= cut) & (codes[:, feature] != 255),
            )


@pytest.mark.parametrize("order", ["C", "F"])
def test_layout_of_X_does_not_matter(order):
    X = np.random.default_rng(3).normal(size=(400, 40))
    expected = bin_features(X)[1]
    codes = bin_features(np.asarray(X, order=order))[1]
    assert_array_equal(codes, expected)
    assert codes.flags.f_contiguous
