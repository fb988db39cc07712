"""Multi-task gradient boosting: what fits, predictions, and errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_pinball_loss

from kinlearn import load, save
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.boosting.gradient._departures import departure_penalty, leaf_values
from kinlearn.boosting.gradient._losses import QuantileLoss
from kinlearn.tasks import with_task
from tests.interrupt import seconds_to_stop

PLAIN = {
    "max_features": 1.0,
    "max_bins": 255,
    "l2_regularization": 0.0,
    "random_state": 0,
}
SMALL = {"n_estimators": 15, "learning_rate": 0.3, "random_state": 0}


def make_tasks(n=400, n_tasks=8, seed=0):
    """Tasks with a common curve, and slopes of two kinds."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)), np.arange(n) % n_tasks
    turn = np.where(task < n_tasks // 2, 1.0, -1.0)
    signal = np.sin(2 * X[:, 0]) + turn * X[:, 1] + 0.2 * task
    return with_task(X, task), signal, task


def regressor(**params):
    return MultiTaskGradientBoostingRegressor(**{"task": -1, **SMALL, **params})


def classifier(**params):
    return MultiTaskGradientBoostingClassifier(**{"task": -1, **SMALL, **params})


# -------------------------------------------------------------------- defaults


def most_leaves(model):
    return np.diff(model.trees_.leaf_start).max()


@pytest.mark.parametrize("loss", ["poisson", "gamma", "quantile", "absolute_error"])
def test_counts_costs_and_quantiles_of_few_rows_have_small_trees(loss):
    X, y, _ = make_tasks(600)
    y = np.exp(y)
    found = regressor(loss=loss).fit(X, y)
    assert most_leaves(found) == 6
    expected = regressor(loss=loss, max_leaf_nodes=6).fit(X, y)
    assert_array_equal(found.predict(X), expected.predict(X))
    weight = np.full(600, 20.0)  # as many rows as 12,000
    assert most_leaves(regressor(loss=loss).fit(X, y, weight)) == 12


def test_trees_of_means_are_larger_by_default():
    X, y, _ = make_tasks(600)
    assert most_leaves(regressor().fit(X, y)) == 12


@pytest.mark.parametrize("n_rows", [10, 400])
def test_quantiles_of_a_task_count_by_its_rows_beside_a_hundred(n_rows):
    h = np.array([[n_rows, 3.0 * n_rows]])
    g = np.array([[0.5, -0.5]]) * h
    found, own, mean_weight = np.array([1.0]), np.array([3.0, 0.5]), 2.0
    _, departures, penalty = leaf_values(
        np.zeros(1),
        np.array([[-np.inf, np.inf]]),
        (g, h * mean_weight),
        noise=0.25,
        mean_weight=mean_weight,
        learning_rate=1.0,
        loss=QuantileLoss(np.zeros(0), np.zeros(0)),
        quantiles=lambda by_task: (own if by_task else found).copy(),
    )
    alike = departure_penalty(g, h * mean_weight, 0.25)
    assert_allclose(penalty, alike + 100 * mean_weight)
    fraction = h * mean_weight / (h * mean_weight + penalty)
    assert_allclose(departures, fraction * (own - found))


# ---------------------------------------------------------------- known models


def test_without_task_splits_and_values_the_task_does_not_matter():
    X, y, task = make_tasks()
    model = regressor(task_splits=False, task_values=False).fit(X, y)
    other = with_task(X[:, :-1], (task + 1) % 8)
    assert_array_equal(model.predict(X), model.predict(other))
    assert model.task_importance_ == 0
    assert_array_equal(model.task_affinity_, np.ones((8, 8)))


def test_tasks_of_two_kinds_are_found_and_help():
    X, y, _ = make_tasks(1600)
    X_test, y_test, _ = make_tasks(1600, seed=1)
    together = regressor(n_estimators=60).fit(X, y)
    blind = regressor(n_estimators=60, task_splits=False, task_values=False).fit(X, y)
    assert together.score(X_test, y_test) > blind.score(X_test, y_test) + 0.2
    affinity = together.task_affinity_
    assert affinity[:4, :4].min() > affinity[:4, 4:].max()
    assert_allclose(together.feature_importances_.sum(), 1)
    assert together.feature_importances_[-1] == together.task_importance_ > 0


def test_equal_tasks_are_pooled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X[:, 0] + rng.normal(size=2000)
    model = regressor().fit(with_task(X, np.arange(2000) % 20), y)
    assert model.task_importance_ < 0.05
    assert np.abs(model.task_intercepts_).max() < 0.1


def test_tasks_that_differ_in_level_alone_need_intercepts_alone():
    rng = np.random.default_rng(0)
    task = np.arange(600) % 6
    y = 10.0 * task + rng.normal(size=600)
    model = regressor(n_estimators=1).fit(with_task(rng.normal(size=(600, 2)), task), y)
    means = np.array([y[task == t].mean() for t in range(6)])
    assert_allclose(model.task_intercepts_ + y.mean(), means * 1.0, atol=0.05)


# --------------------------------------------------------------------- losses


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_cover_their_fraction(q):
    X, y, _ = make_tasks(2000)
    y = y + np.random.default_rng(1).normal(size=2000)
    model = regressor(loss="quantile", quantile=q, n_estimators=40).fit(X, y)
    assert abs(np.mean(y <= model.predict(X)) - q) < 0.05
    constant = np.full(len(y), np.quantile(y, q))
    assert mean_pinball_loss(y, model.predict(X), alpha=q) < 0.7 * mean_pinball_loss(
        y, constant, alpha=q
    )


def test_absolute_error_is_the_median():
    X, y, _ = make_tasks()
    absolute = regressor(loss="absolute_error").fit(X, y).predict(X)
    median = regressor(loss="quantile", quantile=0.5).fit(X, y).predict(X)
    assert_array_equal(absolute, median)


def test_quantiles_of_leaves_are_quantiles_of_residuals():
    X = np.repeat([0.0, 1.0], 50)[:, None]
    y = np.r_[np.arange(50.0), 1000 + np.arange(50.0)]
    model = MultiTaskGradientBoostingRegressor(
        "quantile",
        quantile=0.2,
        n_estimators=1,
        learning_rate=1.0,
        linear_part=False,
        random_state=0,
    ).fit(X, y)
    # between the tenth and the eleventh value, any is a quantile
    assert_allclose(model.predict([[0.0], [1.0]]), [9.5, 1009.5])


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_offset_is_a_factor_of_counts_and_costs(loss):
    rng = np.random.default_rng(0)
    n, task = 3000, np.arange(3000) % 3
    x, time = rng.uniform(size=n), rng.uniform(0.2, 20, size=n)
    rate = np.array([0.5, 1, 4])[task] * np.exp(x)
    y = (
        rng.poisson(rate * time)
        if loss == "poisson"
        else rate * time * rng.gamma(9, 1 / 9, n)
    )
    frame = pd.DataFrame({"x": x, "log_time": np.log(time), "task": task})
    model = regressor(
        loss=loss, offset="log_time", task="task", n_estimators=80, learning_rate=0.1
    ).fit(frame, y)
    found = model.predict(frame) / time
    assert_allclose(found, rate, rtol=0.35)
    longer = frame.assign(log_time=frame.log_time + np.log(2))
    assert_allclose(model.predict(longer), 2 * model.predict(frame))
    assert model.feature_importances_[1] == 0


def test_targets_of_any_scale_give_the_same_model():
    X, y, _ = make_tasks()
    reference = regressor().fit(X, y).predict(X)
    for scale in (2.0**-500, 2.0**500):
        assert_allclose(regressor().fit(X, y * scale).predict(X) / scale, reference)
    constant = regressor().fit(X, np.full(len(y), 3.0)).predict(X)
    assert_array_equal(constant, np.full(len(y), 3.0))


def test_counts_that_are_rare_and_tasks_without_any():
    rng = np.random.default_rng(0)
    task = np.arange(1000) % 10
    y = rng.poisson(np.where(task == 0, 0.0, np.where(task == 9, 50.0, 0.05)))
    X = with_task(rng.normal(size=(1000, 2)), task)
    found = regressor(loss="poisson").fit(X, y).predict(X)
    assert np.isfinite(found).all()
    assert (found > 0).all()
    assert 20 < found[task == 9].mean() < 80


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_corner_of_other_magnitude_is_met(loss):
    X = np.repeat([0.0, 1.0], [2000, 40])[:, None]
    low, high = (1e-3, 1e5) if loss == "poisson" else (1e5, 1e2)
    y = np.where(X[:, 0] == 0, low, high)
    model = MultiTaskGradientBoostingRegressor(loss, learning_rate=0.3, random_state=0)
    assert_allclose(model.fit(X, y).predict([[0.0], [1.0]]), [low, high], rtol=0.5)


# -------------------------------------------------------------------- classes


def test_more_classes_and_tasks_with_some_of_them():
    X, y, task = make_tasks(900, n_tasks=3)
    label = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.8])]
    label[(task == 2) & (label == "c")] = "b"
    model = classifier(label_sets={2: ["a", "b"]}).fit(X, label)
    proba = model.predict_proba(X)
    assert (proba[task == 2, 2] == 0).all()
    assert (proba[task != 2] > 0).all()
    assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, label) > 0.8
    assert model.decision_function(X).shape == (900, 3)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


def test_class_weights_are_weights_of_rows():
    X, y, _ = make_tasks()
    label = (y > 1).astype(int)
    X[:, :4] = X[:, :4].round(1)  # bins of all values, whatever the weights
    weights = {0: 0.5, 1: 1.5}
    weighted = classifier(max_bins=255, class_weight=weights).fit(X, label)
    by_hand = classifier(max_bins=255).fit(X, label, np.where(label, 1.5, 0.5))
    assert weighted.predict_proba(X)[:, 1].mean() > label.mean()
    assert_allclose(weighted.predict_proba(X), by_hand.predict_proba(X))


def test_one_class():
    X, _, _ = make_tasks()
    model = classifier().fit(X, np.ones(len(X), dtype=int))
    assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    assert_array_equal(model.predict(X), np.ones(len(X)))


# ------------------------------------------------------------------- features


def test_categories_of_frames_are_split_many_against_many():
    rng = np.random.default_rng(0)
    names = np.array([f"c{i}" for i in range(20)])
    code = rng.integers(0, 20, size=1000)
    y = np.where(code % 2, 1.0, -1.0) + 0.1 * rng.normal(size=1000)
    frame = pd.DataFrame({"c": names[code], "x": rng.normal(size=1000)})
    model = MultiTaskGradientBoostingRegressor(
        n_estimators=3, learning_rate=1.0, max_leaf_nodes=2, **PLAIN
    ).fit(frame, y)
    assert model.score(frame, y) > 0.98
    new = frame.assign(c="never seen")
    assert np.isfinite(model.predict(new)).all()


@pytest.mark.parametrize("direction", [1, -1])
def test_scores_rise_or_fall_with_constrained_columns(direction):
    X, y, _ = make_tasks(800)
    model = regressor(
        monotonic_cst={0: direction}, n_estimators=30, min_samples_leaf=3
    ).fit(X, y)
    grid = np.linspace(-3, 3, 50)
    for row in X[::40]:
        rows = np.repeat(row[None], 50, axis=0)
        rows[:, 0] = grid
        assert (direction * np.diff(model.predict(rows)) >= -1e-12).all()
    free = regressor(n_estimators=30, min_samples_leaf=3).fit(X, y)
    rows[:, 0] = grid
    assert (direction * np.diff(free.predict(rows)) < 0).any()
    as_list = regressor(
        monotonic_cst=[direction, 0, 0, 0, 0], n_estimators=30, min_samples_leaf=3
    ).fit(X, y)
    assert_array_equal(as_list.predict(X), model.predict(X))


def test_no_interactions_make_an_additive_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    model = MultiTaskGradientBoostingRegressor(
        interaction_cst="no_interactions", n_estimators=20, random_state=0
    ).fit(X, y)

    def interaction(fitted):
        """What columns 0 and 1 do together beyond what each does alone."""
        corners = np.zeros((4, 100, 3))
        corners[[1, 3], :, 0] = X[:100, 0]
        corners[[2, 3], :, 1] = X[:100, 1]
        f = [fitted.predict(rows) for rows in corners]
        return f[3] - f[2] - f[1] + f[0]

    assert_allclose(interaction(model), 0, atol=1e-12)
    groups = MultiTaskGradientBoostingRegressor(
        interaction_cst=[[0, 1]], n_estimators=20, random_state=0
    ).fit(X, y)
    assert np.abs(interaction(groups)).max() > 0.1


# --------------------------------------------------------------------- rounds


def test_stages_end_with_the_prediction():
    X, y, _ = make_tasks()
    model = regressor().fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_estimators_ == 15
    assert_array_equal(stages[-1], model.predict(X))
    errors = [np.mean((stage - y) ** 2) for stage in stages]
    assert (np.diff(errors) < 0).all()
    label = np.digitize(y, [-0.5, 0.8])
    model = classifier().fit(X, label)
    for method in ("predict", "predict_proba", "decision_function"):
        stages = list(getattr(model, f"staged_{method}")(X))
        assert_array_equal(stages[-1], getattr(model, method)(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_warm_start_goes_on(n_classes):
    X, y, _ = make_tasks()
    y = np.digitize(y, [0.0] if n_classes == 2 else [-0.5, 0.8])
    straight = classifier(n_estimators=12).fit(X, y)
    model = classifier(n_estimators=5, warm_start=True).fit(X, y)
    model.set_params(n_estimators=12).fit(X, y)
    assert_array_equal(model.predict_proba(X), straight.predict_proba(X))
    with pytest.raises(ValueError, match="other tasks"):
        model.fit(X[X[:, -1] > 0], y[X[:, -1] > 0])
    with pytest.raises(ValueError, match="at least the 12 rounds"):
        model.set_params(n_estimators=3).fit(X, y)


def test_early_stopping_keeps_the_best_rounds():
    X, y, _ = make_tasks(600)
    y = y + 2 * np.random.default_rng(0).normal(size=600)
    model = regressor(n_estimators=300, early_stopping=True).fit(X, y)
    losses = model.validation_losses_
    assert model.n_estimators_ == np.argmin(losses) + 1 < 300
    assert len(losses) == model.n_estimators_ + 10
    again = regressor(n_estimators=300, early_stopping=True).fit(X, y)
    assert_array_equal(again.predict(X), model.predict(X))


def test_early_stopping_by_given_rows():
    X, y, _ = make_tasks(600)
    noisy = y + 2 * np.random.default_rng(0).normal(size=600)
    X_val, y_val, _ = make_tasks(600, seed=1)
    X_val[:5, -1] = 99  # a task that is not known
    model = regressor(n_estimators=300, early_stopping=True)
    model.fit(X, noisy, X_val=X_val, y_val=y_val)
    losses = model.validation_losses_
    model.unknown_task = "share"
    assert_allclose(np.mean((model.predict(X_val) - y_val) ** 2) / 2, losses.min())
    label = np.digitize(y, [-0.5, 0.8])
    model = classifier(early_stopping=True, n_estimators=100)
    model.fit(X, label, X_val=X_val, y_val=np.digitize(y_val, [-0.5, 0.8]))
    assert model.n_estimators_ == np.argmin(model.validation_losses_) + 1


def test_validation_rows_without_early_stopping_are_refused():
    X, y, _ = make_tasks(80)
    with pytest.raises(ValueError, match="early_stopping=False"):
        regressor().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="did not see in fit"):
        classifier(early_stopping=True).fit(X, y > 0, X_val=X, y_val=y.round())


def test_new_categories_of_a_warm_start_are_missing_values():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 4, size=200), rng.normal(size=200)].astype(float)
    y = X[:, 0] % 2 + 0.1 * rng.normal(size=200)
    model = MultiTaskGradientBoostingRegressor(
        categorical_features=[0], warm_start=True, **{**SMALL, "n_estimators": 5}
    ).fit(X, y)
    X[:50, 0] = 9
    model.set_params(n_estimators=8).fit(X, y)
    missing = X[:50].copy()
    missing[:, 0] = np.nan
    assert_array_equal(model.predict(X[:50]), model.predict(missing))


def test_subsample_draws_rows():
    X, y, _ = make_tasks()
    whole, half = regressor().fit(X, y), regressor(subsample=0.5).fit(X, y)
    assert abs(half.predict(X) - whole.predict(X)).max() > 0.01
    assert half.score(X, y) > 0.7
    assert_array_equal(regressor(subsample=0.5).fit(X, y).predict(X), half.predict(X))


def test_order_of_rows_and_threads_change_nothing():
    X, y, _ = make_tasks(3000)
    label = np.digitize(y, [-0.5, 0.8])
    order = np.random.default_rng(0).permutation(len(y))
    one = classifier(n_jobs=1, n_estimators=5).fit(X, label)
    two = classifier(n_jobs=2, n_estimators=5).fit(X, label)
    many = np.tile(X, (4, 1))  # enough rows for both threads
    assert_array_equal(one.predict_proba(many), two.predict_proba(many))
    shuffled = classifier(n_estimators=5).fit(X[order], label[order])
    assert_allclose(shuffled.predict_proba(X), one.predict_proba(X), rtol=1e-10)


def test_saved_models_predict_the_same(tmp_path):
    X, y, _ = make_tasks()
    frame = pd.DataFrame(X[:, :4]).add_prefix("x")
    frame["c"] = np.array(["u", "v", "w"])[np.arange(len(y)) % 3]
    frame["task"] = X[:, 4].astype(int)
    model = regressor(task="task").fit(frame, y)
    assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame)
    )
    save(model, tmp_path / "model.skops")
    assert_array_equal(
        load(tmp_path / "model.skops").predict(frame), model.predict(frame)
    )


# --------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"loss": "quantile", "quantile": 1.0}, "quantile"),
        ({"monotonic_cst": {9: 1}}, "column 9, but X has 5"),
        ({"monotonic_cst": {"a": 1}}, "no names"),
        ({"monotonic_cst": [1, 0]}, "shape"),
        ({"monotonic_cst": {0: 2}}, "-1, 0 or 1"),
        ({"monotonic_cst": {4: 1}}, "is the task"),
        ({"monotonic_cst": {0: 1}, "loss": "quantile"}, "quantiles"),
        ({"interaction_cst": [[0, 7]]}, "column 7"),
        ({"offset": 12}, "column 12"),
        ({"offset": 4}, "is the task"),
        ({"max_bins": 256}, "max_bins"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"early_stopping": True, "validation_fraction": 1e-6}, "hold back"),
    ],
)
def test_bad_parameters(params, words):
    X, y, _ = make_tasks(80)
    with pytest.raises(ValueError, match=words):
        regressor(**params).fit(X, y)


def test_bad_targets_and_weights():
    X, y, _ = make_tasks(80)
    with pytest.raises(ValueError, match=r"at least 0 .* the first is -1 in row 3"):
        regressor(loss="poisson").fit(X, np.where(np.arange(80) == 3, -1.0, 2.0))
    with pytest.raises(ValueError, match="above 0"):
        regressor(loss="gamma").fit(X, np.zeros(80))
    with pytest.raises(ValueError, match="all of y is 0"):
        regressor(loss="poisson").fit(X, np.zeros(80))
    with pytest.raises(ValueError, match="non-zero"):
        regressor().fit(X, y, np.zeros(80))
    with pytest.raises(ValueError, match="Task 0 has no row of positive weight"):
        regressor().fit(X, y, (X[:, -1] > 0).astype(float))
    with pytest.raises(TypeError, match="groups of columns"):
        regressor(interaction_cst=[0, 1]).fit(X, y)
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="missing in 1 of 80"):
        regressor(loss="poisson", offset=0).fit(X, np.ones(80))


def test_a_task_of_one_row_and_few_rows():
    X, y, _ = make_tasks(80)
    X[0, -1] = 77
    model = regressor().fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    few = regressor().fit(X[:3], y[:3])
    assert np.isfinite(few.predict(X[:3])).all()
    assert np.isfinite(regressor().fit(X[:1], y[:1]).predict(X[:1])).all()


def test_weights_of_any_scale_give_the_same_model():
    X, y, _ = make_tasks()
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    reference = regressor().fit(X, y, weight).predict(X)
    assert_allclose(regressor().fit(X, y, weight * 2.0**-30).predict(X), reference)


def test_ctrl_c_ends_a_fit():
    X, y, _ = make_tasks(20_000)
    assert seconds_to_stop(lambda: regressor(n_estimators=10**6).fit(X, y)) < 1
    wide = np.random.default_rng(0).normal(size=(30_000, 60))
    model = MultiTaskGradientBoostingRegressor(max_leaf_nodes=2000, n_estimators=10**6)
    assert seconds_to_stop(lambda: model.fit(wide, wide[:, 0]), after=1.0) < 1
