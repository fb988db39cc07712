"""Metrics by task on one fold: greater is better, and nothing is made up."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    f1_score,
    fbeta_score,
    log_loss,
    make_scorer,
    mean_absolute_error,
    roc_auc_score,
)

from kinlearn import with_task
from kinlearn.audit._problem import open_problem
from kinlearn.audit._scoring import choose_scoring
from kinlearn.metrics import make_task_scorer

RNG = np.random.default_rng(0)
N = 90
TASK = np.arange(N) % 3
X = with_task(RNG.normal(size=(N, 2)), TASK)
Y = X[:, 0] + 0.5 * RNG.normal(size=N)
C = (Y > 0).astype(int)


def _score(scoring, y, model, rows=None, kind=None):
    problem = open_problem(X, y, -1, kind)
    chosen = choose_scoring(scoring, problem)
    rows = np.arange(N) if rows is None else rows
    Xs, ys = problem.take(rows)
    model = model.fit(problem.X, problem.y)
    found = chosen.score(model, Xs, ys, problem.codes[rows], problem.n_tasks, rows)
    return chosen, found, model


def test_two_classes_are_scored_by_auc():
    chosen, found, model = _score(None, C, LogisticRegression())
    answer = model.predict_proba(X)[:, 1]
    by_hand = [roc_auc_score(C[t == TASK], answer[t == TASK]) for t in range(3)]
    assert_allclose(found.values, by_hand)
    assert_allclose(found.micro, roc_auc_score(C, answer))
    assert chosen.describe() == {
        "name": "roc_auc",
        "label": "AUC",
        "greater_is_better": True,
        "chance": 0.5,
    }


def test_labels_may_be_strings():
    words = np.where(C == 1, "yes", "no")
    _, numbers, _ = _score(None, C, LogisticRegression())
    _, found, _ = _score(None, words, LogisticRegression())
    assert_allclose(found.values, numbers.values)


def test_one_class_in_the_test_rows_is_no_score():
    rows = np.flatnonzero((TASK == 0) | (C == 1))
    _, found, _ = _score(None, C, LogisticRegression(), rows)
    assert np.isnan(found.values[1:]).all()
    assert sorted(found.reasons) == [1, 2]
    assert "classes" in found.reasons[1]
    assert np.isfinite(found.values[0])


def test_tasks_without_test_rows_have_no_score_and_no_reason():
    _, found, _ = _score(None, C, LogisticRegression(), np.flatnonzero(TASK != 1))
    assert_array_equal(np.isnan(found.values), [False, True, False])
    assert found.reasons == {}


def test_more_classes_are_scored_by_balanced_accuracy():
    three = np.digitize(Y, [-0.5, 0.5])
    chosen, found, _ = _score(
        None, three, DummyClassifier(strategy="constant", constant=1)
    )
    assert chosen.name == "balanced_accuracy"
    assert chosen.chance == pytest.approx(1 / 3)
    assert_allclose(found.values, 1 / 3)


def test_chance_is_unknown_where_tasks_have_their_own_labels():
    own = TASK * 2 + C
    problem = open_problem(X, own, -1)
    assert choose_scoring(None, problem).chance is None


def test_numbers_are_scored_by_the_variance_of_their_task():
    rows = np.arange(0, N, 2)
    chosen, found, model = _score(None, Y, LinearRegression(), rows)
    answer = model.predict(X)
    for t in range(3):
        mine = rows[TASK[rows] == t]
        error = np.mean((Y[mine] - answer[mine]) ** 2)
        assert_allclose(found.values[t], 1 - error / np.var(Y[t == TASK]))
    assert chosen.chance == 0.0


def test_the_mean_of_a_task_explains_nothing():
    y = Y + 100 * TASK
    means = [y[t == TASK].mean() for t in range(3)]
    for t in range(3):
        model = DummyRegressor(strategy="constant", constant=means[t])
        _, found, _ = _score(None, y, model)
        assert_allclose(found.values[t], 0, atol=1e-9)


def test_a_constant_task_has_no_explained_variance():
    y = np.where(TASK == 1, 0.1 + 0.2, Y)
    _, found, _ = _score(None, y, LinearRegression())
    assert_array_equal(np.isnan(found.values), [False, True, False])
    assert found.reasons == {1: "y is constant in the task"}
    assert np.isfinite(found.micro)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", mean_absolute_error])
def test_errors_come_negated_and_are_called_errors(scoring):
    chosen, found, model = _score(scoring, Y, LinearRegression())
    answer = model.predict(X)
    by_hand = [-np.abs(Y - answer)[t == TASK].mean() for t in range(3)]
    assert_allclose(found.values, by_hand)
    assert chosen.describe() == {
        "name": "neg_mean_absolute_error",
        "label": "mean absolute error",
        "greater_is_better": False,
        "chance": None,
    }


@pytest.mark.parametrize(
    "scoring",
    [
        "f1",
        f1_score,
        make_scorer(f1_score),
        partial(fbeta_score, beta=1),
        make_task_scorer("f1", task=-1),
    ],
)
def test_metrics_come_in_all_the_ways_of_the_metrics_package(scoring):
    _, found, model = _score(scoring, C, LogisticRegression())
    answer = model.predict(X)
    by_hand = [f1_score(C[t == TASK], answer[t == TASK]) for t in range(3)]
    assert_allclose(found.values, by_hand)


def test_log_loss_takes_probabilities():
    _, found, model = _score("neg_log_loss", C, LogisticRegression())
    proba = model.predict_proba(X)
    by_hand = [-log_loss(C[t == TASK], proba[t == TASK]) for t in range(3)]
    assert_allclose(found.values, by_hand)


def test_infinity_is_no_score():
    def ratio(y_true, y_pred):
        return np.inf if y_true[0] == Y[0] else 1.0

    _, found, _ = _score(ratio, Y, LinearRegression())
    assert np.isnan(found.values[0])
    assert found.reasons[0] == "the metric gave infinity"
    assert np.isnan(found.micro)


@pytest.mark.parametrize(
    ("scoring", "error", "message"),
    [
        ("auroc", ValueError, "'auroc' is not a metric that scikit-learn knows"),
        (7, TypeError, "A metric must be a function"),
        (lambda estimator, X, y: 1.0, TypeError, "cannot score task by task"),
    ],
)
def test_what_is_no_metric_is_refused(scoring, error, message):
    with pytest.raises(error, match=message):
        choose_scoring(scoring, open_problem(X, C, -1))
