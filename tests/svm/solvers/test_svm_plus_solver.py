"""The solver of SVM+ against an interior-point solver, and by its optimality."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.svm import _matrices
from kinlearn.svm._kernel import make_space
from kinlearn.svm._matrices import StoredRows
from kinlearn.svm._problem import classification, regression
from kinlearn.svm.solvers import _plus, _plus_block, solve_plus
from tests.reference import svm_plus as qp
from tests.seeds import seeds


def draw(seed, n_groups=None, n_most=45):
    """A random problem: kernels, costs, groups, penalty, classes and numbers."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, n_most))
    X, privileged = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    n_groups = n_groups or int(rng.integers(2, 6))
    group = rng.integers(0, n_groups, n)
    y = X[:, 0] + 0.7 * rng.normal(size=n)
    sign = np.where(y > 0, 1.0, -1.0)
    sign[:2] = 1, -1

    def kernel(data):
        kind = rng.choice(["linear", "rbf", "poly"])
        gamma = 0.5 if kind == "poly" else 10 ** rng.uniform(-2, 1)
        return make_space(data, kind, gamma, 1.0, 2)

    cost = 10 ** rng.uniform(-2, 2) * rng.uniform(0.5, 2, n)
    penalty = 10 ** rng.uniform(-2, 2)
    return X, privileged, kernel(X), kernel(privileged), cost, group, penalty, sign, y


def solve(problem, X, privileged, decision, correcting, penalty, tol=1e-3, **options):
    options = {"most": 10**6, "max_iter": -1, **options}
    most = options.pop("most")
    return solve_plus(
        problem,
        StoredRows(decision, X, problem.rows, most),
        StoredRows(correcting, privileged, problem.rows, most),
        penalty,
        tol=tol,
        **options,
    )


def assert_solved(solution, problem, K, correcting, penalty, tol=1e-3):
    """Feasible, and no worse than any point may be by the optimality conditions."""
    a, b = solution.variables
    sides, n = problem.sides, len(problem.rows)  # too high comes first in the dual
    z, p, cost = (x[::-1].ravel() for x in (sides.sign, sides.linear, sides.cost))
    sample, group = np.tile(np.arange(n), len(sides.sign)), problem.group
    group = np.concatenate([group + 100 * k for k in range(len(sides.sign))])
    scale = cost.max() * len(z)
    assert (a >= 0).all()
    assert (b >= 0).all()
    assert_allclose(z @ a, 0, atol=1e-9 * scale)
    u = a + b - cost
    sums = np.bincount(group, weights=u)
    assert_allclose(sums, 0, atol=1e-9 * scale)
    K = K[np.ix_(problem.rows, problem.rows)]
    K = K[np.ix_(sample, sample)]
    R = correcting[np.ix_(problem.rows, problem.rows)] / penalty
    R = R[np.ix_(sample, sample)]
    R = R * (group[:, None] == group)
    value = z * (K @ (z * a))
    objective = p @ a + 0.5 * a @ value + 0.5 * u @ R @ u
    assert_allclose(solution.objective, objective, rtol=1e-7, atol=1e-9 * scale)
    # a > 0 on the margin, b > 0 where the slack is 0; nothing beyond the margin
    slack = solution.slack.ravel()
    margin = p + value + z * solution.intercept[0] + slack
    assert margin.min() > -2 * tol
    assert abs(margin[a > 0]).max(initial=0) < 2 * tol
    assert abs(slack[b > 0]).max(initial=0) < 2 * tol


@pytest.mark.parametrize("start", seeds(2, 0, 200, 25))
@pytest.mark.parametrize("n_groups", [1, None], ids=["LUPI", "LWSD"])
def test_classification_reaches_the_optimum(n_groups, start):
    for seed in range(start, start + 25):
        X, extra, k, k_star, cost, group, penalty, sign, _ = draw(seed, n_groups)
        problem = classification(group, group.max() + 1, sign, cost)
        found = solve(problem, X, extra, k, k_star, penalty)
        assert found.converged
        assert found.violation <= 1e-3
        K, R = k.between(X, X), k_star.between(extra, extra)
        assert_solved(found, problem, K, R, penalty)
        *_, best = qp.classify_dual(K, R, sign, cost, group, penalty)
        assert (found.objective - best) / abs(best) < 1e-4


@pytest.mark.parametrize("start", seeds(2, 0, 200, 25))
@pytest.mark.parametrize("n_groups", [1, None], ids=["LUPI", "LWSD"])
def test_regression_reaches_the_optimum(n_groups, start):
    for seed in range(start, start + 25):
        X, extra, k, k_star, cost, group, penalty, _, y = draw(seed, n_groups, 30)
        problem = regression(group, group.max() + 1, y, cost, 0.1)
        found = solve(problem, X, extra, k, k_star, penalty)
        assert found.converged
        K, R = k.between(X, X), k_star.between(extra, extra)
        assert_solved(found, problem, K, R, penalty)
        *_, best = qp.regress_dual(K, R, y, cost, group, penalty, 0.1)
        assert (found.objective - best) / abs(best) < 1e-4


@pytest.mark.parametrize("seed", range(30))
def test_decision_and_slacks_are_those_of_the_primal(seed):
    X, extra, k, k_star, cost, group, penalty, sign, y = draw(seed, 1 + seed % 3)
    K, R = k.between(X, X), k_star.between(extra, extra)
    problem = classification(group, group.max() + 1, sign, cost)
    found = solve(problem, X, extra, k, k_star, penalty, tol=1e-7)
    primal = qp.classify_primal(K, R, sign, cost, group, penalty)
    assert_allclose(found.objective, primal.objective, rtol=1e-4)
    a, b = found.variables
    decision = K[:, problem.rows] @ found.beta + found.intercept
    if ((a > 0) & (b > 0)).any():  # else the bias may be any within an interval
        assert_allclose(decision, primal.decision, atol=1e-3)
        assert_allclose(found.slack[0], primal.slack[problem.rows], atol=2e-3)
    problem = regression(group, group.max() + 1, y, cost, 0.1)
    found = solve(problem, X, extra, k, k_star, penalty, tol=1e-7)
    primal = qp.regress_primal(K, R, y, cost, group, penalty, 0.1)
    assert_allclose(found.objective, primal.objective, rtol=1e-4)
    a, b = found.variables
    decision = K[:, problem.rows] @ found.beta
    shift = np.mean(primal.decision - decision)
    assert_allclose(decision + shift, primal.decision, atol=1e-3)
    if ((a > 0) & (b > 0)).any():
        assert_allclose(found.intercept, shift, atol=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_primal_equals_dual(seed):
    """The two twins, by themselves: the duals were derived right."""
    X, extra, k, k_star, cost, group, penalty, sign, y = draw(seed, 1 + seed % 3, 25)
    K, R = k.between(X, X), k_star.between(extra, extra)
    *_, dual = qp.classify_dual(K, R, sign, cost, group, penalty)
    primal = qp.classify_primal(K, R, sign, cost, group, penalty)
    assert_allclose(primal.objective, dual, rtol=1e-5)
    *_, dual = qp.regress_dual(K, R, y, cost, group, penalty, 0.1)
    primal = qp.regress_primal(K, R, y, cost, group, penalty, 0.1)
    assert_allclose(primal.objective, dual, rtol=1e-5)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("most", [10**6, 70])
def test_blocks_and_few_rows_kept_find_the_same(monkeypatch, kind, n_groups, most):
    rng = np.random.default_rng(5)
    X, extra = rng.normal(size=(150, 3)), rng.normal(size=(150, 2))
    group, cost = rng.integers(0, n_groups, 150), np.full(150, 2.0)
    y = X[:, 0] + 0.5 * extra[:, 0] + 0.5 * rng.normal(size=150)
    if kind == "classes":
        problem = classification(group, n_groups, np.sign(y), cost)
    else:
        problem = regression(group, group.max() + 1, y, cost, 0.1)
    k, k_star = make_space(X, "rbf"), make_space(extra, "rbf")
    whole = solve(problem, X, extra, k, k_star, 0.5, tol=1e-6)
    monkeypatch.setattr(_matrices, "_WHOLE_ROWS", 10)  # rows on demand, in float32
    monkeypatch.setattr(_plus, "_BLOCK", 64)
    found = solve(problem, X, extra, k, k_star, 0.5, tol=1e-4, most=most)
    assert found.converged
    assert_allclose(found.objective, whole.objective, rtol=1e-5)
    one, two = (k.between(X, X[problem.rows]) @ s.beta for s in (whole, found))
    assert_allclose(one, two, atol=2e-3)


def test_few_moves_are_told_as_not_converged():
    X, extra, k, k_star, cost, group, penalty, sign, _ = draw(1, 1)
    problem = classification(group, group.max() + 1, sign, cost)
    found = solve(problem, X, extra, k, k_star, penalty, max_iter=3)
    assert found.n_iter == 3
    assert not found.converged
    assert found.violation > 1e-3


def test_blocks_that_take_too_long_end_with_all_rows_at_once(monkeypatch):
    """A linear kernel beside smooth corrections, C = 10 and a penalty of 0.1."""
    rng = np.random.default_rng(0)
    n = 260
    X, extra = rng.normal(size=(n, 10)), rng.normal(size=(n, 3))
    signal = X[:, 0] + 0.5 * X[:, 1] + extra[:, 0] + 0.3 * rng.normal(size=n)
    group = np.zeros(n, dtype=np.int32)
    problem = classification(group, 1, np.sign(signal), np.full(n, 10.0))
    spaces = make_space(X, "linear"), make_space(extra, "rbf")
    whole = solve(problem, X, extra, *spaces, 0.1)
    monkeypatch.setattr(_matrices, "_WHOLE_ROWS", 100)  # as if n were 2,000
    monkeypatch.setattr(_plus, "_BLOCK", 60)
    found = solve(problem, X, extra, *spaces, 0.1, max_iter=200_000)
    assert found.converged
    assert_allclose(found.objective, whole.objective, rtol=1e-6)


def test_smooth_corrections_have_factors_of_low_rank(monkeypatch):
    X, extra, k, _, cost, group, _, sign, _ = draw(3, 2, 80)
    smooth = make_space(extra, "rbf", 0.05)
    problem = classification(group, group.max() + 1, sign, cost)
    full = solve(problem, X, extra, k, smooth, 1e-3, tol=1e-6)
    monkeypatch.setattr(_plus_block, "_LOW_RANK_FROM", 1)
    low = solve(problem, X, extra, k, smooth, 1e-3, tol=1e-6)
    assert low.converged
    assert_allclose(low.objective, full.objective, rtol=1e-7)
