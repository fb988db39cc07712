"""Sums and extremes of gradients, against numpy."""

import numpy as np
import pytest

from kinlearn._kernels.boosting.gradient._gradients import largest


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
