"""Which classes a task has, and probabilities that are not zero for want of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier

from kinlearn import with_task
from kinlearn.boosting import (
    AbstainingAdaBoostClassifier,
    MTBoostClassifier,
    MultiTaskAdaBoostClassifier,
)
from kinlearn.sharing import PerTask
from kinlearn.tasks import check_task_data, find_label_sets
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
    MultiTaskRandomForestClassifier,
)


@st.composite
def tables(draw, most_tasks=6, most_classes=6):
    """Task and class codes of rows; every task and every class has a row."""
    n_tasks = draw(st.integers(1, most_tasks))
    n_classes = draw(st.integers(1, most_classes))
    pair = st.tuples(st.integers(0, n_tasks - 1), st.integers(0, n_classes - 1))
    pairs = draw(st.lists(pair, min_size=1, max_size=20))
    task, y = np.array(pairs).T
    task = np.unique(task, return_inverse=True)[1]
    return task, np.unique(y, return_inverse=True)[1]


def sets_of(task, y, rule="connected", **options):
    tasks, classes = np.arange(task.max() + 1), np.arange(y.max() + 1)
    return find_label_sets(task, y, tasks, classes, rule, **options)


def as_sets(found):
    return [
        set(found.codes[slice(*found.indptr[t : t + 2])].tolist())
        for t in range(found.n_tasks)
    ]


def observed(task, y):
    return [set(y[task == t].tolist()) for t in range(task.max() + 1)]


def connected(sets):
    """Unite sets with a common class until nothing changes; all, if none has two."""
    sets = [set(s) for s in sets]
    if max(map(len, sets)) < 2:
        return [set().union(*sets) if own else own for own in sets]
    while True:
        wider = [set().union(*(s for s in sets if s & own)) for own in sets]
        if wider == sets:
            return sets
        sets = wider


@given(tables())
def test_sets_with_a_common_class_are_united_until_nothing_changes(rows):
    found = sets_of(*rows)
    assert as_sets(found) == connected(observed(*rows))
    assert all(
        np.all(np.diff(found.codes[a:b]) > 0)
        for a, b in zip(found.indptr[:-1], found.indptr[1:], strict=True)
    )
    # connected sets are equal or have nothing in common
    for own in as_sets(found):
        for other in as_sets(found):
            assert own == other or not own & other


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_rows_and_names_of_tasks_do_not_matter(rows, random):
    task, y = rows
    order = list(range(len(task)))
    random.shuffle(order)
    name = list(range(task.max() + 1))
    random.shuffle(name)
    moved = as_sets(sets_of(np.array(name)[task[order]], y[order]))
    assert [moved[n] for n in name] == as_sets(sets_of(task, y))


@given(tables())
def test_observed_sets_are_those_of_the_rows(rows):
    seen, wide = sets_of(*rows, "observed"), sets_of(*rows)
    assert as_sets(seen) == as_sets(wide.observed) == observed(*rows)
    assert seen.seen.all()
    assert not seen.guessing.any()
    assert all(a <= b for a, b in zip(as_sets(seen), as_sets(wide), strict=True))
    assert_array_equal(wide.guessing, np.diff(wide.indptr) > np.diff(seen.indptr))


@given(tables(), st.data())
def test_a_mapping_gives_the_sets_and_the_others_are_connected(rows, data):
    task, y = rows
    told = {}
    for t, own in enumerate(observed(task, y)):
        if data.draw(st.booleans()):
            more = data.draw(st.sets(st.integers(0, y.max() + 2)))  # some in no row
            told[t] = sorted(own | more)
    sets = observed(task, y)
    for t, labels in told.items():
        sets[t] = {label for label in labels if label <= y.max()}
    united = connected(sets)
    expected = [sets[t] if t in told else united[t] for t in range(len(sets))]
    assert as_sets(sets_of(task, y, told)) == expected


@given(tables(), st.data())
def test_filled_probabilities(rows, data):
    task, y = rows
    weight = np.array(
        data.draw(st.lists(st.integers(1, 5), min_size=len(y), max_size=len(y))), float
    )
    sets = sets_of(task, y, weight=weight)
    rng = np.random.default_rng(0)
    code = np.append(task, -1)
    allowed = sets.observed.allowed(code)
    proba = np.where(allowed, rng.random(allowed.shape), 0.0)
    proba /= proba.sum(axis=1, keepdims=True)
    common = rng.dirichlet(np.ones(sets.n_classes), len(code))
    asked = []

    def of_unknown(some):
        asked.append(some)
        return common[some]

    filled = sets.fill(proba, code, of_unknown)
    guesses = np.append(sets.guessing, False)[code]
    assert_array_equal(filled[~guesses], proba[~guesses])
    if not guesses.any():
        assert not asked
        return
    assert_array_equal(asked[0], np.flatnonzero(guesses))
    assert_allclose(filled.sum(axis=1), 1)
    assert_array_equal(filled[:-1] > 0, sets.allowed(task) & (filled[:-1] > 0))
    assert (filled[:-1][sets.allowed(task) & guesses[:-1, None]] > 0).all()
    for row in np.flatnonzero(guesses):
        own = sorted(as_sets(sets)[code[row]])
        shares = np.bincount(y, weight, sets.n_classes)[own]
        q = shares / shares.sum() / 2 + common[row, own] / common[row, own].sum() / 2
        n = weight[task == code[row]].sum()
        assert_allclose(filled[row, own], (n * proba[row, own] + q) / (n + 1))


@given(tables(), tables())
def test_later_rows_add_to_earlier_ones(first, second):
    task, y = (np.concatenate([a, b]) for a, b in zip(first, second, strict=True))
    tasks, classes = np.arange(task.max() + 1), np.arange(y.max() + 1)
    before = find_label_sets(*first, tasks, classes)
    both = find_label_sets(*second, tasks, classes, before=before)
    at_once = find_label_sets(task, y, tasks, classes)
    for name in ("indptr", "codes", "seen", "task_weight", "class_weight"):
        assert_array_equal(getattr(both, name), getattr(at_once, name), name)


def test_rows_against_the_mapping_and_unknown_rules_are_refused():
    task, y = np.array([0, 1]), np.array([0, 1])
    with pytest.raises(ValueError, match=r"task 1 have the class 1, .* Add the class"):
        sets_of(task, y, {1: [0]})
    with pytest.raises(TypeError, match="a list of its classes"):
        sets_of(task, y, {1: "yes"})
    with pytest.raises(TypeError, match=r"a task '1', but .* holds 0, 1. Write"):
        sets_of(task, y, {"1": [0, 1]})
    with pytest.raises(ValueError, match="must be"):
        sets_of(task, y, "all")


def test_weights_of_classes_can_be_others():
    X = np.array([[0.0, 0], [1, 0], [2, 1], [3, 1]])
    data = check_task_data(X, ["a", "b", "a", "a"], task=-1, labels="classes")
    sets = data.label_sets.weighed(np.array([1.0, 4.0, 0.5]))
    assert_array_equal(sets.task_weight, [5, 0.5])
    assert_array_equal(sets.class_weight, [1.5, 4])


def rows_without_weight():
    """Rows of three tasks, the last of which shows class 1 without weight alone."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(3), 20)
    y = np.where(task == 2, 0, rng.integers(0, 2, 60))
    y[-1] = 1
    X = with_task(rng.normal(size=(60, 2)), task)
    return X, y, np.append(np.ones(59), 0.0)


@pytest.mark.parametrize(
    "model",
    [
        PerTask(RandomForestClassifier(5, random_state=0), task=-1),
        MultiTaskDecisionTreeClassifier(task=-1),
        MultiTaskExtraTreesClassifier(5, task=-1, random_state=0),
        MultiTaskRandomForestClassifier(5, task=-1, random_state=0),
        MultiTaskAdaBoostClassifier(n_estimators=3, task=-1, random_state=0),
        AbstainingAdaBoostClassifier(10, task=-1),
        MTBoostClassifier(n_estimators=5, task=-1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_class_that_only_rows_without_weight_show_is_possible(model):
    X, y, weight = rows_without_weight()
    model.fit(X, y, sample_weight=weight)
    assert_array_equal(model.task_classes_[2], [0, 1])
    assert (model.predict_proba(X[-20:])[:, 1] > 0).all()


@pytest.mark.parametrize(
    "model",
    [
        MultiTaskAdaBoostClassifier(n_estimators=3, task=-1, random_state=0),
        AbstainingAdaBoostClassifier(10, task=-1),
        MTBoostClassifier(n_estimators=5, task=-1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classes_of_tasks_are_those_that_boosters_predict(model):
    X, y, weight = rows_without_weight()
    y[-1] = 2  # a class of no row that counts
    model.fit(X, y, sample_weight=weight)
    assert_array_equal(model.task_classes_[2], [0, 1])
    assert (model.predict_proba(X)[:, 2] == 0).all()
