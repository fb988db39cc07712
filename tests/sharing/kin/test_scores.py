"""Scores that Kin prints are those that new rows will have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss, make_scorer, r2_score, roc_auc_score

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.metrics import make_task_scorer
from kinlearn.sharing.kin import _trials

QUICK = {"families": "linear", "n_folds": 3, "random_state": 0, "n_estimators": 20}
SIZES = {
    "one row a task": [1] * 60,
    "half in tasks of one row": [1] * 30 + [10] * 3,
    "tasks of three rows": [3] * 20,
    "copies": [10] * 4,
    "groups of equal rows": [12] * 6,
    "coarse features": [15] * 6,
}


def make_rows(name, rng, effect=0.0):
    """Training rows, and a function that draws new ones of the same tasks."""
    task = np.repeat(np.arange(len(SIZES[name])), SIZES[name])
    level, slope = effect * rng.normal(size=len(SIZES[name])), effect * np.ones(3)

    def draw(task):
        X = rng.normal(size=(len(task), 3))
        if name == "coarse features":
            X = (X > 0).astype(float)
        return X, X @ slope + level[task] + rng.logistic(size=len(task))

    X, y = draw(task)
    if name == "copies":
        X, y, task = np.tile(X, (2, 1)), np.tile(y, 2), np.tile(task, 2)
    elif name == "groups of equal rows":
        X = np.repeat(X[::4], 4, axis=0)
        y = X @ slope + level[task] + rng.logistic(size=len(task))

    def fresh(n_rows):
        rows = rng.integers(len(task), size=n_rows)
        X_new, y_new = draw(task[rows])
        if name == "groups of equal rows":  # which new rows meet, too
            X_new = X[rows]
            y_new = X_new @ slope + level[task[rows]] + rng.logistic(size=n_rows)
        return with_task(X_new, task[rows]), y_new

    return with_task(X, task), y, fresh


def gaps(name, classes, n_draws, effect=0.0, **options):
    """Kin's score less that of new rows, over many draws; log loss too, for classes."""
    found = []
    for seed in range(n_draws):
        X, y, fresh = make_rows(name, np.random.default_rng(seed), effect)
        X_new, y_new = fresh(2_000)
        if classes:
            y, y_new = y > 0, y_new > 0
        estimator = KinClassifier if classes else KinRegressor
        options = {**QUICK, "unknown_task": "error", **options}
        model = estimator(task=-1, **options).fit(X, y)
        gap = [model.seen_score_ - model.score(X_new, y_new)]
        if classes:
            new = log_loss(y_new, model.predict_proba(X_new), labels=[False, True])
            gap.append(model.seen_log_loss_ - new)
        found.append(gap)
    found = np.array(found)
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(n_draws)


@pytest.mark.parametrize("name", ["one row a task", "coarse features", "copies"])
def test_noise_is_not_flattered(name):
    mean, error = gaps(name, True, 10)
    assert abs(mean[0]) < 3 * error[0]
    assert error[0] < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("families", ["linear", "trees"])
@pytest.mark.parametrize("effect", [0.0, 0.7])
@pytest.mark.parametrize("name", SIZES)
def test_scores_are_right_within_noise(name, effect, families):
    n_draws = 60 if families == "linear" else 24
    mean, error = gaps(name, True, n_draws, effect, families=families)
    # new rows have the advantage of a fold of rows more to learn from, and copies
    # count as rows where weights are learned, which is too sure of them
    worse = 0.03 if effect or name == "copies" else 0.0
    assert -3 * error[0] - worse < mean[0] < 3 * error[0]
    assert -3 * error[1] < mean[1] + 0.04


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 0.7])
@pytest.mark.parametrize("name", SIZES)
def test_scores_of_numbers_are_right_within_noise(name, effect):
    mean, error = gaps(name, False, 60, effect)
    assert mean[0] < 3 * error[0]
    assert mean[0] > -3 * error[0] - 0.06


def make_two_tasks(n_classes=2, n_rows=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    score = X[:, 0] + rng.logistic(size=n_rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return with_task(X, np.arange(n_rows) % 2), y


def test_scores_in_the_metric_of_choice():
    X, y = make_two_tasks()
    labels = np.array(["no", "yes"])[y]

    def fit(scoring):
        return KinClassifier(task=-1, scoring=scoring, **QUICK).fit(X, labels)

    plain, accuracy = fit(None), fit("accuracy")
    assert accuracy.seen_score_ == plain.seen_score_
    assert accuracy.unseen_task_scores_ == plain.unseen_task_scores_
    loss = fit("neg_log_loss")
    assert_allclose(loss.seen_score_, -plain.seen_log_loss_)
    assert_allclose(loss.unseen_score_, -plain.unseen_log_loss_)
    assert 0.5 < fit("roc_auc").seen_score_ < 1
    by_task = make_task_scorer("roc_auc", task=-1, aggregate="worst")
    assert fit(by_task).seen_score_ < fit("roc_auc").seen_score_ + 0.05
    own = make_scorer(roc_auc_score, response_method="predict_proba")
    assert fit(own).seen_score_ == fit("roc_auc").seen_score_


def test_scores_of_numbers_in_the_metric_of_choice():
    X, _ = make_two_tasks()
    y = X[:, 0] + 0.1 * X[:, 1] ** 2
    weight = 1.0 + np.arange(len(y)) % 3

    def fit(scoring):
        model = KinRegressor(task=-1, scoring=scoring, **QUICK)
        return model.fit(X, y, sample_weight=weight)

    plain = fit(None)
    assert_allclose(fit("r2").seen_score_, plain.seen_score_)
    assert_allclose(fit(make_scorer(r2_score)).unseen_score_, plain.unseen_score_)
    assert fit("neg_mean_absolute_error").seen_score_ < 0
    assert not hasattr(plain, "seen_log_loss_")


def test_a_metric_that_is_undefined_on_a_task_is_nan_there():
    X, y = make_two_tasks()
    y[X[:, -1] == 1] = 0
    model = KinClassifier(task=-1, scoring="roc_auc", **QUICK).fit(X, y)
    assert np.isnan(model.unseen_task_scores_[1])
    assert np.isfinite(model.unseen_task_scores_[0])


def test_a_metric_that_does_not_suit_is_refused_before_models_are_fitted(monkeypatch):
    def fit(*args):
        raise AssertionError("too late")

    monkeypatch.setattr(_trials.Trials, "run", fit)
    X, y = make_two_tasks(3)
    with pytest.raises(ValueError, match="multi_class"):
        KinClassifier(task=-1, scoring="roc_auc", **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="no_such_metric"):
        KinClassifier(task=-1, scoring="no_such_metric", **QUICK).fit(X, y)


@pytest.mark.parametrize("rule", ["connected", "observed", {1: [0, 1, 2]}])
def test_all_candidates_see_the_same_labels(monkeypatch, rule):
    """Also the boosters, whose predictions are made stage by stage."""
    found = []
    run = _trials.Trials.run

    def remember(self, candidate):
        run(self, candidate)
        found.append((self, list(self.done.values())))

    monkeypatch.setattr(_trials.Trials, "run", remember)
    rng = np.random.default_rng(0)
    task = np.arange(200) % 5
    X = with_task(rng.normal(size=(200, 2)), task)
    y = np.where(task < 2, rng.integers(2, size=200), 2 + rng.integers(2, size=200))
    y[(task == 1) & (y == 1)] = 0
    y[6] = 1  # the only one of its class in the task
    y[11] = 2 if isinstance(rule, dict) else 0
    options = {**QUICK, "families": "all", "n_estimators": 5, "label_sets": rule}
    model = KinClassifier(task=-1, **options).fit(X, y)
    watched, trials = found[-1]
    assert any(trial.candidate.stages for trial in trials)
    held = watched.fold >= 0
    for trial in trials:
        first = next(iter(trials)).predictions[held]
        assert_array_equal(trial.predictions[held] > 0, first > 0)
        first = next(iter(trials)).unseen
        assert trial.unseen is None or (trial.unseen > 0).all()
    # what a fold lacks is known by none of them
    unknown = ~(next(iter(trials)).predictions[6] > 0)
    assert unknown[1] == (rule == "observed")
    proba = model.predict_proba(X)
    assert (proba[task == 1][:, 1] > 0).all()
    assert_array_equal(proba[task == 1][:, 3], 0)


def test_label_sets_of_kin():
    X, y = make_two_tasks(3)
    y[(X[:, -1] == 1) & (y == 2)] = 0
    connected = KinClassifier(task=-1, **QUICK).fit(X, y)
    assert_array_equal(connected.task_classes_[1], [0, 1, 2])
    assert (connected.predict_proba(X) > 0).all()
    observed = KinClassifier(task=-1, label_sets="observed", **QUICK).fit(X, y)
    assert_array_equal(observed.predict_proba(X)[X[:, -1] == 1, 2], 0)
    given = KinClassifier(task=-1, label_sets={1: [0, 1]}, **QUICK).fit(X, y)
    assert_array_equal(given.predict_proba(X)[X[:, -1] == 1, 2], 0)
    assert (given.predict_proba(X)[X[:, -1] == 0] > 0).all()
    with pytest.raises(ValueError, match="label_sets does not give it"):
        KinClassifier(task=-1, label_sets={0: [0, 1]}, **QUICK).fit(X, y)


def test_one_row_a_task_rules_nothing_out():
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(40, 2)), np.arange(40))
    y = rng.integers(2, size=40)
    proba = KinClassifier(task=-1, **QUICK).fit(X, y).predict_proba(X)
    assert proba.min() > 0.1
