"""The penalties against a general convex solver, whose figures are kept in a file."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn import with_task
from kinlearn.linear import MultiTaskLinearClassifier, MultiTaskLinearRegressor

FIGURES = json.loads(
    (Path(__file__).parent / "general_solver" / "figures.json").read_text()
)


@pytest.mark.parametrize("number", range(len(FIGURES)))
def test_objectives_are_the_least_ones(number):
    figures = FIGURES[number]
    X = np.concatenate([task["X"] for task in figures["tasks"]])
    y = np.concatenate([task["y"] for task in figures["tasks"]])
    task = np.repeat(
        np.arange(len(figures["tasks"])), [len(t["y"]) for t in figures["tasks"]]
    )
    kind = MultiTaskLinearClassifier
    if figures["kind"] == "numbers":
        kind = MultiTaskLinearRegressor
    for name, least in figures["least"].items():
        penalty, alpha = name.split()
        model = kind(
            penalty,
            float(alpha),
            task=-1,
            graph=np.array(figures["graph"]) if penalty == "graph" else None,
            own_penalty=0.7,
            scale=False,
            tol=1e-8,
        )
        model.fit(with_task(X, task), y)
        assert_allclose(model.objective_, least, rtol=1e-6, err_msg=name)
