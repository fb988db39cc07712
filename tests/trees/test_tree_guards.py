"""What trees refuse, or warn of, instead of answering wrongly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from kinlearn.exceptions import KinlearnWarning
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
    export_text,
    plot_tree,
)

CLASSIFIERS = [
    MultiTaskExtraTreesClassifier(5, task=-1, random_state=0),
    MultiTaskDecisionTreeClassifier(task=-1, random_state=0),
    MultiTaskRandomForestClassifier(5, task=-1, random_state=0),
]


def _problem(n=120, n_tasks=3, seed=0):
    rng = np.random.default_rng(seed)
    task = np.arange(n) % n_tasks
    X = np.column_stack([rng.normal(size=(n, 3)), task])
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def _regressor(**params):
    params = {"min_samples_leaf": 2, "task_split_prob": 0.0} | params
    params = {"linear_part": False, "task_offset": False} | params
    return MultiTaskExtraTreesRegressor(
        4, task=-1, warm_start=True, random_state=0, **params
    )


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("leaf_smoothing", None, 5.0),
        ("leaf_smoothing", 5.0, None),
        ("linear_part", False, True),
        ("task_offset", False, True),
    ],
)
def test_a_warm_start_keeps_the_kind_of_forest(name, old, new):
    X, y = _problem()
    model = _regressor(**{name: old}).fit(X, y)
    model.set_params(n_estimators=6, **{name: new})
    with pytest.raises(ValueError, match=f"but {name} is {new} now and was {old}"):
        model.fit(X, y)


@pytest.mark.parametrize(
    "forest", [MultiTaskExtraTreesClassifier, MultiTaskRandomForestClassifier]
)
@pytest.mark.parametrize("change", ["bootstrap", "rows"])
def test_bags_of_old_trees_must_be_known(forest, change):
    X, y = _problem()
    model = forest(
        10, task=-1, bootstrap=change == "rows", warm_start=True, random_state=0
    )
    model.fit(X, y)
    model.set_params(n_estimators=11, bootstrap=True, oob_score=True)
    if change == "rows":
        X, y = X[:-3], y[:-3]
    with pytest.raises(ValueError, match="warm_start=False"):
        model.fit(X, y)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("weight", [-0.5, np.nan, np.inf, "1"])
def test_class_weights_are_checked(model, weight):
    X, y = _problem()
    with pytest.raises(ValueError, match=r"class_weight of class 0 is .*finite"):
        model.set_params(class_weight={0: weight}).fit(X, y)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_weights_without_a_sum_are_refused(model):
    X, y = _problem()
    model.set_params(class_weight={0: 0, 1: 0})
    with pytest.raises(ValueError, match="sum to 0"):
        model.fit(X, y)
    model.set_params(class_weight=None)
    with pytest.raises(ValueError, match="sum to inf, too large"):
        model.fit(X, y, np.full(len(y), 1.7e308))
    with pytest.raises(ValueError, match="too small"):
        model.fit(X, y, np.full(len(y), 5e-324))


def test_weights_too_light_for_a_split_are_reported():
    X, y = _problem()
    model = MultiTaskExtraTreesClassifier(5, task=-1, random_state=0)
    with pytest.warns(KinlearnWarning, match="120 rows sum to 1; a split") as found:
        model.fit(X, y, np.full(len(y), 1 / len(y)))
    assert found[0].filename == __file__


@pytest.mark.parametrize("scale", [1e39, 1e-50])
def test_numbers_of_any_common_size(scale):
    X, y = _problem()
    y = y + X[:, 0]
    large = _regressor().fit(X, y * scale).predict(X) / scale
    # units of integer sums are powers of two, so splits may differ by rounding
    assert_allclose(large, _regressor().fit(X, y).predict(X), rtol=0.05, atol=0.3)


def test_numbers_without_squares_are_refused():
    X, y = _problem()
    with pytest.raises(ValueError, match=r"up to 1e\+200 in size.*Scale y"):
        _regressor().fit(X, y * 1e200)


def test_out_of_bag_with_hardly_any_rows():
    X, y = _problem(4, 2)
    model = MultiTaskExtraTreesClassifier(
        3, task=-1, bootstrap=True, oob_score=True, random_state=0
    )
    assert model.fit(X, y).oob_decision_function_.shape == (4, 2)


def test_limits_beyond_any_tree():
    X, y = _problem()
    model = MultiTaskExtraTreesClassifier(2, task=-1, max_depth=2**40, random_state=0)
    assert model.fit(X, y).predict(X).shape == (120,)


def test_nearest_tasks_are_those_of_the_affinity():
    rng = np.random.default_rng(0)
    X, _ = _problem(n_tasks=6, n=600)
    y = (X[:, -1] % 2) * 4 + rng.normal(size=600)
    model = MultiTaskExtraTreesRegressor(
        20, task=-1, task_offset=False, linear_part=False, random_state=0
    ).fit(X, y)
    nearest = model.nearest_tasks(2, n=3)
    row = model.task_affinity_[2]
    assert set(list(nearest)[:2]) == {0, 4}
    for t, value in nearest.items():
        assert_allclose(value, row[t])
    with pytest.raises(ValueError, match="Task 9 was not in fit"):
        model.nearest_tasks(9)


def test_a_model_of_many_tasks_can_be_shown():
    task = np.repeat(np.arange(5000), 2)
    X = np.column_stack([np.arange(10_000.0), task])
    model = MultiTaskExtraTreesRegressor(2, task=-1, random_state=0).fit(X, task)
    assert not hasattr(model, "task_affinity_")
    assert "MultiTaskExtraTreesRegressor" in model._repr_html_()


def test_trees_are_shown_by_number_and_kind():
    X, y = _problem()
    forest = MultiTaskRandomForestClassifier(3, task=-1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="number=99 of 3 trees"):
        export_text(forest, number=99)
    others = MultiTaskExtraTreesClassifier(3, task=-1, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="MultiTaskExtraTreesClassifier has no tree"):
        export_text(others)


def test_only_the_root_is_drawn():
    pytest.importorskip("matplotlib").use("agg")
    X, y = _problem()
    tree = MultiTaskDecisionTreeClassifier(task=-1, random_state=0).fit(X, y)
    assert plot_tree(tree, max_depth=0).texts


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_classes_that_nothing_has_are_refused_in_later_calls_too(model):
    X, y = _problem()
    model = clone(model).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes names \[5\]"):
        model.partial_fit(X, y, classes=[0, 1, 5])
    model.partial_fit(X, y, classes=[0, 1])
    later = np.add(X, [0, 0, 0, 3])
    model.partial_fit(later, y + 5, classes=[0, 1, 5, 6])
    assert model.classes_.tolist() == [0, 1, 5, 6]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_a_later_row_of_no_weight_has_no_label(model):
    X, y = _problem()
    model, later, labels = clone(model).fit(X, y), np.add(X, [0, 0, 0, 3]), y.copy()
    labels[0], weight = 5, np.ones(len(y))
    weight[0] = 0
    model.add_task(later, labels, sample_weight=weight)
    assert model.predict_proba(later)[:, 2].max() == 0
    assert_allclose(model.predict_proba(later).sum(axis=1), 1)
