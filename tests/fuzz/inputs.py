"""Inputs of the fuzzer: tables, targets and weights made from a few plain words.

A recipe is a dict of JSON values; what it does not say is as in ``DEFAULTS``. The same
recipe makes the same inputs.
"""

import datetime
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

__all__ = ["DEFAULTS", "EXTREME", "PLAIN_ROWS", "Inputs", "draw_recipe", "make_inputs"]

# entry -> what it can be, each with how often it is drawn; the first is the default
CHOICES: dict[str, dict[Any, int]] = {
    "n_rows": {30: 6, 60: 3, 12: 3, 6: 2, 3: 2, 2: 1, 1: 1, 150: 1},
    "n_columns": {3: 6, 1: 2, 2: 3, 6: 3, 20: 1},
    "n_tasks": {3: 5, 2: 3, 1: 2, 8: 2, 40: 1},
    "tasks": {"equal": 6, "none": 2, "uneven": 3, "tiny": 2, "own": 1, "gaps": 1},
    "task_values": {"int": 5, "negative": 1, "text": 3, "large": 1, "float": 1},
    "levels": {0: 6, 1: 2, 2: 1},  # columns above the task, where there is a path
    "container": {"array": 6, "frame": 5, "polars": 2, "csr": 2, "csc": 1, "list": 1},
    "dtype": {"f8": 8, "f4": 3, "i8": 2, "u1": 1, "?": 1, "f2": 1, "O": 1},
    "order": {"C": 4, "F": 2, "strided": 1, "readonly": 1},
    "values": {
        "normal": 10,
        "ties": 3,
        "constant": 1,
        "copies": 2,
        "zeros": 2,
        "scales": 2,
        "one hot": 1,
        "tiny": 1,
        "large": 1,
        "vast": 1,
        "inf": 1,
    },
    "gaps": {0.0: 8, 0.1: 2, 0.6: 1, 1.0: 1},
    "text": {0: 6, 1: 2, 3: 1},  # how many columns of text, dates and the like
    "y": {
        "signal": 8,
        "one": 1,
        "many": 2,
        "one in a task": 2,
        "own of a task": 2,
        "rare": 2,
        "all differ": 1,
        "counts": 2,
        "large": 1,
        "tiny": 1,
        "gaps": 1,
        "inf": 1,
    },
    "y_values": {"plain": 6, "text": 2, "bool": 1, "float": 1, "object": 1, "i1": 1},
    "weights": {
        "none": 10,
        "random": 3,
        "ints": 1,
        "zeros": 2,
        "zero task": 1,
        "spread": 1,
        "tiny": 1,
        "large": 1,
        "all zero": 1,
        "negative": 1,
        "gaps": 1,
        "too few": 1,
    },
    "rows": {
        "same": 8,
        "one": 2,
        "reversed": 2,
        "unknown task": 2,
        "gaps": 1,
        "large": 1,
        "other type": 1,
        "none": 1,
        "fewer columns": 1,
        "more columns": 1,
    },
}
DEFAULTS = {name: next(iter(choices)) for name, choices in CHOICES.items()}
# rows that a model which was fitted must predict
PLAIN_ROWS = {"same", "one", "reversed"}
# entries near the ends of what a float can hold, or beyond: arithmetic may warn of them
EXTREME = {"tiny", "large", "vast", "inf", "spread"}
_FRAMES = {"frame": pd.DataFrame, "polars": pl.DataFrame}


@dataclass
class Inputs:
    """What a case is fitted to, and what it predicts."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    rows: Any
    task: str | int | list | None
    task_values: list
    n_features: int


def draw_recipe(rng: random.Random) -> dict[str, Any]:
    """A recipe: most entries stay as they are by default, some are drawn."""
    recipe: dict[str, Any] = {"seed": rng.randrange(1000)}
    for name, choices in CHOICES.items():
        if rng.random() < 0.4:
            (value,) = rng.choices(list(choices), list(choices.values()))
            if value != DEFAULTS[name]:
                recipe[name] = value
    return recipe


def make_inputs(
    recipe: dict[str, Any], is_classifier: bool, has_task: bool, has_path: bool = False
) -> Inputs:
    """The inputs of a recipe, for an estimator of some kind."""
    r = DEFAULTS | recipe
    rng = np.random.default_rng(r.get("seed", 0))
    n = r["n_rows"]
    codes = _task_codes(r, rng) if has_task else np.zeros(n, dtype=int)
    features = _features(r, rng)
    y = _target(r, rng, codes, features, is_classifier)
    tasks = None if r["tasks"] == "none" or not has_task else _task_column(r, codes)
    n_levels = 0 if tasks is None or not has_path else r["levels"]
    if n_levels:  # the coarsest first
        above = [codes // 3.0 ** (j + 1) // 1 for j in reversed(range(n_levels))]
        features = np.column_stack([*above, features])
    X = _container(r, features, tasks, np.random.default_rng(r.get("seed", 0) + 2))
    rows = _rows_to_predict(r, features, tasks)
    is_frame = r["container"] in _FRAMES
    key: Any = None if tasks is None else "task" if is_frame else -1
    if n_levels:
        key = [*(X.columns[:n_levels] if is_frame else range(n_levels)), key]
    values = [] if tasks is None else list(dict.fromkeys(tasks.tolist()))
    return Inputs(X, y, _weights(r, rng, codes), rows, key, values, features.shape[1])


def _task_codes(r: dict, rng: np.random.Generator) -> np.ndarray:
    n, k = r["n_rows"], r["n_tasks"]
    match r["tasks"]:
        case "uneven":
            return np.minimum(rng.geometric(0.5, n) - 1, k - 1)
        case "tiny":
            return np.where(np.arange(n) < k, np.arange(n), 0)
        case "own":
            return np.arange(n)
    return np.arange(n) % k


def _task_column(r: dict, codes: np.ndarray) -> np.ndarray:
    kind = r["task_values"]
    is_frame = r["container"] in _FRAMES
    if kind == "text" and is_frame:
        names = ["", "b", "ß\u202e", "=1+1", "a\nb", "0", "None", "nan", " "]
        column = np.array(
            [names[c] if c < len(names) else f"t{c}" for c in codes], dtype=object
        )
    elif kind == "large":
        column = codes.astype("i8") + 2**31
    elif kind == "negative":
        column = codes.astype("i8") - 5
    else:
        column = codes.astype("f8" if kind == "float" else "i8")
    if r["tasks"] == "gaps":
        column = column.astype(object if column.dtype == object else "f8")
        column[0] = None if column.dtype == object else np.nan
    return column


def _features(r: dict, rng: np.random.Generator) -> np.ndarray:
    shape = r["n_rows"], r["n_columns"]
    Z = rng.standard_normal(shape)
    match r["values"]:
        case "ties":
            Z = rng.integers(0, 3, shape) / 2
        case "constant":
            Z = np.full(shape, 0.1)
        case "copies":
            Z = np.repeat(Z[:, :1], shape[1], axis=1)
            Z[shape[0] // 2 :] = Z[: shape[0] - shape[0] // 2]
        case "zeros":
            Z = np.where(rng.random(shape) < 0.8, 0.0, Z)
        case "scales":
            Z = Z * 10.0 ** rng.integers(-8, 9, shape[1])
        case "one hot":
            Z = np.eye(shape[1])[rng.integers(0, shape[1], shape[0])]
        case "tiny":
            Z = Z * 1e-300
        case "large":
            Z = Z * 1e30
        case "vast":
            Z = Z * 1e300
        case "inf":
            Z[0, 0] = np.inf
    if r["gaps"]:
        Z = np.where(rng.random(shape) < r["gaps"], np.nan, Z)
    return Z


def _cast(r: dict, Z: np.ndarray) -> np.ndarray:
    if r["dtype"] in {"i8", "u1", "?"}:
        top = 255 if r["dtype"] == "u1" else 2**53
        low = 0 if r["dtype"] == "u1" else -top
        Z = np.clip(np.nan_to_num(Z) * 3, low, top)
    with np.errstate(over="ignore"):
        return Z.astype(r["dtype"])


def _container(
    r: dict, Z: np.ndarray, tasks: np.ndarray | None, rng: np.random.Generator
) -> Any:
    if r["container"] in _FRAMES:
        return _frame(r, Z, tasks, rng)
    if tasks is not None:
        Z = np.column_stack([Z, tasks.astype("f8")])
    dtype = r["dtype"]
    if tasks is not None and dtype in {"u1", "?", "f2"}:
        dtype = "f4"  # so that it holds the tasks
    Z = _cast(r | {"dtype": dtype}, Z) if dtype != "i8" else _integers(Z, tasks)
    if r["container"] in {"csr", "csc"}:
        return sp.csr_array(Z.astype("f8") if dtype in {"O", "f2"} else Z).asformat(
            r["container"]
        )
    match r["order"]:
        case "F":
            Z = np.asfortranarray(Z)
        case "strided":
            Z = np.repeat(np.repeat(Z, 2, axis=0), 2, axis=1)[::2, ::2]
        case "readonly":
            Z.flags.writeable = False
    return Z.tolist() if r["container"] == "list" else Z


def _integers(Z: np.ndarray, tasks: np.ndarray | None) -> np.ndarray:
    whole = _cast({"dtype": "i8"}, Z)
    if tasks is not None:
        whole[:, -1] = np.nan_to_num(tasks.astype("f8"))
    return whole


def _frame(
    r: dict, Z: np.ndarray, tasks: np.ndarray | None, rng: np.random.Generator
) -> Any:
    names = ["a", "b c", "x0", "é", "1", "f[0]<1"]
    columns = {
        names[i] if i < len(names) else f"x{i}": _cast(r, Z[:, i])
        for i in range(Z.shape[1])
    }
    n = len(Z)
    codes = rng.integers(0, 4, n)
    days = [datetime.datetime(2024, 1 + int(c), 1, 12) for c in codes]
    words = np.array(["u", "v", "ẅ", ""], dtype=object)[codes]
    more: list[tuple[str, Any]] = [
        ("text", words.tolist()),
        ("when", days),
        ("ids", [f"id {i}" for i in range(n)]),
    ]
    for name, values in more[: r["text"]]:
        if r["gaps"]:
            lost = rng.random(n) < r["gaps"]
            values = [None if m else v for m, v in zip(lost, values, strict=True)]
        columns[name] = values
    if tasks is not None:
        columns["task"] = tasks.tolist() if tasks.dtype == object else tasks
    frame = _FRAMES[r["container"]](columns)
    if r["container"] == "frame" and r["text"] > 1:
        frame["kind"] = pd.Categorical.from_codes(codes, ["p", "q", "r", "s"])
        frame["whole"] = pd.array(codes, dtype="Int64")
        frame["flag"] = pd.array(codes > 1, dtype="boolean")
    return frame


def _target(
    r: dict,
    rng: np.random.Generator,
    task: np.ndarray,
    Z: np.ndarray,
    is_classifier: bool,
) -> np.ndarray:
    n, kind = r["n_rows"], r["y"]
    signal = np.sign(np.nan_to_num(Z[:, 0])) + 0.3 * rng.standard_normal(n)
    if not is_classifier:
        match kind:
            case "one":
                return np.full(n, 2.5)
            case "many" | "counts" | "rare":
                return rng.poisson(2.0, n).astype("i8" if kind == "many" else "f8")
            case "one in a task" | "own of a task":
                return task * 1.0
            case "large":
                return signal * 1e150
            case "tiny":
                return signal * 1e-200
            case "gaps" | "inf":
                signal[0] = np.nan if kind == "gaps" else -np.inf
        return np.abs(signal) + 0.1 if r["y_values"] != "plain" else signal
    classes = (signal > 0).astype(int)
    match kind:
        case "one":
            classes[:] = 1
        case "many":
            classes = rng.integers(0, 5, n)
        case "one in a task":
            classes[task == task[0]] = 0
        case "own of a task":
            classes = classes + 2 * task
        case "rare":
            classes = (np.arange(n) == n - 1).astype(int)
        case "all differ":
            classes = np.arange(n)
    return _labels(r, classes)


def _labels(r: dict, classes: np.ndarray) -> np.ndarray:
    match r["y_values"]:
        case "text":
            labels = np.array([f"class {c}" for c in classes])
        case "bool":
            labels = classes > 0
        case "float":
            labels = classes.astype("f8")
        case "object":
            labels = np.array([f"c{c}" for c in classes], dtype=object)
        case "i1":
            labels = (classes % 100).astype("i1")
        case _:
            labels = classes
    if r["y"] == "gaps":
        labels = labels.astype(object if labels.dtype.kind in "OU" else "f8")
        labels[0] = None if labels.dtype == object else np.nan
    return labels


def _weights(r: dict, rng: np.random.Generator, task: np.ndarray) -> np.ndarray | None:
    n, kind = r["n_rows"], r["weights"]
    if kind == "none":
        return None
    weights = rng.random(n) + 0.1
    match kind:
        case "ints":
            return rng.integers(0, 3, n)
        case "zeros":
            weights[rng.random(n) < 0.5] = 0
        case "zero task":
            weights[task == task[0]] = 0
        case "spread":
            weights = 10.0 ** rng.integers(-12, 12, n)
        case "tiny":
            weights *= 1e-300
        case "large":
            weights *= 1e300
        case "all zero":
            weights[:] = 0
        case "negative":
            weights[0] = -1
        case "gaps":
            weights[0] = np.nan
        case "too few":
            weights = weights[1:]
    return weights


def _rows_to_predict(r: dict, Z: np.ndarray, tasks: np.ndarray | None) -> Any:
    kind = r["rows"]
    which = slice(None)
    again = np.random.default_rng(r.get("seed", 0) + 1)
    match kind:
        case "one":
            which = slice(0, 1)
        case "reversed":
            which = slice(None, None, -1)
        case "none":
            which = slice(0, 0)
        case "unknown task" if tasks is not None and len(tasks):
            tasks = tasks.copy()
            tasks[0] = "new" if tasks.dtype == object else 77
        case "gaps":
            Z = np.where(again.random(Z.shape) < 0.3, np.nan, Z)
        case "large":
            Z = np.where(again.random(Z.shape) < 0.3, 1e200, Z)
        case "other type":
            r = r | {"dtype": "f4" if r["dtype"] != "f4" else "i8"}
        case "fewer columns":
            Z = Z[:, 1:]
        case "more columns":
            Z = np.column_stack([Z, Z[:, :1]])
    # columns of text are the same as in fit
    whole = _container(r, Z, tasks, np.random.default_rng(r.get("seed", 0) + 2))
    if kind in {"one", "reversed", "none"}:
        if isinstance(whole, pd.DataFrame):
            return whole.iloc[which]
        return whole[which]
    return whole
