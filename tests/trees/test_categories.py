"""Categories as features of multi-task trees, forests and boosted trees."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import kinlearn
from kinlearn._partitions import read_partition
from kinlearn.boosting import (
    AbstainingAdaBoostClassifier,
    MultiTaskAdaBoostClassifier,
)
from kinlearn.boosting import export_text as export_stumps
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
    export_text,
)
from kinlearn.trees.extra._growth import Growth


def made(seed, n=600, levels=40, n_tasks=5):
    """A category of which a random half raises the target, a number, and tasks."""
    rng = np.random.default_rng(seed)
    raised = np.isin(np.arange(levels), rng.permutation(levels)[: levels // 2])
    code = rng.integers(0, levels, size=n)
    x = rng.normal(size=n)
    task = rng.integers(0, n_tasks, size=n)
    y = 2.0 * raised[code] + 0.5 * x + 0.2 * task + rng.normal(scale=0.5, size=n)
    return np.column_stack([x, code, task]).astype(float), y


EXTRA = [MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor]
SETTINGS = {
    MultiTaskDecisionTreeClassifier: {"criterion": "joint", "min_samples_leaf": 10},
    MultiTaskRandomForestClassifier: {"n_estimators": 40, "min_samples_leaf": 3},
    MultiTaskAdaBoostClassifier: {"n_estimators": 10, "algorithm": "m1"},
    AbstainingAdaBoostClassifier: {"n_estimators": 20},
} | {
    cls: {"n_estimators": 40, "min_samples_leaf": 3, "task_split_prob": 0.5}
    for cls in EXTRA
}
ESTIMATORS = list(SETTINGS)
BOOSTED = [MultiTaskAdaBoostClassifier, AbstainingAdaBoostClassifier]


def forest(cls, **settings):
    return cls(task=-1, random_state=0, **SETTINGS[cls]).set_params(**settings)


def target(cls, y):
    return y if cls is MultiTaskExtraTreesRegressor else (y > y.mean()).astype(int)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_native_splits_beat_ordinal_codes(cls):
    gains = []
    for seed in range(5):
        X, y = made(seed)
        y = target(cls, y)
        train, test = slice(0, 400), slice(400, None)
        scores = [
            forest(cls, categorical_features=columns)
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for columns in ([1], None)
        ]
        gains.append(scores[0] - scores[1])
    assert min(gains) > 0
    assert np.mean(gains) > 0.05


@pytest.mark.parametrize("levels", [50, 200])
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_categories_without_information_cost_little(cls, levels):
    costs = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2400, 5))
        X[:, 3] = rng.integers(0, levels, size=len(X))
        X[:, 4] = rng.integers(0, 4, size=len(X))
        y = 1.5 * X[:, 0] + X[:, 1] + 0.5 * X[:, 4] + rng.normal(size=len(X))
        y = target(cls, y)
        with_codes = [
            forest(cls, categorical_features=columns)
            .fit(X[:400], y[:400])
            .score(X[400:], y[400:])
            for columns in ([3], None)
        ]
        costs.append(with_codes[1] - with_codes[0])
    assert np.mean(costs) < 0.01


@pytest.mark.parametrize("cls", [MultiTaskDecisionTreeClassifier, *BOOSTED])
def test_two_categories_have_one_order(cls):
    X, y = made(0)
    X[:, 1] %= 2
    y = target(cls, y)
    natively = forest(cls, categorical_features=[1]).fit(X, y)
    as_numbers = forest(cls, categorical_features=None).fit(X, y)
    assert_array_equal(scores(natively, X), scores(as_numbers, X))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_columns_may_be_named_counted_or_marked(cls):
    X, y = made(0)
    y = target(cls, y)
    frame = pd.DataFrame(X, columns=["x", "city", "shop"])
    expected = forest(cls, categorical_features=[1]).fit(X, y)
    assert_array_equal(expected.is_categorical_, [False, True])
    for data, task, columns in [
        (X, -1, [-2]),
        (X, -1, [False, True, False]),
        (frame, "shop", ["city"]),
    ]:
        model = forest(cls, task=task, categorical_features=columns).fit(data, y)
        assert_array_equal(model.predict(data), expected.predict(X))
    assert forest(cls).fit(X, y).is_categorical_ is None
    assert forest(cls, categorical_features=[]).fit(X, y).is_categorical_ is None


def scores(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_model_depends_on_neither_threads_nor_layout_nor_order_of_rows(cls):
    X, y = made(1)
    y = target(cls, y)
    X[::7, 1] = np.nan
    settings = {"categorical_features": [1]}
    one = forest(cls, **settings).fit(X, y)
    if "n_jobs" in one.get_params():
        settings["n_jobs"] = 3
    two = forest(cls, **settings).fit(np.asfortranarray(X), y)
    assert_allclose(scores(two, X), scores(one, X), rtol=1e-12)
    if cls is MultiTaskRandomForestClassifier:  # draws rows by their numbers
        return
    order = np.random.default_rng(0).permutation(len(X))
    three = forest(cls, **settings).fit(X[order], y[order])
    assert_allclose(scores(three, X), scores(one, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_weight_of_two_is_two_rows(cls):
    X, y = made(2)
    y = target(cls, y)
    weight = np.random.default_rng(0).integers(0, 3, size=len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    settings = {"categorical_features": [1]}
    if cls is MultiTaskRandomForestClassifier:
        settings["bootstrap"] = False
    if cls not in EXTRA and cls not in BOOSTED:
        settings["min_samples_leaf"] = 1  # of rows, not of weight
    a = forest(cls, **settings).fit(X, y, sample_weight=weight)
    b = forest(cls, **settings).fit(X[rows], y[rows])
    assert_array_equal(a._known_codes, b._known_codes)
    assert_allclose(scores(a, X), scores(b, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_new_categories_go_the_way_of_missing_ones(cls):
    X, y = made(3)
    X[::9, 1] = np.nan
    model = forest(cls, categorical_features=[1]).fit(X, target(cls, y))
    new, missing = X[:50].copy(), X[:50].copy()
    new[:, 1] = np.tile([40, 253, 254, -1, 2.5, 1e9], 9)[:50]
    missing[:, 1] = np.nan
    kept = new.copy()
    for method in ["predict", "predict_proba", "apply"]:
        if hasattr(model, method):
            ask = getattr(model, method)
            assert_array_equal(ask(new), ask(missing))
    assert_array_equal(new, kept)
    assert (scores(model, missing) != scores(model, X[:50])).any()


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_saved_models_keep_categories(cls, tmp_path):
    X, y = made(4)
    model = forest(cls, categorical_features=[1]).fit(X, target(cls, y))
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(scores(again, X), scores(model, X))
    kinlearn.save(model, tmp_path / "model.skops")
    loaded = kinlearn.load(tmp_path / "model.skops")
    assert_array_equal(scores(loaded, X), scores(model, X))


def test_sets_that_a_file_does_not_hold_are_refused(tmp_path):
    X, y = made(4)
    model = forest(MultiTaskExtraTreesRegressor, categorical_features=[1]).fit(X, y)
    whole = model.forest_
    model.forest_ = replace(whole, category_sets=whole.category_sets[:-1])
    kinlearn.save(model, tmp_path / "model.skops")
    with pytest.raises(ValueError, match="no fit leaves behind"):
        kinlearn.load(tmp_path / "model.skops")


@pytest.mark.parametrize("cls", [*EXTRA, *BOOSTED])
def test_later_tasks_keep_categories(cls):
    X, y = made(4)
    y = target(cls, y)
    first, later = X[:, 2] < 4, X[:, 2] == 4
    model = forest(cls, categorical_features=[1]).fit(X[first], y[first])
    before = model.score(X[first], y[first])
    model.add_task(X[later], y[later])
    assert model.score(X[later], y[later]) > 0.5
    assert abs(model.score(X[first], y[first]) - before) < 0.1


@pytest.mark.parametrize("cls", [*EXTRA, MultiTaskRandomForestClassifier])
def test_more_trees_keep_categories(cls):
    X, y = made(4)
    y = target(cls, y)
    some = forest(cls, n_estimators=10, categorical_features=[1], warm_start=True)
    some.fit(X, y).set_params(n_estimators=40).fit(X, y)
    whole = forest(cls, categorical_features=[1]).fit(X, y)
    assert_array_equal(scores(some, X), scores(whole, X))


def test_a_tree_in_words_lists_the_categories():
    X = np.array([[0, 0], [2, 0], [5, 0], [7, 0]] * 5, dtype=float)
    y = np.isin(X[:, 0], [2, 7])
    tree = MultiTaskDecisionTreeClassifier(task=-1, categorical_features=[0]).fit(X, y)
    text = export_text(tree)
    assert "x0 in {2, 7}" in text
    assert "x0 not in {2, 7}" in text
    assert tree.get_depth() == 1
    assert_array_equal(tree.predict(X), y)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_categories_of_a_frame_are_split_natively(cls):
    X, y = made(0)
    names = np.array([f"town {i:02d}" for i in range(40)])
    frame = pd.DataFrame({"x": X[:, 0], "town": names[X[:, 1].astype(int)]})
    frame["shop"] = X[:, 2]
    y = target(cls, y)
    expected = forest(cls, categorical_features=[1]).fit(X, y)
    model = forest(cls, task="shop").fit(frame, y)
    assert_array_equal(model.is_categorical_, [False, True])
    assert_allclose(scores(model, frame), scores(expected, X), rtol=1e-9)
    typed = frame.astype({"town": "category"})
    again = forest(cls, task="shop").fit(typed, y)
    assert_array_equal(scores(again, typed), scores(model, frame))
    numbers = forest(cls, task="shop", categorical_features=None).fit(frame, y)
    assert numbers.is_categorical_ is None
    frame["zip"] = 1000 + 7 * (X[:, 1] % 5)
    both = forest(cls, task="shop", categorical_features=["zip"]).fit(frame, y)
    assert_array_equal(both.is_categorical_, [False, True, True])


def test_a_tree_in_words_calls_the_categories_of_a_frame_by_their_names():
    frame = pd.DataFrame({"town": ["Ulm", "Bonn", "Kiel", "Jena"] * 5})
    tree = MultiTaskDecisionTreeClassifier().fit(
        frame, frame["town"].isin(["Ulm", "Bonn"])
    )
    assert "town in {Bonn, Ulm}" in export_text(tree)


def test_stumps_in_words_list_the_categories():
    X = np.array([[0, 0], [2, 0], [5, 0], [7, 0]] * 5, dtype=float)
    y = np.isin(X[:, 0], [2, 7])
    model = AbstainingAdaBoostClassifier(1, task=-1, categorical_features=[0])
    text = export_stumps(model.fit(X, y))
    assert "x0 in {2, 7}" in text
    assert "x0 not in {2, 7}" in text
    assert_array_equal(model.predict(X), y)


def test_more_classes_and_rows_held_back_have_an_order_too():
    X, y = made(1)
    y = np.digitize(y, [0, 1, 2])
    model = AbstainingAdaBoostClassifier(
        40, task=-1, early_stopping=True, random_state=0, categorical_features=[1]
    )
    assert model.fit(X, y).algorithm_ == "mh"
    numbers = clone(model).set_params(categorical_features=None).fit(X, y)
    assert model.validation_errors_.min() < numbers.validation_errors_.min()


def test_rows_in_partitions_have_no_categories():
    X, y = made(0)
    options = {"task": -1, "labels": "numbers", "categorical_features": [1]}
    with pytest.raises(ValueError, match=r"partition 3 .*\['x1'\] are categories"):
        read_partition(X, y, None, 3, options)
    assert read_partition(X, y, None, 3, options | {"categorical_features": None})


def test_boosting_on_by_samme_withstands_such_categories_better_than_m1():
    gains = []
    for seed in range(4):
        X, y = made(seed)
        X = np.insert(X, 2, np.random.default_rng(seed).integers(0, 200, len(X)), 1)
        y = (y > y.mean()).astype(int)
        scores = [
            MultiTaskAdaBoostClassifier(
                n_estimators=20, algorithm=algorithm, task=-1, categorical_features=[2]
            )
            .fit(X[:400], y[:400])
            .score(X[400:], y[400:])
            for algorithm in ("samme", "m1")
        ]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0


def test_boosted_trees_that_take_no_categories_are_named():
    from sklearn.tree import DecisionTreeClassifier

    from kinlearn.sharing import TaskAsFeature

    X, y = made(0)
    model = MultiTaskAdaBoostClassifier(
        TaskAsFeature(DecisionTreeClassifier(max_depth=2)), task=-1
    )
    model.set_params(categorical_features=[1])
    with pytest.raises(ValueError, match=r"\['x1'\] are categories, but TaskAsFeature"):
        model.fit(X, y > 1)


def test_a_line_through_the_features_leaves_categories_to_the_trees():
    X, y = made(5)
    model = forest(
        MultiTaskExtraTreesRegressor, linear_part=True, categorical_features=[1]
    ).fit(X, y)
    assert model.linear_coef_[1] == 0
    assert model.linear_coef_[0] != 0


def test_large_tables_read_categories_as_they_are(monkeypatch):
    # without this, X of 64 MB would be needed to get bytes beside it
    X, y = made(6)
    expected = forest(MultiTaskExtraTreesRegressor, categorical_features=[1]).fit(X, y)
    monkeypatch.setattr("kinlearn.trees.extra._growth._BOTH_WAYS_BYTES", 0)
    monkeypatch.setattr("kinlearn.trees.extra._growth._BYTES_ROWS", 0)
    seen = []
    from_data = Growth.from_data
    monkeypatch.setattr(
        Growth,
        "from_data",
        lambda *args: seen.append(from_data(*args)) or seen[-1],
    )
    model = forest(MultiTaskExtraTreesRegressor, categorical_features=[1]).fit(X, y)
    assert seen[0].feature_bytes is not None
    assert_array_equal(model.forest_.nodes, expected.forest_.nodes)


def test_a_forest_of_numbers_has_no_sets():
    X, y = made(7)
    numbers = forest(MultiTaskExtraTreesRegressor).fit(X, y).forest_
    assert numbers.category_sets is None
    assert (numbers.nodes["slot"][numbers.nodes["feature"] >= 0] == -1).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([7], "Categorical column 7 is out of range: X has 3 columns"),
        (["city"], "Categorical column 'city' is given by name, but X has no"),
        ([2], "Column 'x2' is the task column, which is no feature"),
        ([True, False], "a mask of 2 columns, but X has 3, the task column included"),
        ([[1]], "must be a list of columns or a mask of them; got an array of shape"),
        ([0], r"Categorical column 'x0' holds .* in row 0; categories must be int"),
    ],
)
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_wrong_columns_are_named(cls, columns, message):
    X, y = made(0)
    with pytest.raises(ValueError, match=message):
        forest(cls, categorical_features=columns).fit(X, target(cls, y))


@pytest.mark.parametrize("value", [-1, 254, 0.5])
def test_codes_out_of_range_are_named(value):
    X, y = made(0)
    X[17, 1] = value
    with pytest.raises(ValueError, match=f"column 'x1' holds {value:g} in row 17"):
        forest(MultiTaskExtraTreesRegressor, categorical_features=[1]).fit(X, y)
