import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_array_equal
from sklearn.model_selection import StratifiedKFold

from kinlearn.exceptions import KinlearnWarning
from kinlearn.model_selection import (
    RepeatedTaskStratifiedKFold,
    TaskShuffleSplit,
    TaskStratifiedKFold,
)


def problem(seed=0, n=200, n_tasks=7, n_classes=3):
    """Rows with a task in the last column; every task has two rows or more."""
    rng = np.random.default_rng(seed)
    task = np.r_[
        np.repeat(np.arange(n_tasks), 2), rng.integers(0, n_tasks, n - 2 * n_tasks)
    ]
    rng.shuffle(task)
    y = np.minimum(rng.geometric(0.5, size=n) - 1, n_classes - 1)
    return np.c_[rng.normal(size=n), task], y


def fold_of_rows(cv, X, y, **params):
    fold = np.full(len(y), -1)
    for number, (train, test) in enumerate(cv.split(X, y, **params)):
        assert_array_equal(np.sort(np.r_[train, test]), np.arange(len(y)))
        assert (fold[test] == -1).all()
        fold[test] = number
    assert (fold >= 0).all()
    return fold


def spread(fold, n_splits):
    """Greatest difference of the folds' sizes."""
    return np.ptp(np.bincount(fold, minlength=n_splits))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("n_splits", [2, 3, 5, 10])
def test_partition_even_by_task_and_by_class_of_each_task(n_splits, shuffle, seed):
    X, y = problem(seed)
    cv = TaskStratifiedKFold(
        n_splits, task=-1, shuffle=shuffle, random_state=seed if shuffle else None
    )
    fold = fold_of_rows(cv, X, y)
    for task in np.unique(X[:, -1]):
        rows = X[:, -1] == task
        assert spread(fold[rows], n_splits) <= 1
        for label in np.unique(y):
            assert spread(fold[rows & (y == label)], n_splits) <= 1
    assert spread(fold, n_splits) <= 3
    for label in np.unique(y):
        assert spread(fold[y == label], n_splits) <= 4


tables = st.integers(2, 60).flatmap(
    lambda n: st.tuples(
        npst.arrays(int, n, elements=st.integers(0, 8)),
        npst.arrays(int, n, elements=st.integers(0, 3)),
        st.integers(2, min(n, 6)),
        st.booleans(),
    )
)


@settings(deadline=None, max_examples=100)
@given(table=tables)
def test_any_table_is_split_evenly(table):
    task, y, n_splits, shuffle = table
    cv = TaskStratifiedKFold(
        n_splits, shuffle=shuffle, random_state=0 if shuffle else None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinlearnWarning)
        fold = fold_of_rows(cv, np.zeros((len(y), 1)), y, groups=task)
    for t in np.unique(task):
        assert spread(fold[task == t], n_splits) <= 1
        for label in np.unique(y):
            assert spread(fold[(task == t) & (y == label)], n_splits) <= 1


def test_from_two_rows_on_a_task_is_always_in_training():
    X, y = problem(n=60, n_tasks=30)
    for train, _ in TaskStratifiedKFold(5, task=-1).split(X, y):
        assert_array_equal(np.unique(X[train, -1]), np.arange(30))


def test_small_tasks_are_spread_so_that_folds_keep_size_and_classes():
    # 1000 tasks of three rows, one of them positive, over five folds
    task, y = np.repeat(np.arange(1000), 3), np.tile([0, 0, 1], 1000)
    fold = fold_of_rows(TaskStratifiedKFold(5), np.zeros((3000, 1)), y, groups=task)
    assert spread(fold, 5) <= 1
    assert spread(fold[y == 1], 5) <= 1


def test_the_only_row_of_a_task_is_warned_of():
    X, y = np.c_[np.zeros(7), [0, 0, 0, 1, 1, 1, 2]], [0, 1, 0, 1, 0, 1, 0]
    with pytest.warns(KinlearnWarning, match=r"1 of 3 tasks have a single row \(2\)"):
        list(TaskStratifiedKFold(2, task=-1).split(X, y))


def test_rows_stay_in_order_without_shuffling():
    # as in scikit-learn: neighbours, which may depend on each other, stay together
    X = np.c_[np.zeros(8), np.repeat([0, 1], 4)]
    fold = fold_of_rows(TaskStratifiedKFold(2, task=-1), X, np.zeros(8, dtype=int))
    assert_array_equal(fold, [0, 0, 1, 1, 0, 0, 1, 1])


def test_one_task_is_as_even_as_scikit_learns_stratified_folds():
    _, y = problem(1)
    ours = fold_of_rows(TaskStratifiedKFold(4), np.zeros((200, 1)), y)
    theirs = fold_of_rows(StratifiedKFold(4), np.zeros((200, 1)), y)
    for label in np.unique(y):
        counts = [np.sort(np.bincount(f[y == label])) for f in (ours, theirs)]
        assert_array_equal(*counts)


@pytest.mark.parametrize("stratify", ["auto", "quantiles"])
def test_numbers_are_split_by_each_tasks_own_quantiles(stratify):
    rng = np.random.default_rng(0)
    task = np.arange(300) % 3
    y = 100.0 * task + rng.normal(size=300)
    X = np.c_[np.zeros(300), task]
    fold = fold_of_rows(TaskStratifiedKFold(5, task=-1, stratify=stratify), X, y)
    for t in range(3):
        rows = np.flatnonzero(task == t)
        by_rank = rows[np.argsort(y[rows])]
        for tenth in by_rank.reshape(10, 10):
            assert_array_equal(np.bincount(fold[tenth], minlength=5), [2] * 5)


def test_integers_to_be_regressed_on_are_binned_on_request():
    rng = np.random.default_rng(0)
    y = rng.permutation(70).repeat(2)
    cv = TaskStratifiedKFold(5, stratify="quantiles")
    fold = fold_of_rows(cv, np.zeros((140, 1)), y)
    for tenth in np.argsort(y, kind="stable").reshape(10, 14):
        assert spread(fold[tenth], 5) <= 1


def test_bins_of_small_tasks_have_a_row_for_each_fold():
    # ten rows make two bins of five rows: each fold has a row of each half
    y = np.random.default_rng(0).normal(size=10)
    fold = fold_of_rows(TaskStratifiedKFold(5), np.zeros((10, 1)), y)
    for half in np.argsort(y).reshape(2, 5):
        assert_array_equal(np.sort(fold[half]), np.arange(5))


def test_no_stratification_needs_no_y():
    X, _ = problem()
    cv = TaskStratifiedKFold(3, task=-1, stratify=None)
    tests = [test for _, test in cv.split(X)]
    assert_array_equal(np.sort(np.concatenate(tests)), np.arange(200))
    for task in range(7):
        assert np.ptp([(X[test, -1] == task).sum() for test in tests]) <= 1


def test_is_decided_by_random_state_and_nothing_else():
    X, y = problem()
    folds = []
    for seed, noise in ((3, 0), (3, 1), (4, 0)):
        np.random.seed(noise)  # noqa: NPY002
        cv = TaskStratifiedKFold(3, task=-1, shuffle=True, random_state=seed)
        folds.append(fold_of_rows(cv, X, y))
    assert_array_equal(folds[0], folds[1])
    assert (folds[0] != folds[2]).any()


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse", "list", "groups"])
def test_tasks_of_any_table_split_the_same(kind):
    X, y = problem()
    expected = fold_of_rows(TaskStratifiedKFold(3, task=-1), X, y)
    names = np.array(list("abcdefg"))[X[:, -1].astype(int)]
    task, params = "shop", {}
    if kind == "pandas":
        X = pd.DataFrame({"x": X[:, 0], "shop": names})
    elif kind == "polars":
        X = pl.DataFrame({"x": X[:, 0], "shop": names})
    elif kind == "sparse":
        X, task = sp.csr_array(X), -1
    elif kind == "list":
        X, task = X.tolist(), 1
    else:
        X, task, params = X[:, :1], None, {"groups": names}
    got = fold_of_rows(TaskStratifiedKFold(3, task=task), X, y, **params)
    assert_array_equal(got, expected)


def test_repeats_are_different_partitions_decided_by_the_seed():
    X, y = problem()
    cv = RepeatedTaskStratifiedKFold(4, n_repeats=3, task=-1, random_state=0)
    splits = [test for _, test in cv.split(X, y)]
    assert len(splits) == cv.get_n_splits() == 12
    partitions = [splits[i : i + 4] for i in (0, 4, 8)]
    for partition in partitions:
        assert_array_equal(np.sort(np.concatenate(partition)), np.arange(200))
    assert any(
        not np.array_equal(a, b)
        for a, b in zip(partitions[0], partitions[1], strict=True)
    )
    for first, second in zip(splits, [t for _, t in cv.split(X, y)], strict=True):
        assert_array_equal(first, second)


def test_many_tiny_tasks_are_no_burden():
    # A Python loop over the cells would take many seconds.
    rng = np.random.default_rng(0)
    task = np.r_[np.arange(20_000), np.arange(20_000), rng.integers(0, 20_000, 160_000)]
    y = rng.integers(0, 2, size=200_000)
    fold = np.full(200_000, -1)
    cv = TaskStratifiedKFold(5, shuffle=True, random_state=0)
    for number, (_, test) in enumerate(cv.split(task[:, None], y, groups=task)):
        fold[test] = number
    counts = np.zeros((40_000, 5), dtype=int)
    np.add.at(counts, (2 * task + y, fold), 1)
    assert np.ptp(counts, axis=1).max() == 1
    assert np.ptp(counts[::2] + counts[1::2], axis=1).max() == 1
    assert spread(fold, 5) <= 3


@pytest.mark.parametrize(
    ("cv", "shown"),
    [
        (
            TaskStratifiedKFold(3, task="shop"),
            "TaskStratifiedKFold(n_splits=3, random_state=None, shuffle=False,\n"
            "          stratify='auto', task='shop')",
        ),
        (
            RepeatedTaskStratifiedKFold(3, n_repeats=2, task=-1),
            "RepeatedTaskStratifiedKFold(n_repeats=2, n_splits=3, "
            "random_state=None,\n              stratify='auto', task=-1)",
        ),
    ],
)
def test_repr(cv, shown):
    assert repr(cv).split() == shown.split()


@pytest.mark.parametrize("splitter", [TaskStratifiedKFold, TaskShuffleSplit])
@pytest.mark.parametrize("stratify", ["auto", "classes"])
def test_labels_of_two_kinds_are_refused(splitter, stratify):
    y = np.array(["a", 1, "a", 1, "a", 1], dtype=object)
    cv = splitter(2, stratify=stratify)
    with pytest.raises(ValueError, match=r"y mixes strings with other.* 1 in row 1"):
        next(cv.split(np.zeros((6, 1)), y, groups=[0, 0, 0, 1, 1, 1]))
