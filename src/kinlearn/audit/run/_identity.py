"""What a run is: estimators and packages as plain data that can be compared."""

import re
from importlib import metadata
from typing import Any

import numpy as np

from kinlearn.audit._contenders import Entry
from kinlearn.audit._problem import hash_arrays
from kinlearn.audit.run._cells import Comparison

__all__ = ["describe", "identity_of", "versions"]

_PACKAGES = ("kinlearn", "numpy", "scipy", "scikit-learn", "joblib")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def versions() -> dict[str, str]:
    """Versions of what the scores depend on."""
    return {name: metadata.version(name) for name in _PACKAGES}


def describe(value: Any) -> Any:
    """A parameter, or an estimator with all of its own, as plain data."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else repr(value)
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return f"array {hash_arrays(value)}"
    if isinstance(value, np.random.RandomState):
        _, keys, *rest = value.get_state()
        return f"RandomState {hash_arrays(keys, repr(rest))}"
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "get_params"):
        kind = type(value)
        return {
            "class": f"{kind.__module__}.{kind.__qualname__}",
            **{k: describe(v) for k, v in value.get_params(deep=False).items()},
        }
    return _ADDRESS.sub("", repr(value))


def identity_of(
    comparison: Comparison, entries: list[Entry], *, curve: bool, random_state: int
) -> dict[str, Any]:
    """What must be the same for two runs to be one."""
    scoring = comparison.scoring
    metric = scoring.metric
    return {
        "data": comparison.problem.fingerprint(),
        "folds": comparison.folds.fingerprint(),
        "metric": {
            "name": scoring.name,
            "function": describe(metric.function),
            "settings": describe(metric.params),
        },
        "curve": curve,
        "random_state": random_state,
        "contender": {
            entry.name: {"form": entry.contender.form, **_flat(entry.estimator)}
            for entry in entries
        },
        "version": versions(),
    }


def _flat(estimator: Any) -> dict[str, Any]:
    description = describe(estimator)
    return description if isinstance(description, dict) else {"is": description}
