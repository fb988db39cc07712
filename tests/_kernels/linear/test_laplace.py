"""Rows of generalised mixed models, against NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from kinlearn._kernels.linear._laplace import (
    add_effects,
    family_terms,
    multiply_rows,
    solve_levels,
    sum_entries,
    sum_row_products,
    sum_scores,
)


@pytest.mark.parametrize("family", [0, 1])
def test_likelihoods_and_their_derivatives(family):
    rng = np.random.default_rng(0)
    eta, weight = rng.normal(scale=3, size=50), rng.random(50)
    y = rng.integers(0, 2 + 3 * family, size=50).astype(float)

    def terms(eta):
        out = np.empty((3, 50))
        return family_terms(family, eta, y, weight, *out), *out

    value, slope, curve, bend = terms(eta)
    if family == 0:
        mean, variance = expit(eta), expit(eta) * expit(-eta)
        expected = -np.where(y == 1, np.log(mean), np.log1p(-mean))
    else:
        mean = variance = np.exp(eta)
        expected = mean - y * eta
    assert_allclose(value, weight @ expected)
    assert_allclose(slope, weight * (mean - y), atol=1e-15)
    assert_allclose(curve, weight * variance)
    h = 1e-5
    assert_allclose(
        bend, (terms(eta + h)[2] - terms(eta - h)[2]) / (2 * h), rtol=1e-6, atol=1e-9
    )


def test_likelihoods_far_out():
    eta = np.array([800.0, -800.0, 800.0, 3.0])
    y, weight = np.array([1.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0, 0.0])
    out = np.empty((3, 4))
    assert family_terms(0, eta, y, weight, *out) == 800.0
    assert np.isfinite(out).all()
    assert (out[:, 3] == 0).all()  # no weight
    with np.errstate(all="ignore"):
        assert family_terms(1, eta, y, weight, *out) == np.inf


def draw(seed, r, widths, n=40, n_levels=5):
    """Rows with effects of a level, and of other groupings, at places of theirs."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_levels, size=n).astype(np.int32)
    size, places = 0, [np.zeros((n, 0), dtype=np.int32)]
    for width in widths:
        level = rng.integers(4, size=n)
        places.append(size + level[:, None] * width + np.arange(width))
        size += 4 * width
    place = np.hstack(places).astype(np.int32)
    # an entry for every pair of a level and a place, whether they meet or not
    entry = (codes[:, None] * size + place).astype(np.int32)
    A, B = rng.normal(size=(n, r)), rng.normal(size=place.shape)
    whole = np.zeros((n, n_levels * r + size))
    for i in range(n):
        whole[i, codes[i] * r : (codes[i] + 1) * r] = A[i]
        whole[i, n_levels * r + place[i]] = B[i]
    return codes, A, place, entry, B, size, whole, rng


SHAPES = [(1, []), (3, []), (1, [1]), (2, [1, 3])]


@pytest.mark.parametrize(("r", "widths"), SHAPES)
def test_sums_over_rows(r, widths):
    codes, A, place, entry, B, size, whole, rng = draw(0, r, widths)
    m, c = 5 * r, rng.random(40)
    x = rng.normal(size=m + size)
    out = np.ones(40)
    add_effects(codes, A, x[:m].reshape(5, r), place, B, x[m:].copy(), out)
    assert_allclose(out, 1 + whole @ x)
    u, d = np.zeros((5, r)), np.zeros(size)
    sum_scores(codes, A, place, B, c, u, d)
    assert_allclose(np.append(u, d), c @ whole)
    M, V, D = np.zeros((5, r, r)), np.zeros((5 * size, r)), np.zeros((size, size))
    sum_row_products(codes, A, place, entry, B, c, M, V, D)
    full = whole.T @ (c[:, None] * whole)
    assert_allclose(np.tril(D), np.tril(full[m:, m:]), atol=1e-12)
    for i in range(5):
        mine = slice(i * r, (i + 1) * r)
        assert_allclose(np.tril(M[i]), np.tril(full[mine, mine]), atol=1e-12)
        assert_allclose(V[i * size : (i + 1) * size], full[m:, mine], atol=1e-12)


@pytest.mark.parametrize(("r", "widths"), SHAPES)
def test_rows_times_the_inverse(r, widths):
    codes, A, place, entry, B, size, whole, _ = draw(1, r, widths)
    m = 5 * r
    P = np.linalg.inv(whole.T @ whole + np.eye(m + size))
    own = np.stack([P[i * r : (i + 1) * r, i * r : (i + 1) * r] for i in range(5)])
    entries = np.vstack([P[m:, i * r : (i + 1) * r] for i in range(5)])
    PA, PB, leverage = np.empty_like(A), np.empty_like(B), np.empty(40)
    dense = P[m:, m:].copy()
    multiply_rows(
        codes, A, place, entry, B, own, entries.copy(), dense, PA, PB, leverage
    )
    products = whole @ P
    for i in range(40):
        mine = slice(codes[i] * r, (codes[i] + 1) * r)
        assert_allclose(PA[i], products[i, mine])
        assert_allclose(PB[i], products[i, m + place[i]])
    assert_allclose(leverage, np.einsum("ij,ij->i", products, whole))


def test_levels_are_solved_and_entries_summed():
    rng = np.random.default_rng(2)
    S = rng.normal(size=(4, 3, 3))
    S = S @ S.transpose(0, 2, 1) + np.eye(3)
    x = rng.normal(size=(4, 3))
    solved = x.copy()
    solve_levels(np.linalg.cholesky(S), solved)
    assert_allclose(solved, np.linalg.solve(S, x[:, :, None])[:, :, 0])
    V, indptr = rng.normal(size=(5, 3)), np.array([0, 2, 2, 4, 5])
    place = np.array([1, 3, 0, 1, 3])
    out, expected = np.zeros(4), np.zeros(4)
    sum_entries(V, indptr, place, x, out)
    for e, level in enumerate([0, 0, 2, 2, 3]):
        expected[place[e]] += V[e] @ x[level]
    assert_allclose(out, expected)
