"""Rows and tasks that come after fit, for decision trees and random forests."""

from dataclasses import replace

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import kinlearn
from kinlearn import with_task
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskRandomForestClassifier,
)
from kinlearn.trees.decision._later import add_rows, reached
from kinlearn.trees.decision._model import decided_bits


def make_rows(seed=0, n=300, n_tasks=5):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 6)), 1)
    X[rng.random(n) < 0.1, 1] = np.nan
    task = rng.integers(0, n_tasks, n)
    y = (X[:, 0] + 0.3 * task * X[:, 2] + 0.5 * rng.normal(size=n) > 0.2).astype(int)
    y[task == 2] += 1
    return X, task, y, rng.integers(1, 4, n).astype(float)


def without(tree, task):
    """The tree as if a task had no decisions."""
    kept = tree.decision_task != task
    node = np.repeat(np.arange(tree.node_count), np.diff(tree.decision_indptr))
    sizes = np.diff(tree.value_indptr)
    values = np.repeat(kept, sizes)
    indptr = np.searchsorted(node[kept], np.arange(tree.node_count + 1))
    steps = tree.steps.copy()
    steps["decided"] = decided_bits(indptr, tree.decision_task[kept])
    return replace(
        tree,
        steps=steps,
        decision_indptr=indptr.astype(np.int32),
        decision_task=tree.decision_task[kept],
        decision_rows=tree.decision_rows[kept],
        decision_weight=tree.decision_weight[kept],
        value_indptr=np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int32),
        value_label=tree.value_label[values],
        value_share=tree.value_share[values],
    )


def assert_same_trees(one, two):
    for name in vars(one):
        a, b = getattr(one, name), getattr(two, name)
        if name in ("steps", "stats"):
            assert_array_equal(a, b)
        elif a is not None:
            assert_allclose(a, b, err_msg=name)


@pytest.mark.parametrize("purity", [1.0, 0.8])
@pytest.mark.parametrize("settings", [{}, {"max_depth": 3}, {"min_samples_leaf": 9}])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_task_added_to_a_tree_is_decided_as_in_its_growth(purity, settings, weighted):
    X, task, y, weight = make_rows()
    weight = weight if weighted else np.ones(len(y))
    tree = MultiTaskDecisionTreeClassifier(task=-1, purity=purity, **settings)
    tree.fit(with_task(X, task), y, sample_weight=weight)
    for t in range(5):
        mine, is_new, old = task == t, np.arange(5) == t, without(tree.tree_, t)
        at = reached(old, X[mine], task[mine], is_new)
        added = add_rows(old, at, task[mine], y[mine], weight[mine], is_new, purity)
        added.check(6, 5, 3)
        assert_same_trees(tree.tree_, added)


def test_rows_of_known_tasks_add_to_the_frequencies():
    X, task, y, weight = make_rows(1)
    late = np.arange(len(y)) % 3 == 0
    Z = with_task(X, task)
    tree = MultiTaskDecisionTreeClassifier(
        task=-1, min_samples_leaf=20, label_sets="observed"
    )
    tree.fit(Z[~late], y[~late], sample_weight=weight[~late])
    node = tree.apply(Z)
    own_rows = set(zip(node[~late].tolist(), task[~late].tolist(), strict=True))
    tree.partial_fit(Z[late], y[late], sample_weight=weight[late])
    assert_array_equal(tree.apply(Z), node)
    proba = tree.predict_proba(Z)
    for at, t in own_rows:
        same = (node == at) & (task == t)
        expected = np.bincount(y[same], weight[same], minlength=3) / weight[same].sum()
        assert_allclose(proba[same], np.tile(expected, (same.sum(), 1)))


MODELS = [
    MultiTaskDecisionTreeClassifier(task=-1, max_depth=4),
    MultiTaskRandomForestClassifier(5, task=-1, max_depth=4, random_state=0),
    MultiTaskRandomForestClassifier(
        3, task=-1, max_depth=4, shrinkage=5.0, random_state=0
    ),
]


@pytest.mark.parametrize("model", MODELS)
def test_add_task_leaves_known_tasks_alone_and_learns_new_classes(model, tmp_path):
    X, task, y, _ = make_rows(2)
    task = np.array([-3, 2, 5, 7, 100])[task]
    new = task == 5
    y[new] += 10 * (y[new] == 1)
    Z = with_task(X, task)
    model.set_params(unknown_task="error").fit(Z[~new], y[~new])
    before = model.predict_proba(Z[~new])
    model.add_task(Z[new], y[new])
    assert_array_equal(model.classes_, [0, 1, 2, 11])
    assert_array_equal(model.task_classes_[5], [2, 11][: len(set(y[new]))])
    after = model.predict_proba(Z)
    places = np.searchsorted(model.classes_, [0, 1])
    assert_allclose(after[~new][:, places], before)
    assert_allclose(after.sum(axis=1), 1)
    assert np.mean(model.predict(Z[new]) == y[new]) > 0.7
    with pytest.raises(ValueError, match=r"knows 5\. Drop"):
        model.add_task(Z[new], y[new])
    kinlearn.save(model, tmp_path / "model.skops")
    loaded = kinlearn.load(tmp_path / "model.skops")
    assert_array_equal(loaded.predict_proba(Z), after)
    loaded.partial_fit(Z[new], y[new])
    model.partial_fit(Z[new], y[new])
    assert_array_equal(loaded.predict_proba(Z), model.predict_proba(Z))


@pytest.mark.parametrize("model", MODELS)
def test_sparse_rows_and_any_order_give_the_same(model):
    X, task, y, weight = make_rows(3)
    X = np.nan_to_num(X) * (np.abs(np.nan_to_num(X)) > 0.5)
    late = (task == 4) | (np.arange(len(y)) % 4 == 0)
    Z = with_task(X, task)
    predictions = []
    for form in (np.asarray, sp.csr_array, sp.csc_matrix):
        order = np.random.default_rng(0).permutation(np.flatnonzero(late))
        model.fit(form(Z)[~late], y[~late], sample_weight=weight[~late])
        model.partial_fit(form(Z)[order], y[order], sample_weight=weight[order])
        predictions.append(model.predict_proba(form(Z)))
    assert_allclose(predictions[1], predictions[0])
    assert_allclose(predictions[2], predictions[0])


def test_the_first_partial_fit_is_a_fit_and_rows_of_no_weight_are_none():
    X, task, y, _ = make_rows(4)
    Z = with_task(X, task)
    model = MultiTaskDecisionTreeClassifier(task=-1, max_depth=4)
    expected = joblib.hash(model.fit(Z, y).tree_)
    model = MultiTaskDecisionTreeClassifier(task=-1, max_depth=4)
    model.partial_fit(Z, y, classes=[0, 1, 2])
    assert joblib.hash(model.tree_) == expected
    proba = model.predict_proba(Z)
    one = np.arange(len(y)) < 1
    twice = model.tree_.decision_weight.sum() + 1
    model.partial_fit(Z, np.where(one, y, y[::-1]), sample_weight=one.astype(float))
    assert_allclose(model.tree_.decision_weight.sum(), twice)
    assert_array_equal(model.predict_proba(Z) > 0, proba > 0)
    with pytest.raises(ValueError, match="has no row of positive weight"):
        model.add_task(with_task(X, task + 9), y, sample_weight=one.astype(float))
    model.class_weight = "balanced"
    with pytest.raises(ValueError, match="depends on all rows together"):
        model.partial_fit(Z, y)


@pytest.mark.parametrize("model", MODELS)
def test_what_a_task_does_not_show_is_guessed_from_all_known_tasks(model):
    X, task, y, _ = make_rows(5)
    y[task == 2] -= 1  # two classes
    y[task == 1] = 0  # its other class is a guess
    Z, known = with_task(X, task), task < 3
    model.set_params(unknown_task="error").fit(Z[known], y[known])
    before = model.predict_proba(Z[known])
    model.add_task(Z[~known], y[~known])
    moved = np.abs(model.predict_proba(Z[known]) - before).max(axis=1) > 1e-12
    assert set(task[known][moved]) == {1}
