"""Who is compared, in which form, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import keep_task, with_task
from kinlearn.audit import default_contenders
from kinlearn.audit._contenders import choose_contenders, default_entries
from kinlearn.audit._problem import open_problem
from kinlearn.boosting import MultiTaskGradientBoostingClassifier
from kinlearn.sharing import KinClassifier, PerTask, Pooled, TaskAsFeature
from kinlearn.sharing._default_models import DEFAULT_MODELS
from kinlearn.trees import MultiTaskExtraTreesClassifier

RNG = np.random.default_rng(0)
N = 120
X = with_task(RNG.normal(size=(N, 3)), np.arange(N) % 4)
Y = RNG.integers(0, 2, size=N)
PROBLEM = open_problem(X, Y, -1)


def _forms(estimators, problem=PROBLEM):
    entries = choose_contenders(estimators, problem, random_state=0)
    return {e.name: (e.contender.family, e.contender.form) for e in entries}


def test_forms_and_families_are_read_off_the_estimators():
    scaler = keep_task(StandardScaler(), task=-1)
    trees = MultiTaskExtraTreesClassifier(task=-1)
    found = _forms(
        {
            "a": PerTask(LogisticRegression(), task=-1),
            "b": Pooled(make_pipeline(StandardScaler(), LogisticRegression()), task=3),
            "c": make_pipeline(scaler, TaskAsFeature(LogisticRegression(), task=-1)),
            "d": make_pipeline(scaler, trees),
            "e": GridSearchCV(trees, {"min_samples_leaf": [1, 5]}),
        }
    )
    assert found == {
        "a": ("logistic regression", "alone"),
        "b": ("logistic regression", "pooled"),
        "c": ("logistic regression", "task as feature"),
        "d": ("extra trees", "multi-task"),
        "e": ("extra trees", "multi-task"),
    }


@pytest.mark.parametrize(
    ("estimator", "family"),
    [
        (ExtraTreesClassifier(), "extra trees"),
        (RandomForestClassifier(), "RandomForestClassifier"),
        (HistGradientBoostingClassifier(), "gradient boosting"),
        (BaggingClassifier(LogisticRegression()), "logistic regression"),
    ],
)
def test_forests_are_not_taken_for_their_trees(estimator, family):
    assert _forms({"a": estimator})["a, alone"] == (family, "alone")


def test_a_plain_estimator_stands_for_three_forms():
    found = _forms({"lr": make_pipeline(StandardScaler(), LogisticRegression())})
    assert found == {
        f"lr, {form}": ("logistic regression", form)
        for form in ("alone", "pooled", "task as feature")
    }


def test_open_random_states_are_set_and_given_ones_kept():
    entries = choose_contenders(
        {
            "open": PerTask(LogisticRegression(), task=-1),
            "given": MultiTaskExtraTreesClassifier(task=-1, random_state=7),
        },
        PROBLEM,
        random_state=5,
    )
    assert entries[0].estimator.estimator.random_state == 5
    assert entries[1].estimator.random_state == 7


@pytest.mark.parametrize(
    ("estimators", "error", "message"),
    [
        ([LogisticRegression()], TypeError, "must be a dict of estimators by name"),
        ({}, ValueError, "estimators is empty"),
        ({1: LogisticRegression()}, TypeError, "Names of estimators must be strings"),
        ({"a": LogisticRegression}, TypeError, "is the class LogisticRegression"),
        ({"a": "logistic"}, TypeError, "which is not an estimator"),
        ({"a": StandardScaler()}, TypeError, "which is not an estimator"),
        ({"a": Ridge()}, TypeError, "is not a classifier, but y was taken for"),
        (
            {"a": MultiTaskExtraTreesClassifier()},
            ValueError,
            "has task=None, so it does not see the tasks. Set task=-1",
        ),
        (
            {"a": PerTask(LogisticRegression(), task=0)},
            ValueError,
            "has task=0, but the comparison is by task=-1",
        ),
        (
            {"a": PerTask(LogisticRegression(), task=-1)},
            ValueError,
            "None of the estimators shares",
        ),
        (
            {"a": Pooled(LogisticRegression(), task=-1)},
            ValueError,
            "None of the estimators keeps the tasks apart",
        ),
        (
            {
                "a": LogisticRegression(),
                "a, alone": PerTask(LogisticRegression(), task=-1),
            },
            ValueError,
            "Two contenders are named 'a, alone'",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(estimators, error, message):
    with pytest.raises(error, match=message):
        choose_contenders(estimators, PROBLEM, random_state=0)


def test_default_contenders_have_every_form_and_unique_names():
    entries = default_entries(PROBLEM, random_state=0)
    assert {e.contender.form for e in entries} == {
        "alone",
        "pooled",
        "task as feature",
        "multi-task",
    }
    assert len({e.name for e in entries}) == len(entries)


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("n_rows", [100, 19_999, 20_000, 199_999, 200_000, 10**8])
@pytest.mark.parametrize("n_tasks", [2, 50, 51, 200, 201, 10_000])
def test_every_size_has_both_sides_and_no_family_twice(kind, n_rows, n_tasks):
    names = [
        (default.family, form)
        for default in DEFAULT_MODELS
        if default.suits(kind, n_rows, n_tasks)
        for form in default.forms
    ]
    assert len(names) == len(set(names))
    assert {"alone", "pooled", "multi-task"} <= {form for _, form in names}


def test_models_that_take_long_come_when_they_are_asked_for():
    usual = default_contenders(X, Y, task=-1)
    asked = default_contenders(X, Y, task=-1, on_request=True)
    assert set(asked) - set(usual) == {"Kin"}
    assert asked["Kin"].task == -1
    assert isinstance(asked["Kin"], KinClassifier)


def test_larger_data_gets_fewer_contenders():
    counts = [
        sum(len(c.forms) for c in DEFAULT_MODELS if c.suits("classification", rows, 20))
        for rows in (1_000, 50_000, 500_000)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1]


def _mixed(n=N):
    frame = pd.DataFrame(
        {
            "number": RNG.normal(size=n),
            "count": pd.array(RNG.integers(0, 9, n), dtype="Int64"),
            "word": RNG.choice(["x", "y", "z"], n),
            "level": pd.Categorical(RNG.choice(["low", "high"], n)),
            "flag": RNG.random(n) > 0.5,
            "group": RNG.choice(["a", "b", "c"], n),
        }
    )
    frame.loc[::7, "number"] = np.nan
    frame.loc[::9, "word"] = None
    frame.loc[::11, "count"] = pd.NA
    return frame


@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.SingularFitWarning")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_default_contenders_take_mixed_frames_with_gaps(library):
    frame = _mixed()
    X = frame if library == "pandas" else pl.from_pandas(frame)
    for name, model in default_contenders(X, Y, task="group").items():
        proba = model.fit(X, Y).predict_proba(X)
        assert proba.shape == (N, 2), name
        assert np.isfinite(proba).all(), name


@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.SingularFitWarning")
def test_unseen_words_are_no_error():
    frame = _mixed()
    new = frame.assign(word="never seen", level="high")
    for name, model in default_contenders(frame, Y, task="group").items():
        assert len(model.fit(frame, Y).predict(new)) == N, name


@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.SingularFitWarning")
def test_sparse_data_gets_those_who_take_it():
    S = sp.csr_array(X)
    models = default_contenders(S, Y, task=-1)
    wide = sp.hstack([sp.csr_array((N, 2_001)), S]).tocsr()
    assert not any("boosting" in name for name in default_contenders(wide, Y, task=-1))
    for name, model in models.items():
        assert len(model.fit(S, Y).predict(S)) == N, name


def test_dates_are_taken():
    frame = _mixed().assign(day=pd.Timestamp("2024-01-01"))
    model = default_contenders(frame, Y, task="group")["logistic regression, pooled"]
    assert len(model.fit(frame, Y).predict(frame)) == N


def test_a_lone_model_is_scaled_by_its_own_rows():
    # a scaler of all rows in front would share a little
    far = np.array(X)
    far[far[:, -1] == 3, 0] += 1e6
    near = default_contenders(X, Y, task=-1)["logistic regression, alone"].fit(X, Y)
    moved = default_contenders(far, Y, task=-1)["logistic regression, alone"]
    moved.fit(far, Y)
    rows = X[:, -1] == 0
    np.testing.assert_array_equal(
        near.predict_proba(X[rows]), moved.predict_proba(far[rows])
    )


def test_boosting_gets_the_task_as_a_category():
    model = default_contenders(X, Y, task=-1)["gradient boosting, task as feature"]
    assert isinstance(model.estimator, MultiTaskGradientBoostingClassifier)
    assert model.fit(X, Y).encoding_ == "category"


@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.SingularFitWarning")
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_tasks_of_one_row_are_no_obstacle(kind):
    tiny = np.array(X)
    tiny[0, -1] = 9
    y = Y if kind == "classification" else X[:, 0]
    for name, model in default_contenders(tiny, y, task=-1, kind=kind).items():
        assert len(model.fit(tiny, y).predict(tiny)) == N, name


def test_a_forest_of_scikit_learns_is_of_its_family():
    found = _forms({"forest": ExtraTreesClassifier()})
    assert {family for family, _ in found.values()} == {"extra trees"}
