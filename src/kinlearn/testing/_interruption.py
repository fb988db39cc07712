"""The promise that a fit that does not end changes nothing."""

import inspect
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
from joblib import hash as content_hash
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from kinlearn.tasks import with_task
from kinlearn.testing._problems import make_problem, set_up

__all__ = ["check_interrupted_fit"]

_PLACES = 4  # of each kind of fit, at which it is interrupted
_REASONS = (KeyboardInterrupt, SystemExit, MemoryError)


class _Interruption:
    """Raise at the n-th line of some package that is carried out.

    Lines, as debuggers stop at them: a profile function that raises crashes some
    releases of Python.
    """

    def __init__(self, package: str, place: int = 0) -> None:
        self.package, self.place, self.n_lines = package, place, 0

    def run(self, call: Callable[[], Any]) -> str | None:
        """Call; returns what ended it, if it was ended at the place."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except BaseException as error:
            if self.n_lines < self.place or not self.place:
                raise
            return type(error).__name__
        finally:
            sys.settrace(before)
        return None

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        name, code = frame.f_globals.get("__name__", ""), frame.f_code
        if name.split(".")[0] != self.package or name == __name__:
            return None
        # Python swallows what is raised where an object or a generator is disposed of
        if code.co_name == "__del__" or code.co_flags & inspect.CO_GENERATOR:
            return None
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.n_lines += 1
            if self.n_lines == self.place:
                raise _REASONS[self.place % len(_REASONS)]("as a check wants it")
        return self._step


def _state(model: Any) -> dict[str, tuple[int, str]]:
    """Which objects a model holds, and what is in them."""
    return {
        name: (id(value), content_hash(value)) for name, value in vars(model).items()
    }


def _check_fit(model: Any, call: Callable[[Any], Any], what: str, seed: int) -> None:
    """Interrupt a call of a model's at some places: it must not have changed."""
    package = type(model).__module__.split(".")[0]
    held = dict(vars(model))
    counter = _Interruption(package)
    counter.run(lambda: call(model))
    vars(model).clear()
    vars(model).update(held)
    before = _state(model)
    rng = np.random.default_rng(seed)
    places = rng.integers(1, counter.n_lines, size=_PLACES, endpoint=True)
    for place in {*places.tolist(), counter.n_lines}:
        raised = _Interruption(package, place).run(lambda: call(model))
        if raised is None:  # it was not reached, or somebody took note of it
            vars(model).clear()
            vars(model).update(held)
        after = _state(model)
        changed = sorted(
            name for name in {*before, *after} if before.get(name) != after.get(name)
        )
        assert not changed, (
            f"{what} was ended by {raised} at line {place} of "
            f"{counter.n_lines}, and {', '.join(changed)} had changed."
        )


def check_interrupted_fit(estimator: Any) -> None:
    """A fit that is interrupted or fails leaves the estimator as it was before.

    A first fit, a second one, a warm start, `partial_fit`, `add_task`, `fit_transform`
    and `fit_resample`, as far as there are such, are ended at random lines.

    Parameters
    ----------
    estimator : estimator
        Of any kind, with a `task` parameter or without.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from kinlearn.sharing import PerTask
    >>> from kinlearn.testing import check_interrupted_fit
    >>> check_interrupted_fit(PerTask(Ridge()))
    """
    X, y, task = make_problem(estimator)
    if hasattr(estimator, "fit_resample"):  # which takes classes
        y = (y > np.median(y)).astype(int)
    params = estimator.get_params(deep=False)
    options = {
        name: value
        for name, value in {"task": -1, "target": 1}.items()
        if name in params
    }

    def with_tasks(X: np.ndarray, task: np.ndarray) -> np.ndarray:
        return with_task(X, task) if "task" in params else X

    packed = with_tasks(X, task)
    model = set_up(estimator, **options).fit(packed, y)  # imports what it needs
    model = set_up(estimator, **options)
    _check_fit(model, lambda one: one.fit(packed, y), "A first fit", 0)
    for method in ("predict", "transform"):
        if hasattr(model, method):
            _must_be_unfitted(getattr(model, method), packed)
    model.fit(packed, y)
    other, labels = with_tasks(X[:, ::-1] + 1, task), y[::-1]
    if is_classifier(estimator):
        labels = np.array(["no", "yes"])[labels]
    _check_fit(model, lambda one: one.fit(other, labels), "A second fit", 1)
    if "warm_start" in params:
        warm = set_up(estimator, warm_start=True, **options).fit(packed, y)
        if isinstance(params.get("n_estimators"), int):
            warm.set_params(n_estimators=params["n_estimators"] + 3)
        _check_fit(warm, lambda one: one.fit(packed, y), "A warm start", 2)
    later = with_tasks(X, np.where(task == 2, 9, task))
    calls: dict[str, Callable[[Any], Any]] = {
        "partial_fit": lambda one: one.partial_fit(later, y),
        "add_task": lambda one: one.add_task(with_tasks(X, task + 20), y),
        "fit_transform": lambda one: one.fit_transform(other, labels),
        "fit_resample": lambda one: one.fit_resample(other, labels),
    }
    for seed, (method, call) in enumerate(calls.items(), start=3):
        if hasattr(model, method):
            _check_fit(model, call, method, seed)


def _must_be_unfitted(method: Callable[[Any], Any], X: Any) -> None:
    try:
        method(X)
    except NotFittedError:
        return
    raise AssertionError(f"{method.__name__} works after a fit that was interrupted.")
