"""SVM+ estimators: limits, columns, weights, classes, kernels, bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from kinlearn.exceptions import FeatureScaleWarning
from kinlearn.svm import SVMPlusClassifier, SVMPlusRegressor, _matrices, analytic_C
from tests.interrupt import seconds_to_stop
from tests.reference import svm_plus as qp

EXACT = {"tol": 1e-7}


def problem(n=60, n_classes=2, seed=0):
    """x (3 columns), x* (2 columns), classes and numbers."""
    rng = np.random.default_rng(seed)
    x, privileged = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    value = x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.7 * privileged[:, 0]
    cuts = np.quantile(value, np.arange(1, n_classes) / n_classes)
    return x, privileged, np.searchsorted(cuts, value), value


def classifier(**options):
    return SVMPlusClassifier(**{**EXACT, **options})


def regressor(**options):
    return SVMPlusRegressor(**{**EXACT, **options})


# ------------------------------------------------------------------------ limits


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_without_columns_of_training_it_is_the_plain_machine(kernel, C):
    x, _, y, value = problem()
    options = {"kernel": kernel, "C": C, "coef0": 1.0, "degree": 2}
    plain = SVC(**options, tol=1e-7).fit(x, y)
    model = classifier(**options).fit(x, y)
    assert_allclose(model.decision_function(x), plain.decision_function(x), atol=1e-3)
    # free slacks are the hinge losses
    sign = 2 * y - 1
    hinge = np.maximum(0, 1 - sign * plain.decision_function(x))
    assert_allclose(model.correcting_values_, hinge, atol=1e-3)
    plain = SVR(**options, tol=1e-7).fit(x, value)
    model = regressor(**options).fit(x, value)
    assert_allclose(model.predict(x), plain.predict(x), atol=1e-3)
    error = plain.predict(x) - value
    beyond = np.maximum(0, np.column_stack([error, -error]) - 0.1)
    assert_allclose(model.correcting_values_, beyond, atol=1e-3)


def test_small_penalty_is_the_plain_machine_if_the_kernel_tells_rows_apart():
    x, privileged, y, value = problem()
    X = np.column_stack([x, privileged])
    options = {"privileged": [3, 4], "correction_gamma": 5.0}
    model = classifier(**options, correction_penalty=1e-6).fit(X, y)
    plain = SVC(tol=1e-7).fit(x, y)
    assert_allclose(model.decision_function(x), plain.decision_function(x), atol=1e-3)
    model = regressor(**options, correction_penalty=1e-6).fit(X, value)
    assert_allclose(model.predict(x), SVR(tol=1e-7).fit(x, value).predict(x), atol=1e-3)


def largest_slack_machine(K, sign, cost, group):
    """1/2 |w|^2 + sum_g cost_g t_g, y f >= 1 - t_g, t_g >= 0, by interior points."""
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0))
    n, members = len(sign), (np.unique(group)[:, None] == group).astype(float)
    t = len(members)
    P = np.diag(np.r_[np.ones(n), np.zeros(1 + t)])
    q = np.r_[np.zeros(n + 1), members @ cost]
    margin = np.hstack([sign[:, None] * Z, sign[:, None], members.T])
    G = -np.vstack([margin, np.eye(t, n + 1 + t, n + 1)])
    h = np.r_[-np.ones(n), np.zeros(t)]
    x, _ = qp.solve_qp(P, q, np.zeros((1, len(q))), np.zeros(1), G, h)
    return Z @ x[:n] + x[n], x[n + 1 :]


def test_constant_privileged_column_makes_all_slacks_the_largest_one():
    x, _, y, _ = problem(40)
    X = np.column_stack([x, np.full(40, 7.0)])
    weight = np.random.default_rng(0).uniform(0.5, 2, 40)
    sign = 2.0 * y - 1
    expected, slack = largest_slack_machine(
        rbf_kernel(x, gamma=0.2), sign, 0.1 * weight, np.zeros(40)
    )
    for options in ({}, {"correction_kernel": "linear"}, {"correction_penalty": 1e-3}):
        model = classifier(C=0.1, gamma=0.2, privileged=3, **options)
        model.fit(X, y, weight)
        assert_allclose(model.decision_function(x), expected, atol=1e-4)
        assert_allclose(model.correcting_values_, slack[0], atol=1e-4)
    # so that weights of classes count by their sum alone
    total = weight.sum() / (weight * np.where(y == 1, 3.0, 1.0)).sum()
    other = classifier(C=0.1 * total, gamma=0.2, privileged=3, class_weight={1: 3.0})
    other.fit(X, y, weight)
    assert_allclose(other.decision_function(x), expected, atol=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("constant", [1e3, 1e5])
@pytest.mark.parametrize("whole_rows", [10, 1200])
def test_a_large_constant_privileged_column_is_a_constant(
    kernel, constant, whole_rows, monkeypatch
):
    """Its kernel has large cells, whose products are rounding alone."""
    monkeypatch.setattr(_matrices, "_WHOLE_ROWS", whole_rows)
    x, _, y, value = problem(60)
    X = np.column_stack([x, np.ones(60), np.full(60, constant)])
    options = {"C": 10.0, "gamma": 0.2, "correction_kernel": kernel}
    for make, target in ((classifier, y), (regressor, value)):
        plain = make(**options, privileged=3).fit(X[:, :4], target)
        large = make(**options, privileged=3).fit(X[:, [0, 1, 2, 4]], target)
        assert large.violation_.max() <= 1e-7
        assert_allclose(large.dual_objective_, plain.dual_objective_, rtol=1e-6)
        assert_allclose(large.predict(x), plain.predict(x), atol=1e-4)


def test_privileged_columns_far_from_0_are_those_near_it():
    """What all rows have in common cancels, but for rounding."""
    x, privileged, y, value = problem(60)
    here = np.column_stack([x, privileged])
    there = np.add(here, [0, 0, 0, 1e6, 1e6])
    options = {"C": 10.0, "gamma": 0.2, "correction_kernel": "linear"}
    for make, target in ((classifier, y), (regressor, value)):
        near = make(**options, privileged=[3, 4], tol=1e-5).fit(here, target)
        far = make(**options, privileged=[3, 4], tol=1e-5).fit(there, target)
        assert_allclose(far.dual_objective_, near.dual_objective_, rtol=1e-4)


def test_large_penalty_is_one_slack_for_each_group():
    x, privileged, y, _ = problem(40)
    group = np.arange(40) % 3
    X = np.column_stack([x, privileged, group])
    model = classifier(
        C=0.1, gamma=0.2, privileged=[3, 4], group=5, correction_penalty=1e9
    ).fit(X, y)
    expected, slack = largest_slack_machine(
        rbf_kernel(x, gamma=0.2), 2.0 * y - 1, np.full(40, 0.1), group
    )
    assert_allclose(model.decision_function(x), expected, atol=1e-4)
    assert_allclose(model.correcting_values_, slack[group], atol=1e-4)


def test_one_group_is_privileged_columns_that_repeat_x():
    x, _, y, value = problem()
    grouped = np.column_stack([x, np.full(60, 4)])
    repeated = np.column_stack([x, x])
    for make, target in ((classifier, y), (regressor, value)):
        one = make(group=3).fit(grouped, target)
        two = make(privileged=[3, 4, 5]).fit(repeated, target)
        assert_allclose(one.predict(x), two.predict(x), atol=1e-4)
        assert_allclose(one.correcting_values_, two.correcting_values_, atol=1e-4)
        assert_allclose(one.dual_objective_, two.dual_objective_)


def test_groups_of_one_row_are_free_slacks():
    x, _, y, _ = problem()
    model = classifier(group=3).fit(np.column_stack([x, np.arange(60)]), y)
    plain = SVC(tol=1e-7).fit(x, y)
    assert_allclose(model.decision_function(x), plain.decision_function(x), atol=1e-4)


# ---------------------------------------------------------- what it says of rows


def test_slacks_hold_and_are_functions_of_the_privileged_columns():
    x, privileged, y, value = problem()
    X = np.column_stack([x, privileged])
    options = {"privileged": [3, 4], "correction_kernel": "linear"}
    model = classifier(**options).fit(X, y)
    slack = model.correcting_values_
    assert slack.min() >= 0
    margin = (2 * y - 1) * model.decision_function(x)
    assert (margin >= 1 - slack - 1e-6).all()
    design = np.column_stack([privileged, np.ones(60)])
    fitted = design @ np.linalg.lstsq(design, slack)[0]
    assert_allclose(fitted, slack, atol=1e-5)
    model = regressor(**options).fit(X, value)
    error = model.predict(x) - value
    above, below = model.correcting_values_.T
    assert (error <= 0.1 + above + 1e-6).all()
    assert (-error <= 0.1 + below + 1e-6).all()


def test_hard_rows_are_found_by_the_privileged_view():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    hard = rng.uniform(size=200) < 0.2
    y = (x[:, 0] > 0) ^ (hard & (rng.uniform(size=200) < 0.5))
    X = np.column_stack([x, hard])
    model = SVMPlusClassifier(kernel="linear", privileged=2).fit(X, y)
    slack = model.correcting_values_
    assert slack[hard].min() > slack[~hard].max()


def test_linear_machine_has_weights():
    x, privileged, y, _ = problem()
    X = np.column_stack([x, privileged])
    model = classifier(kernel="linear", privileged=[3, 4]).fit(X, y)
    values = x @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(x), values)
    with pytest.raises(AttributeError, match="linear"):
        _ = classifier().fit(x, y).coef_


# ------------------------------------------------------------------------ columns


def test_columns_of_training_may_be_gone_in_prediction():
    x, privileged, y, _ = problem()
    data = {"a": x[:, 0], "biopsy": privileged[:, 0], "b": x[:, 1], "c": x[:, 2]}
    data["clinic"] = np.array(["north", "south", "east"])[np.arange(60) % 3]
    model = SVMPlusClassifier(privileged="biopsy", group="clinic")
    array = np.column_stack([*x.T, privileged[:, 0], np.arange(60) % 3])
    expected = SVMPlusClassifier(privileged=3, group=4).fit(array, y)
    for library in (pd, pl):
        frame = library.DataFrame(data)
        model.fit(frame, y)
        assert_array_equal(model.groups_, ["east", "north", "south"])
        assert_array_equal(model.feature_names_, ["a", "b", "c"])
        assert model.n_features_in_ == 5
        without = library.DataFrame({k: data[k] for k in "abc"})
        for new in (frame, without):
            assert_allclose(
                model.decision_function(new),
                expected.decision_function(x),
                atol=1e-2,
            )
    strange = pd.DataFrame(data).assign(clinic="unheard of", biopsy=np.nan)
    assert_allclose(model.decision_function(strange), model.decision_function(frame))
    with pytest.raises(ValueError, match="now missing"):
        model.predict(pd.DataFrame({"a": x[:, 0], "b": x[:, 1]}))


def test_column_that_is_not_there_is_named():
    x, _, y, _ = problem()
    with pytest.raises(ValueError, match="Privileged column 9 is out of range"):
        SVMPlusClassifier(privileged=9).fit(x, y)
    with pytest.raises(ValueError, match="both group and privileged"):
        SVMPlusClassifier(privileged=1, group=1).fit(x, y)
    with pytest.raises(ValueError, match="Group column 9 is out of range"):
        SVMPlusClassifier(group=9).fit(x, y)
    with pytest.raises(ValueError, match=r"Group column 0 must hold integers"):
        SVMPlusClassifier(group=0).fit(x, y)
    with pytest.raises(
        ValueError, match=r"required, counted besides privileged columns"
    ):
        SVMPlusClassifier(privileged=[0, 1, 2]).fit(x, y)
    both = "counted besides the group and privileged columns"
    with pytest.raises(ValueError, match=both):
        SVMPlusClassifier(privileged=[0, 1], group=2).fit(x.round(), y)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
def test_sparse_is_dense(kind):
    x, privileged, y, value = problem()
    X = np.column_stack([x, privileged]) * (np.arange(300).reshape(60, 5) % 3 > 0)
    for make, target in ((classifier, y), (regressor, value)):
        dense = make(privileged=[3, 4]).fit(X, target)
        packed = make(privileged=[3, 4]).fit(kind(X), target)
        assert_allclose(packed.predict(kind(X)), dense.predict(X), atol=1e-5)


# ---------------------------------------------------------------- weights, classes


@pytest.mark.parametrize("columns", [{"privileged": [3, 4]}, {"group": 5}])
def test_integer_weights_are_repeated_rows(columns):
    x, privileged, y, value = problem()
    X = np.column_stack([x, privileged, np.arange(60) % 2])
    X = X if "privileged" in columns else X[:, [0, 1, 2, 5]]
    columns = columns if "privileged" in columns else {"group": 3}
    weight = np.random.default_rng(1).integers(0, 3, 60)
    times = np.repeat(np.arange(60), weight)
    for make, target in ((classifier, y), (regressor, value)):
        options = {**columns, "gamma": 0.3}
        weighted = make(**options).fit(X, target, weight)
        repeated = make(**options).fit(X[times], target[times])
        assert_allclose(weighted.dual_objective_, repeated.dual_objective_, rtol=1e-6)
        shift = weighted.predict(X) - repeated.predict(X)
        assert_allclose(shift, shift[0], atol=1e-3)  # the bias may not be unique
        assert np.isnan(weighted.correcting_values_[weight == 0]).all()


def test_class_weight_is_sample_weight():
    x, privileged, y, _ = problem()
    X = np.column_stack([x, privileged])
    options = {"privileged": [3, 4], "gamma": 0.3}  # "scale" would hear weights
    one = classifier(**options, class_weight={1: 4.0}).fit(X, y)
    two = classifier(**options).fit(X, y, np.where(y == 1, 4.0, 1.0))
    assert_allclose(one.decision_function(x), two.decision_function(x), atol=1e-5)
    balanced = classifier(class_weight="balanced").fit(x, y)
    plain = SVC(class_weight="balanced", tol=1e-7).fit(x, y)
    assert_allclose(
        balanced.decision_function(x), plain.decision_function(x), atol=1e-4
    )


def test_several_classes_one_against_one_are_those_of_svc():
    x, _, y, _ = problem(90, n_classes=4)
    labels = np.array(["d", "a", "c", "b"])[y]
    model = classifier().fit(x, labels)
    plain = SVC(tol=1e-7).fit(x, labels)
    assert_array_equal(model.predict(x), plain.predict(x))
    assert_allclose(model.decision_function(x), plain.decision_function(x), atol=1e-4)
    assert model.correcting_values_.shape == (90, 6)
    seen = ~np.isnan(model.correcting_values_)
    assert_array_equal(seen[:, 0], np.isin(labels, ["a", "b"]))


def test_several_classes_one_against_the_rest():
    x, privileged, y, _ = problem(90, n_classes=3)
    X = np.column_stack([x, privileged])
    options = {"privileged": [3, 4], "C": 10.0}
    model = classifier(**options, multi_class="ovr").fit(X, y)
    scores = model.decision_function(x)
    for c in range(3):
        one = classifier(**options).fit(X, y == c)
        assert_allclose(scores[:, c], one.decision_function(x), atol=1e-4)
    assert_array_equal(model.predict(x), scores.argmax(axis=1))


# ------------------------------------------------------------------------ kernels


@pytest.mark.parametrize("make", [classifier, regressor])
def test_precomputed_kernels_are_computed_ones(make):
    x, privileged, y, value = problem()
    target = y if make is classifier else value
    computed = make(privileged=[3, 4], gamma=0.3, correction_gamma=0.7)
    computed.fit(np.column_stack([x, privileged]), target)
    K, K_star = rbf_kernel(x, gamma=0.3), rbf_kernel(privileged, gamma=0.7)
    given = make(kernel="precomputed", privileged=list(range(60, 120)))
    given.fit(np.hstack([K, K_star]), target)
    assert_allclose(given.predict(K), computed.predict(x), atol=1e-5)
    mixed = make(
        kernel="precomputed",
        privileged=[60, 61],
        correction_kernel="rbf",
        correction_gamma=0.7,
    ).fit(np.hstack([K, privileged]), target)
    assert_allclose(mixed.predict(K), computed.predict(x), atol=1e-5)
    group = np.arange(60) % 2
    computed = make(group=3, gamma=0.3).fit(np.column_stack([x, group]), target)
    given = make(group=60, kernel="precomputed").fit(
        np.column_stack([K, group]), target
    )
    assert_allclose(given.predict(K), computed.predict(x), atol=1e-5)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_sparse_precomputed_kernels_are_dense_ones(make):
    x, privileged, y, value = problem()
    target = y if make is classifier else value
    K, K_star = rbf_kernel(x, gamma=2.0), rbf_kernel(privileged, gamma=2.0)
    K, K_star = np.where(K > 0.01, K, 0.0), np.where(K_star > 0.01, K_star, 0.0)
    X = np.hstack([K, K_star])
    model = make(kernel="precomputed", privileged=list(range(60, 120)))
    expected = model.fit(X, target).predict(K)
    assert_allclose(
        model.fit(sp.csr_array(X), target).predict(sp.csr_array(K)), expected
    )


def test_precomputed_kernels_that_do_not_fit_are_told():
    x, privileged, y, _ = problem()
    K = rbf_kernel(x)
    K[2, 4] += 1e-2
    with pytest.raises(ValueError, match=r"The kernel of .*: rows 2 and 4 have"):
        SVMPlusClassifier(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="must be a square matrix"):
        SVMPlusClassifier(kernel="precomputed").fit(x, y)
    X = np.hstack([rbf_kernel(x), privileged])
    with pytest.raises(ValueError, match="privileged columns must be a square"):
        SVMPlusClassifier(kernel="precomputed", privileged=[60, 61]).fit(X, y)
    with pytest.raises(ValueError, match="both or none"):
        SVMPlusClassifier(correction_kernel="precomputed", group=3).fit(
            np.column_stack([x, y]), y
        )


def test_matrix_that_is_no_kernel_ends_with_finite_numbers():
    x, _, y, _ = problem()
    K = -rbf_kernel(x) + 0.1 * np.eye(60)
    model = SVMPlusClassifier(kernel="precomputed").fit(K, y)
    assert np.isfinite(model.decision_function(K)).all()
    X = np.hstack([rbf_kernel(x), K])
    model = SVMPlusClassifier(kernel="precomputed", privileged=list(range(60, 120)))
    assert np.isfinite(model.fit(X, y).decision_function(X[:, :60])).all()


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize("C", [1e-6, 1e6])
@pytest.mark.parametrize("columns", [{}, {"privileged": [3, 4]}, {"group": 5}])
def test_extreme_costs_end_well(C, columns):
    x, privileged, y, value = problem()
    X = np.column_stack([x, privileged, np.arange(60) % 2])
    for make, target in ((SVMPlusClassifier, y), (SVMPlusRegressor, value)):
        model = make(C=C, **columns).fit(X, target)
        assert model.violation_.max() <= 1e-3
        assert np.isfinite(model.predict(X)).all()


def test_duplicate_rows_end_well():
    x, privileged, y, _ = problem(20)
    X = np.tile(np.column_stack([x, privileged]), (5, 1))
    y = np.tile(y, 5)
    y[:10] = 1 - y[:10]  # the same row with either label
    model = classifier(privileged=[3, 4], C=100).fit(X, y)
    assert model.violation_[0] <= 1e-7


def test_one_class_is_told():
    x, _, y, _ = problem()
    with pytest.raises(ValueError, match=r"y has one class \(0\)"):
        SVMPlusClassifier().fit(x, np.zeros(60, int))
    with pytest.raises(ValueError, match="class 1 has no row of positive weight"):
        SVMPlusClassifier().fit(x, y, (y == 0).astype(float))


def test_few_iterations_warn_with_the_violation():
    x, privileged, y, _ = problem()
    X = np.column_stack([x, privileged])
    model = SVMPlusClassifier(privileged=[3, 4], max_iter=5)
    told = pytest.warns(ConvergenceWarning, match="after 5 iterations with a violation")
    with told as record:
        model.fit(X, y)
    assert record[0].filename == __file__  # whoever called fit
    assert model.n_iter_[0] == 5
    assert model.violation_[0] > 1e-3


def test_rounding_that_ends_it_is_told_as_such(monkeypatch):
    from kinlearn.svm.solvers import _plus

    def no_move(state, block, *_):
        return 0, 0.0, state.a[block], state.b[block]

    x, _, y, _ = problem()
    monkeypatch.setattr(_plus, "_solve_block", no_move)
    with pytest.warns(ConvergenceWarning, match=r"Rounding lets .* or raise tol\.$"):
        SVMPlusClassifier().fit(x, y)


def test_scales_that_differ_are_told_in_both_spaces():
    x, privileged, y, _ = problem()
    for column in (0, 3):
        X = np.column_stack([x, privileged])
        X[:, column] *= 1e5
        with pytest.warns(
            FeatureScaleWarning, match=f"'x{column}' has standard"
        ) as told:
            SVMPlusClassifier(privileged=[3, 4]).fit(X, y)
        assert told[0].filename == __file__  # whoever called fit


def test_analytic_parameters():
    x, _, _, value = problem()
    model = SVMPlusRegressor(C="analytic", epsilon="analytic").fit(x, value)
    assert_allclose(model.C_, analytic_C(value))
    assert 0 < model.epsilon_ < 1
    same = SVMPlusRegressor(C=model.C_, epsilon=model.epsilon_).fit(x, value)
    assert_allclose(same.predict(x), model.predict(x))
    K = rbf_kernel(x)
    with pytest.raises(ValueError, match="Give epsilon as a number"):
        SVMPlusRegressor(epsilon="analytic", kernel="precomputed").fit(K, value)


# -------------------------------------------------------------- in scikit-learn


def test_search_and_calibration_see_the_privileged_columns():
    x, privileged, y, _ = problem()
    X = pd.DataFrame(np.column_stack([x, privileged]), columns=list("abcpq"))
    model = SVMPlusClassifier(privileged=["p", "q"])
    search = GridSearchCV(model, {"correction_penalty": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    proba = CalibratedClassifierCV(model, cv=3).fit(X, y).predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.filterwarnings("ignore:SVMPlusClassifier begins to fit")
def test_ctrl_c_stops_within_a_second():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    y = X[:, 0] + rng.normal(size=20_000) > 0
    model = SVMPlusClassifier(C=100, privileged=list(range(10, 20)), tol=1e-9)
    assert seconds_to_stop(lambda: model.fit(X, y), after=1.0) < 1
