"""The demonstration: the same every time, and its story holds."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from kinlearn.datasets import load_demo

SMALL = ["Elm", "Hazel", "Maple", "Oak", "Willow"]
KINDS = ("classification", "regression")


@pytest.mark.parametrize("kind", KINDS)
def test_frame_with_named_clinics(kind):
    demo = load_demo(kind)
    target = {"classification": "readmitted", "regression": "recovery_score"}[kind]
    assert isinstance(demo.frame, pd.DataFrame)
    assert list(demo.data) == [*demo.feature_names, "clinic"]
    assert list(demo.frame) == [*demo.feature_names, "clinic", target]
    assert demo.task == "clinic"
    assert sorted(demo.data["clinic"].unique()) == demo.task_names
    assert demo.target.name == target
    assert not demo.frame.isna().any().any()
    assert "Juniper" in demo.DESCR
    assert target in demo.DESCR
    X, y = load_demo(kind, return_X_y=True)
    pd.testing.assert_frame_equal(X, demo.data)
    pd.testing.assert_series_equal(y, demo.target)


def test_values_are_such_as_a_clinic_would_record():
    data = load_demo().data
    assert data["age"].between(55, 110).all()
    assert data["grip_strength"].between(5, 45).all()
    for column in ("therapy_hours", "hours_to_surgery", "medications"):
        assert data[column].min() >= 0
    for column in ("lives_alone", "dementia", "replaced"):
        assert set(data[column]) == {0.0, 1.0}
    score = load_demo("regression").target
    assert score.between(0, 100).all()


def test_every_call_gives_the_same_data():
    pd.testing.assert_frame_equal(load_demo().frame, load_demo().frame)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_hold_the_same_with_numbered_clinics(kind):
    frame, array = load_demo(kind), load_demo(kind, as_frame=False)
    assert array.frame is None
    assert array.task == -1
    assert_array_equal(array.data[:, :-1], frame.data[frame.feature_names].to_numpy())
    names = np.array(array.task_names)[array.data[:, -1].astype(int)]
    assert_array_equal(names, frame.data["clinic"].to_numpy())
    assert_array_equal(array.target, frame.target.to_numpy())


def test_without_pandas_there_are_arrays(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    demo = load_demo()
    assert isinstance(demo.data, np.ndarray)
    assert demo.task == -1
    with pytest.raises(ImportError, match=r"as_frame=True needs pandas"):
        load_demo(as_frame=True)


def test_unknown_kind():
    with pytest.raises(ValueError, match="'classification', 'regression'"):
        load_demo("clustering")


def test_effects_say_who_is_who():
    truth = load_demo().truth
    alike = np.array(truth.role) == "alike"
    common = truth.coef[alike].mean(axis=0)

    def cosine(c):
        return c @ common / np.linalg.norm(c) / np.linalg.norm(common)

    assert min(cosine(c) for c in truth.coef[alike]) > 0.85
    assert abs(cosine(truth.coef[truth.role.index("different")])) < 0.2
    assert cosine(truth.coef[truth.role.index("reversed")]) < -0.85


def scores_by_clinic(kind, model):
    """Score of each clinic, by a model of its own and by one for all."""
    demo = load_demo(kind)
    X, y = demo.data[demo.feature_names].to_numpy(), demo.target.to_numpy()
    clinic = demo.data["clinic"].to_numpy()
    classify = kind == "classification"
    strata = clinic + (y.astype(str) if classify else "")

    def predict(rows, test):
        model.fit(X[rows], y[rows])
        return (
            model.predict_proba(X[test])[:, 1] if classify else model.predict(X[test])
        )

    alone, pooled = np.empty(len(y)), np.empty(len(y))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(
        X, strata
    ):
        pooled[test] = predict(train, test)
        for name in demo.task_names:
            own = test[clinic[test] == name]
            alone[own] = predict(train[clinic[train] == name], own)
    score = roc_auc_score if classify else r2_score
    return {
        name: tuple(
            score(y[clinic == name], p[clinic == name]) for p in (alone, pooled)
        )
        for name in demo.task_names
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_one_forest_for_all_helps_the_small_and_fails_the_two_that_stand_apart(kind):
    forest = {
        "classification": ExtraTreesClassifier(50, min_samples_leaf=3, random_state=0),
        "regression": ExtraTreesRegressor(50, min_samples_leaf=3, random_state=0),
    }[kind]
    scores = scores_by_clinic(kind, forest)
    for name in ("Juniper", "Larch"):
        alone, pooled = scores[name]
        assert alone > pooled + 0.2
    assert min(scores[name][1] - scores[name][0] for name in SMALL) > 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_cannot_say_what_is_shared(kind):
    line = {
        "classification": LogisticRegression(max_iter=10_000),
        "regression": Ridge(),
    }[kind]
    scores = scores_by_clinic(kind, line)
    for name in ("Juniper", "Larch"):
        alone, pooled = scores[name]
        assert alone > pooled + 0.1
    gains = [scores[name][1] - scores[name][0] for name in SMALL]
    assert abs(np.mean(gains)) < 0.1
