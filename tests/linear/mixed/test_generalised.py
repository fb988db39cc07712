"""Mixed models of classes and counts: predictions, later rows, odd data, tables."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from kinlearn.exceptions import SingularFitWarning, UnknownTaskWarning
from kinlearn.linear import (
    MixedLogisticClassifier,
    MixedPoissonRegressor,
    likelihood_ratio_test,
)
from kinlearn.linear.mixed._integrals import count_quantiles, mean_probability

BOTH = [MixedLogisticClassifier, MixedPoissonRegressor]


def make(kind, seed=0, n=600, n_tasks=30, spread=1.0):
    """Rows of tasks with intercepts and slopes: X with the task last, y."""
    rng = np.random.default_rng(seed)
    task = rng.integers(n_tasks, size=n)
    x = rng.normal(size=(n, 2))
    own = rng.normal(scale=spread, size=(n_tasks, 2))
    eta = 0.3 + x @ [0.8, -0.5] + own[task, 0] + 0.5 * own[task, 1] * x[:, 0]
    if kind is MixedLogisticClassifier:
        y = (rng.random(n) < expit(eta)).astype(int)
    else:
        y = rng.poisson(np.exp(0.5 * eta))
    return np.column_stack([x, task]), y


def scores(model, X):
    """Predictions as numbers."""
    if isinstance(model, MixedLogisticClassifier):
        return model.predict_proba(X)
    return model.predict(X)


@pytest.fixture(scope="module", params=BOTH, ids=lambda kind: kind.__name__)
def fitted(request):
    X, y = make(request.param)
    return request.param(task=-1, slopes=[0]).fit(X, y), X, y


# ------------------------------------------------------------------ known models


def test_without_tasks_it_is_logistic_regression():
    X, y = make(MixedLogisticClassifier)
    model = MixedLogisticClassifier(alpha=2.0).fit(X, y)
    plain = LogisticRegression(C=0.5, tol=1e-10).fit(X, y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-5)
    assert_allclose(model.intercept_, plain.intercept_, atol=1e-5)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-5)


def test_without_tasks_it_is_poisson_regression():
    X, y = make(MixedPoissonRegressor)
    model = MixedPoissonRegressor(alpha=2.0).fit(X, y)
    plain = PoissonRegressor(alpha=2.0 / len(y), tol=1e-10).fit(X, y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-5)
    assert_allclose(model.predict(X), plain.predict(X), rtol=1e-5)


@pytest.mark.parametrize("kind", BOTH)
def test_one_level_has_no_effects_of_its_own(kind):
    X, y = make(kind)
    X[:, -1] = 7
    one = kind(task=-1).fit(X, y)
    assert_allclose(scores(one, X), scores(kind().fit(X[:, :-1], y), X[:, :-1]))
    assert one.random_effects_["x2"]["estimate"].eq(0).all()


# -------------------------------------------------------------------- predictions


def test_probability_of_an_unknown_task_is_the_average_over_tasks():
    X, y = make(MixedLogisticClassifier)
    model = MixedLogisticClassifier(task=-1, slopes=[0], unknown_task="share")
    model.fit(X, y)
    new = np.array([[1.5, -1.0, 99.0]])
    z = np.array([1.0, 1.5])
    mean = float(model.intercept_[0] + model.coef_[0] @ new[0, :2])
    sd = np.sqrt(z @ model.covariances_["x2"] @ z)
    expected, _ = quad(lambda b: expit(mean + sd * b) * norm.pdf(b), -12, 12)
    assert_allclose(model.predict_proba(new)[0, 1], expected, atol=1e-8)
    assert_allclose(model.linear_predictor(new), mean)
    # nearer to one half than an average task
    assert 0.5 < expected < expit(mean)


def test_count_of_an_unknown_task_is_the_average_over_tasks():
    X, y = make(MixedPoissonRegressor)
    model = MixedPoissonRegressor(task=-1, slopes=[0], unknown_task="share")
    model.fit(X, y)
    new = np.array([[1.5, -1.0, 99.0]])
    z = np.array([1.0, 1.5])
    mean = model.intercept_ + model.coef_ @ new[0, :2]
    variance = z @ model.covariances_["x2"] @ z
    assert_allclose(model.predict(new), np.exp(mean + variance / 2))


def test_unknown_tasks_warn_or_raise(fitted):
    model, X, _ = fitted
    new = X[:3].copy()
    new[:, -1] = 99
    with pytest.warns(UnknownTaskWarning, match="99"):
        model.predict(new)


def test_mean_probability_is_the_integral():
    mean = np.array([-4.0, 0.0, 1.0, 6.0])
    for sd in (0.0, 0.5, 2.0, 4.0):
        expected = [
            quad(
                lambda b, m=m, sd=sd: expit(m + sd * b) * norm.pdf(b),
                -12,
                12,
                limit=200,
            )[0]
            for m in mean
        ]
        found = mean_probability(mean, np.full(4, sd**2))
        assert_allclose(found, expected, atol=1e-8)


def test_count_quantiles_hold_their_probability():
    rng = np.random.default_rng(0)
    for mean, sd in ((-2.0, 0.3), (1.0, 0.5), (4.0, 0.2)):
        draws = rng.poisson(np.exp(mean + sd * rng.normal(size=200_000)))
        for level in (0.05, 0.5, 0.975):
            found = count_quantiles(np.array([mean]), np.array([sd**2]), level)[0]
            assert (draws <= found).mean() >= level - 0.005
            assert (draws <= found - 1).mean() <= level + 0.005


def test_predictions_agree_with_each_other(fitted):
    model, X, y = fitted
    if isinstance(model, MixedLogisticClassifier):
        proba = model.predict_proba(X)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert_array_equal(model.predict(X), proba[:, 1] > 0.5)
        assert_allclose(expit(model.decision_function(X)), proba[:, 1])
        ends = model.predict_interval(X)
        assert (ends[:, 1, 0] <= proba[:, 1]).all()
        assert (ends[:, 1, 1] >= proba[:, 1]).all()
        assert_allclose(ends[:, 0], 1 - ends[:, 1, ::-1])
    else:
        mean, std = model.predict(X, return_std=True)
        assert (std > np.sqrt(mean)).all()
        narrow, wide = (model.predict_interval(X, level) for level in (0.5, 0.95))
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (wide[:, 1] >= narrow[:, 1]).all()
        inside = (wide[:, 0] <= y) & (y <= wide[:, 1])
        assert 0.94 < inside.mean() < 1.0


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_levels_that_are_no_probability_are_refused(fitted, level):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        model.predict_interval(X, level)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_intervals_of_counts_cover(known):
    hits = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        effects = rng.normal(scale=0.7, size=80)
        task = rng.integers(40, size=400)
        x = rng.normal(size=400)
        y = rng.poisson(np.exp(0.5 + 0.4 * x + effects[task]))
        model = MixedPoissonRegressor(task=-1, unknown_task="share")
        model.fit(np.column_stack([x, task]), y)
        t = np.arange(40) + (0 if known else 40)
        new = rng.normal(size=40)
        truth = rng.poisson(np.exp(0.5 + 0.4 * new + effects[t]))
        ends = model.predict_interval(np.column_stack([new, t]), 0.9)
        hits.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    # counts are whole, so that intervals hold somewhat more
    assert 0.88 < np.mean(hits) < 0.985


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_intervals_of_probabilities_cover(known):
    hits = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        effects = rng.normal(scale=1.0, size=80)
        task = rng.integers(40, size=1000)
        x = rng.normal(size=1000)
        y = rng.random(1000) < expit(0.3 + 0.8 * x + effects[task])
        model = MixedLogisticClassifier(task=-1, unknown_task="share")
        model.fit(np.column_stack([x, task]), y)
        t = np.arange(40) + (0 if known else 40)
        new = rng.normal(size=40)
        truth = expit(0.3 + 0.8 * new + effects[t])
        ends = model.predict_interval(np.column_stack([new, t]), 0.9)[:, 1]
        hits.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    assert abs(np.mean(hits) - 0.9) < 0.04


# --------------------------------------------------------------- weights, sparse


@pytest.mark.parametrize("kind", BOTH)
def test_a_weight_is_so_many_rows(kind):
    X, y = make(kind, n=300, n_tasks=10, spread=2.0)
    weight = np.random.default_rng(1).integers(0, 3, size=300)
    one = kind(task=-1, slopes=[0]).fit(X, y, sample_weight=weight)
    two = kind(task=-1, slopes=[0]).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert_allclose(one.log_likelihood_, two.log_likelihood_)
    assert_allclose(one.covariances_["x2"], two.covariances_["x2"], rtol=1e-4)
    assert_allclose(scores(one, X), scores(two, X), rtol=1e-5)


@pytest.mark.parametrize("kind", BOTH)
def test_sparse_features_give_the_same_model(kind):
    X, y = make(kind, n=300, n_tasks=10)
    X[np.abs(X[:, 0]) < 0.5, 0] = 0.0
    options = {"task": -1, "slopes": [0], "alpha": 0.1}
    dense = kind(**options).fit(X, y)
    thin = kind(**options).fit(sp.csr_array(X), y)
    assert_allclose(thin.log_likelihood_, dense.log_likelihood_)
    assert_allclose(scores(thin, sp.csr_array(X)), scores(dense, X), rtol=1e-5)


# --------------------------------------------------------------------- later rows


@pytest.mark.parametrize("kind", BOTH)
def test_a_task_added_later_has_the_mode_of_its_rows(kind):
    X, y = make(kind, n=2000, n_tasks=40)
    first = X[:, -1] < 39
    model = kind(task=-1, slopes=[0]).fit(X[first], y[first])
    every = kind(task=-1, slopes=[0]).fit(X, y)
    before = scores(model, X[first])
    model.add_task(X[~first], y[~first])
    assert_array_equal(model.tasks_, every.tasks_)
    # coefficients and other tasks move little, as by one task of forty
    assert_allclose(scores(model, X[first]), before, atol=0.05, rtol=0.05)
    mine, theirs = (m.random_effects_["x2"]["estimate"][39] for m in (model, every))
    assert_allclose(mine, theirs, atol=0.05)
    error, other = (
        m.random_effects_["x2"]["standard_error"][39] for m in (model, every)
    )
    assert_allclose(error, other, rtol=0.1)
    assert_allclose(
        scores(model, X[~first]), scores(every, X[~first]), rtol=0.05, atol=0.02
    )


@pytest.mark.parametrize("kind", BOTH)
def test_partial_fit_is_near_a_fit_to_all_rows(kind):
    X, y = make(kind, n=3000, n_tasks=30)
    model = kind(task=-1).partial_fit(X[:2000], y[:2000])
    model.partial_fit(X[2000:], y[2000:])
    every = kind(task=-1).fit(X, y)
    assert_allclose(model.coef_, every.coef_, atol=0.03)
    assert_allclose(scores(model, X), scores(every, X), rtol=0.1, atol=0.01)
    few = kind(task=-1).fit(X[:2000], y[:2000])
    gap = np.abs(scores(few, X) - scores(every, X)).mean()
    assert np.abs(scores(model, X) - scores(every, X)).mean() < 0.5 * gap


def test_fitted_effects_solve_the_kept_equations(fitted):
    model, _, _ = fitted
    fit = model._fits[0]
    from kinlearn.linear.mixed._generalised import _raw_solution

    raw = _raw_solution(fit.factor(), fit.cross.basis)
    assert_allclose(raw[0], np.append(fit.intercept, fit.coef), atol=1e-8)
    no_rows = fit.with_later(
        _no_targets(fit.family), _no_rows(), fit.terms, [np.arange(30, dtype=np.int32)]
    )
    assert_allclose(no_rows.coef, fit.coef, atol=1e-8)
    assert_allclose(no_rows.effects[0], fit.effects[0], atol=1e-8)


def _no_targets(family):
    from kinlearn.linear.mixed._generalised import Targets

    return Targets(family, np.zeros(0), np.zeros(0), np.zeros(0))


def _no_rows():
    from kinlearn.linear.mixed._base import Rows

    return Rows(np.zeros((0, 2)), [np.zeros(0, dtype=np.int32)])


# ------------------------------------------------------------------------ classes


def test_three_classes():
    rng = np.random.default_rng(0)
    task = rng.integers(20, size=900)
    x = rng.normal(size=900)
    shift = rng.normal(size=(20, 3))
    eta = np.column_stack([np.zeros(900), x, -x]) + shift[task]
    eta += rng.gumbel(size=eta.shape)
    y = np.array(["a", "b", "c"])[eta.argmax(axis=1)]
    X = np.column_stack([x, task])
    model = MixedLogisticClassifier(task=-1).fit(X, y)
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert (model.predict(X) == y).mean() > 0.6
    assert model.coef_.shape == (3, 1)
    assert model.covariances_["x1"].shape == (3, 1, 1)
    assert model.predict_interval(X).shape == (900, 3, 2)
    assert model.fixed_effects_.loc["b"].index.tolist() == ["intercept", "x0"]
    # the model of a class is that of the class against all others
    alone = MixedLogisticClassifier(task=-1).fit(X, y == "b")
    assert_allclose(model.coef_[1], alone.coef_[0], atol=1e-6)
    later = model.add_task(np.column_stack([x[:30], np.full(30, 77)]), y[:30])
    assert 77 in later.tasks_.tolist()


def test_classes_of_some_tasks_only():
    X, y = make(MixedLogisticClassifier)
    labels = np.where(
        X[:, -1] < 15, np.array(["no", "yes"])[y], np.array(["c", "d"])[y]
    )
    model = MixedLogisticClassifier(task=-1).fit(X, labels)
    proba = model.predict_proba(X)
    low = X[:, -1] < 15
    assert (proba[low][:, :2] == 0).all()
    assert (proba[~low][:, 2:] == 0).all()
    assert (model.predict(X) == labels).mean() > 0.6


def test_tasks_with_one_class_or_one_row_are_drawn_to_the_others():
    X, y = make(MixedLogisticClassifier)
    y[X[:, -1] == 0] = 1
    lonely = np.array([[0.0, 0.0, 50.0]])
    model = MixedLogisticClassifier(task=-1)
    model.fit(np.vstack([X, lonely]), np.append(y, 0))
    proba = model.predict_proba([[0, 0, 0], [0, 0, 50]])[:, 1]
    assert 0.6 < proba[0] < 0.99
    assert 0.2 < proba[1] < expit(model.intercept_[0])


@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.SingularFitWarning")
def test_a_column_that_separates_the_classes_is_named():
    X, y = make(MixedLogisticClassifier)
    X = np.column_stack([y * 2.0 - 1, X])
    with pytest.warns(ConvergenceWarning, match=r"coefficients of 'x0'.*Set alpha"):
        model = MixedLogisticClassifier(task=-1).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert_array_equal(model.predict(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = MixedLogisticClassifier(task=-1, alpha=1.0).fit(X, y)
    assert np.abs(model.coef_).max() < 10


def test_a_single_class():
    X, _ = make(MixedLogisticClassifier)
    model = MixedLogisticClassifier(task=-1).fit(X, np.full(len(X), "a"))
    assert_array_equal(model.predict(X), "a")
    assert_allclose(model.predict_proba(X), 1.0)


# ------------------------------------------------------------------------- counts


def test_an_offset_is_exposure():
    X, y = make(MixedPoissonRegressor)
    frame = pd.DataFrame(X, columns=["a", "b", "shop"])
    frame["log_days"] = np.log(np.random.default_rng(0).integers(1, 30, size=len(X)))
    model = MixedPoissonRegressor(task="shop", offset="log_days").fit(frame, y)
    assert model.feature_names_.tolist() == ["a", "b"]
    longer = frame.assign(log_days=frame["log_days"] + np.log(2))
    assert_allclose(model.predict(longer), 2 * model.predict(frame))
    # by position, in an array
    other = MixedPoissonRegressor(task=2, offset=3).fit(frame.to_numpy(), y)
    assert_allclose(other.predict(frame.to_numpy()), model.predict(frame))
    # a constant offset goes into the intercept
    flat = MixedPoissonRegressor(task="shop", offset="log_days")
    flat.fit(frame.assign(log_days=1.5), y)
    none = MixedPoissonRegressor(task="shop").fit(frame.drop(columns="log_days"), y)
    assert_allclose(flat.intercept_ + 1.5, none.intercept_, atol=1e-5)
    assert_allclose(flat.log_likelihood_, none.log_likelihood_)


def test_offsets_that_are_not_finite_are_refused():
    X, y = make(MixedPoissonRegressor)
    X = np.column_stack([X, np.zeros(len(X))])
    X[5, 3] = -np.inf
    with pytest.raises(ValueError, match=r"offset 3 must be a finite number.*row 5"):
        MixedPoissonRegressor(task=2, offset=3).fit(X, y)


def test_targets_that_are_no_counts_are_refused():
    X, y = make(MixedPoissonRegressor)
    y = y.astype(float)
    y[4] = -1
    with pytest.raises(ValueError, match=r"y is -1 in row 4 \(task \d+\)"):
        MixedPoissonRegressor(task=-1).fit(X, y)
    with pytest.raises(ValueError, match="There must be a count above 0"):
        MixedPoissonRegressor(task=-1).fit(X, np.zeros(len(X)))


def test_a_level_for_every_row_lets_counts_spread():
    rng = np.random.default_rng(0)
    task = np.arange(300) % 30
    y = rng.poisson(np.exp(1 + rng.normal(scale=0.8, size=300)))
    X = np.column_stack([rng.normal(size=300), task, np.arange(300)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularFitWarning)
        model = MixedPoissonRegressor(task=1, groups=[2]).fit(X, y)
        plain = MixedPoissonRegressor(task=1).fit(X[:, :2], y)
    assert_allclose(model.covariances_["x2"], 0.64, atol=0.2)
    assert likelihood_ratio_test(plain, model).p_value < 1e-10


def odd_rows():
    """Problems on which steps overflow, or nothing determines the coefficients."""
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(300, 3)), rng.integers(15, size=300)
    X = np.column_stack([x, g])
    spike = np.where(np.arange(300) == 3, 50.0, 0.0)
    yield "one count above zero", MixedPoissonRegressor(task=-1), X, spike
    tail = np.round(np.exp(6 * rng.standard_t(2, size=300)).clip(0, 1e9))
    yield "counts of all sizes", MixedPoissonRegressor(task=-1), X, tail
    wide = np.column_stack([rng.normal(size=(40, 100)), np.arange(40) % 4])
    flat = np.arange(40) // 4 % 2
    yield "more columns than counts", MixedPoissonRegressor(task=-1), wide, flat
    yield "more columns than rows", MixedLogisticClassifier(task=-1), wide, flat
    by_task = (g > 7).astype(int)
    yield "one class a task", MixedLogisticClassifier(task=-1), X, by_task
    one = (np.arange(300) == 0).astype(int)
    yield "one row of a class", MixedLogisticClassifier(task=-1), X, one
    own = np.column_stack([x, np.arange(300)])
    yield "a task a row", MixedLogisticClassifier(task=-1), own, x[:, 0] + g / 15 > 0.7
    yield "no features", MixedLogisticClassifier(task=0), g[:, None], by_task


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("problem", list(odd_rows()), ids=lambda problem: problem[0])
def test_odd_rows_give_finite_models(problem):
    _, model, X, y = problem
    model.fit(X, y)
    assert np.isfinite(scores(model, X)).all()
    assert np.isfinite(model.log_likelihood_)
    assert np.isfinite(model.fixed_effects_.to_numpy()).all()
    assert np.isfinite(model.predict_interval(X)).all()


@pytest.mark.filterwarnings("ignore")
def test_a_likelihood_out_of_reach_is_refused():
    X, y = make(MixedLogisticClassifier, n=300, n_tasks=20)
    model = MixedLogisticClassifier(task=-1, slopes="all")
    with pytest.raises(ValueError, match="Scale the weights"):
        model.fit(X, y, sample_weight=np.full(300, 1e80))


# ------------------------------------------------------------------------- tables


def test_tables(fitted):
    model, X, _ = fitted
    fixed = model.fixed_effects_
    assert fixed.index.tolist() == ["intercept", "x0", "x1"]
    assert (fixed["low"] < fixed["estimate"]).all()
    random = model.random_effects_["x2"]
    assert len(random) == 2 * len(model.tasks_)
    effects = random["estimate"].unstack().to_numpy()
    names = random["estimate"].unstack().columns.tolist()
    z = np.column_stack([np.ones(len(X)), X[:, 0]])
    order = [names.index("intercept"), names.index("x0")]
    by_hand = (effects[X[:, -1].astype(int)][:, order] * z).sum(axis=1)
    intercept = np.ravel(model.intercept_)[0]
    by_hand += intercept + X[:, :2] @ np.ravel(model.coef_)
    assert_allclose(model.linear_predictor(X), by_hand)
    variances = model.variance_components_["variance"]
    assert_allclose(variances, np.diag(model.covariances_["x2"]))
    assert 0 < model.icc_["x2"] < 1
    assert_allclose(model.aic_, 2 * model.n_parameters_ - 2 * model.log_likelihood_)
    assert model.n_parameters_ == 3 + 3


def test_likelihood_ratio(fitted):
    model, X, y = fitted
    smaller = type(model)(task=-1).fit(X, y)
    found = likelihood_ratio_test(smaller, model)
    assert found.dof == 2
    assert_allclose(
        found.statistic, 2 * (model.log_likelihood_ - smaller.log_likelihood_)
    )
    other = type(model)(task=-1).fit(X[:-9], y[:-9])
    with pytest.raises(ValueError, match="different rows"):
        likelihood_ratio_test(other, model)


def test_singular_fits_are_said():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=400), np.arange(400) % 20])
    y = np.arange(400) // 20 % 2
    with pytest.warns(SingularFitWarning, match="'x1'"):
        model = MixedLogisticClassifier(task=-1).fit(X, y)
    assert model.is_singular_
    assert_allclose(model.covariances_["x1"], 0.0, atol=1e-8)


def test_columns_that_others_explain_are_dropped():
    X, y = make(MixedLogisticClassifier)
    X = np.column_stack([X[:, 0], 2 * X[:, 0] + 1, X[:, 1:]])
    model = MixedLogisticClassifier(task=-1).fit(X, y)
    assert model.dropped_features_.tolist() == ["x1"]
    assert model.coef_[0, 1] == 0
    plain = MixedLogisticClassifier(task=-1).fit(np.delete(X, 1, axis=1), y)
    expected = plain.predict_proba(np.delete(X, 1, axis=1))
    assert_allclose(model.predict_proba(X), expected, atol=1e-6)


@pytest.mark.parametrize("kind", BOTH)
def test_units_of_the_features_do_not_matter(kind):
    X, y = make(kind)
    far = X * [1e6, 1e-5, 1] + [1e7, 3, 0]
    one = kind(task=-1, slopes=[0]).fit(X, y)
    two = kind(task=-1, slopes=[0]).fit(far, y)
    assert_allclose(one.log_likelihood_, two.log_likelihood_, rtol=1e-9)
    assert_allclose(scores(one, X), scores(two, far), rtol=1e-4)


def test_later_rows_may_have_a_class_that_is_new_to_their_task():
    X, y = make(MixedLogisticClassifier)
    y = np.where(X[:, -1] < 15, y, 2 + y)
    model = MixedLogisticClassifier(task=-1, unknown_task="share").fit(X, y)
    rng = np.random.default_rng(3)
    later = np.column_stack([rng.normal(size=(200, 2)), np.full(200, 3)])
    model.partial_fit(later, np.full(200, 3))
    assert set(model.task_classes_[3]) == {0, 1, 3}
    # its rows say that the class is likely, and that others are not
    assert model._fits[3].effects[0][3, 0] > 0.5
    assert model.predict_proba([[0.0, 0.0, 3.0]])[0, 3] > 0.8


def test_likelihood_ratio_is_for_two_classes():
    X, y = make(MixedLogisticClassifier)
    one = MixedLogisticClassifier(task=-1).fit(X, np.full(len(X), "a"))
    with pytest.raises(ValueError, match="was fitted to one class, 'a', and"):
        likelihood_ratio_test(one, one)
    y = y + (X[:, 0] > 1)
    three = MixedLogisticClassifier(task=-1, alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match="of 3 classes is a model for each"):
        likelihood_ratio_test(three, three)


@pytest.mark.parametrize(
    "table",
    [
        "fixed_effects_",
        "random_effects_",
        "covariances_",
        "variance_components_",
        "icc_",
    ],
)
def test_a_single_class_has_no_tables(table):
    X, _ = make(MixedLogisticClassifier)
    model = MixedLogisticClassifier(task=-1).fit(X, np.full(len(X), "a"))
    with pytest.raises(AttributeError, match="fitted to rows of one class"):
        getattr(model, table)


@pytest.mark.parametrize(
    ("offset", "use"), [("shop", "the task"), (2, "the task"), ("day", "a column of")]
)
def test_offsets_that_are_the_task_or_a_group_are_refused(offset, use):
    X, y = make(MixedPoissonRegressor)
    frame = pd.DataFrame(X, columns=["a", "b", "shop"])
    frame["day"] = np.arange(len(X)) % 7
    model = MixedPoissonRegressor(task="shop", groups=["day"], offset=offset)
    with pytest.raises(ValueError, match=f"offset={offset!r} is {use}"):
        model.fit(frame, y)


def test_probabilities_of_several_classes_are_calibrated():
    rng = np.random.default_rng(0)
    beta, own = rng.normal(size=(3, 4)), rng.normal(size=(40, 4))
    slopes = 0.5 * rng.normal(size=(40, 3, 4))

    def draw(n):
        task, x = np.repeat(np.arange(40), n), rng.normal(size=(40 * n, 3))
        eta = x @ beta + own[task] + np.einsum("ij,ijk->ik", x, slopes[task])
        proba = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        below = proba.cumsum(axis=1)[:, :-1] < rng.random((len(x), 1))
        return np.column_stack([x, task]), below.sum(axis=1), proba

    X, y, _ = draw(40)
    X_new, y_new, true = draw(100)
    found = MixedLogisticClassifier(task=-1, slopes="all").fit(X, y)
    proba = found.predict_proba(X_new)
    bins, hit = (10 * proba).astype(int), y_new[:, None] == np.arange(4)
    off = [abs(proba[bins == b].sum() - hit[bins == b].sum()) for b in range(10)]
    assert sum(off) / hit.size < 0.02
    rows = np.arange(len(y_new))
    excess = -np.log(proba[rows, y_new]).mean() + np.log(true[rows, y_new]).mean()
    assert excess < 0.12
