"""Tasks and rows that come after two-task stumps were boosted."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.boosting import AbstainingAdaBoostClassifier
from kinlearn.boosting.stumps._search import RootTests


def rows(n=240, n_tasks=4, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[:, -1] = np.arange(n) % n_tasks
    level = X[:, 0] + (X[:, -1] - 1) * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.digitize(level, np.arange(1, n_classes) - n_classes / 2)


def booster(n_estimators=12, **params):
    return AbstainingAdaBoostClassifier(n_estimators, task=-1, **params)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"algorithm": "mh"},
        {"root": "stochastic", "n_roots": 4, "random_state": 3},
        {"root": "best_per_task", "n_roots": 2, "init_weights": "uniform"},
    ],
)
def test_with_the_rows_of_fit_boosting_goes_on(params):
    X, y = rows()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = booster(8, **params).fit(X, y, weight)
    model.partial_fit(X, y, sample_weight=weight)
    longer = booster(16, **params).fit(X, y, weight)
    assert model.n_estimators_ == 16
    for name in ("feature", "task", "threshold", "missing_left", "first_value"):
        found = np.diff(model.stumps_.nodes[name][8:].ravel())  # one value is between
        expected = np.diff(longer.stumps_.nodes[name][8:].ravel())
        assert_array_equal(found, expected, name)
    assert_allclose(model.estimator_weights_, longer.estimator_weights_, rtol=1e-6)
    assert_allclose(model.normalizers_, longer.normalizers_, rtol=1e-6)
    assert_allclose(model.decision_function(X), longer.decision_function(X), rtol=1e-6)


@pytest.mark.parametrize("algorithm", ["mtaa", "mh"])
def test_other_tasks_do_not_change_and_the_new_one_is_learned(algorithm):
    X, y = rows()
    new = X[:, -1] == 1  # a code in the middle
    model = booster(30, algorithm=algorithm).fit(X[~new], y[~new])
    before = model.decision_function(X[~new])
    n_before = model.n_estimators_
    model.add_task(X[new], y[new])
    assert [*model.tasks_] == [0, 1, 2, 3]
    assert_array_equal(model.decision_function(X[~new]), before)
    assert model.score(X[new], y[new]) > 0.95
    assert n_before < model.n_estimators_ <= n_before + 10  # 30 of three tasks
    added = model.stumps_.nodes["task"][n_before:]
    assert set(added.ravel().tolist()) == {-1, 1}
    assert len(model.estimator_weights_) == len(model.normalizers_)
    assert model.task_affinity_.shape == (4, 4)
    *_, last = model.staged_decision_function(X)
    assert_allclose(last, model.decision_function(X))


def test_with_nothing_to_borrow_a_task_is_boosted_alone():
    X, y = rows()
    new = X[:, -1] == 2
    model = booster(label_sets="observed")
    model.fit(X[~new], np.where(X[~new, -1] > 1, 1, 0))  # a class each
    assert model.n_estimators_ == 0
    model.add_task(X[new], y[new])
    rounds = int(np.ceil(model._rounds_per_task))
    alone = booster(rounds).fit(X[new], y[new])
    assert_array_equal(model.decision_function(X[new]), alone.decision_function(X[new]))


def test_what_others_test_at_their_roots_is_tried():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 5))
    X[:, -1] = np.arange(600) % 3
    new = X[:, -1] == 2
    # the new task has no test of its own that is any good: two features together
    y = np.where(new, (X[:, 0] > 0) ^ (X[:, 1] > 0), X[:, 0] > 0).astype(int)
    few, later = np.flatnonzero(new)[:100], np.flatnonzero(new)[100:]
    model = booster(6, n_roots=1).fit(X[~new], y[~new])
    borrowed = model.stumps_.nodes[0, 0]
    n_before = model.n_estimators_
    model.add_task(X[few], y[few])
    root = model.stumps_.nodes[n_before, 0]
    assert root["feature"] == borrowed["feature"] == 0
    assert root["threshold"] == borrowed["threshold"]
    assert root["task"] == -1  # it says nothing by itself
    assert model.score(X[later], y[later]) > 0.9


def test_tests_count_by_what_their_rounds_took_off_the_bound():
    X, y = rows()
    model = booster().fit(X, y)
    root = model.stumps_.nodes[:, 0]
    gain: dict = {}
    for test, z in zip(
        root[["feature", "threshold"]].tolist(), model.normalizers_, strict=True
    ):
        gain[test] = gain.get(test, 0) - np.log(z)
    expected = sorted(gain, key=gain.__getitem__, reverse=True)[:3]
    tests = RootTests.of(model.stumps_, model.normalizers_, 3)
    found = list(zip(tests.feature.tolist(), tests.threshold.tolist(), strict=True))
    assert found == expected


def test_known_and_new_tasks_at_once():
    X, y = rows(n=400)
    first = (X[:, -1] < 3) & (np.arange(400) < 300)
    model = booster(20).fit(X[first], y[first])
    alike = X[:, -1] == 0
    before = model.decision_function(X[alike])
    more = ~first & ~alike
    model.partial_fit(X[more], y[more])
    assert [*model.tasks_] == [0, 1, 2, 3]
    assert_array_equal(model.decision_function(X[alike]), before)  # no rows, no change
    assert model.score(X[more], y[more]) > 0.95


def test_new_tasks_have_labels_of_their_own():
    X, y = rows(n=300, n_classes=4)
    new = X[:, -1] == 3
    model = booster(40, label_sets="observed").fit(X[~new], y[~new])
    few = new & (y < 2)
    model.add_task(X[few], y[few])
    assert set(model.predict(X[new])) <= {0, 1}
    assert [*model.task_classes_[3]] == [0, 1]
    with pytest.raises(ValueError, match="did not have so far"):
        model.partial_fit(X[new], y[new])


def test_sparse_rows_missing_values_and_rows_held_back():
    X, y = rows()
    X[::7, 0] = np.nan
    new = X[:, -1] == 0
    model = booster(20, early_stopping=True, random_state=0)
    model.fit(X[~new], y[~new]).add_task(X[new], y[new])
    assert model.score(X[new], y[new]) > 0.8
    X = np.nan_to_num(X)
    dense = booster().fit(X[~new], y[~new]).add_task(X[new], y[new])
    sparse = booster().fit(sp.csr_array(X[~new]), y[~new])
    sparse.add_task(sp.csr_array(X[new]), y[new])
    assert_array_equal(sparse.predict_proba(X), dense.predict_proba(X))


def test_first_partial_fit_is_a_fit():
    X, y = rows()
    a, b = booster().fit(X, y), booster().partial_fit(X, y, classes=[0, 1])
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    with pytest.raises(ValueError, match=r"every class; \[2\] are missing"):
        booster().partial_fit(X, y, classes=[0, 1, 2])


def test_what_cannot_be_added_is_refused():
    X, y = rows()
    model = booster().fit(X[X[:, -1] < 3], y[X[:, -1] < 3])
    with pytest.raises(ValueError, match=r"add_task adds tasks .* it knows 0, 1, 2"):
        model.add_task(X, y)
    new = X[:, -1] == 3
    with pytest.raises(ValueError, match=r"for tasks that it knows: 7\. .*Fit anew"):
        model.partial_fit(X, np.where(y == 1, 7, 0))
    X3, y3 = rows(n_classes=3)
    known = (X3[:, -1] < 2) & (y3 < 2) | (X3[:, -1] == 2) & (y3 > 0)
    pairs = booster(label_sets="observed").fit(
        X3[known], y3[known]
    )  # two classes each, three in all
    new = X3[:, -1] == 3
    with pytest.raises(ValueError, match=r"task 3 has 3\. Fit anew with algor"):
        pairs.add_task(X3[new], y3[new])
    assert [*pairs.tasks_] == [0, 1, 2]
    two = np.flatnonzero(X3[:, -1] > 1)
    later = X3[two] + [0, 0, 0, 10]
    with pytest.raises(ValueError, match="Task 13 has no row of positive weight"):
        pairs.add_task(later, y3[two] % 2, (later[:, -1] == 12).astype(float))


@pytest.mark.parametrize("algorithm", ["mtaa", "mh"])
def test_a_new_task_brings_classes_of_its_own(algorithm):
    X, y = rows(n=320)
    new = X[:, -1] == 1
    label = np.array(["no", "yes"])[y]
    own = np.array(["cold", "warm"])[y]
    model = booster(60, algorithm=algorithm).fit(X[~new], label[~new])
    before = model.predict_proba(X[~new])
    roots = RootTests.of(model.stumps_, model.normalizers_, model.n_roots)
    model.add_task(X[new], own[new])
    assert [*model.classes_] == ["cold", "no", "warm", "yes"]
    assert [*model.task_classes_[1]] == ["cold", "warm"]
    assert_array_equal(model.predict_proba(X[~new])[:, [1, 3]], before)
    assert_array_equal(model.predict_proba(X[~new])[:, [0, 2]], 0)
    assert_array_equal(model.predict(X[~new]), model.classes_[[1, 3]][before.argmax(1)])
    assert model.score(X[new], own[new]) > 0.9
    # the new task's rounds have their roots from the other tasks'
    added = model.stumps_.nodes[60:, 0]
    assert set(added["feature"]) <= set(roots.feature)
    # and once more, with rows of known tasks and a class between the others
    more = X + np.array([0, 0, 0, 10])
    both = np.concatenate([X[~new], more[new]])
    of_both = np.concatenate([label[~new], np.array(["dry", "wet"])[y[new]]])
    model.partial_fit(both, of_both)
    assert [*model.classes_] == ["cold", "dry", "no", "warm", "wet", "yes"]
    assert model.score(both, of_both) > 0.9
    assert model.score(X[new], own[new]) > 0.9


def test_a_new_task_that_joins_two_leaves_their_classes():
    X, y = rows()
    label = np.where(X[:, -1] == 0, y, y + 2)
    known = X[:, -1] < 2
    model = booster(algorithm="mh").fit(X[known], label[known])
    before = model.predict_proba(X[known])
    new = X[:, -1] == 3
    model.add_task(X[new], y[new] + 1)  # classes 1 and 2: of both
    assert [*model.task_classes_[3]] == [0, 1, 2, 3]
    assert [*model.task_classes_[0]] == [0, 1]
    assert_array_equal(model.predict_proba(X[known]), before)
    assert (model.predict_proba(X[new]) > 0).all()
