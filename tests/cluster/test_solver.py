"""The objective, and that solutions are minima of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kinlearn.cluster._affinity import Affinity, build_affinity
from kinlearn.cluster._solver import Problem, Solution, contrasts
from tests.reference.symmetric_nmf import (
    objective,
    penalty,
    thesis_objective,
    thesis_update,
)


def _problem(k=2, *, balance=0.7, lambda_inter=0.3, sparse=False, shares=None, seed=0):
    rng = np.random.default_rng(seed)
    task = np.repeat([0, 1, 2], 8).astype(np.int32)
    X = rng.random((24, 10)) * (rng.random((24, 10)) < 0.5)
    lambdas = np.where(np.eye(3) > 0, 1.0, lambda_inter)
    affinity, _ = build_affinity(
        sp.csr_array(X) if sparse else X, "shared", 1.0, task, lambdas, normalize=True
    )
    shares = np.full((3, k), 1 / k) if shares is None else shares
    return Problem.build(affinity, np.arange(24), lambdas, balance, shares)


def _mean_affinity_within(problem):
    W, task = problem.affinity.W, problem.task
    blocks = [W[np.ix_(task == t, task == t)] for t in range(3)]
    return np.array([b.sum() / (len(b) * (len(b) - 1)) for b in blocks])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("lambda_inter", [0.0, 0.3])
def test_objective_equals_the_slow_twin(k, lambda_inter):
    shares = np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum()
    shares = np.tile(shares, (3, 1))
    problem = _problem(k, lambda_inter=lambda_inter, shares=shares)
    V = problem.start(np.random.default_rng(0))
    lambdas = problem.weight
    scales = np.divide(1.0, lambdas, out=np.zeros((3, 3)), where=lambdas > 0)
    alphas = 0.7 * _mean_affinity_within(problem)
    expected = objective(
        problem.affinity.W, V, problem.task, lambdas, scales, alphas, shares
    )
    assert_allclose(problem.objectives(V).sum(), expected)
    terms = _problem(k, lambda_inter=lambda_inter, shares=shares, sparse=True)
    assert_allclose(terms.objectives(V), problem.objectives(V))


def test_two_clusters_of_equal_shares_are_the_thesis_penalty():
    V = np.random.default_rng(0).random((12, 2))
    task = np.arange(12) % 3
    shares = np.full((3, 2), 0.5)
    assert_allclose(contrasts(2, shares), np.tile([[1.0, -1], [-1, 1]], (3, 1, 1)))
    W = V @ V.T
    assert_allclose(
        penalty(V, task, [0.4] * 3, shares), thesis_objective(W, V, task, 0.4)
    )


@pytest.mark.parametrize("k", [2, 3, 4])
def test_contrasts_vanish_at_the_given_shares_only(k):
    shares = np.random.default_rng(k).dirichlet(np.ones(k), size=2)
    form = contrasts(k, shares)
    for t in range(2):
        assert_allclose(form[t] @ shares[t], 0, atol=1e-12)
        assert np.linalg.matrix_rank(form[t]) == k - 1


@pytest.mark.parametrize("sparse", [False, True])
def test_gradient_and_curvature_are_derivatives(sparse):
    problem = _problem(3, sparse=sparse)
    rng = np.random.default_rng(1)
    V, D = problem.start(rng), rng.standard_normal((24, 3))

    def along(step):
        return problem.objectives(V + step * D).sum()

    h = 1e-4
    slope = (along(h) - along(-h)) / (2 * h)
    assert_allclose(np.vdot(problem.gradient(V), D), slope, rtol=1e-5)
    bend = (problem.gradient(V + h * D) - problem.gradient(V - h * D)) / (2 * h)
    assert_allclose(problem.curve(V, D), bend, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("balance", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_objective_never_rises(k, balance, sparse):
    problem = _problem(k, balance=balance, sparse=sparse)
    V = problem.start(np.random.default_rng(3))
    values = [problem.objectives(V).sum()]
    for _ in range(30):
        V = problem.minimise(V, tol=0.0, max_iter=1).V
        values.append(problem.objectives(V).sum())
    assert (np.diff(values) <= 1e-13 * values[0]).all()
    assert values[-1] < values[0]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_solution_is_a_local_minimum(k, seed):
    problem = _problem(k, seed=seed)
    rng = np.random.default_rng(seed)
    found = problem.minimise(problem.start(rng), tol=1e-14, max_iter=20_000)
    found = problem.polish(found, rng, tol=1e-14, max_iter=20_000)
    assert problem.residual(found.V) < 1e-5
    # all of the second derivative, over the entries that may move
    free = np.flatnonzero(found.V.ravel() > 1e-8)
    units = np.eye(found.V.size)[free].reshape(-1, *found.V.shape)
    H = np.array([problem.curve(found.V, D).ravel()[free] for D in units])
    eigenvalues = np.linalg.eigvalsh((H + H.T) / 2)
    assert eigenvalues[0] > -1e-4 * eigenvalues[-1]
    value = found.objective.sum()
    for size in (1e-3, 1e-2):
        for _ in range(50):
            near = found.V + size * found.V.max() * rng.standard_normal(found.V.shape)
            assert problem.objectives(np.maximum(near, 0)).sum() >= value * (1 - 1e-9)


def test_a_saddle_is_left():
    # two blocks, and both clusters the same: stationary, but no minimum
    task = np.zeros(10, dtype=np.int32)
    W = np.kron(np.eye(2), np.ones((5, 5)))
    np.fill_diagonal(W, 0)
    problem = Problem.build(
        Affinity(W, task), np.arange(10), np.ones((1, 1)), 0.0, np.full((1, 2), 0.5)
    )
    V = problem.minimise(np.full((10, 2), 0.3), tol=0.0, max_iter=1).V
    V = np.full((10, 2), V.mean())
    for _ in range(200):  # keep both columns the same
        V = problem.minimise(V, tol=0.0, max_iter=1).V
        V = np.repeat(V.mean(axis=1, keepdims=True), 2, axis=1)
    saddle = Solution(V, problem.objectives(V), 200, True)
    rng = np.random.default_rng(0)
    assert problem.descent(V, rng) is not None
    found = problem.polish(saddle, rng, tol=1e-12, max_iter=1000)
    assert found.objective.sum() < 0.5 * saddle.objective.sum()
    labels = found.V.argmax(axis=1)
    assert len(set(labels[:5])) == len(set(labels[5:])) == 1
    assert labels[0] != labels[5]


@pytest.mark.parametrize("seed", range(5))
def test_coordinates_end_no_higher_than_multiplicative_updates(seed):
    problem = _problem(seed=seed, lambda_inter=1.0)
    alphas = np.full(3, 0.02)
    problem = Problem(
        problem.affinity,
        problem.task,
        problem.order,
        problem.weight,
        alphas[:, None, None] * contrasts(2, np.full((3, 2), 0.5)),
        problem.constant,
        problem.component,
    )
    W, task = problem.affinity.W, problem.task
    start = problem.start(np.random.default_rng(seed))
    V = start.copy()
    for _ in range(60):
        V, _ = thesis_update(W, V, task, alpha=0.02)
    ours = problem.minimise(start.copy(), tol=0.0, max_iter=60)
    assert_allclose(ours.objective.sum(), thesis_objective(W, ours.V, task, 0.02))
    assert ours.objective.sum() <= thesis_objective(W, V, task, 0.02) * (1 + 1e-3)


def test_zero_penalty_is_plain_symmetric_nmf():
    problem = _problem(balance=0.0, lambda_inter=1.0)
    W = problem.affinity.W
    found = problem.minimise(
        problem.start(np.random.default_rng(0)), tol=1e-15, max_iter=5000
    )
    V = found.V
    assert_allclose(found.objective.sum(), 0.5 * np.sum((W - V @ V.T) ** 2))
    for _ in range(20):  # a fixed point of the multiplicative rule, too
        V, _ = thesis_update(W, V, problem.task, alpha=0.0)
    assert_allclose(V, found.V, atol=1e-5)


# ----------------------------------------------------------------- names of clusters


def _planted(k, lambda_inter, seed=0):
    """Rows of three tasks and k plain clusters; their tasks are a little apart."""
    rng = np.random.default_rng(seed)
    task = np.repeat([0, 1, 2], 4 * k).astype(np.int32)
    cluster = np.tile(np.repeat(np.arange(k), 4), 3)
    X = 0.1 * rng.random((12 * k, k + 3))
    X[np.arange(12 * k), cluster] += 1.0
    X[np.arange(12 * k), k + task] += 0.4
    lambdas = np.where(np.eye(3) > 0, 1.0, lambda_inter)
    affinity, _ = build_affinity(X, "cosine", 1.0, task, lambdas, normalize=True)
    shares = np.full((3, k), 1 / k)
    problem = Problem.build(affinity, np.arange(12 * k), lambdas, 0.5, shares)
    return problem, np.eye(k)[cluster] * np.sqrt(affinity.degrees.mean() / (4 * k))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_settle_renames_the_clusters_of_a_task(k):
    problem, V = _planted(k, 0.02)
    good = problem.minimise(V.copy(), tol=1e-9, max_iter=500)
    mixed = V.copy()
    mixed[problem.task == 1] = V[problem.task == 1][:, np.roll(np.arange(k), 1)]
    mixed[problem.task == 2] = V[problem.task == 2][:, ::-1]
    stuck = problem.minimise(mixed.copy(), tol=1e-9, max_iter=500)
    assert stuck.objective.sum() > good.objective.sum() * 1.001
    found = problem.settle(mixed.copy(), tol=1e-9, max_iter=500)
    assert_allclose(found.objective.sum(), good.objective.sum(), rtol=1e-5)
    names = [found.V[problem.task == t].argmax(axis=1).tolist() for t in range(3)]
    assert names[0] == names[1] == names[2]
    assert problem.residual(found.V) < 1e-3


def test_tasks_that_share_nothing_keep_their_names():
    problem, V = _planted(3, 0.0)
    V[problem.task == 1] = V[problem.task == 1][:, ::-1]
    one = problem.minimise(V.copy(), tol=1e-9, max_iter=500)
    two = problem.settle(V.copy(), tol=1e-9, max_iter=500)
    assert_allclose(one.V, two.V)


@pytest.mark.parametrize("seed", range(5))
def test_settle_never_ends_above_the_sweeps(seed):
    problem = _problem(3, lambda_inter=0.1, seed=seed)
    V = problem.start(np.random.default_rng(seed))
    one = problem.minimise(V.copy(), tol=1e-6, max_iter=500)
    two = problem.settle(V.copy(), tol=1e-6, max_iter=500)
    assert two.objective.sum() <= one.objective.sum() + 1e-12
