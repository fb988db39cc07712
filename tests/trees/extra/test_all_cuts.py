"""All cuts of a feature: extra trees are then ordinary trees, with task splits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from kinlearn import with_task
from kinlearn.trees import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
)

ONE = {"n_estimators": 1, "n_cuts": "all", "max_features": None, "min_samples_leaf": 4}


def make_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 2] = np.round(X[:, 2])
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.3 * rng.normal(size=n)
    return X, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_regression_tree_is_that_of_scikit_learn(weighted):
    X, y, weight = make_rows()
    weight = weight if weighted else np.ones(len(y))
    tree = MultiTaskExtraTreesRegressor(**ONE, linear_part=False, random_state=0)
    tree.fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))  # weights are rows here
    other = DecisionTreeRegressor(min_samples_leaf=4, random_state=0)
    other.fit(X[rows], y[rows])
    # on these rows: two features may part those of a small node in the same way
    assert_allclose(tree.predict(X), other.predict(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_classification_tree_is_that_of_scikit_learn(n_classes, criterion, weighted):
    X, y, weight = make_rows()
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    weight = weight if weighted else np.ones(len(y))
    tree = MultiTaskExtraTreesClassifier(**ONE, criterion=criterion, max_depth=3)
    tree.fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    other = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=4, max_depth=3)
    other.fit(X[rows], y[rows])
    assert_allclose(tree.predict_proba(X), other.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("missing", [False, True])
def test_no_forest_of_random_cuts_has_a_better_first_split(missing):
    X, y, weight = make_rows()
    task = np.arange(len(y)) % 3
    if missing:
        X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    settings = {"task": -1, "max_depth": 1, "task_split_prob": 0.0}
    Z = with_task(X, task)
    best = MultiTaskExtraTreesRegressor(
        **{**ONE, **settings}, linear_part=False, task_offset=False, random_state=0
    ).fit(Z, y, sample_weight=weight)
    random = MultiTaskExtraTreesRegressor(
        **{**ONE, **settings, "n_cuts": 3000},
        linear_part=False,
        task_offset=False,
        random_state=0,
    ).fit(Z, y, sample_weight=weight)
    gains = best.forest_.mean_decrease(), random.forest_.mean_decrease()
    assert gains[0] >= gains[1] - 1e-12
    assert_allclose(*gains, rtol=0.01)


def test_nothing_is_random_but_the_draws_of_features_and_threads_do_not_matter():
    X, y, _ = make_rows()
    forests = [
        MultiTaskExtraTreesClassifier(
            3,
            n_cuts="all",
            max_features=2,
            min_samples_leaf=3,
            n_jobs=n,
            random_state=0,
        ).fit(X, y > 1)
        for n in (1, 2)
    ]
    assert_array_equal(forests[0].predict_proba(X), forests[1].predict_proba(X))
    assert forests[0].n_cuts_ == 0
    assert len({tuple(tree) for tree in forests[0].apply(X).T}) == 3
