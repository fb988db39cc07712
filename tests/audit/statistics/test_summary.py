"""Friedman's and Wilcoxon's tests over tasks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import friedmanchisquare, wilcoxon

from kinlearn.audit.statistics._selection import nested_selection
from kinlearn.audit.statistics._summary import overall_tests
from tests.reference.audit_cubes import make_cube


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_tests_are_those_of_scipy_on_means_over_folds():
    cube = make_cube(noise(4, 2, 5, 9))
    tests = overall_tests(cube)
    means = cube.values.mean(axis=(1, 2))
    expected = friedmanchisquare(*means)
    assert_allclose(tests.friedman_statistic, expected.statistic)
    assert_allclose(tests.friedman_p, expected.pvalue)
    ranks = (-means).argsort(axis=0).argsort(axis=0) + 1
    assert_allclose(list(tests.mean_ranks.values()), ranks.mean(axis=1))
    gains = [gain.gain for gain in nested_selection(cube).gains]
    assert_allclose(tests.wilcoxon_p, wilcoxon(gains).pvalue)
    assert (tests.n_tasks, tests.reasons) == (9, {})


def test_ties_and_equal_models_raise_no_warning():
    values = np.round(noise(4, 1, 2, 40))
    values[3] = values[2]
    tests = overall_tests(make_cube(values))
    assert 0 <= tests.friedman_p <= 1
    assert 0 <= tests.wilcoxon_p <= 1
    assert tests.mean_ranks["m2"] == tests.mean_ranks["m3"]


@pytest.mark.parametrize(
    ("values", "friedman", "wilcoxon"),
    [
        (noise(3, 2, 5, 5), "needs 6 tasks; 5 have a score", "6 tasks; 5 have a gain"),
        (noise(3, 2, 5, 1), "needs 6 tasks; 1 has a score", "6 tasks; 1 has a gain"),
        (noise(2, 2, 5, 9), "needs 3 contenders; 2 have a rank", None),
        (np.ones((3, 2, 5, 9)), "tie on every task", "0 have a gain that is not zero"),
        (np.full((3, 2, 5, 9), np.nan), "needs 3 contenders; 0 have", "0 have a gain"),
        (noise(1, 2, 5, 9), "needs 3 contenders; 1 have", "0 have a gain"),
    ],
)
def test_a_test_that_cannot_be_done_gives_its_reason(values, friedman, wilcoxon):
    tests = overall_tests(make_cube(values))
    assert tests.friedman_p is None
    assert friedman in tests.reasons["friedman"]
    if wilcoxon is None:
        assert tests.wilcoxon_p is not None
    else:
        assert tests.wilcoxon_p is None
        assert wilcoxon in tests.reasons["wilcoxon"]


def test_a_broken_contender_does_not_take_the_others_along():
    values = noise(4, 2, 5, 8)
    values[3, ..., :6] = np.nan
    tests = overall_tests(make_cube(values))
    assert set(tests.mean_ranks) == {"m0", "m1", "m2"}
    assert tests.n_tasks == 8


def test_a_cube_without_contenders_is_no_error():
    tests = overall_tests(make_cube(np.zeros((0, 2, 5, 3)), forms=[]))
    assert (tests.friedman_p, tests.wilcoxon_p, tests.mean_ranks) == (None, None, {})
