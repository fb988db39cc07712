"""SVM+MTL estimators against scikit-learn's machines and the specification."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, SVR

from kinlearn import with_task
from kinlearn.exceptions import FeatureScaleWarning, KinlearnWarning
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.svm import MultiTaskSVC, MultiTaskSVR, SVMPlusClassifier
from kinlearn.svm._problem import Problem
from kinlearn.svm.solvers import linear_pays
from tests.interrupt import seconds_to_stop
from tests.reference.svm_dual import multi_task_kernel
from tests.versions import needs_callbacks

HUGE = 1e12  # a correction penalty that leaves biases only
KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
]


def problem(n=240, n_tasks=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    task = rng.integers(0, n_tasks, size=n)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.8 * task + 0.5 * rng.normal(size=n)
    bounds = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.digitize(signal, bounds), signal, task


@pytest.mark.parametrize("params", KERNELS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_one_task_with_huge_penalty_is_svc(params, C):
    X, y, _, _ = problem()
    ours = MultiTaskSVC(C=C, **params, correction_penalty=HUGE, tol=1e-6).fit(X, y)
    peer = SVC(C=C, **params, tol=1e-6).fit(X, y)
    assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-3)
    assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.parametrize("params", KERNELS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_one_task_with_huge_penalty_is_svr(params, C):
    X, _, y, _ = problem()
    ours = MultiTaskSVR(C=C, **params, correction_penalty=HUGE, tol=1e-5).fit(X, y)
    peer = SVR(C=C, **params, tol=1e-5).fit(X, y)
    assert_allclose(ours.predict(X), peer.predict(X), atol=1e-3)


def test_class_and_sample_weights_are_those_of_svc():
    X, y, _, _ = problem()
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(y))
    for class_weight in ("balanced", {0: 5.0, 1: 1.0}):
        params = {"class_weight": class_weight, "gamma": 0.3, "tol": 1e-6}
        ours = MultiTaskSVC(**params, correction_penalty=HUGE)
        ours.fit(X, y, sample_weight=weight)
        peer = SVC(**params).fit(X, y, sample_weight=weight)
        assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-3)


def test_scale_goes_by_weights_as_svc_does_by_repeated_rows():
    X, y, signal, _ = problem()
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    for make, peer, target in ((MultiTaskSVC, SVC, y), (MultiTaskSVR, SVR, signal)):
        ours = make(correction_penalty=HUGE, tol=1e-6)
        ours.fit(X, target, sample_weight=weight)
        peer = peer(gamma="scale", tol=1e-6).fit(X[repeated], target[repeated])
        answer = "decision_function" if make is MultiTaskSVC else "predict"
        expected = getattr(peer, answer)(X)
        assert_allclose(getattr(ours, answer)(X), expected, atol=1e-3)


def test_class_weights_are_row_weights_by_every_rule():
    X, y, _, _ = problem()
    rows = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(y))
    given = {0: 5.0, 1: 1.0}
    both = rows * np.where(y == 0, 5.0, 1.0)
    for make in (MultiTaskSVC, partial(SVMPlusClassifier, privileged=[0])):
        by_class = make(class_weight=given).fit(X, y, sample_weight=rows)
        by_row = make().fit(X, y, sample_weight=both)
        X_new = X if make is MultiTaskSVC else X[:, 1:]
        values = (model.decision_function(X_new) for model in (by_class, by_row))
        assert_allclose(*values, atol=1e-12)


def test_several_classes_are_those_of_svc():
    X, y, _, _ = problem(n_classes=4)
    ours = MultiTaskSVC(correction_penalty=HUGE, gamma=0.3, tol=1e-6).fit(X, y)
    peer = SVC(gamma=0.3, tol=1e-6).fit(X, y)
    assert ours.dual_coef_.shape[0] == 6
    # scikit-learn's pairs have the other sign, which moves ties of votes only
    assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-3)
    assert_array_equal(ours.predict(X), peer.predict(X))


def test_one_against_the_rest():
    X, y, _, _ = problem(n_classes=3)
    ours = MultiTaskSVC(multi_class="ovr", correction_penalty=HUGE, gamma=0.3, tol=1e-6)
    values = ours.fit(X, y).decision_function(X)
    for c in range(3):
        peer = SVC(gamma=0.3, tol=1e-6).fit(X, y == c)
        assert_allclose(values[:, c], peer.decision_function(X), atol=1e-3)


def test_without_biases_it_is_one_machine_with_the_multi_task_kernel():
    """rMTL: the kernel K (1 + [same task] / penalty)."""
    X, y, _, task = problem()
    K = multi_task_kernel(*[rbf_kernel(X, gamma=0.3)] * 2, task, 0.5)
    ours = MultiTaskSVC(
        gamma=0.3, correction_penalty=0.5, fit_intercept=False, task=-1, tol=1e-6
    ).fit(with_task(X, task), y)
    # SVC always has a bias. With every row a second time, mirrored and of the other
    # class, the best bias is 0; each of the two carries half the cost.
    mirrored = np.block([[K, -K], [-K, K]])
    peer = SVC(kernel="precomputed", C=0.5, tol=1e-6)
    peer.fit(mirrored, np.concatenate([y, 1 - y]))
    expected = peer.decision_function(mirrored)[: len(y)]
    assert_allclose(ours.decision_function(with_task(X, task)), expected, atol=1e-3)
    assert_array_equal(ours.intercept_, 0.0)


def test_huge_penalty_leaves_one_function_and_biases_of_tasks():
    X, y, _, task = problem()
    Z = with_task(X, task)
    model = MultiTaskSVC(correction_penalty=HUGE, task=-1).fit(Z, y)
    own = model.decision_function(Z) - model.common_decision_function(Z)
    for t in range(3):
        bias = model.intercept_[0, t] - model.common_intercept_[0]
        assert_allclose(own[task == t], bias, atol=1e-8)


def test_small_penalty_makes_a_machine_of_each_task():
    """K / penalty dominates: with C times the penalty, tasks are on their own."""
    X, y, _, task = problem(n=300)
    Z = with_task(X, task)
    penalty = 1e-5
    model = MultiTaskSVC(
        C=2.0 * penalty, gamma=0.3, correction_penalty=penalty, task=-1, tol=1e-6
    ).fit(Z, y)
    for t in range(3):
        rows = task == t
        alone = SVC(C=2.0, gamma=0.3, tol=1e-6).fit(X[rows], y[rows])
        assert_allclose(
            model.decision_function(Z[rows]),
            alone.decision_function(X[rows]),
            atol=2e-3,
        )


@pytest.mark.parametrize("make", [MultiTaskSVC, MultiTaskSVR])
def test_parts_add_up_and_coefficients_are_theirs(make):
    X, y, signal, task = problem()
    Z = with_task(X, task)
    params = {"kernel": "linear", "correction_penalty": 0.3, "task": -1}
    model = make(**params, solver="smo").fit(Z, y if make is MultiTaskSVC else signal)
    answer = "decision_function" if make is MultiTaskSVC else "predict"
    total = getattr(model, answer)(Z)
    common = getattr(model, f"common_{answer}")(Z)
    assert_allclose(common + getattr(model, f"task_{answer}")(Z), total)
    bias = np.reshape(model.intercept_, -1)[task]
    shared = np.reshape(model.common_intercept_, -1)[0]
    assert_allclose(common, X @ model.coef_[0] + shared)
    own = np.einsum("ij,ij->i", X, model.task_coef_[0][task])
    assert_allclose(total, X @ model.coef_[0] + own + bias)
    dual = np.reshape(model.dual_coef_, -1)
    assert_allclose(model.coef_[0], dual @ X[model.support_])
    for t, rows in model.task_support_.items():
        assert_array_equal(task[rows], t)
    assert_allclose(model.support_vectors_, X[model.support_])
    assert_array_equal(
        np.concatenate(list(model.task_support_.values())), model.support_
    )


@pytest.mark.parametrize("make", [MultiTaskSVC, MultiTaskSVR])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalty", [0.2, 1.0, HUGE])
def test_linear_solver_finds_what_smo_finds(make, fit_intercept, penalty):
    X, y, signal, task = problem(n=400)
    Z = with_task(X, task)
    target = y if make is MultiTaskSVC else signal
    weight = np.random.default_rng(3).choice([0.0, 0.5, 2.0], size=len(y))
    params = {
        "kernel": "linear",
        "correction_penalty": penalty,
        "fit_intercept": fit_intercept,
        "task": -1,
        "C": 0.5,
        "tol": 1e-4,
    }
    linear = make(**params, solver="linear").fit(Z, target, sample_weight=weight)
    smo = make(**params, solver="smo").fit(Z, target, sample_weight=weight)
    assert linear.violation_ <= 1e-4
    assert_allclose(linear.dual_objective_, smo.dual_objective_, rtol=1e-5)
    assert_allclose(linear.coef_, smo.coef_, atol=1e-3)
    assert_allclose(linear.task_coef_, smo.task_coef_, atol=1e-3)
    assert_allclose(linear.intercept_, smo.intercept_, atol=1e-3)


@pytest.mark.parametrize("seed", range(24))
def test_auto_takes_the_linear_solver_and_reaches_the_objective_of_smo(seed):
    """Few rows or many, more features than rows, dense or sparse, all costs."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(10, 80)), int(rng.integers(1, 100))
    make = MultiTaskSVC if seed % 2 else MultiTaskSVR
    X, task = rng.normal(size=(n, d)), rng.integers(0, 1 + seed % 5, size=n)
    y = X[:, 0] + 0.5 * task + rng.normal(size=n)
    y = y if seed % 2 == 0 else (y > np.median(y)).astype(int)
    Z = with_task(sp.csr_array(X) if seed % 3 == 0 else X, task)
    params = {
        "kernel": "linear",
        "C": float(rng.choice([0.01, 1.0, 10.0])),
        "correction_penalty": float(rng.choice([0.3, 1.0, 100.0])),
        "fit_intercept": bool(rng.integers(0, 2)),
        "task": -1,
        "tol": 1e-4,
    }
    auto, smo = make(**params).fit(Z, y), make(**params, solver="smo").fit(Z, y)
    linear = make(**params, solver="linear").fit(Z, y)
    assert_array_equal(auto.dual_objective_, linear.dual_objective_)
    assert np.max(auto.violation_) <= 1e-4
    assert_allclose(auto.dual_objective_, smo.dual_objective_, rtol=1e-4, atol=1e-5)
    assert_allclose(auto.predict(Z), smo.predict(Z), atol=5e-3)


@pytest.mark.parametrize("make", [MultiTaskSVC, MultiTaskSVR])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_single_precision_on_the_way_changes_nothing(make, C, monkeypatch):
    from kinlearn.svm.solvers import _linear

    X, y, signal, task = problem(n=400)
    Z, target = with_task(X, task), y if make is MultiTaskSVC else signal
    params = {"C": C, "kernel": "linear", "task": -1, "tol": 1e-6}
    exact = make(**params, solver="linear").fit(Z, target)
    monkeypatch.setattr(_linear, "_ROUGH_CELLS", 1)
    rough = make(**params, solver="linear").fit(Z, target)
    assert np.max(rough.violation_) <= 1e-6
    assert_allclose(rough.dual_objective_, exact.dual_objective_, rtol=1e-7)
    assert_allclose(rough.coef_, exact.coef_, atol=1e-5)


def test_linear_solver_needs_linear_kernels():
    X, y, _, _ = problem()
    with pytest.raises(ValueError, match="two linear kernels; got kernel='rbf'"):
        MultiTaskSVC(solver="linear").fit(X, y)


def test_auto_goes_to_smo_where_the_linear_solver_does_not_end(monkeypatch):
    from kinlearn.svm.estimators import _multi_task_base
    from kinlearn.svm.solvers import _task_dual

    X, y, _, _ = problem()
    expected = MultiTaskSVC(kernel="linear", solver="smo").fit(X, y)
    monkeypatch.setattr(_task_dual, "MAX_STEPS", 2)
    model = MultiTaskSVC(kernel="linear").fit(X, y)
    assert_array_equal(model.dual_objective_, expected.dual_objective_)
    monkeypatch.undo()
    monkeypatch.setattr(_multi_task_base, "linear_pays", lambda *_: False)
    model = MultiTaskSVC(kernel="linear").fit(X, y)
    assert_array_equal(model.n_iter_, expected.n_iter_)


def test_linear_solver_is_not_taken_for_thousands_of_rows_and_features():
    rows = np.arange(20_000)
    large = Problem(rows, rows * 0, 1, rows, rows, rows)
    assert not linear_pays(large, sp.csr_array((20_000, 20_000)))
    assert linear_pays(large, np.empty((20_000, 500)))
    many = Problem(rows, rows, 20_000, rows, rows, rows)
    assert not linear_pays(many, np.empty((20_000, 5)))


def test_without_biases_rows_move_in_twos():
    """One row at a time took 134,000 steps."""
    X, _, signal, task = problem()
    model = MultiTaskSVR(C=20.0, gamma=0.01, fit_intercept=False, task=-1)
    model.fit(with_task(X, task), signal)
    assert model.violation_ <= 1e-3
    assert model.n_iter_ < 10_000


@needs_callbacks
def test_callbacks_see_every_machine():
    class Recorder:
        seen = []

        def setup(self, estimator, context):
            self.seen.append("setup")

        def on_fit_task_begin(self, estimator, context, **kwargs):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            self.seen.append(context.task_name)

        def teardown(self, estimator, context):
            self.seen.append("teardown")

    X, y, _, task = problem(n_classes=3)
    Z, machines = with_task(X, task), [f"machine {m}" for m in range(3)]
    for model in (MultiTaskSVC(task=-1), SVMPlusClassifier(group=-1)):
        recorder = Recorder()
        recorder.seen = []
        model.set_callbacks(recorder).fit(Z, y)
        assert recorder.seen == ["setup", *machines, "fit", "teardown"]


def test_precomputed_kernels_travel_with_the_task_column():
    X, y, _, task = problem()
    K, K_star = rbf_kernel(X, gamma=0.3), X @ X.T
    Z = with_task(X, task)
    train, test = np.arange(0, 160), np.arange(160, 240)
    given = {"kernel": "precomputed", "task": -1, "tol": 1e-6}

    def cut(*parts):
        blocks = [part[:, train] if len(part.T) == 240 else part for part in parts]
        return with_task(np.hstack(blocks), task)

    features = {"gamma": 0.3, "task": -1, "tol": 1e-6}
    cases = [
        (MultiTaskSVC(**features), MultiTaskSVC(**given), cut(K)),
        (
            MultiTaskSVC(**features, correction_kernel="linear"),
            MultiTaskSVC(**given, correction_kernel="precomputed"),
            cut(K, K_star),
        ),
        (
            MultiTaskSVC(**features, correction_kernel="linear"),
            MultiTaskSVC(**given, correction_kernel="linear"),
            cut(K, X),
        ),
        (
            MultiTaskSVC(**features, correction_kernel="linear"),
            MultiTaskSVC(**features, correction_kernel="precomputed"),
            cut(K_star, X),
        ),
    ]
    for plain, precomputed, both in cases:
        expected = plain.fit(Z[train], y[train]).decision_function(Z[test])
        precomputed.fit(both[train], y[train])
        assert_allclose(precomputed.decision_function(both[test]), expected, atol=1e-4)


def test_a_matrix_that_is_not_symmetric_is_refused():
    """Such as one whose columns were not cut, with features behind it."""
    X, y, _, task = problem()
    K = rbf_kernel(X)
    mixed = {"kernel": "precomputed", "correction_kernel": "linear", "task": -1}
    Z = with_task(np.hstack([K, X]), task)
    MultiTaskSVC(**mixed).fit(Z, y)
    for part in (Z, sp.csr_array(Z)):
        with pytest.raises(ValueError, match=r"not symmetric: rows .* cut its columns"):
            MultiTaskSVC(**mixed).fit(part[::2], y[::2])
    with pytest.raises(ValueError, match="not symmetric"):
        cross_val_score(
            MultiTaskSVC(**mixed),
            Z,
            y,
            cv=TaskStratifiedKFold(3, task=-1, shuffle=True, random_state=0),
            error_score="raise",
        )
    K[3, 5] += 1e-3
    with pytest.raises(ValueError, match=r"The kernel of .*rows 3 and 5 have"):
        MultiTaskSVC(kernel="precomputed").fit(K, y)
    MultiTaskSVC(kernel="precomputed").fit(rbf_kernel(X.astype(np.float32)), y)


def test_cross_validation_cuts_a_matrix_alone():
    X, y, _, _ = problem()
    given = cross_val_score(MultiTaskSVC(kernel="precomputed"), rbf_kernel(X), y)
    plain = cross_val_score(MultiTaskSVC(gamma=1 / X.shape[1]), X, y)
    assert_allclose(given, plain)


def test_a_matrix_that_was_not_cut_is_an_error_that_says_so():
    X, y, _, task = problem()
    K = with_task(rbf_kernel(X), task)
    with pytest.raises(ValueError, match=r"needs 200 columns.* X has 240 columns"):
        MultiTaskSVC(
            kernel="precomputed", correction_kernel="precomputed", task=-1
        ).fit(K[:200], y[:200])


def test_parts_of_several_classes_are_those_of_the_machines():
    X, y, _, task = problem(n_classes=3)
    Z = with_task(X, task)
    rest = MultiTaskSVC(task=-1, multi_class="ovr").fit(Z, y)
    parts = rest.common_decision_function(Z) + rest.task_decision_function(Z)
    assert_allclose(parts, rest.decision_function(Z))
    pairs = MultiTaskSVC(task=-1, tol=1e-6, gamma=0.3).fit(Z, y)
    own = pairs.task_decision_function(Z)
    for m, (one, two) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (y == one) | (y == two)
        alone = MultiTaskSVC(task=-1, tol=1e-6, gamma=0.3).fit(Z[rows], y[rows])
        assert_allclose(own[:, m], alone.task_decision_function(Z), atol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_classes_without_weight_never_win_and_leave_no_nan(kernel, multi_class):
    X, y, _, task = problem(n_classes=3)
    Z = with_task(X, task)
    model = MultiTaskSVC(kernel=kernel, multi_class=multi_class, task=-1)
    by_row = clone(model).fit(Z, y, sample_weight=(y == 1).astype(float))
    by_class = clone(model).set_params(class_weight={0: 0.0, 2: 0.0}).fit(Z, y)
    for fitted in (by_row, by_class):
        assert np.isfinite(fitted.decision_function(Z)).all()
        assert np.isfinite(fitted.common_decision_function(Z)).all()
        assert_array_equal(fitted.predict(Z), 1)
    with pytest.raises(ValueError, match="needs rows with a positive weight"):
        model.set_params(class_weight={0: 0.0, 1: 0.0, 2: 0.0}).fit(Z, y)


def test_calibration_gives_probabilities():
    X, y, _, task = problem(n_classes=3)
    Z = with_task(X, task)
    model = CalibratedClassifierCV(
        MultiTaskSVC(task=-1), cv=TaskStratifiedKFold(3, task=-1)
    ).fit(Z, y)
    proba = model.predict_proba(Z)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba.argmax(axis=1) == y).mean() > 0.8


def test_a_task_never_gets_a_class_it_lacks():
    X, y, _, task = problem(n_classes=4)
    y = np.where((task == 1) & (y == 3), 2, y)
    y = np.where(task == 2, 0, y)  # one class
    Z = with_task(X, task)
    for multi_class in ("ovo", "ovr"):
        model = MultiTaskSVC(task=-1, multi_class=multi_class, label_sets="observed")
        model.fit(Z, y)
        answer, scores = model.predict(Z), model.decision_function(Z)
        assert set(answer[task == 1]) <= {0, 1, 2}
        assert set(answer[task == 2]) == {0}
        assert_array_equal(scores.argmax(axis=1), answer)
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", ["smo", "auto"])
def test_a_task_of_one_class_keeps_close_to_the_common_function(kernel, solver):
    X, y, _, task = problem()
    for label in (0, 1):
        kept = (task != 1) | (y == label)
        rows = with_task(X, task)
        model = MultiTaskSVC(task=-1, kernel=kernel, solver=solver, tol=1e-6)
        model.fit(rows[kept], y[kept])
        common = model.common_decision_function(rows)[task == 1]
        moved = model.decision_function(rows)[task == 1] - common
        assert_allclose(moved, moved[0], atol=1e-9)
        sign = 2 * label - 1
        needed = (1 - sign * common[y[task == 1] == label]).max()
        assert_allclose(sign * moved[0], max(needed, 0), atol=1e-4)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_class_that_the_rows_of_a_task_do_not_show_is_possible(multi_class):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(400, 2)), np.arange(400) % 3
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    hidden = (task == 1) & (y == 2)
    rows = with_task(X, task)
    options = {"task": -1, "multi_class": multi_class, "C": 10.0, "gamma": 0.1}
    model = MultiTaskSVC(**options).fit(rows[~hidden], y[~hidden])
    assert model.task_classes_[1].tolist() == [0, 1, 2]
    found = model.predict(rows[hidden])
    assert (found == 2).mean() > 0.3
    assert_array_equal(model.decision_function(rows[hidden]).argmax(axis=1), found)
    shown = (task == 1) & ~hidden
    assert (model.predict(rows[shown]) == y[shown]).mean() > 0.9
    model = MultiTaskSVC(**options, label_sets="observed").fit(
        rows[~hidden], y[~hidden]
    )
    assert (model.predict(rows[hidden]) != 2).all()


def test_unknown_task_gets_the_common_function():
    X, y, signal, task = problem()
    Z, strange = with_task(X, task), with_task(X, np.full(len(y), 9))
    model = MultiTaskSVC(task=-1, unknown_task="share").fit(Z, y)
    common = model.common_decision_function(Z)
    assert_allclose(model.decision_function(strange), common)
    regressor = MultiTaskSVR(task=-1, unknown_task="share").fit(Z, signal)
    assert_allclose(regressor.predict(strange), regressor.common_predict(Z))


def test_analytic_parameters():
    """C from the range of y; the noise estimate is near the noise that was put in."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 2))
    task = np.arange(2000) % 2
    y = 3.0 + np.sin(X[:, 0]) + 5.0 * task + 0.2 * rng.normal(size=2000)
    model = MultiTaskSVR(C="analytic", epsilon="analytic", task=-1)
    model.fit(with_task(X, task), y)
    assert_allclose(model.C_, max(abs(y.mean() + 3 * y.std()), y.mean() - 3 * y.std()))
    noise = model.epsilon_ / (3 * np.sqrt(np.log(2000) / 2000))
    assert_allclose(noise, 0.2, rtol=0.1)
    with pytest.raises(ValueError, match="Give epsilon as a number"):
        MultiTaskSVR(epsilon="analytic", kernel="precomputed").fit(X @ X.T, y)


def test_features_of_different_scale_are_warned_of():
    X, y, _, _ = problem()
    X[:, 2] *= 1e5
    with pytest.warns(FeatureScaleWarning, match=r"'x2' has.* with StandardSc") as told:
        MultiTaskSVC().fit(X, y)
    assert told[0].filename == __file__  # whoever called fit
    with pytest.warns(FeatureScaleWarning, match=r"with kinlearn.keep_task\(.*task=-1"):
        MultiTaskSVC(task=-1).fit(with_task(X, y * 0), y)


def test_scales_of_features_behind_a_matrix_are_warned_of():
    X, y, _, task = problem(n=60)
    X[:, 2] *= 1e5
    Z = with_task(np.hstack([np.eye(60), X]), task)
    model = MultiTaskSVC(kernel="precomputed", correction_kernel="rbf", task=-1)
    with pytest.warns(FeatureScaleWarning, match="column 'x62' has"):
        model.fit(Z, y)


def test_limit_of_iterations_warns_with_the_violation():
    X, y, _, _ = problem()
    told = pytest.warns(
        ConvergenceWarning, match=r"after 5 iterations with a violation"
    )
    with told as record:
        model = MultiTaskSVC(max_iter=5).fit(X, y)
    assert record[0].filename == __file__  # whoever called fit
    assert model.violation_[0] > 1e-3
    assert np.isfinite(model.decision_function(X)).all()


def test_warm_start_goes_on_where_it_stopped():
    X, y, _, task = problem()
    Z = with_task(X, task)
    model = MultiTaskSVC(task=-1, warm_start=True).fit(Z, y)
    first = model.n_iter_[0]
    assert model.fit(Z, y).n_iter_[0] < first / 10
    objective = MultiTaskSVC(C=2.0, task=-1).fit(Z, y).dual_objective_
    assert_allclose(model.set_params(C=2.0).fit(Z, y).dual_objective_, objective, 1e-4)


@pytest.mark.parametrize("C", [1e-6, 1e6])
@pytest.mark.parametrize("make", [MultiTaskSVC, MultiTaskSVR])
def test_extreme_costs_end_well(C, make):
    X, y, signal, task = problem(n=90)
    Z = with_task(X, task)
    for params in ({"kernel": "linear", "solver": "linear"}, {"gamma": 0.5}):
        model = make(C=C, task=-1, **params)
        model.fit(Z, y if make is MultiTaskSVC else signal)
        assert np.max(model.violation_) <= 1e-3
        assert np.isfinite(model.predict(Z)).all()


def test_rows_that_occur_twice_end_well():
    X, y, _signal, task = problem(n=60)
    Z = with_task(np.tile(X, (3, 1)), np.tile(task, 3))
    flipped = np.concatenate([y, y, 1 - y])  # some with both labels
    for C in (0.1, 100.0):
        model = MultiTaskSVC(C=C, task=-1).fit(Z, flipped)
        assert model.violation_[0] <= 1e-3
    constant = MultiTaskSVC().fit(np.ones((20, 2)), np.arange(20) % 2)
    assert np.isfinite(constant.decision_function(np.ones((3, 2)))).all()


def test_a_matrix_that_is_no_kernel_ends_well():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 60))
    K = A + A.T  # indefinite
    y = np.arange(60) % 2
    model = MultiTaskSVC(kernel="precomputed", correction_penalty=HUGE).fit(K, y)
    assert model.violation_[0] <= 1e-3
    assert np.isfinite(model.decision_function(K)).all()


def test_sparse_rows_without_densifying(monkeypatch):
    from kinlearn.svm import _kernel

    X, y, _, task = problem()
    X[np.abs(X) < 0.7] = 0.0
    expected = MultiTaskSVC(task=-1, tol=1e-5).fit(with_task(X, task), y)
    monkeypatch.setattr(_kernel, "_DENSE_CELLS", 0)
    Z = with_task(sp.csr_array(X), task)
    model = MultiTaskSVC(task=-1, tol=1e-5).fit(Z, y)
    assert_allclose(
        model.decision_function(Z), expected.decision_function(Z.toarray()), atol=1e-4
    )


def test_a_task_without_weight_gets_the_common_function():
    X, y, _, task = problem()
    Z = with_task(X, task)
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    weight[task == 2] = 0.0
    model = MultiTaskSVC(task=-1).fit(Z, y, sample_weight=weight)
    rows = task == 2
    assert_allclose(
        model.decision_function(Z[rows]), model.common_decision_function(Z[rows])
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ctrl_c_stops_within_a_second(fit_intercept):
    # Noise under a wide kernel: it takes minutes.
    model = MultiTaskSVR(C=1e6, epsilon=0.0, gamma=1e-3, fit_intercept=fit_intercept)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 40)), rng.normal(size=6000)
    assert seconds_to_stop(lambda: model.fit(X, y)) < 1


@pytest.mark.parametrize("kind", [MultiTaskSVC, MultiTaskSVR])
def test_a_fit_of_minutes_is_announced_before_it_begins(kind, monkeypatch):
    monkeypatch.setattr(kind, "_seconds_by_pair", 1.0)
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] > 9).astype(int)
    with pytest.warns(KinlearnWarning, match=r"20 rows .*at least 7 minutes on one"):
        kind().fit(X, y)
    kind(max_iter=1000).fit(X, y)  # whoever limits it knows
