"""What a file says about its model, so that it can be used without reading it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from kinlearn.persistence._packing import attributes

__all__ = ["describe"]


def describe(
    model: Any, *, target: str | None = None, columns: Sequence[str] | None = None
) -> dict[str, Any]:
    """The manifest of a fitted model, without format, versions and checksum.

    `target` is what it predicts; `columns` name those of X for a model that was fitted
    to an array.
    """
    check_is_fitted(model)
    last = _last(model)
    names, named = _names(model, columns)
    task = _task(model, last, names)
    known = getattr(last, "_columns", None)
    private = [] if known is None else known.all_names[list(known.privileged)].tolist()
    kinds = _kinds(model)
    classes = getattr(model, "classes_", None)
    return {
        "model": type(last).__name__,
        "kind": "classification"
        if is_classifier(model)
        else "regression"
        if is_regressor(model)
        else None,
        "target": target,
        "classes": None if classes is None else _plain(classes),
        "task": task,
        "tasks": [] if task is None else _plain(getattr(last, "tasks_", ())),
        "order": names,
        "columns": [
            {"name": name, "kind": kinds.get(name, "cell" if kinds else "value")}
            for name in names
            if name != task
        ],
        "privileged": [name for name in names if name in private],
        "named": named,
    }


def _last(model: Any) -> Any:
    """The estimator that predicts, behind pipelines and searches."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            model = model.steps[-1][1]
        else:
            return model


def _first(model: Any) -> Any:
    """What X meets first."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            model = model.steps[0][1]
        else:
            return model


def _names(model: Any, columns: Sequence[str] | None) -> tuple[list[str], bool]:
    """Names of the columns of X, and whether the model itself knows them."""
    found = getattr(model, "feature_names_in_", None)
    if found is not None:
        if columns is not None:
            raise ValueError(
                "columns= names the columns of a model that was fitted to an array; "
                f"this {type(model).__name__} knows its columns. Leave it out."
            )
        return [str(name) for name in found], True
    n = getattr(model, "n_features_in_", None)
    if n is None:
        return list(columns or ()), False
    names = [f"x{i}" for i in range(n)] if columns is None else list(columns)
    if len(names) != n or len(set(names)) != n:
        raise ValueError(
            f"columns must be {n} different names, one for each column of X that "
            f"{type(model).__name__} was fitted to; got {len(names)}."
        )
    return names, False


def _kinds(model: Any) -> dict[str, str]:
    """Columns that the model reads by itself, as cells of any kind, and those it drops.

    Empty for a model that takes columns as they were in `fit`.
    """
    found: dict[str, str] = {}
    for one in (_first(model), _last(model)):
        encoder = getattr(one, "table_encoder_", None) or one
        for meaning in getattr(encoder, "meanings_", ()):
            dropped = meaning["kind"] == "dropped"
            found.setdefault(str(meaning["name"]), "dropped" if dropped else "cell")
    if not found and any(key == "meanings_" for _, key, _ in attributes(model)):
        found = {"": "cell"}  # the model of each task has its own
    return found


def _task(model: Any, last: Any, names: list[str]) -> str | None:
    """The task column of X as it comes in."""
    for one in (_first(model), last):
        task = getattr(one, "task", None)
        if isinstance(task, str):
            return task
        if task is not None and -len(names) <= task < len(names):
            return names[task]
    return None


def _plain(values: Any) -> list[Any]:
    """Values as JSON holds them."""
    found = [v.item() if isinstance(v, np.generic) else v for v in list(values)]
    return [v if isinstance(v, str | bool | int | float) else str(v) for v in found]
