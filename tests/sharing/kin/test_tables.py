"""The Kin estimators on tables with categories, dates and missing cells."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from numpy.testing import assert_allclose, assert_array_equal

import kinlearn
from kinlearn import KinClassifier, KinRegressor
from kinlearn.sharing.kin._features import MeanTargets, Standardisation, WithMeanTargets

QUICK = {"n_estimators": 10, "n_folds": 3, "random_state": 0, "unknown_task": "share"}


def make_table(n_rows=240, seed=0, n_towns=60):
    """A number, few and many categories, a date and a bool; the town is what counts."""
    rng = np.random.default_rng(seed)
    effect = np.random.default_rng(9).normal(size=n_towns)
    town = rng.integers(n_towns, size=n_rows)
    colour = rng.integers(3, size=n_rows)
    X = pd.DataFrame(
        {
            "size": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
            "colour": pd.Categorical(np.array(["red", "green", "blue"])[colour]),
            "town": [f"town {t}" for t in town],
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(400, size=n_rows), unit="D"),
            "new": rng.random(n_rows) < 0.5,
            "shop": np.array(list("abcd"))[rng.integers(4, size=n_rows)],
        }
    )
    X.loc[rng.random(n_rows) < 0.05, "colour"] = None
    y = 2 * effect[town] + (colour == 1) + 0.3 * rng.normal(size=n_rows)
    return X, y


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("families", ["linear", "svm", "trees", "boosting"])
def test_every_family_learns_from_categories(kind, families):
    X, y = make_table()
    X_new, y_new = make_table(seed=1)
    estimator = KinRegressor
    if kind == "classes":
        y, y_new, estimator = y > 0, y_new > 0, KinClassifier
    model = estimator(task="shop", families=families, **QUICK).fit(X, y)
    score, least = model.score(X_new, y_new), 0.6 if kind == "classes" else 0.2
    assert score > least
    assert model.table_encoder_.categorical_.sum() == 2
    other = X_new.assign(town="nowhere", colour="pink", shop="e")
    assert len(model.predict(other)) == len(other)


def test_models_come_back_and_columns_keep_their_names(tmp_path):
    X, y = make_table()
    model = KinClassifier(task="shop", **QUICK).fit(X, y > 0)
    expected = model.predict_proba(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    kinlearn.save(model, tmp_path / "model.skops")
    again = kinlearn.load(tmp_path / "model.skops")
    assert_array_equal(again.predict_proba(X), expected)
    assert skops.io.dumps(model)
    found = model.permutation_importance(X, y > 0, n_repeats=2, random_state=0)
    assert found.importances_mean.shape == (6,)
    assert found.importances_mean.argmax() == list(X.columns).index("town")
    other = pl.from_pandas(X)
    assert_allclose(model.predict_proba(other), expected)


def test_boosters_and_forests_know_which_columns_are_categories():
    X, y = make_table()
    model = KinRegressor(task="shop", families=["trees", "boosting"], **QUICK)
    model.fit(X, y)
    codes = np.flatnonzero(model.table_encoder_.categorical_)
    seen = 0
    for name, part in zip(model.candidates_, model.models_, strict=True):
        if part is None or not name.endswith(("pooled", "multi-task")):
            continue
        part = getattr(part, "models", [part])[0]
        inner = getattr(part, "estimator_", part)
        assert set(codes) <= set(np.flatnonzero(inner.is_categorical_))
        seen += 1
    assert seen


def test_mean_targets_are_learned_without_the_rows_held_out(monkeypatch):
    """A town of one row in a fold must not tell the target of that row."""
    n_rows = []
    fit_apply = MeanTargets.fit_apply

    def remember(self, X, y, n_classes):
        n_rows.append(len(X))
        return fit_apply(self, X, y, n_classes)

    monkeypatch.setattr(MeanTargets, "fit_apply", remember)
    rng = np.random.default_rng(0)
    X, _ = make_table(150, n_towns=50)
    y = rng.normal(size=150)  # noise
    model = KinRegressor(task="shop", families="linear", **QUICK).fit(X, y)
    assert model.seen_score_ < 0.1
    assert set(n_rows) > {100, 150}
    wrapped = [m for m in model.models_ if isinstance(m, WithMeanTargets)]
    assert wrapped


def test_codes_become_indicators_or_stay_for_mean_targets():
    codes = np.array([0, 1, 2, np.nan, 1, 0.0] * 20)
    many = np.arange(120) % 40.0
    X = np.column_stack([many, np.linspace(-1, 1, 120), codes])
    scale = Standardisation.of(X, np.ones(120), np.array([True, False, True]))
    Z = scale.apply(X)
    assert scale.n_codes == 1
    assert_array_equal(Z[:, -1], many)
    assert_allclose(Z[:, 0].std(), 1)
    assert_array_equal(Z[:, 1:-1].sum(axis=1), 1)  # three values, and missing
    assert Z.shape == (120, 6)
    new = X.copy()
    new[:, 2] = np.nan
    assert_array_equal(scale.apply(new)[:, 1:5], [[0, 0, 0, 1]] * 120)


def test_mean_targets_have_unit_variance_and_know_no_new_values():
    rng = np.random.default_rng(0)
    task = np.arange(400) % 2
    X = np.column_stack([rng.normal(size=400), np.arange(400) % 40, task])
    y = (X[:, 1] > 20) + 0.1 * rng.normal(size=400)
    codes = MeanTargets(1)
    fitted = codes.fit_apply(X, y, 0)
    assert_allclose(fitted[:, 1].std(), 1)
    assert_array_equal(fitted[:, [0, 2]], X[:, [0, 2]])
    assert np.corrcoef(fitted[:, 1], y)[0, 1] > 0.9
    strange = codes.apply(np.array([[0.0, 77.0, 0.0], [0.0, -1.0, 1.0]]))
    assert_allclose(strange[:, 1], 0, atol=0.1)  # the mean of all
