"""Forests have fewer trees in the folds than in the end."""

import numpy as np
import pytest

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.sharing.kin import _trials
from kinlearn.sharing.kin._models import MeanOf
from kinlearn.trees.extra import MultiTaskExtraTreesBase


def _forests(model):
    """Forests among the fitted models, also of forms."""
    found = []
    for each in model.models_:
        inner = getattr(each, "by_group_", each)
        for one in getattr(inner, "estimators_", [inner]):
            one = one.models[0] if isinstance(one, MeanOf) else one
            if isinstance(one, MultiTaskExtraTreesBase):
                found.append(one)
    return found


@pytest.mark.parametrize("effort", ["standard", "best"])
def test_the_forests_that_predict_have_all_trees(effort):
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(3), 30)
    X = rng.normal(size=(90, 2))
    y = np.sign(X[:, 0] * X[:, 1]) + 0.3 * task
    model = KinRegressor(
        task=-1, families="trees", effort=effort, n_estimators=70, random_state=0
    ).fit(with_task(X, task), y)
    forests = _forests(model)
    assert forests
    assert {forest.n_estimators for forest in forests} == {70}
    assert {forest.forest_.n_trees for forest in forests} == {70}


def test_one_task_has_all_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    model = KinClassifier(families="trees", n_estimators=70, random_state=0)
    model.fit(X, X[:, 0] * X[:, 1] > 0)
    assert [forest.forest_.n_trees for forest in _forests(model)] == [70]


def test_like_tasks_have_the_settings_of_a_forest_that_was_dropped(monkeypatch):
    name = "extra trees, multi-task"

    def drop(*_):
        raise _trials._LeftOut("the test wants it")

    monkeypatch.setattr(
        _trials.Trials, "_may_be_dropped", lambda _, candidate: candidate.name == name
    )
    monkeypatch.setattr(_trials.Trials, "_drop_if_without_weight", drop)
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), 40)
    X = rng.normal(size=(160, 3))
    y = np.array([1, -1, 1, -1])[task] * X.sum(axis=1) + 0.3 * rng.normal(size=160)
    model = KinRegressor(task=-1, families="trees", n_estimators=10, random_state=0)
    model.fit(with_task(X, task), y)
    assert list(model.dropped_) == [name]
    found = model.settings_["extra trees, like tasks"]
    assert {"estimator__linear_part", "estimator__n_cuts"} <= set(found)
