"""Which checks fit which estimator, and how to run them."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any
from unittest import SkipTest

from sklearn.base import is_classifier, is_regressor

from kinlearn.testing import _checks
from kinlearn.utils import import_optional

__all__ = ["check_task_estimator", "parametrize_with_task_checks", "task_checks"]


def task_checks(estimator: Any) -> Iterator[partial[None]]:
    """Yield the checks that apply to an estimator.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor with a `task` parameter; its value is set by
        the checks.

    Yields
    ------
    callable
        A check of no arguments. It raises AssertionError where a promise is
        broken, and unittest.SkipTest where it does not apply after all.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from kinlearn.sharing import PerTask
    >>> from kinlearn.testing import task_checks
    >>> len(list(task_checks(PerTask(Ridge())))) > 10
    True
    """
    params = estimator.get_params(deep=False)
    if "task" not in params:
        raise TypeError(f"{type(estimator).__name__} has no parameter 'task'.")
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise TypeError(
            f"{type(estimator).__name__} is neither classifier nor regressor; only "
            "these have task checks."
        )
    checks = list(_checks.FOR_ALL)
    if is_classifier(estimator):
        checks += _checks.FOR_CLASSIFIERS
    if "unknown_task" in params:
        checks += _checks.FOR_UNKNOWN_TASKS
    if "n_jobs" in params:
        checks += _checks.FOR_N_JOBS
    yield from (partial(check, estimator) for check in checks)


def check_task_estimator(estimator: Any) -> dict[str, str]:
    """Run all task checks on an estimator.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor with a `task` parameter.

    Returns
    -------
    dict
        Name of each check: "passed" or "skipped: reason". A broken promise
        raises AssertionError.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from kinlearn.sharing import PerTask
    >>> from kinlearn.testing import check_task_estimator
    >>> check_task_estimator(PerTask(Ridge()))["check_renamed_tasks"]
    'passed'
    """
    outcome = {}
    for check in task_checks(estimator):
        try:
            check()
            outcome[check.func.__name__] = "passed"
        except SkipTest as reason:
            outcome[check.func.__name__] = f"skipped: {reason}"
    return outcome


def parametrize_with_task_checks(estimators: Iterable[Any]) -> Any:
    """Pytest decorator: one test for each estimator and task check.

    Parameters
    ----------
    estimators : list of estimators
        Classifiers and regressors with a `task` parameter.

    Returns
    -------
    decorator
        For a test function with the one argument `check`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from kinlearn.sharing import PerTask
    >>> from kinlearn.testing import parametrize_with_task_checks
    >>> @parametrize_with_task_checks([PerTask(Ridge())])
    ... def test_tasks(check):
    ...     check()
    """
    pytest = import_optional("pytest", extra="test", purpose="Parametrizing tests")
    cases = [
        pytest.param(check, id=f"{i}-{type(estimator).__name__}-{check.func.__name__}")
        for i, estimator in enumerate(estimators)
        for check in task_checks(estimator)
    ]
    return pytest.mark.parametrize("check", cases)
