"""Rows that come after a support vector machine was fitted."""

import pickle

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

from kinlearn.svm import MultiTaskSVC, MultiTaskSVR


def rows(n=160, n_tasks=4, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, -1] = np.arange(n) % n_tasks
    level = X[:, 0] + (X[:, -1] - 1) * X[:, 1] + 0.3 * X[:, -1]
    return X, level + noise * rng.normal(size=n)


def hinge_correction(X, sign, common, C, penalty):
    """w and d of  min penalty |w|^2 / 2 + C sum max(0, 1 - sign (common + Xw + d))."""
    n, d = X.shape
    P = sp.diags([penalty] * d + [0.0] * (1 + n), format="csc")
    q = np.r_[np.zeros(d + 1), np.full(n, C)]
    margin = np.hstack([sign[:, None] * X, sign[:, None]])
    A = sp.bmat([[-margin, -sp.eye(n)], [sp.csc_array((n, d + 1)), -sp.eye(n)]])
    b = np.r_[sign * common - 1, np.zeros(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(2 * n)]
    found = clarabel.DefaultSolver(P, q, A.tocsc(), b, cones, settings).solve().x
    return np.array(found[:d]), found[d]


@pytest.mark.parametrize(
    "kernels", [("linear", None), ("rbf", "linear"), ("rbf", None)]
)
def test_a_regression_is_that_of_what_the_common_part_leaves(kernels):
    # A correction alone is a plain machine of targets less the common part.
    X, y = rows()
    first = np.arange(160) < 120
    model = MultiTaskSVR(
        C=2.0,
        epsilon=0.2,
        task=-1,
        kernel=kernels[0],
        correction_kernel=kernels[1],
        gamma=0.4,
        correction_penalty=0.5,
        tol=1e-6,
    ).fit(X[first], y[first])
    kept = model.task_support_[1]
    own = np.r_[kept, np.flatnonzero(~first & (X[:, -1] == 1))]
    model.partial_fit(X[~first], y[~first])
    Z, rest = X[own, :-1], y[own] - model.common_predict(X[own])
    if "linear" in kernels:
        K = Z @ Z.T
    else:
        K = np.exp(-0.4 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    twin = SVR(kernel="precomputed", C=2.0, epsilon=0.2, tol=1e-8).fit(K / 0.5, rest)
    assert 5 < len(kept) < (first & (X[:, -1] == 1)).sum()
    assert_allclose(model.task_predict(X[own]), twin.predict(K / 0.5), atol=1e-5)


def test_a_boundary_is_that_of_a_quadratic_program():
    X, level = rows()
    y = np.where(level > 0, "yes", "no")
    first = np.arange(160) < 100
    weights = np.random.default_rng(1).integers(0, 3, size=160)
    model = MultiTaskSVC(
        C=2.0,
        task=-1,
        kernel="linear",
        correction_penalty=0.5,
        class_weight={"yes": 1.5},
        tol=1e-7,
    ).fit(X[first], y[first], weights[first])
    kept = model.task_support_
    model.partial_fit(X[~first], y[~first], sample_weight=weights[~first])
    for t in range(4):
        own = np.r_[kept[t], np.flatnonzero(~first & (X[:, -1] == t))]
        sign = np.where(y[own] == "yes", 1.0, -1.0)
        cost = 2.0 * weights[own] * np.where(y[own] == "yes", 1.5, 1.0)
        common = model.common_decision_function(X[own])
        w, d = hinge_correction(X[own, :-1], sign, common, cost, 0.5)
        assert_allclose(model.task_coef_[0, t], w, atol=1e-4)
        bias = model.intercept_[0, t] - model.common_intercept_[0]
        assert_allclose(bias, d, atol=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_nothing_is_lost_without_news(kernel):
    # Support vectors give the correction, and rows beyond the margins are no news.
    X, level = rows()
    y = (level > 0).astype(int)
    model = MultiTaskSVC(C=1.0, task=-1, kernel=kernel, tol=1e-8).fit(X, y)
    before = model.decision_function(X)
    beyond = (2 * y - 1) * before > 1.01
    assert 20 < beyond.sum() < 140
    model.partial_fit(X[beyond], y[beyond])
    assert_allclose(model.decision_function(X), before, atol=1e-5)
    weightless = np.where(beyond, 1.0, 0.0)
    model.partial_fit(X, np.where(beyond, y, 1 - y), sample_weight=weightless)
    assert_allclose(model.decision_function(X), before, atol=1e-5)


def test_a_refit_where_the_common_part_does_not_matter_and_all_rows_are_kept():
    # Without a tube every row is a support vector; corrections for nothing do it all.
    X, y = rows()
    first = np.arange(160) < 120
    options = {
        "C": 1e-2,
        "epsilon": 0.0,
        "task": -1,
        "kernel": "linear",
        "correction_penalty": 1e-4,
        "tol": 1e-9,
    }
    model = MultiTaskSVR(**options).fit(X[first], y[first])
    assert len(model.support_) == 120
    model.partial_fit(X[~first], y[~first])
    whole = MultiTaskSVR(**options).fit(X, y)
    assert_allclose(model.predict(X), whole.predict(X), atol=2e-3)
    before = MultiTaskSVR(**options).fit(X[first], y[first])
    assert np.abs(before.predict(X) - whole.predict(X)).max() > 0.05


def test_portions_and_weights():
    X, y = rows()
    first = np.arange(160) < 100
    options = {"C": 1.0, "epsilon": 0.0, "task": -1, "gamma": 0.5, "tol": 1e-8}
    once, twice, heavy, repeated = (
        MultiTaskSVR(**options).fit(X[first], y[first]) for _ in range(4)
    )
    once.partial_fit(X[~first], y[~first])
    twice.partial_fit(X[100:130], y[100:130]).partial_fit(X[130:], y[130:])
    assert_allclose(twice.predict(X), once.predict(X), atol=1e-5)
    heavy.partial_fit(X[~first], y[~first], sample_weight=np.full(60, 3.0))
    three = np.repeat(np.arange(100, 160), 3)
    repeated.partial_fit(X[three], y[three])
    assert_allclose(heavy.predict(X), repeated.predict(X), atol=1e-5)


def test_other_tasks_stay_and_new_ones_are_as_by_add_task():
    X, level = rows(n=240)
    y = np.digitize(level, [-0.5, 0.8])
    first, new = (X[:, -1] < 3) & (np.arange(240) < 160), X[:, -1] == 3
    more = (X[:, -1] == 1) & ~first
    model = MultiTaskSVC(C=5.0, task=-1).fit(X[first], y[first])
    twin = pickle.loads(pickle.dumps(model)).add_task(X[new], y[new])
    others = X[np.isin(X[:, -1], [0, 2])]
    before = model.decision_function(others)
    model.partial_fit(X[new | more], y[new | more])
    assert [*model.tasks_] == [0, 1, 2, 3]
    assert_array_equal(model.decision_function(others), before)
    assert_array_equal(model.decision_function(X[new]), twin.decision_function(X[new]))
    assert (model.predict(X[more]) == y[more]).mean() > 0.8
    # Tasks that were added take further rows, too, and codes may move.
    late = X[new] - [0, 0, 4]
    model.partial_fit(late, y[new])
    model.partial_fit(X[new], y[new])
    assert [*model.tasks_] == [-1, 0, 1, 2, 3]
    assert_array_equal(model.decision_function(others), before)
    assert (model.predict(late) == y[new]).mean() > 0.8


def test_a_task_of_one_class_remembers_it():
    # It has no support vectors; the row that bounds its bias is kept.
    X, level = rows(noise=0.0)
    y = (level > 0).astype(int)
    first = (X[:, -1] != 2) | (y == 0)
    model = MultiTaskSVC(C=10.0, task=-1, kernel="linear").fit(X[first], y[first])
    own = X[:, -1] == 2
    assert len(model.task_support_[2]) == 0
    assert (model.predict(X[own & first]) == 0).all()
    model.partial_fit(X[~first], y[~first])
    assert model.task_classes_[2].tolist() == [0, 1]
    found = model.predict(X[own])
    assert (found[y[own] == 0] == 0).any()
    assert (found[y[own] == 1] == 1).mean() > 0.9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_later_task_of_one_class_keeps_close_to_the_common_function(kernel):
    X, level = rows()
    y = (level > 0).astype(int)
    old = X[:, -1] < 3
    for label in (0, 1):
        model = MultiTaskSVC(task=-1, kernel=kernel).fit(X[old], y[old])
        new = ~old & (y == label)
        model.add_task(X[new], y[new])
        own, common = model.decision_function(X), model.common_decision_function(X)
        moved = (own - common)[X[:, -1] == 3]
        assert_allclose(moved, moved[0], atol=1e-9)
        sign = 2 * label - 1
        needed = (1 - sign * common[new]).max()  # for a margin of 1
        assert_allclose(sign * moved[0], max(needed, 0), atol=1e-6)


def test_classes_of_later_tasks_must_be_known():
    X, level = rows()
    y = np.digitize(level, [-0.5, 0.5])
    old = (X[:, -1] < 3) & (y < 2)
    for method in ("add_task", "partial_fit"):
        model = MultiTaskSVC(task=-1).fit(X[old], y[old])
        with pytest.raises(ValueError, match=r"did not see in fit: 2.* Fit anew"):
            getattr(model, method)(X[X[:, -1] == 3], y[X[:, -1] == 3])


def test_a_tube_that_holds_all_rows_remembers_its_walls():
    X, _ = rows()
    y = np.where(X[:, -1] == 1, 0.02 * np.sin(np.arange(160)), X[:, 0])
    options = {
        "epsilon": 0.1,
        "task": -1,
        "kernel": "linear",
        "correction_penalty": 1e6,
    }
    model = MultiTaskSVR(**options).fit(X[:, [1, 2]] * [0, 1], y * (X[:, -1] == 1))
    assert len(model.task_support_[1]) == 0
    # One row above the tube: the bias goes up as far as the old rows allow.
    model.partial_fit([[0.0, 1]], [1.0], sample_weight=[1e-3])
    lowest = y[X[:, -1] == 1].min()
    assert_allclose(model.predict([[0.0, 1]]), lowest + 0.1, atol=2e-3)


def test_with_dear_corrections_a_bias_is_left():
    X, y = rows()
    first = np.arange(160) < 120
    model = MultiTaskSVR(
        C=1.0, task=-1, kernel="linear", correction_penalty=1e12, tol=1e-6
    ).fit(X[first], y[first])
    kept = model.task_support_
    model.partial_fit(X[~first], y[~first] + 1)
    for t in range(4):
        late = np.flatnonzero(~first & (X[:, -1] == t))
        own = np.r_[kept[t], late]
        rest = (y + ~first)[own] - model.common_predict(X[own])

        def loss(bias, rest=rest):
            return np.maximum(np.abs(rest - bias) - model.epsilon, 0).sum()

        bias = model.task_predict(X[own])
        assert_allclose(bias, bias[0], atol=1e-6)
        best = min(loss(r + e) for r in rest for e in (-0.1, 0.1))
        assert_allclose(loss(bias[0]), best, atol=1e-4)


def test_sparse_rows_are_as_dense_ones():
    X, level = rows()
    y = (level > 0).astype(int)
    first = np.arange(160) < 120
    parts = [(X[first], y[first]), (X[~first], y[~first])]
    dense, sparse = MultiTaskSVC(task=-1), MultiTaskSVC(task=-1)
    for Z, labels in parts:
        dense.partial_fit(Z, labels, classes=[0, 1])
        sparse.partial_fit(sp.csr_array(Z), labels)
    assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-2)


def test_the_first_call_is_a_fit():
    X, level = rows()
    y = (level > 0).astype(int)
    a = MultiTaskSVC(task=-1).fit(X, y)
    b = MultiTaskSVC(task=-1).partial_fit(X, y, classes=[0, 1])
    assert_array_equal(a.decision_function(X), b.decision_function(X))
    with pytest.raises(ValueError, match=r"y must hold every class; \[2\] are missing"):
        MultiTaskSVC(task=-1).partial_fit(X, y, classes=[0, 1, 2])


def test_what_cannot_be_used_is_refused_and_changes_nothing():
    X, level = rows()
    y = (level > 0).astype(int)
    model = MultiTaskSVC(task=-1).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="classes that MultiTaskSVC did not see"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="X has 160 rows, but y has 159 labels"):
        model.partial_fit(X, y[1:])
    K = np.column_stack([X[:, :2] @ X[:, :2].T, X[:, -1]])
    given = MultiTaskSVC(task=-1, kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="partial_fit needs features, but a kernel"):
        given.partial_fit(K, y)
    balanced = MultiTaskSVC(task=-1, class_weight="balanced").fit(X, y)
    with pytest.raises(ValueError, match=r"balanced.*depends on all rows"):
        balanced.partial_fit(X, y)
    assert_array_equal(model.decision_function(X), before)
    model.set_params(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="or raise max_iter") as told:
        model.partial_fit(X, 1 - y)
    assert told[0].filename == __file__


def test_a_model_with_later_rows_is_saved():
    X, level = rows()
    y = (level > 0).astype(int)
    y[X[:, -1] == 2] = 0  # no support vectors
    first = np.arange(160) < 120
    model = MultiTaskSVC(task=-1).fit(X[first], y[first])
    model.partial_fit(X[~first], y[~first]).add_task(X[:9] + np.array([0, 0, 9]), y[:9])
    content = skops.io.dumps(model)
    found = skops.io.get_untrusted_types(data=content)
    assert "kinlearn.svm.estimators._machines.Correction" in found
    again = skops.io.loads(content, trusted=found).partial_fit(X, y)
    model.partial_fit(X, y)
    assert_array_equal(again.decision_function(X), model.decision_function(X))
