import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.model_selection import TaskShuffleSplit

SIZES = [3, 8, 40, 100]


def problem(seed=0):
    rng = np.random.default_rng(seed)
    task = rng.permutation(np.repeat([0, 1, 2, 3], SIZES))
    y = (rng.random(len(task)) < 0.3).astype(int)
    return np.c_[rng.normal(size=len(task)), task], y, task


def counts(rows, task):
    return np.bincount(task[rows], minlength=4)


@pytest.mark.parametrize("stratify", ["auto", None])
@pytest.mark.parametrize(
    ("params", "train_share", "test_share"),
    [
        ({}, 0.75, 0.25),
        ({"train_size": 0.6}, 0.6, 0.4),
        ({"test_size": 0.3}, 0.7, 0.3),
        ({"train_size": 0.5, "test_size": 0.2}, 0.5, 0.2),
    ],
)
def test_takes_the_share_of_every_task_rounded_up_or_down(
    params, train_share, test_share, stratify
):
    X, y, task = problem()
    sizes = np.array(SIZES)
    cv = TaskShuffleSplit(8, task=-1, random_state=0, stratify=stratify, **params)
    for train, test in cv.split(X, y):
        assert len(np.intersect1d(train, test)) == 0
        for rows, share in ((train, train_share), (test, test_share)):
            assert_array_equal(rows, np.unique(rows))
            assert (np.abs(counts(rows, task) - share * sizes) < 1).all()
            # one rounding for all tasks together, and one for the total
            assert abs(len(rows) - share * sizes.sum()) < 1 + 1e-9
        assert (counts(train, task) >= 1).all()


def test_classes_of_every_task_are_taken_alike():
    X, y, task = problem()
    for train, test in TaskShuffleSplit(8, task=-1, random_state=1).split(X, y):
        for t in range(4):
            taken = (task[test] == t).sum() / (task == t).sum()
            for label in (0, 1):
                cell = ((task == t) & (y == label)).sum()
                in_test = ((task[test] == t) & (y[test] == label)).sum()
                assert abs(in_test - taken * cell) < 1
        assert len(train) + len(test) == len(y)


def test_a_number_of_rows_is_taken_of_each_task():
    X, y, task = problem()
    rows = task > 0
    cv = TaskShuffleSplit(3, task=-1, train_size=5, test_size=2, random_state=0)
    for train, test in cv.split(X[rows], y[rows]):
        assert_array_equal(counts(train, task[rows]), [0, 5, 5, 5])
        assert_array_equal(counts(test, task[rows]), [0, 2, 2, 2])
    cv = TaskShuffleSplit(3, task=-1, train_size=2, random_state=0)
    for train, test in cv.split(X, y):
        assert_array_equal(counts(train, task), [2, 2, 2, 2])
        assert_array_equal(counts(test, task), np.array(SIZES) - 2)


def test_numbers_are_taken_from_all_parts_of_each_tasks_range():
    rng = np.random.default_rng(0)
    y, task = rng.normal(size=200), np.arange(200) % 2
    X = np.c_[y, task]
    cv = TaskShuffleSplit(5, task=-1, test_size=0.5, random_state=0)
    for _, test in cv.split(X, y):
        for t in (0, 1):
            rows = np.flatnonzero(task == t)
            for tenth in rows[np.argsort(y[rows])].reshape(10, 10):
                assert np.isin(tenth, test).sum() == 5


def test_every_row_has_the_same_chance():
    task = np.repeat([0, 1, 2], [3, 5, 7])
    y = np.array([0, 0, 1] + [0, 0, 0, 0, 1] + [0, 1] * 3 + [1])
    hits = np.zeros(15)
    cv = TaskShuffleSplit(4000, test_size=0.3, random_state=0)
    for _, test in cv.split(np.zeros((15, 1)), y, groups=task):
        hits[test] += 1
    # four standard errors
    assert_allclose(hits / 4000, 0.3, atol=4 * (0.3 * 0.7 / 4000) ** 0.5)


tables = st.integers(2, 60).flatmap(
    lambda n: st.tuples(
        npst.arrays(int, n, elements=st.integers(0, 8)),
        npst.arrays(int, n, elements=st.integers(0, 3)),
        st.floats(0.01, 0.99),
        st.integers(0, 1000),
    )
)


@settings(deadline=None, max_examples=100)
@given(table=tables)
def test_any_table_keeps_a_training_row_of_every_task(table):
    task, y, share, seed = table
    sizes = np.bincount(task)
    if share * sizes[sizes > 1].sum() < 1:
        return
    cv = TaskShuffleSplit(1, test_size=share, random_state=seed)
    ((train, test),) = cv.split(np.zeros((len(y), 1)), y, groups=task)
    assert_array_equal(np.sort(np.r_[train, test]), np.arange(len(y)))
    assert_array_equal(np.unique(task[train]), np.unique(task))
    wanted = np.minimum(share * sizes, np.maximum(sizes - 1, 0))
    got = np.bincount(task[test], minlength=len(sizes))
    assert got.any()
    assert (np.abs(got - wanted) < 1).all()


def test_is_decided_by_random_state_and_nothing_else():
    X, y, _ = problem()

    def tests(seed):
        cv = TaskShuffleSplit(3, task=-1, random_state=seed)
        return [test.tolist() for _, test in cv.split(X, y)]

    np.random.seed(0)  # noqa: NPY002
    first = tests(0)
    np.random.seed(1)  # noqa: NPY002
    assert tests(0) == first
    assert tests(1) != first
    assert first[0] != first[1]


@pytest.mark.parametrize(
    ("n_rows", "sizes"),
    [(6, {"test_size": 0.01}), (30, {"test_size": 0.02}), (30, {"train_size": 0.98})],
)
def test_a_share_of_less_than_one_row_is_refused(n_rows, sizes):
    cv = TaskShuffleSplit(50, random_state=0, stratify=None, **sizes)
    with pytest.raises(ValueError, match="The test set would be empty"):
        next(cv.split(np.zeros((n_rows, 1)), groups=np.arange(n_rows) % 3))


@pytest.mark.parametrize("sizes", [{"test_size": 0.1}, {"train_size": 0.9}])
def test_no_test_set_is_empty_though_most_tasks_have_one_row(sizes):
    cv = TaskShuffleSplit(200, random_state=0, stratify=None, **sizes)
    task = np.r_[np.arange(20), np.zeros(9, dtype=int)]  # task 0 has 10 rows
    tests = [test for _, test in cv.split(np.zeros((29, 1)), groups=task)]
    assert [task[test].tolist() for test in tests] == [[0]] * 200


def test_repr():
    shown = repr(TaskShuffleSplit(3, task="shop", train_size=40))
    assert "task='shop'" in shown
    assert "train_size=40" in shown
