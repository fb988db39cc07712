"""Kernels of each group or task, kernels that are functions, and groups as text."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from kinlearn import load, save
from kinlearn._kernels.svm._rows import Kernel, KernelRows
from kinlearn._kernels.svm._task_rows import MixedRows
from kinlearn.exceptions import KinlearnWarning, UnknownTaskWarning
from kinlearn.svm import (
    MultiTaskSVC,
    MultiTaskSVR,
    SVMPlusClassifier,
    SVMPlusRegressor,
)
from kinlearn.utils._loaded import UnsoundModelError
from tests.reference import svm_dual, svm_plus

EXACT = {"tol": 1e-6, "gamma": 0.3}
KERNELS = {"ann": "linear", "bob": "rbf", "cy": laplacian_kernel}
GAMMAS = {"bob": 2.0}


def problem(n=45, seed=0):
    """Features, tasks by name, and numbers; a frame with all three."""
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(n, 3)), np.arange(n) % 3
    value = x[:, 0] + x[:, 1] * (task - 1.0) + 0.5 * rng.normal(size=n)
    X = pd.DataFrame(x, columns=list("uvw"))
    return X.assign(who=np.array(["ann", "bob", "cy"])[task]), x, task, value


def rbf(X, Z):
    return rbf_kernel(X, Z, gamma=0.3)


def correcting_matrix(x):
    """A kernel matrix for each of the three."""
    return [x @ x.T, rbf_kernel(x, gamma=2.0), laplacian_kernel(x)]


def by_group(x, task):
    matrices = correcting_matrix(x)
    out = np.zeros((len(x), len(x)))
    for t, K in enumerate(matrices):
        mine = task == t
        out[np.ix_(mine, mine)] = K[np.ix_(mine, mine)]
    return out


def test_each_task_has_its_own_correcting_kernel():
    X, x, task, value = problem()
    penalty, K = 0.5, rbf_kernel(x, gamma=0.3)
    Q = svm_dual.multi_task_kernel(K, by_group(x, task), task, penalty)
    options = {
        "task": "who",
        "correction_kernel": KERNELS,
        "correction_gamma": GAMMAS,
        "correction_penalty": penalty,
        **EXACT,
    }
    sign = np.where(value > 0, 1.0, -1.0)
    beta, _, objective = svm_dual.multi_task_svc(Q, sign, task, np.full(45, 1.0))
    model = MultiTaskSVC(**options).fit(X, value > 0)
    assert_allclose(model.dual_objective_, objective, rtol=1e-6)
    found = model.decision_function(X)
    assert_allclose(found - model.intercept_[0][task], Q @ beta, atol=1e-3)
    Q_value = svm_dual.multi_task_svr(Q, value, task, np.full(45, 1.0), 0.1)
    model = MultiTaskSVR(**options).fit(X, value)
    assert_allclose(model.dual_objective_, Q_value[2], rtol=1e-6)
    assert_allclose(
        model.predict(X) - model.intercept_[task], Q @ Q_value[0], atol=1e-3
    )


def test_each_group_of_svm_plus_has_its_own_correcting_kernel():
    X, x, task, value = problem(39)
    sign = np.where(value > 0, 1.0, -1.0)
    K = rbf_kernel(x, gamma=0.3)
    _, _, objective = svm_plus.classify_dual(
        K, by_group(x, task), sign, np.full(39, 2.0), task, 0.5
    )
    options = {
        "C": 2.0,
        "group": "who",
        "correction_kernel": KERNELS,
        "correction_gamma": GAMMAS,
        "correction_penalty": 0.5,
        **EXACT,
    }
    model = SVMPlusClassifier(**options).fit(X, value > 0)
    assert_allclose(model.dual_objective_, objective, rtol=1e-5)
    plain = SVMPlusRegressor(**options).set_params(correction_kernel=None)
    assert not np.allclose(
        SVMPlusRegressor(**options).fit(X, value).predict(X),
        plain.fit(X, value).predict(X),
    )


@pytest.mark.parametrize("solver", ["smo", "auto"])
def test_kernels_by_task_survive_shrinking_and_few_cached_rows(solver):
    X, _, _, value = problem(400)
    options = {
        "task": "who",
        "correction_kernel": {"ann": "linear", "bob": "poly"},
        "correction_gamma": {"cy": 1.5},
        "solver": solver,
        **EXACT,
    }
    one = MultiTaskSVC(**options, cache_size=0.01).fit(X, value > 0)
    other = MultiTaskSVC(**options, shrinking=False).fit(X, value > 0)
    assert one.violation_[0] <= 1e-6
    assert_allclose(one.dual_objective_, other.dual_objective_, rtol=1e-7)
    assert_allclose(
        one.decision_function(X), other.decision_function(X), atol=1e-4, rtol=1e-4
    )


@pytest.mark.parametrize("make", [MultiTaskSVC, SVMPlusClassifier])
def test_the_same_kernel_for_each_is_one_for_all(make):
    X, _, _, value = problem()
    column = {"task" if make is MultiTaskSVC else "group": "who"}
    one = make(**column, **EXACT).fit(X, value > 0)
    names = dict.fromkeys(["ann", "bob", "cy"], "rbf")
    each = make(**column, correction_kernel=names, **EXACT).fit(X, value > 0)
    assert_array_equal(one.decision_function(X), each.decision_function(X))
    called = make(
        **column, kernel=rbf, correction_kernel=dict.fromkeys(names, rbf), **EXACT
    ).fit(X, value > 0)
    assert_allclose(one.decision_function(X), called.decision_function(X), atol=1e-4)


@pytest.mark.parametrize(
    "make", [MultiTaskSVC, MultiTaskSVR, SVMPlusClassifier, SVMPlusRegressor]
)
def test_functions_are_the_kernels_that_they_compute(make):
    X, _, _, value = problem()
    column = {"task" if "Multi" in make.__name__ else "group": "who"}
    y = value > 0 if make in (MultiTaskSVC, SVMPlusClassifier) else value
    named = make(**column, **EXACT).fit(X, y)
    called = make(**column, kernel=rbf, **EXACT).fit(X, y)
    assert clone(called).kernel is rbf
    assert_allclose(named.predict(X), called.predict(X), atol=1e-3)
    assert_allclose(named.dual_objective_, called.dual_objective_, rtol=1e-5)


def test_later_tasks_have_the_kernel_of_those_without_a_name():
    X, _, _, value = problem()
    known = X["who"] != "cy"
    options = {"task": "who", "correction_kernel": {"bob": "linear"}, **EXACT}
    model = MultiTaskSVR(**options).fit(X[known], value[known])
    before = model.predict(X[known])
    model.add_task(X[~known], value[~known])
    assert_allclose(model.predict(X[known]), before)
    assert model._machines.correction.of(2).kernel == "rbf"
    assert model._machines.correction.of(1).kernel == "linear"
    # a new task that sorts first moves the others
    first = X[~known].assign(who="aaron")
    model.add_task(first, value[~known])
    assert_allclose(model.predict(X[known]), before)
    assert_allclose(model.predict(first), model.predict(X[~known]), atol=1e-4)


def test_named_tasks_may_come_later_with_their_kernel():
    X, _, _, value = problem()
    known = X["who"] != "cy"
    options = {"correction_kernel": KERNELS, "correction_gamma": GAMMAS}
    model = MultiTaskSVR(task="who", **options, **EXACT)
    with pytest.warns(UnknownTaskWarning, match="names 'cy', which is no task"):
        model.fit(X[known], value[known])
    before = model.predict(X[known])
    model.add_task(X[~known], value[~known])
    assert_allclose(model.predict(X[known]), before)
    assert model._machines.correction.of(2).function is laplacian_kernel
    other = clone(model).set_params(correction_kernel={"bob": "linear"})
    other.fit(X[known], value[known]).add_task(X[~known], value[~known])
    assert not np.allclose(other.predict(X[~known]), model.predict(X[~known]))
    with pytest.warns(UnknownTaskWarning, match="names 'cy', which is no group"):
        SVMPlusRegressor(group="who", **options).fit(X[known], value[known])
    # a name of gamma alone may be gone, as long as one of both mappings is there
    left = X["who"] != "bob"
    with pytest.warns(UnknownTaskWarning, match="names 'bob'"):
        clone(model).fit(X[left], value[left])


class Unhashable:
    """A kernel that has no hash."""

    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, Unhashable)

    def __call__(self, X, Z):
        return laplacian_kernel(X, Z)


def test_functions_of_mappings_need_no_hash():
    X, _, _, value = problem()
    model = MultiTaskSVC(task="who", correction_kernel=KERNELS, **EXACT)
    other = clone(model).set_params(correction_kernel={**KERNELS, "cy": Unhashable()})
    assert_array_equal(
        model.fit(X, value > 0).decision_function(X),
        other.fit(X, value > 0).decision_function(X),
    )


@pytest.mark.parametrize("one", [True, False])
def test_the_matrix_of_a_function_is_not_overwritten(one):
    X, x, _, value = problem()
    own = laplacian_kernel(x)
    before = own.copy()

    def stored(A, B):
        return own[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]

    def whole(A, B):
        return own if A.shape == B.shape else stored(A, B)

    X = X.assign(u=np.arange(45.0))[["u", "who"]]
    options = {"group": "who"} if one else {"privileged": "p"}
    X = X if one else X.drop(columns="who").assign(p=X["u"])
    SVMPlusClassifier(correction_kernel=whole, **options).fit(X, value > 0)
    assert_array_equal(own, before)


@pytest.mark.parametrize(
    "change",
    [
        {"place": (0.0, 1.0, 2.0)},
        {"place": (0, 1, 3)},
        {"default": 1.0},
        {"expected": (("dan", 9),)},
        {"expected": (([], 0),)},
        {"spaces": 3},
    ],
)
def test_forged_kernels_by_group_are_refused(change):
    X, _, _, value = problem()
    model = MultiTaskSVC(task="who", correction_kernel=KERNELS).fit(X, value > 0)
    machines = model._machines
    spaces = machines.correction.spaces
    if "spaces" in change:
        change = {"spaces": tuple(replace(s, kernel="precomputed") for s in spaces)}
    forged = replace(machines.correction, **change)
    model._machines = replace(machines, correction=forged)
    with pytest.raises(UnsoundModelError):
        pickle.loads(pickle.dumps(model))


def test_functions_that_no_file_could_find_are_not_saved(tmp_path):
    X, _, _, value = problem()
    model = MultiTaskSVC(task="who", kernel=lambda X, Z: X @ Z.T).fit(X, value > 0)
    with pytest.raises(ValueError, match="<lambda>, which cannot be imported"):
        save(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("make", [MultiTaskSVC, SVMPlusClassifier])
def test_models_with_kernels_by_group_are_saved(make, tmp_path):
    X, _, _, value = problem()
    column = {"task" if make is MultiTaskSVC else "group": "who"}
    model = make(
        **column,
        kernel=laplacian_kernel,
        correction_kernel={"ann": "linear", "bob": "poly"},
    ).fit(X, value > 0)
    with pytest.warns(KinlearnWarning, match="must allow it by name"):
        save(model, tmp_path / "model.skops")
    trusted = ["sklearn.metrics.pairwise.laplacian_kernel"]
    again = load(tmp_path / "model.skops", trusted=trusted)
    assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correction_kernel": {"dan": "rbf"}}, "names 'dan', which is no task"),
        ({"correction_gamma": {"dan": 1.0}}, "names 'dan', which is no task"),
        ({"correction_kernel": {"ann": "cubic"}}, "has 'cubic' for 'ann'; a mapping"),
        ({"correction_kernel": {"ann": "precomputed"}}, "has 'precomputed' for 'ann'"),
        ({"correction_gamma": {"ann": -1.0}}, "has -1.0 for 'ann'; it must be a"),
        ({"correction_kernel": {"ann": "rbf"}, "task": None}, "but task=None"),
        ({"kernel": lambda X, Z: X[:, 0]}, r"returned an array of shape \(45,\)"),
        ({"kernel": lambda X, Z: np.full((len(X), len(Z)), np.nan)}, "returned nan"),
        ({"kernel": lambda X, Z: X[:, [0]] + 0 * Z[:, 0]}, "is not symmetric"),
        ({"kernel": lambda X, Z: -(X @ Z.T)}, "for a row and itself, which must"),
    ],
)
def test_kernels_that_cannot_be_are_told(options, message):
    X, _, _, value = problem()
    if options.get("task", "who") is None:
        X = X.drop(columns="who")
    with pytest.raises(ValueError, match=message):
        MultiTaskSVC(**{"task": "who", **options}).fit(X, value > 0)


@pytest.mark.parametrize("kind", ["frame", "objects"])
def test_groups_may_be_text(kind):
    X, _, task, value = problem()
    numbered = X.assign(who=task)
    column = "who"
    if kind == "objects":
        X, numbered, column = X.to_numpy(dtype=object), numbered.to_numpy(), -1
    for make, name in ((SVMPlusClassifier, "group"), (MultiTaskSVC, "task")):
        texts = make(**{name: column}).fit(X, value > 0)
        plain = make(**{name: column}).fit(numbered, value > 0)
        assert_array_equal(
            texts.decision_function(X), plain.decision_function(numbered)
        )


def test_rows_of_mixed_kernels_in_any_order():
    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=(30, 2)), np.repeat([0, 1, 0, 2], [8, 9, 6, 7])
    whole = np.zeros((30, 30))
    sources = []
    for k, gamma in enumerate((0.5, 1.0, 2.0)):
        mine = np.flatnonzero(kind == k)
        packed = np.asfortranarray(x[mine])
        sources.append(KernelRows(Kernel.RBF, gamma, packed=packed))
        whole[np.ix_(mine, mine)] = rbf_kernel(x[mine], gamma=gamma)
    rows = MixedRows(sources, kind.astype(np.int32))
    assert_allclose(rows.rows(np.arange(30)), whole, atol=1e-6)
    assert_allclose(rows.diagonals(), 1.0)
    coef = rng.normal(size=30)
    assert_allclose(rows.product(coef), whole @ coef, atol=1e-5)
