"""The blocked engine against dense matrices, on random problems."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kinlearn.exceptions import SingularFitWarning
from kinlearn.linear import MixedLinearRegressor
from tests.reference.mixed_models import DenseModel, Grouping

KINDS = ["full", "diagonal", "scaled_identity", "low_rank"]


def draw(seed):
    """A model, its data, and the same as dense matrices."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(60, 120)), 3
    X = rng.normal(size=(n, p)) * [1, 3, 0.2] + [0, 2, 1]
    n_groups = int(rng.integers(1, 4))
    codes, groupings, effects = [], [], np.zeros(n)
    nested = rng.random() < 0.3
    for k in range(n_groups):
        n_levels = int(rng.integers(6, 13))
        code = rng.integers(0, n_levels, n)
        if nested and k == 1:
            code = code % 3 + 3 * codes[-1]
        slopes = tuple(range(int(rng.integers(0, 3))))
        kind = str(rng.choice(KINDS))
        grouping = Grouping(code, slopes, kind, rank=1)
        b = rng.normal(size=(code.max() + 1, grouping.q)) * rng.uniform(0, 1.5)
        effects += (grouping.design(X) * b[code]).sum(axis=1)
        codes.append(code)
        groupings.append(grouping)
    reml, intercept = bool(rng.random() < 0.6), bool(rng.random() < 0.9)
    y = 20 * intercept + X @ [1, 0.5, 3] + effects + rng.normal(size=n)
    alpha = float(rng.choice([0.0, 0.0, 0.7]))
    alpha = alpha if reml else 0.0
    dense = DenseModel(X, y, groupings, reml, intercept, alpha)
    keys = [3 + k for k in range(n_groups)]
    model = MixedLinearRegressor(
        task=keys[0],
        groups=keys[1:],
        slopes={key: list(g.slopes) for key, g in zip(keys, groupings, strict=True)},
        covariance={key: g.covariance for key, g in zip(keys, groupings, strict=True)},
        method="reml" if reml else "ml",
        fit_intercept=intercept,
        alpha=alpha,
        unknown_task="share",
    )
    return model, np.column_stack([X, *codes]), y, dense, rng


def fit(model, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularFitWarning)
        return model.fit(X, y, **options)


def relative(model):
    return [S / model.sigma_**2 for S in model.covariances_.values()]


SEEDS = [*range(20), *(pytest.param(s, marks=pytest.mark.slow) for s in range(20, 100))]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_parameters_are_better_and_the_likelihood_is_right(seed):
    model, X, y, dense, rng = draw(seed)
    fit(model, X, y)
    deviance = -2 * model.log_likelihood_
    assert_allclose(dense.deviance(relative(model)), deviance, rtol=0, atol=1e-6)
    n_parameters = sum(g.n_parameters for g in dense.groupings)
    for start in (rng.uniform(0.1, 1, n_parameters), np.full(n_parameters, 0.3)):
        assert deviance <= dense.minimise(start) + 2e-4


@pytest.mark.parametrize("seed", range(100, 130))
def test_coefficients_predictions_and_variances(seed):
    model, X, y, dense, rng = draw(seed)
    model.alpha = dense.alpha = 0.0
    fit(model, X, y)
    G = relative(model)
    beta, covariance, sigma2 = dense.estimates(G)
    assert_allclose(model.sigma_**2, sigma2, rtol=1e-6)
    ours = np.append(model.intercept_, model.coef_)[0 if dense.intercept else 1 :]
    assert_allclose(ours, beta, rtol=1e-6, atol=1e-7)
    error = model.fixed_effects_["standard_error"].to_numpy()
    assert_allclose(error, np.sqrt(np.diag(covariance)), rtol=1e-6)
    new = X[rng.permutation(len(X))[:20]].copy()
    new[:, :3] += rng.normal(size=(20, 3))
    for column in range(3, new.shape[1]):
        new[rng.integers(0, 20, 5), column] = 999  # not seen in fit
    codes = [new[:, column].astype(int) for column in range(3, new.shape[1])]
    mean, variance = dense.predict(G, new[:, :3], codes)
    ours, std = model.predict(new, return_std=True)
    assert_allclose(ours, mean, rtol=1e-6, atol=1e-6)
    assert_allclose(std**2, variance, rtol=1e-6)


@pytest.mark.parametrize("seed", range(130, 140))
def test_effects_and_their_errors(seed):
    model, X, y, dense, _ = draw(seed)
    model.alpha = dense.alpha = 0.0
    fit(model, X, y)
    G, V = relative(model), dense.relative_V(relative(model))
    beta, covariance, sigma2 = dense.estimates(G)
    F = dense.fixed_columns(dense.X)
    rest = np.linalg.solve(V, dense.y - F @ beta)
    for k, (grouping, cov) in enumerate(zip(dense.groupings, G, strict=True)):
        table = list(model.random_effects_.values())[k]
        for i, level in enumerate(np.unique(grouping.codes)):
            K = cov @ (grouping.design(dense.X) * (grouping.codes == level)[:, None]).T
            moved = K @ np.linalg.solve(V, F)
            spread = sigma2 * (cov - K @ np.linalg.solve(V, K.T))
            spread += moved @ covariance @ moved.T
            rows = table.iloc[i * grouping.q : (i + 1) * grouping.q]
            assert rows.index.get_level_values("level")[0] == level
            assert_allclose(rows["estimate"], K @ rest, rtol=1e-5, atol=1e-6)
            expected = np.sqrt(np.maximum(np.diag(spread), 0))
            assert_allclose(rows["standard_error"], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", range(140, 150))
def test_weights_are_repeated_rows(seed):
    model, X, y, _, rng = draw(seed)
    weight = rng.integers(1, 4, len(y))
    fit(model, X, y, sample_weight=weight)
    mean, std = model.predict(X[:10], return_std=True)
    likelihood = model.log_likelihood_
    rows = np.repeat(np.arange(len(y)), weight)
    other = fit(model, X[rows], y[rows])
    assert_allclose(other.log_likelihood_, likelihood, rtol=1e-8)
    seen = np.isin(X[:10, 3], X[rows, 3])
    again, again_std = other.predict(X[:10], return_std=True)
    assert_allclose(again[seen], mean[seen], rtol=1e-4, atol=1e-4)
    assert_allclose(again_std[seen], std[seen], rtol=1e-3)


@pytest.mark.parametrize("seed", range(150, 160))
def test_sparse_rows_give_the_same_model(seed):
    model, X, y, _, _ = draw(seed)
    X[:, 0] *= X[:, 0] > 0
    dense = fit(model, X, y).predict(X, return_std=True)
    likelihood = model.log_likelihood_
    for container in (sp.csr_array, sp.csc_array):
        fit(model, container(X), y)
        assert_allclose(model.log_likelihood_, likelihood, rtol=1e-7)
        for ours, theirs in zip(
            model.predict(container(X), return_std=True), dense, strict=True
        ):
            assert_allclose(ours, theirs, rtol=1e-4)


def test_single_precision_gives_nearly_the_same_model():
    model, X, y, _, _ = draw(3)
    mean = fit(model, X, y).predict(X)
    fit(model, X.astype(np.float32), y)
    assert_allclose(model.predict(X.astype(np.float32)), mean, rtol=1e-4)
