"""Groups of like tasks, and one model for each of them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.sharing import Pooled, SharedPlusOwn, TaskAsFeature
from kinlearn.sharing.kin import _groups
from kinlearn.sharing.kin._candidates import CAUTIONS, Size, choose_candidates
from kinlearn.sharing.kin._groups import (
    LikeTasks,
    _Sums,
    find_groups,
    groups_of_tasks,
    indicators,
)
from kinlearn.sharing.kin._training import predict_with, staged_predictions
from kinlearn.tasks import check_task_data
from kinlearn.trees import MultiTaskExtraTreesRegressor
from tests.reference.task_groups import centred, log_evidence, merge_by_evidence

KINDS = np.array([0, 1, 0, 1, 1])  # of five tasks: slopes of 1 or of -1


def two_kinds(rng, n_rows=40, n_features=3, noise=1.0):
    """Rows of five tasks of two kinds, each with a level of its own."""
    task = np.repeat(np.arange(5), n_rows)
    X = rng.standard_normal((len(task), n_features))
    slope = np.where(KINDS[task], -1.0, 1.0)
    y = slope * X.sum(axis=1) + 0.5 * task + noise * rng.standard_normal(len(task))
    return X, y, task


@pytest.mark.parametrize("n_targets", [1, 2])
def test_evidence_is_the_density_of_the_rows(n_targets):
    rng = np.random.default_rng(0)
    X, _, task = two_kinds(rng, n_rows=7)
    Y = rng.standard_normal((len(task), n_targets))
    sums = _Sums.of(X, Y, task, 5, None)
    unit = Y.std(axis=0)
    X, Y = centred(X, task), centred(Y, task) / unit
    penalty, noise = 2.0, 0.7
    whole = sums.evidence(penalty, noise)
    for t in range(5):
        rows = task == t
        expected = 0.0
        for y in Y[rows].T:
            expected += log_evidence(X[rows], y, penalty, noise)
            # what every partition has in common
            expected -= log_evidence(0 * X[rows], y, penalty, noise)
        assert_allclose(whole[t], expected)
    both = sums.merged(0, [2]).evidence(penalty, noise)[0]
    sums.absorb(0, 2)
    assert_allclose(sums.only([0]).evidence(penalty, noise)[0], both)


@pytest.mark.parametrize("seed", range(12))
def test_groups_are_those_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    n_tasks = int(rng.integers(2, 7))
    task = np.repeat(np.arange(n_tasks), rng.integers(20, 30, size=n_tasks))
    X = rng.standard_normal((len(task), 3))
    slopes = rng.standard_normal((n_tasks, 3)) * rng.choice([0.3, 1.0])
    slopes[::2] = slopes[0]
    Y = ((X * slopes[task]).sum(axis=1) + rng.standard_normal(len(task)))[:, None]
    if seed % 2:
        Y = np.column_stack([Y, rng.standard_normal(len(task))])
    caution = [1.0, 4.0][seed % 4 // 2]
    penalty, noise = _Sums.of(X, Y, task, n_tasks, None).best_prior()
    expected = merge_by_evidence(X, Y / Y.std(axis=0), task, penalty, caution * noise)
    assert_array_equal(groups_of_tasks(X, Y, task, n_tasks, caution=caution), expected)


def test_two_kinds_of_tasks_are_found():
    rng = np.random.default_rng(0)
    X, y, task = two_kinds(rng)
    for units in (y, 1e-200 * y, 1e200 * y, (y > 0.5 * task).astype(float)):
        assert_array_equal(groups_of_tasks(X, units, task, 5), KINDS)
    # the order of rows does not matter
    order = rng.permutation(len(y))
    assert_array_equal(groups_of_tasks(X[order], y[order], task[order], 5), KINDS)


def test_levels_of_tasks_do_not_part_them():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), 40)
    X = rng.standard_normal((160, 3))
    y = X.sum(axis=1) + 100.0 * task + rng.standard_normal(160)
    assert_array_equal(groups_of_tasks(X, y, task, 4), np.zeros(4))


def test_caution_gives_fewer_groups():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(8), 40)
    X = rng.standard_normal((320, 3))
    slopes = 1 + 0.4 * rng.standard_normal((8, 3))
    y = (X * slopes[task]).sum(axis=1) + rng.standard_normal(320)
    n_groups = [
        groups_of_tasks(X, y, task, 8, caution=caution).max() + 1
        for caution in (1.0, 4.0, 100.0)
    ]
    assert n_groups[0] > n_groups[1] > n_groups[2] == 1


@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_weight_of_two_is_two_rows(n_targets):
    rng = np.random.default_rng(3)
    X, y, task = two_kinds(rng, n_rows=12, noise=3.0)
    Y = np.column_stack([y, rng.standard_normal(len(y))])[:, :n_targets]
    weight = rng.integers(1, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    one = _Sums.of(X, Y, task, 5, weight.astype(float))
    other = _Sums.of(X[repeated], Y[repeated], task[repeated], 5, None)
    assert_allclose(one.evidence(3.0, 0.5), other.evidence(3.0, 0.5))
    assert_allclose(one.best_prior(), other.best_prior())


def test_small_tasks_do_not_stand_alone():
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1, 2], [40, 40, 6])
    X = rng.standard_normal((86, 2))
    slope = np.array([1.0, -1.0, 5.0])[task]
    y = slope * X.sum(axis=1) + 0.1 * rng.standard_normal(86)
    groups = groups_of_tasks(X, y, task, 3)
    assert groups.max() == 1
    assert groups[0] != groups[1]


def test_groups_do_not_depend_on_the_order_of_rows_or_names():
    rng = np.random.default_rng(0)
    # the third is as far from the first as from the second
    once = rng.standard_normal((40, 3))
    X, slope = np.tile(once, (3, 1)), np.repeat([1.0, -1.0, 0.0], 40)
    task = np.repeat([0, 1, 2], 40)
    y = slope * X.sum(axis=1)
    found = set()
    for _ in range(20):
        order = rng.permutation(len(y))
        groups = groups_of_tasks(X[order], y[order], task[order], 3, caution=4.0)
        found.add(tuple(groups.tolist()))
    assert len(found) == 1

    # tasks of one row say nothing, and go with the most rows whatever their names
    sizes = np.array([30, 100, 100, 100, 1, 1])
    for names in (np.arange(6), np.arange(6)[::-1]):
        task = np.repeat(names, sizes)
        X = rng.standard_normal((len(task), 3))
        slope = np.where(task == names[0], -1.0, 1.0)
        y = slope * X.sum(axis=1) + 0.3 * rng.standard_normal(len(task))
        groups = groups_of_tasks(X, y, task, 6)[names]
        assert groups[0] != groups[1]
        assert_array_equal(groups[1:], groups[1])


def test_a_task_that_says_nothing_is_not_told_apart():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), 40)
    X = rng.standard_normal((160, 3))
    X[task == 3] = 1.0
    y = X.sum(axis=1) + rng.standard_normal(160)
    assert_array_equal(groups_of_tasks(X, y, task, 4), 0)


def test_names_of_classes_do_not_matter():
    rng = np.random.default_rng(0)
    for _ in range(5):
        task = np.repeat(np.arange(6), 40)
        X = rng.standard_normal((240, 3))
        slopes = rng.standard_normal((4, 3)) + 0.7 * rng.standard_normal((6, 4, 3))
        scores = (slopes[task] * X[:, None]).sum(axis=2)
        codes = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
        one = groups_of_tasks(X, indicators(codes, 4), task, 6)
        other = groups_of_tasks(X, indicators(3 - codes, 4), task, 6)
        assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("X", "y", "task", "n_tasks"),
    [
        (np.ones((4, 2)), np.zeros(4), [0, 1, 2, 2], 3),
        (np.zeros((40, 1)), np.arange(40.0), np.arange(40), 40),
        (np.eye(30), np.arange(30.0), [0, 1, 3] * 10, 5),  # some have no rows
        (np.zeros((3, 2)), np.arange(3.0), [0, 0, 0], 1),
    ],
)
def test_odd_rows_have_groups(X, y, task, n_tasks):
    task = np.array(task)
    groups = groups_of_tasks(X, y, task, n_tasks)
    assert groups.shape == (n_tasks,)
    assert_array_equal(np.unique(groups), np.arange(groups.max() + 1))
    weighted = groups_of_tasks(X, y, task, n_tasks, weight=np.full(len(y), 1e12))
    assert weighted.shape == (n_tasks,)


def test_nothing_is_looked_for_in_too_many_tasks_or_features():
    rng = np.random.default_rng(0)
    X = with_task(rng.standard_normal((900, 2)), np.arange(900) % 200)
    few = check_task_data(X, rng.standard_normal(900), task=-1, labels="numbers")
    assert list(find_groups(few, CAUTIONS)) == list(CAUTIONS)
    for n_tasks, n_features in ((200, 11), (201, 1)):
        X = with_task(rng.standard_normal((900, n_features)), np.arange(900) % n_tasks)
        many = check_task_data(X, rng.standard_normal(900), task=-1, labels="numbers")
        assert find_groups(many, CAUTIONS) == {}


# ------------------------------------------------------------- one model for a group


def test_groups_are_found_once_for_the_same_rows(monkeypatch):
    X, y, task = two_kinds(np.random.default_rng(0))
    rows, found, calls = with_task(X, task), {}, []

    def count(*args, **options):
        calls.append(options["caution"])
        return groups_of_tasks(*args, **options)

    monkeypatch.setattr(_groups, "groups_of_tasks", count)
    alone = LikeTasks(Ridge(), task=-1).fit(rows, y)
    for inner in (Ridge(), Ridge(3.0)):
        model = LikeTasks(inner, task=-1).remember_groups(found, "all").fit(rows, y)
        assert_array_equal(model.groups_, alone.groups_)
        assert "_found_before" not in vars(model)
    LikeTasks(Ridge(), task=-1, caution=4.0).remember_groups(found, "all").fit(rows, y)
    some = np.flatnonzero(task != 2)
    model = LikeTasks(Ridge(), task=-1).remember_groups(found, "some")
    assert len(model.fit(rows[some], y[some]).groups_) == len(alone.groups_) - 1
    assert calls == [1.0, 1.0, 4.0, 1.0]


def test_like_tasks_have_one_model_that_sees_the_task():
    X, y, task = two_kinds(np.random.default_rng(0))
    rows = with_task(X, task)
    booster = HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=5)
    model = LikeTasks(booster, task=-1, unknown_task="share").fit(rows, y)
    assert_array_equal(model.groups_, KINDS)
    for kind in (0, 1):
        mine = KINDS[task] == kind
        part = TaskAsFeature(booster, task=-1).fit(rows[mine], y[mine])
        assert_allclose(model.predict(rows[mine]), part.predict(rows[mine]))
    # a stranger has the answers of the group of the most rows, for no task of it
    part = TaskAsFeature(booster, task=-1, unknown_task="share")
    part.fit(rows[KINDS[task] == 1], y[KINDS[task] == 1])
    stranger = with_task(X, np.full(len(X), 9))
    assert_allclose(model.predict(stranger), part.predict(stranger))
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(rows), model.predict(rows))
    refuses = LikeTasks(booster, task=-1, unknown_task="error").fit(rows, y)
    with pytest.raises(ValueError, match="9"):
        refuses.predict(stranger)


def test_estimators_that_know_tasks_get_the_task():
    X, y, task = two_kinds(np.random.default_rng(0))
    rows = with_task(X, task)
    forest = MultiTaskExtraTreesRegressor(
        5, task=-1, task_split_prob=0.5, min_samples_leaf=3, random_state=0
    )
    line = SharedPlusOwn(Ridge(), task=-1)
    for inner in (forest, line):
        model = LikeTasks(inner, task=-1).fit(rows, y)
        mine = KINDS[task] == 1
        part = inner.fit(rows[mine], y[mine])
        assert_allclose(model.predict(rows[mine]), part.predict(rows[mine]))


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_stages_of_like_tasks(n_classes):
    X, y, task = two_kinds(np.random.default_rng(0))
    rows = with_task(X, task)
    booster, labels = MultiTaskGradientBoostingRegressor, None
    if n_classes:
        y = y - 0.5 * task
        y = np.digitize(y, [0.0] if n_classes == 2 else [-1.0, 1.0])
        y[task == 1] = 0  # one class
        booster = MultiTaskGradientBoostingClassifier
        labels = check_task_data(rows, y, task=-1, labels="classes").label_sets
    booster = booster(task=-1, n_estimators=6, min_samples_leaf=5, random_state=0)
    model = LikeTasks(booster, task=-1, unknown_task="share").fit(rows, y)
    stages = (2, 5, 6)
    staged = list(staged_predictions(model, rows, task, labels, stages))
    assert len(staged) == len(stages)
    for stage, found in zip(stages, staged, strict=True):
        short = model.set_params(estimator__n_estimators=stage).fit(rows, y)
        assert_allclose(found, predict_with(short, rows, task, labels))


def test_a_group_of_one_class_needs_no_estimator():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(3), 60)
    X = rng.standard_normal((180, 2))
    y = (X[:, 0] > 0).astype(int)
    y[task == 2] = 1
    rows = with_task(X, task)
    model = LikeTasks(LogisticRegression(), task=-1).fit(rows, y)
    assert model.groups_[2] not in model.groups_[:2]
    assert_array_equal(model.predict(rows[task == 2]), 1)
    assert model.predict_proba(rows).shape == (180, 2)


# ------------------------------------------------------------------ the Kin estimators


def candidates(cautions, n_rows=400):
    found = choose_candidates(
        "regression",
        Size(np.full(5, n_rows // 5), 5, cautions=cautions),
        families=("linear", "trees", "boosting"),
        n_estimators=10,
        seed=0,
    )
    return {each.name: each for each in found if "like tasks" in each.name}


def test_like_tasks_take_part_where_there_are_some():
    assert candidates(()) == {}
    assert candidates((1.0,), n_rows=200_000) == {}
    found = candidates((1.0, 4.0))
    assert {name.split(",")[0] for name in found} == {
        "ridge regression",
        "extra trees",
        "gradient boosting",
    }
    trees = found["extra trees, like tasks"].taking_over({"min_samples_leaf": 7})
    assert trees.settings == (
        {"caution": 1.0, "estimator__min_samples_leaf": 7},
        {"caution": 4.0, "estimator__min_samples_leaf": 7},
    )
    booster = found["gradient boosting, like tasks"]
    assert [each["caution"] for each in booster.settings] == [1.0, 4.0]
    assert len(booster.stages) == 2


@pytest.mark.parametrize("estimator", [KinClassifier, KinRegressor])
def test_kin_shares_within_kinds_of_tasks(estimator):
    rng = np.random.default_rng(1)
    X, y, task = two_kinds(rng, n_rows=30)
    new, y_new, task_new = two_kinds(rng, n_rows=300)
    if estimator is KinClassifier:
        y, y_new = y > 0.5 * task, y_new > 0.5 * task_new
    rows, new = with_task(X, task), with_task(new, task_new)
    kin = estimator(task=-1, families="linear", random_state=0).fit(rows, y)
    assert list(kin.task_groups_.values()) == KINDS.tolist()
    assert list(kin.task_groups_) == [0, 1, 2, 3, 4]
    like = ["like tasks" in name for name in kin.candidates_]
    others = np.delete(kin.weights_, np.flatnonzero(like), axis=1)
    assert (kin.weights_[:, like].sum(axis=1) > others.max(axis=1)).all()
    # nobody else in the family knows which tasks belong together
    pooled = Pooled(Ridge() if estimator is KinRegressor else LogisticRegression())
    pooled.set_params(task=-1)
    for t in range(5):
        mine, test = KINDS[task] == KINDS[t], task_new == t
        kind = pooled.fit(rows[mine], y[mine]).score(new[test], y_new[test])
        if estimator is KinClassifier:
            assert kin.score(new[test], y_new[test]) > kind - 0.05
        else:  # levels of tasks are their own
            assert kin.score(new[test], y_new[test]) > kind


def test_kin_of_tasks_that_are_all_alike_has_no_groups():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), 40)
    X = rng.standard_normal((160, 3))
    y = X.sum(axis=1) + rng.standard_normal(160)
    kin = KinRegressor(task=-1, families="linear").fit(with_task(X, task), y)
    assert set(kin.task_groups_.values()) == {0}
    assert not any("like tasks" in name for name in kin.candidates_)
