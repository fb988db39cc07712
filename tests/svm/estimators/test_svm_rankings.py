"""Rankings of features against plain loops, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.svm.estimators._rankings import (
    cmim_order,
    fisher_scores,
    information_gain,
    one_hot_categories,
)
from tests.reference import rankings as plain

KINDS = [np.asarray, sp.csr_array, sp.csc_matrix]


def problem(seed, n=60, d=12, values=3, n_classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    X = rng.integers(-1, values - 1, (n, d)).astype(float)
    X[:, :4] += (rng.random((n, 4)) < 0.3) * y[:, None]
    return X, y


def categories(X, weight, n_bins=8):
    return (*one_hot_categories(X, weight, n_bins), X.shape[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_fisher(kind, n_classes, seed):
    X, y = problem(seed, n_classes=n_classes)
    assert_allclose(fisher_scores(kind(X), y, np.ones(60)), plain.fisher(X, y))


@pytest.mark.parametrize("kind", KINDS)
def test_fisher_of_constant_features(kind):
    y = np.array([0, 0, 0, 1, 1])
    X = np.column_stack([np.full(5, 0.1), 0.1 + y, np.zeros(5), np.arange(5.0)])
    scores = fisher_scores(kind(X), y, np.ones(5))
    # the same, apart without spread, nothing at all, and (3.5-1)^2 / (2/3 + 1/4)
    assert_allclose(scores, [0, np.inf, 0, 6.25 / (2 / 3 + 1 / 4)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_information_gain(kind, n_classes, seed):
    X, y = problem(seed, n_classes=n_classes)
    weight = np.ones(60)
    gain = information_gain(*categories(kind(X), weight), y, weight)
    expected = [plain.information(X[:, j], y) for j in range(X.shape[1])]
    assert_allclose(gain, expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_cmim(kind, seed):
    X, y = problem(seed, n_classes=2 + seed % 2)
    X[:, 5] = X[:, 0]  # what is known already has no information left
    weight = np.ones(60)
    order, score = cmim_order(*categories(kind(X), weight), y, weight, 6)
    assert_array_equal(order[:6], plain.cmim(X, y, 6))
    assert sorted(order) == list(range(12))
    twin = max(np.flatnonzero(np.isin(order, [0, 5])))
    assert_allclose(score[order[twin]], 0, atol=1e-12)


def test_cmim_prefers_what_is_new_to_what_is_strong():
    # y has four classes: two good features tell one bit, a weaker one the other
    y = np.repeat([0, 1, 2, 3], 25)
    high, low = (y >= 2).astype(float), (y % 2).astype(float)
    low[:10] = 1 - low[:10]
    X = np.column_stack([high, high, low])
    weight = np.ones(100)
    order, _ = cmim_order(*categories(X, weight), y, weight, 3)
    assert list(order) == [0, 2, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_weights_count_rows(kind):
    X, y = problem(3)
    rng = np.random.default_rng(0)
    X[:, :6] = rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.6)
    weight = rng.integers(0, 3, 60)
    times = np.repeat(np.arange(60), weight)
    ones = np.ones(len(times))
    repeated, weight = X[times], weight.astype(float)
    assert_allclose(
        fisher_scores(kind(X), y, weight), fisher_scores(repeated, y[times], ones)
    )
    assert_allclose(
        information_gain(*categories(kind(X), weight, 5), y, weight),
        information_gain(*categories(repeated, ones, 5), y[times], ones),
        atol=1e-12,
    )


def test_bins_hold_about_equal_weight():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 1))
    hot, feature = one_hot_categories(x, np.ones(1000), 5)
    assert_array_equal(feature, [0, 0, 0, 0])
    assert_allclose(hot.sum(axis=0), 200, atol=1)
    # and they are intervals: sorted rows have sorted categories
    code = hot.toarray() @ [1, 2, 3, 4]
    assert (np.diff(code[np.argsort(x[:, 0])]) >= 0).all()


def test_sparse_categories_are_as_sparse_as_the_data():
    X = sp.random_array((200, 50), density=0.02, random_state=np.random.default_rng(0))
    hot, _ = one_hot_categories(X, np.ones(200), 8)
    assert hot.nnz <= X.nnz
