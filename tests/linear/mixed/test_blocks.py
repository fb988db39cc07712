"""Levels that never meet are eliminated in blocks, which change no result."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from kinlearn.linear import MixedLinearRegressor
from kinlearn.linear.mixed._cross_products import CrossProducts
from kinlearn.linear.mixed._likelihood import Likelihood
from kinlearn.linear.mixed._terms import Term, split_theta
from kinlearn.linear.mixed.equations import Blocks
from tests.reference.mixed_models import DenseModel, Grouping

pytestmark = pytest.mark.filterwarnings(
    "ignore::kinlearn.exceptions.SingularFitWarning"
)
ENGINE = "kinlearn.linear.mixed.equations._pattern"


def make_pupils(n=240, seed=0):
    """Pupils in classes in schools, and years that cross them all."""
    rng = np.random.default_rng(seed)
    pupil = np.concatenate([np.arange(n // 3), rng.integers(0, n // 3, n - n // 3)])
    group = pupil % 24  # a class of each pupil
    school, year = group % 6, rng.integers(0, 4, n)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n) + 2,
            "z": rng.normal(size=n),
            "pupil": pupil,
            "class": group,
            "school": school,
            "year": year,
        }
    )
    b = rng.normal(size=(6, n))
    y = X["x"] * (1 + 0.6 * b[0, group]) + b[1, group] + 2 * b[2, school]
    y += b[3, year] + b[4, year] * X["z"] + b[5, pupil] + 0.5 * rng.normal(size=n)
    return X, y


def make_model(**options):
    return MixedLinearRegressor(
        task="school",
        groups=["class", "pupil", "year"],
        slopes={"class": ["x"], "year": ["z"]},
        covariance={"year": "diagonal"},
        unknown_task="share",
        **options,
    )


def sums_of(X, y, slopes=()):
    names = ["pupil", "class", "school", "year"]
    columns = {"class": (0,), "year": (1,)} if slopes else {}
    terms = [Term(name, X[name].max() + 1, columns.get(name, ())) for name in names]
    codes = [X[name].to_numpy(dtype=np.int32) for name in names]
    features = X[["x", "z"]].to_numpy()
    return CrossProducts.of_rows(features, y.to_numpy(), None, terms, codes)


def test_nested_levels_are_blocks_and_what_crosses_them_is_common(monkeypatch):
    monkeypatch.setattr(f"{ENGINE}._WIDTH", 1)
    X, y = make_pupils()
    blocks = Blocks.find(sums_of(X, y), np.arange(3))
    assert len(blocks.each) == 4  # of six schools; small ones are joined
    assert blocks.n_common == 4  # years
    for block in blocks.each:
        pupils, classes, schools, years = block.levels
        assert set(classes % 6) == set(schools)
        assert set(pupils % 6) == set(schools)
        assert_allclose(years, np.arange(4))
        assert block.pattern.n_own == 5 * len(schools)


def test_blocks_change_no_result(monkeypatch):
    X, y = make_pupils()
    one = make_model(alpha=0.5).fit(X, y)
    effects = one.random_effects_
    new = X.iloc[:12].copy()
    new.loc[:3, "school"] = 99  # unknown
    new.loc[2:5, "pupil"] += 1  # of a class that it was never in
    new.loc[6:7, ["pupil", "class", "school", "year"]] = -1
    mean, std = one.predict(new, return_std=True)
    errors = one.fixed_effects_["standard_error"]
    monkeypatch.setattr(f"{ENGINE}._WIDTH", 1)
    two = make_model(alpha=0.5).fit(X, y)
    assert len(two._factored().blocks.each) > 1
    assert_allclose(two.log_likelihood_, one.log_likelihood_, rtol=1e-9)
    assert_allclose(two.coef_, one.coef_, rtol=1e-4)
    assert_allclose(two.fixed_effects_["standard_error"], errors, rtol=1e-4)
    for name, table in two.random_effects_.items():
        assert_allclose(table, effects[name], atol=2e-3)
    again, spread = two.predict(new, return_std=True)
    assert_allclose(again, mean, rtol=1e-3)
    assert_allclose(spread, std, rtol=1e-4)


def test_derivatives_of_blocks_are_those_of_the_likelihood(monkeypatch):
    monkeypatch.setattr(f"{ENGINE}._WIDTH", 1)
    X, y = make_pupils()
    cross = sums_of(X, y, slopes=True)
    for restricted in (True, False):
        likelihood = Likelihood(cross, 0.3, restricted)
        assert len(likelihood.blocks.each) > 1
        theta = np.random.default_rng(0).uniform(0.2, 1.0, len(likelihood.units))
        gradient = likelihood.with_gradient(theta)[1]
        for i in range(len(theta)):
            h = np.zeros_like(theta)
            h[i] = 1e-5
            ends = [likelihood.with_gradient(theta + s * h)[0] for s in (1, -1)]
            assert_allclose(gradient[i], (ends[0] - ends[1]) / 2e-5, atol=1e-4)


def test_the_likelihood_of_blocks_is_that_of_dense_matrices(monkeypatch):
    monkeypatch.setattr(f"{ENGINE}._WIDTH", 1)
    X, y = make_pupils(120)
    cross = sums_of(X, y, slopes=True)
    likelihood = Likelihood(cross, 0.0, True)
    theta = np.random.default_rng(0).uniform(0.2, 1.0, len(likelihood.units))
    roots = [
        cross.basis.term_map(k) @ T
        for k, T in enumerate(split_theta(cross.terms, theta))
    ]
    groupings = [
        Grouping(X[term.name].to_numpy(), term.columns) for term in cross.terms
    ]
    dense = DenseModel(X[["x", "z"]].to_numpy(), y.to_numpy(), groupings)
    expected = dense.deviance([root @ root.T for root in roots])
    assert_allclose(likelihood.deviance(likelihood.factor(theta)), expected, rtol=1e-9)


def test_later_rows_may_join_blocks(monkeypatch):
    monkeypatch.setattr(f"{ENGINE}._WIDTH", 1)
    X, y = make_pupils()
    early = X["school"] < 4
    model = make_model(method="ml").fit(X[early], y[early])
    model.partial_fit(X[~early], y[~early])
    whole = make_model(method="ml").fit(X, y)
    assert_allclose(model.log_likelihood_, whole.log_likelihood_, rtol=1e-8)
    assert_allclose(model.predict(X), whole.predict(X), atol=2e-3)


def test_more_nested_effects_than_a_dense_matrix_may_have(monkeypatch):
    monkeypatch.setattr(f"{ENGINE}._MOST_DENSE", 1000)
    rng = np.random.default_rng(0)
    pupil = np.arange(7500) % 4800  # two of each of 2,400 classes, 60 schools
    group = pupil % 2400
    school = group % 60
    y = rng.normal(size=60)[school] + 0.5 * rng.normal(size=2400)[group]
    y += 0.7 * rng.normal(size=4800)[pupil] + 0.5 * rng.normal(size=7500)
    X = np.column_stack([rng.normal(size=7500), pupil, group, school])
    model = MixedLinearRegressor(task=3, groups=[1, 2]).fit(X, y)
    sizes = [model.covariances_[name][0, 0] for name in ("x3", "x2", "x1")]
    assert_allclose(sizes, [1.0, 0.25, 0.49], rtol=0.3)
    assert_allclose(model.sigma_, 0.5, rtol=0.05)
    crossed = rng.integers(0, 2400, 7500)
    with pytest.raises(ValueError, match="meet each other, and 2 columns are fixed"):
        model.fit(np.column_stack([X[:, 0], pupil, crossed, school]), y)
