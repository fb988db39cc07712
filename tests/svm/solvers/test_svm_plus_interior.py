"""The interior point method of SVM+ blocks, against a solver of such programmes."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kinlearn.svm.solvers._plus_block import Block


def draw(seed, penalty):
    """A block with a feasible point that is not the optimum."""
    rng = np.random.default_rng(seed)
    k, n_groups = int(rng.integers(8, 60)), int(rng.integers(1, 4))
    z = rng.choice([-1.0, 1.0], k)
    z[:2] = 1, -1
    group = np.sort(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, k)]))
    group = group[:k] if len(np.unique(group[:k])) == n_groups else np.zeros(k, int)
    few, more = rng.normal(size=(k, 4)), rng.normal(size=(k, k))
    Q = (few @ few.T) * np.outer(z, z)
    R = (more @ more.T) * (group[:, None] == group) / penalty
    a, b = rng.uniform(0, 5, size=(2, k))
    a[rng.uniform(size=k) < 0.3] = 0.0
    linear = np.full(k, -1.0)
    cost = rng.uniform(1, 3, k)
    return Q, R, z, group, linear + Q @ a, R @ (a + b - cost), a, b


def change(Q, R, F, H, by_a, by_b):
    """By how much the objective rises."""
    by_u = by_a + by_b
    return (F + 0.5 * Q @ by_a) @ by_a + (H + 0.5 * R @ by_u) @ by_u


def best_change(Q, R, z, group, F, H, a, b):
    k = len(z)
    P = np.block([[Q + R, R], [R, R]])
    members = (np.unique(group)[:, None] == group).astype(float)
    fixed = np.vstack([np.hstack([members, members]), np.append(z, np.zeros(k))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(P)),
        np.concatenate([F + H, H]),
        sp.csc_matrix(np.vstack([fixed, -np.eye(2 * k)])),
        np.concatenate([np.zeros(len(fixed)), a, b]),
        [clarabel.ZeroConeT(len(fixed)), clarabel.NonnegativeConeT(2 * k)],
        settings,
    ).solve()
    x = np.array(solution.x)
    return change(Q, R, F, H, x[:k], x[k:])


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(10))
def test_the_point_is_feasible_and_near_the_optimum(seed, penalty):
    block = Q, R, z, group, F, H, a, b = draw(seed, penalty)
    new_a, new_b = Block(*block).near_optimum()
    assert (new_a >= 0).all()
    assert (new_b >= 0).all()
    assert ((new_a == 0) | (new_b == 0)).any()  # at the bound, not near it
    assert_allclose(z @ new_a, z @ a, atol=1e-9 * a.sum())
    sums = [np.bincount(group, weights=u) for u in (new_a + new_b, a + b)]
    assert_allclose(*sums, rtol=1e-9)
    best = best_change(*block)
    found = change(Q, R, F, H, new_a - a, new_b - b)
    assert best < 0
    assert_allclose(found, best, rtol=1e-6)


def test_without_an_inside_there_is_no_point():
    Q, R, z, _, F, H, a, b = draw(0, 1.0)
    group = np.repeat([0, 1], [3, len(z) - 3])
    zero = np.where(group == 0, 0.0, 1.0)  # a group that has nothing to share out
    block = Block(Q, R, z, group, F, H, a * zero, b * zero)
    assert block.near_optimum() is None
    ones, one = np.ones_like(z), np.zeros_like(group)  # one class: a stays 0
    block = Block(Q, R, ones, one, F, H, np.zeros_like(a), b)
    assert block.near_optimum() is None


def test_what_is_not_a_number_gives_no_point():
    Q, R, z, group, F, H, a, b = draw(1, 1.0)
    F[0] = np.nan
    assert Block(Q, R, z, group, F, H, a, b).near_optimum() is None
