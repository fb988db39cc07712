"""Mixed models of columns that are constant, dependent, empty, sparse or far off."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import expit

import kinlearn
from kinlearn.exceptions import (
    SingularFitWarning,
    UnknownTaskWarning,
    UnusedColumnWarning,
)
from kinlearn.linear import (
    MixedLinearRegressor,
    MixedLogisticClassifier,
    MixedPoissonRegressor,
    MultiTaskLinearRegressor,
    likelihood_ratio_test,
)

KINDS = [MixedLinearRegressor, MixedLogisticClassifier, MixedPoissonRegressor]
GENERALISED = KINDS[1:]


def targets(kind, eta, rng):
    """Targets of these linear predictors."""
    if kind is MixedLinearRegressor:
        return eta + rng.normal(size=len(eta))
    if kind is MixedLogisticClassifier:
        return (rng.random(len(eta)) < expit(eta)).astype(int)
    return rng.poisson(np.exp(0.5 * eta))


def make_rows(kind, n_tasks=40, rows=30, seed=0):
    """Rows with a number, a category of three values and a task."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_tasks), rows)
    x, diet = rng.normal(size=len(task)), rng.integers(0, 3, len(task))
    b, own = rng.normal(size=(n_tasks, 2)), rng.normal(size=(n_tasks, 3))
    eta = 0.5 + 0.7 * x + b[task, 0] + 0.8 * b[task, 1] * x
    eta += np.array([-1.0, 0.2, 1.2])[diet] + own[task, diet]
    names = np.array(["corn", "hay", "oats"])
    X = pd.DataFrame({"x": x, "diet": names[diet], "task": task})
    return X, targets(kind, eta, rng)


def same_fit(one, two, rtol=1e-6):
    """Two models have the same likelihood and criteria."""
    assert one.n_parameters_ == two.n_parameters_
    assert_allclose(one.log_likelihood_, two.log_likelihood_, rtol=rtol)
    assert_allclose(one.aic_, two.aic_, rtol=rtol)


# --------------------------------------------------------- slopes that rows cannot tell


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_of_categories_have_a_parameter_less_than_values(kind):
    X, y = make_rows(kind)
    model = kind(task="task", slopes=["diet"]).fit(X, y)
    coded = X.assign(hay=X["diet"] == "hay", oats=X["diet"] == "oats")
    coded = coded.drop(columns="diet").astype(float)
    plain = kind(task="task", slopes=["hay", "oats"]).fit(coded, y)
    same_fit(model, plain)
    residual = kind is MixedLinearRegressor
    # an intercept and three coefficients, and a covariance of three effects
    assert model.n_parameters_ == 4 + 6 + residual
    assert model.dropped_slopes_["task"].tolist() == ["diet=oats"]
    assert model.covariances_["task"].shape == (3, 3)
    assert len(model.random_effects_["task"]) == 3 * 40
    link = "predict" if residual else "linear_predictor"
    expected = getattr(plain, link)(coded)
    assert_allclose(getattr(model, link)(X), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("covariance", ["full", "diagonal", "low_rank"])
def test_slopes_of_constant_and_equal_columns_are_no_parameters(kind, covariance):
    X, y = make_rows(kind)
    X = X[["x", "task"]]
    odd = X.assign(zero=0.0, two=2.0, again=3 * X["x"])
    odd = odd[["zero", "two", "x", "again", "task"]]
    options = {"task": "task", "covariance": covariance, "rank": 2}
    plain = kind(slopes=["x"], **options).fit(X, y)
    with pytest.warns(UnusedColumnWarning, match=r"'zero', 'two', 'again'.* by 'task'"):
        model = kind(slopes="all", **options).fit(odd, y)
    same_fit(model, plain)
    dropped = model.dropped_slopes_["task"].tolist()
    assert dropped == ["zero", "two", "again"]
    assert_allclose(model.covariances_["task"], plain.covariances_["task"], rtol=1e-3)
    names = model.variance_components_.loc["task"].index.tolist()
    assert names == ["intercept", "x"]
    later = odd[:6].assign(task=99)
    assert np.isfinite(model.add_task(later, y[:6]).predict(odd)).all()


def test_independent_variances_of_all_values_of_a_category_are_kept():
    X, y = make_rows(MixedLinearRegressor)
    model = MixedLinearRegressor(task="task", slopes=["diet"], covariance="diagonal")
    model.fit(X, y)
    # what rows of one value share, beside what all rows of the task share
    assert len(model.dropped_slopes_["task"]) == 0
    assert model.n_parameters_ == 4 + 4 + 1


def test_a_slope_without_meaning_is_not_tested():
    X, y = make_rows(MixedLinearRegressor)
    X = X[["x", "task"]].assign(zero=0.0)
    small = MixedLinearRegressor(task="task").fit(X, y)
    with pytest.warns(UnusedColumnWarning, match="'zero'"):
        large = MixedLinearRegressor(task="task", slopes=["zero"]).fit(X, y)
    with pytest.raises(ValueError, match="Both models have 4 parameters"):
        likelihood_ratio_test(small, large)


def test_a_slope_may_be_told_in_one_class_alone():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(30), 20)
    x = np.where(task < 15, rng.normal(size=600), 0.0)
    third = np.where(task < 15, 2, 3)
    y = np.where(rng.random(600) < 0.5, third, rng.integers(0, 2, 600))
    X = np.column_stack([x, task])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularFitWarning)
        model = MixedLogisticClassifier(task=-1, slopes=[0], label_sets="observed")
        model.fit(X, y)
    assert [len(fit.kept[0]) for fit in model._fits] == [2, 2, 2, 1]
    assert_allclose(model.covariances_["x1"][3][1], 0)
    assert len(model.variance_components_.loc[3]) == 1
    assert len(model.dropped_slopes_["x1"]) == 0


# ---------------------------------------------------------------- unknown categories


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_category_is_the_average_one(kind):
    X, y = make_rows(kind)
    weight = np.random.default_rng(1).integers(1, 3, len(y))
    model = kind(task="task", slopes=["diet"]).fit(X, y, weight)
    link = "predict" if kind is MixedLinearRegressor else "linear_predictor"
    each = [
        getattr(model, link)(X.assign(diet=name)) for name in ("corn", "hay", "oats")
    ]
    fractions = np.bincount(X["diet"].astype("category").cat.codes, weight)
    expected = fractions / fractions.sum() @ np.array(each)
    for new in ("straw", None):
        unknown = X.assign(diet=pd.Series([new] * len(X), dtype=object))
        found = getattr(model, link)(unknown)
        assert_allclose(found, expected, rtol=1e-9)
        low, high = np.min(each, axis=0), np.max(each, axis=0)
        assert ((low <= found) & (found <= high)).all()


def test_a_category_of_rows_without_weight_is_unknown():
    X, y = make_rows(MixedLinearRegressor)
    seen = (X["diet"] != "oats").to_numpy()
    model = MixedLinearRegressor(task="task").fit(X, y, seen.astype(float))
    rows = X[:5].assign(diet="oats")
    assert_allclose(model.predict(rows), model.predict(rows.assign(diet="straw")))
    assert np.abs(model.predict(rows) - model.predict(X[:5].assign(diet="hay"))).min()


def test_later_rows_of_an_unknown_category_are_the_average_one():
    X, y = make_rows(MixedLinearRegressor)
    model = MixedLinearRegressor(task="task").fit(X, y)
    before = model.predict(X[:1].assign(diet=["straw"]))
    model.add_task(X[:3].assign(task=99, diet="straw"), np.full(3, before[0]))
    assert_allclose(model.predict(X), model.fit(X, y).predict(X), atol=0.3)


# ------------------------------------------------------------------- missing columns


@pytest.mark.parametrize("kind", [*KINDS, MultiTaskLinearRegressor])
def test_a_column_that_is_missing_in_all_rows_is_named(kind):
    X, y = make_rows(kind)
    X["dose"] = None
    options = {"alpha": 0.1} if kind is MultiTaskLinearRegressor else {}
    with pytest.warns(UnusedColumnWarning, match="missing in all rows: 'dose'"):
        model = kind(task="task", **options).fit(X, y)
    assert not any("dose" in name for name in model.feature_names_)


# ---------------------------------------------------------------- rows without weight


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_and_levels_without_weight_are_unknown(kind):
    X, y = make_rows(kind)
    X = X[["x", "task"]].assign(item=np.arange(len(y)) % 7)
    weight = ((X["task"] != 3) & (X["item"] != 2)).astype(float)
    options = {"task": "task", "groups": ["item"], "slopes": ["x"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularFitWarning)
        model = kind(unknown_task="share", **options).fit(X, y, weight)
    for column, value, other, least in (("task", 3, "item", 2), ("item", 2, "task", 3)):
        rows = X[(X[column] == value) & (X[other] != least)]
        absent = rows.assign(**{column: 99})
        assert_allclose(model.predict(rows), model.predict(absent), rtol=1e-10)
        ends = model.predict_interval(rows), model.predict_interval(absent)
        assert_allclose(*ends, rtol=1e-10)
        model.set_params(unknown_task="warn")
        with pytest.warns(UnknownTaskWarning, match=rf"levels {value} of '{column}'"):
            model.predict(rows)
        model.set_params(unknown_task="error")
        with pytest.raises(ValueError, match=rf"levels {value} of '{column}'"):
            model.predict(rows)
        model.set_params(unknown_task="share")
    if kind is not MixedLinearRegressor:
        return
    # rows of weight later on make it known
    model.partial_fit(X, y)
    model.set_params(unknown_task="error")
    assert np.isfinite(model.predict(X)).all()


# ------------------------------------------------------------------ units of portions


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_portions_in_other_units_give_the_model_of_all_rows(intercept, sparse):
    rng = np.random.default_rng(0)
    task = rng.integers(0, 30, 600)
    item = rng.integers(0, 5, 600)
    first = np.arange(600) < 200
    x = np.where(first, 4.0, 1e6 * rng.normal(size=600) + 3e6)
    z = np.where(first, rng.normal(size=600), 1e4 + rng.normal(size=600))
    b = rng.normal(size=(30, 2))
    y = 1e-6 * x * (1 + b[task, 1]) + z + b[task, 0] + rng.normal(size=600)
    X = np.column_stack([x, z, item, task])
    X = sp.csr_array(X) if sparse else X
    options = {"task": -1, "groups": [2], "slopes": [0], "fit_intercept": intercept}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = MixedLinearRegressor(**options, tol=1e-10).fit(X, y)
        parts = MixedLinearRegressor(**options, tol=1e-10)
        for rows in (first, ~first):
            parts.partial_fit(X[rows], y[rows])
    assert_allclose(parts.log_likelihood_, whole.log_likelihood_, rtol=1e-7)
    assert parts.n_parameters_ == whole.n_parameters_
    for k in (0, 1):
        ours, theirs = (m._cross.basis.term_scale[k] for m in (parts, whole))
        assert_allclose(ours, theirs, rtol=1e-9)
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-4)
    assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-3, atol=1e-3)


# -------------------------------------------------------------------------- penalties


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_of_a_ridge_is_that_of_its_estimates(kind):
    """Without tasks, it is a sum over rows, at the coefficients."""
    X, y = make_rows(kind)
    X = X[["x"]]
    options = {"method": "ml"} if kind is MixedLinearRegressor else {}
    model = kind(alpha=50.0, **options).fit(X, y)
    if kind is MixedLinearRegressor:
        rest = y - model.predict(X)
        expected = -0.5 * np.sum(
            rest**2 / model.sigma_**2 + np.log(2 * np.pi * model.sigma_**2)
        )
    elif kind is MixedLogisticClassifier:
        expected = np.log(model.predict_proba(X)[np.arange(len(y)), y]).sum()
    else:
        from scipy.stats import poisson

        expected = poisson.logpmf(y, model.predict(X)).sum()
    assert_allclose(model.log_likelihood_, expected, rtol=1e-10)
    assert_allclose(model.aic_, 2 * model.n_parameters_ - 2 * expected, rtol=1e-10)
    # less than that of the best coefficients
    assert model.log_likelihood_ < kind(**options).fit(X, y).log_likelihood_


# -------------------------------------------------------------------- standard errors


@pytest.mark.parametrize("kind", GENERALISED)
def test_later_tasks_do_not_change_what_standard_errors_mean(kind):
    X, y = make_rows(kind)
    X = X[["x", "task"]]
    model = kind(task="task", slopes=["x"]).fit(X, y)
    before = model.fixed_effects_["standard_error"]
    # a row that hardly counts
    model.add_task(X[:1].assign(task=99), y[:1], sample_weight=[1e-9])
    assert_allclose(model.fixed_effects_["standard_error"], before, rtol=1e-5)
    first = (X["task"] < 36).to_numpy()
    later = kind(task="task", slopes=["x"]).fit(X[first], y[first])
    later.add_task(X[~first], y[~first])
    after = later.fixed_effects_["standard_error"]
    every = kind(task="task", slopes=["x"]).fit(X, y)
    # by the covariances of 36 tasks instead of 40
    assert_allclose(after, every.fixed_effects_["standard_error"], rtol=0.06)


# --------------------------------------------------------------------- far from zero


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_columns_far_from_zero_keep_their_digits(kind):
    X, y = make_rows(kind)
    X = X[["x", "task"]].to_numpy()
    weight = np.random.default_rng(0).integers(1, 3, len(y))
    far = X + np.array([1e7, 0])
    dense = kind(task=-1, slopes=[0]).fit(far, y, weight)
    thin = kind(task=-1, slopes=[0]).fit(sp.csr_array(far), y, weight)
    same_fit(thin, dense, rtol=1e-9)
    assert_allclose(thin.coef_, dense.coef_, rtol=1e-6)
    near = kind(task=-1, slopes=[0]).fit(X, y, weight)
    assert_allclose(thin.log_likelihood_, near.log_likelihood_, rtol=1e-7)


def test_effects_far_above_the_residual_are_right_or_said():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(30), 10)
    x = rng.normal(size=300)
    b, noise = rng.normal(size=30), rng.normal(size=300)
    X = np.column_stack([x, task])
    for size, is_right in ((1e3, True), (3e4, True), (1e6, False)):
        y = 2 * x + size * b[task] + noise
        model = MixedLinearRegressor(task=-1)
        if is_right:
            model.fit(X, y)
            assert_allclose(model.sigma_, 0.98, atol=0.03)
            assert_allclose(model.coef_, 2.0, atol=0.1)
            assert not model.is_singular_
        else:
            with pytest.warns(SingularFitWarning, match="100,000 times as large"):
                model.fit(X, y)
            assert model.is_singular_


def test_models_with_dropped_slopes_come_back_from_files(tmp_path):
    X, y = make_rows(MixedLinearRegressor)
    model = MixedLinearRegressor(task="task", slopes=["diet"]).fit(X, y)
    kinlearn.save(model, tmp_path / "model.skops")
    again = kinlearn.load(tmp_path / "model.skops")
    rows = X[:9].assign(diet="straw")
    assert_allclose(again.predict(rows), model.predict(rows))
    for each in (model, again):
        each.partial_fit(X[:50], y[:50])
    assert_allclose(again.log_likelihood_, model.log_likelihood_)


def test_slopes_of_a_column_with_one_value_are_said():
    X, y = make_rows(MixedLinearRegressor, n_tasks=10)
    X["site"] = "north"
    model = MixedLinearRegressor(task="task", slopes=["x", "site"])
    with pytest.warns(UnusedColumnWarning, match="Slopes of 'site' are left out"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedColumnWarning)
        other = MixedLinearRegressor(task="task", slopes=["x"]).fit(X, y)
    assert_allclose(model.log_likelihood_, other.log_likelihood_)


def test_a_portion_whose_covariances_are_far_off_does_not_mislead():
    rng = np.random.default_rng(0)
    task = np.arange(240) % 12
    x = rng.normal(size=240) * np.repeat([1e-6, 1e6], 120)
    y = 1 + rng.normal(size=12)[task] + 1e-6 * x + rng.normal(size=240)
    X = np.column_stack([x, task])
    whole = MixedLinearRegressor(task=-1, slopes=[0])
    model = MixedLinearRegressor(task=-1, slopes=[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularFitWarning)
        whole.fit(X, y)
        model.partial_fit(X[:120], y[:120]).partial_fit(X[120:], y[120:])
    assert_allclose(model.log_likelihood_, whole.log_likelihood_, rtol=1e-6)
