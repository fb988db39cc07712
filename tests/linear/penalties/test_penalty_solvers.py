"""The penalties' solvers against slow twins, and by their optimality conditions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kinlearn import with_task
from kinlearn.linear import MultiTaskLinearClassifier, MultiTaskLinearRegressor
from kinlearn.linear.penalties._penalties import (
    ClusterPenalty,
    CovariancePenalty,
    GraphPenalty,
    TracePenalty,
)
from tests.reference import task_penalties as reference

PENALTIES = ("l21", "trace", "graph", "clustered", "covariance", "shared_sparse")


def make_rows(seed, n_tasks=5, n_features=4, sizes=(12, 30)):
    rng = np.random.default_rng(seed)
    problems = []
    base = rng.normal(size=n_features)
    for t in range(n_tasks):
        n = rng.integers(*sizes)
        X = rng.normal(size=(n, n_features)) * rng.uniform(0.5, 2, n_features) + 1
        w = base * (-1) ** (t % 2) + 0.3 * rng.normal(size=n_features)
        problems.append((X, X @ w + t + rng.normal(size=n)))
    X = np.concatenate([X for X, _ in problems])
    y = np.concatenate([y for _, y in problems])
    task = np.repeat(np.arange(n_tasks), [len(y) for _, y in problems])
    links = rng.integers(0, 3, size=(n_tasks, n_tasks)).astype(float)
    graph = np.triu(links, 1) + np.triu(links, 1).T
    return problems, with_task(X, task), y, graph


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.02, 0.3])
@pytest.mark.parametrize("name", PENALTIES[:-1])
def test_objectives_are_those_of_the_slow_twin(name, alpha, seed):
    problems, X, y, graph = make_rows(seed)
    options = {"graph": graph} if name == "graph" else {}
    model = MultiTaskLinearRegressor(
        name, alpha=alpha, task=-1, scale=False, tol=1e-10, **options
    ).fit(X, y)
    slow = reference.fit(name, problems, alpha, **options)
    ours = reference.objective(name, problems, model.coef_, alpha, **options)
    best = reference.objective(name, problems, slow, alpha, **options)
    assert_allclose(model.objective_, ours, rtol=1e-10)
    # the twin comes near from above, ever more slowly where a metric goes to 0
    assert ours <= best * (1 + 1e-8)
    assert_allclose(ours, best, rtol=1e-4 if name in ("trace", "covariance") else 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_two_parts_satisfy_the_optimality_conditions(seed):
    problems, X, y, _ = make_rows(seed, n_features=8)
    alpha, price = 0.15, 0.7
    model = MultiTaskLinearRegressor(
        "shared_sparse", alpha, own_penalty=price, task=-1, scale=False, tol=1e-12
    ).fit(X, y)
    shared, own = model.shared_coef_, model.own_coef_
    value = reference.objective(
        "shared_sparse", problems, shared, alpha, own=own, price=price
    )
    assert_allclose(model.objective_, value, rtol=1e-10)
    assert_allclose(model.coef_, shared + own)
    assert (own != 0).any()
    assert (own == 0).any()
    slope = np.array(
        [
            (X_t - X_t.mean(axis=0)).T @ (y_t - X_t @ w) / len(y_t)
            for (X_t, y_t), w in zip(problems, model.coef_, strict=True)
        ]
    )
    length = np.sqrt((shared**2).sum(axis=0))
    for j in np.flatnonzero(length):
        assert_allclose(slope[:, j], alpha * shared[:, j] / length[j], atol=1e-5)
    assert (np.sqrt((slope**2).sum(axis=0)) <= alpha * (1 + 1e-5)).all()
    assert (np.abs(slope) <= alpha * price * (1 + 1e-5)).all()
    at = own != 0
    assert_allclose(slope[at], alpha * price * np.sign(own[at]), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_joint_features_of_classes_satisfy_the_optimality_conditions(n_classes):
    _, X, y, _ = make_rows(0, n_features=6, sizes=(40, 60))
    task, X = X[:, -1].astype(int), X[:, :-1]
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    alpha = 0.08
    model = MultiTaskLinearClassifier(
        "l21", alpha, task=-1, scale=False, tol=1e-8, label_sets="observed"
    )
    model.fit(with_task(X, task), y)
    assert len(model.selected_features_) > 0
    proba = model.predict_proba(with_task(X, task))
    slopes, coefs = [], []
    for t in range(task.max() + 1):
        rows = task == t
        for c in range(n_classes) if n_classes > 2 else [1]:
            rest = (y[rows] == c) - proba[rows, c]
            if not (y[rows] == c).any():
                continue
            assert abs(rest.sum()) < 1e-6  # the intercept
            slopes.append(X[rows].T @ rest / rows.sum())
            coefs.append(model.coef_[t] if n_classes == 2 else model.coef_[t, c])
    slopes, coefs = np.array(slopes), np.array(coefs)
    length = np.sqrt((coefs**2).sum(axis=0))
    assert (np.sqrt((slopes**2).sum(axis=0)) <= alpha * (1 + 1e-4)).all()
    at = length > 0
    assert_allclose(
        slopes[:, at], alpha * (coefs / np.where(at, length, 1))[:, at], atol=1e-5
    )


def make_penalties(n_outputs, rng):
    links = rng.random((n_outputs, n_outputs))
    return [
        TracePenalty(),
        CovariancePenalty(0.1),
        GraphPenalty(links + links.T - 2 * np.diag(np.diag(links)), 0.1),
        ClusterPenalty(np.zeros(n_outputs), 2, 0.1, 10.0),
        ClusterPenalty(np.arange(n_outputs) % 2, 3, 0.5, 4.0),
    ]


@pytest.mark.parametrize("shape", [(7, 4), (3, 6), (5, 5)])
def test_proximal_steps_are_minimisers(shape):
    rng = np.random.default_rng(1)
    W = rng.normal(size=shape)
    for penalty in make_penalties(shape[1], rng):
        for step in (0.05, 0.7, 5.0):

            def value(V, penalty=penalty, step=step):
                return 0.5 * ((V - W) ** 2).sum() + step * penalty.value(V)

            found = penalty.prox(W, step)
            best = value(found)
            for size in (1e-1, 1e-3, 1e-4):
                for _ in range(20):
                    other = found + size * rng.normal(size=shape)
                    assert value(other) >= best - 1e-12


def test_conjugates_bound_and_meet_their_penalties():
    rng = np.random.default_rng(2)
    for penalty in make_penalties(4, rng):
        for alpha in (0.3, 2.0):
            W, Z = rng.normal(size=(6, 4)), rng.normal(size=(6, 4))
            factor, conjugate = penalty.conjugate(Z, alpha)
            bound = alpha * penalty.value(W) + conjugate
            assert factor * (W * Z).sum() <= bound + 1e-10  # Fenchel and Young
            # the residual of a proximal step is a subgradient, where both are equal
            prox = penalty.prox(W, alpha)
            slope = W - prox
            factor, conjugate = penalty.conjugate(slope, alpha)
            assert_allclose(factor, 1.0, rtol=1e-9)
            bound = alpha * penalty.value(prox) + conjugate
            assert_allclose((prox * slope).sum(), bound, rtol=1e-8)


@pytest.mark.parametrize("name", PENALTIES)
def test_the_duality_gap_bounds_the_distance_to_the_least_objective(name):
    _, X, y, graph = make_rows(3, n_features=6)
    for labels in (y, y > np.median(y), np.digitize(y, np.quantile(y, [0.3, 0.6]))):
        kind = MultiTaskLinearRegressor if labels is y else MultiTaskLinearClassifier
        options = {"penalty": name, "alpha": 0.05, "task": -1, "graph": graph}
        best = kind(**options, tol=1e-9).fit(X, labels)
        rough = kind(**options, tol=3e-2, alphas=[0.05]).fit(X, labels)
        above = rough.objective_ - best.objective_
        assert -1e-8 <= above <= rough.dual_gap_ + 1e-8
        assert rough.dual_gap_ > best.dual_gap_


@pytest.mark.parametrize("name", PENALTIES)
def test_sparse_features_give_the_same_coefficients(name):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 12)) * (rng.random((90, 12)) < 0.3)
    task = np.arange(90) % 3
    y = X @ rng.normal(size=12) + task
    options = {"penalty": name, "alpha": 0.05, "task": -1, "tol": 1e-10}
    options["graph"] = np.ones((3, 3))
    dense = MultiTaskLinearRegressor(**options).fit(with_task(X, task), y)
    packed = with_task(sp.csr_array(X), task)
    sparse = MultiTaskLinearRegressor(**options).fit(packed, y)
    assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
    assert_allclose(sparse.intercept_, dense.intercept_, atol=1e-5)
    assert_allclose(
        sparse.predict(packed), dense.predict(with_task(X, task)), atol=1e-4
    )
