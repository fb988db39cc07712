"""The thesis's multiplicative updates, against those of a plain loop."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from kinlearn import load, save, with_task
from kinlearn.cluster import MultiTaskSymmetricNMF
from kinlearn.cluster._affinity import Affinity
from kinlearn.cluster._multiplicative import multiply, penalised
from kinlearn.cluster._solver import Problem
from kinlearn.datasets import make_term_tasks
from kinlearn.metrics import clustering_accuracy_score
from tests.reference import symmetric_nmf as plain

PRINTED = {"solver": "multiplicative", "normalize": False, "weighting": "affinity"}
HALVES = np.full((3, 2), 0.5)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((24, 8)) * (rng.random((24, 8)) < 0.5)
    task = np.repeat([0, 1, 2], 8).astype(np.int32)
    W = plain.shared_affinity(X, task, 1.0, 0.25)
    whole = Problem.build(
        Affinity(W, task), np.arange(24), np.ones((3, 3)), 0.0, HALVES
    )
    return X, task, W, whole, rng.random((24, 2))


@pytest.mark.parametrize("balance", [0.0, 1.0])
def test_updates_are_those_of_the_thesis(balance):
    _, task, W, whole, V = problem()
    expected = V
    for steps in range(1, 15):
        alpha = None if balance else 0.0
        expected, _ = plain.thesis_update(W, expected, task, alpha)
        found = multiply(whole, V, HALVES, balance, tol=0.0, max_iter=steps)
        assert_allclose(found.V, expected, rtol=1e-9, atol=1e-12)
        assert found.n_iter == steps
        loss = plain.thesis_objective(W, found.V, task, 0.0)
        assert_allclose(found.objective.sum(), loss)


def test_a_row_without_affinity_does_not_switch_the_penalty_off():
    _, task, W, whole, V = problem()
    more = np.pad(W, (0, 1))
    apart = Problem.build(
        Affinity(more, np.append(task, np.int32(0))),
        np.arange(25),
        np.ones((3, 3)),
        0.0,
        HALVES,
    )
    options = {"tol": 0.0, "max_iter": 5}
    expected = multiply(whole, V, HALVES, 1.0, **options)
    assert np.abs(expected.V - multiply(whole, V, HALVES, 0.0, **options).V).max() > 0.1
    found = multiply(apart, np.vstack([V, np.zeros(2)]), HALVES, 1.0, **options)
    assert_allclose(found.V[:-1], expected.V)
    weights = [
        penalised(p, V0, HALVES, 1.0).penalty
        for p, V0 in ((whole, V), (apart, np.vstack([V, np.zeros(2)])))
    ]
    assert weights[0].any()
    assert_allclose(*weights)


def test_tasks_that_have_nothing_in_common_have_each_a_penalty():
    _, task, W, _, V = problem()
    W = W * (task[:, None] == task)
    together = Problem.build(Affinity(W, task), np.arange(24), np.eye(3), 0.0, HALVES)
    options = {"tol": 0.0, "max_iter": 5}
    found = multiply(together, V, HALVES, 1.0, **options)
    for t in range(3):
        rows = np.flatnonzero(task == t)
        alone = Problem.build(
            Affinity(W[np.ix_(rows, rows)], np.zeros(8, dtype=np.int32)),
            np.arange(8),
            np.ones((1, 1)),
            0.0,
            HALVES[:1],
        )
        expected = multiply(alone, V[rows], HALVES[:1], 1.0, **options)
        assert_allclose(found.V[rows], expected.V)


def test_a_balance_above_the_greatest_is_refused():
    X, task, _, _, _ = problem()
    model = MultiTaskSymmetricNMF(task=-1, solver="multiplicative", balance=5)
    with pytest.raises(ValueError, match=r"balance is a fraction .* got 5"):
        model.fit(with_task(X, task))


def test_without_a_penalty_the_loss_never_rises():
    _, _, _, whole, V = problem(1)
    losses = [
        multiply(whole, V, HALVES, 0.0, tol=0.0, max_iter=steps).objective.sum()
        for steps in range(1, 40)
    ]
    assert (np.diff(losses) <= 1e-10 * losses[0]).all()


def test_the_printed_setting_is_the_affinity_and_the_updates_as_printed():
    X, task, W, _, _ = problem(2)
    model = MultiTaskSymmetricNMF(
        task=-1, lambda_inter=0.25, **PRINTED, tol=0.0, max_iter=3, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="max_iter=3 sweeps"):
        model.fit(with_task(X, task))
    assert model.n_iter_ == 3
    loss = plain.thesis_objective(W, model.embedding_, task, 0.0)
    assert_allclose(model.objective_, loss)
    assert_allclose(model.objective_, model.objectives_.min())
    with pytest.warns(ConvergenceWarning):
        same = model.set_params(affinity="precomputed", weighting="affinity").fit(
            with_task(plain.shared_affinity(X, task, 1.0, 1.0), task)
        )
    assert same.objective_ > 0


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_clusters_are_found_alone_and_together(packed, n_clusters):
    X, y = make_term_tasks(
        3, n_classes=n_clusters, n_samples_per_class=15, shared=0.5, random_state=0
    )
    X = sp.csr_array(X) if packed else X.toarray()
    options = {"task": -1, "solver": "multiplicative", "random_state": 0}
    model = MultiTaskSymmetricNMF(n_clusters, **options).fit(X)
    assert (model.embedding_ >= 0).all()
    assert clustering_accuracy_score(y, model.labels_) > 0.9
    assert np.mean(model.predict(X) == model.labels_) > 0.9
    again = MultiTaskSymmetricNMF(n_clusters, n_jobs=2, **options).fit(X)
    assert_array_equal(again.labels_, model.labels_)
    order = np.random.default_rng(0).permutation(len(y))
    moved = MultiTaskSymmetricNMF(n_clusters, **options).fit(X[order])
    assert_array_equal(moved.labels_, model.labels_[order])


def test_a_model_of_updates_is_saved(tmp_path):
    X, _ = make_term_tasks(3, n_samples_per_class=10, random_state=0)
    model = MultiTaskSymmetricNMF(task=-1, solver="multiplicative", random_state=0).fit(
        X
    )
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.solver == "multiplicative"
    assert_array_equal(again.predict(X), model.predict(X))
