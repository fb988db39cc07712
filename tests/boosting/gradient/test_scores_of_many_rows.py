"""Many rows go through small trees node by node; it is as if each walked down."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import with_task
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)


def make_rows(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(0, 12, n)  # codes of categories
    X[rng.random(X.shape) < 0.1] = np.nan
    task = rng.integers(0, 11, n)
    signal = np.nan_to_num(X[:, 0] * (task % 3 - 1) + (X[:, 3] % 2))
    return with_task(X, task), signal + rng.normal(size=n)


def one_by_one(model, bins, task, scores):
    for i in range(len(bins)):
        some = slice(i, i + 1)
        model.trees_.add_scores(bins[some], task[some], scores[some])


# more leaves than have bits stand beside fewer: byte by byte, and none
@pytest.mark.parametrize("leaves", [2, 6, 8, 9, 24, 32, 33])
@pytest.mark.parametrize("n_rows", [17, 128, 300])
@pytest.mark.parametrize("classes", [False, True])
def test_scores_of_many_rows_are_those_of_each(leaves, n_rows, classes):
    X, y = make_rows()
    kind = MultiTaskGradientBoostingRegressor
    if classes:
        kind, y = MultiTaskGradientBoostingClassifier, np.digitize(y, [-1, 1])
    model = kind(
        task=-1,
        n_estimators=6,
        max_leaf_nodes=leaves,
        min_samples_leaf=2,
        categorical_features=[3],
        unknown_task="share",
        linear_part=False,
        random_state=0,
    ).fit(X, y)
    assert np.diff(model.trees_.leaf_start).max() == leaves
    assert (model.trees_.nodes["feature"] == -2).any() or leaves == 2
    bins = model.bins_.assign(X[:n_rows, :-1])
    task = X[:n_rows, -1].astype(np.int32)
    task[::9] = -1  # unknown ones
    found, expected = np.zeros((2, n_rows, 3 if classes else 1))
    model.trees_.add_scores(bins, task, found)
    one_by_one(model, bins, task, expected)
    assert len(np.unique(expected)) > 1
    assert_array_equal(found, expected)


def test_some_rows_and_some_trees():
    X, y = make_rows()
    model = MultiTaskGradientBoostingRegressor(task=-1, n_estimators=6, random_state=0)
    model.fit(X[:, [0, 1, 2, 4]], y)
    bins, task = model.bins_.assign(X[:, :3]), X[:, -1].astype(np.int32)
    rows = np.arange(5, 295, 2, dtype=np.int32)
    found, expected = np.zeros((2, len(X), 1))
    model.trees_.add_scores(bins, task, found, rows=rows, first=2, last=4)
    for tree in (2, 3):
        for row in rows:
            model.trees_.add_scores(
                bins,
                task,
                expected,
                rows=np.array([row], np.int32),
                first=tree,
                last=tree + 1,
            )
    assert np.count_nonzero(expected) == len(rows)
    assert_array_equal(found, expected)
