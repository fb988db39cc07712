"""Tasks that come after shared learners were boosted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from kinlearn.boosting import MTBoostClassifier, MTBoostRegressor


def rows(n=200, n_tasks=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, -1] = np.arange(n) % n_tasks
    level = X[:, 0] + X[:, 1] + 0.3 * X[:, -1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, level


def boosters(n_estimators=8, **params):
    own = {"label_sets": params.pop("label_sets", "connected")}
    params = {"task": -1, "random_state": 0, "n_estimators": n_estimators, **params}
    return MTBoostClassifier(**params, **own), MTBoostRegressor(**params)


def objective(model, X, y, task, weights):
    """The objective of fit as far as it depends on the weights of one task."""
    t = [*model.tasks_].index(task)
    every = model.weights_.copy()
    every[:, t] = weights
    nobody = np.full(len(X), -1)
    score = model.hypotheses_.outputs(X[:, :-1], nobody) @ weights
    if hasattr(model, "classes_"):
        n_yes = y.sum()
        score += np.log((2 * n_yes + 1) / (2 * (len(y) - n_yes) + 1))
        loss = np.logaddexp(0, -np.where(y == 1, 1, -1) * score).sum()
    else:
        left = (y - model.offsets_[t]) / model._unit
        loss = 0.5 * ((left - score) ** 2).sum()
    ridge = model.covariance_ridge
    inner = every.T @ every + ridge**2 * np.eye(every.shape[1])
    trace = np.sqrt(np.linalg.eigvalsh(inner)).sum()
    return loss + model.sharing_penalty / 2 * trace**2


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("penalty", [0.1, 3.0])
def test_new_weights_are_optimal_and_others_stay(which, penalty):
    X, level = rows()
    y = level if which else (level > 0).astype(int)
    model = boosters(sharing_penalty=penalty)[which]
    new = X[:, -1] == 1
    model.fit(X[~new], y[~new])
    before, weights = model.predict(X[~new]), model.weights_
    model.add_task(X[new], y[new])
    assert [*model.tasks_] == [0, 1, 2, 3]
    assert_array_equal(model.predict(X[~new]), before)
    assert_array_equal(model.weights_[:, [0, 2, 3]], weights)
    found = model.weights_[:, 1]
    best = objective(model, X[new], y[new], 1, found)
    for i in range(len(found)):
        step = np.zeros(len(found))
        step[i] = 1e-4
        up, down = (
            objective(model, X[new], y[new], 1, found + s) for s in (step, -step)
        )
        assert min(up, down) >= best - 1e-9
        assert_allclose(up, down, atol=1e-5 * max(best, 1))  # no slope
    assert_allclose(np.trace(model.task_covariance_), 1)
    assert model.task_covariance_.shape == (4, 4)


def test_a_new_task_may_contradict_the_others():
    X, level = rows()
    new = X[:, -1] == 3
    y = ((level > 0) ^ new).astype(int)
    model = boosters(20)[0].fit(X[~new], y[~new]).add_task(X[new], y[new])
    assert model.score(X[new], y[new]) > 0.8
    assert (model.task_correlation_[3, :3] < 0).all()


def test_several_classes_and_tasks_one_by_one():
    X, level = rows(n=300)
    y = np.digitize(level, [-0.5, 0.8])
    first = X[:, -1] < 2
    model = boosters(15, label_sets="observed")[0].fit(X[first], y[first])
    for t in (3, 2):
        own = (X[:, -1] == t) & ((t == 2) | (y > 0))  # two classes, then three
        model.add_task(X[own], y[own])
        assert model.score(X[own], y[own]) > 0.65
    assert model.weights_.shape == (15, 3 + 3 + 3 + 1)
    proba = model.predict_proba(X[X[:, -1] == 3])
    assert_array_equal(proba[:, 0], 0)
    assert_allclose(proba.sum(axis=1), 1)
    only = X[:, -1] == 1
    model.add_task(X[only] + [0, 0, 0, 0, 9], np.full(only.sum(), 2))  # one class
    assert set(model.predict(X[only] + [0, 0, 0, 0, 9])) == {2}


def test_weights_are_repeated_rows():
    X, level = rows()
    new = X[:, -1] == 2
    twice = np.repeat(np.flatnonzero(new), 2)
    for model, y in zip(boosters(), [(level > 0).astype(int), level], strict=True):
        model.fit(X[~new], y[~new])
        other = type(model)(**model.get_params()).fit(X[~new], y[~new])
        model.add_task(X[new], y[new], np.full(new.sum(), 2.0))
        other.add_task(X[twice], y[twice])
        assert_allclose(model.weights_, other.weights_, atol=1e-5)


@pytest.mark.parametrize("which", [0, 1])
def test_further_rows_lower_the_loss_and_absent_tasks_stay(which):
    X, level = rows(n=400)
    y = level if which else (level > 0).astype(int)
    first = np.arange(400) < 100
    model = boosters(5)[which].fit(X[first], y[first])
    absent = X[:, -1] == 3
    before = model.predict(X[absent])
    more = ~first & ~absent
    score = model.score(X[more], y[more])
    model.partial_fit(X[more], y[more])
    assert 5 < model.n_estimators_ <= 10
    assert model.weights_.shape == (model.n_estimators_, 4)
    assert not model.weights_[5:, 3].any()
    assert_allclose(model.predict(X[absent]), before, rtol=1e-12)  # but for rounding
    assert model.score(X[more], y[more]) > score
    assert (np.diff(model.objective_[5:]) <= 1e-9).all()
    *_, last = model.staged_predict(X)
    assert_allclose(last, model.predict(X))


@pytest.mark.parametrize("which", [0, 1])
def test_with_the_rows_of_fit_the_objective_goes_on(which):
    X, level = rows()
    y = level if which else (level > 0).astype(int)
    model, longer = (boosters(n)[which].fit(X, y) for n in (4, 8))
    model.partial_fit(X, y)
    # further rounds begin where the others ended; their random starts differ
    assert model.objective_[4] <= model.objective_[3]
    assert_allclose(model.objective_[-1], longer.objective_[-1], rtol=0.02)


def test_known_and_new_tasks_at_once_and_the_first_call():
    X, level = rows()
    y = (level > 0).astype(int)
    first = X[:, -1] < 3
    model = boosters(5)[0].partial_fit(X[first], y[first], classes=[0, 1])
    model.partial_fit(X, y)
    assert [*model.tasks_] == [0, 1, 2, 3]
    assert model.hypotheses_.intercept.shape == (model.n_estimators_, 5)
    assert model.score(X, y) > 0.8
    tree = DecisionTreeClassifier(max_depth=2)
    model = boosters(3, estimator=tree)[0].fit(X, y).partial_fit(X, y)
    assert len(model.hypotheses_.models) == model.n_estimators_ > 3
    with pytest.raises(ValueError, match=r"every class; \[2\] are missing"):
        boosters(3)[0].partial_fit(X, y, classes=[0, 1, 2])
    alone = np.where(X[:, -1] == 0, 0, y)
    model = boosters(3, label_sets="observed")[0].fit(X, alone)
    with pytest.raises(ValueError, match="that task 0 did not have so far"):
        model.partial_fit(X, y)


def test_learners_that_know_no_tasks():
    X, level = rows()
    y, new = level > 0, X[:, -1] == 0
    model = boosters(6, estimator=DecisionTreeClassifier(max_depth=2))[0]
    before = model.fit(X[~new], y[~new]).predict_proba(X[~new])
    model.add_task(X[new], y[new])
    assert_array_equal(model.predict_proba(X[~new]), before)
    assert model.score(X[new], y[new]) > 0.7


def test_what_cannot_be_added_is_refused():
    X, level = rows()
    for model, y in zip(boosters(2), [(level > 0).astype(int), level], strict=True):
        model.fit(X, y)
        with pytest.raises(ValueError, match=r"add_task adds .* it knows 0, 1, 2, 3"):
            model.add_task(X, y)
    with pytest.raises(ValueError, match=r"did not see in fit, for tasks .*: 7"):
        boosters(2)[0].fit(X, level > 0).partial_fit(X, np.full(len(X), 7))


def test_a_new_task_brings_classes_of_its_own():
    X, level = rows(n=320)
    y, new = (level > 0).astype(int), X[:, -1] == 1
    label, own = np.array(["no", "yes"])[y], np.array(["cold", "warm"])[y]
    model = boosters(10)[0].fit(X[~new], label[~new])
    before = model.predict_proba(X[~new])
    weights = model.weights_.copy()
    model.add_task(X[new], own[new])
    assert [*model.classes_] == ["cold", "no", "warm", "yes"]
    assert [*model.task_classes_[1]] == ["cold", "warm"]
    assert_array_equal(model.weights_[:, [0, 2, 3]], weights)
    assert_array_equal(model.predict_proba(X[~new])[:, [1, 3]], before)
    assert_array_equal(model.predict_proba(X[~new])[:, [0, 2]], 0)
    assert model.score(X[new], own[new]) > 0.85
    assert (model.task_correlation_[1, [0, 2, 3]] > 0).all()
    more = X + np.array([0, 0, 0, 0, 10])
    both = np.concatenate([X[~new], more[new]])
    three = np.array(["dry", "wet", "soaked"])[y + (level > 1)]
    of_both = np.concatenate([label[~new], three[new]])
    model.partial_fit(both, of_both)
    assert [*model.classes_] == ["cold", "dry", "no", "soaked", "warm", "wet", "yes"]
    assert model.score(both, of_both) > 0.75
    assert model.score(X[new], own[new]) > 0.85
