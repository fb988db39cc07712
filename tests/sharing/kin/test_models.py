"""Models that only the Kin estimators use."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from kinlearn import with_task
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.boosting.gradient.internal import have_same_bins
from kinlearn.sharing.kin._candidates import Size, choose_candidates
from kinlearn.sharing.kin._groups import LikeTasks
from kinlearn.sharing.kin._models import MeanOf, StandardisedSVR
from kinlearn.sharing.kin._weights import without_traces
from kinlearn.svm import MultiTaskSVR


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(80, 3)), rng.integers(3, size=80))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.normal(size=80)
    return X, y, rng.uniform(0.5, 2.0, size=80)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_machines_take_any_unit(rows, weighted, unit):
    X, y, weight = rows
    weight = weight if weighted else None
    centre = np.average(y, weights=weight)
    spread = np.sqrt(np.average((y - centre) ** 2, weights=weight))
    twin = MultiTaskSVR(task=-1).fit(X, (y - centre) / spread, weight)
    expected = unit * (centre + spread * twin.predict(X))
    found = StandardisedSVR(task=-1).fit(X, unit * y, weight).predict(X)
    assert_allclose(found / unit, expected / unit, atol=1e-2 * spread)


def test_machines_take_a_constant(rows):
    X, y, _ = rows
    model = StandardisedSVR(task=-1).fit(X, np.full(len(y), 7.0))
    assert_allclose(model.predict(X), 7.0)


def test_the_mean_of_models(rows):
    X, y, _ = rows
    models = [Ridge(alpha).fit(X, y) for alpha in (1.0, 50.0)]
    expected = (models[0].predict(X) + models[1].predict(X)) / 2
    assert_allclose(MeanOf(models).predict(X), expected)


def _boosters(kind, like_tasks, X, y, weight):
    booster = (
        MultiTaskGradientBoostingClassifier
        if kind == "classification"
        else MultiTaskGradientBoostingRegressor
    )
    for seed in range(3):
        model = booster(
            n_estimators=5, max_features=0.5, max_bins=16, random_state=seed
        ).set_params(task=-1, unknown_task="share")
        if like_tasks:
            model = LikeTasks(model, task=-1, unknown_task="share")
        yield model.fit(X, y, weight)


@pytest.mark.parametrize("like_tasks", [False, True])
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_the_mean_of_boosters_that_have_their_bins_in_common(rows, kind, like_tasks):
    X, y, weight = rows
    X = np.vstack([X, X * [-1, 1, 1, 1]])
    y = np.concatenate([y, y])
    weight = np.concatenate([weight, weight])
    if kind == "classification":
        y = (y > 0.5) + 1
    models = list(_boosters(kind, like_tasks, X, y, weight))
    method = "predict" if kind == "regression" else "predict_proba"
    new = X[::3].copy()
    new[::5, -1] = 9  # an unknown task
    each = [getattr(model, method)(new) for model in models]
    assert (each[0] != each[1]).any()
    joined = MeanOf(models)
    assert have_same_bins(models) != like_tasks
    assert_array_equal(getattr(joined, method)(new), np.mean(each, axis=0))
    # of other rows, each reads them by itself
    models[1] = next(_boosters(kind, like_tasks, X[:90], y[:90], weight[:90]))
    assert not have_same_bins(models)
    each = [getattr(model, method)(new) for model in models]
    assert_array_equal(getattr(joined, method)(new), np.mean(each, axis=0))


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_few_rows_have_machines_and_more_settings(kind):
    def candidates(n_rows, n_tasks=4, n_classes=2):
        sizes = np.full(n_tasks, n_rows // n_tasks)
        found = choose_candidates(
            kind,
            Size(sizes, 5, n_classes),
            families=("linear", "svm", "trees", "boosting"),
            n_estimators=10,
            seed=0,
        )
        return {each.name: each for each in found}

    few, many = candidates(400), candidates(10_000)
    machine = few["support vector machine, multi-task"]
    assert machine.role == "shared"
    assert len(machine.settings) == 6
    assert not any("machine" in name for name in many)
    assert len(few["extra trees, alone"].settings) == 2
    assert len(many["extra trees, alone"].settings) == 1
    if kind == "classification":  # a machine for each
        assert any("machine" in name for name in candidates(3_000, n_classes=5))
        assert not any("machine" in name for name in candidates(3_000, n_classes=9))
    # a single task has nothing to share
    alone = candidates(400, n_tasks=1)["support vector machine, pooled"]
    assert alone.role == "pooled"
    assert len(alone.settings) == 2
    # boosters are several in the end, with seeds of their own
    seeds = few["gradient boosting, multi-task"].variants
    assert_array_equal([each["random_state"] for each in seeds], range(4))


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_effort_decides_who_takes_part(kind):
    def names(effort, n_features=5):
        found = choose_candidates(
            kind,
            Size(np.full(6, 100), n_features, cautions=(1.0, 4.0)),
            families=("linear", "svm", "trees", "boosting"),
            effort=effort,
            n_estimators=10,
            seed=0,
        )
        return {each.name for each in found}

    fast, standard, best = (names(each) for each in ("fast", "standard", "best"))
    assert fast < standard < best
    families = {name.split(",")[0] for name in fast}
    assert len(fast) == 4
    assert "gradient boosting" in families
    # slopes of each task are for few features, mixed models for not too many
    slopes = {name for name in standard if name.endswith("regression, slopes")}
    assert len(slopes) == 1
    assert standard - names("standard", 41) == slopes
    assert not any(name.startswith("mixed") for name in names("standard", 301))


def test_candidates_that_hardly_count_anywhere_are_left_out():
    weights = np.full((50, 4), [0.6, 0.4, 0.0, 0.0])
    weights[0] = [0.5, 0.4, 0.1, 0.0]  # a whisper in one task of fifty
    weights[1] = [0.3, 0.4, 0.0, 0.3]  # much for one task
    kept = without_traces(weights)
    assert_allclose(kept.sum(axis=1), 1)
    assert_allclose(kept[0], [5 / 9, 4 / 9, 0, 0])
    assert_allclose(kept[1:], weights[1:])
    # but not where a task would lose what it rests on
    many = np.full((200, 12), 0.0)
    many[:, 0] = 1.0
    many[7] = np.r_[0.12, np.full(11, 0.08)]
    assert_allclose(without_traces(many)[7], many[7])
