"""Where the penalties meet models of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso, Ridge

from kinlearn import with_task
from kinlearn.linear import MultiTaskLinearClassifier, MultiTaskLinearRegressor

OPTIONS = {"scale": False, "tol": 1e-11}


def make_rows(n=60, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d) + 1
    return X, X[:, :3] @ np.array([1.0, -2.0, 0.5]) + 4 + rng.normal(size=n), rng


@pytest.mark.parametrize("alpha", [0.05, 0.5, 2.0])
def test_joint_features_of_the_same_rows_are_the_multi_task_lasso(alpha):
    X, y, rng = make_rows()
    Y = np.column_stack([y, -y + rng.normal(size=60), rng.normal(size=60)])
    rows, task = np.tile(X, (3, 1)), np.repeat(np.arange(3), 60)
    model = MultiTaskLinearRegressor("l21", alpha, task=-1, **OPTIONS)
    model.fit(with_task(rows, task), Y.T.ravel())
    known = MultiTaskLasso(alpha, tol=1e-12, max_iter=100_000).fit(X, Y)
    assert_allclose(model.coef_, known.coef_, atol=1e-6)
    assert_allclose(model.intercept_, known.intercept_, atol=1e-6)


@pytest.mark.parametrize("penalty", ["l21", "shared_sparse"])
def test_one_task_is_the_lasso(penalty):
    X, y, _ = make_rows()
    model = MultiTaskLinearRegressor(penalty, 0.3, **OPTIONS).fit(X, y)
    known = Lasso(0.3, tol=1e-12, max_iter=100_000).fit(X, y)
    assert_allclose(model.coef_[0], known.coef_, atol=1e-6)
    assert_allclose(model.predict(X), known.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("penalty", "factor", "options"),
    [
        ("graph", 0.5, {"ridge": 0.5, "graph": [[0.0]]}),
        ("clustered", 0.5, {"ridge": 0.5}),
        ("covariance", 1.5, {"ridge": 0.5}),  # its covariance is 1
    ],
)
def test_one_task_is_ridge_regression(penalty, factor, options):
    X, y, _ = make_rows()
    weight = np.random.default_rng(1).uniform(0.5, 2, 60)
    model = MultiTaskLinearRegressor(penalty, 0.3, **options, **OPTIONS)
    model.fit(X, y, sample_weight=weight)
    known = Ridge(0.3 * factor * weight.sum()).fit(X, y, sample_weight=weight)
    assert_allclose(model.coef_[0], known.coef_, atol=1e-5)
    assert_allclose(model.intercept_, known.intercept_, atol=1e-4)
    # the same for a logistic loss
    labels = y > np.median(y)
    model = MultiTaskLinearClassifier(penalty, 0.3, **options, **OPTIONS)
    model.fit(X, labels)
    known = LogisticRegression(C=1 / (0.3 * factor * 60), tol=1e-10, max_iter=10_000)
    known.fit(X, labels)
    assert_allclose(model.coef_[0], known.coef_[0], atol=1e-5)
    assert_allclose(model.predict_proba(X), known.predict_proba(X), atol=1e-5)


def test_one_task_of_several_classes_is_multinomial_ridge_regression():
    X, y, _ = make_rows()
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = MultiTaskLinearClassifier("graph", 0.1, graph=[[0]], ridge=1.0, **OPTIONS)
    model.fit(X, labels)
    known = LogisticRegression(C=1 / (0.1 * 60), tol=1e-10, max_iter=10_000)
    known.fit(X, labels)
    assert_allclose(model.coef_[0], known.coef_, atol=1e-5)
    assert_allclose(model.predict_proba(X), known.predict_proba(X), atol=1e-5)


def test_a_graph_without_links_is_a_ridge_of_each_task():
    X, y, _ = make_rows(n=90)
    task = np.repeat([0, 1, 2], [20, 30, 40])
    model = MultiTaskLinearRegressor(
        "graph", 0.4, graph=np.zeros((3, 3)), ridge=1.0, task=-1, **OPTIONS
    ).fit(with_task(X, task), y)
    for t in range(3):
        rows = task == t
        known = Ridge(0.4 * rows.sum()).fit(X[rows], y[rows])
        assert_allclose(model.coef_[t], known.coef_, atol=1e-5)


def test_strong_links_make_one_slope_of_all_tasks():
    X, y, _ = make_rows(n=90)
    task = np.arange(90) % 3
    links = 1e6 * (1 - np.eye(3))
    model = MultiTaskLinearRegressor(
        "graph", 0.1, graph=links, task=-1, scale=False, tol=1e-12
    ).fit(with_task(X, task), y + 5 * task)
    assert_allclose(model.coef_[0], model.coef_[1], atol=1e-4)
    assert_allclose(model.coef_[0], model.coef_[2], atol=1e-4)
    assert_allclose(model.task_affinity_, np.ones((3, 3)), atol=1e-3)


def test_two_classes_are_three_of_which_one_never_comes():
    # the softmax of two outputs, with halved coefficients, is the logistic function
    X, y, _ = make_rows(n=80)
    task = np.arange(80) % 2
    labels = (y > np.median(y)).astype(int)
    labels[task == 1] += 10 * (task[task == 1] > 0)  # other names: four classes in all
    model = MultiTaskLinearClassifier(
        "graph", 0.2, graph=np.zeros((2, 2)), ridge=1.0, task=-1, **OPTIONS
    ).fit(with_task(X, task), labels)
    for t in range(2):
        rows = task == t
        known = LogisticRegression(C=1 / (0.1 * rows.sum()), tol=1e-10, max_iter=10_000)
        known.fit(X[rows], labels[rows])
        proba = model.predict_proba(with_task(X[rows], task[rows]))
        ours = proba[:, np.isin(model.classes_, known.classes_)]
        assert_allclose(ours, known.predict_proba(X[rows]), atol=1e-5)
        assert_allclose(ours.sum(axis=1), 1.0)
