"""Distances of the rbf kernel are scikit-learn's, to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.metrics.pairwise import euclidean_distances

from kinlearn.svm._kernel import _squared_distances


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances(kind, dtype):
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(n, 7)).astype(dtype) for n in (30, 50))
    Z[:5] = X[:5]  # rounding makes some of these negative
    X, Z = kind(X), kind(Z)
    for other in (Z, X):
        found = _squared_distances(X, other)
        assert found.dtype == np.float64
        assert found.min() == 0
        expected = euclidean_distances(X, other, squared=True)
        assert_array_equal(found, expected.astype(np.float64))
