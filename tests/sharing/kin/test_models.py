"""Models that only the Kin estimators use."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn import with_task
from kinlearn.sharing import SharedPlusOwn, TaskAsFeature
from kinlearn.sharing.kin._base import _without_traces
from kinlearn.sharing.kin._candidates import choose_candidates
from kinlearn.sharing.kin._models import (
    BoostedOverLinear,
    MeanOf,
    StandardisedSVR,
    TaskByCoefficients,
)
from kinlearn.sharing.kin._training import staged_predictions
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


@pytest.mark.parametrize("weighted", [False, True])
def test_boosting_over_a_line_fits_what_it_leaves(rows, weighted):
    X, y, weight = rows
    options = {"sample_weight": weight} if weighted else {}
    linear = SharedPlusOwn(Ridge(1.0), task=-1, unknown_task="share")
    booster = HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=5)
    model = BoostedOverLinear(linear, booster).fit(X, y, **options)
    line = linear.fit(X, y, **options).predict(X)
    bend = TaskAsFeature(booster, task=-1).fit(X, y - line, **options).predict(X)
    assert_allclose(model.predict(X), line + bend)
    task = X[:, -1].astype(np.int32)
    early, late = staged_predictions(model, X, task, None, (3, 9))
    assert_allclose(late, line + bend)
    short = BoostedOverLinear(linear, booster.set_params(max_iter=3))
    assert_allclose(early, short.fit(X, y, **options).predict(X))


def points_by_answers(linear, n_tasks, n_features):
    """Numbers of the tasks, read from what the linear model says."""
    ask = np.vstack([np.zeros(n_features), np.eye(n_features)])
    values = getattr(linear, "decision_function", linear.predict)

    def coefficients(task):
        said = values(with_task(ask, np.full(len(ask), task)))
        said = said[:, None] if said.ndim == 1 else said
        return np.vstack([said[:1], said[1:] - said[0]]).T.ravel()

    own = np.array([coefficients(t) - coefficients(99) for t in range(n_tasks)])
    own /= linear.own_weight
    covariance = np.cov(own.T)
    directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :2]
    return own[:, :: n_features + 1], own @ directions


@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_points_of_tasks_come_from_their_coefficients(kind):
    rng = np.random.default_rng(0)
    task = rng.integers(5, size=300)
    X = with_task(rng.normal(size=(300, 3)), task)
    slope = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    y = slope[task] * X[:, 0] + 0.3 * task + 0.1 * rng.normal(size=300)
    line, booster = Ridge(1.0), HistGradientBoostingRegressor
    if kind != "numbers":
        y = np.digitize(y, [0.5] if kind == "two classes" else [0.0, 1.0])
        line = LogisticRegression(tol=1e-10, max_iter=10_000)
        booster = HistGradientBoostingClassifier
    linear = SharedPlusOwn(line, task=-1, own_weight=0.5, unknown_task="share")
    booster = booster(max_iter=9, min_samples_leaf=5)
    options = {"task": -1, "unknown_task": "share"}
    model = TaskByCoefficients(linear, booster, **options).fit(X, y)
    levels, directions = points_by_answers(linear.fit(X, y), 5, 3)
    n_levels = levels.shape[1]
    assert n_levels == (3 if kind == "three classes" else 1)
    assert_allclose(model.points_[:, :n_levels], levels, atol=1e-6)
    # a direction has no sign
    assert_allclose(np.abs(model.points_[:, n_levels:]), np.abs(directions), atol=1e-6)
    # tasks with the same slope are near each other
    first = model.points_[:, n_levels]
    assert np.ptp(first[:2]) < np.ptp(first) / 4
    assert np.ptp(first[2:]) < np.ptp(first) / 4

    answers = "predict" if kind == "numbers" else "predict_proba"
    wide = np.hstack([X[:, :-1], model.points_[task]])
    expected = getattr(booster.fit(wide, y), answers)(wide)
    assert_allclose(getattr(model, answers)(X), expected)
    strangers = with_task(X[:, :-1], np.full(300, 99))
    wide[:, 3:] = 0.0
    expected = getattr(booster, answers)(wide)
    assert_allclose(getattr(model, answers)(strangers), expected)


def test_a_single_task_is_one_point(rows):
    X, y, _ = rows
    X = with_task(X[:, :-1], np.zeros(len(y)))
    booster = HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=5)
    linear = SharedPlusOwn(Ridge(1.0), task=-1)
    model = TaskByCoefficients(linear, booster, task=-1).fit(X, y)
    expected = booster.fit(X[:, :-1], y).predict(X[:, :-1])
    assert_allclose(model.predict(X), expected)


def test_the_mean_of_models(rows):
    X, y, _ = rows
    models = [Ridge(alpha).fit(X, y) for alpha in (1.0, 50.0)]
    expected = (models[0].predict(X) + models[1].predict(X)) / 2
    assert_allclose(MeanOf(models).predict(X), expected)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_few_rows_have_machines_and_more_settings(kind):
    def candidates(n_rows, n_tasks=4, n_classes=2):
        sizes = np.full(n_tasks, n_rows // n_tasks)
        found = choose_candidates(
            kind,
            sizes,
            n_rows,
            families=("linear", "svm", "trees", "boosting"),
            n_estimators=10,
            seed=0,
            n_classes=n_classes,
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
    # which tasks are near each other is no question for two
    name = "gradient boosting, tasks by coefficients"
    assert name in candidates(400, n_tasks=5)
    assert name not in few
    # boosters are several in the end, with seeds of their own
    seeds = few["gradient boosting, task as feature"].variants
    assert_array_equal([each["estimator__random_state"] for each in seeds], range(4))


def test_candidates_that_hardly_count_anywhere_are_left_out():
    weights = np.full((50, 4), [0.6, 0.4, 0.0, 0.0])
    weights[0] = [0.5, 0.4, 0.1, 0.0]  # a whisper in one task of fifty
    weights[1] = [0.3, 0.4, 0.0, 0.3]  # much for one task
    kept = _without_traces(weights)
    assert_allclose(kept.sum(axis=1), 1)
    assert_allclose(kept[0], [5 / 9, 4 / 9, 0, 0])
    assert_allclose(kept[1:], weights[1:])
    # but not where a task would lose what it rests on
    many = np.full((200, 12), 0.0)
    many[:, 0] = 1.0
    many[7] = np.r_[0.12, np.full(11, 0.08)]
    assert_allclose(_without_traces(many)[7], many[7])
