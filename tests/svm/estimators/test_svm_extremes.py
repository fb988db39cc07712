"""Machines with extreme numbers and parameters end, with finite values or an error."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge, RidgeClassifier

from kinlearn import with_task
from kinlearn.sharing import PerTask, Pooled
from kinlearn.svm import (
    MultiTaskSVC,
    MultiTaskSVR,
    SVMPlusClassifier,
    SVMPlusRegressor,
)

KINDS = [MultiTaskSVC, MultiTaskSVR, SVMPlusClassifier, SVMPlusRegressor]


def _problem(kind):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(40, 3)), np.arange(40) % 2
    y = X[:, 0] + 0.3 * rng.normal(size=40)
    return X, task, y if kind.__name__.endswith(("R", "Regressor")) else y > 0


def _model(kind, **params):
    column = "group" if "Plus" in kind.__name__ else "task"
    return kind(**{column: -1}, **params)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "poly", "coef0": -1e100},
        {"C": 1e100},
        {"C": 1e-100},
        {"correction_penalty": 1e-100},
        {"gamma": 1e100},
        {"cache_size": 1e300},
        {"kernel": "linear", "scale": 1e99},
        {"scale": 1e-300},
        {"heavy": 1e90},
        {"heavy": 1e-300},
    ],
    ids=str,
)
def test_extreme_parameters_and_numbers_end_in_finite_values(kind, params):
    params = dict(params)
    X, task, y = _problem(kind)
    X = X * [params.pop("scale", 1.0), 1.0, 1.0]
    weight = np.where(np.arange(40) < 3, params.pop("heavy", 1.0), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _model(kind, **params)
        model.fit(with_task(X, task), y, sample_weight=weight)
        found = model.predict(with_task(X, task))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_features_whose_products_overflow_are_named(kind, container):
    X, task, y = _problem(kind)
    X[7, 1] = -1e154
    with pytest.raises(ValueError, match=r"-1e\+154, whose products.*'x1'.*row 7"):
        _model(kind).fit(with_task(container(X), task), y)


@pytest.mark.parametrize("name", ["C", "coef0", "gamma", "correction_penalty"])
def test_parameters_whose_products_overflow_are_refused(name):
    X, task, y = _problem(MultiTaskSVC)
    value = 1e-300 if name == "correction_penalty" else 1e300
    with pytest.raises(ValueError, match=rf"The '{name}' parameter .* 1e[+-]300"):
        MultiTaskSVC(task=-1, **{name: value}).fit(with_task(X, task), y)


@pytest.mark.parametrize("form", [PerTask, Pooled])
def test_forms_name_the_column_that_was_too_large(form):
    X, task, y = _problem(MultiTaskSVR)
    packed = with_task(sp.csr_array(X * [1.0, 1.0, 1e300]), task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r"too large for it.*in column 2 "):
            form(Ridge(), task=-1).fit(packed, y).predict(packed)


def test_methods_are_there_where_they_can_be_called():
    X, task, _ = _problem(MultiTaskSVC)
    packed = with_task(X, task)
    one = PerTask(RidgeClassifier(), task=-1).fit(packed, np.zeros(40, dtype=int))
    assert not hasattr(one, "decision_function")
    three = (np.abs(X[:, 1]) * 2).astype(int) % 3
    model = PerTask(RidgeClassifier(), task=-1).fit(packed, three)
    assert model.decision_function(packed).shape == (40, 3)
    model.fit(packed, np.where(task == 0, three, np.minimum(three, 1)))
    assert not hasattr(model, "decision_function")
    with pytest.raises(AttributeError, match="decision_function"):
        model.decision_function(packed)
