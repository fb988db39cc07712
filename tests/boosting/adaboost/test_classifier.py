"""Boosted multi-task trees, by their formulas and against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from kinlearn import with_task
from kinlearn.boosting import MultiTaskAdaBoostClassifier
from kinlearn.boosting._calibration import deal_rows
from kinlearn.datasets import make_bayesnet_tasks
from kinlearn.exceptions import KinlearnWarning, TaskFallbackWarning
from kinlearn.sharing import TaskAsFeature
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
)
from tests.callbacks import Recorder
from tests.versions import needs_callbacks


def make_tasks(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    task = np.arange(n) % 3
    y = np.digitize(X[:, 0] + X[:, 1] * (task == 1) + rng.normal(size=n), [-0.5, 0.5])
    return with_task(X, task), task, y


@pytest.mark.parametrize("init", ["uniform", "task"])
def test_errors_votes_and_weights_of_m1_follow_the_thesis(init):
    packed, task, y = make_tasks()
    model = MultiTaskAdaBoostClassifier(
        n_estimators=8, algorithm="m1", task=-1, init_weights=init, random_state=0
    ).fit(packed, y)
    share = np.full(len(y), 1 / len(y))
    if init == "task":
        share = 1 / np.bincount(task)[task] / 3
    votes = np.zeros((len(y), 3))
    for number, tree in enumerate(model.estimators_):
        answer = tree.predict(packed)
        error = share[answer != y].sum()
        assert_allclose(model.estimator_errors_[number], error)
        beta = error / (1 - error)
        assert_allclose(model.estimator_weights_[number], np.log(1 / beta))
        votes[np.arange(len(y)), answer] += np.log(1 / beta)
        share = share * np.where(answer == y, beta, 1.0)
        assert_allclose(model.normalizers_[number], share.sum())
        share /= share.sum()
    assert_array_equal(model.predict(packed), votes.argmax(axis=1))
    assert_allclose(model.predict_proba(packed), votes / votes.sum(1, keepdims=True))


def make_mixed(seed=0, n=300):
    """Tasks of two, three and five classes of their own."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)).round(1), np.arange(n) % 3
    level = X[:, 0] + X[:, 1] * task + rng.normal(size=n)
    cuts = [[0.0], [-0.8, 0.8], [-1.5, -0.5, 0.5, 1.5]]
    pairs = zip(level, task, strict=True)
    y = np.array([10 * t + np.digitize(v, cuts[t]) for v, t in pairs])
    return with_task(X, task), task, np.unique(y, return_inverse=True)[1]


def test_errors_votes_and_weights_are_those_of_samme_with_each_tasks_classes():
    packed, task, y = make_mixed()
    n_classes = np.array([2, 3, 5])[task]
    model = MultiTaskAdaBoostClassifier(n_estimators=8, task=-1, learning_rate=0.4)
    model.fit(packed, y)
    share, votes = np.full(len(y), 1 / len(y)), np.zeros((len(y), 10))
    for number, tree in enumerate(model.estimators_):
        alone = MultiTaskDecisionTreeClassifier(max_depth=3, task=-1)
        alone.fit(packed, y, sample_weight=share * len(y))
        predicted = alone.predict(packed)  # fitted to the rows anew: the same tree
        assert_array_equal(predicted, tree.predict(packed))
        error = share[predicted != y].sum()
        assert_allclose(model.estimator_errors_[number], error)
        vote = 0.4 * (np.log((1 - error) / error) + np.log(n_classes - 1))
        vote = np.maximum(vote, 0)
        votes[np.arange(len(y)), predicted] += vote
        share = share * np.exp(vote * (predicted != y))
        assert_allclose(model.normalizers_[number], share.sum())
        share /= share.sum()
    assert len(model.estimators_) == 8
    assert model.estimator_errors_.max() > 0.5  # where M1 ends
    assert_array_equal(model.predict(packed), votes.argmax(axis=1))
    allowed = model._label_sets.allowed(task)
    proba = np.where(allowed, np.exp(votes), 0)
    proba /= proba.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(packed), proba)


@pytest.mark.parametrize("algorithm", ["samme", "m1"])
def test_rounds_go_on_where_half_the_rows_are_wrong(algorithm):
    X, y = make_bayesnet_tasks("DS3", random_state=100)
    model = MultiTaskAdaBoostClassifier(n_estimators=20, algorithm=algorithm, task=-1)
    if algorithm == "samme":
        assert len(model.fit(X, y).estimators_) == 20
        return
    with pytest.warns(KinlearnWarning, match=r"ended after \d+ of 20 rounds: the next"):
        model.fit(X, y)
    assert 1 < len(model.estimators_) < 20


def log_loss_of(model, X, y):
    proba = model.predict_proba(X)
    return -np.log(np.clip(proba[np.arange(len(y)), y], 1e-15, 1)).mean()


@pytest.mark.parametrize("algorithm", ["samme", "m1"])
@pytest.mark.parametrize("init", ["uniform", "task_class"])
def test_calibrated_probabilities_have_the_smaller_log_loss(algorithm, init):
    packed, _, y = make_tasks(n=1200)
    y = (y > 1).astype(int)  # a third, where task_class begins with a half
    params = {"n_estimators": 30, "algorithm": algorithm, "init_weights": init}
    tree = MultiTaskDecisionTreeClassifier(max_depth=4)
    plain = MultiTaskAdaBoostClassifier(tree, task=-1, **params)
    plain.fit(packed[:300], y[:300])
    calibrated = clone(plain).set_params(calibration_folds=3)
    calibrated.fit(packed[:300], y[:300])
    for one, other in zip(plain.estimators_, calibrated.estimators_, strict=True):
        assert_array_equal(one.tree_.steps, other.tree_.steps)
    test, truth = packed[300:], y[300:]
    assert_array_equal(plain.predict(test), calibrated.predict(test))
    assert log_loss_of(calibrated, test, truth) < log_loss_of(plain, test, truth)
    rate = np.bincount(truth) / len(truth)
    base = -(rate * np.log(rate)).sum()
    assert log_loss_of(calibrated, test, truth) < base
    assert abs(calibrated.predict_proba(test)[:, 1].mean() - rate[1]) < 0.05


def test_calibration_does_not_know_the_order_of_rows_nor_copies_from_weights():
    packed, _, y = make_tasks(n=150)
    model = MultiTaskAdaBoostClassifier(n_estimators=5, task=-1, calibration_folds=3)
    expected = model.fit(packed, y).predict_proba(packed)
    order = np.random.default_rng(0).permutation(len(y))
    assert_allclose(model.fit(packed[order], y[order]).predict_proba(packed), expected)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    weighed = model.fit(packed, y, sample_weight=weight).predict_proba(packed)
    times = np.repeat(np.arange(len(y)), weight)
    assert_allclose(model.fit(packed[times], y[times]).predict_proba(packed), weighed)


def test_rows_of_a_class_that_is_alone_in_its_task_are_never_left_out():
    X = np.arange(12.0)[:, None]
    task, y = np.repeat([0, 1], 6), np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 2])
    fold = deal_rows(X, task, y, 3)
    assert_array_equal(np.flatnonzero(fold < 0), [11])
    for t, label in ((0, 0), (0, 1), (1, 1)):
        assert sorted(fold[(task == t) & (y == label)]) == [0, 1, 2]
    again = deal_rows(np.repeat(X, 2, axis=0), np.repeat(task, 2), np.repeat(y, 2), 3)
    assert_array_equal(again, np.repeat(fold, 2))


def test_early_stopping_keeps_the_rounds_up_to_the_least_error():
    packed, _, y = make_tasks(n=400)
    model = MultiTaskAdaBoostClassifier(
        n_estimators=40, task=-1, early_stopping=True, learning_rate=1.0,
        n_iter_no_change=6, random_state=0,
    ).fit(packed, y)  # fmt: skip
    best = int(np.argmin(model.validation_errors_)) + 1
    assert len(model.estimators_) == len(model.normalizers_) == best < 40
    assert len(model.validation_errors_) <= best + 6
    model.set_params(early_stopping=False).fit(packed, y)
    assert not hasattr(model, "validation_errors_")


def test_one_task_is_adaboost_m1_over_scikit_learns_trees():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=150) > 0).astype(int)
    ours = MultiTaskAdaBoostClassifier(
        MultiTaskDecisionTreeClassifier(max_depth=2), n_estimators=5, algorithm="m1"
    ).fit(X, y)
    share, score = np.full(150, 1 / 150), np.zeros(150)
    for _ in range(5):
        tree = DecisionTreeClassifier(
            criterion="entropy", max_depth=2, random_state=0
        ).fit(X, y, sample_weight=share)
        wrong = tree.predict(X) != y
        beta = share[wrong].sum() / (1 - share[wrong].sum())
        score += np.log(1 / beta) * np.where(tree.predict(X) == 1, 1, -1)
        share = np.where(wrong, share, share * beta)
        share /= share.sum()
    # the same trees, but for bins and equal splits
    assert (ours.predict(X) == (score > 0)).mean() > 0.97


def test_tree_without_a_fault_ends_boosting_with_a_finite_vote():
    packed, _, y = make_tasks()
    model = MultiTaskAdaBoostClassifier(
        MultiTaskDecisionTreeClassifier(), n_estimators=9, task=-1
    ).fit(packed, y)
    assert_array_equal(model.estimator_errors_, [0.0])
    assert_allclose(model.estimator_weights_, np.log(2 * (1 - 0.0025) / 0.0025))
    assert_array_equal(model.predict(packed), y)


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e6])
def test_the_unit_of_weights_leaks_no_nan(weight):
    packed, _, y = make_tasks()
    model = MultiTaskAdaBoostClassifier(n_estimators=4, task=-1)
    expected = model.fit(packed, y).predict_proba(packed)
    model.fit(packed, y, sample_weight=np.full(len(y), weight))
    assert_allclose(model.predict_proba(packed), expected)
    # without a fault: half a row of two hundred is wrong, or of as many as they weigh
    model = MultiTaskAdaBoostClassifier(MultiTaskDecisionTreeClassifier(), task=-1)
    model.fit(packed, y, sample_weight=np.full(len(y), weight))
    half = 0.5 / max(200, 200 * weight)
    assert_allclose(model.estimator_weights_, np.log(2 * (1 - half) / half))


def test_one_row_is_answered_with_its_class():
    model = MultiTaskAdaBoostClassifier().fit([[1.0, 2.0]], ["a"])
    assert_array_equal(model.predict_proba([[3.0, 4.0]]), [[1.0]])
    assert model.predict([[3.0, 4.0]]) == "a"


def test_first_tree_that_is_mostly_wrong_answers_alone_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 1)), np.arange(300) % 6
    tree = MultiTaskDecisionTreeClassifier(max_depth=1)
    model = MultiTaskAdaBoostClassifier(tree, n_estimators=9, algorithm="m1")
    with pytest.warns(TaskFallbackWarning, match="of the weight wrong"):
        model.fit(X, y)
    assert_array_equal(model.estimator_weights_, [1.0])
    alone = model.estimators_[0].predict(with_task(X, np.zeros(300, dtype=int)))
    assert_array_equal(model.predict(X), alone)


@pytest.mark.parametrize(
    "tree",
    [
        MultiTaskDecisionTreeClassifier(purity=0.8),
        # without a choice of settings, which takes long
        MultiTaskExtraTreesClassifier(
            3, max_depth=8, min_samples_leaf=1, task_split_prob=0.5
        ),
        TaskAsFeature(DecisionTreeClassifier(max_depth=8)),
    ],
)
def test_any_multi_task_tree_can_be_boosted(tree):
    X, y = make_bayesnet_tasks("DS3", random_state=0)
    model = MultiTaskAdaBoostClassifier(
        tree, n_estimators=5, task=-1, random_state=0
    ).fit(X, y)
    again = MultiTaskAdaBoostClassifier(
        tree, n_estimators=5, task=-1, random_state=0
    ).fit(X, y)
    assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert model.score(X, y) > 0.5


def test_estimator_without_tasks_or_weights_is_refused():
    packed, _, y = make_tasks()
    with pytest.raises(ValueError, match="has no task parameter"):
        MultiTaskAdaBoostClassifier(DecisionTreeClassifier(), task=-1).fit(packed, y)
    with pytest.raises(ValueError, match="MultiTaskExtraTreesRegressor is no classif"):
        MultiTaskAdaBoostClassifier(MultiTaskExtraTreesRegressor(), task=-1).fit(
            packed, y
        )


def test_staged_answers_end_with_the_final_ones():
    packed, _, y = make_tasks()
    model = MultiTaskAdaBoostClassifier(n_estimators=6, task=-1).fit(packed, y)
    stages = list(model.staged_predict(packed))
    assert len(stages) == len(model.estimators_)
    assert_array_equal(stages[-1], model.predict(packed))
    *_, last = model.staged_predict_proba(packed)
    assert_array_equal(last, model.predict_proba(packed))


FOREST = MultiTaskExtraTreesClassifier(
    3, max_depth=2, min_samples_leaf=1, task_split_prob=0.5
)


@pytest.mark.parametrize("tree", [None, FOREST])
def test_sparse_rows_are_dense_rows_with_zeros(tree):
    packed, _, y = make_tasks()
    packed[:, :4] *= np.abs(packed[:, :4]) > 0.5
    model = MultiTaskAdaBoostClassifier(tree, n_estimators=4, task=-1, random_state=0)
    expected = model.fit(packed, y).predict_proba(packed)
    rows = sp.csr_array(packed)
    assert_allclose(model.fit(rows, y).predict_proba(rows), expected)
    assert_allclose(model.predict_proba(packed), expected)


@needs_callbacks
def test_callbacks_hear_of_every_round():
    packed, _, y = make_tasks()
    recorder = Recorder()
    model = MultiTaskAdaBoostClassifier(n_estimators=3, task=-1)
    model.set_callbacks(recorder).fit(packed, y)
    rounds = [f"round {t}" for t in range(3)]
    assert recorder.seen == ["setup", *rounds, "fit", "teardown"]
