"""Candidates of a user's own, and candidates that stop early."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.sharing.kin import _trials


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(3), 40)
    X = rng.normal(size=(120, 3))
    return with_task(X, task), X[:, 0] + 0.5 * task + 0.3 * rng.normal(size=120)


def test_estimators_alone_or_beside_ours(rows):
    X, y = rows
    given = {
        "trees": (HistGradientBoostingRegressor(max_iter=5), ["pooled", "own"]),
        "line": make_pipeline(StandardScaler(), LinearRegression()),
    }
    alone = KinRegressor(task=-1, families=[], estimators=given, random_state=0)
    alone.fit(X, y)
    assert list(alone.candidates_) == [
        "trees, pooled",
        "trees, own",
        "line, pooled",
        "line, task as feature",
    ]
    assert list(alone.roles_) == ["pooled", "own", "pooled", "shared"]
    assert_allclose(alone.weights_.sum(axis=1), 1)
    assert alone.score(X, y) > 0.7
    beside = KinRegressor(
        task=-1, families="linear", estimators=given, random_state=0
    ).fit(X, y)
    assert set(alone.candidates_) < set(beside.candidates_)
    assert np.isfinite(beside.predict(X)).all()


def test_missing_values_and_one_task(rows):
    X, y = rows
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    forest = {"forest": LogisticRegression()}  # takes none
    model = KinClassifier(task=-1, families=[], estimators=forest, random_state=0)
    assert np.isfinite(model.fit(gaps, y > 0.5).predict_proba(gaps)).all()
    single = KinClassifier(families=[], estimators=forest, random_state=0)
    assert list(single.fit(X[:, :3], y > 0.5).candidates_) == ["forest, pooled"]


@pytest.mark.parametrize(
    ("estimators", "error", "message"),
    [
        (
            {"a": RandomForestClassifier()},
            TypeError,
            r"estimators\['a'\] must be a reg",
        ),
        ({"a": 3}, TypeError, "found int"),
        (
            {"a": (LinearRegression(), ["alone"])},
            ValueError,
            "'task as feature', 'own'",
        ),
        ({"a": (LinearRegression(), "own")}, ValueError, "must be a list"),
        ({"a": (LinearRegression(), [])}, ValueError, "must be a list"),
        ({}, ValueError, "found nothing"),
    ],
)
def test_what_is_no_candidate_is_refused(rows, estimators, error, message):
    with pytest.raises(error, match=message):
        KinRegressor(task=-1, families=[], estimators=estimators).fit(*rows)


class Failing(LinearRegression):
    def fit(self, X, y, sample_weight=None):
        raise ValueError("no mood.")


def test_an_estimator_that_fails_is_named(rows):
    model = KinRegressor(task=-1, families=[], estimators={"mine": Failing()})
    with pytest.raises(ValueError, match=r"'mine, pooled' failed: no mood"):
        model.fit(*rows)


def test_candidates_without_weight_stop_early(monkeypatch):
    monkeypatch.setattr(_trials, "_ROWS_TO_DROP", 100)
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), 100)
    X = rng.normal(size=(400, 3))
    y = 3 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=400)  # a line, and nothing else
    X = with_task(X, task)
    given = {"noise": HistGradientBoostingRegressor(max_iter=1)}
    options = {"task": -1, "estimators": given, "random_state": 0, "n_estimators": 10}
    model = KinRegressor(**options).fit(X, y)
    reason = model.dropped_["gradient boosting, multi-task"]
    assert "after 2 of 5 folds its weight was" in reason
    assert "gradient boosting, multi-task" not in model.candidates_
    # not those that unseen tasks may need, nor those that a user wants
    assert {"gradient boosting, pooled", "noise, pooled"} <= set(model.candidates_)
    assert KinRegressor(**options, effort="best").fit(X, y).dropped_ == {}


def test_settings_that_are_clearly_worse_stop_early(rows, monkeypatch):
    X, _ = rows
    seen = []
    hold_out = _trials.Trials._hold_out

    def watch(self, candidate, settings, cells, results):
        new = [cell for cell in cells if cell not in results]
        hold_out(self, candidate, settings, cells, results)
        seen.append((candidate.name, len(settings), len(new)))

    monkeypatch.setattr(_trials.Trials, "_hold_out", watch)
    clear = 5 * X[:, 0] * X[:, 1]  # far from the line that a small C allows
    KinRegressor(task=-1, families="svm", random_state=0).fit(X, clear)
    (_, n_settings, first), (_, _, rest) = seen
    assert first == 2 * n_settings
    assert 3 <= rest < 3 * n_settings
