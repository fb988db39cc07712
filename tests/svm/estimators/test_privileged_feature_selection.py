"""Feature selection that goes on learning from what it drops."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kinlearn.svm import PrivilegedFeatureSelectionClassifier, SVMPlusClassifier
from tests.reference import rankings as plain


def problem(n_classes=2):
    return make_classification(
        80,
        12,
        n_informative=4,
        n_redundant=2,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=0,
    )


def test_it_is_svm_plus_on_the_columns_that_the_ranking_drops():
    X, y = problem()
    order = np.argsort(-plain.fisher(X, y))
    kept, dropped = np.sort(order[:5]), np.sort(order[5:])
    model = PrivilegedFeatureSelectionClassifier(n_features=5).fit(X, y)
    assert_array_equal(model.ranking_, order)
    assert_array_equal(model.selected_, kept)
    assert_array_equal(model.get_support(), np.isin(np.arange(12), kept))
    assert_array_equal(model.get_support(indices=True), kept)
    direct = SVMPlusClassifier(privileged=list(dropped)).fit(X, y)
    assert_allclose(model.decision_function(X), direct.decision_function(X))
    assert_allclose(model.correcting_values_, direct.correcting_values_)


@pytest.mark.parametrize("ranking", ["information_gain", "cmim"])
def test_rankings_by_information(ranking):
    X, y = problem()
    X = np.digitize(X, [-1, 0, 1]).astype(float)
    model = PrivilegedFeatureSelectionClassifier(n_features=4, ranking=ranking)
    model.fit(X, y)
    if ranking == "cmim":
        expected = plain.cmim(X, y, 4)
    else:
        gain = [plain.information(X[:, j], y) for j in range(12)]
        expected = np.argsort(-np.array(gain))[:4]
        assert_allclose(model.scores_, gain, atol=1e-12)
    assert_array_equal(model.ranking_[:4], expected)


def test_new_rows_need_the_selected_features_alone():
    X, y = problem()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    model = PrivilegedFeatureSelectionClassifier(n_features=0.25).fit(frame, y)
    assert len(model.selected_) == 3
    short = frame.iloc[:, model.selected_]
    assert_array_equal(model.predict(short), model.predict(frame))
    with pytest.raises(ValueError, match="now missing"):
        model.predict(short.iloc[:, :2])


@pytest.mark.parametrize("ranking", ["fisher", "information_gain", "cmim"])
def test_sparse_is_dense(ranking):
    X, y = problem(3)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    model = PrivilegedFeatureSelectionClassifier(n_features=4, ranking=ranking)
    dense = model.fit(X, y).decision_function(X)
    first = model.selected_
    packed = model.fit(sp.csr_array(X), y).decision_function(sp.csc_array(X))
    assert_array_equal(model.selected_, first)
    assert_allclose(packed, dense, atol=1e-2)


def test_all_features_are_a_plain_machine():
    X, y = problem()
    inner = SVMPlusClassifier(tol=1e-7)
    model = PrivilegedFeatureSelectionClassifier(inner, n_features=12).fit(X, y)
    expected = SVC(tol=1e-7).fit(X, y).decision_function(X)
    assert_allclose(model.decision_function(X), expected, atol=1e-3)


def test_search_over_both_levels():
    X, y = problem()
    model = make_pipeline(
        StandardScaler(), PrivilegedFeatureSelectionClassifier(SVMPlusClassifier())
    )
    name = "privilegedfeatureselectionclassifier__"
    grid = {name + "n_features": [2, 6], name + "estimator__C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.7


def test_bad_input_is_named():
    X, y = problem()
    with pytest.raises(ValueError, match="n_features=13, but X has 12 features"):
        PrivilegedFeatureSelectionClassifier(n_features=13).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        PrivilegedFeatureSelectionClassifier().fit(X, np.zeros(80))


def test_an_estimator_with_groups_is_refused():
    X, y = make_classification(n_features=6, random_state=0)
    model = PrivilegedFeatureSelectionClassifier(SVMPlusClassifier(group=-1))
    with pytest.raises(ValueError, match=r"ranks every column .* has group=-1"):
        model.fit(X, y)


@pytest.mark.parametrize("ranking", ["fisher", "information_gain", "cmim"])
def test_kept_features_are_selected_and_the_best_of_the_others(ranking):
    X, y = problem()
    X = np.digitize(X, [-1, 0, 1]).astype(float)
    free = PrivilegedFeatureSelectionClassifier(n_features=4, ranking=ranking).fit(X, y)
    worst = sorted(free.ranking_[-2:].tolist())
    model = PrivilegedFeatureSelectionClassifier(
        n_features=4, ranking=ranking, keep=worst
    ).fit(X, y)
    assert_array_equal(np.sort(model.ranking_), np.arange(12))
    assert_array_equal(model.ranking_[:2], worst)
    assert set(worst) <= set(model.selected_.tolist())
    if ranking == "cmim":  # the others add to what is kept
        information = [
            min(plain.information(X[:, j], y, X[:, c]) for c in worst)
            if j not in worst
            else -1
            for j in range(12)
        ]
        gain = [plain.information(X[:, j], y) for j in range(12)]
        assert model.ranking_[2] == np.argmax(np.minimum(information, gain))
    else:
        rest = free.ranking_[~np.isin(free.ranking_, worst)]
        assert_array_equal(model.ranking_[2:], rest)


def test_kept_features_by_name_and_from_the_end():
    X, y = problem()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    named = PrivilegedFeatureSelectionClassifier(n_features=2, keep="f11").fit(frame, y)
    placed = PrivilegedFeatureSelectionClassifier(n_features=2, keep=[-1, 11]).fit(X, y)
    assert_array_equal(named.selected_, placed.selected_)
    assert 11 in named.selected_
    with pytest.raises(ValueError, match="keep names 2 features, but n_features=1"):
        PrivilegedFeatureSelectionClassifier(n_features=1, keep=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="Kept column 12 is out of range"):
        PrivilegedFeatureSelectionClassifier(keep=12).fit(X, y)
    with pytest.raises(TypeError, match="keep must be a column name"):
        PrivilegedFeatureSelectionClassifier(keep=1.5).fit(X, y)
