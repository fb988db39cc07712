"""Neither the order of the rows nor the names of tasks decide, where rows tie."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from kinlearn import with_task
from kinlearn.cluster import MultiTaskSymmetricNMF
from kinlearn.cluster._rows import canonical_order
from kinlearn.datasets import make_term_tasks


def _labels(X, task, n_clusters, **params):
    model = MultiTaskSymmetricNMF(n_clusters, task=-1, random_state=0, **params)
    return model.fit_predict(with_task(X, task))


def _agreements(X, task, n_clusters, seed, **params):
    """Of clusters with those of shuffled rows, and of renamed tasks."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(task))
    moved = X[order]
    if params.get("affinity") == "precomputed":
        moved = moved[:, order]
    names = rng.permutation(task.max() + 1)
    labels = _labels(X, task, n_clusters, **params)
    return (
        adjusted_rand_score(
            labels[order], _labels(moved, task[order], n_clusters, **params)
        ),
        adjusted_rand_score(labels, _labels(X, names[task], n_clusters, **params)),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_tasks_without_common_terms(n_classes, seed):
    X, _ = make_term_tasks(
        4,
        n_classes=n_classes,
        n_samples_per_class=15,
        shared=0.0,
        focus=0.35,
        length=12,
        random_state=seed,
    )
    task = X[:, [-1]].toarray().ravel().astype(int)
    assert _agreements(X[:, :-1], task, n_classes, seed) == (1.0, 1.0)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(3))
def test_graphs_of_zeros_and_ones(seed, container):
    points = np.random.default_rng(seed).normal(size=(60, 2))
    graph = kneighbors_graph(points, 5).toarray()
    graph = container(np.maximum(graph, graph.T))
    task = np.arange(60) % 2
    found = _agreements(graph, task, 3, seed, affinity="precomputed")
    assert found == (1.0, 1.0)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_order_of_rows_that_tie(container):
    rng = np.random.default_rng(0)
    X = (rng.random((40, 6)) < 0.4).astype(float)
    X[0, 0] = 1e9  # beside it, all else is rounded away
    X[20:] = X[:20]  # the same rows in another task, which has one row more
    X[39] = 1.0
    task = np.repeat([0, 1], 20)
    order = canonical_order(container(X), task)
    rows = np.column_stack([X, task])[order]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shuffled = rng.permutation(40)
        again = canonical_order(container(X[shuffled]), 1 - task[shuffled])
        assert (np.column_stack([X, task])[shuffled][again] == rows).all()
