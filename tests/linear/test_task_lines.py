"""Linear models of all tasks in one go: the same as one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn import with_task
from kinlearn.linear._task_lines import has_line
from kinlearn.sharing import PerTask, _per_task


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(5), (30, 20, 12, 9, 2))
    X = rng.normal(size=(len(task), 4))
    y = X[:, 0] * (task - 2) + 0.3 * rng.normal(size=len(task))
    return with_task(X, task), y, rng.uniform(0.5, 2.0, size=len(task))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ridge(rows, weighted, dtype):
    X, y, weight = rows
    X, weight = X.astype(dtype), weight if weighted else None
    model = PerTask(Ridge(2.0), task=-1, unknown_task="share").fit(X, y, weight)
    for t in range(5):
        own = X[:, -1] == t
        part = Ridge(2.0).fit(
            X[own, :-1], y[own], None if weight is None else weight[own]
        )
        assert_allclose(model.estimators_[t].coef_, part.coef_, rtol=1e-4, atol=1e-6)
        assert_allclose(model.predict(X[own]), part.predict(X[own, :-1]), rtol=1e-4)
        assert vars(model.estimators_[t]).keys() == vars(part).keys()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_logistic_regression(rows, weighted, labels):
    X, y, weight = rows
    c = np.array(labels)[(y > 0).astype(int)]
    c[X[:, -1] == 3] = labels[1]  # a task of one class
    weight = weight if weighted else None
    exact = LogisticRegression(C=3.0, tol=1e-10, max_iter=10_000)
    model = PerTask(exact, task=-1, unknown_task="share").fit(X, c, weight)
    assert isinstance(model.estimators_[3], DummyClassifier)
    for t in (0, 1, 2):
        own = X[:, -1] == t
        part = clone(exact)
        part.fit(X[own, :-1], c[own], None if weight is None else weight[own])
        found = model.estimators_[t]
        assert_allclose(found.coef_, part.coef_, atol=1e-5)
        assert_allclose(found.intercept_, part.intercept_, atol=1e-5)
        assert_array_equal(found.classes_, part.classes_)
        assert vars(found).keys() == vars(part).keys()


def test_three_classes_are_left_to_the_estimator(rows):
    X, y, _ = rows
    c = np.digitize(y, [-0.5, 0.5])
    model = PerTask(LogisticRegression(), task=-1, min_samples=5).fit(X, c)
    own = X[:, -1] == 0
    part = LogisticRegression().fit(X[own, :-1], c[own])
    assert_allclose(model.estimators_[0].coef_, part.coef_)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(positive=True),
        Ridge(fit_intercept=False),
        LogisticRegression(class_weight="balanced"),
        LogisticRegression(solver="liblinear"),
        DummyClassifier(),
    ],
)
def test_other_models_are_fitted_one_by_one(rows, estimator, monkeypatch):
    X, y, _ = rows
    assert not has_line(estimator, X[:, :-1])
    assert has_line(Ridge(), X[:, :-1])
    assert not has_line(Ridge(), X.astype(int))
    assert not has_line(Ridge(), np.where(X > 1, np.nan, X))
    monkeypatch.setattr(_per_task, "fit_lines", None)
    target = y if isinstance(estimator, Ridge) else (y > 0).astype(int)
    PerTask(estimator, task=-1, min_samples=12).fit(X, target)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_numbers(rows, library):
    X, y, _ = rows
    c = (y > 0).astype(int)
    names = ["a", "b", "c", "d", "task"]
    frame = pytest.importorskip(library).DataFrame(
        {name: X[:, j] for j, name in enumerate(names)}
    )
    model = PerTask(LogisticRegression(), task="task", min_samples=5).fit(frame, c)
    array = PerTask(LogisticRegression(), task=-1, min_samples=5).fit(X, c)
    assert_allclose(model.predict_proba(frame), array.predict_proba(X), rtol=1e-12)
    assert_array_equal(model.estimators_[0].feature_names_in_, names[:-1])
