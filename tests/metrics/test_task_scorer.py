import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn import metrics as skm
from sklearn.compose import make_column_transformer
from sklearn.exceptions import UndefinedMetricWarning, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from kinlearn.metrics import (
    TaskFrame,
    cost_weighted_error,
    g_mean_score,
    make_task_scorer,
)


def problem(n=150):
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(n, 3)), rng.integers(0, 4, size=n)]
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return X, y


def scores_of(metric, y, y_pred, X):
    rows = [X[:, -1] == task for task in np.unique(X[:, -1])]
    return np.array([metric(y[r], y_pred[r]) for r in rows])


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("macro", lambda s: s.mean()),
        ("worst", lambda s: s.min()),
        ("spread", lambda s: s.min() - s.max()),
        (np.median, lambda s: np.median(s)),
    ],
)
def test_aggregates_the_scores_of_the_tasks(aggregate, expected):
    X, y = problem()
    model = LogisticRegression().fit(X, y)
    got = make_task_scorer("accuracy", task=-1, aggregate=aggregate)(model, X, y)
    by_task = scores_of(skm.accuracy_score, y, model.predict(X), X)
    assert_allclose(got, expected(by_task))
    assert isinstance(got, float)


def test_micro_is_the_plain_score():
    X, y = problem()
    model = LogisticRegression().fit(X, y)
    scorer = make_task_scorer("roc_auc", task=-1, aggregate="micro")
    assert_allclose(scorer(model, X, y), skm.get_scorer("roc_auc")(model, X, y))


@pytest.mark.parametrize(
    ("metric", "aggregate", "expected"),
    [
        (skm.mean_squared_error, "macro", lambda e: -e.mean()),
        (skm.mean_squared_error, "worst", lambda e: -e.max()),
        ("neg_mean_squared_error", "worst", lambda e: -e.max()),
        (skm.mean_squared_error, "spread", lambda e: e.min() - e.max()),
    ],
)
def test_errors_turn_their_sign(metric, aggregate, expected):
    X, _ = problem()
    y = X[:, 0] + X[:, 1] ** 2
    model = Ridge().fit(X, y)
    errors = scores_of(skm.mean_squared_error, y, model.predict(X), X)
    got = make_task_scorer(metric, task=-1, aggregate=aggregate)(model, X, y)
    assert_allclose(got, expected(errors))


def test_the_sign_can_be_said():
    X, y = problem()
    model = LogisticRegression().fit(X, y)

    def wrong(y_true, y_pred):
        return np.mean(y_true != y_pred)

    for better, sign in ((None, 1), (True, 1), (False, -1)):
        scorer = make_task_scorer(
            wrong, task=-1, aggregate="micro", greater_is_better=better
        )
        assert_allclose(scorer(model, X, y), sign * wrong(y, model.predict(X)))


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()])
@pytest.mark.parametrize("metric", ["roc_auc", skm.roc_auc_score])
def test_scores_come_from_the_method_that_the_metric_takes(metric, model):
    X, y = problem()
    names = np.array(["no", "yes"])[y]
    model.fit(X, names)
    got = make_task_scorer(metric, task=-1)(model, X, names)
    decision = model.decision_function(X)
    assert_allclose(got, scores_of(skm.roc_auc_score, y, decision, X).mean())


def test_probabilities_are_those_of_pos_label():
    X, y = problem()
    model = LogisticRegression().fit(X, y)
    metric = partial(skm.brier_score_loss, pos_label=0)
    got = make_task_scorer(metric, task=-1)(model, X, y)
    proba = model.predict_proba(X)[:, 0]
    assert_allclose(got, -scores_of(skm.brier_score_loss, 1 - y, proba, X).mean())


def test_response_method_can_be_said():
    X, y = problem()
    model = LogisticRegression().fit(X, y)

    def mean_error(y_true, answers):
        return np.mean(np.abs(y_true - answers))

    scorer = make_task_scorer(
        mean_error, task=-1, aggregate="micro", response_method="predict_proba"
    )
    assert_allclose(scorer(model, X, y), -mean_error(y, model.predict_proba(X)[:, 1]))


def test_works_in_cross_validate_with_several_scorers_on_a_frame():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "shop"])
    frame["shop"] = "shop " + frame["shop"].astype(int).astype(str)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["shop"]), remainder="passthrough"),
        LogisticRegression(),
    )
    scoring = {
        "worst": make_task_scorer("accuracy", task="shop", aggregate="worst"),
        "micro": make_task_scorer("accuracy", task="shop", aggregate="micro"),
        "plain": "accuracy",
        "g_mean": make_task_scorer(g_mean_score, task="shop"),
    }
    found = cross_validate(model, frame, y, scoring=scoring, cv=KFold(3))
    assert_allclose(found["test_micro"], found["test_plain"])
    assert (found["test_worst"] < found["test_plain"]).all()
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        fitted = model.fit(frame.iloc[train], y[train])
        expected = TaskFrame(
            g_mean_score,
            y[test],
            fitted.predict(frame.iloc[test]),
            tasks=frame["shop"].iloc[test],
        )
        got = found["test_g_mean"][fold]
        assert_allclose(got, expected.macro["g_mean_score"])


def test_works_in_grid_search_and_decides_it():
    X, y = problem()
    grid = {"C": [1e-6, 1.0]}
    scorer = make_task_scorer(
        partial(cost_weighted_error, cost_fn=5), task=-1, aggregate="worst"
    )
    search = GridSearchCV(LogisticRegression(), grid, scoring=scorer, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert (scores < 0).all()
    assert search.best_index_ == np.argmax(scores)
    assert_allclose(search.score(X, y), scorer(search.best_estimator_, X, y))


def test_undefined_tasks_are_left_out_and_all_undefined_is_nan():
    X, y = problem()
    model = LogisticRegression().fit(X, y)
    scorer = make_task_scorer("roc_auc", task=-1)
    y = np.where(X[:, -1] == 2, 1, y)
    rest = X[:, -1] != 2
    assert_allclose(scorer(model, X, y), scorer(model, X[rest], y[rest]))
    with pytest.warns(UndefinedMetricWarning, match="undefined on every task"):
        assert np.isnan(scorer(model, X[~rest], y[~rest]))
    micro = make_task_scorer("roc_auc", task=-1, aggregate="micro")
    with pytest.warns(UndefinedMetricWarning, match="all rows together"):
        assert np.isnan(micro(model, X[~rest], y[~rest]))


def test_sample_weights():
    X, y = problem()
    weight = np.random.default_rng(1).random(len(y))
    model = LogisticRegression().fit(X, y)
    got = make_task_scorer("accuracy", task=-1)(model, X, y, sample_weight=weight)
    frame = TaskFrame(
        "accuracy", y, model.predict(X), tasks=X[:, -1], sample_weight=weight
    )
    assert_allclose(got, frame.macro["accuracy"])


def test_sample_weights_through_metadata_routing():
    X, y = problem()
    weight = np.random.default_rng(1).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=False)
        run = partial(
            cross_validate, model, X, y, cv=3, params={"sample_weight": weight}
        )
        scorer = make_task_scorer("accuracy", task=-1)
        with pytest.raises(UnsetMetadataPassedError):
            run(scoring=scorer)
        scorer.set_score_request(sample_weight=True)
        weighted = run(scoring=scorer)["test_score"]
        plain = make_task_scorer("accuracy", task=-1)
        plain.set_score_request(sample_weight=False)
        both = run(scoring={"weighted": scorer, "plain": plain})
    assert_allclose(both["test_weighted"], weighted)
    expected = cross_validate(
        LogisticRegression(), X, y, cv=3, scoring=make_task_scorer("accuracy", task=-1)
    )
    assert_allclose(both["test_plain"], expected["test_score"])
    assert (both["test_plain"] != weighted).all()


def test_grid_search_hands_its_weights_to_the_scorer():
    X, y = problem()
    weight = np.random.default_rng(1).random(len(y))
    scorer = make_task_scorer("accuracy", task=-1)
    grid, cv = {"C": [1.0]}, KFold(3)
    search = GridSearchCV(
        LogisticRegression(), grid, scoring={"a": scorer}, refit="a", cv=cv
    ).fit(X, y, sample_weight=weight)
    for fold, (train, test) in enumerate(cv.split(X)):
        model = LogisticRegression().fit(X[train], y[train], weight[train])
        expected = scorer(model, X[test], y[test], sample_weight=weight[test])
        assert_allclose(search.cv_results_[f"split{fold}_test_a"], [expected])


def test_can_be_pickled_and_shown():
    X, y = problem()
    model = LogisticRegression().fit(X, y)
    scorer = make_task_scorer("accuracy", task=-1, aggregate="worst")
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, X, y) == scorer(model, X, y)
    shown = "make_task_scorer(accuracy, task=-1, aggregate='worst')"
    assert repr(again) == shown


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"aggregate": "mean"}, ValueError, "aggregate must be 'macro'"),
        ({"metric": 3}, TypeError, "must be a function"),
        ({"metric": "acc"}, ValueError, "not a valid scoring value"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        make_task_scorer(**{"metric": "accuracy", "task": -1, **arguments})


def test_a_missing_task_column_is_named():
    X, y = problem()
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="'shop' is given by name"):
        make_task_scorer("accuracy", task="shop")(model, X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("aggregate", ["macro", "micro"])
def test_log_loss_of_rows_that_lack_a_class(n_classes, aggregate):
    X, _ = problem()
    y = np.digitize(X[:, 0], [-0.4, 0.4]) % n_classes
    model = LogisticRegression().fit(X, y)
    test = y < n_classes - 1
    scorer = make_task_scorer("neg_log_loss", task=-1, aggregate=aggregate)
    proba = model.predict_proba(X[test])
    loss = -np.log(proba[np.arange(test.sum()), y[test]])
    tasks = X[test, -1]
    means = [loss[tasks == t].mean() for t in np.unique(tasks)]
    expected = np.mean(means) if aggregate == "macro" else loss.mean()
    assert_allclose(scorer(model, X[test], y[test]), -expected)
    frame = TaskFrame(
        "neg_log_loss", y[test], proba, tasks=tasks, labels=model.classes_
    )
    assert_allclose(np.abs(frame.overall["neg_log_loss"]), loss.mean())
