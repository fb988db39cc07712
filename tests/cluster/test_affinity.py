"""The affinity between rows, in all its forms."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

from kinlearn import with_task
from kinlearn.cluster import MultiTaskSymmetricNMF
from kinlearn.cluster._affinity import (
    Affinity,
    build_affinity,
    cross_product,
    cross_product_by_task,
)
from tests.reference.symmetric_nmf import degree_normalised, shared_affinity


def _documents(n=24, n_terms=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_terms)) * (rng.random((n, n_terms)) < 0.4)
    X[5] = X[11]  # the same document twice
    X[7] = 0  # and an empty one
    return X, np.arange(n) % 3


def _affinity_of(X, task, **params):
    model = MultiTaskSymmetricNMF(
        task=-1, n_init=1, store_affinity=True, random_state=0, **params
    )
    return model.fit(with_task(X, task)).affinity_


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_shared_affinity_equals_the_slow_twin(container, normalize):
    X, task = _documents()
    W = _affinity_of(
        container(X), task, lambda_intra=0.8, lambda_inter=0.3, normalize=normalize
    )
    assert sp.issparse(W) == (container is not np.asarray)
    expected = shared_affinity(X, task, 0.8, 0.3)
    expected = degree_normalised(expected) if normalize else expected
    assert_allclose(W.toarray() if sp.issparse(W) else W, expected, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("name", "kernel"),
    [("cosine", cosine_similarity), ("rbf", lambda X: rbf_kernel(X, gamma=0.1))],
)
def test_other_affinities_are_those_of_scikit_learn(container, name, kernel):
    X, task = _documents()
    W = _affinity_of(container(X), task, affinity=name, normalize=False, lambda_inter=1)
    expected = kernel(X)
    np.fill_diagonal(expected, 0)
    assert_allclose(W.toarray() if sp.issparse(W) else W, expected, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_lambda_by_pairs_of_tasks(container):
    X, task = _documents()
    lambdas = np.array([[9.0, 0.5, 0.0], [0.5, 9.0, 2.0], [0.0, 2.0, 9.0]])
    W = _affinity_of(container(X), task, lambda_inter=lambdas, normalize=False)
    W = W.toarray() if sp.issparse(W) else W
    np.fill_diagonal(lambdas, 1)  # the diagonal that is given is not used
    expected = shared_affinity(X, task, 1.0, 1.0) * lambdas[np.ix_(task, task)]
    assert_allclose(W, expected, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_precomputed_affinity_gives_the_same_clusters(container):
    X, task = _documents(40, 20, seed=1)
    A = shared_affinity(X, task, 1.0, 1.0)
    model = MultiTaskSymmetricNMF(task=-1, random_state=0, tol=1e-10).fit(
        with_task(sp.csr_array(X), task)
    )
    before = A.copy()
    given = MultiTaskSymmetricNMF(
        task=-1, affinity="precomputed", random_state=0, tol=1e-10
    ).fit(with_task(container(A), task))
    assert_array_equal(A, before)
    assert_allclose(given.objective_, model.objective_, rtol=1e-6)
    same = given.labels_ == model.labels_
    assert same.all() or not same[model.labels_ >= 0].any()


def test_diagonal_of_a_precomputed_affinity_is_no_evidence():
    X, task = _documents()
    A = shared_affinity(X, task, 1.0, 1.0)
    options = {"task": -1, "affinity": "precomputed", "random_state": 0}
    bare = MultiTaskSymmetricNMF(store_affinity=True, **options)
    W = bare.fit(with_task(A, task)).affinity_
    loops = bare.fit(with_task(A + 3 * np.eye(len(A)), task)).affinity_
    assert_allclose(loops, W)


@pytest.mark.parametrize("name", ["shared", "cosine", "rbf"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_product_of_new_rows_is_that_of_the_matrix(name, container):
    X, _ = _documents(30, 12, seed=2)
    X[7, 0] = 1.0
    both = container(X)
    U = np.random.default_rng(0).random((20, 2))
    whole, _ = build_affinity(
        X, name, 0.3, np.zeros(30, dtype=np.int32), np.ones((1, 1)), normalize=False
    )
    answer = cross_product(both[20:], both[:20], name, 0.3, U)
    assert_allclose(answer, whole.W[20:, :20] @ U)


@pytest.mark.parametrize("name", ["shared", "rbf", "precomputed"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", ["number", "zero", "matrix"])
def test_product_of_new_rows_weighs_pairs_of_tasks(name, container, kind):
    X, task = _documents(30, 12, seed=3)
    old, new = np.arange(20), np.arange(20, 30)
    lambdas = np.where(np.eye(3) > 0, 0.8, 0.3 if kind == "number" else 0.0)
    if kind == "matrix":
        lambdas = np.array([[1.0, 0.2, 0.0], [0.2, 1.0, 0.7], [0.0, 0.7, 1.0]])
    whole, _ = build_affinity(
        X,
        "shared" if name == "precomputed" else name,
        0.3,
        np.zeros(30, dtype=np.int32),
        np.ones((1, 1)),
        normalize=False,
    )
    A = whole.W[np.ix_(new, old)]
    rows, known = (A, None) if name == "precomputed" else (X[new], container(X[old]))
    U = np.random.default_rng(0).random((20, 2))
    answer = cross_product_by_task(
        container(rows),
        known,
        name,
        0.3,
        U,
        new_task=task[new],
        task=task[old],
        lambdas=lambdas,
    )
    assert_allclose(answer, (A * lambdas[np.ix_(task[new], task[old])]) @ U)


def test_float32_data_have_a_float32_affinity():
    X, task = _documents()
    assert _affinity_of(X.astype(np.float32), task).dtype == np.float32


def test_stored_zeros_are_no_terms():
    X, task = _documents()
    packed = sp.csr_array(X)
    packed.data[::3] = 0.0
    plain = sp.csr_array(packed.toarray())
    one, two = (_affinity_of(each, task) for each in (packed, plain))
    assert_array_equal(one.toarray(), two.toarray())


@pytest.mark.parametrize("kind", ["dense", "sparse", "terms"])
@pytest.mark.parametrize("n_tasks", [1, 3])
def test_product_inside_leaves_out_pairs_of_different_tasks(kind, n_tasks):
    X, task = _documents()
    task = (task % n_tasks).astype(np.int32)
    lambdas = np.where(np.eye(n_tasks) > 0, 0.8, 0.3)
    rows = X if kind == "dense" else sp.csr_array(X)
    affinity, _ = build_affinity(rows, "shared", 1.0, task, lambdas, normalize=True)
    W = degree_normalised(shared_affinity(X, task, 0.8, 0.3))
    if kind == "sparse":
        affinity = Affinity(sp.csr_array(W), task)
    V = np.random.default_rng(0).random((len(X), 2))
    inside = np.where(task[:, None] == task, W, 0) @ V
    assert_allclose(affinity.product_inside(V), inside, atol=1e-12)
