"""Extra trees in SHAP's form: the same answers, sound weights, no needless size."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from kinlearn import with_task
from kinlearn.trees import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
    shap_linear,
    shap_rows,
    to_shap,
)
from tests.reference import shap_values as twin

BOTH = [MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor]
KINDS = ["numbers", "two classes", "four classes"]


def problem(kind, *, n=400, n_tasks=12, n_features=4, missing=0.1, seed=0):
    """Tasks of different level and slope, with codes that say nothing of either."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    task = rng.permutation(np.arange(n) % n_tasks)
    slope, level = rng.choice([-1, 1], size=n_tasks), rng.normal(size=n_tasks)
    y = slope[task] * X[:, 0] + level[task] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    cuts = {"numbers": None, "two classes": [0.5], "four classes": [0.25, 0.5, 0.75]}
    if cuts[kind] is not None:
        y = np.digitize(y, np.quantile(y, cuts[kind]))
        for t in range(n_tasks):  # every task has every class
            own = np.flatnonzero(task == t)[: len(cuts[kind]) + 1]
            y[own] = np.arange(len(own))
    return with_task(X, task), y


def fitted(kind, X, y, **params):
    estimator = BOTH[kind == "numbers"]
    params = {
        "n_estimators": 4,
        "task_split_prob": 0.7,
        "max_features": None,
        **params,
    }
    return estimator(task=-1, min_samples_leaf=5, random_state=0, **params).fit(X, y)


def answer(model, X):
    """The model's answer, a column for each output of the export."""
    if not hasattr(model, "classes_"):
        return model.predict(X)[:, None]
    proba = model.predict_proba(X)
    return proba[:, 1:] if proba.shape[1] == 2 else proba


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaf_smoothing", [None, 0.0, 5.0])
@pytest.mark.parametrize("n_tasks", [1, 12, 90])
def test_exported_trees_answer_as_the_forest(kind, leaf_smoothing, n_tasks):
    X, y = problem(kind, n_tasks=n_tasks)
    model = fitted(kind, X, y, leaf_smoothing=leaf_smoothing)
    assert model.forest_.is_task_split.any() == (n_tasks > 1)
    trees = to_shap(model, X[::3])
    new = problem(kind, n_tasks=n_tasks, missing=0.3, seed=1)[0][:150]
    assert_allclose(
        twin.predict(trees, shap_rows(model, new)), answer(model, new), atol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_leaves_that_are_drawn_together_are_exported(kind):
    X, y = problem(kind)
    model = fitted(kind, X, y, shrinkage=8.0)
    found = twin.predict(to_shap(model, X), shap_rows(model, X))
    assert_allclose(found, answer(model, X), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaf_smoothing", [None, 5.0])
def test_categories_become_runs_of_codes(kind, leaf_smoothing):
    X, y = problem(kind)
    rng = np.random.default_rng(0)
    X[:, 1] = rng.choice([0, 3, 4, 5, 9, 200], size=len(X))
    X[:, 2] = rng.integers(0, 30, size=len(X))
    X[rng.random(len(X)) < 0.1, 2] = np.nan
    y = y + 3 * np.isin(X[:, 1], [3, 200]) * (kind == "numbers")
    params = {"categorical_features": [1, 2], "leaf_smoothing": leaf_smoothing}
    model = fitted(kind, X, y, **params)
    trees = to_shap(model, X[::3])
    new = X[::3].copy()
    new[::4, 1], new[::5, 2], new[::7, 2] = 7, np.nan, 99
    rows = shap_rows(model, new)
    assert set(rows[::4, 1]) == set(rows[::5, 2]) == set(rows[::7, 2]) == {-1}
    got = twin.predict(trees, rows)
    assert_allclose(got, answer(model, new), atol=1e-12)
    for tree in trees["trees"]:
        weight, left = tree["node_sample_weight"], tree["children_left"]
        inner = np.flatnonzero(left >= 0)
        sums = weight[left[inner]] + weight[tree["children_right"][inner]]
        assert_allclose(weight[inner], sums)
        assert_allclose(weight[0], len(X[::3]), rtol=1e-5)


def test_missing_values_that_part_from_all_others():
    X, y = problem("numbers", missing=0.4)
    y = y + 5 * np.isnan(X[:, 1])
    model = fitted("numbers", X, y)
    trees = to_shap(model, X)
    assert any(np.isinf(tree["thresholds"]).any() for tree in trees["trees"])
    got = twin.predict(trees, shap_rows(model, X[:100]))
    assert_allclose(got, answer(model, X[:100]), atol=1e-12)


def test_tasks_not_seen_in_fit_take_the_default_sides():
    X, y = problem("numbers")
    model = fitted("numbers", X, y, unknown_task="share", leaf_smoothing=2.0)
    trees = to_shap(model, X)
    new = X[:100].copy()
    new[::2, -1] = 77
    rows = shap_rows(model, new)
    assert set(rows[::2, -1]) == {-1}
    assert_allclose(twin.predict(trees, rows), answer(model, new), atol=1e-12)


def test_offsets_are_one_tree_more_that_knows_the_task_alone():
    X, y = problem("numbers")
    y = y + 3 * (X[:, -1] % 2)
    model = fitted("numbers", X, y, task_offset=True, unknown_task="share")
    assert model.task_offsets_.any()
    trees = to_shap(model, X)
    assert len(trees["trees"]) == 4 + 1
    new = X[:100].copy()
    new[::5, -1] = 77
    rows = shap_rows(model, new)
    assert_allclose(twin.predict(trees, rows), answer(model, new), atol=1e-12)
    alone = {**trees, "trees": trees["trees"][-1:]}
    assert_allclose(
        twin.predict(alone, rows)[:, 0],
        np.append(model.task_offsets_, 0)[rows[:, -1].astype(int)],
    )


@pytest.mark.parametrize("kind", ["two classes", "four classes"])
@pytest.mark.parametrize("leaf_smoothing", [None, 2.0])
@pytest.mark.parametrize("rule", ["connected", "observed"])
def test_tasks_with_one_class(kind, leaf_smoothing, rule):
    X, y = problem(kind)
    y[X[:, -1] == 3] = 1
    y[X[:, -1] == 8] = 0
    model = fitted(kind, X, y, leaf_smoothing=leaf_smoothing, label_sets=rule)
    trees = to_shap(model, X)
    got = twin.predict(trees, shap_rows(model, X[:150]))
    assert_allclose(got, answer(model, X[:150]), atol=1e-12)
    plain = to_shap(model, X, restrict=False)
    task = X[:150, -1].astype(np.int32)
    expected = model.forest_.sum_values(X[:150, :-1], task) / model.forest_.n_trees
    assert_allclose(
        twin.predict(plain, shap_rows(model, X[:150])), expected, atol=1e-12
    )


def test_classes_that_a_tasks_rows_do_not_show_are_mixed_in():
    X, y = problem("four classes")
    y[(X[:, -1] == 3) & (y == 2)] = 1
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = fitted("four classes", X, y, class_weight={1: 2.0}, unknown_task="share")
    model.fit(X, y, sample_weight=weight)
    assert [*model.task_classes_[3]] == [0, 1, 2, 3]
    trees = to_shap(model, X)
    assert len(trees["trees"]) == 4 + 4 + 1
    new = X[:150].copy()
    new[::9, -1] = 77
    rows = shap_rows(model, new)
    assert_allclose(twin.predict(trees, rows), answer(model, new), atol=1e-12)
    assert (answer(model, X[X[:, -1] == 3]) > 0).all()


@pytest.mark.parametrize("restrict", [True, False])
def test_one_class_over_all_tasks(restrict):
    X, y = problem("two classes")
    model = fitted("two classes", X, np.zeros_like(y), unknown_task="share")
    trees = to_shap(model, X, restrict=restrict)
    assert_array_equal(twin.predict(trees, shap_rows(model, X[:5])), np.ones((5, 1)))


def test_tasks_with_some_of_the_classes_are_refused():
    X, y = problem("four classes")
    y[(X[:, -1] == 3) & (y == 2)] = 1
    model = fitted("four classes", X, y, label_sets="observed")
    with pytest.raises(ValueError, match=r"Task 3 has 3 of 4 classes.*restrict=False"):
        to_shap(model, X)
    assert len(to_shap(model, X, restrict=False)["trees"]) == 4


def test_frames_with_named_tasks():
    X, y = problem("numbers", n_tasks=5)
    frame = pd.DataFrame(X[:, :-1], columns=list("abcd"))
    frame.insert(1, "shop", np.array(["v", "w", "x", "y", "z"])[X[:, -1].astype(int)])
    model = MultiTaskExtraTreesRegressor(5, task="shop", random_state=0).fit(frame, y)
    trees = to_shap(model, frame)
    rows = shap_rows(model, frame[:80])
    assert rows.dtype == np.float32
    assert_array_equal(rows[:, :-1], X[:80, :-1].astype(np.float32))
    assert_array_equal(model.tasks_[rows[:, -1].astype(int)], frame["shop"][:80])
    assert_allclose(
        twin.predict(trees, rows)[:, 0], model.predict(frame[:80]), rtol=1e-12
    )


def test_no_task_column_is_one_task():
    X, y = problem("numbers")
    model = MultiTaskExtraTreesRegressor(3, random_state=0).fit(X, y)
    trees = to_shap(model, X)
    got = twin.predict(trees, shap_rows(model, X[:50]))[:, 0]
    got += shap_linear(model, X[:50]).sum(axis=1)
    assert_allclose(got, model.predict(X[:50]), rtol=1e-12)


@pytest.mark.parametrize("line", [True, False])
def test_trees_and_line_together_are_the_prediction(line):
    X, y = problem("numbers")
    y = y + 2 * np.nan_to_num(X[:, 1])
    model = fitted("numbers", X, y, linear_part=line)
    added = shap_linear(model, X)
    assert added.shape == (len(X), X.shape[1])
    assert added[:, :-1].any() == line
    assert_array_equal(added[:, -1], 0)
    got = twin.predict(to_shap(model, X), shap_rows(model, X))[:, 0] + added.sum(axis=1)
    assert_allclose(got, model.predict(X), atol=1e-12)


@pytest.mark.parametrize("leaf_smoothing", [None, 5.0])
def test_a_node_weighs_what_the_rows_below_weigh(leaf_smoothing):
    X, y = problem("two classes")
    y[X[:, -1] == 3] = 1
    weight = np.random.default_rng(2).integers(0, 3, size=120).astype(float)
    model = fitted(
        "two classes", X, y, leaf_smoothing=leaf_smoothing, unknown_task="share"
    )
    background = X[:120].copy()
    background[::10, -1] = 77
    trees = to_shap(model, background, sample_weight=weight)
    rows = shap_rows(model, background)
    for tree in trees["trees"]:
        cover, left = tree["node_sample_weight"], tree["children_left"]
        inner = left >= 0
        assert cover.min() > 0
        assert_array_equal(
            cover[inner], cover[left[inner]] + cover[tree["children_right"][inner]]
        )
        at = [twin.leaf_of(tree, x) for x in rows]
        reached = np.bincount(at, weights=weight, minlength=len(cover))
        assert_allclose(cover[~inner], reached[~inner], rtol=0, atol=2e-6)
        assert_allclose(cover[0], weight.sum(), rtol=0, atol=2e-6)


def codes_at_leaves(forest, number, n_tasks):
    """For each leaf of a tree, the set of codes that can reach it."""
    nodes = forest.nodes[slice(*forest.tree_start[number : number + 2])]
    default_left = forest.default_left[forest.tree_start[number] :]
    found = {}
    waiting = [(0, set(range(n_tasks)))]
    while waiting:
        node, codes = waiting.pop()
        feature, right, slot = nodes[["feature", "right", "slot"]][node]
        left_codes, right_codes = codes, codes
        if feature == -1:
            found[slot] = codes
            continue
        if feature == -2:
            k = forest.split_start[number] + slot
            listed = forest.exceptions[slice(*forest.exception_start[k : k + 2])]
            apart = codes & set(listed.tolist())
            sides = codes - apart, apart
            left_codes, right_codes = sides if default_left[node] else sides[::-1]
        waiting += [(node + 1, left_codes), (right, right_codes)]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_leaf_is_copied_for_each_run_of_codes_that_reach_it(kind):
    X, y = problem(kind, n_tasks=30)
    plain = fitted(kind, X, y, unknown_task="error")
    smooth = fitted(kind, X, y, leaf_smoothing=5.0, unknown_task="error")
    for model in plain, smooth:
        trees, forest = to_shap(model, X), model.forest_
        for i, tree in enumerate(trees["trees"]):
            runs = 0
            for codes in codes_at_leaves(forest, i, 30).values():
                runs += len(codes - {c + 1 for c in codes})
            n_leaves = np.sum(tree["children_left"] < 0)
            assert len(tree["features"]) == 2 * n_leaves - 1
            if model is plain:
                assert n_leaves == runs
            else:
                own = forest.own_start[forest.leaf_start[i : i + 2]]
                assert runs < n_leaves <= runs + 2 * np.diff(own)[0]


def test_bad_input_is_named():
    X, y = problem("two classes", missing=0)
    with pytest.raises(NotFittedError):
        to_shap(MultiTaskExtraTreesClassifier(), X)
    forest = MultiTaskRandomForestClassifier(2, task=-1).fit(X, y)
    with pytest.raises(TypeError, match="got MultiTaskRandomForest"):
        to_shap(forest, X)
    with pytest.raises(ValueError, match="at least one non-zero"):
        to_shap(fitted("two classes", X, y), X, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaf_smoothing", [None, 5.0])
def test_values_by_their_definition_add_up(kind, leaf_smoothing):
    X, y = problem(kind, n_features=3)
    model = fitted(kind, X, y, n_estimators=2, leaf_smoothing=leaf_smoothing)
    trees = to_shap(model, X[:100])
    values = [twin.shap_values(trees, x) for x in shap_rows(model, X[100:104])]
    total = answer(model, X[:100]).mean(axis=0) + np.sum(values, axis=1)
    assert_allclose(total, answer(model, X[100:104]), rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def shap():
    with warnings.catch_warnings():
        # shap 0.51 calls what Matplotlib will deprecate when it is imported.
        warnings.simplefilter("ignore")
        return pytest.importorskip("shap", reason="needs shap: pip install shap")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaf_smoothing", [None, 5.0])
@pytest.mark.parametrize("perturbation", ["tree_path_dependent", "interventional"])
def test_shap_values_add_up_to_the_prediction(shap, kind, leaf_smoothing, perturbation):
    X, y = problem(kind, n_tasks=30)
    if kind == "two classes":
        y[X[:, -1] == 3] = 1
    model = fitted(kind, X, y, leaf_smoothing=leaf_smoothing)
    trees = to_shap(model, X[:200])
    rows = shap_rows(model, X[200:300])
    data = shap_rows(model, X[:40]) if perturbation == "interventional" else None
    explainer = shap.TreeExplainer(trees, data, feature_perturbation=perturbation)
    values = explainer.shap_values(rows).reshape(len(rows), rows.shape[1], -1)
    # With background rows shap itself is good to single precision only.
    tolerance = 1e-10 if data is None else 1e-6
    total = values.sum(axis=1) + explainer.expected_value
    assert_allclose(total, answer(model, X[200:300]), rtol=0, atol=tolerance)
    mean = answer(model, X[: 200 if data is None else 40]).mean(axis=0)
    assert_allclose(np.ravel(explainer.expected_value), mean, rtol=1e-6)
    assert np.abs(values[:, -1]).max() > 0.01  # the task matters


@pytest.mark.parametrize("kind", KINDS)
def test_shap_values_are_those_of_the_definition(shap, kind):
    X, y = problem(kind, n_features=3)
    model = fitted(kind, X, y, n_estimators=2, leaf_smoothing=5.0)
    trees = to_shap(model, X[:100])  # leaves that no background row reaches
    rows = shap_rows(model, X[100:106])
    values = shap.TreeExplainer(trees).shap_values(rows)
    expected = np.array([twin.shap_values(trees, x) for x in rows])
    assert_allclose(values.reshape(expected.shape), expected, atol=1e-10)


def test_interactions_add_up_too(shap):
    X, y = problem("numbers")
    model = fitted("numbers", X, y)
    explainer = shap.TreeExplainer(to_shap(model, X))
    values = explainer.shap_interaction_values(shap_rows(model, X[:10]))
    total = values.sum(axis=(1, 2)) + explainer.expected_value
    assert_allclose(total, model.predict(X[:10]), rtol=1e-8)


def test_values_of_trees_and_line_add_up(shap):
    X, y = problem("numbers")
    model = fitted("numbers", X, y + 2 * np.nan_to_num(X[:, 1]), linear_part=True)
    explainer = shap.TreeExplainer(to_shap(model, X))
    values = explainer.shap_values(shap_rows(model, X)) + shap_linear(model, X)
    total = values.sum(axis=1) + explainer.expected_value
    assert_allclose(total, model.predict(X), atol=1e-8)
