"""Bins of one byte: what the kernel that finds them promises."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._kernels._binning import N_CELLS, bin_rows


@pytest.mark.parametrize("n", [1, 127, 128, 1_000])
def test_bins_ascend_with_the_values_and_know_their_extremes(n):
    rng = np.random.default_rng(n)
    d = 19
    wide = rng.normal(size=(n, d + 2)).astype(np.float32)
    wide[:, 3] = np.float32(3e38) * np.sign(wide[:, 3])
    wide[:, 4] = np.exp(20 * wide[:, 4])
    wide[:, 5] = np.round(wide[:, 5])
    wide[rng.random(wide.shape) < 0.05] = np.nan
    wide[:, 6] = 1.5
    X = wide[:, 1:-1]  # rows need not follow each other closely
    bin_of_cell = np.sort(rng.integers(0, 254, size=(d, N_CELLS)), axis=1)
    scales = rng.choice([0, 1, 100, 3e38], size=d).astype(np.float32)
    bins = np.empty((d, n), dtype=np.uint8)
    lowest = np.full((d, 256), np.inf, dtype=np.float32)
    highest = -lowest
    for rows in slice(None, n // 3), slice(n // 3, None):  # block by block
        bin_rows(
            X[rows],
            (np.arange(d) % 2).astype(np.uint8),
            np.full(d, -1, dtype=np.float32),
            scales,
            bin_of_cell.astype(np.uint8),
            bins[:, rows],
            lowest,
            highest,
        )
    for x, bin, low, high in zip(X.T, bins, lowest, highest, strict=True):
        assert_array_equal(bin == 255, np.isnan(x))
        assert (low[255] == -np.inf) == np.isnan(x).any()
        order = np.argsort(x[bin < 255])
        assert (np.diff(bin[bin < 255][order].astype(int)) >= 0).all()
        for c in range(255):
            own = x[bin == c]
            assert low[c] == own.min(initial=np.inf)
            assert high[c] == own.max(initial=-np.inf)
