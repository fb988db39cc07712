"""AdaBoost.M1 over multi-task trees, by its formulas and against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from kinlearn import with_task
from kinlearn.boosting import MultiTaskAdaBoostClassifier
from kinlearn.datasets import make_bayesnet_tasks
from kinlearn.exceptions import TaskFallbackWarning
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
def test_errors_votes_and_weights_follow_the_thesis(init):
    packed, task, y = make_tasks()
    model = MultiTaskAdaBoostClassifier(
        n_estimators=8, task=-1, init_weights=init, random_state=0
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
        share /= share.sum()
    assert_array_equal(model.predict(packed), votes.argmax(axis=1))
    assert_allclose(model.predict_proba(packed), votes / votes.sum(1, keepdims=True))


def test_one_task_is_adaboost_m1_over_scikit_learns_trees():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=150) > 0).astype(int)
    ours = MultiTaskAdaBoostClassifier(
        MultiTaskDecisionTreeClassifier(max_depth=2), n_estimators=5
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
    assert_allclose(model.estimator_weights_, np.log((1 - 0.0025) / 0.0025))
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
    assert_allclose(model.estimator_weights_, np.log((1 - half) / half))


def test_one_row_is_answered_with_its_class():
    model = MultiTaskAdaBoostClassifier().fit([[1.0, 2.0]], ["a"])
    assert_array_equal(model.predict_proba([[3.0, 4.0]]), [[1.0]])
    assert model.predict([[3.0, 4.0]]) == "a"


def test_first_tree_that_is_mostly_wrong_answers_alone_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 1)), np.arange(300) % 6
    tree = MultiTaskDecisionTreeClassifier(max_depth=1)
    with pytest.warns(TaskFallbackWarning, match="of the weight wrong"):
        model = MultiTaskAdaBoostClassifier(tree, n_estimators=9).fit(X, y)
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
