"""LogDet divergences between the tasks' covariances."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kinlearn import with_task
from kinlearn.relatedness import task_distances
from tests.reference import task_distances as twin


def _problem():
    rng = np.random.default_rng(0)
    task = rng.permutation(np.repeat(np.arange(4), [50, 60, 3, 40]))
    X = rng.normal(size=(153, 3))
    X[task == 1, 1] += 2.0 * X[task == 1, 0]  # features that go together
    X[task == 3] += 5.0  # elsewhere, but of the same spread
    return X * [1.0, 10.0, 0.1], task


@pytest.mark.parametrize("shrinkage", [0.1, 0.5])
def test_logdet_equals_its_definition(shrinkage):
    X, task = _problem()
    values = task_distances(
        with_task(X, task), task=-1, method="logdet", shrinkage=shrinkage
    ).values
    scaled = X / X.std(axis=0)
    covariances = [
        (1 - shrinkage) * np.cov(scaled[task == t].T, bias=True) + shrinkage * np.eye(3)
        for t in range(4)
    ]
    for a in range(4):
        for b in range(4):
            expected = twin.logdet(covariances[a], covariances[b])
            assert_allclose(values[a, b], expected, rtol=1e-8, atol=1e-10)
    sparse = task_distances(
        sp.csr_array(with_task(X, task)), task=-1, method="logdet", shrinkage=shrinkage
    )
    assert_allclose(sparse.values, values, rtol=1e-8, atol=1e-10)


def test_it_sees_how_features_go_together_and_not_where_they_lie():
    X, task = _problem()
    X[:, 1] /= 10.0
    X[:, 2] *= 10.0
    options = {"task": -1, "method": "logdet", "scale": False}
    found = task_distances(with_task(X, task), **options)
    assert found[0, 3] < 0.25 * found[0, 1]
    X[task == 3] -= 5.0
    here = task_distances(with_task(X, task), **options)
    assert_allclose(here.values, found.values, rtol=1e-8)


def test_a_shrinkage_without_an_inverse_is_refused():
    X, task = _problem()
    with pytest.raises(ValueError, match="shrinkage must be a number above 0"):
        task_distances(with_task(X, task), task=-1, method="logdet", shrinkage=0.0)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1e4])
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
def test_without_scaling_it_equals_its_definition_wherever_features_lie(offset, pack):
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 2)) * np.where(task, 4.0, 1.0)[:, None]
    A, B = (0.9 * np.cov(X[task == t].T, bias=True) + 0.1 * np.eye(2) for t in range(2))
    X[:, 0] += offset
    found = task_distances(
        pack(with_task(X, task)), task=-1, method="logdet", scale=False
    )
    assert_allclose(found[0, 1], twin.logdet(A, B), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1e8, 1e200])
def test_features_of_any_size_have_distances_or_are_refused(size):
    X, task = _problem()
    options = {"task": -1, "method": "logdet", "scale": False}
    keep = task != 2
    few = with_task(X * size, task)
    many = task_distances(few[keep], **options)
    assert np.isfinite(many.values).all()
    assert (many[0, 1] > 0.5) == (size > 1)  # the unit matrix drowns small features
    if size > 1:
        with pytest.raises(ValueError, match=r"task 2.* has no inverse.*scale=True"):
            task_distances(few, **options)


def test_tasks_of_one_row_and_too_many_features_are_refused():
    X, task = _problem()
    task[0] = 9
    with pytest.raises(ValueError, match="Task 9 has one row; a covariance needs two"):
        task_distances(with_task(X, task), task=-1, method="logdet")
    wide = sp.csr_array(with_task(np.zeros((4, 8000)), [0, 0, 1, 1]))
    with pytest.raises(ValueError, match="8,000 features in 2 tasks would take"):
        task_distances(wide, task=-1, method="logdet")
