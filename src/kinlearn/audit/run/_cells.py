"""Fit and score every contender on every fold: side by side, and without a stop.

A cell is one contender on one fold. Workers fit and score; the parent alone
writes to the store. A contender that fails, or whose worker dies, costs its own
cells. What makes two runs the same is plain data that can be compared.
"""

import itertools
import json
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Self

import joblib
import numpy as np
from joblib.externals.loky.backend import resource_tracker
from joblib.parallel import get_active_backend
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from kinlearn.audit._contenders import Entry
from kinlearn.audit._folds import Folds
from kinlearn.audit._problem import Problem, hash_arrays
from kinlearn.audit._scoring import FoldScores, Scoring
from kinlearn.audit.run._store import MemoryStore
from kinlearn.exceptions import SingularFitWarning
from kinlearn.utils import SentOnce, one_by_one

__all__ = [
    "Cell",
    "Comparison",
    "describe",
    "identity_of",
    "run_cells",
    "versions",
]

_MOST_WARNINGS = 5  # kept of one fit
_LONGEST_TEXT = 500  # of a message
_PACKAGES = ("kinlearn", "numpy", "scipy", "scikit-learn", "joblib")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is the same for all cells.

    - `problem`: The data.
    - `folds`: The folds.
    - `scoring`: The metric.
    - `levels`: The same by the groups of each level above the task.
    """

    problem: Problem
    folds: Folds
    scoring: Scoring
    levels: dict[str, "Comparison"] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One contender on one fold.

    - `contender`: Its name.
    - `repeat`, `split`: The fold.
    - `cut`: Which training rows are left out, for the curve; see
      :mod:`kinlearn.audit.run._curve`.
    """

    contender: str
    repeat: int
    split: int
    cut: Any = None

    @property
    def key(self) -> str:
        """What the cell's record is found by."""
        cut = [] if self.cut is None else [self.cut.key]
        return json.dumps([self.contender, self.repeat, self.split, *cut])

    def rows(self, comparison: Comparison) -> tuple[np.ndarray, np.ndarray]:
        """Training and test rows."""
        train, test = comparison.folds.splits[self.repeat][self.split]
        if self.cut is None:
            return train, test
        return self.cut.rows(comparison.problem, train, test)


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


def run_cells(
    cells: list[Cell],
    comparison: Comparison,
    estimators: dict[str, Any],
    store: MemoryStore,
    *,
    n_jobs: int | None,
    report: Callable[[Cell], object],
) -> None:
    """Do the cells that the store does not hold, and append each as it ends."""
    waiting = [cell for cell in cells if cell.key not in store]
    if not waiting:
        return
    with _Shared(comparison, n_jobs) as shared:
        try:
            for cell, record in _records(waiting, shared, estimators, n_jobs):
                store.append(cell.key, record)
                report(cell)
        except BrokenProcessPool:
            _run_one_by_one(waiting, shared, estimators, store, report)


def _records(
    cells: list[Cell], shared: "_Shared", estimators: dict[str, Any], n_jobs: int | None
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """(cell, record) in the order in which they end."""
    # batches would hold back what is done already
    parallel = Parallel(
        n_jobs=n_jobs, return_as=one_by_one("generator_unordered"), batch_size=1
    )
    return parallel(
        delayed(_run_cell)(next(shared.handles), cell, estimators[cell.contender])
        for cell in cells
    )


def _run_one_by_one(
    cells: list[Cell],
    shared: "_Shared",
    estimators: dict[str, Any],
    store: MemoryStore,
    report: Callable[[Cell], object],
) -> None:
    """After a worker died: each cell for itself, so that the culprit is known."""
    for cell in cells:
        if cell.key in store:
            continue
        try:
            [(_, record)] = _records([cell], shared, estimators, 2)
        except BrokenProcessPool as error:
            text = str(error).partition("\n")[0]
            record = _failure(f"the worker process died ({text})")
        store.append(cell.key, record)
        report(cell)


class _Shared:
    """The comparison, handed to workers once and not with every cell.

    Worker processes of this machine read it from a temporary file, whose arrays
    they share; all others are given the object itself.
    """

    def __init__(self, comparison: Comparison, n_jobs: int | None) -> None:
        backend, n_active = get_active_backend()
        name = type(backend).__name__
        alone = joblib.effective_n_jobs(n_active if n_jobs is None else n_jobs) == 1
        self.folder = None
        self.handles: Iterator[Any] = SentOnce.in_turn(comparison, n_jobs)
        if name in ("LokyBackend", "MultiprocessingBackend") and not alone:
            self.folder = tempfile.mkdtemp(prefix="kinlearn-")
            # loky's watchman removes it, should this process be killed
            resource_tracker.register(self.folder, "folder")
            path = os.path.join(self.folder, "comparison.joblib")
            try:
                joblib.dump(comparison, path)
            except BaseException as error:
                self.__exit__()
                if isinstance(error, pickle.PicklingError | AttributeError | TypeError):
                    return  # cloudpickle will do it
                raise
            self.handles = itertools.repeat(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            resource_tracker.unregister(self.folder, "folder")
            self.folder = None


# The last comparison that this worker read, by path.
_read: dict[str, Comparison] = {}


def _open_handle(handle: str | SentOnce) -> Comparison:
    if not isinstance(handle, str):
        return handle.value
    comparison = _read.get(handle)
    if comparison is None:
        comparison = joblib.load(handle, mmap_mode="r")
        _read.clear()  # another thread of this worker may have read another one
        _read[handle] = comparison
    return comparison


# What was found in this process, and after how many imported modules.
_found_pools: tuple[int, ThreadpoolController] | None = None


def _thread_pools() -> ThreadpoolController:
    """The thread pools of libraries; milliseconds, unless nothing was imported."""
    global _found_pools
    n_modules = len(sys.modules)
    if _found_pools is None or _found_pools[0] != n_modules:
        _found_pools = n_modules, ThreadpoolController()
    return _found_pools[1]


def _run_cell(
    handle: str | SentOnce, cell: Cell, estimator: Any
) -> tuple[Cell, dict[str, Any]]:
    """In the worker: fit, score, and return the record."""
    comparison = _open_handle(handle)
    peak = _PeakMemory()
    with (
        _thread_pools().limit(limits=1),
        joblib.parallel_config("sequential"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        # an effect without variance predicts as well as others
        warnings.simplefilter("ignore", SingularFitWarning)
        try:
            record = _fit_and_score(comparison, cell, estimator)
        except Exception as error:  # noqa: BLE001 - whatever a contender may raise
            record = _failure(f"{type(error).__name__}: {error}")
    record["peak_mib"] = peak.mib()
    texts = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
    record["warnings"] = [text[:_LONGEST_TEXT] for text in texts][:_MOST_WARNINGS]
    return cell, record


def _failure(text: str) -> dict[str, Any]:
    return {"error": text[:_LONGEST_TEXT], "warnings": [], "peak_mib": None}


def _fit_and_score(
    comparison: Comparison, cell: Cell, estimator: Any
) -> dict[str, Any]:
    problem = comparison.problem
    train, test = cell.rows(comparison)
    X, y = problem.take(train)
    start = time.perf_counter()
    model = clone(estimator).fit(X, y)
    fitted = time.perf_counter()
    del X, y
    X, y = problem.take(test)
    above = {} if cell.cut is not None else comparison.levels
    views = [
        (each.scoring, each.problem.codes[test], each.problem.n_tasks)
        for each in (comparison, *above.values())
    ]
    scores, *others = comparison.scoring.score_views(model, X, y, test, views)
    levels = zip(above, map(_plain_scores, others), strict=True)
    return {
        "error": None,
        **_plain_scores(scores),
        **({"levels": dict(levels)} if above else {}),
        "fit_seconds": round(fitted - start, 6),
        "score_seconds": round(time.perf_counter() - fitted, 6),
    }


def _plain_scores(scores: FoldScores) -> dict[str, Any]:
    return {
        "values": [None if np.isnan(v) else v for v in scores.values.tolist()],
        "micro": None if np.isnan(scores.micro) else scores.micro,
        "reasons": {str(code): why for code, why in scores.reasons.items()},
    }


class _PeakMemory:
    """Growth of this process's memory at its highest point, where Linux reports it."""

    def __init__(self) -> None:
        self._before = None
        with suppress(OSError, KeyError, ValueError):
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # forgets the highest point so far
            self._before = _memory("VmRSS")

    def mib(self) -> float | None:
        """Growth since then in MiB; None if it cannot be known."""
        if self._before is None:
            return None
        with suppress(OSError, KeyError, ValueError):
            return round(max(_memory("VmHWM") - self._before, 0) / 1024, 1)
        return None


def _memory(name: str) -> int:
    """A size in KiB from the kernel's account of this process."""
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields[name].split()[0])
