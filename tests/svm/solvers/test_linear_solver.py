"""The solver for two linear kernels against interior points, and by its own figures."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from kinlearn import with_task
from kinlearn.svm import MultiTaskSVC, MultiTaskSVR
from kinlearn.svm._kernel import Space
from kinlearn.svm._matrices import TaskKernel
from kinlearn.svm._problem import classification, regression
from kinlearn.svm.solvers import solve_linear
from tests.reference.svm_dual import multi_task_kernel, multi_task_svc, multi_task_svr
from tests.seeds import seeds


def conditions(Q, problem, beta, bias):
    """The greatest violation, straight from the slopes of every row."""
    slope, eps = Q @ beta - problem.y, problem.epsilon
    rise = np.where(beta < problem.high, slope + np.where(beta >= 0, eps, -eps), np.inf)
    fall = np.where(beta > problem.low, slope + np.where(beta > 0, eps, -eps), -np.inf)
    if not bias:
        return max(fall.max(), -rise.min(), 0.0)
    own = [problem.group == t for t in np.unique(problem.group)]
    return max(0.0, *(fall[rows].max() - rise[rows].min() for rows in own))


def check_figures(found, problem, Q, bias):
    """What is reported is that of the coefficients, which keep all constraints."""
    beta = found.beta
    assert (beta >= problem.low).all()
    assert (beta <= problem.high).all()
    size = np.abs(beta).sum()
    if bias:
        sums = np.bincount(problem.group, weights=beta)
        assert_allclose(sums, 0.0, atol=1e-9 * max(size, 1.0))
    objective = 0.5 * beta @ Q @ beta - beta @ problem.y + problem.epsilon * size
    rounding = 1e-14 * size * (1 + np.abs(Q).max() * size)
    assert_allclose(found.objective, objective, rtol=1e-9, atol=rounding)
    violation = conditions(Q, problem, beta, bias)
    rounding = 1e-12 * (1 + np.abs(Q).max() * size)
    assert_allclose(found.violation, violation, rtol=1e-6, atol=rounding)


def random_problem(seed, largest_C):
    """1 to 10 tasks, more features than rows or fewer, repeated and dropped rows."""
    rng = np.random.default_rng(seed)
    n, n_tasks = int(rng.integers(12, 60)), int(rng.integers(1, 11))
    d = int(rng.integers(1, 12)) if seed % 4 else int(rng.integers(20, 90))
    X = rng.normal(size=(n, d))
    if seed % 7 == 0:
        X[n // 2 :] = X[: n - n // 2]
    task = rng.integers(0, n_tasks, size=n).astype(np.int32)
    C = 10 ** rng.uniform(-2, np.log10(largest_C)) * rng.choice([0.5, 1.0, 3.0], size=n)
    if seed % 5 == 0:
        C[rng.random(n) < 0.1] = 0.0
    penalty = float(10 ** rng.uniform(-1, 1.5))
    signal = X[:, 0] + 0.7 * rng.normal(size=n_tasks)[task] + rng.normal(size=n)
    kernel = TaskKernel(Space("linear"), Space("linear"), X, X, penalty)
    Q = multi_task_kernel(X @ X.T, X @ X.T, task, penalty)
    bias = bool(rng.integers(0, 2))
    if rng.integers(0, 2):
        sign = np.where(signal > np.median(signal), 1, -1)
        problem = classification(task, n_tasks, sign, C)
        twin = partial(multi_task_svc, Q, sign.astype(float), task, C, bias)
    else:
        epsilon = float(rng.choice([0.0, 0.1, 0.5]))
        problem = regression(task, n_tasks, signal, C, epsilon)
        twin = partial(multi_task_svr, Q, signal, task, C, epsilon, bias)
    return problem, kernel, Q, bias, twin


@pytest.mark.parametrize("chunk", seeds(1, 4))
def test_solutions_are_those_of_interior_points(chunk):
    for seed in range(50 * chunk, 50 * chunk + 50):
        problem, kernel, Q, bias, twin = random_problem(seed, largest_C=30.0)
        found = solve_linear(problem, kernel, tol=1e-4, max_iter=-1, fit_intercept=bias)
        assert found.converged
        assert found.violation <= 1e-4
        own = Q[np.ix_(problem.rows, problem.rows)]
        check_figures(found, problem, own, bias)
        expected, _, objective = twin()
        assert_allclose(found.objective, objective, rtol=1e-4, atol=1e-6)
        values = own @ expected[problem.rows]
        scale = max(1.0, np.abs(values).max())
        assert_allclose(own @ found.beta, values, atol=2e-3 * scale)


def test_large_costs_end_well():
    """Coefficients may be a millionth of C: those are not at the bound of 0."""
    for seed in range(40):
        problem, kernel, Q, bias, _ = random_problem(seed, largest_C=1e4)
        found = solve_linear(problem, kernel, tol=1e-3, max_iter=-1, fit_intercept=bias)
        assert found.converged
        check_figures(found, problem, Q[np.ix_(problem.rows, problem.rows)], bias)


@pytest.mark.parametrize("max_iter", [0, 1, 2, 4, 7])
def test_stopped_early_it_tells_of_the_coefficients_that_it_has(max_iter):
    for seed in range(8):
        problem, kernel, Q, bias, _ = random_problem(seed, largest_C=1e3)
        options = {"tol": 1e-6, "fit_intercept": bias}
        found = solve_linear(problem, kernel, max_iter=max_iter, **options)
        check_figures(found, problem, Q[np.ix_(problem.rows, problem.rows)], bias)
        best = solve_linear(problem, kernel, max_iter=-1, **options)
        slack = 1e-6 * max(1.0, abs(best.objective))
        assert best.objective - slack <= found.objective <= slack
        assert found.n_iter <= max_iter


@pytest.mark.parametrize("make", [MultiTaskSVC, MultiTaskSVR])
@pytest.mark.parametrize("max_iter", [1, 3])
def test_estimators_stopped_early_keep_sums_and_objective(make, max_iter):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(300, 5)), np.arange(300) % 3
    y = X[:, 0] + 0.5 * task + rng.normal(size=300)
    y = (y > 0).astype(int) if make is MultiTaskSVC else y
    model = make(kernel="linear", task=-1, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model.fit(with_task(X, task), y)
    beta = np.zeros(300)
    beta[model.support_] = np.reshape(model.dual_coef_, -1)
    assert_allclose(np.bincount(task, weights=beta), 0.0, atol=1e-9)
    Q = multi_task_kernel(X @ X.T, X @ X.T, task, 1.0)
    target = 2 * y - 1 if make is MultiTaskSVC else y
    objective = 0.5 * beta @ Q @ beta - beta @ target
    objective += 0.1 * np.abs(beta).sum() if make is MultiTaskSVR else 0.0
    assert_allclose(model.dual_objective_, objective)
    assert objective < 0
