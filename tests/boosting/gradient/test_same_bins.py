"""Many fits on the same bins."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.boosting.gradient.internal import (
    REGRESSION,
    Binned,
    Problem,
    SameBins,
    Settings,
    boost,
)
from kinlearn.tasks import with_task

SETTINGS = {
    "learning_rate": 0.3,
    "max_leaves": 8,
    "max_depth": 0,
    "least_count": 5,
    "l2": 0.0,
    "max_features": 3,
    "subsample": 1.0,
    "task_splits": True,
    "task_values": True,
    "seed": 0,
}


def make_rows(n=300):
    rng = np.random.default_rng(0)
    X, task = rng.integers(0, 20, size=(n, 3)).astype(float), np.arange(n) % 5
    y = X[:, 0] + (task > 2) * X[:, 1] + rng.normal(size=n)
    return X, task.astype(np.int32), y


def test_rows_left_out_are_as_if_they_were_not_there():
    X, task, y = make_rows()
    train = np.arange(len(y)) % 3 > 0
    loss = REGRESSION["squared_error"]
    binned = Binned.of(X)
    ones = np.ones(len(y), dtype=np.int64)
    whole = Problem(binned, task, 5, loss(y, 1.0 * train), ones * train)
    part = Problem(
        binned.take(train), task[train], 5, loss(y[train], ones[train]), ones[train]
    )
    found = [boost(p, Settings(**SETTINGS), 8) for p in (whole, part)]
    scores = [one.scores(binned.bins, task) for one in found]
    assert_allclose(*scores, rtol=1e-9)


def test_scores_are_those_of_the_estimator():
    X, task, y = make_rows()
    model = MultiTaskGradientBoostingRegressor(
        task=-1,
        n_estimators=8,
        learning_rate=0.3,
        max_leaf_nodes=8,
        min_samples_leaf=5,
        max_features=1.0,
        l2_regularization=0.0,
        linear_part=False,
        random_state=0,
    ).fit(with_task(X, task), y)
    loss = REGRESSION["squared_error"]
    scaled = loss(y, np.ones(len(y)), scale=loss.find_scale(y))
    problem = Problem(Binned.of(X), task, 5, scaled, np.ones(len(y), dtype=np.int64))
    found = boost(problem, Settings(**SETTINGS), 8).scores(problem.binned.bins, task)
    assert_array_equal(found[:, 0] * scaled.scale, model.predict(with_task(X, task)))


# ------------------------------------------------------- as the estimators would do

STAGES = (3, 7, 12)


def make_estimator(kind, **options):
    estimator = (
        MultiTaskGradientBoostingRegressor
        if kind == "numbers"
        else MultiTaskGradientBoostingClassifier
    )
    return estimator(
        task=-1,
        n_estimators=STAGES[-1],
        learning_rate=0.3,
        min_samples_leaf=5,
        unknown_task="share",
        random_state=3,
        **options,
    )


def make_targets(kind, number):
    if kind == "numbers":
        return number
    cuts = np.quantile(number, [0.5] if kind == "two classes" else [0.2, 0.6])
    return np.digitize(number, cuts).astype(np.int32)


def staged(model, X, stages=STAGES):
    name = "staged_predict" + "_proba" * hasattr(model, "classes_")
    every = list(getattr(model, name)(X))
    return [every[stage - 1] for stage in stages]


@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"task_splits": False, "task_values": False},
        {"subsample": 0.7, "max_leaf_nodes": 4, "l2_regularization": 0.0},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_models_of_some_rows_are_those_of_the_estimators(kind, options, weighted):
    X, task, number = make_rows(600)
    y = make_targets(kind, number)
    weight = np.random.default_rng(1).integers(1, 3, len(y)) * 1.0 if weighted else None
    # task 4 has no row in training: an unknown one
    train = np.flatnonzero((np.arange(len(y)) % 3 > 0) & (task != 4))
    test = np.setdiff1d(np.arange(len(y)), train)
    for column in X.T:  # or the estimator would have other bins
        assert_array_equal(np.unique(column[train]), np.unique(column))
    same = SameBins(
        X, task, y, weight, n_classes=0 if kind == "numbers" else y.max() + 1
    )
    estimator = make_estimator(kind, **options)
    found = same.fit(estimator, train).predictions(test, STAGES)
    estimator.fit(
        with_task(X[train], task[train]),
        y[train],
        sample_weight=None if weight is None else weight[train],
    )
    assert_array_equal(found, staged(estimator, with_task(X[test], task[test])))


def test_rows_may_be_of_an_unknown_task():
    X, task, y = make_rows()
    same, estimator = SameBins(X, task, y), make_estimator("numbers")
    rows = np.arange(40)
    found = same.fit(estimator).predictions(rows, task=np.full(40, -1))
    model = estimator.fit(with_task(X, task), y)
    assert_array_equal(found[0], model.predict(with_task(X[rows], np.full(40, 9))))


@pytest.mark.parametrize("rule", ["connected", "observed", {0: [0, 1, 2]}])
def test_label_sets_are_those_of_the_rows(rule):
    X, task, number = make_rows(600)
    y = make_targets("three classes", number)
    apart = task == 4
    y[apart] = 3 + (number[apart] > 5)
    train = np.arange(len(y)) % 3 > 0
    train &= ~((task == 1) & (y == 2))
    train, test = np.flatnonzero(train), np.flatnonzero(~train)
    estimator = make_estimator("five classes", label_sets=rule)
    same = SameBins(X, task, y, n_classes=5)
    found = same.fit(estimator, train).predictions(test, STAGES)
    estimator.fit(with_task(X[train], task[train]), y[train])
    assert_array_equal(found, staged(estimator, with_task(X[test], task[test])))


def test_classes_that_no_training_row_has_get_nothing():
    X, task, number = make_rows(600)
    y = make_targets("three classes", number)
    same, estimator = SameBins(X, task, y, n_classes=3), make_estimator("classes")
    rows = np.arange(50)
    two = same.fit(estimator, np.flatnonzero(y != 1)).predictions(rows)[0]
    assert_array_equal(two[:, 1], 0)
    assert_allclose(two.sum(axis=1), 1)
    one = same.fit(estimator, np.flatnonzero(y == 1)).predictions(rows, STAGES)
    assert_array_equal(one, np.tile([0.0, 1.0, 0.0], (len(STAGES), 50, 1)))


def test_rows_of_no_weight_are_absent():
    X, task, y = make_rows()
    weight = (np.arange(len(y)) % 4 > 0) * 1.0
    estimator, rows = make_estimator("numbers"), np.flatnonzero(weight)
    same = SameBins(X, task, y, weight)
    every = same.fit(estimator).predictions(np.arange(len(y)))
    assert_array_equal(every, same.fit(estimator, rows).predictions(np.arange(len(y))))


@pytest.mark.parametrize("loss", ["poisson", "gamma", "quantile"])
def test_other_losses_and_other_targets(loss):
    X, task, y = make_rows()
    other = np.round(np.exp(y / 20)) + 1
    estimator = make_estimator("numbers", loss=loss, quantile=0.3)
    same = SameBins(X, task, y)
    [found] = same.fit(estimator, y=other).predictions(np.arange(len(y)))
    model = estimator.fit(with_task(X, task), other)
    assert_array_equal(found, model.predict(with_task(X, task)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"early_stopping": True}, "do not know early_stopping=True"),
        ({"max_bins": 20}, "64 bins, and the estimator has max_bins=20"),
        ({"monotonic_cst": [1, 0, 0]}, "do not know monotonic_cst"),
    ],
)
def test_what_the_same_bins_cannot_do(options, message):
    same = SameBins(*make_rows())
    with pytest.raises(ValueError, match=message):
        same.fit(make_estimator("numbers", **options))


@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_estimators_fitted_to_the_bins_are_the_same(kind, weighted, sparse):
    X, task, number = make_rows(600)
    task[task > 1] += 2  # codes that no row has
    y = make_targets(kind, number)
    weight = np.random.default_rng(1).integers(1, 3, len(y)) * 1.0 if weighted else None
    categorical = None if sparse else np.array([False, True, False])
    options = {} if sparse else {"categorical_features": [1]}
    if sparse:
        X = sp.csr_array(np.where(X > 8, X, 0.0))
    n_classes = 0 if kind == "numbers" else y.max() + 1
    same = SameBins(X, task, y, weight, n_classes=n_classes, categorical=categorical)
    options |= {"max_bins": 64}
    found = same.fit_estimator(make_estimator(kind, **options), X)
    plain = make_estimator(kind, **options).fit(with_task(X, task), y, weight)
    assert pickle.dumps(found) == pickle.dumps(plain)


def test_what_the_bins_cannot_do_is_refused_by_estimators_too():
    X, task, y = make_rows()
    with pytest.raises(ValueError, match="early_stopping"):
        SameBins(X, task, y).fit_estimator(
            make_estimator("numbers", early_stopping=True), X
        )
