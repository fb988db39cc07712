"""The solver of SVM+MTL against an interior-point method, and by its conditions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.svm._kernel import Space
from kinlearn.svm._matrices import TaskKernel
from kinlearn.svm._problem import classification, regression
from kinlearn.svm.solvers import feasible_start, solve_smo
from tests.reference.svm_dual import multi_task_kernel, multi_task_svc, multi_task_svr

OPTIONS = {
    "tol": 1e-4,
    "max_iter": -1,
    "cache_size": 1,
    "shrinking": True,
    "fit_intercept": True,
}


def random_space(rng):
    kernel = rng.choice(["linear", "rbf", "poly"])
    gamma = float(10 ** rng.uniform(-1.5, -0.3))
    return Space(str(kernel), gamma, float(rng.integers(0, 2)), int(rng.integers(1, 4)))


def random_problem(seed):
    """Features, tasks, weights, two kernels and a penalty; 1 to 10 tasks."""
    rng = np.random.default_rng(seed)
    n, n_tasks = int(rng.integers(12, 70)), int(rng.integers(1, 11))
    X = rng.normal(size=(n, int(rng.integers(1, 6))))
    if seed % 7 == 0:
        X[n // 2 :] = X[: n - n // 2]  # rows that occur twice
    task = rng.integers(0, n_tasks, size=n).astype(np.int32)
    C = 10 ** rng.uniform(-2, 1) * rng.choice([0.5, 1.0, 3.0], size=n)
    if seed % 5 == 0:
        C[rng.random(n) < 0.1] = 0.0
    kernels = random_space(rng), random_space(rng)
    if seed % 4 == 0:
        kernels = kernels[0], kernels[0]
    matrices = [space.between(X, X) for space in kernels]
    given = [X, X]
    for which in (0, 1):
        if seed % 6 == which:
            given[which] = matrices[which]
            kernels = tuple(
                Space("precomputed") if k == which else s for k, s in enumerate(kernels)
            )
    penalty = float(10 ** rng.uniform(-1, 1.5))
    kernel = TaskKernel(*kernels, *given, penalty)
    Q = multi_task_kernel(*matrices, task, penalty)
    signal = X[:, 0] + 0.7 * rng.normal(size=n_tasks)[task] + rng.normal(size=n)
    return rng, n_tasks, task, C, kernel, Q, signal


def conditions(Q, y, task, beta, low, high, epsilon, bias):
    """The greatest violation, straight from the slopes of every row."""
    slope = Q @ beta - y
    rise = np.where(beta < high, slope + np.where(beta >= 0, epsilon, -epsilon), np.inf)
    fall = np.where(beta > low, slope + np.where(beta > 0, epsilon, -epsilon), -np.inf)
    if not bias:
        return max(fall.max(), -rise.min())
    return max(fall[task == t].max() - rise[task == t].min() for t in np.unique(task))


def check(problem, kernel, Q, task, C, twin, bias):
    beta = np.zeros(len(task))
    start = feasible_start(problem, None)
    found = solve_smo(
        problem, kernel, **{**OPTIONS, "fit_intercept": bias}, start=start
    )
    beta[problem.rows] = found.beta
    expected, price, objective = twin
    assert found.converged
    scale = max(1.0, np.abs(np.diagonal(Q)).max() * C.sum() * 1e-3)
    assert_allclose(found.objective, objective, rtol=1e-4, atol=1e-6 * scale)
    # exact sums and bounds
    assert_allclose(
        np.bincount(task, weights=beta)[np.unique(task)] if bias else 0.0,
        0.0,
        atol=1e-9 * max(1.0, C.sum()),
    )
    assert (found.beta >= problem.low).all()
    assert (found.beta <= problem.high).all()
    rows = problem.rows
    left = conditions(
        Q[np.ix_(rows, rows)],
        problem.y,
        problem.group,
        found.beta,
        problem.low,
        problem.high,
        problem.epsilon,
        bias,
    )
    noise = 3e-7 * np.abs(Q).max() * np.abs(beta).sum()  # rows in single precision
    assert left <= OPTIONS["tol"] + noise
    # the two functions, up to what the tolerance leaves open
    assert_allclose(
        Q @ beta, Q @ expected, atol=1e-3 * max(1.0, np.abs(Q @ beta).max())
    )
    if not bias:
        return
    for t, value in zip(np.unique(task), price, strict=True):
        edge = 1e-3 * (problem.high - problem.low)
        inside = (problem.group == t) & (np.abs(found.beta) > edge)
        inside &= found.beta > problem.low + edge
        inside &= found.beta < problem.high - edge
        if inside.any():  # else more than one bias is best
            assert_allclose(found.intercept[t], value, atol=1e-3 * scale)


@pytest.mark.parametrize("chunk", range(10))
def test_classes_as_by_interior_points(chunk):
    for seed in range(25 * chunk, 25 * chunk + 25):
        _, n_tasks, task, C, kernel, Q, signal = random_problem(seed)
        sign = np.where(signal > np.median(signal), 1, -1)
        bias = seed % 3 > 0
        problem = classification(task, n_tasks, sign, C)
        twin = multi_task_svc(Q, sign.astype(float), task, C, bias)
        check(problem, kernel, Q, task, C, twin, bias)


@pytest.mark.parametrize("chunk", range(10))
def test_numbers_as_by_interior_points(chunk):
    for seed in range(25 * chunk, 25 * chunk + 25):
        rng, n_tasks, task, C, kernel, Q, signal = random_problem(seed)
        epsilon = float(rng.choice([0.0, 0.1, 0.5]))
        bias = seed % 3 > 0
        problem = regression(task, n_tasks, signal, C, epsilon)
        twin = multi_task_svr(Q, signal, task, C, epsilon, bias)
        check(problem, kernel, Q, task, C, twin, bias)


def big_problem(n, epsilon=None):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4))
    task = rng.integers(0, 4, size=n).astype(np.int32)
    signal = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * task + 0.5 * rng.normal(size=n)
    kernel = TaskKernel(Space("rbf", 0.5), Space("linear"), X, X, 2.0)
    cost = np.full(n, 3.0)
    if epsilon is None:
        sign = np.where(signal > 0, 1, -1)
        return classification(task, 4, sign, cost), kernel
    return regression(task, 4, signal, cost, epsilon), kernel


@pytest.mark.parametrize("epsilon", [None, 0.1])
@pytest.mark.parametrize("bias", [True, False])
def test_shrinking_changes_nothing(epsilon, bias):
    problem, kernel = big_problem(1200, epsilon)
    start = np.zeros(len(problem.rows))
    options = {**OPTIONS, "fit_intercept": bias, "start": start}
    plain = solve_smo(problem, kernel, **{**options, "shrinking": False})
    shrunk = solve_smo(problem, kernel, **options)
    assert plain.converged
    assert shrunk.converged
    assert_allclose(shrunk.objective, plain.objective, rtol=1e-6)
    Q = multi_task_kernel(
        kernel.decision.between(kernel.X, kernel.X),
        kernel.correction.between(kernel.X, kernel.X),
        problem.group[np.argsort(problem.rows)],
        2.0,
    )
    rows = problem.rows
    left = conditions(
        Q[np.ix_(rows, rows)],
        problem.y,
        problem.group,
        shrunk.beta,
        problem.low,
        problem.high,
        problem.epsilon,
        bias,
    )
    # the gradient of rows that were away is computed anew
    assert left < 3e-4


def test_a_small_store_changes_nothing():
    problem, kernel = big_problem(600)
    start = np.zeros(len(problem.rows))
    small = solve_smo(problem, kernel, **{**OPTIONS, "cache_size": 1e-6}, start=start)
    large = solve_smo(problem, kernel, **{**OPTIONS, "cache_size": 100}, start=start)
    assert_allclose(small.beta, large.beta)


def test_start_from_a_solution_takes_few_steps():
    problem, kernel = big_problem(600)
    first = solve_smo(problem, kernel, **OPTIONS, start=np.zeros(len(problem.rows)))
    by_row = np.zeros(len(problem.rows))
    by_row[problem.rows] = first.beta
    start = feasible_start(problem, by_row)
    assert_allclose(start, first.beta, rtol=1e-12, atol=1e-12)
    again = solve_smo(problem, kernel, **OPTIONS, start=start)
    assert again.n_iter < first.n_iter / 20
    assert_allclose(again.objective, first.objective, rtol=1e-6)


def test_start_is_made_feasible_for_smaller_bounds():
    problem, kernel = big_problem(300)
    first = solve_smo(problem, kernel, **OPTIONS, start=np.zeros(len(problem.rows)))
    by_row = np.zeros(len(problem.rows))
    by_row[problem.rows] = first.beta
    sign = np.zeros(300)
    sign[problem.rows] = problem.y
    task = np.zeros(300, dtype=np.int32)
    task[problem.rows] = problem.group
    smaller = classification(task, 4, sign, np.full(300, 0.7))
    start = feasible_start(smaller, by_row)
    assert (start >= smaller.low).all()
    assert (start <= smaller.high).all()
    assert_allclose(np.bincount(smaller.group, weights=start), 0.0, atol=1e-9)
    assert np.abs(start).max() > 0.1


def test_limit_of_steps_is_kept_and_reported():
    problem, kernel = big_problem(300)
    start = np.zeros(len(problem.rows))
    found = solve_smo(problem, kernel, **{**OPTIONS, "max_iter": 7}, start=start)
    assert found.n_iter == 7
    assert not found.converged
    assert found.violation > OPTIONS["tol"]
