"""SVM+MTL with the whole matrix, and certificates in double precision."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.svm._kernel import Space
from kinlearn.svm._matrices import TaskKernel
from kinlearn.svm._problem import classification, regression
from kinlearn.svm.solvers import solve_dense, solve_smo, solve_tasks
from tests.reference.svm_dual import multi_task_kernel, multi_task_svc, multi_task_svr
from tests.seeds import seeds
from tests.svm.solvers.test_linear_solver import check_figures, conditions

MOVES = {"cache_size": 100, "shrinking": True}
SPACES = {
    "linear": Space("linear"),
    "rbf": Space("rbf", 0.3),
    "poly": Space("poly", 0.3, 1.0, 3),
}


def draw(seed, n, n_tasks, C, penalty, kernels, kind="classes", scale=1.0):
    """A problem, its kernels and matrix, and the twin that solves it."""
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, 5))
    task = np.sort(rng.integers(0, n_tasks, n)).astype(np.int32)
    own = rng.normal(size=n_tasks)[task]
    y = X[:, 0] + own * X[:, 1] + 0.5 * scale * rng.normal(size=n)
    one, two = (SPACES[kernel] for kernel in kernels)
    Q = multi_task_kernel(one.between(X, X), two.between(X, X), task, penalty)
    cost = np.full(n, float(C))
    if kind == "classes":
        y = np.where(y > 0, 1.0, -1.0)
        problem = classification(task, n_tasks, y, cost)
        twin = partial(multi_task_svc, Q, y, task, cost)
    else:
        problem = regression(task, n_tasks, y, cost, 0.1)
        twin = partial(multi_task_svr, Q, y, task, cost, 0.1)
    return problem, TaskKernel(one, two, X, X, penalty), Q, twin


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", seeds(3, 12))
def test_interior_points_reach_the_optimum(seed, bias, kind):
    rng = np.random.default_rng(seed)
    C, penalty = 10 ** rng.uniform(-2, 5), 10 ** rng.uniform(-4, 2)
    kernels = rng.choice(list(SPACES), size=2)
    n, n_tasks = int(rng.integers(10, 50)), int(rng.integers(1, 6))
    problem, kernel, Q, twin = draw(seed, n, n_tasks, C, penalty, kernels, kind)
    found = solve_dense(problem, kernel, tol=1e-3, max_iter=-1, fit_intercept=bias)
    assert found.converged
    check_figures(found, problem, Q, bias)
    best = twin(bias=bias)[-1]
    assert found.objective <= best + 1e-4 * abs(best)


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_violation_of_moves_is_the_true_one(n_tasks):
    """Rows of the matrix in single precision erred by 1.5e-2 here."""
    kernels = "linear", "rbf"
    problem, kernel, Q, _ = draw(0, 200, n_tasks, 100.0, 0.01, kernels)
    limits = {"tol": 1e-3, "max_iter": 60_000, "fit_intercept": True}
    start = np.zeros(len(problem.rows))
    found = solve_smo(problem, kernel, **limits, **MOVES, start=start)
    true = conditions(Q, problem, found.beta, True)
    assert_allclose(found.violation, true, atol=1e-4)  # less than shows in tol
    found = solve_tasks(problem, kernel, **limits, **MOVES, start=start)
    assert found.converged
    assert conditions(Q, problem, found.beta, True) <= 1.1e-3


def test_moves_go_on_after_a_look_in_double_precision():
    """Kernel values of some thousands, and a tol that single precision hides."""
    problem, kernel, Q, _ = draw(1, 60, 2, 0.01, 1.0, ("poly", "linear"), scale=3.0)
    start = np.zeros(len(problem.rows))
    limits = {"tol": 1e-5, "max_iter": 10**6, "fit_intercept": True}
    found = solve_smo(problem, kernel, **limits, **MOVES, start=start)
    assert found.converged
    assert conditions(Q, problem, found.beta, True) <= 1.1e-5


# The thesis tunes penalties from 0.001 to 100: all of that, and beyond.
GRID = [
    (C, penalty) for C in (0.1, 10.0, 1e3, 1e5) for penalty in (1e-4, 1e-2, 1.0, 1e2)
]


@pytest.mark.parametrize("kernels", [("linear", "rbf"), ("rbf", "rbf"), ("poly",) * 2])
@pytest.mark.parametrize(("C", "penalty"), GRID)
def test_the_grid_of_C_and_penalty(C, penalty, kernels):
    for kind, n_tasks in (("classes", 3), ("numbers", 2)):
        problem, kernel, Q, _ = draw(3, 50, n_tasks, C, penalty, kernels, kind)
        start = np.zeros(len(problem.rows))
        limits = {"tol": 1e-3, "max_iter": -1, "fit_intercept": True}
        found = solve_tasks(problem, kernel, **limits, **MOVES, start=start)
        assert found.converged
        assert conditions(Q, problem, found.beta, True) <= 1.1e-3
        assert (found.beta >= problem.low).all()
        assert (found.beta <= problem.high).all()


def test_a_task_of_one_class_leaves_no_inside():
    problem, kernel, Q, _ = draw(4, 40, 2, 1e3, 1e-2, ("linear", "rbf"))
    y = np.where(problem.group == 0, 1.0, problem.y)
    problem = classification(problem.group, 2, y, np.full(40, 1e3))
    found = solve_dense(problem, kernel, tol=1e-3, max_iter=-1, fit_intercept=True)
    assert found.converged
    assert (found.beta[problem.group == 0] == 0).all()
    check_figures(found, problem, Q, True)


def test_few_iterations_are_no_interior_points():
    problem, kernel, _, _ = draw(0, 100, 3, 100.0, 0.01, ("linear", "rbf"))
    start = np.zeros(len(problem.rows))
    limits = {"tol": 1e-3, "max_iter": 50, "fit_intercept": True}
    found = solve_tasks(problem, kernel, **limits, **MOVES, start=start)
    assert found.n_iter == 50
    assert not found.converged
