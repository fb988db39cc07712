"""Kernel rows and their store against scikit-learn's pairwise kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import pairwise_kernels

from kinlearn._kernels.svm._rows import Kernel, KernelRows, RowCache

PARAMETERS = {
    "linear": (Kernel.LINEAR, {}),
    "rbf": (Kernel.RBF, {"gamma": 0.3}),
    "poly": (Kernel.POLY, {"gamma": 0.2, "coef0": 0.5, "degree": 2}),
}


def problem(kernel, n=70, d=7, form="float64", seed=0):
    """Rows of a kernel in one of its forms, and the matrix by scikit-learn."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    kind, options = PARAMETERS[kernel]
    K = pairwise_kernels(X, metric=kernel, **options)
    if form == "sparse":
        csr = sp.csr_array(X)
        parts = csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data
        return KernelRows(kind, **options, csr=parts, n_features=d), K
    if form == "precomputed":
        return KernelRows(Kernel.PRECOMPUTED, matrix=K), K
    return KernelRows(kind, **options, packed=np.asfortranarray(X, dtype=form)), K


@pytest.mark.parametrize("form", ["float64", "float32", "sparse", "precomputed"])
@pytest.mark.parametrize("kernel", sorted(PARAMETERS))
@pytest.mark.parametrize("n", [1, 70, 1500])
def test_rows_are_those_of_the_kernel_matrix(kernel, form, n):
    rows, K = problem(kernel, n=n, form=form)
    which = np.random.default_rng(1).permutation(n)[:37].astype(np.intp)
    scale = np.abs(K).max()
    assert_allclose(rows.rows(which), K[which], rtol=2e-6, atol=2e-6 * scale)
    assert_allclose(rows.diagonals(), np.diagonal(K), rtol=1e-6)
    coef = np.zeros(n)
    coef[which] = np.random.default_rng(2).normal(size=len(which))
    assert_allclose(rows.product(coef), K @ coef, rtol=1e-5, atol=2e-5 * scale)


def test_rbf_of_far_and_equal_rows():
    X = np.asfortranarray([[0.0], [0.0], [1e-9], [1.0], [1e6]])
    rows = KernelRows(Kernel.RBF, gamma=1.0, packed=X)
    first = rows.rows(np.array([0]))[0]
    assert_array_equal(first[:3], 1.0)
    assert_allclose(first[3], np.exp(-1.0), rtol=3e-7)
    assert 0.0 <= first[4] < 1e-37


@pytest.mark.parametrize("form", ["float64", "float32", "sparse", "precomputed"])
def test_store_gives_the_same_rows_through_shrinking(form):
    rng = np.random.default_rng(3)
    rows, K = problem("rbf", form=form)
    cache = RowCache(rows, 40 * 70 * 4)
    place = np.arange(70)  # what stands where
    for step in range(60):
        active = place[: cache.length]
        which = rng.permutation(cache.length)[: rng.integers(1, 20)].astype(np.intp)
        expected = K[np.ix_(active[which], active)]
        assert_allclose(cache.rows(which), expected, rtol=1e-5)
        if step % 7 == 3:
            stays = rng.random(cache.length) < 0.7
            stays[0] = True
            cache.shrink_to(np.flatnonzero(stays))
            place = np.concatenate([active[stays], active[~stays]])
        elif step % 25 == 24:
            cache.restore_all()
            place = np.arange(70)


def test_store_computes_a_row_once_while_it_fits():
    rows, _ = problem("rbf")
    cache = RowCache(rows, 70 * 70 * 4)
    everything = np.arange(70)
    cache.rows(everything)
    cache.rows(everything[::-1].copy())
    assert cache.n_computed == 70
    cache.shrink_to(everything[10:60])
    cache.rows(np.arange(50))
    assert cache.n_computed == 70


def test_store_forgets_the_row_unused_for_longest():
    rows, _ = problem("linear")
    cache = RowCache(rows, 0)
    assert cache.n_slots == 32
    cache.rows(np.arange(32))
    cache.rows(np.array([0]))  # now 1 is the oldest
    cache.rows(np.array([40]))
    before = cache.n_computed
    cache.rows(np.array([0]))
    assert cache.n_computed == before
    cache.rows(np.array([1]))
    assert cache.n_computed == before + 1


def test_room_grows_as_rows_get_shorter():
    rows, _ = problem("linear")
    cache = RowCache(rows, 0)
    cache.rows(np.arange(32))
    cache.shrink_to(np.arange(0, 70, 2))
    assert cache.n_slots == 35
    assert cache.n_used == 16


@pytest.mark.parametrize("form", ["float64", "float32", "sparse", "precomputed"])
def test_held_rows_stay_together(form):
    rng = np.random.default_rng(4)
    rows, K = problem("rbf", form=form)
    cache = RowCache(rows, 40 * 70 * 4)
    cells = cache.stored()
    assert cells.shape == (40, 70)
    for _ in range(20):
        which = rng.integers(0, 70, size=rng.integers(1, 41)).astype(np.intp)
        slots = cache.hold(which)
        assert_allclose(cells[slots], K[which], rtol=2e-6, atol=2e-6)
    computed = cache.n_computed
    assert_array_equal(cache.hold(which), slots)  # all of them are there
    assert cache.n_computed == computed
    few = which[:3]
    assert_allclose(cache.rows(np.unique(few)), K[np.unique(few)], atol=2e-6)
    assert cache.n_computed == computed
