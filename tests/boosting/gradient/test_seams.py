"""What several parts of gradient boosting must agree on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import with_task
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.utils import Threads


def make_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    task = np.arange(n) % 4
    X = rng.normal(size=(n, 3))
    y = X[:, 0] * (1 + task) + rng.normal(size=n) / 2
    return with_task(X, task), y


@pytest.mark.parametrize("far", [1e200, 1e300])
def test_targets_of_rows_without_weight_are_absent(far):
    X, y = make_rows()
    weight = np.ones(len(y))
    weight[0] = 0
    model = MultiTaskGradientBoostingRegressor(
        task=-1, n_estimators=20, random_state=0
    ).fit(X, y, weight)
    other = y.copy()
    other[0] = far
    expected = model.predict(X)
    assert_array_equal(model.fit(X, other, weight).predict(X), expected)


@pytest.mark.parametrize("whole", [True, False])
def test_one_large_weight_does_not_silence_the_others(whole):
    X, y = make_rows(20_000)
    weight = np.ones(len(y))
    weight[0] = 1e7 if whole else 1e7 + 0.5
    model = MultiTaskGradientBoostingRegressor(
        task=-1, n_estimators=20, max_features=1.0, random_state=0
    ).fit(X, y, weight)
    assert sum(tree.weight[0] for tree in model.trees_) / 20 == pytest.approx(
        weight.sum(), rel=1e-9
    )
    assert model.trees_.nodes["feature"].max() >= 0


def test_a_warm_start_keeps_no_round_that_is_worse():
    X, y = make_rows()
    model = MultiTaskGradientBoostingRegressor(
        task=-1,
        random_state=0,
        n_estimators=500,
        learning_rate=0.3,
        early_stopping=True,
        warm_start=True,
    ).fit(X, y)
    n_rounds, expected = model.n_estimators_, model.predict(X)
    for _ in range(3):
        model.fit(X, y)
    assert model.n_estimators_ == n_rounds
    assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("change", [{"loss": "poisson"}, {"offset": 0}])
def test_a_warm_start_refuses_another_loss_or_offset(change):
    X, y = make_rows()
    model = MultiTaskGradientBoostingRegressor(
        task=-1, n_estimators=3, warm_start=True, random_state=0
    ).fit(X, np.abs(y))
    before = model.predict(X)
    model.set_params(n_estimators=5, **change)
    name = next(iter(change))
    with pytest.raises(ValueError, match=f"{name}=.* cannot go on from a fit with"):
        model.fit(X, np.abs(y))
    model.set_params(loss="squared_error", offset=None)
    assert_allclose(model.predict(X), before)


def test_validation_rows_must_have_classes_of_their_tasks():
    X, y = make_rows()
    label = np.digitize(y, [-1, 1])
    label[X[:, -1] == 0] = np.minimum(label[X[:, -1] == 0], 1)
    model = MultiTaskGradientBoostingClassifier(
        task=-1, label_sets="observed", early_stopping=True, n_estimators=5
    )
    X_val = X[X[:, -1] == 0][:5]
    with pytest.raises(ValueError, match="y_val: y holds a class that task 0"):
        model.fit(X, label, X_val=X_val, y_val=np.full(5, 2))
    with pytest.raises(ValueError, match="y_val is given without X_val"):
        model.fit(X, label, y_val=np.full(5, 2))


def test_a_thread_that_cannot_start_leaves_none_waiting(monkeypatch):
    threads = Threads(3, 10**6)
    submit, calls = threads._pool.submit, []

    def fail(*args):
        calls.append(args)
        if len(calls) == 2:
            raise RuntimeError("can't start new thread")
        return submit(*args)

    monkeypatch.setattr(threads._pool, "submit", fail)
    with pytest.raises(RuntimeError, match="new thread"), threads.serving():
        pass
    monkeypatch.undo()
    threads._pool.shutdown(wait=True)  # ends
