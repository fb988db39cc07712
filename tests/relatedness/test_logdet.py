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
    found = task_distances(with_task(X, task), task=-1, method="logdet", scale=False)
    assert found[0, 3] < 0.2 < 0.5 * found[0, 1]


def test_a_shrinkage_without_an_inverse_is_refused():
    X, task = _problem()
    with pytest.raises(ValueError, match="shrinkage must be a number above 0"):
        task_distances(with_task(X, task), task=-1, method="logdet", shrinkage=0.0)
