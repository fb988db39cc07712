"""Ctrl-C ends a long fit of any of the trees within a second."""

import numpy as np
import pytest

from kinlearn import with_task
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
)
from tests.interrupt import seconds_to_stop

# Each takes far longer than the 0.3 seconds after which it is stopped.
MODELS = {
    "tree": MultiTaskDecisionTreeClassifier(task=-1),
    "forest": MultiTaskRandomForestClassifier(500, task=-1),
    "forest on two threads": MultiTaskRandomForestClassifier(500, task=-1, n_jobs=2),
    "extra trees": MultiTaskExtraTreesRegressor(
        2000, task=-1, min_samples_leaf=1, task_split_prob=0.5
    ),
    "choice of the settings": MultiTaskExtraTreesClassifier(2000, task=-1),
}


@pytest.mark.parametrize("name", MODELS)
def test_ctrl_c_stops_within_a_second(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 20)).astype(np.float32)
    X = with_task(X, np.arange(len(X)) % 5)
    y = rng.integers(2, size=len(X))
    assert seconds_to_stop(lambda: MODELS[name].fit(X, y)) < 1
