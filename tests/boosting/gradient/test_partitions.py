"""Gradient boosting of rows in partitions against all rows in one place, to the bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._partitions import LocalPartitions, Statistics, read_partition
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.boosting.gradient._exact import group_quantiles
from kinlearn.boosting.gradient.partitions import fit_partitions
from kinlearn.boosting.gradient.partitions._quantiles import (
    KeyedRows,
    as_keys,
    find_quantiles,
)
from kinlearn.exceptions import UnusedColumnWarning

N = 400


def make_table(seed=0):
    """Five features, of which the last is a category, and the task."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[:, 1] = X[:, 1].round(1)
    X[:, 4] = rng.integers(0, 7, size=N)
    task = rng.integers(0, 6, size=N)
    task[:6] = np.arange(6)
    slope = rng.normal(size=6)
    signal = X[:, 0] + slope[task] * X[:, 1] + (X[:, 4] % 3) + 0.4 * rng.normal(size=N)
    X[rng.random(X.shape) < 0.1] = np.nan
    return np.column_stack([X, task]), signal - 1


def make_parts(X, y, weight, ends, model, *, order=None):
    labels = "classes" if hasattr(model, "class_weight") else "numbers"
    options = {"task": -1, "labels": labels, "allow_nan": True}
    options |= {"categorical_features": model.categorical_features}
    options["estimator"] = type(model).__name__
    parts = []
    for number, (a, b) in enumerate(zip([0, *ends], [*ends, len(X)], strict=True)):
        w = None if weight is None else weight[a:b]
        parts.append(
            read_partition(
                X[a:b], y[a:b], w, number, options, narrow=False, categories=True
            )
        )
    return parts


def same_model(model, X, y, weight=None, ends=(50, 50, 320, 321)):
    """Fit both ways, and compare all that was learned."""
    local = type(model)(**model.get_params()).fit(X, y, weight)
    fit_partitions(
        model, LocalPartitions(), make_parts(X, y, weight, ends, model), lambda n: False
    )
    for name, expected in vars(local.trees_).items():
        assert_array_equal(getattr(model.trees_, name), expected, err_msg=name)
    assert_array_equal(model._start.base, local._start.base)
    assert_array_equal(model._start.intercepts, local._start.intercepts)
    for name, expected in vars(local.bins_).items():
        assert_array_equal(getattr(model.bins_, name), expected)
    assert_array_equal(model.tasks_, local.tasks_)
    if model.early_stopping:
        assert_array_equal(model.validation_losses_, local.validation_losses_)
    method = "predict_proba" if hasattr(local, "predict_proba") else "predict"
    assert_array_equal(getattr(model, method)(X), getattr(local, method)(X))
    return local


def test_columns_without_a_value_are_named():
    X, y = make_table()
    X[:, 2] = np.nan
    X[:60, 3] = np.nan  # there in other partitions
    model = MultiTaskGradientBoostingRegressor(task=-1, n_estimators=2)
    parts = make_parts(X, y, None, (50, 320), model)
    with pytest.warns(UnusedColumnWarning, match=r"missing in all rows: .*x2"):
        fit_partitions(model, LocalPartitions(), parts, lambda n: False)
    with pytest.warns(UnusedColumnWarning, match=r"missing in all rows: .*x2"):
        local = MultiTaskGradientBoostingRegressor(task=-1, n_estimators=2).fit(X, y)
    assert local.feature_importances_[2] == 0


PARAMS = {
    "task": -1,
    "n_estimators": 6,
    "learning_rate": 0.3,
    "min_samples_leaf": 5,
    "categorical_features": [4],
    "random_state": 0,
}
SETTINGS = {
    "plain": {},
    "all features": {"max_features": 1.0},
    "many leaves": {"max_leaf_nodes": 60, "min_samples_leaf": 2},
    "leaves without limit": {"max_leaf_nodes": None, "min_samples_leaf": 2},
    "depth alone": {"max_leaf_nodes": None, "max_depth": 2},
    "depth": {"max_depth": 2},
    "few bins": {"max_bins": 5},
    "sample of rows": {"subsample": 0.6},
    "hardly any row": {"subsample": 0.001},
    "early stopping": {"early_stopping": True, "n_estimators": 30},
    "no task splits": {"task_splits": False},
    "no task values": {"task_values": False},
    "neither": {"task_splits": False, "task_values": False},
    "rising": {"monotonic_cst": {0: 1}},
    "groups": {"interaction_cst": [[0, 1], [2, 3]]},
}
WEIGHTS = {
    "none": None,
    "whole": np.random.default_rng(1).integers(0, 4, size=N).astype(float),
    "fractions": np.random.default_rng(1).uniform(0.1, 3, size=N),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", ["numbers", "two", "three"])
def test_same_model_with_any_setting(kind, setting):
    X, signal = make_table()
    weight = WEIGHTS["fractions" if kind == "two" else "none"]
    params = PARAMS | SETTINGS[setting]
    if kind == "numbers":
        local = same_model(MultiTaskGradientBoostingRegressor(**params), X, signal)
    else:
        y = (signal > 0) if kind == "two" else (signal > 0) + 1 * (signal > 1)
        model = MultiTaskGradientBoostingClassifier(**params)
        local = same_model(model, X, y, weight)
    assert len(local.trees_.nodes) > len(local.trees_)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "quantile", "poisson", "gamma"]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_same_model_with_any_loss(loss, weights, seed):
    X, y = make_table(seed)
    if loss in ("poisson", "gamma"):
        y = np.exp(y / 2).round(0 if loss == "poisson" else 3) + (loss == "gamma")
    model = MultiTaskGradientBoostingRegressor(
        loss, quantile=0.3, **PARAMS, offset=2 if loss != "gamma" else None
    )
    X[:, 2] = np.nan_to_num(X[:, 2])
    same_model(model, X, y, WEIGHTS[weights])


def test_rows_of_weight_zero_are_absent_from_the_scale():
    X, y = make_table()
    y, weight = y.copy(), np.ones(N)
    weight[::7], y[::7] = 0, 1e300
    local = same_model(MultiTaskGradientBoostingRegressor(**PARAMS), X, y, weight)
    assert local.score(X[weight > 0], y[weight > 0]) > 0.2


def test_large_offsets_are_refused_in_partitions_too():
    X, y = make_table()
    X[:, 2] = 0
    X[7, 2] = 1e5
    model = MultiTaskGradientBoostingRegressor("poisson", offset=2, **PARAMS)
    with pytest.raises(ValueError, match="offset is 100000"):
        model.fit(X, np.exp(y))
    parts = make_parts(X, np.exp(y), None, (50, 200), model)
    with pytest.raises(ValueError, match="offset is 100000"):
        fit_partitions(model, LocalPartitions(), parts, lambda n: False)


@pytest.mark.parametrize("ends", [(), (1, 2, 3), (399,), (0, 200), tuple(range(400))])
def test_same_model_with_any_partitions(ends):
    X, signal = make_table(3)
    model = MultiTaskGradientBoostingClassifier(**PARAMS, subsample=0.7)
    same_model(model, X, signal > 0, WEIGHTS["whole"], ends)


def test_tasks_of_one_partition_each():
    X, signal = make_table(4)
    order = np.argsort(X[:, -1], kind="stable")
    X, y = X[order], signal[order]
    ends = np.flatnonzero(np.diff(X[:, -1])) + 1
    same_model(MultiTaskGradientBoostingRegressor(**PARAMS), X, y, None, [*ends])


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 0.3, 2: 2.0}])
@pytest.mark.parametrize("label_sets", ["connected", "observed"])
def test_classes_that_some_tasks_lack(class_weight, label_sets, early_stopping):
    X, signal = make_table(5)
    y = (signal > 0) + 1 * (signal > 1)
    y[(X[:, -1] == 0) & (y == 2)] = 1
    y[X[:, -1] == 1] = 0
    model = MultiTaskGradientBoostingClassifier(
        **PARAMS,
        class_weight=class_weight,
        label_sets=label_sets,
        early_stopping=early_stopping,
    )
    same_model(model, X, y, WEIGHTS["whole"])


def test_one_class_and_one_task():
    X, signal = make_table(6)
    ones = np.ones(N, dtype=int)
    X[:, -1] = 0
    same_model(MultiTaskGradientBoostingClassifier(**PARAMS), X, signal > 0)
    local = MultiTaskGradientBoostingClassifier(**PARAMS).fit(X, ones)
    model = MultiTaskGradientBoostingClassifier(**PARAMS)
    parts = make_parts(X, ones, None, (100,), model)
    fit_partitions(model, LocalPartitions(), parts, lambda n: False)
    assert_array_equal(model.predict(X), local.predict(X))
    assert model.n_estimators_ == local.n_estimators_ == 0


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_of_groups_are_those_of_all_rows(q):
    rng = np.random.default_rng(0)
    values = rng.normal(size=300) * 10.0 ** rng.integers(-300, 300, size=300)
    values[::3] = rng.integers(-2, 3, size=100)
    values[5] = -0.0
    weight, group = rng.integers(0, 4, size=300), rng.integers(0, 12, size=300)
    group[group == 7] = 8
    expected = group_quantiles(values, weight, group, 12, q)
    parts = np.split(np.arange(300), [10, 200])

    def count(prefixes):
        return Statistics.merge(
            [
                KeyedRows(as_keys(values[p]), weight[p], group[p]).counted(prefixes)
                for p in parts
            ]
        )

    assert_array_equal(find_quantiles(count, 12, q), expected)


@pytest.mark.parametrize(
    ("y", "params", "match"),
    [
        (-1.0, {"loss": "poisson"}, "partition 2 .* needs targets at least 0"),
        (0.0, {"loss": "gamma"}, "partition 2 .* needs targets above 0"),
        (None, {"loss": "poisson"}, "all of y is 0"),
        (1.0, {"offset": 0}, "offset is missing in 1 of 200 rows"),
    ],
)
def test_bad_targets_are_named(y, params, match):
    X, _ = make_table()
    X[:, 0] = 1.0
    X[350, 0] = np.nan
    target = np.zeros(N) if y is None else np.ones(N)
    target[300] = y if y is not None else 0.0
    model = MultiTaskGradientBoostingRegressor(**PARAMS | params)
    parts = make_parts(X, target, None, (100, 200), model)
    with pytest.raises(ValueError, match=match):
        fit_partitions(model, LocalPartitions(), parts, lambda n: False)
