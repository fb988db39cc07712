"""Many fits on the same bins."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.boosting import MultiTaskGradientBoostingRegressor
from kinlearn.boosting.gradient.internal import (
    REGRESSION,
    Binned,
    Problem,
    Settings,
    boost,
)
from kinlearn.tasks import with_task

SETTINGS = {
    "learning_rate": 0.3,
    "max_leaves": 8,
    "max_depth": 0,
    "least_count": 5,
    "l2": 0.0,
    "max_features": 3,
    "subsample": 1.0,
    "task_splits": True,
    "task_values": True,
    "seed": 0,
}


def make_rows(n=300):
    rng = np.random.default_rng(0)
    X, task = rng.integers(0, 20, size=(n, 3)).astype(float), np.arange(n) % 5
    y = X[:, 0] + (task > 2) * X[:, 1] + rng.normal(size=n)
    return X, task.astype(np.int32), y


def test_rows_left_out_are_as_if_they_were_not_there():
    X, task, y = make_rows()
    train = np.arange(len(y)) % 3 > 0
    loss = REGRESSION["squared_error"]
    binned = Binned.of(X)
    ones = np.ones(len(y), dtype=np.int64)
    whole = Problem(binned, task, 5, loss(y, 1.0 * train), ones * train)
    part = Problem(
        binned.take(train), task[train], 5, loss(y[train], ones[train]), ones[train]
    )
    found = [boost(p, Settings(**SETTINGS), 8) for p in (whole, part)]
    scores = [one.scores(binned.bins, task) for one in found]
    assert_allclose(*scores, rtol=1e-9)


def test_scores_are_those_of_the_estimator():
    X, task, y = make_rows()
    model = MultiTaskGradientBoostingRegressor(
        task=-1,
        n_estimators=8,
        learning_rate=0.3,
        max_leaf_nodes=8,
        min_samples_leaf=5,
        max_features=1.0,
        l2_regularization=0.0,
        random_state=0,
    ).fit(with_task(X, task), y)
    loss = REGRESSION["squared_error"]
    scaled = loss(y, np.ones(len(y)), scale=loss.find_scale(y))
    problem = Problem(Binned.of(X), task, 5, scaled, np.ones(len(y), dtype=np.int64))
    found = boost(problem, Settings(**SETTINGS), 8).scores(problem.binned.bins, task)
    assert_array_equal(found[:, 0] * scaled.scale, model.predict(with_task(X, task)))
