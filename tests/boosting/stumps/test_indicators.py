"""Rows with several labels: MH over two-task stumps, y of indicators."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score

import kinlearn
from kinlearn import with_task
from kinlearn.boosting import AbstainingAdaBoostClassifier, export_text
from kinlearn.boosting.stumps._search import _LEAST
from kinlearn.exceptions import TaskFallbackWarning


def make_rows(n=240, n_tasks=3, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 6)), 1)
    task = rng.integers(0, n_tasks, n)
    scores = np.column_stack(
        [X[:, 0] + task - 1, X[:, 1] + X[:, 0], X[:, 2] - 0.5, X[:, 0] * X[:, 3] - 0.3]
    )
    y = (scores + 0.2 * rng.normal(size=scores.shape) > 0).astype(int)
    y[task == 1, 3] = 0  # a label that one task lacks
    return with_task(X, task), y, rng.integers(1, 4, n).astype(float)


@pytest.fixture(scope="module")
def fitted():
    Z, y, _ = make_rows()
    return AbstainingAdaBoostClassifier(60, task=-1, label_sets="observed").fit(Z, y)


def test_labels_are_learned_each_by_itself(fitted):
    Z, y, _ = make_rows(seed=1)
    predicted, proba = fitted.predict(Z), fitted.predict_proba(Z)
    assert predicted.shape == proba.shape == y.shape
    assert_array_equal(predicted, (proba > 0.5).astype(int))
    assert_array_equal(predicted, (fitted.decision_function(Z) > 0).astype(int))
    assert f1_score(y, predicted, average="macro") > 0.8
    lacking = Z[:, -1] == 1
    assert not predicted[lacking, 3].any()
    assert proba[lacking, 3].max() < 1e-100
    assert_array_equal(fitted.task_classes_[1], [0, 1, 2])
    *_, last = fitted.staged_predict(Z)
    assert_array_equal(last, predicted)


def test_rows_of_one_label_each_are_those_of_classes():
    Z, y, weight = make_rows()
    label = y[:, 0] + 2 * y[:, 1]
    settings = {"algorithm": "mh", "init_weights": "task", "task": -1}
    one = AbstainingAdaBoostClassifier(20, **settings)
    one.fit(Z, label, sample_weight=weight)
    two = AbstainingAdaBoostClassifier(20, task=-1)
    two.fit(Z, np.eye(4, dtype=int)[label], sample_weight=weight)
    for name in one.stumps_.nodes.dtype.names:
        assert_array_equal(one.stumps_.nodes[name], two.stumps_.nodes[name])
    assert_allclose(one.stumps_.values, two.stumps_.values, rtol=1e-12)


@pytest.mark.parametrize("levels", [1, 2])
def test_normalizers_are_those_of_a_twin(levels):
    """The weights of pairs of row and label, by the definition, after each round."""
    Z, y, _ = make_rows()
    model = AbstainingAdaBoostClassifier(
        40, task=-1, levels=levels, label_sets="observed"
    ).fit(Z, y)
    task = Z[:, -1].astype(np.int32)
    weight = np.ones(y.shape)
    weight[task == 1, 3] = 0  # a label that the task lacks has no weight
    weight /= weight.sum(axis=1, keepdims=True)
    weight /= 3 * np.bincount(task)[task][:, None]  # tasks weigh the same
    for number, normalizer in enumerate(model.normalizers_):
        vote = np.zeros(y.shape)
        model.stumps_[number : number + 1].add_scores(Z[:, :-1], task, vote)
        weight = weight * np.exp(np.where(y == 1, -vote, vote))
        assert_allclose(weight.sum(), normalizer, rtol=1e-9)
        weight /= weight.sum()


def test_one_level_takes_the_best_of_all_stumps():
    Z, y, _ = make_rows(120, n_tasks=1)
    model = AbstainingAdaBoostClassifier(1, levels=1, smoothing=0.0)
    model.fit(Z[:, :-1], y)
    weight = np.full(y.shape, 1 / y.size)
    least = np.inf
    for x in Z[:, :-1].T:
        for cut in np.unique(x):
            found = 0.0
            for side in (x <= cut, x > cut):
                right = (weight * y)[side].sum(axis=0)
                wrong = (weight * (1 - y))[side].sum(axis=0)
                vote = 0.5 * np.log((right + _LEAST) / (wrong + _LEAST))
                found += (right * np.exp(-vote) + wrong * np.exp(vote)).sum()
            least = min(least, found)
    assert_allclose(model.normalizers_[0], least, rtol=1e-6)
    assert_array_equal(model.stumps_.nodes["task"][0], [0, -1, -1])


@pytest.mark.parametrize("algorithm", ["mtaa", "mh"])
def test_one_level_alone_is_the_model_of_each_task(algorithm):
    Z, y, _ = make_rows()
    settings = {"levels": 1, "algorithm": algorithm, "init_weights": "task"}
    model = AbstainingAdaBoostClassifier(60, task=-1, **settings).fit(Z, y[:, 1])
    in_round = model.stumps_.nodes["task"]
    assert (in_round[:, 1:] == -1).all()
    assert set(in_round[:, 0]) == {0, 1, 2}
    assert model.score(Z, y[:, 1]) > 0.9
    late = Z[:, -1] == 2
    model.fit(Z[~late], y[~late, 1])
    known = model.decision_function(Z[~late])
    model.add_task(Z[late], y[late, 1])
    assert_array_equal(model.decision_function(Z[~late]), known)
    assert model.score(Z[late], y[late, 1]) > 0.8


def test_frames_sparse_indicators_unknown_tasks_and_files(fitted, tmp_path):
    Z, y, weight = make_rows()
    names = ["red", "green", "blue", "grey"]
    frame = pd.DataFrame(y, columns=names)
    model = AbstainingAdaBoostClassifier(10, task=-1, unknown_task="share")
    expected = model.fit(Z, y, sample_weight=weight).predict_proba(Z)
    assert_array_equal(model.classes_, [0, 1, 2, 3])
    model.fit(Z.tolist(), y.tolist(), sample_weight=weight)
    assert_array_equal(model.predict_proba(Z), expected)
    model.fit(Z, sp.csr_array(y), sample_weight=weight)
    assert_array_equal(model.predict_proba(Z), expected)
    model.fit(sp.csr_array(Z), frame.astype(bool), sample_weight=weight)
    assert_array_equal(model.classes_, names)
    assert_allclose(model.predict_proba(sp.csr_array(Z)), expected)
    strange = with_task(Z[:, :-1], np.full(len(Z), 7))
    each = [
        model.predict_proba(with_task(Z[:, :-1], np.full(len(Z), t))) for t in range(3)
    ]
    assert_allclose(model.predict_proba(strange), np.mean(each, axis=0))
    kinlearn.save(model, tmp_path / "model.skops")
    loaded = kinlearn.load(tmp_path / "model.skops")
    assert_array_equal(loaded.predict(strange), model.predict(strange))


def test_in_words_all_labels_have_their_scores(fitted):
    first = export_text(fitted, rounds=0)
    assert re.search(r"-> task \d: 0 [+-]\d.\d\d, 1 [+-]\d.\d\d, 2 [+-]\d", first)


def test_early_stopping_and_categories():
    Z, y, _ = make_rows()
    Z = np.column_stack([np.round(2 * Z[:, 0] + 6), Z[:, 1:]])
    model = AbstainingAdaBoostClassifier(
        40,
        task=-1,
        early_stopping=True,
        n_iter_no_change=5,
        categorical_features=[0],
        random_state=0,
    ).fit(Z, y)
    assert model.n_estimators_ == np.argmin(model.validation_errors_) + 1
    assert model.validation_errors_.min() < 0.3
    assert np.mean(model.predict(Z) == y) > 0.7


def test_tasks_that_nobody_votes_on_have_the_labels_of_most_rows():
    """One round of one level serves one of three tasks."""
    Z, y, _ = make_rows()
    model = AbstainingAdaBoostClassifier(1, task=-1, levels=1)
    with pytest.warns(TaskFallbackWarning, match="labels that most of its rows have"):
        model.fit(Z, y)
    assert len(model.fallback_tasks_) == 2
    for task, labels in model.fallback_tasks_.items():
        rows = Z[:, -1] == task
        expected = np.flatnonzero(y[rows].mean(axis=0) > 0.5)
        assert_array_equal(labels, expected)
        assert (model.predict(Z[rows]) == np.isin(range(4), labels)).all()


def test_tasks_with_one_label_are_boosted():
    Z, y, _ = make_rows()
    y[Z[:, -1] == 2, 1:] = 0
    model = AbstainingAdaBoostClassifier(60, task=-1, label_sets="observed").fit(Z, y)
    assert_array_equal(model.task_classes_[2], [0])
    assert 2 in model.stumps_.nodes["task"]
    late = Z[:, -1] == 2
    assert (model.predict(Z[late]) == y[late]).mean() > 0.9


def test_early_stopping_of_many_sets_of_labels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, (120, 20))  # no two rows have the same labels
    Z = with_task(np.column_stack([y[:, 0], rng.normal(size=(120, 2))]), y[:, 1])
    model = AbstainingAdaBoostClassifier(
        5, task=-1, early_stopping=True, random_state=0
    ).fit(Z, y)
    assert len(model.validation_errors_) >= model.n_estimators_ >= 1


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([[0, 1], [2, 0], [1, 1]], "column 0 holds 2 in row 1"),
        ([[0, 1], [np.nan, 0], [1, 1]], "column 0 holds nan in row 1"),
        ([[0, 0], [0, 0], [0, 0]], "y has no 1"),
        ([[0, 1], [1, 0]], "X has 3 rows, but y has 2"),
    ],
)
def test_bad_indicators(y, words):
    with pytest.raises(ValueError, match=words):
        AbstainingAdaBoostClassifier(2).fit([[0.0], [1.0], [2.0]], np.array(y))


@pytest.mark.parametrize(
    "y",
    [
        sp.csr_array(np.array([[0], [1], [1]])),
        [[1, 2], [1], [2, 3]],
        [(1, 2), (2,), ()],
        [{1, 2}, {1}, {2}],
        pd.Series([{1, 2}, {1}, {2}]),
        np.array([[1, 2], [1], [2, 3]], dtype=object),
        [1, [2], 1],
    ],
)
def test_other_forms_of_several_labels_are_refused(y):
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        AbstainingAdaBoostClassifier(2).fit([[0.0], [1.0], [2.0]], y)


def test_missing_indicators_of_pandas_are_refused():
    y = pd.DataFrame({"a": [0, 1, 0], "b": [1, pd.NA, 0]}, dtype="Int8")
    with pytest.raises(ValueError, match="column 'b' holds nan in row 1"):
        AbstainingAdaBoostClassifier(2).fit([[0.0], [1.0], [2.0]], y)
    model = AbstainingAdaBoostClassifier(2).fit([[0.0], [1.0], [2.0]], y.fillna(0))
    assert_array_equal(model.classes_, ["a", "b"])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([("a", 1), ("a", 2), ("b", 1)], "names of type .'tuple'"),
        ([1, "a", 2.5], "names of type .'float', 'int', 'str'"),
        (["a", "b", "a"], "twice the name 'a'"),
        ([True, False, 2], "names of type"),
    ],
)
def test_labels_are_different_texts_or_whole_numbers(names, words):
    columns = pd.Index(names) if len(set(map(type, names))) == 1 else names
    y = pd.DataFrame(np.eye(3, dtype=int), columns=columns)
    with pytest.raises(ValueError, match=words):
        AbstainingAdaBoostClassifier(2).fit([[0.0], [1.0], [2.0]], y)
    y.columns = [3, 5, 8]
    model = AbstainingAdaBoostClassifier(2).fit([[0.0], [1.0], [2.0]], y)
    assert_array_equal(model.classes_, [3, 5, 8])


def test_labels_of_rows_of_weight_0_alone_are_none():
    y = np.array([[0, 0], [1, 1], [0, 0]])
    with pytest.raises(ValueError, match="no 1 in a row of positive weight"):
        AbstainingAdaBoostClassifier(2).fit(
            [[0.0], [1.0], [2.0]], y, sample_weight=[1, 0, 1]
        )


def test_what_indicators_do_not_have(fitted):
    Z, y, _ = make_rows()
    for name, value in [
        ("algorithm", "mtaa"),
        ("init_weights", "task_class"),
        ("calibration_folds", 3),
    ]:
        model = AbstainingAdaBoostClassifier(2, task=-1, **{name: value})
        with pytest.raises(ValueError, match=f"{name}=.* one label each"):
            model.fit(Z, y)
    for late in (y, y[:, 0]):
        with pytest.raises(ValueError, match="fit anew"):
            fitted.partial_fit(Z, late)
