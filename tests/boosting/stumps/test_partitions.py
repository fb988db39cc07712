"""Stumps boosted from partitions of the rows are those of all rows in one place."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._partitions import LocalPartitions
from kinlearn.boosting import AbstainingAdaBoostClassifier
from kinlearn.boosting.stumps._rows import exact_parts, exact_total
from kinlearn.boosting.stumps.partitions import fit_partitions
from kinlearn.utils import quiet_round
from tests.partitions import ENDS, read


def problem(*, n=300, n_tasks=4, missing=False, weights=False, seed=7, labels=2):
    """Rows with binary, rounded and constant features, and tasks of unequal size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    X[:, 1], X[:, 2], X[:, 3] = rng.integers(0, 2, n), np.round(X[:, 2]), 1.0
    task = (rng.random(n) ** 2 * n_tasks).astype(int)
    y = X[:, 0] + X[:, 1] * (task % 3) + 0.7 * rng.normal(size=n)
    y = np.digitize(y, np.sort([0.3, -0.8, 1.2][: labels - 1]))
    if n_tasks > 3:
        y[task == 2] = 1  # a task that lacks a class
        y[task == 3] += 1  # and one with other classes
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 4, n).astype(float) if weights else None
    return np.column_stack([X, task]), y, weight


def fit_both(X, y, weight, *, ends=ENDS, **params):
    params = {"n_estimators": 15, "task": -1, "random_state": 3, **params}
    whole = AbstainingAdaBoostClassifier(**params).fit(X, y, weight)
    divided = AbstainingAdaBoostClassifier(**params)
    parts = read(X, y, weight, ends)
    fit_partitions(divided, LocalPartitions(), parts, quiet_round)
    assert not parts  # the rows as they were read have been let go of
    return whole, divided


def assert_same_model(found, expected):
    """To the bit: stumps, votes and normalisers."""
    assert found.n_estimators_ == expected.n_estimators_ > 0
    assert_array_equal(found.stumps_.nodes, expected.stumps_.nodes)
    assert_array_equal(found.stumps_.values, expected.stumps_.values)
    assert_array_equal(found.estimator_weights_, expected.estimator_weights_)
    assert_array_equal(found.normalizers_, expected.normalizers_)
    assert found.fallback_tasks_ == expected.fallback_tasks_


@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.TaskFallbackWarning")
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"weighting": "conservative", "init_weights": "uniform"},
        {"root": "stochastic", "n_roots": 5, "init_weights": "task"},
        {"root": "best_per_task", "n_roots": 7, "max_bins": 8},
        {"levels": 1},
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_stumps_are_those_of_all_rows(params, missing):
    X, y, weight = problem(missing=missing, weights=missing)
    whole, divided = fit_both(X, y, weight, **params)
    assert_same_model(divided, whole)
    assert_array_equal(divided.predict_proba(X), whole.predict_proba(X))


@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.TaskFallbackWarning")
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"init_weights": "uniform", "smoothing": 0.1},
        {"root": "stochastic", "n_roots": 5, "init_weights": "task"},
        {"root": "best_per_task", "n_roots": 7, "max_bins": 8},
        {"levels": 1},
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_stumps_of_several_classes_are_those_of_all_rows(params, missing, monkeypatch):
    if missing:  # roots are asked about one by one
        monkeypatch.setattr("kinlearn.boosting.stumps.partitions._fit._BYTES", 0)
    X, y, weight = problem(missing=missing, weights=missing, labels=4)
    y[X[:, -1] == 1] = np.minimum(y[X[:, -1] == 1], 1)  # tasks of 4, 2, 1 and 4 classes
    whole, divided = fit_both(X, y, weight, **params)
    assert whole.algorithm_ == divided.algorithm_ == "mh"
    assert_same_model(divided, whole)
    assert_array_equal(divided.predict_proba(X), whole.predict_proba(X))


def test_two_classes_by_scores():
    X, y, weight = problem(missing=True, weights=True)
    assert_same_model(*reversed(fit_both(X, y, weight, algorithm="mh")))


@pytest.mark.parametrize("labels", [2, 4])
def test_many_small_parts(labels):
    X, y, _ = problem(n=120, missing=True, labels=labels)
    ends = list(range(3, 120, 7))
    assert_same_model(*reversed(fit_both(X, y, None, ends=ends)))


@pytest.mark.parametrize("labels", [2, 3])
def test_more_features_than_a_block(labels):
    X, y, weight = problem(missing=True, weights=True, labels=labels)
    more = np.random.default_rng(0).integers(0, 4, (len(y), 140)) * (X[:, :1] > -1)
    X = np.column_stack([more[:, :70], X[:, :-1], more[:, 70:], X[:, -1]])
    assert_same_model(*reversed(fit_both(X, y, weight, n_estimators=6)))


def test_one_task_and_one_part():
    X, y, _ = problem(n_tasks=1)
    assert_same_model(*reversed(fit_both(X, y, None)))
    X, y, _ = problem(n_tasks=1, labels=3)
    assert_same_model(*reversed(fit_both(X, y, None)))
    X, y, _ = problem()
    assert_same_model(*reversed(fit_both(X, y, None, ends=[])))


def test_weights_that_are_no_whole_numbers_give_the_same_stumps():
    X, y, weight = problem(weights=True)
    whole, divided = fit_both(X, y, weight * 0.3, n_estimators=5)
    for name in ("feature", "task"):
        assert_array_equal(divided.stumps_.nodes[name], whole.stumps_.nodes[name])


def test_a_model_of_parts_takes_further_tasks():
    X, y, _ = problem()
    new = X[:, -1] == 0
    whole, divided = fit_both(X[~new], y[~new], None, ends=[30])
    for model in (whole, divided):
        model.add_task(X[new], y[new])
    assert_same_model(divided, whole)


def test_nothing_to_boost():
    X, y, _ = problem()
    divided = AbstainingAdaBoostClassifier(5, task=-1, label_sets="observed")
    y = X[:, -1].astype(int)  # one class in each task
    fit_partitions(divided, LocalPartitions(), read(X, y, None, ENDS), None)
    assert divided.n_estimators_ == 0
    assert_array_equal(divided.predict(X), y)


def test_what_cannot_be_boosted_is_refused():
    X, y, _ = problem()
    model = AbstainingAdaBoostClassifier(5, task=-1)
    pairs = AbstainingAdaBoostClassifier(5, task=-1, algorithm="mtaa")
    three = np.arange(len(y)) % 3
    with pytest.raises(ValueError, match="algorithm='mtaa' is for tasks with two cl"):
        fit_partitions(pairs, LocalPartitions(), read(X, three, None, ENDS), None)
    weight = (X[:, -1] != 1).astype(float)
    with pytest.raises(ValueError, match="Task 1 has no row of positive weight"):
        fit_partitions(model, LocalPartitions(), read(X, y, weight, ENDS), None)
    with pytest.raises(ValueError, match="weights of all rows are 0"):
        fit_partitions(model, LocalPartitions(), read(X, y, 0 * weight, ENDS), None)


def test_exact_sums_do_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    values = np.exp(-30 * rng.random(10_000))
    total = exact_total(*exact_parts(values))
    np.testing.assert_allclose(total, values.sum(), rtol=1e-13)
    for _ in range(3):
        parts = np.array_split(rng.permutation(values), [10, 10, 5000])
        high, low = zip(*map(exact_parts, parts), strict=True)
        assert exact_total(sum(high), sum(low)) == total
