"""Sums and extremes of gradients, against numpy."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._kernels.boosting.gradient._gradients import fill_numbers, largest


@pytest.mark.parametrize("n_equal", [1, 7, 500])
def test_largest_by_weight_is_that_of_numpy_to_the_bit(n_equal):
    rng = np.random.default_rng(n_equal)
    weight = np.repeat(rng.choice([0.0, 0.3, 1.0, 7.0], size=500), n_equal)[:500]
    weight[-1] = 0.3
    g, h = rng.normal(size=500) * weight, rng.uniform(size=500) * weight
    g[weight == 0] = h[weight == 0] = 100.0  # rows that do not count
    some = weight > 0
    expected = (
        np.abs(g[some]).max(),
        (np.abs(g[some]) / weight[some]).max(),
        (h[some] / weight[some]).max(),
    )
    assert largest(g, h, weight) == expected


def test_rows_without_weight_have_no_largest():
    assert largest(np.ones(3), np.ones(3), np.zeros(3)) == (0.0, 0.0, 0.0)
    assert largest(np.ones(0), np.ones(0), np.ones(0)) == (0.0, 0.0, 0.0)


def test_whole_sums_become_numbers():
    rng = np.random.default_rng(0)
    sums = rng.integers(-(2**61), 2**61, size=(4, 9, 2))
    sums[..., 1] = abs(sums[..., 1])
    g, h = np.empty((2, 4, 9))
    fill_numbers(sums, g, h, g_unit=2.0**-40, h_unit=2.0**-30, bits=11)
    assert_array_equal(g, sums[..., 0] * 2.0**-40)
    assert_array_equal(h, (sums[..., 1] // 2**11) * 2.0**-30)
