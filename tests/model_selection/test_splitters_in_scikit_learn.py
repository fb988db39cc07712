"""The splitters as ``cv`` of scikit-learn's tools, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kinlearn.model_selection import (
    LeaveOneTaskOut,
    RepeatedTaskStratifiedKFold,
    TargetKFold,
    TaskShuffleSplit,
    TaskStratifiedKFold,
)

SPLITTERS = [
    (TaskStratifiedKFold(3, task="shop"), 3),
    (TaskStratifiedKFold(3, task="shop", shuffle=True, random_state=0), 3),
    (RepeatedTaskStratifiedKFold(3, n_repeats=2, task="shop", random_state=0), 6),
    (TaskShuffleSplit(4, task="shop", random_state=0), 4),
    (TargetKFold(3, task="shop", target="b"), 3),
    (LeaveOneTaskOut("shop"), 4),
]


def problem():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    X["shop"] = np.array(list("abcd"))[rng.permutation(np.arange(120) % 4)]
    return X, (X["a"] + rng.normal(size=120) > 0).astype(int).to_numpy()


def pipeline():
    return make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["a", "b", "c"]),
            (OneHotEncoder(handle_unknown="ignore"), ["shop"]),
        ),
        LogisticRegression(),
    )


@pytest.mark.parametrize(("cv", "n_splits"), SPLITTERS)
def test_grid_search_end_to_end(cv, n_splits):
    X, y = problem()
    grid = {"logisticregression__C": [0.01, 1.0]}
    search = GridSearchCV(pipeline(), grid, cv=cv).fit(X, y)
    assert search.n_splits_ == n_splits == cv.get_n_splits(X, y)
    best = []
    for value in grid["logisticregression__C"]:
        model = clone(search.estimator).set_params(logisticregression__C=value)
        scores = []
        for train, test in cv.split(X, y):
            model.fit(X.iloc[train], y[train])
            scores.append(accuracy_score(y[test], model.predict(X.iloc[test])))
        best.append(np.mean(scores))
    assert_allclose(search.cv_results_["mean_test_score"], best)


def test_cross_val_predict_with_folds():
    X, y = problem()
    answers = cross_val_predict(pipeline(), X, y, cv=TaskStratifiedKFold(task="shop"))
    assert answers.shape == (120,)


def test_regression():
    X, _ = problem()
    y = X["a"].to_numpy() ** 2
    found = cross_validate(Ridge(), X[["a", "b"]], y, cv=TaskStratifiedKFold(3))
    assert len(found["test_score"]) == 3


@pytest.mark.parametrize(
    "cv",
    [
        TaskStratifiedKFold(3),
        RepeatedTaskStratifiedKFold(3, n_repeats=1, random_state=0),
        TaskShuffleSplit(3, random_state=0),
        TargetKFold(3, target="b"),
        LeaveOneTaskOut(),
    ],
)
def test_groups_give_the_tasks_with_and_without_metadata_routing(cv):
    X, y = problem()
    groups, X = X["shop"], X[["a", "b", "c"]]
    model = LogisticRegression()
    expected = [
        model.fit(X.iloc[train], y[train]).score(X.iloc[test], y[test])
        for train, test in cv.split(X, y, groups)
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        got = cross_val_score(model, X, y, cv=cv, params={"groups": groups})
    assert_allclose(got, expected)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TaskStratifiedKFold(1), ValueError, "n_splits == 1"),
        (lambda: TaskStratifiedKFold(2.5), TypeError, "n_splits must be an inst"),
        (lambda: TaskStratifiedKFold(shuffle=1), TypeError, "shuffle must be True"),
        (lambda: TaskStratifiedKFold(random_state=0), ValueError, "has no effect"),
        (lambda: TaskStratifiedKFold(stratify="y"), ValueError, "stratify must be"),
        (lambda: TargetKFold(1, target=0), ValueError, "n_splits == 1"),
        (lambda: RepeatedTaskStratifiedKFold(n_repeats=0), ValueError, "n_repeats"),
        (lambda: RepeatedTaskStratifiedKFold(1), ValueError, "n_splits == 1"),
        (lambda: TaskShuffleSplit(0), ValueError, "n_splits == 0"),
        (lambda: TaskShuffleSplit(test_size=1.0), ValueError, "test_size must be"),
        (lambda: TaskShuffleSplit(train_size=0), ValueError, "train_size must be"),
        (lambda: TaskShuffleSplit(train_size=True), ValueError, "train_size must be"),
        (lambda: TaskShuffleSplit(train_size="all"), ValueError, "train_size must"),
        (
            lambda: TaskShuffleSplit(train_size=0.7, test_size=0.5),
            ValueError,
            "more than the whole task",
        ),
    ],
)
def test_bad_settings_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


X, y = problem()
LABELS_OF_ROWS = np.c_[y, y]


@pytest.mark.parametrize(
    ("cv", "arguments", "message"),
    [
        (TaskStratifiedKFold(task="shop"), (X,), "y is needed"),
        (TaskStratifiedKFold(task="town"), (X, y), "'town' is not in X"),
        (TaskStratifiedKFold(task="shop"), (X, y, y), "given twice"),
        (TaskStratifiedKFold(121), (X, y), "120 rows for 121 folds"),
        (TaskStratifiedKFold(), (X, y[:5]), "inconsistent numbers of samples"),
        (TaskStratifiedKFold(), (X, y, y[:5]), "inconsistent numbers of samples"),
        (TaskStratifiedKFold(), (X, LABELS_OF_ROWS), "should be a 1d array"),
        (
            TaskStratifiedKFold(stratify="quantiles"),
            (X, np.full(120, np.nan)),
            "y contains NaN",
        ),
        (TaskStratifiedKFold(), (X, y, [None] * 120), "'groups' is missing in 120 of"),
        (TargetKFold(target="b"), (X, y), "needs tasks"),
        (TargetKFold(task="shop", target="z"), (X, y), "'z' is not among the tasks"),
        (
            TargetKFold(31, task="shop", target="b"),
            (X, y),
            "'b' has 30 rows for 31 folds",
        ),
        (LeaveOneTaskOut(), (X, y), "needs tasks"),
        (LeaveOneTaskOut(), (X, y, np.zeros(120, int)), "two tasks or more"),
        (
            TaskShuffleSplit(task="shop", train_size=30),
            (X, y),
            r"4 of 4 tasks have too few rows for train_size=30",
        ),
        (
            TaskShuffleSplit(task="shop", train_size=20, test_size=0.5),
            (X, y),
            "too few rows",
        ),
        (TaskShuffleSplit(), (X, y, np.arange(120)), "Every task has a single row"),
    ],
)
def test_bad_data_is_refused(cv, arguments, message):
    with pytest.raises(ValueError, match=message):
        next(cv.split(*arguments))


def test_tasks_cannot_be_counted_without_data():
    with pytest.raises(ValueError, match="X is needed to count the tasks"):
        LeaveOneTaskOut("shop").get_n_splits()
