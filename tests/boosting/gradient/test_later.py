"""Tasks and rows that come after gradient boosting."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import load, save
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.tasks import with_task
from tests.reference import later_task as twin

SMALL = {"task": -1, "n_estimators": 40, "learning_rate": 0.15, "random_state": 0}


def make_tasks(n=900, n_tasks=9, seed=0, turned=(2, 5, 8)):
    """Tasks of different levels, a third of them with the slope turned around."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)), np.arange(n) % n_tasks
    slope = np.where(np.isin(task, turned), -2.0, 2.0)
    signal = slope * X[:, 0] + np.abs(X[:, 1]) + 0.3 * task
    return with_task(X, task), signal, task


def regressor(**params):
    return MultiTaskGradientBoostingRegressor(**{**SMALL, **params})


def classifier(**params):
    return MultiTaskGradientBoostingClassifier(**{**SMALL, **params})


def error(model, X, y):
    return np.mean((model.predict(X) - y) ** 2)


TARGETS = {
    "squared_error": lambda f, rng: f + rng.normal(size=len(f)),
    "absolute_error": lambda f, rng: f + rng.normal(size=len(f)),
    "quantile": lambda f, rng: f + rng.normal(size=len(f)),
    "poisson": lambda f, rng: rng.poisson(np.exp(f / 3)),
    "gamma": lambda f, rng: rng.gamma(2, np.exp(f / 3) / 2) + 1e-6,
}


# ------------------------------------------------------------------- new tasks


@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize("late", [0, 5])
def test_a_new_task_learns_and_the_others_stay(loss, late):
    X, f, task = make_tasks()
    y = TARGETS[loss](f, np.random.default_rng(1))
    model = regressor(loss=loss, unknown_task="share")
    new = task == late
    model.fit(X[~new], y[~new])
    X_test, f_test, t_test = make_tasks(4000, seed=3)
    y_test = TARGETS[loss](f_test, np.random.default_rng(2))
    mine, link = t_test == late, loss in ("poisson", "gamma")
    other = with_task(X_test[:, :-1], np.full(4000, 77))

    def score():
        got = model.predict(X_test[mine])
        return np.mean(
            ((np.log(got) if link else got) - f_test[mine] / (1 + 2 * link)) ** 2
        )

    before, unknown, known = score(), model.predict(other), model.predict(X_test[~mine])
    model.add_task(X[new], y[new])
    assert [*model.tasks_] == [*range(9)]
    assert_array_equal(model.predict(X_test[~mine]), known)
    assert_array_equal(model.predict(other), unknown)
    assert score() < 0.6 * before
    assert np.isfinite(y_test).all()
    assert model.task_intercepts_.shape == (9,)
    assert model.task_affinity_.shape == (9, 9)
    if late == 5:  # task splits send it to those that are turned around
        affinity = model.task_affinity_[5]
        assert affinity[[2, 8]].min() > affinity[[0, 1, 3]].max()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("turned", [(2, 5, 8), (4,), (0, 4)])
def test_sides_and_departures_are_those_of_the_twin(seed, turned):
    X, f, task = make_tasks(450, seed=seed, turned=turned)
    X[:, 3] = np.digitize(X[:, 3], [-1, 0, 1])
    X[np.random.default_rng(seed).random(450) < 0.1, 1] = np.nan
    y = f + (X[:, 3] == 2) + np.random.default_rng(seed).normal(size=450)
    new = task == 4
    model = regressor(n_estimators=10, categorical_features=[3], linear_part=False)
    model.fit(X[~new], y[~new])
    before = [*model.trees_]
    model.add_task(X[new], y[new])
    bins = model.bins_.assign(X[new, :-1])
    start = model._start.scores(bins, np.full(new.sum(), 4))[:, 0]
    expected = twin.add_task(before, start, y[new] / model._scale, bins)
    n_sides = n_departures = 0
    for tree, (sides, departures) in zip(model.trees_, expected, strict=True):
        leaf, of, value = tree.departures
        found = dict(zip(leaf[of == 4].tolist(), value[of == 4].tolist(), strict=True))
        assert found.keys() == departures.keys()
        assert_allclose([found[k] for k in departures], [*departures.values()])
        for at, goes in sides.items():
            first = tree.nodes["first_byte"][at]
            assert bool(tree.sets[first] >> 4 & 1) == goes
        n_sides, n_departures = n_sides + len(sides), n_departures + len(found)
    assert n_sides > 0 or turned == (4,)
    assert n_departures > 0


def test_adding_gains_most_of_what_fitting_anew_does():
    X, f, task = make_tasks()
    y = f + np.random.default_rng(1).normal(size=len(f))
    X_test, f_test, t_test = make_tasks(4000, seed=3)
    unknown, added, anew = [], [], []
    whole = regressor().fit(X, y)
    for late in range(9):
        new, mine = task == late, t_test == late
        model = regressor(unknown_task="share").fit(X[~new], y[~new])
        unknown.append(error(model, X_test[mine], f_test[mine]))
        model.add_task(X[new], y[new])
        added.append(error(model, X_test[mine], f_test[mine]))
        anew.append(error(whole, X_test[mine], f_test[mine]))
    gain = np.mean(unknown) - np.mean(added)
    assert gain > 0.9 * (np.mean(unknown) - np.mean(anew))


def test_a_task_unlike_all_others_is_believed():
    X, f, task = make_tasks(turned=(4,))
    y = f + np.random.default_rng(1).normal(size=len(f))
    new = task == 4
    model = regressor().fit(X[~new], y[~new])
    assert model.trees_.penalty.max() == np.inf  # the others hardly differ
    model.add_task(X[new], y[new])
    X_test, f_test, t_test = make_tasks(4000, seed=3, turned=(4,))
    mine = t_test == 4
    assert error(model, X_test[mine], f_test[mine]) < 1.0 < np.var(f_test[mine]) / 3


def test_one_row_moves_a_new_task_little_and_many_tasks_come_at_once():
    X, f, _ = make_tasks()
    y = f + np.random.default_rng(1).normal(size=len(f))
    model = regressor(unknown_task="share").fit(X, y)
    rows = with_task(X[:200, :-1], np.full(200, 50))
    unknown = model.predict(rows)
    model.add_task(rows[:1], y[:1] + 3.0)
    shift = model.predict(rows) - unknown
    assert 0 < np.abs(shift).max() < 3
    more = with_task(X[:60, :-1], 100 + np.arange(60) % 30)
    one_by_one = deepcopy(model)
    model.add_task(more, y[:60])
    for t in range(30):
        one_by_one.add_task(more[t::30], y[t:60:30])
    assert_allclose(one_by_one.predict(more), model.predict(more))


def test_if_fit_had_one_task_a_new_one_shows_how_far_it_departs():
    X, f, task = make_tasks(n_tasks=2, turned=(1,))
    y = f + np.random.default_rng(1).normal(size=len(f)) + 5.0 * task
    model = regressor().fit(X[task == 0], y[task == 0])
    known = model.predict(X[task == 0])
    model.add_task(X[task == 1], y[task == 1])
    assert_array_equal(model.predict(X[task == 0]), known)
    assert error(model, X[task == 1], f[task == 1] + 5) < 1.0


def test_without_values_of_tasks_a_new_one_takes_sides_alone():
    X, f, task = make_tasks()
    new = task == 5
    model = regressor(task_values=False).fit(X[~new], f[~new]).add_task(X[new], f[new])
    assert not model.task_intercepts_.any()
    assert len(model.trees_.departures) == 0
    assert model.task_affinity_[5, [2, 8]].min() > model.task_affinity_[5, 0]


def test_weights_of_new_rows_are_repeated_rows_and_zero_is_absence():
    X, f, task = make_tasks()
    new = np.flatnonzero(task == 3)
    weight = np.random.default_rng(0).integers(0, 3, size=len(new))
    known = task != 3
    for model, y in [(regressor(), f), (classifier(), (f > 1).astype(int))]:
        model.fit(X[known], y[known])
        other = deepcopy(model)
        model.add_task(X[new], y[new], weight)
        twice = np.repeat(new, weight)
        other.add_task(X[twice], y[twice])
        assert_allclose(model.trees_.departures, other.trees_.departures, atol=1e-12)


@pytest.mark.parametrize("direction", [1, -1])
def test_constraints_hold_for_new_tasks(direction):
    X, f, task = make_tasks()
    y = f * 1.0 + 2 * direction * X[:, 2]
    new = task == 2
    model = regressor(monotonic_cst={2: direction}).fit(X[~new], y[~new])
    model.add_task(X[new], -y[new])  # whatever it shows
    rows = np.repeat(X[new][:30], 40, axis=0)
    rows[:, 2] = np.tile(np.linspace(-3, 3, 40), 30)
    steps = np.diff(model.predict(rows).reshape(30, 40), axis=1)
    assert (direction * steps >= -1e-12).all()


def test_offsets_and_categories_of_new_tasks():
    rng = np.random.default_rng(0)
    n = 900
    task, days = np.arange(n) % 6, rng.integers(1, 20, size=n)
    kind = rng.integers(0, 5, size=n).astype(float)
    kind[rng.random(n) < 0.1] = np.nan
    rate = (0.5 + 0.3 * task) * np.where(np.isin(kind, [1, 3]), 3, 1)
    y = rng.poisson(days * rate)
    X = np.column_stack([kind, np.log(days), task])
    new = task == 4
    params = {"loss": "poisson", "offset": 1, "categorical_features": [0]}
    model = regressor(**params).fit(X[~new], y[~new]).add_task(X[new], y[new])
    one_day = X[new] * [1, 0, 1]
    assert np.mean(np.abs(np.log(model.predict(one_day) / rate[new]))) < 0.15
    nothing = with_task(X[:50, :-1], np.full(50, 9))
    assert (model.add_task(nothing, np.zeros(50)).predict(nothing) > 0).all()


def test_more_classes():
    X, f, task = make_tasks(1800)
    y = np.digitize(f, [-1, 1.5, 3.5])
    new = task == 5
    model = classifier().fit(X[~new], y[~new])
    known = model.predict_proba(X[~new])
    model.add_task(X[new], y[new])
    assert_array_equal(model.predict_proba(X[~new]), known)
    X_test, f_test, t_test = make_tasks(1800, seed=1)
    mine = t_test == 5
    assert model.score(X_test[mine], np.digitize(f_test, [-1, 1.5, 3.5])[mine]) > 0.75


# ---------------------------------------------------------------------- classes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_new_task_brings_classes_of_its_own(n_classes):
    X, f, task = make_tasks(1350)
    y = np.digitize(f, [1.0, 3.0][: n_classes - 1])
    new = task == 1
    label = np.array(["no", "yes", "very"])[y]
    own = np.array(["cold", "warm", "hot"])[y]
    model = classifier(unknown_task="share").fit(X[~new], label[~new])
    before = model.predict_proba(X[~new])
    old = model.classes_
    model.add_task(X[new], own[new])
    assert set(model.classes_) == {*label, *own[new]}
    assert set(model.task_classes_[1]) == {*own[new]}
    here = np.searchsorted(model.classes_, old)
    after = model.predict_proba(X[~new])
    assert_allclose(after[:, here], before, atol=1e-12)
    assert_array_equal(np.delete(after, here, axis=1), 0)
    assert model.score(X[new], own[new]) > 0.8
    unknown = model.predict_proba(with_task(X[:50, :-1], np.full(50, 99)))
    assert_allclose(unknown.sum(axis=1), 1)
    assert unknown[:, here].sum(axis=1).mean() > 0.7  # most rows have old classes
    stages = [*model.staged_predict_proba(X)]
    assert len(stages) == model.n_estimators_
    assert_allclose(stages[-1], model.predict_proba(X))


def test_classes_old_and_new_together_and_from_one_class():
    X, f, task = make_tasks()
    y = (f > 1).astype(int)
    new = task == 0
    model = classifier().fit(X[~new], y[~new])
    three = np.digitize(f, [1.0, 2.5])
    model.add_task(X[new], three[new])
    assert [*model.classes_] == [0, 1, 2]
    assert model.score(X[new], three[new]) > 0.8
    assert model.predict_proba(X[~new])[:, 2].max() == 0
    model = classifier().fit(X[~new], np.zeros((~new).sum()))
    model.add_task(X[new], y[new])
    assert model.score(X[new], y[new]) > 0.8
    assert not model.predict(X[~new]).any()


def test_a_new_task_of_one_class():
    X, f, task = make_tasks()
    y, new = (f > 1).astype(int), task == 0
    model = classifier(label_sets="observed").fit(X[~new], y[~new])
    model.add_task(X[new], np.ones(new.sum(), dtype=int))
    assert_array_equal(model.predict_proba(X[new])[:, 1], 1)
    model = classifier().fit(X[~new], y[~new])
    model.add_task(X[new], np.ones(new.sum(), dtype=int))
    proba = model.predict_proba(X[new])[:, 1]
    assert 0.8 < proba.mean() < 1  # others have the other class


# ----------------------------------------------------------------- further rows


def test_rows_of_a_changed_task_help_and_others_stay():
    X, f, task = make_tasks()
    noise = np.random.default_rng(1).normal(size=len(f))
    model = regressor().fit(X, f + noise)
    X_new, f_new, t_new = make_tasks(900, seed=4, turned=(0, 2, 5, 8))
    mine = t_new == 0
    before, known = error(model, X_new[mine], f_new[mine]), model.predict(X[task > 0])
    model.partial_fit(X_new[mine], (f_new + noise)[mine])
    assert model.n_estimators_ > 40
    assert_array_equal(model.predict(X[task > 0]), known)
    X_test, f_test, t_test = make_tasks(3000, seed=5, turned=(0, 2, 5, 8))
    mine = t_test == 0
    assert error(model, X_test[mine], f_test[mine]) < 0.25 * before


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_tell_nothing_new_do_no_harm(seed):
    X, f, _ = make_tasks(seed=seed)
    rng = np.random.default_rng(seed)
    model = regressor().fit(X, f + rng.normal(size=len(f)))
    X_new, f_new, _ = make_tasks(90, seed=seed + 10)
    X_test, f_test, _ = make_tasks(3000, seed=5)
    before = error(model, X_test, f_test)
    model.partial_fit(X_new, f_new + rng.normal(size=90))
    assert error(model, X_test, f_test) < 1.1 * before


def test_further_rounds_are_those_of_a_warm_start():
    X, f, _ = make_tasks()
    for model, y in [
        (regressor(n_estimators=15), f),
        (classifier(n_estimators=15), np.digitize(f, [0, 2])),
    ]:
        longer = deepcopy(model).set_params(warm_start=True).fit(X, y)
        model.fit(X, y).partial_fit(X, y)
        longer.set_params(n_estimators=model.n_estimators_).fit(X, y)
        assert model.n_estimators_ > 15
        assert_array_equal(model.trees_.values, longer.trees_.values)
        assert_array_equal(model.trees_.departures, longer.trees_.departures)


def test_known_and_new_tasks_at_once_and_the_first_call(tmp_path):
    X, f, task = make_tasks()
    y, first = (f > 1).astype(int), task < 6
    model = classifier(n_estimators=15).partial_fit(X[first], y[first], classes=[0, 1])
    model.partial_fit(X, y)
    assert [*model.tasks_] == [*range(9)]
    assert model.score(X, y) > 0.85
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    more = with_task(X[:20, :-1], np.full(20, 70))
    for each in (model, loaded):
        each.add_task(more, y[:20])
    assert_array_equal(loaded.predict_proba(more), model.predict_proba(more))
    with pytest.raises(ValueError, match=r"every class; \[2\] are missing"):
        classifier().partial_fit(X, y, classes=[0, 1, 2])
    one = regressor().fit(X, f)
    rounds = one.n_estimators_
    assert one.partial_fit(X[:1], f[:1]).n_estimators_ == rounds  # tells nothing


def test_many_tasks_keep_their_sides():
    rng = np.random.default_rng(0)
    task = np.arange(6000) % 400  # sets of more bytes than those of categories
    X = np.column_stack([rng.normal(size=6000), rng.integers(0, 9, size=6000)])
    y = X[:, 0] * np.where(task % 3, 1, -1) + np.isin(X[:, 1], [2, 5])
    X = with_task(X, task)
    late = task % 7 == 3
    model = regressor(categorical_features=[1], n_estimators=10)
    known = model.fit(X[~late], y[~late]).predict(X[~late])
    model.add_task(X[late], y[late])
    assert_array_equal(model.predict(X[~late]), known)
    assert error(model, X[late], y[late]) < 0.5 * np.var(y[late])


# ------------------------------------------------------------------------ errors


def test_what_cannot_be_added_is_refused_and_changes_nothing():
    X, f, task = make_tasks()
    y = (f > 1).astype(int)
    new = with_task(X[:40, :-1], np.full(40, 50))
    for model, target in [(regressor(), f), (classifier(), y)]:
        model.fit(X, target)
        with pytest.raises(ValueError, match=r"add_task adds .* it knows 0, 1, 2"):
            model.add_task(X, target)
        both = with_task(X[:40, :-1], np.where(np.arange(40) < 9, 50, 51))
        with pytest.raises(ValueError, match="Task 50 has no row of positive weight"):
            model.add_task(both, target[:40], np.arange(40) >= 9)
        assert [*model.tasks_] == [*range(9)]
    model = classifier().fit(X, y)
    with pytest.raises(ValueError, match=r"did not see in fit, for tasks .*: 7"):
        model.partial_fit(X, np.full(len(X), 7))
    alone = np.where(task == 0, 0, y)
    model = classifier(label_sets="observed").fit(X, alone)
    with pytest.raises(ValueError, match="that task 0 did not have so far"):
        model.partial_fit(X, y)
    model = classifier(class_weight="balanced").fit(X, y)
    with pytest.raises(ValueError, match="depends on all rows together"):
        model.add_task(new, y[:40])
    model = regressor(loss="poisson").fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="-1 in row 0"):
        model.add_task(new, np.full(40, -1.0))
    model = regressor().fit(X, f)
    with pytest.raises(ValueError, match="another magnitude than fit saw: y is 1e"):
        model.add_task(new, np.full(40, 1e200))
