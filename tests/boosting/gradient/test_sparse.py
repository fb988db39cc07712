"""Sparse rows: the same model as of dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._binning import _sparse
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
    shap_rows,
)
from kinlearn.boosting.gradient._bins import Binned
from kinlearn.tasks import with_task

SMALL = {"task": -1, "n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
FORMATS = [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array]


def make_rows(n=300, seed=0):
    """Thin and dense columns, few values and many, negative ones and missing ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < [0.1, 0.2, 0.9, 1, 0.1, 0.02])
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(n) < 0.1, 4] = np.nan
    task = rng.integers(1, 6, size=n)
    y = X[:, 2] * np.where(task > 3, 1, -1) + 3 * (X[:, 0] > 0) + 0.1 * task
    return X, task, y + 2 * np.isnan(X[:, 4])


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("max_bins", [8, 255])
def test_bins_are_those_of_dense_rows(form, max_bins):
    X, *_ = make_rows()
    weight = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    for given in (None, weight):
        dense = Binned.of(X, given, max_bins=max_bins)
        thin = Binned.of(form(X), given, max_bins=max_bins)
        assert_array_equal(thin.features.edges, dense.features.edges)
        there = np.ones(len(X), dtype=bool) if given is None else given > 0
        assert_array_equal(thin.bins[there], dense.bins[there])
        new = make_rows(seed=1)[0]
        found = thin.features.assign(form(new))
        assert_array_equal(found, dense.features.assign(new))


@pytest.mark.parametrize("form", FORMATS)
def test_models_are_those_of_dense_rows(form):
    X, task, y = make_rows()
    Z, S = with_task(X, task), form(with_task(X, task))
    for model, target in [
        (MultiTaskGradientBoostingRegressor(**SMALL), y),
        (MultiTaskGradientBoostingRegressor("poisson", offset=3, **SMALL), y - y.min()),
        (MultiTaskGradientBoostingClassifier(**SMALL, subsample=0.7), y > 0),
    ]:
        expected = model.fit(Z, target).predict(Z)
        assert_array_equal(model.predict(S), expected)
        assert_array_equal(model.fit(S, target).predict(S), expected)
        assert_array_equal(model.predict(Z), expected)
        assert_array_equal(shap_rows(model, S), shap_rows(model, Z))
        assert len([*model.staged_predict(S)]) == 8
    plain = MultiTaskGradientBoostingRegressor(n_estimators=3, early_stopping=True)
    plain.set_params(random_state=0)
    assert_allclose(plain.fit(form(X), y).predict(X), plain.fit(X, y).predict(X))


def test_later_rows_may_be_sparse():
    X, task, y = make_rows()
    Z = with_task(X, task)
    new = task == 2
    dense = MultiTaskGradientBoostingRegressor(**SMALL).fit(Z[~new], y[~new])
    thin = MultiTaskGradientBoostingRegressor(**SMALL)
    thin.fit(sp.csr_array(Z[~new]), y[~new])
    dense.add_task(Z[new], y[new]).partial_fit(Z, y + 1)
    thin.add_task(sp.csc_array(Z[new]), y[new]).partial_fit(sp.csr_array(Z), y + 1)
    assert_array_equal(thin.predict(Z), dense.predict(Z))


def test_cells_stored_twice_are_added():
    X, _, y = make_rows()
    twice = sp.coo_array(X)
    row, column = twice.coords
    twice = sp.coo_array(
        (np.tile(twice.data / 2, 2), (np.tile(row, 2), np.tile(column, 2))), X.shape
    )
    model = MultiTaskGradientBoostingRegressor(n_estimators=3, random_state=0)
    assert_array_equal(model.fit(twice, y).predict(twice), model.fit(X, y).predict(X))


def test_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr(_sparse, "_MOST_CELLS", 1000)
    X, task, y = make_rows()
    model = MultiTaskGradientBoostingRegressor(**SMALL)
    with pytest.raises(ValueError, match=r"300 x 6 cells; .* Choose fewer columns"):
        model.fit(sp.csr_array(with_task(X, task)), y)


def test_categories_want_dense_rows():
    X, task, y = make_rows()
    X[:, 1] = np.abs(X[:, 1])
    Z = with_task(X, task)
    model = MultiTaskGradientBoostingRegressor(**SMALL, categorical_features=[1])
    with pytest.raises(TypeError, match="X is sparse"):
        model.fit(sp.csr_array(Z), y)
    model.fit(Z, y)
    with pytest.raises(TypeError, match="X is sparse"):
        model.predict(sp.csr_array(Z))
