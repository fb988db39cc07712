import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._kernels import _binning


def bin_columns(X, edges):
    """The kernel, on a list of edges for each column."""
    indptr = np.cumsum([0, *map(len, edges)]).astype(np.int32)
    out = np.empty(X.shape, dtype=np.uint8, order="F")
    _binning.assign_bins(X, np.concatenate(edges).astype(float), indptr, out)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_edges", [0, 1, 2, 127, 128, 253, 254])
def test_bin_is_the_number_of_edges_below(n_edges, order, dtype):
    rng = np.random.default_rng(n_edges)
    X = np.asarray(rng.normal(size=(500, 2)), dtype=dtype, order=order)
    # some edges are values: x <= edge keeps the value on the left of it
    edges = [np.sort(rng.choice(X[:, j].astype(float), n_edges)) for j in range(2)]
    expected = [np.searchsorted(edges[j], X[:, j].astype(float)) for j in range(2)]
    assert_array_equal(bin_columns(X, edges), np.transpose(expected))


def test_missing_values_get_the_last_bin():
    X = np.array([[np.nan], [1.0], [-np.inf], [np.inf]])
    assert_array_equal(bin_columns(X, [[0.0]]).ravel(), [255, 1, 0, 1])
