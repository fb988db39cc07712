"""Folds, and the tasks that are too small for them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold, ShuffleSplit

from kinlearn import with_task
from kinlearn.audit._folds import make_folds
from kinlearn.audit._problem import open_problem
from kinlearn.model_selection import (
    LeaveOneTaskOut,
    RepeatedTaskStratifiedKFold,
    TaskStratifiedKFold,
)

SIZES = [20, 12, 5, 4, 1]
TASK = np.repeat(np.arange(5), SIZES)
RNG = np.random.default_rng(0)
X = with_task(RNG.normal(size=(len(TASK), 2)), TASK)
Y = np.arange(len(TASK)) % 2
PROBLEM = open_problem(X, Y, -1)


def _folds(**options):
    options = {"cv": None, "n_splits": 5, "n_repeats": 2, "random_state": 0} | options
    return make_folds(PROBLEM, **options)


def test_every_row_of_a_large_task_is_tested_once_a_repeat():
    folds = _folds()
    assert (folds.n_repeats, folds.n_splits) == (2, 5)
    for repeat in folds.splits:
        tested = np.sort(np.concatenate([test for _, test in repeat]))
        assert_array_equal(tested, np.flatnonzero(TASK < 3))
        for train, test in repeat:
            assert_array_equal(
                np.sort(np.concatenate([train, test])), np.arange(len(TASK))
            )


def test_small_tasks_are_always_in_training_and_listed():
    folds = _folds()
    assert (folds.n_train[..., 3] == 4).all()
    assert (folds.n_test[..., 3:] == 0).all()
    assert sorted(folds.kept) == [3, 4]
    assert folds.kept[3].startswith("4 rows are too few for 5 folds: always in")


def test_counts_are_those_of_the_rows():
    folds = _folds()
    train, test = folds.splits[1][2]
    assert_array_equal(folds.n_train[1, 2], np.bincount(TASK[train], minlength=5))
    assert_array_equal(folds.n_test[1, 2], np.bincount(TASK[test], minlength=5))


def test_repeats_differ_and_the_seed_decides():
    one, two, other = _folds(), _folds(), _folds(random_state=1)
    assert one.fingerprint() == two.fingerprint() != other.fingerprint()
    assert not np.array_equal(one.splits[0][0][1], one.splits[1][0][1])


@pytest.mark.parametrize(("n_rows", "repeats"), [(100, 2), (10_000, 2), (10_001, 1)])
def test_repeats_go_by_size(n_rows, repeats):
    X = with_task(np.zeros((n_rows, 1)), np.arange(n_rows) % 2)
    problem = open_problem(X, np.arange(n_rows) // 2 % 2, -1)
    folds = make_folds(problem, cv=None, n_splits=2, n_repeats=None, random_state=0)
    assert folds.n_repeats == repeats


@pytest.mark.parametrize(
    "cv",
    [
        TaskStratifiedKFold(4, task=-1),
        TaskStratifiedKFold(4),
        KFold(4, shuffle=True, random_state=0),
        list(KFold(4).split(X)),
    ],
    ids=["by column", "by groups", "scikit-learn", "pairs"],
)
@pytest.mark.filterwarnings("ignore:1 of 5 tasks have a single row")
def test_splitters_of_all_kinds(cv):
    folds = _folds(cv=cv, n_repeats=None)
    assert (folds.n_repeats, folds.n_splits) == (1, 4)
    assert folds.n_test.sum() == len(TASK)


@pytest.mark.filterwarnings("ignore:1 of 5 tasks have a single row")
def test_repeats_of_a_splitter_are_told_apart():
    cv = RepeatedTaskStratifiedKFold(4, n_repeats=3, task=-1, random_state=0)
    folds = _folds(cv=cv, n_repeats=None)
    assert (folds.n_repeats, folds.n_splits) == (3, 4)
    for repeat in folds.splits:
        assert sum(len(test) for _, test in repeat) == len(TASK)


def test_tasks_that_training_lacks_are_noticed():
    assert _folds(cv=LeaveOneTaskOut(task=-1), n_repeats=None).tests_unseen_tasks
    assert not _folds().tests_unseen_tasks


def test_a_task_that_cv_never_tests_is_listed():
    rest = np.flatnonzero(TASK > 0)
    folds = _folds(cv=[(np.flatnonzero(TASK == 0), rest)], n_repeats=None)
    assert folds.kept == {0: "cv never tests it"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_repeats": 0}, ValueError, "n_repeats must be an integer >= 1; got 0"),
        ({"n_repeats": 1.5}, ValueError, "n_repeats must be an integer >= 1"),
        ({"n_splits": 1}, ValueError, "n_splits must be an integer >= 2; got 1"),
        ({"cv": 1}, ValueError, "n_splits must be an integer >= 2; got 1"),
        ({"n_splits": 21}, ValueError, "No task has 21 rows.*the largest has 20"),
        ({"cv": KFold(3)}, ValueError, "n_repeats is for the folds that"),
        ({"cv": "five", "n_repeats": None}, TypeError, "cv must be None, a number"),
        ({"cv": [], "n_repeats": None}, ValueError, "cv gave no splits"),
        (
            {"cv": [([0, 1], [42])], "n_repeats": None},
            ValueError,
            "Split 0 of cv: test rows go from 42 to 42, but X has the rows 0 to 41",
        ),
        (
            {"cv": [([], [1])], "n_repeats": None},
            ValueError,
            "its training rows must be row numbers",
        ),
        (
            {"cv": [([0, 1], [1])], "n_repeats": None},
            ValueError,
            "tests rows that are in its training rows too",
        ),
    ],
)
def test_bad_folds_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        _folds(**options)


def test_shuffled_splits_may_overlap():
    cv = ShuffleSplit(3, test_size=0.5, random_state=0)
    assert _folds(cv=cv, n_repeats=None).n_splits == 3
