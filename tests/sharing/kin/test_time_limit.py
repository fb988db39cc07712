"""The time limit of the Kin estimators, by a clock that only fits and pilots move."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.sharing.kin import _candidates, _trials
from kinlearn.sharing.kin._combine import Evidence
from kinlearn.sharing.kin._training import TrainingTable
from kinlearn.trees.extra._tuning import Pilot

SIZES = (40, 30, 20)
POOLED, SHARED, OWN = (
    f"ridge regression, {form}" for form in ("pooled", "multi-task", "alone")
)
FOREST = "extra trees, multi-task"


class Clock:
    """Tells a time that does not pass by itself."""

    def __init__(self):
        self.now = 0.0
        self.cost = {}
        self.fits = []
        self.comparisons = 0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Fits to all rows take 2 seconds, to fewer as much less; comparisons take 5."""
    clock = Clock()
    fit = TrainingTable.fit

    def slow_fit(self, candidate, params, rows=None):
        n_rows = self.n_samples if rows is None else len(rows)
        clock.now += clock.cost.get(candidate.name, 2) * n_rows / self.n_samples
        clock.fits.append(candidate.name)
        return fit(self, candidate, params, rows)

    def slow_loss(self, candidate):
        clock.now += 5
        clock.comparisons += 1
        return 1.0 / candidate.settings.min_weight_leaf

    monkeypatch.setattr(_candidates, "_MOST_LEVELS", 0)  # three candidates are enough
    monkeypatch.setattr(_trials, "perf_counter", clock)
    monkeypatch.setattr(TrainingTable, "fit", slow_fit)
    monkeypatch.setattr(Pilot, "_loss", slow_loss)
    return clock


def make_rows():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(len(SIZES)), SIZES)
    X = rng.normal(size=(len(task), 3))
    return with_task(X, task), X[:, 0] + 0.5 * rng.normal(size=len(task))


def fit(limit, families=("linear",), **options):
    X, y = make_rows()
    model = KinRegressor(
        task=-1,
        families=families,
        n_estimators=3,
        n_folds=3,
        time_limit=limit,
        random_state=0,
        **options,
    ).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert_allclose(model.weights_.sum(axis=1), 1)
    return model


def test_without_time_one_setting_of_the_first_candidate_is_left(clock):
    model = fit(1e-9)
    assert list(model.candidates_) == [POOLED]
    assert model.dropped_ == dict.fromkeys([SHARED, OWN], "the time was over")
    # three folds and a fit to all rows, nothing for unseen tasks
    assert clock.fits == [POOLED] * 4
    assert_allclose(clock.now, 3 * 2 * 2 / 3 + 2)
    assert model.settings_[POOLED] == {"estimator__alpha": 3.0}  # the middle one
    assert model.unseen_score_ is None
    assert np.isfinite(model.seen_score_)
    X, _ = make_rows()
    X[:, -1] = 99
    with pytest.warns(UnknownTaskWarning, match="99"):
        assert np.isfinite(model.predict(X)).all()  # they are predicted all the same


def test_searches_are_cut_before_candidates_are_dropped(clock):
    """The first has 9 folds, 3 of tasks, 1 refit: 18 s. One setting takes 10 more."""
    model = fit(30)
    assert SHARED in model.candidates_
    assert model.settings_[SHARED]["own_weight"] == 0.2  # the middle one, alone
    assert clock.fits.count(SHARED) <= 3 + 3 + 1
    assert clock.now <= 30 + 2


@pytest.mark.parametrize("limit", [5, 12, 20, 28, 40, 80])
def test_the_limit_is_kept_but_for_a_fit(clock, limit):
    model = fit(limit)
    first = 3 * 2 * 2 / 3 + 2  # what cannot be dropped
    assert clock.now <= max(limit, first) + 2
    assert set(model.dropped_) | set(model.candidates_) == {POOLED, SHARED, OWN}


def test_more_time_means_more_candidates(clock):
    found = [len(fit(limit).candidates_) for limit in (1, 30, 500)]
    assert found == sorted(found)
    assert found[-1] == 3


def test_pilots_get_the_time_that_the_rest_leaves(clock):
    free = fit(None, ["trees"])
    all_comparisons, clock.comparisons, clock.now = clock.comparisons, 0, 0.0
    model = fit(40, ["trees"])
    assert free.candidates_[0] == model.candidates_[0] == FOREST
    assert 0 < clock.comparisons < all_comparisons
    assert clock.now <= 40 + 5 + 2  # one comparison and one fit are not interrupted


def test_pilots_of_the_first_candidate_are_stopped_too(clock):
    model = fit(1e-9, ["trees"])
    assert clock.comparisons == 0
    assert list(model.candidates_) == [FOREST]
    assert model.settings_[FOREST]["min_samples_leaf"] == 3  # the first of all


@pytest.mark.parametrize(
    ("cost", "why", "most"),
    [(60, "single fold", 40), (200, "one in 8 rows", 52), (900, "one in 32", 48)],
)
def test_of_many_rows_few_are_looked_at_first(clock, monkeypatch, cost, why, most):
    monkeypatch.setattr(_trials, "_MANY_ROWS", 50)
    clock.cost[SHARED] = cost
    model = fit(40)  # 18 of them for the first candidate
    assert why in model.dropped_[SHARED]
    assert clock.now <= most
    clock.cost[SHARED] = 2
    clock.now = 0.0
    assert SHARED in fit(80).candidates_


@pytest.mark.parametrize("limit", [40, 60, 90])
def test_weights_are_in_the_budget(clock, monkeypatch, limit):
    """Those of all rows take 3 seconds for each candidate, of few as much less."""
    monkeypatch.setattr(_trials, "_MANY_ROWS", 50)
    by_task = Evidence.by_task

    def slow_by_task(self, crowd):
        clock.now += 3 * len(self.predictions) * len(self.y) / sum(SIZES)
        return by_task(self, crowd)

    monkeypatch.setattr(Evidence, "by_task", slow_by_task)
    model = fit(limit)
    assert clock.now <= limit + 2
    assert len(model.candidates_) == {40: 1, 60: 2, 90: 3}[limit]


def test_real_clock_and_classes():
    X, y = make_rows()
    model = KinClassifier(task=-1, time_limit=1e-3, n_folds=2, random_state=0)
    model.fit(X, y > 0)
    assert list(model.candidates_) == ["logistic regression, pooled"]
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
