"""Folds of the Kin estimators: copies together, rows that meet by chance apart."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.sharing.kin._folds import rows_to_folds, tasks_to_folds
from kinlearn.tasks import check_task_data

KINDS = ["classes", "numbers"]


def deal(X, y, kind, n_folds=5, seed=0, weight=None):
    data = check_task_data(X, y, weight, task=-1, labels=kind)
    return rows_to_folds(data, n_folds, np.random.RandomState(seed))


def make_rows(kind, n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = with_task(rng.normal(size=(n_rows, 3)), np.arange(n_rows) % 4)
    y = X[:, 0] + rng.normal(size=n_rows)
    return X, (y > 0).astype(int) if kind == "classes" else y


def make_coarse_rows(kind, n_rows=400, seed=0):
    """Two features of two values: all rows have equals, and targets are noisy."""
    X, y = make_rows(kind, n_rows, seed)
    X[:, 1:3] = X[:, 1:3] > 0
    return X[:, 1:], y


@pytest.mark.parametrize("kind", KINDS)
def test_copies_stay_together_and_tasks_are_spread(kind):
    X, y = make_rows(kind)
    twice = np.r_[np.arange(len(y)), np.arange(0, len(y), 2)]
    found = deal(X[twice], y[twice], kind, 3)
    assert_array_equal(found.fold[: len(y) : 2], found.fold[len(y) :])
    assert_array_equal(found.task_rows, [30] * 4)
    counts = np.array(
        [
            np.bincount(found.fold[: len(y)][X[:, -1] == t], minlength=3)
            for t in range(4)
        ]
    )
    assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_meet_by_chance_are_dealt_one_by_one(kind):
    X, y = make_coarse_rows(kind)
    found = deal(X, y, kind)
    assert_array_equal(found.task_rows, [100] * 4)
    for t in range(4):
        counts = np.bincount(found.fold[X[:, -1] == t], minlength=5)
        assert_array_equal(counts, 20)
    for values in np.unique(X, axis=0):
        assert len(np.unique(found.fold[(values == X).all(axis=1)])) > 3


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rows_of_few_discordant_targets_stay_together(kind):
    """Copies in which a few targets were altered are still copies."""
    X, y = make_rows(kind)
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    y[:4] = 1 - y[:4]
    found = deal(X, y, kind)
    assert_array_equal(found.fold[:120], found.fold[120:])


@pytest.mark.parametrize("make", [make_rows, make_coarse_rows])
@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_is_so_many_rows_in_any_order(kind, make):
    X, y = make(kind)
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, size=len(y))
    times = rng.permutation(np.repeat(np.arange(len(y)), weight))

    def held_out(X, y, weight):
        """How much of each different row each fold has."""
        found = deal(X, y, kind, weight=weight)
        data = found.data
        rows = np.column_stack([data.X, data.task, data.y])
        number = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        table = np.zeros((number.max() + 1, 5))
        weights = data.sample_weight
        np.add.at(table, (number, found.fold), 1.0 if weights is None else weights)
        assert_array_equal(data.X, X[found.origin][:, :-1])
        return table, found.task_rows

    one, two = held_out(X, y, weight.astype(float)), held_out(X[times], y[times], None)
    assert_allclose(one[0], two[0])
    assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_coarse_rows_do_not_depend_on_weights_or_order(kind):
    X, y = make_coarse_rows(kind, 100)
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, size=len(y))
    times = rng.permutation(np.repeat(np.arange(len(y)), weight))
    estimator = KinClassifier if kind == "classes" else KinRegressor
    options = {"families": "linear", "n_folds": 3, "random_state": 0}
    one = estimator(task=-1, **options).fit(X, y, sample_weight=weight)
    two = estimator(task=-1, **options).fit(X[times], y[times])
    assert_allclose(one.weights_, two.weights_, atol=0.01)
    assert_allclose(one.seen_score_, two.seen_score_, atol=0.01)


def test_weights_of_any_size_are_dealt():
    X, y = make_coarse_rows("classes")
    weight = np.where(np.arange(len(y)) % 2, 0.3, 1e6)
    found = deal(X, y, "classes", weight=weight)
    total = np.bincount(found.origin, weights=found.data.sample_weight)
    assert_allclose(total, weight)
    assert len(found.fold) < 6 * len(y)


def test_folds_do_not_flatter_models_that_take_the_level_of_a_task():
    rng = np.random.default_rng(0)
    n_tasks, n_rows = 2_000, 10
    task = np.repeat(np.arange(n_tasks), n_rows)
    X = np.column_stack([rng.normal(size=len(task)), task])
    y = rng.normal(size=len(task))
    fold = deal(X, y, "numbers").fold
    y, fold = y.reshape(n_tasks, n_rows), fold.reshape(n_tasks, n_rows)
    stay = fold[:, :, None] != fold[:, None, :]
    level = (stay * y[:, None, :]).sum(axis=2) / stay.sum(axis=2)
    # the mean of eight rows, of a ninth: 1 + 1/8
    assert_allclose(np.mean((y - level) ** 2), 1.125, atol=0.03)


@pytest.mark.parametrize("n_values", [None, 2])
def test_folds_do_not_flatter_the_larger_class(n_values):
    """Whoever predicts the larger class of 20 tosses is right half of the time."""
    rng = np.random.default_rng(0)
    right = []
    for seed in range(400):
        X = with_task(rng.normal(size=(20, 1)), np.zeros(20, dtype=int))
        if n_values is not None:
            X[:, 0] = X[:, 0] > 0
        y = rng.integers(2, size=20)
        fold = deal(X, y, "classes", seed=seed).fold
        for f in range(5):
            larger = y[fold != f].mean() > 0.5
            right += (y[fold == f] == larger).tolist()
    assert abs(np.mean(right) - 0.5) < 3 * 0.5 / np.sqrt(len(right))


def test_folds_spread_classes_of_few_rows():
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(400, 2)), rng.integers(4, size=400))
    y = np.repeat([0, 1, 2, 3], [2, 5, 13, 380])
    for seed in range(20):
        fold = deal(X, y, "classes", seed=seed).fold
        n_folds = [len(np.unique(fold[y == c])) for c in range(3)]
        assert (np.array(n_folds) >= [2, 3, 3]).all()


def test_folds_of_tasks_have_about_as_many_rows():
    rng = np.random.RandomState(0)
    fold = tasks_to_folds(np.array([100, 10, 10, 10, 70, 90]), 3, rng)
    load = np.bincount(fold, weights=[100, 10, 10, 10, 70, 90])
    assert load.max() - load.min() <= 20
    assert_array_equal(np.sort(tasks_to_folds(np.array([5, 9]), 5, rng)), [0, 1])
