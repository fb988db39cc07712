"""Candidates of a user's own, and candidates that stop early."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

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
        ({"a": LinearRegression}, TypeError, "found the class LinearRegression, not"),
        ({"a": (LinearRegression(), [], 1)}, TypeError, "found tuple"),
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


class Shaped(ClassifierMixin, BaseEstimator):
    """Returns what it is told to, for the first classes or rows."""

    def __init__(self, rows=None, columns=None, value=0.5):
        self.rows, self.columns, self.value = rows, columns, value

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        shape = self.rows or len(X), self.columns or len(self.classes_)
        return np.full(shape, self.value)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize("form", ["pooled", "task as feature", "own"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 3}, r"Shaped.predict_proba returned an array of shape \(3, 2\) for"),
        ({"columns": 1}, r"shape \(\d+, 1\), while fit was given 2 classes"),
        ({"value": 1.5}, "returned values from 1.5 to 1.5. Probabilities lie between"),
        ({"value": np.nan}, "No candidate gave finite .* Tried were 'mine, "),
    ],
)
def test_predictions_that_cannot_be_are_told(rows, options, message, form):
    X, y = rows
    given = {"mine": (Shaped(**options), [form])}
    with pytest.raises(ValueError, match=message):
        KinClassifier(task=-1, families=[], estimators=given).fit(X, y > 0.5)


def test_an_estimator_without_finite_predictions_is_left_out(rows):
    X, y = rows
    given = {"mine": (Shaped(value=np.nan), ["pooled"])}
    options = {"task": -1, "families": "linear", "effort": "fast", "random_state": 0}
    model = KinClassifier(**options, estimators=given).fit(X, y > 0.5)
    assert model.dropped_ == {"mine, pooled": "its predictions were not finite"}


class Broken(LinearRegression):
    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("no licence")


def test_errors_of_any_kind_name_the_candidate(rows):
    model = KinRegressor(task=-1, families=[], estimators={"mine": Broken()})
    with pytest.raises(RuntimeError, match="no licence") as caught:
        model.fit(*rows)
    assert caught.value.__notes__ == ["It was raised by the candidate 'mine, pooled'."]


def test_classifiers_without_scores_are_refused(rows):
    X, y = rows
    given = {"mine": RidgeClassifier(), "hard": VotingClassifier([])}
    with pytest.raises(TypeError, match=r"'hard'\] \(VotingClassifier\) has neither"):
        KinClassifier(task=-1, families=[], estimators=given).fit(X, y > 0.5)


class Counting(LinearRegression):
    """Remembers how many rows each fit had, and how many threads."""

    sizes: ClassVar[list] = []
    threads: ClassVar[set] = set()

    def fit(self, X, y, sample_weight=None):
        self.sizes.append(len(y))
        blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        self.threads.update(pool["num_threads"] for pool in blas)
        return super().fit(X, y, sample_weight)


def test_folds_that_know_all_tasks_need_no_model_for_others(rows, monkeypatch):
    monkeypatch.setattr(Counting, "sizes", [])
    X, y = rows
    KinRegressor(
        task=-1,
        families=[],
        estimators={"line": (Counting(), ["pooled", "own"])},
        n_folds=2,
        random_state=0,
    ).fit(X, y)
    n = len(y)
    # the pooled form; one of each task has 20 rows of a fold, and no other
    assert Counting.sizes.count(n // 2) == 2
    assert Counting.sizes.count(n // 6) == 6


def test_linear_algebra_has_one_thread(rows, monkeypatch):
    monkeypatch.setattr(Counting, "threads", set())
    X, y = rows
    with threadpool_limits(2, user_api="blas"):
        before = {
            p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"
        }
        if before == {1}:
            pytest.skip("The linear algebra has no threads.")
        KinRegressor(
            task=-1, families=[], estimators={"line": Counting()}, random_state=0
        ).fit(X, y)
        after = {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}
    assert Counting.threads == {1}
    assert after == before
