"""Probabilities of KinClassifier are right, also for tasks that it does not know."""

from copy import copy

import numpy as np
import pytest
from sklearn.metrics import log_loss

from kinlearn import KinClassifier, with_task

QUICK = {"n_estimators": 30, "n_folds": 3, "random_state": 0}


def make_tasks(sizes, seed):
    """Linear tasks: a common slope, and another one in the last task."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(task), 3))
    slope = np.tile([1.0, -1.0, 0.0], (len(sizes), 1))
    slope[-1] = [-1.0, 1.0, 1.0]
    y = (X * slope[task]).sum(axis=1) + 1.5 * rng.normal(size=len(task))
    return with_task(X, task), (y > 0).astype(int)


def test_probabilities_are_calibrated():
    """Raising them to any other power would not help on new rows."""
    X, y = make_tasks((300, 200, 150, 100), seed=0)
    X_new, y_new = make_tasks((3000, 2000, 1500, 1000), seed=1)
    model = KinClassifier(task=-1, families=["linear", "trees"], **QUICK).fit(X, y)
    proba = model.predict_proba(X_new)
    losses = {}
    for power in (0.7, 0.85, 1.0, 1.2, 1.4):
        other = proba**power
        losses[power] = log_loss(y_new, other / other.sum(axis=1, keepdims=True))
    assert losses[1.0] < min(losses.values()) + 0.003
    # by tenths of the probability, frequencies agree
    tenth = np.minimum((proba[:, 1] * 10).astype(int), 9)
    gap = [
        abs(y_new[tenth == k].mean() - proba[tenth == k, 1].mean())
        for k in range(10)
        if (tenth == k).sum() > 100
    ]
    assert np.max(gap) < 0.1
    assert np.mean(gap) < 0.05


def losses_with_and_without(model, X, y):
    """Log loss as it is, and as it would be if nothing were calibrated."""
    raw = copy(model)
    raw.temperature_ = raw.unseen_temperature_ = 1.0
    raw._corrections = [None] * len(model.models_)
    return log_loss(y, model.predict_proba(X)), log_loss(y, raw.predict_proba(X))


@pytest.mark.slow
def test_forests_that_are_never_sure_become_surer():
    options = {**QUICK, "n_folds": 5, "unknown_task": "error"}
    found = []
    for seed in range(4):
        X, y = make_tasks((150, 100, 60, 150), seed=seed)
        model = KinClassifier(task=-1, families="trees", **options).fit(X, y)
        new = make_tasks((1000,) * 4, seed=100 + seed)
        found.append(losses_with_and_without(model, *new))
    calibrated, raw = np.mean(found, axis=0)
    assert calibrated < 0.98 * raw  # without calibration they are the same


@pytest.mark.slow
def test_answers_for_strangers_become_less_sure():
    """The slopes of a new task may be any, so what others have says little."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        common = rng.normal(size=3)

        def draw(n_tasks, n_rows, rng=rng, common=common):
            task = np.repeat(np.arange(n_tasks), n_rows)
            slopes = common + 1.5 * rng.normal(size=(n_tasks, 3))
            X = rng.normal(size=(len(task), 3))
            score = (X * slopes[task]).sum(axis=1)
            return X, task, (score + 0.3 * rng.logistic(size=len(task)) > 0).astype(int)

        X, task, y = draw(6, 100)
        model = KinClassifier(task=-1, families="linear", unknown_task="share", **QUICK)
        model.fit(with_task(X, task), y)
        assert model.unseen_temperature_ < min(1, model.temperature_)
        X, task, y = draw(100, 20)
        found.append(losses_with_and_without(model, with_task(X, 1000 + task), y))
    calibrated, raw = np.mean(found, axis=0)
    assert calibrated < 0.99 * raw
