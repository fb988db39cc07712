"""Tasks and rows that come after multi-task trees were boosted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import with_task
from kinlearn.boosting import MultiTaskAdaBoostClassifier
from kinlearn.trees import MultiTaskDecisionTreeClassifier


def rows(n=240, n_tasks=4, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[:, -1] = np.arange(n) % n_tasks
    level = X[:, 0] + 0.5 * (X[:, -1] - 1) * X[:, 1] + 0.5 * rng.normal(size=n)
    return X, np.digitize(level, np.arange(1, n_classes) - n_classes / 2)


def booster(n_estimators=5, **params):
    tree = MultiTaskDecisionTreeClassifier(max_depth=2)
    return MultiTaskAdaBoostClassifier(
        tree, n_estimators=n_estimators, task=-1, **params
    )


@pytest.mark.parametrize("algorithm", ["samme", "m1"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_with_the_rows_of_fit_boosting_goes_on(algorithm, n_classes):
    X, y = rows(n_classes=n_classes)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = booster(4, algorithm=algorithm).fit(X, y, weight)
    model.partial_fit(X, y, sample_weight=weight)
    longer = booster(8, algorithm=algorithm).fit(X, y, weight)
    assert len(model.estimators_) == 8
    assert_allclose(model.estimator_errors_, longer.estimator_errors_)
    assert_allclose(model.estimator_weights_, longer.estimator_weights_)
    assert_allclose(model.normalizers_, longer.normalizers_)
    assert_allclose(model.predict_proba(X), longer.predict_proba(X))


@pytest.mark.parametrize("algorithm", ["samme", "m1"])
def test_other_tasks_do_not_change_and_trees_vote_by_their_errors(algorithm):
    X, y = rows()
    new = X[:, -1] == 1
    rate = 0.5 if algorithm == "samme" else 1.0
    model = booster(10, unknown_task="share", algorithm=algorithm, learning_rate=rate)
    model.fit(X[~new], y[~new])
    before = model.predict_proba(X[~new])
    stranger = X[~new] + [0, 0, 0, 10]
    of_unknown = model.predict_proba(stranger)
    trees = list(model.estimators_)
    model.add_task(X[new], y[new])
    assert [*model.tasks_] == [0, 1, 2, 3]
    assert_array_equal(model.predict_proba(X[~new]), before)
    assert_array_equal(model.predict_proba(stranger), of_unknown)
    known = model.score(X[new], y[new])
    assert known > (0.85 if algorithm == "m1" else 0.8)
    # the votes of fit's trees on the new task, by the definition
    share = np.full(new.sum(), 1 / new.sum())
    nobody = with_task(X[new, :-1], np.full(new.sum(), -1))
    for number, tree in enumerate(trees):
        right = tree.predict(nobody) == y[new]
        error = share[~right].sum()
        vote = rate * np.log((1 - error) / error) if error < 0.5 else 0.0
        assert_allclose(model._votes.votes[number, 1], vote)
        if error < 0.5:
            share = np.where(right, share, share * np.exp(vote))
            share /= share.sum()
    assert_array_equal(model._votes.votes[len(trees) :, [0, 2, 3, 4]], 0)


def test_a_task_that_contradicts_the_others_is_learned():
    X, y = rows()
    new = X[:, -1] == 1
    y = np.where(new, 1 - (X[:, 0] > 0), y)
    model = booster().fit(X[~new], y[~new]).add_task(X[new], y[new])
    assert model.score(X[new], y[new]) > 0.95
    assert not model._votes.votes[0, 1]  # the first tree is wrong there


def test_new_tasks_keep_to_their_labels():
    X, y = rows(n_classes=3)
    new = X[:, -1] == 3
    few = new & (y != 1)
    model = booster(label_sets="observed").fit(X[~new], y[~new])
    model.add_task(X[few], y[few])
    proba = model.predict_proba(X[new])
    assert_array_equal(proba[:, 1], 0)
    assert_allclose(proba.sum(axis=1), 1)
    for share in model.staged_predict_proba(X[new]):
        assert_allclose(share.sum(axis=1), 1)
    model.partial_fit(X[new], y[new])
    assert [*model.task_classes_[3]] == [0, 1, 2]
    assert_allclose(model.predict_proba(X[new]).sum(axis=1), 1)


def test_tasks_one_by_one_and_rows_of_some():
    X, y = rows()
    model = booster().fit(X[X[:, -1] < 2], y[X[:, -1] < 2])
    for t in (3, 2):
        own = X[:, -1] == t
        model.add_task(X[own], y[own])
    before = model.predict_proba(X[X[:, -1] != 2])
    own = X[:, -1] == 2
    model.partial_fit(X[own], y[own])
    assert_array_equal(model.predict_proba(X[X[:, -1] != 2]), before)
    assert model.score(X, y) > 0.8


def test_what_cannot_be_added_is_refused():
    X, y = rows()
    model = booster().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"add_task adds tasks .* it knows 0, 1, 2, 3"):
        model.add_task(X, y)
    with pytest.raises(
        ValueError, match=r"classes that .* did not see in fit, for tasks .*: 7"
    ):
        model.partial_fit(X, np.where(y == 1, 7, y))
    with pytest.raises(ValueError, match=r"every class; \[2\] are missing"):
        booster().partial_fit(X, y, classes=[0, 1, 2])


def test_a_new_task_brings_classes_of_its_own():
    X, y = rows(n=320)
    new = X[:, -1] == 1
    y[X[:, -1] == 0] = 1  # a task of one class
    label, own = np.array(["no", "yes"])[y], np.array(["cold", "warm"])[y]
    model = booster().fit(X[~new], label[~new])
    before = model.predict_proba(X[~new])
    model.add_task(X[new], own[new])
    assert [*model.classes_] == ["cold", "no", "warm", "yes"]
    assert_array_equal(model.predict_proba(X[~new])[:, [1, 3]], before)
    assert_array_equal(model.predict_proba(X[~new])[:, [0, 2]], 0)
    assert model.score(X[new], own[new]) > 0.8
    more = X + np.array([0, 0, 0, 10])
    both = np.concatenate([X[~new], more[new]])
    of_both = np.concatenate([label[~new], np.array(["dry", "wet"])[y[new]]])
    model.partial_fit(both, of_both)
    assert [*model.classes_] == ["cold", "dry", "no", "warm", "wet", "yes"]
    assert model.score(both, of_both) > 0.8
    assert model.score(X[new], own[new]) > 0.8


def test_a_class_that_comes_later_is_rare_where_nothing_is_known_of_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + rng.normal(size=600) > 2.3, "b", "a").astype(object)
    task = np.arange(600) % 4
    late = task == 3
    y[np.flatnonzero(late)[:7]] = "zz"
    rows = with_task(X, task)
    model = MultiTaskAdaBoostClassifier(
        task=-1,
        n_estimators=10,
        calibration_folds=3,
        init_weights="task_class",
        unknown_task="share",
        random_state=0,
    ).fit(rows[~late], y[~late])
    model.add_task(rows[late], y[late])
    found = model.predict_proba(with_task(X, np.full(600, 9))).mean(axis=0)
    assert found[2] <= found[1] < found[0]
