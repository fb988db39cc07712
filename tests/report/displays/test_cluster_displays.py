"""Pictures of clusters by task."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from kinlearn.cluster import MultiTaskSymmetricNMF
from kinlearn.datasets import make_term_tasks
from kinlearn.report import (
    ClusterAffinityDisplay,
    ClusterTableDisplay,
)
from kinlearn.report.displays import _clusters


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def _names(ax, axis):
    return [label.get_text() for label in getattr(ax, f"get_{axis}ticklabels")()]


def _case(n=30, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.random((n, n))
    return A + A.T, rng.integers(2, size=n), rng.choice(["mail", "news", "web"], size=n)


_CONTAINERS = [np.asarray, sp.csr_array, sp.csc_matrix]


@pytest.mark.parametrize(
    "container", [*_CONTAINERS, sp.coo_matrix, np.ndarray.tolist, pd.DataFrame]
)
def test_cells_are_sorted_by_task_and_cluster(container):
    A, labels, tasks = _case()
    display = ClusterAffinityDisplay.from_affinity(container(A), labels, tasks=tasks)
    order = sorted(range(30), key=lambda i: (tasks[i], labels[i], i))
    assert_array_equal(display.order_, order)
    assert_allclose(display.im_.get_array(), A[np.ix_(order, order)])
    assert (
        _names(display.ax_, "x") == _names(display.ax_, "y") == ["mail", "news", "web"]
    )
    # a line between tasks and one between the clusters of each, both ways
    assert len(display.ax_.lines) == 2 * (2 + 3)


@pytest.mark.parametrize("container", _CONTAINERS)
def test_many_rows_are_averaged(monkeypatch, container):
    monkeypatch.setattr(_clusters, "_CELLS", 10)
    A, labels, tasks = _case(28)
    display = ClusterAffinityDisplay.from_affinity(container(A), labels, tasks=tasks)
    B = A[np.ix_(display.order_, display.order_)]
    shown = display.im_.get_array()
    assert shown.shape == (10, 10)
    assert_allclose(shown[1, 2], B[3:6, 6:9].mean())
    assert_allclose(shown[9, 0], B[27:, :3].mean())


def test_displays_of_a_clusterer():
    X, _ = make_term_tasks(2, n_samples_per_class=10, shared=0.5, random_state=0)
    model = MultiTaskSymmetricNMF(task=-1, random_state=0).fit(X)
    table = ClusterTableDisplay.from_estimator(model)
    assert_array_equal(table.counts_, [[10, 10], [10, 10]])
    with pytest.raises(ValueError, match="store_affinity=True"):
        ClusterAffinityDisplay.from_estimator(model)
    model.set_params(store_affinity=True).fit(X)
    display = ClusterAffinityDisplay.from_estimator(model)
    assert _names(display.ax_, "x") == ["0", "1"]
    W = model.affinity_.toarray()
    assert_allclose(display.im_.get_array(), W[np.ix_(display.order_, display.order_)])


def test_table_counts_and_colours_shares():
    display = ClusterTableDisplay.from_labels(
        [1, 0, 0, -1, 1], tasks=["b", "a", "a", "b", "b"], cluster_names=["?", "x", "y"]
    )
    assert_array_equal(display.counts_, [[0, 2, 0], [1, 0, 2]])
    assert_allclose(display.im_.get_array(), [[0, 1, 0], [1 / 3, 0, 2 / 3]])
    assert _names(display.ax_, "x") == ["?", "x", "y"]
    assert [text.get_text() for text in display.ax_.texts] == list("020102")
    unnamed = ClusterTableDisplay.from_labels([0, -1], tasks=[1, 1])
    assert _names(unnamed.ax_, "x") == ["none", "cluster 0"]


@pytest.mark.parametrize("container", [list, pd.Series, pl.Series])
def test_clusters_may_have_names(container):
    A, labels, tasks = _case()
    numbered = ClusterAffinityDisplay.from_affinity(A, labels, tasks=tasks)
    named = container(["new" if label else "ask" for label in labels])
    display = ClusterAffinityDisplay.from_affinity(A, named, tasks=tasks)
    # "ask" comes before "new" as 0 does before 1
    assert_array_equal(display.order_, numbered.order_)
    assert len(display.ax_.lines) == len(numbered.ax_.lines)
    table = ClusterTableDisplay.from_labels(named, tasks=tasks)
    assert _names(table.ax_, "x") == ["cluster ask", "cluster new"]


def test_many_tasks_make_no_tower():
    tasks = np.repeat([f"shop {i:03d}" for i in range(200)], 2)
    table = ClusterTableDisplay.from_labels(np.tile([0, 1], 200), tasks=tasks)
    assert table.figure_.get_figheight() < 12
    assert table.counts_.shape == (200, 2)
    assert len(table.ax_.texts) == 0  # no room for numbers
    assert _names(table.ax_, "y") == [f"shop {i:03d}" for i in range(0, 200, 8)]
    assert "one in 8 of 200 tasks" in table.ax_.get_xlabel()
    display = ClusterAffinityDisplay.from_affinity(
        np.ones((400, 400)), np.tile([0, 1], 200), tasks=tasks
    )
    assert _names(display.ax_, "x") == [f"shop {i:03d}" for i in range(0, 200, 8)]
    # a named task is named in its middle
    assert display.ax_.get_xticks()[1] == 17
    many = ClusterTableDisplay.from_labels(np.arange(400), tasks=tasks)
    assert many.figure_.get_figwidth() < 14


@pytest.mark.parametrize("display", [ClusterAffinityDisplay, ClusterTableDisplay])
def test_a_clusterer_must_be_fitted(display):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        display.from_estimator(MultiTaskSymmetricNMF())


def test_an_affinity_must_be_numbers():
    with pytest.raises(ValueError, match="arrays of bytes/strings"):
        ClusterAffinityDisplay.from_affinity([["a"]], [0], tasks=[0])
    with pytest.raises(ValueError, match="affinity contains NaN"):
        ClusterAffinityDisplay.from_affinity([[np.nan]], [0], tasks=[0])


def test_wrong_shapes_are_refused():
    A, labels, tasks = _case()
    with pytest.raises(ValueError, match=r"shape \(29,\) but tasks has 30 rows"):
        ClusterTableDisplay.from_labels(labels[:-1], tasks=tasks)
    with pytest.raises(ValueError, match=r"30 labels need \(30, 30\)"):
        ClusterAffinityDisplay.from_affinity(A[:5], labels, tasks=tasks)
    with pytest.raises(ValueError, match="1 cluster_names for 2 clusters"):
        ClusterTableDisplay.from_labels(labels, tasks=tasks, cluster_names=["x"])
