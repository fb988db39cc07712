"""Trees on sparse X: those of the same rows with every cell."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import kinlearn._binning._sparse as sparse_bins
import kinlearn.trees._sparse as unpacking
from kinlearn import with_task
from kinlearn.boosting import MultiTaskAdaBoostClassifier
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
    shap_linear,
    shap_rows,
)
from kinlearn.trees.decision._model import MultiTaskTree

MODELS = [
    MultiTaskDecisionTreeClassifier(task=-1, purity=0.8),
    MultiTaskRandomForestClassifier(30, task=-1, oob_score=True, random_state=0),
    MultiTaskExtraTreesClassifier(
        20, task=-1, bootstrap=True, oob_score=True, random_state=0
    ),
    MultiTaskExtraTreesRegressor(10, task=-1, linear_part=True, random_state=0),
    MultiTaskAdaBoostClassifier(n_estimators=3, task=-1, random_state=0),
]


@pytest.fixture(scope="module")
def rows():
    """Counts, two columns of many values, and one with missing ones; four tasks."""
    rng = np.random.default_rng(0)
    n = 400
    X = rng.poisson(0.3, size=(n, 30)).astype(float)
    X[:, 0] = rng.normal(size=n)
    X[:, 1] = np.where(rng.random(n) < 0.3, rng.normal(size=n), 0)
    X[3:9, 2] = np.nan
    task = rng.integers(0, 4, n)
    y = (X[:, 0] + X[:, 3] * (task - 1) + X[:, 1] > 0.2) + 2 * (task == 3)
    return X, task, y.astype(int), rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_model_is_that_of_the_dense_rows(rows, model, weighted, monkeypatch):
    X, task, y, weight = rows
    monkeypatch.setattr(unpacking, "_CELLS_AT_ONCE", 1000)  # several blocks
    model.set_params(unknown_task="share")
    dense, strange = with_task(X, task), with_task(X, np.where(task == 1, 9, task))
    predictions = []
    for form in (np.asarray, sp.csr_array, sp.csc_matrix):
        model.fit(form(dense), y, sample_weight=weight if weighted else None)
        predict = getattr(model, "predict_proba", model.predict)
        of_model = [predict(dense), predict(form(strange))]
        if hasattr(model, "apply"):
            of_model.append(model.apply(form(strange)))
        if hasattr(model, "oob_score_"):
            of_model.append(np.array(model.oob_score_))
        predictions.append(of_model)
    for of_model in predictions[1:]:
        for one, two in zip(predictions[0], of_model, strict=True):
            assert_array_equal(one, two)


def test_explanations_take_sparse_rows(rows):
    X, task, y, _ = rows
    model = MODELS[3].fit(with_task(X, task), y)
    some = with_task(sp.csr_array(X[:20]), task[:20])
    for function in (shap_rows, shap_linear):
        assert_array_equal(function(model, some), function(model, some.toarray()))


@pytest.mark.parametrize("model", MODELS[:4], ids=lambda m: type(m).__name__)
def test_more_cells_than_memory_are_an_error(rows, model, monkeypatch):
    X, task, y, _ = rows
    monkeypatch.setattr(sparse_bins, "_MOST_CELLS", 10_000)
    with pytest.raises(ValueError, match=r"400 x 30 cells.*TruncatedSVD"):
        model.fit(with_task(sp.csr_array(X), task), y)


def test_a_number_too_large_is_named_with_its_row(rows):
    X, task, y, _ = rows
    large = np.where(np.isnan(X), 0, X)
    large[7, 4] = 1e60
    with pytest.raises(ValueError, match="row 7, feature 4"):
        MODELS[2].fit(with_task(sp.csr_array(large), task), y)


def test_categories_in_sparse_rows_are_an_error(rows):
    X, task, y, _ = rows
    model = MultiTaskRandomForestClassifier(2, task=-1, categorical_features=[4])
    with pytest.raises(TypeError, match=r"X is sparse. Pass X.toarray\(\)"):
        model.fit(with_task(sp.csr_array(X), task), y)


@pytest.mark.parametrize("model", MODELS[:2], ids=lambda m: type(m).__name__)
def test_later_rows_are_not_unpacked_all_at_once(rows, model, monkeypatch):
    X, task, y, _ = rows
    model.fit(with_task(sp.csr_array(X), task), y)
    monkeypatch.setattr(unpacking, "_CELLS_AT_ONCE", 1000)
    cells, leaves = [], MultiTaskTree.leaves

    def noted(tree, X):
        cells.append(X.size)
        return leaves(tree, X)

    monkeypatch.setattr(MultiTaskTree, "leaves", noted)
    model.add_task(with_task(sp.csr_array(X), task + 4), y)
    assert 0 < max(cells) <= 1000
