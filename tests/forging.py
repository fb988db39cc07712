"""Models with forged numbers, and what becomes of them; runs in child processes.

``python -m tests.forging pickle|skops SHARE 0,3,5`` fits estimators of the registry,
changes one array or number of one at a time, saves and loads it, with a right checksum,
and predicts. It writes a line before each case, so that whoever started it knows which
one crashed.
"""

import pickle
import random
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import kinlearn
from kinlearn.persistence._packing import attributes
from kinlearn.tasks import with_task
from kinlearn.testing._problems import make_problem, set_up
from tests.registry import ESTIMATORS

SECONDS = 60


def forged(array: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Wrong versions of an array, by name."""
    if array.dtype.names:
        for name in array.dtype.names:
            for what, column in _forged_numbers(array[name], rng):
                wrong = array.copy()
                wrong[name] = column
                yield f"{name} {what}", wrong
    else:
        yield from _forged_numbers(array, rng)
    yield "empty", array[:0].copy()
    yield "cut short", array[: len(array) // 2].copy()
    yield "twice as long", np.concatenate([array, array])
    yield "one more dimension", array[..., None].copy()


def _forged_numbers(array: np.ndarray, rng: Any) -> Iterator[tuple[str, Any]]:
    values: dict[str, Any] = {}
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        values = {"largest": limits.max, "least": limits.min, "many": 10**6 + 1}
        values |= {"negative": -1, "negative more": -7}
        values = {k: v for k, v in values.items() if limits.min <= v <= limits.max}
        values["shuffled"] = rng.permutation(array.ravel()).reshape(array.shape)
    elif array.dtype.kind == "f":
        values = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
    for what, value in values.items():
        yield f"all {what}", np.full_like(array, value)
        if array.size and np.ndim(value) == 0:
            wrong = array.copy()
            wrong.flat[rng.integers(array.size)] = value
            yield f"one {what}", wrong
    yield "as float", array.astype(np.float64)
    yield "as int16", array.astype(np.int16) if array.dtype.kind != "f" else None


def places(model: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """Where the model holds fitted numbers: a name, and what to write to."""
    seen: set[tuple[int, str]] = set()
    for owner, key, value in attributes(model):
        params = owner.get_params(deep=False) if hasattr(owner, "get_params") else ()
        if key in params or (id(owner), key) in seen:
            continue
        seen.add((id(owner), key))
        name = f"{type(owner).__name__}.{key}"
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufV":
            yield name, vars(owner), key, value
        elif sp.issparse(value):
            for part in ("data", "indices", "indptr"):
                yield f"{name}.{part}", vars(value), part, getattr(value, part)
        elif isinstance(value, list | tuple | dict):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for at, item in items:
                if isinstance(item, np.ndarray) and item.dtype.kind in "biufV":
                    yield f"{name}[{at}]", (vars(owner), key), at, item
        elif isinstance(value, int | np.integer) and not isinstance(value, bool):
            yield name, vars(owner), key, value


def cases(model: Any, most: int = 1) -> Iterator[tuple[str, Any]]:
    """Forge one place at a time, for the time of a case."""
    rng = np.random.default_rng(0)
    done: dict[str, int] = {}
    for name, holder, key, value in list(places(model)):
        done[name] = done.get(name, 0) + 1
        if done[name] > most:
            continue  # the same place of another tree
        wrongs: Any = forged(np.atleast_1d(value), rng)
        if not isinstance(value, np.ndarray):
            wrongs = ((str(v), v) for v in (-1, 0, value + 1, 10**6))
        elif value.ndim == 0:
            continue
        for what, wrong in wrongs:
            if wrong is None:
                continue
            if isinstance(holder, tuple):
                space, attribute = holder
                whole = space[attribute]
                items = dict(whole) if isinstance(whole, dict) else list(whole)
                items[key] = wrong
                space[attribute] = type(whole)(items)
                yield f"{name} {what}", wrong
                space[attribute] = whole
            else:
                holder[key] = wrong
                yield f"{name} {what}", wrong
                holder[key] = value


def use(model: Any, X: Any) -> dict[str, Any]:
    """What it predicts."""
    names = ("predict", "predict_proba", "decision_function", "transform")
    return {name: getattr(model, name)(X) for name in names if hasattr(model, name)}


def run(number: int, way: str, share: float = 1.0, first: int = 0) -> None:
    """Try the cases of one estimator, or a share of them that is drawn."""
    warnings.simplefilter("ignore")
    estimator = ESTIMATORS[number]
    X, y, task = make_problem(estimator, n_samples=60)
    if type(estimator).__name__ == "AuxiliaryOverSampler":
        y = (y > 0).astype(int)
    packed = with_task(X, task)
    model = set_up(estimator)
    if "task" in model.get_params():
        model.set_params(task=-1)
    (model.fit_resample if hasattr(model, "fit_resample") else model.fit)(packed, y)
    path = Path(tempfile.mkdtemp()) / "model.skops"
    new = (np.arange(len(X)) < 5) & hasattr(model, "unknown_task")
    rows = with_task(X, np.where(new, 99, task))
    drawn = random.Random(number)
    for count, (name, _) in enumerate(cases(model)):
        if count < first or drawn.random() > share:
            continue
        signal.alarm(SECONDS)  # ends the process, wherever it is
        say(f"{type(model).__name__}\t{name}", end="\t")
        say(_outcome(model, rows, way, path))
        signal.alarm(0)


def say(text: str, end: str = "\n") -> None:
    """Write at once: the process may end."""
    sys.stdout.write(text + end)
    sys.stdout.flush()


def _outcome(model: Any, rows: Any, way: str, path: Path) -> str:
    try:
        if way == "pickle":
            content = pickle.dumps(model)
        else:
            kinlearn.save(model, path)
    except Exception as error:  # noqa: BLE001 - which ones is the result
        return f"not saved {type(error).__name__}"
    try:
        again = pickle.loads(content) if way == "pickle" else kinlearn.load(path)
    except ValueError as error:
        return f"refused {error}"
    except Exception as error:  # noqa: BLE001 - which ones is the result
        return f"BAD LOAD {type(error).__name__} {error}"
    try:
        found = use(again, rows)
    except Exception as error:  # noqa: BLE001 - which ones is the result
        return f"BAD USE {type(error).__name__} {error}".replace("\n", " ")
    for values in map(np.asarray, found.values()):
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return "NAN"
    return "fine"


if __name__ == "__main__":
    for place in map(int, sys.argv[3].split(",")):
        run(place, sys.argv[1], float(sys.argv[2]))
