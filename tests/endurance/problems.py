"""What every estimator is fitted to, over and over."""

from typing import Any

import numpy as np

from kinlearn.tasks import with_task
from kinlearn.testing._problems import make_problem, set_up

__all__ = ["problem_of"]


def problem_of(estimator: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """An estimator with its parameters set, and what it is fitted to."""
    X, y, task = make_problem(estimator)
    if hasattr(estimator, "fit_resample"):
        y = (y > np.median(y)).astype(int)
    params = estimator.get_params(deep=False)
    options = {k: v for k, v in {"task": -1, "target": 1}.items() if k in params}
    model = set_up(estimator, **options)
    return model, with_task(X, task) if "task" in params else X, y
