"""Tasks that come after a support vector machine was fitted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from kinlearn.svm import MultiTaskSVC, MultiTaskSVR


def rows(n=160, n_tasks=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, -1] = np.arange(n) % n_tasks
    return X, X[:, 0] + (X[:, -1] - 1) * X[:, 1] + 0.3 * X[:, -1]


@pytest.mark.parametrize(
    "kernels", [("rbf", None), ("linear", None), ("rbf", "linear")]
)
def test_a_new_class_boundary_is_optimal_and_others_stay(kernels):
    X, level = rows()
    y = np.where(level > 0, "yes", "no")
    new = X[:, -1] == 1
    model = MultiTaskSVC(
        C=2.0,
        task=-1,
        kernel=kernels[0],
        correction_kernel=kernels[1],
        correction_penalty=0.5,
        tol=1e-6,
    ).fit(X[~new], y[~new])
    before = model.decision_function(X[~new])
    common = model._machines.common(X[new][:, :-1])[:, 0]
    model.add_task(X[new], y[new])
    assert [*model.tasks_] == [0, 1, 2, 3]
    assert_array_equal(model.decision_function(X[~new]), before)
    assert_allclose(model.common_decision_function(X[new]), common)
    # The conditions of the optimum with the common part fixed.
    extra = model._machines.later[1]
    beta = np.zeros(new.sum())
    places = {tuple(v): i for i, v in enumerate(X[new][:, :-1])}
    for vector, value in zip(extra.vectors, extra.dual_coef[0], strict=True):
        beta[places[tuple(vector)]] = value
    sign = np.where(y[new] == "yes", 1, -1)
    alpha, margin = sign * beta, sign * model.decision_function(X[new])
    assert_allclose(beta.sum(), 0, atol=1e-9)
    assert (alpha > -1e-12).all()
    assert (alpha < 2.0 + 1e-12).all()
    assert (margin[alpha < 1e-9] > 1 - 1e-4).all()
    assert (margin[alpha > 2.0 - 1e-9] < 1 + 1e-4).all()
    free = (alpha > 1e-9) & (alpha < 2.0 - 1e-9)
    assert_allclose(margin[free], 1, atol=1e-4)
    assert free.any()


def test_a_large_penalty_leaves_a_bias_only():
    X, level = rows()
    new = X[:, -1] == 2
    model = MultiTaskSVR(
        C=10.0, epsilon=0.05, task=-1, kernel="linear", correction_penalty=1e9
    ).fit(X[~new], level[~new])
    model.add_task(X[new], level[new])
    own = model.predict(X[new]) - model.common_predict(X[new])
    assert_allclose(own, own[0], atol=1e-5)
    assert_allclose(model.intercept_[2] - model.common_intercept_, own[0], atol=1e-5)


def test_a_small_penalty_fits_the_new_task_alone():
    X, level = rows()
    new = X[:, -1] == 3
    model = MultiTaskSVR(
        C=100.0, epsilon=0.01, task=-1, kernel="linear", correction_penalty=1e-3
    ).fit(X[~new], level[~new])
    assert np.abs(model.common_predict(X[~new]) - level[~new]).max() > 0.3
    model.add_task(X[new], level[new])
    assert np.abs(model.predict(X[new]) - level[new]).max() < 0.02
    weights = model.coef_ + model.task_coef_[:, 3]
    assert_allclose(weights[0], [1, 2], atol=0.02)


def test_several_classes_and_tasks_one_by_one():
    X, level = rows(n=240)
    y = np.digitize(level, [-0.5, 0.8])
    first, later = X[:, -1] < 2, [2, 3]
    model = MultiTaskSVC(C=5.0, task=-1).fit(X[first], y[first])
    for t in reversed(later):
        own = X[:, -1] == t
        model.add_task(X[own], y[own])
    assert model.intercept_.shape == (3, 4)
    for t in later:
        own = X[:, -1] == t
        assert (model.predict(X[own]) == y[own]).mean() > 0.9
        assert len(model.task_support_[t]) == 0  # rows of fit


def test_what_cannot_be_added_is_refused():
    X, level = rows()
    y = (level > 0).astype(int)
    model = MultiTaskSVC(task=-1).fit(X, y)
    with pytest.raises(ValueError, match="add_task adds tasks"):
        model.add_task(X, y)
    other = X + np.array([0, 0, 10])
    with pytest.raises(ValueError, match="classes that"):
        model.add_task(other, y + 1)
    K = np.column_stack([X[:, :2] @ X[:, :2].T, X[:, -1]])
    model = MultiTaskSVC(task=-1, kernel="precomputed").fit(K, y)
    K[:, -1] += 10
    with pytest.raises(ValueError, match="a kernel is precomputed"):
        model.add_task(K, y)
    model = MultiTaskSVC(task=-1, class_weight="balanced").fit(X, y)
    with pytest.raises(ValueError, match="balanced"):
        model.add_task(other, y)


def test_a_limit_that_is_met_is_told_where_the_task_was_added():
    X, y = rows()
    new = X[:, -1] == 1
    model = MultiTaskSVR(task=-1).fit(X[~new], y[~new]).set_params(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="or raise max_iter") as told:
        model.add_task(X[new], y[new])
    assert told[0].filename == __file__
