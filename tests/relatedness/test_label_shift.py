"""Distances between the tasks' targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from kinlearn.relatedness import task_distances

# task 0: 3 of 4 are "a"; task 1: 1 of 2; task 2: all "c"
TASKS = np.array([0, 0, 0, 0, 1, 1, 2])
LABELS = np.array(["a", "a", "a", "b", "a", "b", "c"])
# means 1, 4 and 9; squares within the tasks 2 + 2 + 0, on 7 - 3 degrees of freedom
NUMBERS = np.array([0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 9.0])


def _values(y, **options):
    X = TASKS.reshape(-1, 1)  # no features at all are needed
    return task_distances(X, y, task=0, method="label_shift", **options).values


def test_total_variation_by_hand():
    expected = [[0, 0.25, 1], [0.25, 0, 1], [1, 1, 0]]
    assert_allclose(_values(LABELS), expected, rtol=1e-14)
    assert_allclose(_values(LABELS, distance="total_variation"), expected, rtol=1e-14)


def test_hellinger_by_hand():
    first = (np.sqrt(0.75) - np.sqrt(0.5)) ** 2 + (np.sqrt(0.25) - np.sqrt(0.5)) ** 2
    d = np.sqrt(first / 2)
    expected = [[0, d, 1], [d, 0, 1], [1, 1, 0]]
    assert_allclose(_values(LABELS, distance="hellinger"), expected, rtol=1e-12)


def test_mean_difference_by_hand():
    # in units of sqrt(4 / 4) = 1
    expected = [[0, 3, 8], [3, 0, 5], [8, 5, 0]]
    assert_allclose(_values(NUMBERS, distance="mean_difference"), expected, rtol=1e-14)
    tenfold = _values(10 * NUMBERS + 7, distance="mean_difference")
    assert_allclose(tenfold, expected, rtol=1e-12)


def test_wasserstein_by_hand_and_by_scipy():
    # every row of task 2 (9) against task 0: mean of 9, 8, 8, 7
    values = _values(NUMBERS, distance="wasserstein")
    assert_allclose(values, [[0, 3, 8], [3, 0, 5], [8, 5, 0]], rtol=1e-14)
    y = np.random.default_rng(0).normal(size=7)
    values = _values(y)  # fractions, so numbers
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        expected = stats.wasserstein_distance(*(y[np.equal(TASKS, t)] for t in (a, b)))
        assert_allclose(values[a, b], expected, rtol=1e-12)


def test_whole_numbers_are_classes_unless_the_distance_says_otherwise():
    y = np.array([0, 1, 1, 2, 3, 5, 9])
    assert_array_equal(_values(y), 1.0 - np.eye(3))
    assert_allclose(_values(y, distance="wasserstein")[0, 2], 8.0)


def test_threads_do_not_change_wasserstein():
    assert_array_equal(_values(NUMBERS + 0.5, n_jobs=2), _values(NUMBERS + 0.5))


def test_constant_within_tasks_has_no_unit_for_its_mean_difference():
    y = np.array([0.1, 0.1, 0.1, 0.1, 0.3, 0.3, 0.7])
    with pytest.raises(ValueError, match="constant within each task"):
        _values(y, distance="mean_difference")
    assert_allclose(_values(y, distance="wasserstein")[0], [0, 0.2, 0.6], rtol=1e-12)


@pytest.mark.parametrize(
    ("y", "options", "match"),
    [
        (None, {}, "y is None"),
        (LABELS, {"distance": "cosine"}, "distance must be one of 'auto'"),
        (LABELS, {"distance": "wasserstein"}, "y has dtype"),
        (LABELS[:5], {}, "inconsistent numbers of samples"),
        (np.where(TASKS == 1, np.nan, 1.5), {}, "NaN"),
        (NUMBERS + 0.5, {"distance": "total_variation"}, "continuous"),
    ],
)
def test_bad_targets(y, options, match):
    with pytest.raises(ValueError, match=match):
        _values(y, **options)
