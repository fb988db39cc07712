import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import explained_variance_score, r2_score

from kinlearn.metrics import TaskFrame, explained_variance_percent


def problem(seed):
    rng = np.random.default_rng(seed)
    y_true = 30 + 12 * rng.normal(size=60)
    return y_true, y_true + 9 * rng.normal(size=60), rng.integers(1, 4, size=60)


@pytest.mark.parametrize("seed", range(10))
def test_is_a_hundred_times_r2(seed):
    y_true, y_pred, weight = problem(seed)
    expected = 100 * r2_score(y_true, y_pred, sample_weight=weight)
    got = explained_variance_percent(y_true, y_pred, sample_weight=weight)
    assert_allclose(got, expected)
    repeated = explained_variance_percent(y_true.repeat(weight), y_pred.repeat(weight))
    assert_allclose(repeated, expected)


def test_does_not_forgive_a_bias_as_explained_variance_score_does():
    y_true = np.array([1.0, 2.0, 3.0, 4.0])
    assert_allclose(explained_variance_score(y_true, y_true + 1), 1)
    # variance 1.25, squared error 1
    assert_allclose(explained_variance_percent(y_true, y_true + 1), 20)


def test_total_variance_may_be_that_of_all_data():
    y_true, y_pred, _ = problem(0)
    every = np.r_[y_true, 10.0, 90.0]
    error = np.mean((y_true - y_pred) ** 2)
    got = explained_variance_percent(y_true, y_pred, total_variance=every.var())
    assert_allclose(got, 100 * (every.var() - error) / every.var())


@pytest.mark.parametrize("n", [1, 7, 100_000])
def test_constant_truth_is_undefined_whatever_the_rounding(n):
    # the sum of 100,000 tenths is not ten thousand
    with pytest.warns(UndefinedMetricWarning, match="constant"):
        assert np.isnan(explained_variance_percent(np.full(n, 0.1), np.zeros(n)))


def test_rows_without_weight_do_not_count():
    with pytest.warns(UndefinedMetricWarning, match="constant"):
        explained_variance_percent([5, 0.1, 0.1], [5, 1, 1], sample_weight=[0, 1, 3])


@pytest.mark.parametrize("total_variance", [0, -1.0, np.nan])
def test_total_variance_must_be_positive(total_variance):
    with pytest.raises(ValueError, match="total_variance must be a finite number > 0"):
        explained_variance_percent([1, 2], [1, 2], total_variance=total_variance)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="y_pred contains NaN"):
        explained_variance_percent([1.0, 2.0], [1.0, np.nan])


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_tiny_and_huge_values_are_explained_as_others(size):
    y_true, y_pred = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 2.0, 3.0, 3.5])
    assert_allclose(explained_variance_percent(y_true * size, y_pred * size), 90.0)
    frame = TaskFrame(
        ["r2", explained_variance_percent],
        np.r_[y_true * size, y_true],
        np.r_[y_pred * size, y_pred],
        tasks=[0, 0, 0, 0, 1, 1, 1, 1],
    )
    assert_allclose(frame.values["r2"], [0.9, 0.9])
    assert_allclose(frame.values["explained_variance_percent"], [90.0, 90.0])
