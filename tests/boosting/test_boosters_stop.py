"""What ends the rounds of any booster: callbacks, and rows held back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kinlearn import with_task
from kinlearn.boosting import (
    AbstainingAdaBoostClassifier,
    MTBoostClassifier,
    MTBoostRegressor,
    MultiTaskAdaBoostClassifier,
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.boosting._early_stopping import hold_back
from tests.callbacks import StopAfter
from tests.versions import needs_callbacks

BOOSTERS = [
    AbstainingAdaBoostClassifier(12, task=-1, random_state=0),
    AbstainingAdaBoostClassifier(
        12, task=-1, algorithm="mh", n_roots=3, random_state=0
    ),
    MultiTaskAdaBoostClassifier(n_estimators=12, task=-1),
    MTBoostClassifier(n_estimators=12, task=-1, random_state=0),
    MTBoostRegressor(n_estimators=12, task=-1, random_state=0),
    MultiTaskGradientBoostingClassifier(n_estimators=12, task=-1, random_state=0),
    MultiTaskGradientBoostingRegressor(n_estimators=12, task=-1, random_state=0),
]
WATCHING = [model for model in BOOSTERS if "early_stopping" in model.get_params()]


def make_rows(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)), np.arange(n) % 3
    y = (X[:, 0] + X[:, 1] + 2 * rng.normal(size=n) > 0).astype(int)
    return with_task(X, task), y


@needs_callbacks
@pytest.mark.parametrize("model", BOOSTERS)
def test_a_callback_ends_the_rounds(model):
    X, y = make_rows()
    stop = StopAfter(5)
    model = clone(model).set_callbacks(stop).fit(X, y)
    assert stop.seen == ["setup", *(f"round {t}" for t in range(5)), "fit", "teardown"]
    assert len(list(model.staged_predict(X))) == 5
    shorter = clone(model).set_params(n_estimators=5).fit(X, y)
    assert_array_equal(model.predict(X), shorter.predict(X))


@pytest.mark.parametrize("model", WATCHING)
def test_too_small_a_share_to_hold_back_is_an_error(model):
    X, y = make_rows()
    model = clone(model).set_params(early_stopping=True, validation_fraction=0.01)
    with pytest.raises(
        ValueError, match=r"fraction=0\.01 .* leaves no row to hold back"
    ):
        model.fit(X, y)


@pytest.mark.parametrize("model", WATCHING)
def test_a_later_fit_forgets_what_was_watched(model):
    X, y = make_rows()
    model = clone(model).set_params(early_stopping=True).fit(X, y)
    watched = {name for name in vars(model) if name.startswith("validation_")}
    assert len(watched) == 2  # the parameter, and what was seen
    model.set_params(early_stopping=False).fit(X, y)
    left = {name for name in vars(model) if name.startswith("validation_")}
    assert left == {"validation_fraction"}


@pytest.mark.parametrize("model", [m for m in WATCHING if hasattr(m, "predict_proba")])
def test_tasks_of_one_class_are_not_watched(model):
    X, y = make_rows()
    X[:40, -1], y[:40] = 9, 0  # the only task with rows enough for a share of 0.03
    model = clone(model).set_params(early_stopping=True, validation_fraction=0.03)
    with pytest.raises(ValueError, match="leaves no row to hold back"):
        model.fit(X, y)
    # if there is nothing to boost, there is nothing to stop
    alone = np.zeros(len(y), dtype=int)
    assert_array_equal(model.fit(X, alone).predict(X), 0)


def test_rows_are_held_back_by_task_and_class():
    rng = np.random.default_rng(0)
    task, y = rng.integers(4, size=400), rng.integers(2, size=400)
    y[task == 3] = 1
    weight = (rng.random(400) < 0.8).astype(float)
    held = hold_back(task, y, weight, 0.25, np.random.RandomState(0))
    assert not held[(weight == 0) | (task == 3)].any()
    for t in range(3):
        for label in range(2):
            cell = (task == t) & (y == label) & (weight > 0)
            assert_allclose(held[cell].sum(), np.rint(0.25 * cell.sum()))
    numbers = hold_back(task, None, weight, 0.25, np.random.RandomState(0))
    for t in range(4):
        cell = (task == t) & (weight > 0)
        assert_allclose(numbers[cell].sum(), np.rint(0.25 * cell.sum()))
