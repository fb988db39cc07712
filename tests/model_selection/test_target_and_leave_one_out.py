import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import LeaveOneGroupOut

from kinlearn.model_selection import LeaveOneTaskOut, TargetKFold


def problem(seed=0):
    rng = np.random.default_rng(seed)
    task = rng.permutation(np.repeat([3, 5, 8], [40, 23, 7]))
    y = rng.integers(0, 2, size=70)
    return np.c_[rng.normal(size=70), task], y, task


@pytest.mark.parametrize("shuffle", [False, True])
def test_folds_are_of_the_target_only_and_the_source_always_trains(shuffle):
    X, y, task = problem()
    cv = TargetKFold(
        4, task=-1, target=5, shuffle=shuffle, random_state=0 if shuffle else None
    )
    tests = []
    for train, test in cv.split(X, y):
        assert_array_equal(np.sort(np.r_[train, test]), np.arange(70))
        assert np.isin(np.flatnonzero(task != 5), train).all()
        tests.append(test)
    assert_array_equal(np.sort(np.concatenate(tests)), np.flatnonzero(task == 5))
    assert np.ptp([len(test) for test in tests]) <= 1
    for label in (0, 1):
        assert np.ptp([(y[test] == label).sum() for test in tests]) <= 1
    assert cv.get_n_splits() == 4


def test_target_numbers_are_split_by_quantiles():
    X, _, task = problem()
    y = np.random.default_rng(0).normal(size=70)
    rows = np.flatnonzero(task == 3)
    tests = [test for _, test in TargetKFold(4, task=-1, target=3).split(X, y)]
    for tenth in rows[np.argsort(y[rows])].reshape(10, 4):
        assert [np.isin(tenth, test).sum() for test in tests] == [1] * 4


def test_target_folds_are_decided_by_random_state():
    X, y, _ = problem()

    def tests(seed):
        cv = TargetKFold(4, task=-1, target=3, shuffle=True, random_state=seed)
        return np.concatenate([test for _, test in cv.split(X, y)])

    assert_array_equal(tests(0), tests(0))
    assert (tests(0) != tests(1)).any()


def test_target_may_be_a_string_and_tasks_come_as_groups():
    X, y, task = problem()
    names = np.array(["", "", "", "a", "", "b", "", "", "c"])[task]
    cv = TargetKFold(2, target="b")
    tests = [test for _, test in cv.split(X[:, :1], y, groups=names)]
    assert_array_equal(np.sort(np.concatenate(tests)), np.flatnonzero(task == 5))


def test_leave_one_task_out_equals_scikit_learn_with_groups():
    X, y, task = problem()
    cv = LeaveOneTaskOut(task=-1)
    expected = list(LeaveOneGroupOut().split(X, y, task))
    assert cv.get_n_splits(X) == len(expected) == 3
    for ours, theirs in zip(cv.split(X), expected, strict=True):
        assert_array_equal(ours[0], theirs[0])
        assert_array_equal(ours[1], theirs[1])
    by_groups = list(LeaveOneTaskOut().split(X[:, :1], groups=task))
    assert_array_equal(by_groups[2][1], expected[2][1])
    assert LeaveOneTaskOut().get_n_splits(groups=task) == 3


def test_repr():
    assert repr(LeaveOneTaskOut("shop")) == "LeaveOneTaskOut(task='shop')"
    assert "target='b'" in repr(TargetKFold(3, task="shop", target="b"))
