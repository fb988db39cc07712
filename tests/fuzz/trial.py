"""One case of the fuzzer: fit, predict, and judge what came of it.

A case is a dict of JSON values: ``estimator`` (as :func:`estimators` names it),
``params``, ``inputs`` (a recipe of :mod:`tests.fuzz.inputs`) and ``then``, what is done
after the predictions. Judged are errors (any but a ValueError or TypeError that
somebody wrote for users), warnings that are not for users, predictions that are not
finite or not of the right shape and type, probabilities that do not sum to one, and a
model or inputs that a call changed.
"""

import inspect
import linecache
import pickle
import random
import traceback
import warnings
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from joblib import hash as content_hash
from sklearn.base import clone, is_classifier

from tests.fuzz.inputs import DEFAULTS, EXTREME, PLAIN_ROWS, draw_recipe, make_inputs
from tests.fuzz.parameters import draw_parameters, resolve
from tests.registry import ESTIMATORS

__all__ = ["draw_case", "estimators", "run_case", "signature"]

_METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "predict_log_proba",
    "transform",
    "predict_interval",
    "predict_set",
    "apply",
)
_THEN = ("refit", "pickle", "partial_fit", "add_task")
# Warnings of these kinds are for whoever writes the code, not for whoever calls it.
_INTERNAL = (RuntimeWarning, DeprecationWarning, PendingDeprecationWarning)
# Where scikit-learn checks what users pass.
_CHECKS = ("sklearn.utils", "sklearn.base", "sklearn.exceptions")
# How often a slow estimator is drawn, by its name; others once.
_SELDOM = {"KinClassifier": 0.15, "KinRegressor": 0.15}


def estimators() -> dict[str, Any]:
    """Every public estimator by a name that says what it wraps."""
    found: dict[str, Any] = {}
    for estimator in ESTIMATORS:
        name = type(estimator).__name__
        inner = getattr(estimator, "estimator", None) or getattr(
            estimator, "transformer", None
        )
        found.setdefault(
            f"{name}({type(inner).__name__})" if inner else name, estimator
        )
    return found


def draw_case(rng: random.Random, known: dict[str, Any]) -> dict[str, Any]:
    """A case of one of the estimators that are known by name."""
    weights = [_SELDOM.get(name, 1.0) for name in known]
    (name,) = rng.choices(list(known), weights)
    case = {
        "estimator": name,
        "params": draw_parameters(known[name], rng),
        "inputs": draw_recipe(rng),
    }
    if rng.random() < 0.3:
        case["then"] = rng.choice(_THEN)
    return case


def signature(case: dict[str, Any], finding: dict[str, str]) -> tuple[str, ...]:
    """What two findings have in common that are taken for one."""
    # where a loop without end is when its time is over, is chance
    place = "" if finding["kind"] == "hang" else finding["place"]
    return case["estimator"].split("(")[0], finding["kind"], place


def run_case(case: dict[str, Any], known: dict[str, Any]) -> dict[str, str] | None:
    """What is wrong with a case, or None: its kind, its place and some words."""
    try:
        _Trial(case, known[case["estimator"]]).run()
    except _Finding as found:
        return {"kind": found.kind, "place": found.place, "words": found.words}
    return None


class _Finding(Exception):
    def __init__(self, kind: str, place: str, words: str) -> None:
        self.kind, self.place, self.words = kind, place, words


class _Refused(Exception):
    """A clear error: what was wanted could not be done, and was not."""


class _Trial:
    """One case that is under way."""

    def __init__(self, case: dict[str, Any], estimator: Any) -> None:
        self.case = case
        params = estimator.get_params(deep=False)
        self.is_classifier = is_classifier(estimator) or hasattr(
            estimator, "fit_resample"
        )
        self.inputs = make_inputs(
            case["inputs"],
            self.is_classifier,
            "task" in params,
            list in estimator._parameter_constraints.get("task", ()),
        )
        given = {k: resolve(v, self.inputs) for k, v in case["params"].items()}
        if "task" in params:
            given.setdefault("task", self.inputs.task)
        self.model = clone(estimator).set_params(**given)
        self.is_foreign = "(" in case["estimator"]
        self.options: dict[str, Any] = {}
        takes = inspect.signature(estimator.fit).parameters
        if "sample_weight" in takes and self.inputs.weights is not None:
            self.options["sample_weight"] = self.inputs.weights

    def run(self) -> None:
        with suppress(_Refused):
            self._all()

    def _all(self) -> None:
        inputs = self.inputs
        given = inputs.X, inputs.y, inputs.weights
        before = deepcopy(given)
        if hasattr(self.model, "fit_resample"):
            X, y = self._call("fit_resample", inputs.X, inputs.y)
            if _n_rows(X) != len(y):
                raise _Finding("shape", "fit_resample", f"{_n_rows(X)} and {len(y)}")
            return
        self._call("fit", inputs.X, inputs.y, **self.options)
        if not all(map(_are_equal, given, before)):
            raise _Finding("inputs changed", "fit", "fit wrote into X, y or weights")
        state = _hash(vars(self.model))
        found = self._predictions()
        if _hash(vars(self.model)) != state:
            methods = ", ".join(self._methods())
            raise _Finding("model changed", "predict", f"one of {methods} changed it")
        self._then(found)

    def _methods(self) -> list[str]:
        return [m for m in _METHODS if hasattr(self.model, m)]

    def _call(
        self, name: str, *args: Any, must_work: bool = False, **kwargs: Any
    ) -> Any:
        """Call a method; a clear error ends the case unless the call must work."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = getattr(self.model, name)(*args, **kwargs)
            except Exception as error:
                place = _place(error)
                words = f"{name}: {type(error).__name__}: {error}"
                if isinstance(error, MemoryError):
                    raise _Finding("memory", place, words) from error
                if not _is_clear(error, self.is_foreign):
                    raise _Finding("internal error", place, words) from error
                if must_work:
                    raise _Finding("refused", name, words) from error
                raise _Refused from error
        for warning in caught:
            if self._is_internal(warning):
                raise _Finding(
                    "warning",
                    _short(warning.filename),
                    f"{name}: {warning.category.__name__}: {warning.message}",
                )
        return result

    def _is_internal(self, warning: warnings.WarningMessage) -> bool:
        """Whether it is of our own arithmetic, and of numbers as people have them."""
        return (
            issubclass(warning.category, _INTERNAL)
            and "/kinlearn/" in warning.filename.replace("\\", "/")
            and EXTREME.isdisjoint(map(str, self.case["inputs"].values()))
            and not any(map(_is_extreme, self.case["params"].values()))
        )

    def _predictions(self) -> dict[str, Any]:
        """All predictions, judged, by method."""
        found = {}
        # what `fit` took must be predicted, unless the case is of other rows
        plain = (DEFAULTS | self.case["inputs"])["rows"] in PLAIN_ROWS
        for method in self._methods():
            try:
                values = self._call(method, self.inputs.rows, must_work=plain)
            except _Refused:
                continue
            self._judge(method, values)
            found[method] = values
        return found

    def _judge(self, method: str, values: Any) -> None:
        n = _n_rows(self.inputs.rows)
        if _n_rows(values) != n:
            raise _Finding("shape", method, f"{_n_rows(values)} rows of {n}")
        if sp.issparse(values) or method == "transform":
            return
        values = np.asarray(values)
        if method == "predict" and self.is_classifier:
            if values.shape != (n,):
                raise _Finding("shape", method, f"{values.shape} for {n} rows")
            if not set(values.tolist()) <= set(self.model.classes_.tolist()):
                raise _Finding("values", method, "classes that are not in classes_")
            if values.dtype.kind != self.model.classes_.dtype.kind:
                raise _Finding("type", method, f"{values.dtype}")
            return
        if method in {"predict_set", "apply"}:
            return
        if values.dtype.kind not in "fi":
            raise _Finding("type", method, f"{values.dtype}")
        infinite_too = method in {"predict_interval", "predict_log_proba"}
        good = ~np.isnan(values) if infinite_too else np.isfinite(values)
        if not good.all():
            raise _Finding("not finite", method, f"{values[~good][:3]}")
        if method == "predict_proba":
            if values.shape != (n, len(self.model.classes_)):
                raise _Finding("shape", method, f"{values.shape}")
            if (values < 0).any() or not np.allclose(values.sum(axis=1), 1, atol=1e-5):
                raise _Finding("sums", method, f"{values.sum(axis=1)[:3]}")
        elif method == "predict" and values.shape != (n,):
            raise _Finding("shape", method, f"{values.shape} for {n} rows")

    def _then(self, found: dict[str, Any]) -> None:
        then, inputs = self.case.get("then"), self.inputs
        if then == "refit":
            self.model = clone(self.model)
            self._call("fit", inputs.X, inputs.y, must_work=True, **self.options)
            self._same(found, "a second fit")
        elif then == "pickle":
            self._load()
            self._same(found, "pickle")
        elif then in {"partial_fit", "add_task"} and hasattr(self.model, then):
            self._call(then, inputs.X, inputs.y)
            self._predictions()

    def _load(self) -> None:
        """What a fit left behind is not refused."""
        try:
            self.model = pickle.loads(pickle.dumps(self.model))
        except ValueError as error:
            raise _Finding("refused", "pickle", f"loading: {error}") from error

    def _same(self, found: dict[str, Any], what: str) -> None:
        again = self._predictions()
        for method, values in found.items():
            if not _are_equal(values, again.get(method)):
                raise _Finding("differs", f"{method}, {what}", "not the same values")


def _are_equal(one: Any, other: Any) -> bool:
    """Equal to the last bit, NaN too, in whatever they come."""
    if isinstance(one, pl.DataFrame) and pl.Object in one.dtypes:
        return repr(one.rows()) == repr(other.rows())  # polars cannot tell
    if isinstance(one, pd.DataFrame | pl.DataFrame):
        return one.equals(other)
    if sp.issparse(one):
        return one.shape == other.shape and all(
            map(_are_equal, sp.find(one), sp.find(other))
        )
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return np.array_equal(one, other, equal_nan=True)
    return repr(one) == repr(other)


def _is_extreme(value: Any) -> bool:
    return isinstance(value, float) and not (value == 0 or 1e-9 < abs(value) < 1e9)


def _n_rows(values: Any) -> int:
    return values.shape[0] if hasattr(values, "shape") else len(values)


def _hash(value: Any) -> str | None:
    try:
        return content_hash(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None


def _is_clear(error: Exception, is_foreign: bool) -> bool:
    """Whether somebody wrote this error for users: raised on purpose, in words."""
    if not isinstance(error, ValueError | TypeError) or len(str(error)) < 20:
        return False
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    module = frame.f_globals.get("__name__", "")
    if module.startswith(_CHECKS) or (is_foreign and module.startswith("sklearn.")):
        return True
    if not module.startswith("kinlearn.") or module.startswith("kinlearn._kernels"):
        return False
    return linecache.getline(frame.f_code.co_filename, line).strip().startswith("raise")


def _place(error: Exception) -> str:
    """The innermost function of ours that an error went through, and its own."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [f for f in frames if f.f_globals.get("__name__", "").startswith("kinlearn")]
    frame = (ours or frames)[-1]
    return f"{_short(frame.f_code.co_filename)}: {frame.f_code.co_name}"


def _short(filename: str) -> str:
    """A path from the package on: no machine's."""
    _, mark, rest = filename.replace("\\", "/").rpartition("/site-packages/")
    return rest if mark else filename.rpartition("/")[-1]
