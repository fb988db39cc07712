"""Values drawn towards those above them in the tree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import kinlearn
from kinlearn import with_task
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
)
from tests.reference.shrunken_trees import shrunken_frequencies, shrunken_means


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 260
    X = np.round(rng.normal(size=(n, 5)), 1)
    task = rng.integers(0, 4, n)
    y = (X[:, 0] + 0.4 * task * X[:, 1] + rng.normal(size=n) > 0.3).astype(int)
    y[(task == 2) & (X[:, 2] > 0.8)] = 2
    return with_task(X, task), y, rng.integers(1, 4, n).astype(float)


CLASSIFIERS = [
    MultiTaskDecisionTreeClassifier(task=-1),
    MultiTaskRandomForestClassifier(5, task=-1, bootstrap=False, random_state=0),
]


@pytest.mark.parametrize("purity", [1.0, 0.8])
@pytest.mark.parametrize("shrinkage", [0.5, 10.0])
def test_a_tree_predicts_what_its_twin_does(rows, purity, shrinkage):
    X, y, weight = rows
    model = MultiTaskDecisionTreeClassifier(
        task=-1, purity=purity, shrinkage=shrinkage, label_sets="observed"
    ).fit(X, y, sample_weight=weight)
    task = X[:, -1].astype(int)
    paths = model.decision_path(X).toarray() > 0
    expected = shrunken_frequencies(paths, task, y, weight, shrinkage)
    assert_allclose(model.predict_proba(X), expected, atol=1e-12)


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_none_changes_nothing_and_much_leaves_the_root(rows, model):
    X, y, weight = rows
    model = clone(model).set_params(shrinkage=0, label_sets="observed")
    plain = model.fit(X, y, sample_weight=weight).predict_proba(X)
    model.set_params(shrinkage=1e-9).fit(X, y, sample_weight=weight)
    assert_allclose(model.predict_proba(X), plain, atol=1e-6)
    model.set_params(shrinkage=1e12).fit(X, y, sample_weight=weight)
    task = X[:, -1].astype(int)
    root = np.zeros((4, 3))
    np.add.at(root, (task, y), weight)
    root /= root.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), root[task], atol=1e-6)


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_later_rows_are_drawn_together_as_those_of_fit(rows, model):
    X, y, weight = rows
    model = clone(model).set_params(shrinkage=4.0, label_sets="observed")
    twice = model.fit(X, y, sample_weight=weight).predict_proba(X)
    # every row again: the same frequencies, of rows that weigh twice as much
    model.set_params(shrinkage=8.0).partial_fit(X, y, sample_weight=weight)
    assert_allclose(model.predict_proba(X), twice, atol=1e-12)


def test_a_forest_that_goes_on_is_that_of_one_fit(rows):
    X, y, _ = rows
    model = MultiTaskRandomForestClassifier(
        3, task=-1, shrinkage=3.0, warm_start=True, random_state=0
    )
    model.fit(X, y).set_params(n_estimators=5).fit(X, y)
    whole = MultiTaskRandomForestClassifier(
        5, task=-1, shrinkage=3.0, random_state=0
    ).fit(X, y)
    assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


SMALL = {"task": -1, "min_samples_leaf": 2, "task_split_prob": 0.4, "random_state": 0}
EXTRA = [
    MultiTaskExtraTreesClassifier(
        1, max_features=2, n_cuts=1, label_sets="observed", **SMALL
    ),
    MultiTaskExtraTreesRegressor(
        1, max_features=2, linear_part=False, task_offset=False, **SMALL
    ),
]


def predictions(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize("model", EXTRA)
def test_a_leaf_of_extra_trees_has_the_value_of_its_twin(rows, model):
    X, y, weight = rows
    model.set_params(shrinkage=6.0).fit(X, y, sample_weight=weight)
    paths = model.decision_path(X)[0].toarray() > 0
    targets = np.eye(3)[y] if hasattr(model, "classes_") else y[:, None].astype(float)
    expected = shrunken_means(paths, targets, weight, 6.0)
    found = predictions(model, X).reshape(len(y), -1)
    if hasattr(model, "classes_"):  # those of the row's task alone
        expected *= found > 0
        expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("model", EXTRA)
def test_extra_trees_between_their_leaves_and_their_roots(rows, model, tmp_path):
    X, y, weight = rows
    model = clone(model).set_params(n_estimators=3, shrinkage=0.0)
    plain = predictions(model.fit(X, y, sample_weight=weight), X)
    values = model.forest_.values
    model.set_params(shrinkage=1e-9).fit(X, y, sample_weight=weight)
    assert_allclose(predictions(model, X), plain, atol=1e-6)
    model.set_params(shrinkage=1e12).fit(X, y, sample_weight=weight)
    assert np.ptp(model.forest_.values, axis=0).max() < 1e-6
    kinlearn.save(model, tmp_path / "model.skops")
    loaded = kinlearn.load(tmp_path / "model.skops")
    assert_array_equal(predictions(loaded, X), predictions(model, X))
    # rows that come later are added to what was grown
    loaded.set_params(shrinkage=0.0).partial_fit(X, y, sample_weight=weight)
    assert_allclose(loaded.forest_.values, values, atol=1e-12)
    model.set_params(warm_start=True, shrinkage=2.0, n_estimators=5)
    whole = clone(model).set_params(warm_start=False)
    assert_array_equal(
        predictions(model.fit(X, y, sample_weight=weight), X),
        predictions(whole.fit(X, y, sample_weight=weight), X),
    )


def test_two_ways_to_change_leaves_are_an_error(rows):
    X, y, _ = rows
    model = MultiTaskExtraTreesClassifier(task=-1, shrinkage=1.0, leaf_smoothing=2.0)
    with pytest.raises(ValueError, match="Set one of them"):
        model.fit(X, y)
