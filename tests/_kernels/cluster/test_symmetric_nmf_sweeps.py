"""The sweeps against the slow twin, and against each other."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kinlearn.cluster import _affinity
from kinlearn.cluster._affinity import (
    Affinity,
    TermAffinity,
    _task_groups,
    build_affinity,
    explicit_affinity,
)
from kinlearn.cluster._solver import Problem
from tests.interrupt import seconds_to_stop
from tests.reference.symmetric_nmf import coordinate_sweep


def _documents(n=12, n_terms=9, seed=0, empty=True):
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_terms)) * (rng.random((n, n_terms)) < 0.5)
    if empty:
        X[3] = 0
    return X, np.arange(n, dtype=np.int32) % 3


def _lambdas(kind):
    if kind == "number":
        return np.where(np.eye(3) > 0, 1.0, 0.3)
    return np.array([[1.0, 0.2, 0.0], [0.2, 1.0, 0.7], [0.0, 0.7, 1.0]])


def _shares(k):
    shares = np.arange(1.0, k + 1)
    return np.tile(shares / shares.sum(), (3, 1))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("kind", ["number", "matrix"])
@pytest.mark.parametrize("form", ["dense", "float32", "sparse", "terms"])
def test_a_sweep_equals_the_slow_twin(k, kind, form):
    X, task = _documents()
    lambdas = _lambdas(kind)
    if form in ("sparse", "terms"):
        X = sp.csr_array(X)
    if form == "terms":
        affinity, _ = build_affinity(X, "shared", 1.0, task, lambdas, normalize=False)
        assert isinstance(affinity, TermAffinity)
        W = explicit_affinity(X.toarray(), "shared", 1.0, task, lambdas)
    else:
        W = explicit_affinity(X, "shared", 1.0, task, lambdas)
        W = W.astype(np.float32) if form == "float32" else W
        affinity = Affinity(W, task)
        W = W.toarray() if sp.issparse(W) else W.astype(np.float64)
    order = np.random.default_rng(1).permutation(len(task))
    problem = Problem.build(affinity, order, lambdas, 0.8, _shares(k))
    V = problem.start(np.random.default_rng(2))
    expected = coordinate_sweep(W, V, task, lambdas, problem.penalty, problem.order)
    before = problem.objectives(V).sum()
    solution = problem.minimise(V, tol=0.0, max_iter=1)
    assert_allclose(solution.V, expected, atol=1e-6)
    # what the kernel says about the fall is true
    fell = solution.objective.sum() - before
    again = problem.minimise(solution.V.copy(), tol=1.0, max_iter=5)
    assert fell < 0
    assert again.n_iter == 1


@pytest.mark.parametrize("kind", ["number", "matrix"])
@pytest.mark.parametrize("name", ["shared", "cosine"])
def test_the_affinity_that_is_never_made_equals_the_matrix(kind, name):
    X, task = _documents(30, 15, seed=3)
    lambdas = _lambdas(kind)
    terms, scale = build_affinity(
        sp.csr_array(X), name, 1.0, task, lambdas, normalize=True
    )
    made, made_scale = build_affinity(X, name, 1.0, task, lambdas, normalize=True)
    assert isinstance(terms, TermAffinity)
    assert isinstance(made, Affinity)
    assert_allclose(scale, made_scale)
    V = np.random.default_rng(0).random((30, 2))
    assert_allclose(terms.product(V), made.product(V), atol=1e-12)
    assert_allclose(terms.degrees, made.W.sum(axis=1), atol=1e-12)
    factor = np.random.default_rng(1).random((3, 3))
    factor += factor.T
    by_cell = made.W**2 * factor[np.ix_(task, task)]
    by_row = by_cell.sum(axis=1)
    expected = [by_row[task == t].sum() for t in range(3)]
    assert_allclose(made.squares(factor), expected)
    assert_allclose(terms.squares(factor).sum(), by_cell.sum())


@pytest.mark.parametrize(
    "lambdas",
    [
        np.array([[2.0]]),
        np.full((3, 3), 0.5),
        np.where(np.eye(4) > 0, 1.0, 0.0),
        np.where(np.eye(4) > 0, 1.0, 0.25),
        _lambdas("matrix"),
    ],
)
def test_groups_of_tasks_are_a_factorisation(lambdas):
    read, write = _task_groups(lambdas)
    assert_allclose(read @ write.T, lambdas)


def test_squared_cells_are_added_up_in_parts(monkeypatch):
    X, task = _documents(30, 15, seed=3)
    terms, _ = build_affinity(
        sp.csr_array(X), "shared", 1.0, task, _lambdas("matrix"), normalize=True
    )
    whole = terms.squares(np.ones((3, 3)))
    parts = []
    kernel = _affinity.term_norms
    monkeypatch.setattr(_affinity, "_ADDITIONS", 300)
    monkeypatch.setattr(
        _affinity, "term_norms", lambda *a: parts.append(a[-2:]) or kernel(*a)
    )
    assert (terms.squares(np.ones((3, 3))) == whole).all()
    assert len(parts) > 5
    rows = [i for first, last in parts for i in range(first, last)]
    assert rows == list(range(30))


def test_ctrl_c_is_heard_while_all_rows_are_compared():
    # few entries, so that nothing else takes time, and all rows have the same term
    n = 60_000
    X = sp.csr_array(np.ones((n, 1)))
    task, one = np.zeros(n, dtype=np.int32), np.ones((1, 1))
    terms, _ = build_affinity(X, "shared", 1.0, task, one, normalize=False)
    assert seconds_to_stop(lambda: terms.squares(one)) < 1


def test_many_tasks_need_little_memory():
    n_tasks, n_terms = 300, 2_000
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.random((600, n_terms)) < 0.01).astype(float))
    task = np.arange(600, dtype=np.int32) % n_tasks
    lambdas = np.where(np.eye(n_tasks) > 0, 1.0, 0.1)
    terms, _ = build_affinity(X, "shared", 1.0, task, lambdas, normalize=True)
    problem = Problem.build(
        terms, np.arange(600), lambdas, 1.0, np.full((n_tasks, 2), 0.5)
    )
    V = problem.start(rng)
    problem.minimise(V.copy(), tol=0.0, max_iter=1)  # fills what is kept
    for work in (
        lambda: terms.product(V),
        lambda: terms.product_inside(V),
        lambda: problem.minimise(V.copy(), tol=0.0, max_iter=1),
    ):
        tracemalloc.start()
        try:
            work()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # totals by task and term would be n_tasks * n_terms * 32 bytes, 18 MiB
        assert peak < 2**21
