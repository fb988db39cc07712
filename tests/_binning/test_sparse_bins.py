"""Bins of sparse columns against those of the same columns unpacked."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from kinlearn._binning import bin_features, bin_sparse


def _columns(rng, kind):
    """Thin and full columns, of few values and of many, some empty or constant."""
    n = int(rng.integers(1, 80))
    X = rng.integers(-3, 4, size=(n, 7)).astype(kind)
    X[rng.random(X.shape) < 0.85] = 0
    X[:, 1] = 0
    X[:, 2] = 5
    X[:, 3] = rng.normal(size=n)
    X[:, 4] = np.where(rng.random(n) < 0.2, rng.normal(size=n), 0)
    return X


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_bins", [2, 5, 255])
def test_sparse_columns_have_the_bins_of_dense_ones(kind, weighted, missing, max_bins):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = _columns(rng, kind)
        if missing:
            X[rng.random(X.shape) < 0.1] = np.nan
        weight, there = None, slice(None)
        if weighted:
            weight = rng.integers(0, 3, size=len(X)) + (np.arange(len(X)) == 0)
            there = weight > 0
        packed = sp.csc_array(X)
        packed.data[::5] = np.where(  # a zero may be stored
            packed.data[::5] == 5, 5, 0
        )
        X = packed.toarray()
        bins, codes = bin_features(X, weight, max_bins)
        found, own = bin_sparse(packed, weight, max_bins)
        assert_array_equal(found.edges, bins.edges)
        assert_array_equal(found.indptr, bins.indptr)
        assert_array_equal(own[there], codes[there])
        assert own.flags.f_contiguous
