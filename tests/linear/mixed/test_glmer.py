"""The same numbers as lme4's glmer, which `tests/linear/lme4/glmer.R` has written."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from kinlearn.linear import MixedLogisticClassifier, MixedPoissonRegressor

FOLDER = Path(__file__).parents[1] / "lme4"
FIGURES = json.loads((FOLDER / "glmer.json").read_text(encoding="utf-8"))["models"]


def rows_of(spec):
    """X with all groupings and the offset, y, and weights."""
    table = pd.read_csv(FOLDER / "data" / f"{spec['data']}.csv")
    groups = [term["group"] for term in spec["terms"]]
    offset = ["log_expected"] if "log_expected" in table else []
    weight = table["weight"].to_numpy() if "weight" in table else None
    return table[spec["fixed"][1:] + groups + offset], table["y"], weight


@cache
def fitted(name):
    spec = FIGURES[name]
    X, y, weight = rows_of(spec)
    terms = spec["terms"]
    options = {
        "task": terms[0]["group"],
        "groups": [term["group"] for term in terms[1:]],
        "slopes": {term["group"]: term["slopes"] for term in terms},
        "covariance": {term["group"]: term["covariance"] for term in terms},
    }
    if spec["family"] == "binomial":
        model = MixedLogisticClassifier(**options)
    else:
        offset = "log_expected" if "log_expected" in X else None
        model = MixedPoissonRegressor(**options, offset=offset)
    return model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("name", FIGURES)
def test_likelihood_and_variances(name):
    model, spec = fitted(name), FIGURES[name]
    assert_allclose(model.log_likelihood_, spec["log_likelihood"], atol=1e-4, rtol=0)
    assert_allclose(model.aic_, spec["aic"], atol=2e-4, rtol=0)
    assert not model.is_singular_
    for term, theirs in zip(spec["terms"], spec["covariances"], strict=True):
        ours = model.covariances_[term["group"]]
        # of a covariance, relative to the standard deviations
        size = np.sqrt(np.diag(theirs))
        assert_allclose(ours / np.outer(size, size), theirs / np.outer(size, size),
                        atol=1e-3)  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_fixed_effects_and_their_errors(name):
    table, spec = fitted(name).fixed_effects_, FIGURES[name]
    assert table.index.tolist() == ["intercept", *spec["fixed"][1:]]
    error = np.array(spec["standard_error"])
    assert_allclose(table["estimate"] / error, spec["coef"] / error, atol=1e-3)
    assert_allclose(table["standard_error"], error, rtol=2e-3)


@pytest.mark.parametrize("name", FIGURES)
def test_effects_and_predictions(name):
    model, spec = fitted(name), FIGURES[name]
    X, _, _ = rows_of(spec)
    for term, theirs in zip(spec["terms"], spec["effects"], strict=True):
        ours = model.random_effects_[term["group"]]["estimate"].to_numpy()
        theirs = np.reshape(theirs, (len(theirs), -1))
        ours = ours.reshape(-1, theirs.shape[1])[: len(theirs)]
        assert_allclose(ours, theirs, atol=2e-3)
    link = model.linear_predictor(X[:10])
    mean = expit(link) if spec["family"] == "binomial" else np.exp(link)
    assert_allclose(mean, spec["mean"], rtol=2e-3)
    if spec["family"] == "binomial":
        assert_allclose(model.predict_proba(X[:10])[:, 1], mean)
    else:
        assert_allclose(model.predict(X[:10]), mean)
