"""Explanations of Kin: they add up, through mixtures, tables and files."""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

import kinlearn
from kinlearn import KinClassifier, KinRegressor
from kinlearn.report import ExplanationDisplay

QUICK = {"n_estimators": 10, "n_folds": 3, "random_state": 0, "unknown_task": "share"}


def make_table(n_features=4, n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        rng.normal(size=(n, n_features)), columns=[f"f{j}" for j in range(n_features)]
    )
    task = rng.integers(4, size=n)
    X["colour"] = pd.Categorical(np.array(["red", "blue"])[rng.integers(2, size=n)])
    X["shop"] = np.array(list("abcd"))[task]
    y = 3 * X["f0"] + task + (X["colour"] == "red") + 0.1 * rng.normal(size=n)
    X.loc[:5, "f1"] = np.nan
    return X, y.to_numpy()


def assert_adds_up(found, expected):
    total = found.base + found.contributions.sum(axis=1)
    assert_allclose(total, expected, atol=1e-9)
    assert_allclose(found.prediction, expected, atol=1e-9)


@pytest.mark.parametrize("families", ["linear", ["linear", "trees"]])
@pytest.mark.parametrize("n_features", [4, 9], ids=["all coalitions", "walks"])
def test_contributions_add_up_to_the_prediction(families, n_features):
    X, y = make_table(n_features)
    model = KinRegressor(task="shop", families=families, **QUICK).fit(X, y)
    some = X[:6]
    found = model.explain(some)
    assert_adds_up(found, model.predict(some))
    assert found.what == "prediction"
    assert list(found.names) == [*model.feature_names_, "shop"]
    assert found.exact.all() == (n_features == 4)
    # what makes y counts most
    assert set(found.names[np.argsort(-found.mean_absolute)[:2]]) == {"f0", "shop"}
    assert (found.standard_error >= 0).all()
    again = model.explain(some)
    assert_array_equal(found.contributions, again.contributions)


def test_probabilities_of_classes_add_up():
    X, y = make_table()
    model = KinClassifier(task="shop", families="linear", **QUICK)
    two = model.fit(X, np.where(y > 1, "yes", "no"))
    some = pd.concat([X[6:9], X[9:10].assign(shop="new")])
    found = two.explain(some)
    assert found.what == "probability of yes"
    assert_adds_up(found, two.predict_proba(some)[:, 1])
    other = two.explain(some, label="no")
    assert_allclose(other.contributions, -found.contributions, atol=1e-9)
    three = model.fit(X, np.digitize(y, [0, 3]))
    found = three.explain(some)
    assert found.what == "probability of the likeliest class"
    assert_adds_up(found, three.predict_proba(some).max(axis=1))
    assert_adds_up(three.explain(some, label=0), three.predict_proba(some)[:, 0])
    with pytest.raises(ValueError, match="label=7 is no class; found 0, 1, 2"):
        three.explain(some, label=7)


def test_linear_models_have_their_coefficients():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = X @ np.arange(12.0)
    model = KinRegressor(families="linear", **QUICK).fit(X, y)
    found = model.explain(X[:5])
    reference = Ridge(alpha=1e-9).fit(X, model.predict(X))  # one task: it is linear
    background = np.asarray(model._background)[:, :-1]
    expected = reference.coef_ * (X[:5] - background.mean(axis=0))
    assert_allclose(found.contributions[:, :-1], expected, atol=1e-6)
    assert_array_equal(found.contributions[:, -1], 0.0)
    assert not found.exact.any()


def test_tables_and_files_of_all_kinds(tmp_path):
    X, y = make_table()
    model = KinRegressor(task="shop", families="linear", **QUICK).fit(X, y)
    expected = model.explain(X[:3]).contributions
    assert_allclose(model.explain(pl.from_pandas(X[:3])).contributions, expected)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.explain(X[:3]).contributions, expected)
    kinlearn.save(model, tmp_path / "model.skops")
    loaded = kinlearn.load(tmp_path / "model.skops")
    assert_allclose(loaded.explain(X[:3]).contributions, expected)
    frame = model.explain(X[:3]).to_frame()
    assert frame.columns.tolist()[-3:] == ["shop", "base", "prediction"]
    assert_allclose(frame.iloc[:, :-1].sum(axis=1), frame["prediction"])


def test_sparse_rows():
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 150), density=0.05, format="csr", random_state=rng)
    y = np.asarray(X.sum(axis=1)).ravel() + 0.01 * rng.normal(size=200)
    task = rng.integers(3, size=200)
    table = kinlearn.with_task(X, task)
    model = KinRegressor(task=-1, families="linear", **QUICK).fit(table, y)
    assert sp.issparse(model._background)
    found = model.explain(table[:2])
    assert_adds_up(found, model.predict(table[:2]))
    assert found.names[-1] == "task"


def test_wrong_calls():
    X, y = make_table()
    model = KinRegressor(task="shop", families="linear", **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="label=1 is for classifiers"):
        model.explain(X, label=1)
    with pytest.raises(ValueError, match="n_repeats must be an integer of 1 or more"):
        model.explain(X, n_repeats=0)
    del model._background
    with pytest.raises(ValueError, match="Fit it again"):
        model.explain(X)


def test_display():
    X, y = make_table(9)
    model = KinRegressor(task="shop", families="linear", **QUICK).fit(X, y)
    found = model.explain(X[:4])
    many = ExplanationDisplay(found).plot(max_columns=3)
    assert many.names_[-1] == f"{len(found.names) - 3} others"
    assert "mean absolute" in many.ax_.get_xlabel()
    one = ExplanationDisplay(found).plot(row=2, max_columns=3)
    bars = one.ax_.patches
    assert_allclose(bars[0].get_x(), found.base[2])
    ends = [bars[-1].get_x(), bars[-1].get_x() + bars[-1].get_width()]
    assert np.isclose(ends, found.prediction[2]).any()
    assert ExplanationDisplay.from_estimator(model, X[:1]).names_
    with pytest.raises(ValueError, match="row=9 of an explanation of 4 rows"):
        ExplanationDisplay(found).plot(row=9)
    with pytest.raises(TypeError, match=r"Ridge has no explain\(\)"):
        ExplanationDisplay.from_estimator(Ridge(), X)
    plt.close("all")
