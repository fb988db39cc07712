"""The Kin estimators on sparse X: wide texts, one-hot columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.sharing.kin._features import Standardisation
from kinlearn.sharing.kin._folds import distinct_rows
from kinlearn.tasks import check_task_data

QUICK = {"n_folds": 2, "random_state": 0, "unknown_task": "share"}


@pytest.fixture(scope="module")
def texts():
    """Counts of 300 words in three tasks; a word of the last task means the reverse."""
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1, 2], 80)
    X = sp.random_array((240, 300), density=0.05, random_state=rng, format="csr")
    X.data[:] = rng.integers(1, 4, size=X.nnz)
    common = rng.normal(size=300)
    slope = np.tile(common, (3, 1))
    slope[2, :150] *= -1
    score = np.asarray(X.multiply(slope[task]).sum(axis=1)).ravel()
    return sp.csr_array(with_task(X, task)), score + 0.2 * rng.normal(size=240)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_numbers(texts, form):
    X, y = texts
    model = KinRegressor(task=-1, **QUICK).fit(form(X), y)
    able = ("ridge", "support vector machine")
    assert all(name.startswith(able) for name in model.candidates_)
    assert set(model.roles_) == {"own", "pooled", "shared"}
    assert model.dropped_["extra trees, multi-task"] == "it takes no sparse X"
    assert model.dropped_["gradient boosting, pooled"] == "it takes no sparse X"
    expected = model.predict(X)
    assert np.isfinite(expected).all()
    assert np.corrcoef(expected, y)[0, 1] > 0.8
    assert_allclose(model.predict(X.toarray()), expected)  # dense rows are welcome
    strange = X.tolil()
    strange[:, -1] = 9
    assert np.isfinite(model.predict(strange.tocsr())).all()


def test_classes_have_linear_models_and_boosting(texts):
    X, y = texts
    model = KinClassifier(task=-1, **QUICK).fit(X, y > 0)
    assert "MTBoost, multi-task" in model.candidates_
    assert "support vector machine, multi-task" in model.candidates_
    assert not any("trees" in name for name in model.candidates_)
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, y > 0) > 0.9


def test_families_that_take_no_sparse_rows_say_what_to_do(texts):
    X, y = texts
    with pytest.raises(ValueError, match='Add "linear" to the families'):
        KinRegressor(task=-1, families=["trees"]).fit(X, y)
    with pytest.raises(ValueError, match="TruncatedSVD"):
        KinRegressor(task=-1, families=["boosting"]).fit(X, y)


def test_sparse_rows_of_few_columns_or_few_zeros_are_taken_for_dense(texts):
    X, y = (rows[::3] for rows in texts)
    few = sp.hstack([X[:, :80], X[:, [-1]]], format="csr")
    full = sp.csr_array(X.toarray() + 0.5 * (np.arange(301) < 100))
    options = {"families": ["linear", "trees"], "n_estimators": 3, **QUICK}
    for Z in (few, full):
        one = KinRegressor(task=-1, **options).fit(Z, y)
        two = KinRegressor(task=-1, **options).fit(Z.toarray(), y)
        assert one.dropped_ == {}
        assert_allclose(one.predict(Z), two.predict(Z.toarray()))


def test_dense_models_take_sparse_rows(texts):
    X, y = texts
    model = KinRegressor(task=-1, families=["linear"], **QUICK).fit(X.toarray(), y)
    assert_allclose(model.predict(X), model.predict(X.toarray()))


def test_order_of_rows_stored_zeros_and_weights_do_not_matter(texts):
    X, y = texts
    options = {"families": ["linear"], **QUICK}
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, size=len(y))
    times = rng.permutation(np.repeat(np.arange(len(y)), weight))
    one = KinRegressor(task=-1, **options).fit(X, y, sample_weight=weight)
    two = KinRegressor(task=-1, **options).fit(X[times], y[times])
    assert_allclose(one.weights_, two.weights_, atol=0.01)
    stored = X.copy()
    stored.data[::7] = 0
    plain = stored.copy()
    plain.eliminate_zeros()
    groups = [
        distinct_rows(
            check_task_data(Z, y, task=-1, labels="numbers", accept_sparse="csr")
        )[0]
        for Z in (stored, plain)
    ]
    assert_array_equal(*groups)


def test_equal_rows_and_no_others_are_one():
    X = sp.csr_array([[0, 1, 2, 0], [1, 0, 2, 0], [0, 1, 2, 0], [0, 2, 1, 0]]).astype(
        float
    )
    for y, task, expected in (
        ([1, 1, 1, 1], [0, 0, 0, 0], 3),
        ([1, 1, 2, 1], [0, 0, 0, 0], 4),
        ([1, 1, 1, 1], [0, 0, 1, 0], 4),
    ):
        data = check_task_data(
            with_task(X, task), y, task=-1, labels="numbers", accept_sparse="csr"
        )
        group, first = distinct_rows(data)
        assert len(first) == expected
        assert_array_equal(np.sort(group[first]), np.arange(expected))


def test_sparse_rows_get_a_common_size():
    rng = np.random.default_rng(0)
    X = sp.random_array((50, 40), density=0.2, random_state=rng, format="csr")
    weight = rng.integers(1, 4, size=50).astype(float)
    scale = Standardisation.of(X, weight)
    assert_array_equal(scale.centre, 0)
    assert_allclose(scale.spread, scale.spread[0])
    Z = scale.apply(X)
    norms = Z.multiply(Z).sum(axis=1)
    assert_allclose(np.average(norms, weights=weight), 30)
    # any unit gives the same
    assert_allclose(
        Standardisation.of(1e-200 * X, weight).apply(1e-200 * X).toarray(), Z.toarray()
    )
    # a feature that would drown the others is drawn to ten times the usual one
    loud = sp.csr_array(X.toarray() * np.where(np.arange(40) == 3, 1e6, 1.0))
    Z = Standardisation.of(loud, weight).apply(loud).toarray()
    usual = np.median(np.abs(Z).max(axis=0)[np.abs(Z).max(axis=0) > 0])
    assert_allclose(np.abs(Z[:, 3]).max(), 10 * usual)


def test_missing_values_of_sparse_rows_are_zeros(texts):
    X, y = texts
    lacking = X.copy()
    lacking.data[::11] = np.nan
    lacking = sp.csr_array(with_task(lacking[:, :-1], np.repeat([0, 1, 2], 80)))
    model = KinRegressor(task=-1, families=["linear"], **QUICK).fit(lacking, y)
    zeros = lacking.copy()
    zeros.data = np.nan_to_num(zeros.data)
    assert_allclose(model.predict(lacking), model.predict(zeros))


def test_no_cells_at_all():
    X = with_task(sp.csr_array((40, 500), dtype=float), np.arange(40) % 2)
    y = np.arange(40.0)
    model = KinRegressor(task=-1, families=["linear"], **QUICK).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
