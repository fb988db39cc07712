"""Processor time by number of tasks: ``python -m tests.endurance.growth 1000 10000``.

Prints a line for each estimator: its name, then for each number of tasks, of two rows
each, the seconds of a fit and of predicting the same rows.
"""

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from kinlearn.tasks import with_task
from kinlearn.testing._problems import set_up
from tests.registry import ESTIMATORS

__all__ = ["WITH_TASKS", "seconds"]

# Tasks of two rows have none to hold back, which "auto" says.
_PARAMETERS = {
    "MultiTaskLinearClassifier": {"alpha": 0.1},
    "MultiTaskLinearRegressor": {"alpha": 0.1},
}
# Clusters of as many tasks are refused.
WITH_TASKS = [
    e
    for e in ESTIMATORS
    if "task" in e.get_params() and type(e).__name__ != "MultiTaskSymmetricNMF"
]


def seconds(estimator: Any, n_tasks: int) -> tuple[float, float]:
    """Processor time of a fit and of a prediction of two rows of each task."""
    rng = np.random.default_rng(0)
    task = np.tile(np.arange(n_tasks), 2)
    X = rng.normal(size=(2 * n_tasks, 4))
    y = X[:, 0] + rng.normal(size=n_tasks)[task]
    if "Poisson" in type(estimator).__name__:
        y = rng.poisson(np.exp(y / 3))
    elif is_classifier(estimator) or hasattr(estimator, "fit_resample"):
        y = (y > 0).astype(int)
    names = estimator.get_params(deep=False)
    options = {k: v for k, v in {"task": -1, "target": 1}.items() if k in names}
    options |= _PARAMETERS.get(type(estimator).__name__, {})
    model, rows = set_up(estimator, **options), with_task(X, task)
    start = time.process_time()
    getattr(model, "fit_resample" if hasattr(model, "fit_resample") else "fit")(rows, y)
    fitted = time.process_time()
    for name in ("predict_proba", "predict", "transform"):
        if hasattr(model, name):
            getattr(model, name)(rows)
            break
    return fitted - start, time.process_time() - fitted


def main(places: list[int], counts: list[int]) -> None:
    """Print a line for each of these estimators, or for all."""
    warnings.simplefilter("ignore")
    for place in places or range(len(WITH_TASKS)):
        estimator = WITH_TASKS[place]
        spent = [seconds(estimator, n) for n in counts]
        line = [" ".join(str(estimator).split()), *np.round(spent, 2).tolist()]
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main([], list(map(int, sys.argv[1:])))
