"""Small matrices of a grouping's levels, against NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn._kernels.linear._levels import (
    add_entries,
    add_products,
    divide_back,
    factor_levels,
    inverse_levels,
    subtract_levels,
    sum_products,
    transform,
)


def test_products_are_added_to_their_levels():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, 40).astype(np.int32)
    Z, F = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    out = np.ones((5, 3, 2))
    add_products(codes, Z, F, out)
    for c in range(5):
        assert_allclose(out[c], 1 + Z[codes == c].T @ F[codes == c])


def test_matrices_are_transformed_and_summed():
    rng = np.random.default_rng(0)
    A, left, right = rng.normal(size=(6, 3, 4)), np.eye(3, 2), rng.normal(size=(4, 5))
    left[2] = 0.5
    out = np.empty((6, 2, 5))
    transform(left, A, right, out)
    assert_allclose(out, left.T @ A @ right)
    out = np.empty((6, 2, 4))
    transform(left, A, None, out)
    assert_allclose(out, left.T @ A)
    total = np.ones((3, 2))
    sum_products(A, out[:, :, :3].copy(), total)  # the last column of A is left out
    assert_allclose(total, 1 + np.einsum("nqs,nrs->qr", A[:, :, :3], out[:, :, :3]))


def draw(seed, r, n_dense=7, p=2, n_levels=6):
    """Levels, the whole matrix they are part of, and where their entries lie."""
    rng = np.random.default_rng(seed)
    n = n_levels * r
    B = rng.normal(size=(n + n_dense + p + 1, n + n_dense + p + 1))
    A = B @ B.T + 5 * np.eye(len(B))
    mask = np.kron(np.eye(n_levels), np.ones((r, r)))
    A[:n, :n] *= mask
    meets = rng.random((n_levels, n_dense)) < 0.4
    A[:n, n : n + n_dense] *= np.repeat(meets, r, axis=0)
    A[n : n + n_dense, :n] = A[:n, n : n + n_dense].T
    A += 40 * np.eye(len(A))
    M = np.stack([A[i * r : (i + 1) * r, i * r : (i + 1) * r] for i in range(n_levels)])
    R = A[:n, n + n_dense :].reshape(n_levels, r, p + 1).copy()
    level, place = np.nonzero(meets)
    V = np.stack(
        [A[i * r : (i + 1) * r, n + c] for i, c in zip(level, place, strict=True)]
    )
    counts = np.bincount(level, minlength=n_levels)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    return A, M, R, V, indptr, place.astype(np.intp), n


@pytest.mark.parametrize("r", [1, 2, 4])
def test_elimination_is_that_of_the_whole_matrix(r):
    A, M, R, V, indptr, place, n = draw(r, r)
    n_dense, p = 7, 2
    root, R_new, V_new = M.copy(), R.copy(), V.copy()
    log_det = factor_levels(root, R_new, V_new, indptr)
    assert_allclose(log_det, np.linalg.slogdet(A[:n, :n])[1])
    assert_allclose(np.einsum("nab,ncb->nac", root, root), M)
    D = A[n:, n:].copy()
    subtract_levels(R_new, V_new, indptr, place, n_dense, D)
    flat = R_new.reshape(-1, p + 1)
    D[n_dense:, n_dense:] -= flat.T @ flat
    schur = A[n:, n:] - A[n:, :n] @ np.linalg.solve(A[:n, :n], A[:n, n:])
    assert_allclose(np.tril(D), np.tril(schur), atol=1e-10)
    # what follows is of the matrix without its last row, the target
    divide_back(root, R_new, V_new, indptr)
    inverse = np.linalg.inv(A[:-1, :-1])
    C = inverse[n:, n:].copy()
    own, entries = np.empty(M.shape), np.empty(V.shape)
    fixed = -(R_new[:, :, :p] @ C[n_dense:, n_dense:])
    inverse_levels(root, R_new, V_new, indptr, place, C, n_dense, own, fixed, entries)
    for i in range(len(M)):
        rows = slice(i * r, (i + 1) * r)
        assert_allclose(own[i], inverse[rows, rows], atol=1e-12)
        assert_allclose(fixed[i], inverse[rows, n + n_dense :], atol=1e-12)
        for e in range(indptr[i], indptr[i + 1]):
            assert_allclose(entries[e], inverse[rows, n + place[e]], atol=1e-12)


def test_entries_are_added_up_by_level():
    _, M, _, V, indptr, place, _ = draw(0, 2)
    x, out = np.arange(7.0), np.ones((len(M), 2))
    add_entries(V, indptr, place, x, out)
    for i in range(len(M)):
        mine = slice(indptr[i], indptr[i + 1])
        assert_allclose(out[i], 1 + x[place[mine]] @ V[mine])


def test_a_matrix_that_is_not_positive_definite_is_noticed():
    M = np.stack([np.eye(2), -np.eye(2)])
    none = np.zeros(3, dtype=np.intp)
    found = factor_levels(M, np.zeros((2, 2, 1)), np.zeros((0, 2)), none)
    assert np.isnan(found)
