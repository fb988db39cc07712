"""Gradient boosting in SHAP's form: what adds up to the scores."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from kinlearn.boosting import (
    MTBoostRegressor,
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
    shap_linear,
    shap_rows,
    to_shap,
)
from kinlearn.tasks import with_task
from tests.reference import shap_values as twin

SMALL = {"task": -1, "n_estimators": 6, "learning_rate": 0.4, "min_samples_leaf": 5}
SMALL |= {"max_leaf_nodes": 4, "max_features": 1.0}
SMALL |= {"random_state": 0, "unknown_task": "share"}
KINDS = ["numbers", "quantile", "poisson", "two classes", "three classes"]


def make_rows(kind, *, n=500, n_tasks=10, seed=0):
    """Tasks, missing values, and a column of categories with gaps in its codes."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 3)), rng.permutation(np.arange(n) % n_tasks)
    X[:, 1] = rng.choice([0, 2, 3, 7, 40], size=n)
    slope = np.array([2, -2, 4, 0, -3, 3, 1, -4, 5, -1.0])[:n_tasks]
    f = slope[task] * X[:, 0] + 2 * np.isin(X[:, 1], [2, 40]) + 0.2 * task
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, 1] = np.nan
    y = f + 0.3 * rng.normal(size=n)
    if kind == "poisson":
        y = rng.poisson(np.exp(f / 3))
    elif kind.endswith("classes"):
        y = np.digitize(f, [1.0, 3.0][: 1 + (kind == "three classes")])
    return with_task(X, task), y


def fitted(kind, **params):
    X, y = make_rows(kind)
    params = {**SMALL, "categorical_features": [1], **params}
    if kind.endswith("classes"):
        return MultiTaskGradientBoostingClassifier(**params).fit(X, y)
    loss = "squared_error" if kind == "numbers" else kind
    return MultiTaskGradientBoostingRegressor(loss, **params).fit(X, y)


def scores(model, X):
    if hasattr(model, "classes_"):
        out = model.decision_function(X)
        return out[:, None] if out.ndim == 1 else out
    out = model.predict(X)[:, None]
    return np.log(out) if model.loss == "poisson" else out


@pytest.mark.parametrize("kind", KINDS)
def test_exported_trees_have_the_scores(kind):
    model = fitted(kind)
    assert (model.trees_.nodes["feature"] == -2).any()
    assert len(model.trees_.departures)
    trees = to_shap(model, make_rows(kind)[0][::3])
    X = make_rows(kind, seed=1)[0][:100]
    X[::7, 1], X[::5, -1] = 8, 99  # a category and a task not seen in fit
    assert_allclose(
        twin.predict(trees, shap_rows(model, X)), scores(model, X), atol=1e-12
    )
    for tree in trees["trees"]:
        weight, left = tree["node_sample_weight"], tree["children_left"]
        inner = np.flatnonzero(left >= 0)
        sums = weight[left[inner]] + weight[tree["children_right"][inner]]
        assert_allclose(weight[inner], sums)


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_shap_add_up_and_are_those_of_the_definition(kind):
    shap = pytest.importorskip("shap")
    model = fitted(kind)
    trees = to_shap(model, make_rows(kind)[0])
    X = make_rows(kind, seed=1)[0][:40]
    rows = shap_rows(model, X)
    explainer = shap.TreeExplainer(trees)
    found = explainer.shap_values(rows, check_additivity=False)
    found = found.reshape(40, 4, -1)
    base = np.atleast_1d(explainer.expected_value)
    assert_allclose(found.sum(axis=1) + base, scores(model, X), atol=1e-9)
    for i in range(3):
        assert_allclose(found[i], twin.shap_values(trees, rows[i]), atol=1e-9)
    assert np.abs(found[:, 3]).max() > 0.1  # of the task


def test_intercepts_and_departures_are_the_tasks():
    model = fitted("numbers", task_splits=False, linear_part=False)
    X = make_rows("numbers")[0]
    trees = to_shap(model, X)
    assert len(trees["trees"]) == 7
    alone = {**trees, "trees": trees["trees"][:1]}
    got = twin.predict(alone, shap_rows(model, X[:30]))[:, 0]
    base = model._start.base[0] * model._score_unit
    assert_allclose(got, base + model.task_intercepts_[X[:30, -1].astype(int)])
    blind = fitted("numbers", task_splits=False, task_values=False)
    used = [tree["features"] for tree in to_shap(blind, X)["trees"]]
    assert 3 not in np.concatenate(used)


def test_later_tasks_and_rounds_are_exported():
    X, y = make_rows("numbers")
    new = X[:, -1] == 4
    model = MultiTaskGradientBoostingRegressor(**SMALL, categorical_features=[1])
    model.fit(X[~new], y[~new]).add_task(X[new], y[new])
    model.partial_fit(X[new], y[new] + 5)
    assert model.n_estimators_ > 6
    got = twin.predict(to_shap(model, X), shap_rows(model, X))
    assert_allclose(got, scores(model, X), atol=1e-12)


def test_offsets_come_by_themselves():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=200), "days": rng.integers(1, 9, size=200)})
    X["days"] = np.log(X["days"])
    X["kind"] = rng.choice(["a", "b", "c"], size=200)
    X["shop"] = np.arange(200) % 4
    y = rng.poisson(np.exp(X["days"] + (X["kind"] == "b") + 0.2 * X["shop"]))
    params = {**SMALL, "task": "shop", "offset": "days"}
    model = MultiTaskGradientBoostingRegressor("poisson", **params).fit(X, y)
    got = twin.predict(to_shap(model, X), shap_rows(model, X))
    linear = shap_linear(model, X)
    assert_allclose(linear[:, [*model.feature_names_].index("days")], X["days"])
    assert_allclose(got[:, 0] + linear.sum(axis=1), np.log(model.predict(X)))


def test_large_numbers_and_one_task():
    X, y = make_rows("numbers")
    model = MultiTaskGradientBoostingRegressor(n_estimators=5, random_state=0)
    model.fit(X, 1e9 * y)
    got = twin.predict(to_shap(model, X), shap_rows(model, X))
    assert_allclose(got[:, 0], model.predict(X), rtol=1e-12)


def test_others_are_refused():
    X, y = make_rows("numbers")
    with pytest.raises(NotFittedError):
        to_shap(MultiTaskGradientBoostingRegressor(), X)
    other = MTBoostRegressor(n_estimators=2, task=-1).fit(np.nan_to_num(X), y)
    with pytest.raises(TypeError, match="got MTBoostRegressor"):
        to_shap(other, X)
