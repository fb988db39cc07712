"""Calibrated probabilities of boosted stumps."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import log_loss

from kinlearn import with_task
from kinlearn.boosting import AbstainingAdaBoostClassifier


def make_rows(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)).round(1), np.arange(n) % 3
    level = X[:, 0] + X[:, 1] * (task == 1) + rng.normal(size=n)
    # a rare last class
    return with_task(X, task), np.digitize(level, np.arange(n_classes - 1) * 1.0 + 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_near_frequencies_where_classes_began_alike(n_classes):
    X, y = make_rows(1800, n_classes)
    model = AbstainingAdaBoostClassifier(30, task=-1, n_roots=3)
    plain = clone(model).fit(X[:450], y[:450])
    calibrated = model.set_params(calibration_folds=3).fit(X[:450], y[:450])
    assert_array_equal(plain.stumps_.nodes, calibrated.stumps_.nodes)
    assert_array_equal(plain.predict(X), calibrated.predict(X))
    test, truth = X[450:], y[450:]
    proba = calibrated.predict_proba(test)
    assert_allclose(proba.sum(axis=1), 1)
    assert log_loss(truth, proba) < log_loss(truth, plain.predict_proba(test))
    base = np.bincount(truth) / len(truth)
    assert log_loss(truth, proba) < -(base * np.log(base)).sum()
    assert_allclose(proba.mean(axis=0), base, atol=0.05)
    # tasks that fit did not see have the mean over tasks
    with pytest.warns(UserWarning, match="did not see"):
        of_unknown = calibrated.predict_proba(with_task(test[:5, :-1], [9] * 5))
    tasks = [with_task(test[:5, :-1], [t] * 5) for t in range(3)]
    mean = np.mean([calibrated.predict_proba(each) for each in tasks], axis=0)
    assert_allclose(of_unknown, mean)


def test_order_copies_and_sparse_rows_make_no_difference():
    X, y = make_rows(150, 2)
    X[np.abs(X) < 0.5] = 0
    X[:, -1] = np.arange(150) % 3
    model = AbstainingAdaBoostClassifier(20, task=-1, n_roots=5, calibration_folds=3)
    expected = model.fit(X, y).predict_proba(X)
    order = np.random.default_rng(0).permutation(len(y))
    assert_allclose(model.fit(X[order], y[order]).predict_proba(X), expected)
    assert_allclose(model.fit(sp.csr_array(X), y).predict_proba(X), expected)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    weighed = model.fit(X, y, sample_weight=weight).predict_proba(X)
    times = np.repeat(np.arange(len(y)), weight)
    assert_allclose(model.fit(X[times], y[times]).predict_proba(X), weighed)
