"""Moves of the SVM+ solver, against enumeration and NumPy."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from kinlearn._kernels.svm._plus import accumulate, certify, descend, gather


def draw(seed, m=14, n_groups=2):
    """Matrices and a feasible point that is not optimal."""
    rng = np.random.default_rng(seed)
    z = rng.choice([-1.0, 1.0], m)
    z[:4] = 1, 1, -1, -1
    group = np.sort(rng.integers(0, n_groups, m)).astype(np.int32)
    _, group = np.unique(group, return_inverse=True)
    group = group.astype(np.int32)
    one, two = rng.normal(size=(m, m)), rng.normal(size=(m, m))
    Q = np.multiply.outer(z, z) * (one @ one.T)
    R = (two @ two.T) * (group[:, None] == group)
    return Q, R, z, group, rng.uniform(0.5, 2, m), rng


def gradients(Q, R, a, b, cost):
    return Q @ a - 1, R @ (a + b - cost)


def objective(Q, R, a, b, cost):
    u = a + b - cost
    return -a.sum() + 0.5 * a @ Q @ a + 0.5 * u @ R @ u


def enumerated_violation(F, H, a, b, z, group):
    """The steepest descent over all moves, each tried by itself."""
    m = len(a)
    variables = [(F[i] + H[i], a[i], z[i], group[i]) for i in range(m)]
    variables += [(H[i], b[i], 0, group[i]) for i in range(m)]
    worst, ups, downs = 0.0, [np.inf], [-np.inf]
    for up, down in product(variables, variables):
        if up[3] != down[3] or down[1] <= 0:
            continue
        slope = up[0] - down[0]  # up grows by one, down falls by one
        change = up[2] - down[2]  # of z'a
        if change == 0:
            worst = max(worst, -slope)
        elif change > 0:
            ups.append(slope / change)
        else:
            downs.append(-slope / -change)
    return max(worst, max(downs) - min(ups))


@pytest.mark.parametrize("seed", range(20))
def test_violation_is_that_of_all_moves(seed):
    Q, R, z, group, cost, rng = draw(seed, n_groups=1 + seed % 4)
    a = rng.uniform(size=14) * (rng.uniform(size=14) < 0.5)
    b = rng.uniform(size=14) * (rng.uniform(size=14) < 0.5)
    b[0] = max(b[0], 0.1)
    F, H = gradients(Q, R, a, b, cost)
    offsets, witness = np.empty((group.max() + 1, 6)), np.empty(10, dtype=np.intp)
    violation, _, _ = certify(F, H, a, b, z, group, offsets, witness)
    assert_allclose(violation, enumerated_violation(F, H, a, b, z, group))


@pytest.mark.parametrize("seed", range(20))
def test_no_violation_is_no_feasible_descent(seed):
    """Elementary moves are enough: a linear programme over all directions agrees."""
    Q, R, z, group, cost, _ = draw(seed, n_groups=1 + seed % 4)
    a, b = np.zeros(14), cost.copy()
    F, H = gradients(Q, R, a, b, cost)
    n_groups = group.max() + 1
    n_moves = [3, 10**6][seed % 2]
    descend(Q, R, z, group, F, H, a, b, 1e-9, n_moves)
    offsets, witness = np.empty((n_groups, 6)), np.empty(10, dtype=np.intp)
    violation, _, _ = certify(F, H, a, b, z, group, offsets, witness)
    members = (np.arange(n_groups)[:, None] == group).astype(float)
    fixed = np.vstack([np.r_[z, np.zeros(14)], np.hstack([members, members])])
    bounds = [(0 if x == 0 else -1, 1) for x in np.r_[a, b]]
    steepest = linprog(
        np.r_[F + H, H], A_eq=fixed, b_eq=np.zeros(n_groups + 1), bounds=bounds
    )
    assert (violation > 1e-8) == (steepest.fun < -1e-8)
    assert (violation > 1e-8) == (n_moves == 3)


@pytest.mark.parametrize("seed", range(10))
def test_each_move_lowers_the_objective_and_stays_feasible(seed):
    Q, R, z, group, cost, _ = draw(seed)
    a, b = np.zeros(14), cost.copy()
    F, H = gradients(Q, R, a, b, cost)
    before = objective(Q, R, a, b, cost)
    for _ in range(40):
        n_iter, violation = descend(Q, R, z, group, F, H, a, b, 1e-9, 1)
        after = objective(Q, R, a, b, cost)
        assert after < before or n_iter == 0
        before = after
        assert min(a.min(), b.min()) >= 0
        assert_allclose(z @ a, 0, atol=1e-12)
        assert_allclose(np.bincount(group, weights=a + b - cost), 0, atol=1e-12)
        assert_allclose([F, H], gradients(Q, R, a, b, cost), atol=1e-9)
        if n_iter == 0:
            assert violation <= 1e-9
            break


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 6])
def test_block_of_a_matrix_is_zero_between_groups(dtype, k):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(9, 12)).astype(dtype)
    slots, columns = rng.integers(0, 9, size=k), rng.integers(0, 12, size=k)
    factor = rng.normal(size=k)
    group = np.sort(rng.integers(0, 3, size=k)).astype(np.int32)
    out = np.full((k, k), np.nan)
    gather(rows, slots, columns, factor, group, out)
    expected = rows[slots[:, None], columns] * np.multiply.outer(factor, factor)
    assert_allclose(out, np.where(group[:, None] == group, expected, 0.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [0, 1, 3, 4, 7, 8])
def test_sums_of_rows(dtype, k):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(9, 12)).astype(dtype)
    slots, coef = rng.permutation(9)[:k].astype(np.intp), rng.normal(size=k)
    coef[::3] = 0
    out = rng.normal(size=5)
    expected = out + coef @ rows[slots, 2:7].astype(np.float64)
    accumulate(rows, slots, coef, 2, out)
    assert_allclose(out, expected, rtol=1e-12, atol=1e-14)
