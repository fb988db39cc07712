"""Promises that every public estimator keeps."""

import inspect
from importlib import import_module

import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import kinlearn
from kinlearn.testing import check_interrupted_fit, parametrize_with_task_checks
from tests.registry import ESTIMATORS, expected_failures


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# those that have task checks: they predict what y says, by task
_SUPERVISED = [
    e
    for e in ESTIMATORS
    if (is_classifier(e) or is_regressor(e)) and "task" in e.get_params(deep=False)
]


@parametrize_with_task_checks(_SUPERVISED)
def test_task_checks(check):
    check()


@pytest.mark.parametrize(
    "estimator",
    [e for e in ESTIMATORS if e not in _SUPERVISED],
    ids=lambda e: type(e).__name__,
)
def test_an_interrupted_fit_changes_nothing(estimator):
    check_interrupted_fit(estimator)


@pytest.mark.parametrize("package", kinlearn._SUBPACKAGES)
def test_every_public_estimator_is_registered(package):
    module = import_module(f"kinlearn.{package}")
    public = {
        name
        for name in module.__all__
        if inspect.isclass(getattr(module, name))
        and issubclass(getattr(module, name), BaseEstimator)
    }
    assert public <= {type(e).__name__ for e in ESTIMATORS}
