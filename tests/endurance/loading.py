"""What the checks of loaded models cost: ``python -m tests.endurance.loading``.

For some models: bytes of the file, milliseconds of processor time of loading it, and
how much of that the checks are, by the least of many repeats in one run.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge

import kinlearn
from kinlearn.boosting import MTBoostRegressor, MultiTaskGradientBoostingRegressor
from kinlearn.persistence import _packing
from kinlearn.sharing import KinRegressor, PerTask, Pooled
from kinlearn.svm import MultiTaskSVR
from kinlearn.trees import MultiTaskExtraTreesRegressor, MultiTaskRandomForestClassifier
from kinlearn.utils import _loading

__all__ = ["cost", "models"]

REPEATS = 40


def models(n: int = 2000) -> Iterator[tuple[str, Any]]:
    """Fitted models by name, of n rows at most."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    X[:, -1] = rng.integers(0, 20, n)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * X[:, -1] + rng.normal(size=n)
    options: dict[str, Any] = {"task": -1, "random_state": 0}
    some = slice(n // 4)
    forest = MultiTaskRandomForestClassifier(20, **options)
    yield "extra trees", MultiTaskExtraTreesRegressor(100, **options).fit(X, y)
    yield "random forest", forest.fit(X[some], (y[some] > 0).astype(int))
    yield "boosting", MultiTaskGradientBoostingRegressor(**options).fit(X, y)
    yield "MTBoost", MTBoostRegressor(**options).fit(X[some], y[some])
    yield "SVR", MultiTaskSVR(task=-1).fit(X[some], y[some])
    yield "Kin", KinRegressor(effort="fast", **options).fit(X[some], y[some])
    yield "ridge, alone", PerTask(Ridge(), task=-1).fit(X, y)
    for name, inner in {
        "sklearn's forest": RandomForestRegressor(50, random_state=0),
        "sklearn's boosting": HistGradientBoostingRegressor(),
    }.items():
        yield name, Pooled(inner, task=-1).fit(X, y)


def cost(model: Any, repeats: int = REPEATS) -> tuple[int, float, float]:
    """Bytes of a model's file, seconds of loading it, and those of the checks."""
    whole, checks = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        kinlearn.save(model, path)
        for _ in range(repeats):
            spent: list[float] = []
            with (
                mock.patch.object(_loading, "_check", _timed(_loading._check, spent)),
                mock.patch.object(
                    _packing, "check_inside", _timed(_loading.check_inside, spent)
                ),
            ):
                start = time.process_time()
                kinlearn.load(path)
                whole.append(time.process_time() - start)
            checks.append(sum(spent))
        return path.stat().st_size, min(whole), min(checks)


def _timed(function: Callable, spent: list[float]) -> Callable:
    def timed(*args: Any) -> None:
        start = time.process_time()
        function(*args)
        spent.append(time.process_time() - start)

    return timed


def main() -> None:
    """Print a line for each model."""
    warnings.simplefilter("ignore")
    for name, model in models():
        size, whole, checks = cost(model)
        sys.stdout.write(
            f"{name:20} {size:9,} bytes, {1e3 * whole:7.2f} ms, of which checks "
            f"{1e3 * checks:6.3f} ms: {checks / whole:.1%}\n"
        )


if __name__ == "__main__":
    main()
