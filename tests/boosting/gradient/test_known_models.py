"""One task, and no more than plain boosting: scikit-learn's histogram boosting.

Its gradients are rounded to float32, so where two splits are as good as each other, it
may take another one.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.tasks import with_task

OURS = {"n_estimators": 20, "max_features": 1.0, "max_bins": 255, "random_state": 0}
OURS["linear_part"] = False
THEIRS = {"max_iter": 20, "early_stopping": False, "max_bins": 255}
SETTINGS = [
    {"max_leaf_nodes": 31, "l2_regularization": 0.0},
    {"max_leaf_nodes": 8, "l2_regularization": 2.0, "learning_rate": 0.3},
    {"max_leaf_nodes": None, "l2_regularization": 1.0, "min_samples_leaf": 25},
    {"max_leaf_nodes": None, "l2_regularization": 0.0, "max_depth": 3},
]


def make_rows(seed, n=700):
    """Values so few that every one has a bin: the same candidates for cuts."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    Z = np.nan_to_num(X)
    return X, Z[:, 0] ** 2 + Z[:, 1] + (Z[:, 2] > 0) * Z[:, 3], rng


@pytest.mark.parametrize("number", range(len(SETTINGS)))
@pytest.mark.parametrize("seed", range(3))
def test_numbers(number, seed):
    X, signal, rng = make_rows(seed)
    y = signal + rng.normal(size=len(X))
    shared = {"learning_rate": 0.1, "min_samples_leaf": 20, **SETTINGS[number]}
    ours = MultiTaskGradientBoostingRegressor(**OURS, **shared).fit(X, y)
    theirs = HistGradientBoostingRegressor(**THEIRS, **shared).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
@pytest.mark.parametrize("seed", range(3))
def test_two_classes(number, seed):
    X, signal, rng = make_rows(seed)
    y = signal + rng.logistic(size=len(X)) > 1
    shared = {"learning_rate": 0.1, "min_samples_leaf": 20, **SETTINGS[number]}
    ours = MultiTaskGradientBoostingClassifier(**OURS, **shared).fit(X, y)
    theirs = HistGradientBoostingClassifier(**THEIRS, **shared).fit(X, y)
    assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-6, atol=1e-6
    )


def test_three_classes():
    gaps = []
    for seed in range(8):
        X, signal, rng = make_rows(seed)
        y = np.digitize(signal + rng.logistic(size=len(X)), [0, 2])
        shared = {"learning_rate": 0.1, "min_samples_leaf": 20, "max_leaf_nodes": 15}
        shared["l2_regularization"] = 1.0
        ours = MultiTaskGradientBoostingClassifier(**OURS, **shared).fit(X, y)
        theirs = HistGradientBoostingClassifier(**THEIRS, **shared).fit(X, y)
        gaps.append(np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max())
    # splits tie more often among three trees of a round
    assert np.count_nonzero(np.array(gaps) < 1e-6) >= 6


def test_tasks_that_are_not_looked_at():
    X, signal, rng = make_rows(0)
    y = signal + rng.normal(size=len(X))
    shared = {"learning_rate": 0.1, "min_samples_leaf": 20, **SETTINGS[0]}
    blind = {"task": -1, "task_splits": False, "task_values": False}
    Z = with_task(X, np.arange(len(X)) % 7)
    ours = MultiTaskGradientBoostingRegressor(**OURS, **shared, **blind).fit(Z, y)
    theirs = HistGradientBoostingRegressor(**THEIRS, **shared).fit(X, y)
    assert_allclose(ours.predict(Z), theirs.predict(X), rtol=1e-6, atol=1e-6)


def test_leaves_without_limit_hold_as_many_rows_as_they_must():
    X, signal, _ = make_rows(0)
    params = {**OURS, "n_estimators": 1, "max_leaf_nodes": None, "learning_rate": 1.0}
    every = np.arange(len(X))[:, None] / 10.0
    model = MultiTaskGradientBoostingRegressor(**params, min_samples_leaf=1)
    model.set_params(l2_regularization=0.0).fit(every[:200], signal[:200])
    assert_allclose(model.predict(every[:200]), signal[:200], atol=1e-12)
    weight = np.full(200, 3)  # a row of weight 3 is three, and one leaf
    model.set_params(min_samples_leaf=6).fit(every[:200], signal[:200], weight)
    assert len(model.trees_.values) <= 100
    model.set_params(min_samples_leaf=1000).fit(every[:200], signal[:200])
    assert len(model.trees_.values) == 1
