"""Proxy A-distance."""

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier

from kinlearn import with_task
from kinlearn.relatedness import task_distances


def _values(X, task, **options):
    options = {"random_state": 0, **options}
    return task_distances(
        with_task(X, task), task=-1, method="proxy_a", **options
    ).values


def test_near_0_for_equal_and_2_for_separable_tasks():
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1, 2], [400, 400, 400])
    X = rng.normal(size=(1200, 3))
    X[task == 2, 1] += 20
    values = _values(X, task)
    assert values[0, 1] < 0.2
    assert_allclose(values[2, :2], 2.0)


def test_the_error_is_that_of_the_best_linear_cut():
    # unit normals 2 apart: the best cut is wrong with probability Phi(-1)
    rng = np.random.default_rng(1)
    task = np.repeat([0, 1], 5000)
    X = rng.normal(size=(10_000, 1)) + 2.0 * task[:, None]
    assert_allclose(_values(X, task)[0, 1], 2 * (1 - 2 * 0.158655), atol=0.05)


def test_size_alone_does_not_set_tasks_apart():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1100, 2))
    task = np.repeat([0, 1], [1000, 100])
    assert _values(X, task)[0, 1] < 0.4  # the plain error would give 1.64
    # always the larger task: one task all right, the other all wrong
    constant = _values(X, task, estimator=DummyClassifier(strategy="prior"))
    assert_array_equal(constant, np.zeros((2, 2)))


def test_any_classifier_and_its_error_by_hand():
    # 1-NN on a line; the 1.6 of task 1 sits between two rows of task 0
    X = np.array([[0.0], [0.1], [1.5], [1.7], [1.6], [9.0], [9.1], [9.2]])
    task = np.repeat([0, 1], 4)
    knn = KNeighborsClassifier(n_neighbors=1)
    values = _values(X, task, estimator=knn, cv=4)
    nearest = []
    order = np.random.RandomState(0).permutation(8)
    fold = np.empty(8, dtype=int)
    for t in (0, 1):
        mine = [row for row in order if task[row] == t]
        fold[mine] = np.arange(4)
    for row in range(8):
        seen = np.flatnonzero(fold != fold[row])
        nearest.append(task[seen[np.argmin(np.abs(X[seen, 0] - X[row, 0]))]])
    wrong = np.array(nearest) != task
    error = (wrong[:4].mean() + wrong[4:].mean()) / 2
    assert_allclose(values[0, 1], 2 * (1 - 2 * error))


def test_tasks_smaller_than_the_number_of_folds():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [5.2], [9.0], [9.1]])
    values = _values(X, [0, 0, 1, 1, 1, 2, 2], cv=5)
    assert_array_equal(values, 2.0 - 2.0 * np.eye(3))


def test_a_task_of_one_row_is_refused():
    with pytest.raises(ValueError, match="Task 7 has one row; cross-validation"):
        _values(np.ones((3, 1)), [2, 2, 7])


def test_sparse_and_workers_and_names_do_not_matter():
    rng = np.random.default_rng(3)
    task = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 4)) + 0.5 * task[:, None]
    one = _values(X, task)
    with parallel_config("threading"):
        assert_array_equal(_values(X, task, n_jobs=2), one)
    assert_array_equal(_values(X, 2 - task), one[::-1, ::-1])
    sparse = sp.csr_matrix(with_task(X, task))
    values = task_distances(sparse, task=-1, method="proxy_a", random_state=0).values
    assert_allclose(values, one, atol=0.1)  # not centred, so nearly the same cuts


@pytest.mark.parametrize("cv", [1, 2.5, None])
def test_bad_number_of_folds(cv):
    with pytest.raises(ValueError, match="cv must be an integer of at least 2"):
        _values(np.ones((4, 1)), [0, 0, 1, 1], cv=cv)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_tiny_and_huge_features_are_told_apart_as_others(size):
    rng = np.random.default_rng(4)
    task = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + task[:, None]
    assert_allclose(_values(X * size, task), _values(X, task))


@pytest.mark.parametrize("estimator", [Ridge(), "svm"])
def test_what_is_no_classifier_is_refused(estimator):
    with pytest.raises(ValueError, match="estimator must be a classifier"):
        _values(np.ones((4, 1)), [0, 0, 1, 1], estimator=estimator)
