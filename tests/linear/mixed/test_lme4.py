"""The same numbers as lme4; `tests/linear/lme4/gaussian.R` has written its figures."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from kinlearn.exceptions import SingularFitWarning
from kinlearn.linear import MixedLinearRegressor

FOLDER = Path(__file__).parents[1] / "lme4"
FITS = json.loads((FOLDER / "gaussian.json").read_text(encoding="utf-8"))

# lme4's formula -> target, features, parameters
MODELS = {
    "Reaction ~ Days + (Days | Subject)": {"task": "Subject", "slopes": ["Days"]},
    "Reaction ~ Days + (Days || Subject)": {
        "task": "Subject",
        "slopes": ["Days"],
        "covariance": "diagonal",
    },
    "Reaction ~ Days + (1 | Subject)": {"task": "Subject"},
    "Yield ~ 1 + (1 | Batch)": {"task": "Batch"},
    "strength ~ 1 + (1 | batch/cask)": {
        "task": "batch",
        "groups": [("batch", "cask")],
    },
    "diameter ~ 1 + (1 | plate) + (1 | sample)": {
        "task": "plate",
        "groups": ["sample"],
    },
    "angle ~ temp + recipe + (1 | recipe:replicate)": {
        "groups": [("group", "replicate")]
    },
    "score ~ Machine + (Machine | Worker)": {
        "task": "Worker",
        "slopes": ["MachineB", "MachineC"],
    },
    "score ~ Machine + (1 | Worker) + (1 | Worker:Machine)": {
        "task": "Worker",
        "groups": [("Worker", "Machine")],
    },
    "yield ~ nitro + Variety + (1 | Block/Variety)": {
        "task": "Block",
        "groups": [("Block", "Variety")],
    },
    "distance ~ age + Sex + (age | Subject)": {"task": "Subject", "slopes": ["age"]},
}
# features that are categories, as R codes them: an indicator of each value but one
INDICATORS = {
    "recipe": {"recipeB": "B", "recipeC": "C"},
    "Machine": {"MachineB": "B", "MachineC": "C"},
    "Variety": {"VarietyMarvellous": "Marvellous", "VarietyVictory": "Victory"},
    "Sex": {"SexMale": "Male"},
}


def load(fit):
    """X and y of a fit, and its parameters."""
    frame = pd.read_csv(FOLDER / f"{fit['data']}.csv")
    target, _, right = fit["formula"].partition(" ~ ")
    options = MODELS[fit["formula"]]
    used = [options.get("task")] if "task" in options else []
    for key in options.get("groups", []):
        used += [key] if isinstance(key, str) else list(key)
    X = pd.DataFrame(index=frame.index)
    for name in right.split(" + (")[0].split(" + "):
        if name in INDICATORS:
            for column, value in INDICATORS[name].items():
                X[column] = (frame[name] == value).astype(float)
        elif name != "1":
            X[name] = frame[name]
    for name in used:
        X[name] = frame["recipe" if name == "group" else name]
    return X, frame[target], {**options, "method": "reml" if fit["reml"] else "ml"}


def fitted(fit):
    X, y, options = load(fit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularFitWarning)
        return MixedLinearRegressor(**options).fit(X, y), X, y


def name_of(fit):
    return f"{fit['data']} {fit['formula']} {'REML' if fit['reml'] else 'ML'}"


@pytest.fixture(params=FITS, ids=name_of, scope="module")
def both(request):
    model, X, _ = fitted(request.param)
    return request.param, model, X


def lme4_name(grouping):
    return grouping.replace("group:", "recipe:")


def test_the_likelihood_is_that_of_lme4(both):
    fit, model, _ = both
    assert_allclose(model.log_likelihood_, fit["log_likelihood"], rtol=0, atol=1e-4)
    assert_allclose(model.aic_, fit["AIC"], rtol=0, atol=2e-4)
    assert_allclose(model.bic_, fit["BIC"], rtol=0, atol=2e-4)
    assert model.is_singular_ == fit["singular"]


def test_variances_are_those_of_lme4(both):
    fit, model, _ = both
    assert_allclose(model.sigma_, fit["sigma"], rtol=1e-3)
    theirs = {}
    for row in fit["variance"]:
        if row["grp"] != "Residual" and "var2" not in row:
            # (Days || Subject) is two terms there, Subject and Subject.1
            name = row["grp"].removesuffix(".1"), row["var1"]
            theirs[name] = row["vcov"]
    ours = {}
    for term, S in zip(model._terms, model.covariances_.values(), strict=True):
        effects = model._effect_names(term)
        for a, effect in enumerate(effects):
            grouping = lme4_name(term.name)
            if fit["formula"].endswith("/cask)") and grouping == "batch:cask":
                grouping = "cask:batch"
            if fit["formula"].endswith("/Variety)") and grouping == "Block:Variety":
                grouping = "Variety:Block"
            ours[grouping, effect.replace("intercept", "(Intercept)")] = S[a, a]
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        # 1e-3 of the variance; where that is zero, of the residual's
        slack = 1e-6 * fit["sigma"] ** 2
        assert_allclose(ours[key], value, rtol=1e-3, atol=slack, err_msg=str(key))


def test_covariances_are_those_of_lme4(both):
    fit, model, _ = both
    for row in fit["variance"]:
        if "var2" not in row:
            continue
        (S,) = (v for k, v in model.covariances_.items() if k == row["grp"])
        effects = model._effect_names(model._terms[0])
        a, b = (
            effects.index(row[v].replace("(Intercept)", "intercept"))
            for v in ("var1", "var2")
        )
        size = np.sqrt(S[a, a] * S[b, b])
        assert_allclose(S[a, b] / size, row["sdcor"], rtol=0, atol=2e-3)


def test_fixed_effects_are_those_of_lme4(both):
    fit, model, _ = both
    table = model.fixed_effects_
    names = [n.replace("(Intercept)", "intercept") for n in fit["fixed"]]
    assert sorted(names) == sorted(table.index)
    theirs, errors = list(fit["fixed"].values()), list(fit["standard_error"].values())
    scale = np.array(errors)
    difference = (table.loc[names, "estimate"].to_numpy() - theirs) / scale
    assert_allclose(difference, 0, atol=1e-4)
    assert_allclose(table.loc[names, "standard_error"], errors, rtol=1e-3)


def test_random_effects_are_those_of_lme4(both):
    fit, model, _ = both
    for k, grouping in enumerate(model._groupings):
        name = lme4_name(grouping.name)
        if name not in fit["effects"]:
            name = ":".join(reversed(name.split(":")))
        theirs = fit["effects"][name]
        labels = [str(label) for label in grouping.labels]
        if name != lme4_name(grouping.name):
            labels = [":".join(reversed(label.split(":"))) for label in labels]
        order = [labels.index(level) for level in theirs["level"]]
        values = np.reshape(theirs["values"], model._effects[k].shape)
        slack = 1e-3 * fit["sigma"]
        assert_allclose(model._effects[k][order], values, rtol=2e-3, atol=slack)


def test_there_are_enough_data_sets():
    assert len({fit["data"] for fit in FITS}) == 9
    assert {fit["formula"] for fit in FITS} == set(MODELS)
