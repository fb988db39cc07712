"""Each form equals what a user would write by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from sklearn.svm import SVC, LinearSVC

from kinlearn import with_task
from kinlearn.sharing import PerTask, Pooled, TaskAsFeature
from tests.callbacks import Recorder
from tests.versions import needs_callbacks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
TASK = RNG.integers(0, 4, size=200)
Y = X @ [1, 2, 3] + TASK + RNG.normal(size=200)
C = (np.median(Y) < Y).astype(int)
XT = with_task(X, TASK)


def test_pooled_is_the_plain_estimator():
    assert_allclose(
        Pooled(Ridge(), task=-1).fit(XT, Y).predict(XT), Ridge().fit(X, Y).predict(X)
    )


def test_per_task_is_one_model_each():
    model = PerTask(Ridge(), task=-1).fit(XT, Y)
    for t in range(4):
        rows = t == TASK
        by_hand = Ridge().fit(X[rows], Y[rows]).predict(X[rows])
        assert_allclose(model.predict(XT[rows]), by_hand)


def test_task_as_feature_is_one_hot_by_default():
    coded = np.hstack([X, OneHotEncoder(sparse_output=False).fit_transform(XT[:, 3:])])
    by_hand = LogisticRegression().fit(coded, C).predict_proba(coded)
    model = TaskAsFeature(LogisticRegression(), task=-1).fit(XT, C)
    assert model.encoding_ == "onehot"
    assert_allclose(model.predict_proba(XT), by_hand)


def test_task_as_feature_is_a_category_for_boosting():
    by_hand = HistGradientBoostingClassifier(categorical_features=[3]).fit(XT, C)
    boost = TaskAsFeature(HistGradientBoostingClassifier(), task=-1).fit(XT, C)
    assert boost.encoding_ == "category"
    assert_allclose(boost.predict_proba(XT), by_hand.predict_proba(XT))
    frame = pd.DataFrame(X, columns=list("abc")).assign(g=TASK)
    framed = TaskAsFeature(HistGradientBoostingClassifier(), task="g").fit(frame, C)
    assert_allclose(framed.predict_proba(frame), by_hand.predict_proba(XT))


@pytest.mark.parametrize("before", [None, [0], [True, False, False]])
def test_category_joins_those_the_user_has(before):
    whole = XT.copy()
    whole[:, 0] = np.abs(np.round(whole[:, 0]))
    both = [3] if before is None else [0, 3]
    inner = HistGradientBoostingClassifier(categorical_features=before)
    model = TaskAsFeature(inner, task=-1).fit(whole, C)
    by_hand = HistGradientBoostingClassifier(categorical_features=both).fit(whole, C)
    assert_allclose(model.predict_proba(whole), by_hand.predict_proba(whole))
    assert inner.categorical_features == before


def test_many_tasks_are_target_encoded_for_boosting():
    many = with_task(X, np.arange(200) % 90)
    inner = HistGradientBoostingRegressor(max_bins=64, max_iter=5)
    model = TaskAsFeature(inner, task=-1).fit(many, Y)
    assert model.encoding_ == "target"
    coded = TargetEncoder().fit(many[:, 3:], Y).transform(many[:, 3:])
    by_hand = model.estimator_.predict(np.hstack([X, coded]))
    assert_allclose(model.predict(many), by_hand)


@pytest.mark.parametrize("form", [PerTask, Pooled, TaskAsFeature])
def test_score_is_accuracy_or_r2(form):
    model = form(LogisticRegression(), task=-1).fit(XT, C)
    assert_allclose(model.score(XT, C), accuracy_score(C, model.predict(XT)))
    model = form(Ridge(), task=-1).fit(XT, Y)
    assert_allclose(model.score(XT, Y), r2_score(Y, model.predict(XT)))


def test_per_task_answers_for_unknown_tasks_with_the_pooled_model():
    model = PerTask(Ridge(), task=-1, unknown_task="share").fit(XT, Y)
    strange = with_task(X, np.full(200, 50))
    assert_allclose(model.predict(strange), Ridge().fit(X, Y).predict(X))


def test_small_tasks_get_the_pooled_model():
    task = np.where(np.arange(200) < 3, 9, TASK)
    model = PerTask(Ridge(), task=-1, min_samples=4).fit(with_task(X, task), Y)
    assert model.estimators_[-1] is None
    small = with_task(X[:3], task[:3])
    assert_allclose(model.predict(small), Ridge().fit(X, Y).predict(X[:3]))


def test_one_hot_of_an_unknown_task_is_all_zero():
    model = TaskAsFeature(LinearRegression(), task=-1, unknown_task="share").fit(XT, Y)
    strange = with_task(X, np.full(200, 50))
    plain = model.estimator_.predict(np.hstack([X, np.zeros((200, 4))]))
    assert_allclose(model.predict(strange), plain)


def test_decision_function_of_tasks_with_one_class():
    labels = np.where(TASK == 2, 1, np.where(TASK == 3, 0, C))
    model = PerTask(LinearSVC(), task=-1).fit(XT, labels)
    scores = model.decision_function(XT)
    assert (scores[TASK == 2] == 1).all()
    assert (scores[TASK == 3] == -1).all()
    assert_array_equal(model.predict(XT), (scores > 0).astype(int))


def test_decision_function_with_missing_classes_says_why_not():
    labels = C + 2 * (TASK == 1)
    model = PerTask(LinearSVC(), task=-1).fit(XT, labels)
    assert not hasattr(model, "decision_function")
    with pytest.raises(AttributeError, match="no attribute") as error:
        model.decision_function(XT)
    assert "show only some of the 4 classes" in str(error.value.__cause__)


@pytest.mark.parametrize("rule", ["connected", "observed"])
def test_decision_function_with_missing_classes_by_probabilities(rule):
    labels = np.where(TASK == 1, 3, np.where(TASK == 2, C, C + (X[:, 0] > 0)))
    model = PerTask(LogisticRegression(), task=-1, label_sets=rule).fit(XT, labels)
    scores = model.decision_function(XT)
    assert scores.shape == (200, 4)
    assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(XT))
    some = np.isin(TASK, [1, 2])
    shown = model.predict_proba(XT)[some]
    assert_allclose(np.exp(scores[some]), shown, atol=1e-300)
    calibrated = CalibratedClassifierCV(model, cv=KFold(3)).fit(XT, labels)
    assert_allclose(calibrated.predict_proba(XT).sum(axis=1), 1)


def test_a_class_that_the_rows_of_a_task_do_not_show_is_possible():
    labels = np.where(TASK == 2, 0, C)
    model = PerTask(LogisticRegression(), task=-1).fit(XT, labels)
    own = TASK == 2
    pooled = LogisticRegression().fit(X, labels).predict_proba(X[own])
    one_more = (pooled + np.bincount(labels) / 200) / 2
    expected = (own.sum() * np.array([1.0, 0.0]) + one_more) / (own.sum() + 1)
    found = model.predict_proba(XT[own])
    assert_allclose(found, expected)
    assert_array_equal(model.predict(XT[own]), found.argmax(axis=1))
    odds = np.log(found[:, 1] / found[:, 0])
    assert_allclose(model.decision_function(XT[own]), odds)
    # what happens to new tasks changes nothing for known ones
    strict = PerTask(LogisticRegression(), task=-1, unknown_task="error")
    assert_array_equal(strict.fit(XT, labels).predict_proba(XT[own]), found)
    observed = PerTask(LogisticRegression(), task=-1, label_sets="observed")
    assert (observed.fit(XT, labels).predict_proba(XT[own]) == [1, 0]).all()
    assert (observed.decision_function(XT[own]) == -1).all()


@pytest.mark.parametrize("rule", ["connected", "observed"])
def test_tasks_of_few_rows_of_many_classes(rule):
    # the class of the pooled model may win where a task has one row
    labels = np.array(["a", "b", "c"])[np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))]
    task = np.where(np.arange(200) < 6, np.arange(200) // 2, 7)
    packed = with_task(X, task)
    model = PerTask(LogisticRegression(), task=-1, label_sets=rule).fit(packed, labels)
    proba = model.predict_proba(packed)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.predict(packed), model.classes_[proba.argmax(axis=1)])
    assert (proba > 0).all() == (rule == "connected")
    small = PerTask(LogisticRegression(), task=-1, label_sets=rule, min_samples=5)
    pooled = small.fit(packed, labels).predict_proba(packed[:6])
    plain = LogisticRegression().fit(X, labels).predict_proba(X[:6])
    assert np.allclose(pooled, plain) == (rule == "connected")


@pytest.mark.parametrize(
    "inner", [LogisticRegression(), LinearSVC(), KNeighborsClassifier(), "votes"]
)
def test_pooled_answers_keep_to_the_labels_of_a_task(inner):
    if inner == "votes":

        class OnlyPredicts(KNeighborsClassifier):
            predict_proba = property()

        inner = OnlyPredicts()
    labels = np.where(TASK == 1, C + 1, C)  # classes 0, 1, 2; task 1 has no 0
    assert_array_equal(
        Pooled(inner, task=-1).fit(XT, labels).predict(XT),
        inner.fit(X, labels).predict(X),
    )
    model = Pooled(inner, task=-1, label_sets="observed").fit(XT, labels)
    answer = model.predict(XT)
    assert set(answer[TASK == 1]) <= {1, 2}
    assert set(answer[TASK != 1]) <= {0, 1}
    plain = model.estimator_.predict(X)
    right = np.where(TASK == 1, plain > 0, plain < 2)
    assert_array_equal(answer[right], plain[right])


def test_error_of_one_task_names_it():
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        g=np.where(TASK > 0, "u", "tiny")
    )
    frame.loc[frame.g == "tiny", "a"] = np.nan
    with pytest.raises(ValueError, match=r"Task 'tiny' \(\d+ rows\): .*NaN"):
        PerTask(Ridge(), task="g", unknown_task="error").fit(frame, Y)


def test_longer_labels_of_later_tasks_are_not_cut():
    labels = np.where(TASK == 0, "no", np.where(C, "yes, always", "no"))
    model = PerTask(LogisticRegression(), task=-1).fit(XT, labels)
    assert set(model.predict(XT)) == {"no", "yes, always"}


def test_integer_targets_of_regressors_are_numbers_to_the_encoder():
    whole, y = with_task(X, np.arange(200) % 30), (np.arange(200) % 30) * 3
    model = TaskAsFeature(Ridge(), task=-1, encoding="target").fit(whole, y)
    assert model.estimator_.n_features_in_ == 4
    assert model.score(whole, y) > 0.9


@pytest.mark.parametrize("encoding", ["onehot", "target"])
def test_a_column_that_the_task_would_overwrite_is_an_error(encoding):
    names = {"onehot": "g=1", "target": "g_mean_0"}
    frame = pd.DataFrame({names[encoding]: X[:, 0], "g": TASK})
    with pytest.raises(ValueError, match="Rename that column"):
        TaskAsFeature(Ridge(), task="g", encoding=encoding).fit(frame, Y)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_one_vs_one_scores_are_not_taken_for_class_scores(shape):
    labels = np.where(TASK == 1, C + 2, C)
    model = Pooled(SVC(decision_function_shape=shape), task=-1).fit(XT, labels)
    answer = model.predict(XT)
    assert set(answer[TASK == 1]) <= {2, 3}
    assert set(answer[TASK != 1]) <= {0, 1}


@pytest.mark.parametrize("before", [None, ["k"], [0], [True], "from_dtype"])
def test_category_of_a_frame_is_used_as_one(before):
    frame = pd.DataFrame({"k": np.abs(np.round(X[:, 0])), "g": TASK.astype(str)})
    inner = HistGradientBoostingRegressor(categorical_features=before, max_iter=5)
    model = TaskAsFeature(inner, task="g").fit(frame, Y)
    assert model.estimator_.is_categorical_[-1]


def test_sparse_indicators_stay_sparse_and_dense_ones_have_a_limit():
    many = np.arange(200)
    packed = with_task(sp.csr_array(X), many)
    model = TaskAsFeature(Ridge(), task=-1).fit(packed, Y)
    assert model.estimator_.n_features_in_ == 203
    form = TaskAsFeature(Ridge(), task=-1)
    form._MOST_CELLS = 100
    with pytest.raises(ValueError, match=r"200 tasks would take .* Use encoding="):
        form.fit(with_task(X, many), Y)


def test_sharing_that_fit_did_not_prepare_is_an_error():
    model = PerTask(Ridge(), task=-1, unknown_task="error").fit(XT, Y)
    model.set_params(unknown_task="share")
    with pytest.raises(ValueError, match="before fit"):
        model.predict(with_task(X, np.full(200, 50)))


@needs_callbacks
def test_callbacks_see_every_task():
    recorder = Recorder()
    PerTask(Ridge(), task=-1).set_callbacks(recorder).fit(XT, Y)
    tasks = [f"task {t}" for t in range(4)]
    assert recorder.seen == ["setup", *tasks, "fit", "teardown"]


def test_task_as_feature_on_sparse_rows_suits_trees():
    # they take indices of 32 bits only
    dense = TaskAsFeature(ExtraTreesRegressor(5, random_state=0), task=-1)
    sparse = TaskAsFeature(ExtraTreesRegressor(5, random_state=0), task=-1)
    answer = sparse.fit(sp.csr_array(XT), Y).predict(sp.csr_array(XT))
    assert_allclose(answer, dense.fit(XT, Y).predict(XT))


@pytest.mark.parametrize("library", [None, pd, pl])
def test_a_column_that_a_task_never_measures_says_nothing(library):
    features = X.copy()
    features[TASK == 1, 2] = np.nan
    rows = with_task(features, TASK)
    if library is not None:
        columns = {f"x{j}": features[:, j] for j in range(3)}
        rows = library.DataFrame({**columns, "task": TASK.astype(str)})
    task = -1 if library is None else "task"
    booster = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5)
    model = PerTask(booster, task=task).fit(rows, Y)
    mine = TASK == 1
    by_hand = booster.fit(features[mine, :2], Y[mine]).predict(features[mine, :2])
    assert_allclose(model.predict(rows)[mine], by_hand)


def test_categories_for_an_estimator_of_numbers_are_an_error_in_fit():
    X = pd.DataFrame({"x": [1.6, 0.5, -0.1], "task": [0, 1, 0]})
    model = TaskAsFeature(LogisticRegression(), task="task", encoding="category")
    with pytest.raises(ValueError, match=r"LogisticRegression does not.*onehot"):
        model.fit(X, [1, 1, 0])
