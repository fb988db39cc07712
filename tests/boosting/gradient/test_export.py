"""Boosted trees in words."""

import numpy as np
import pandas as pd
import pytest

from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
    export_text,
)


def make_model():
    rng = np.random.default_rng(0)
    task = np.arange(400) % 4
    x = rng.integers(0, 3, size=400).astype(float)
    colour = np.array(["red", "blue"])[rng.integers(0, 2, size=400)]
    y = 2.0 * (x > 1) * (task > 1) + (colour == "red") + rng.normal(size=400) / 100
    frame = pd.DataFrame({"x": x, "colour": colour, "task": task})
    model = MultiTaskGradientBoostingRegressor(
        task="task",
        n_estimators=2,
        learning_rate=1.0,
        max_features=1.0,
        task_values=False,
        random_state=0,
    )
    return model.fit(frame, y), frame


def test_tests_and_values_are_written():
    model, _ = make_model()
    text = export_text(model, rounds=0)
    assert text.startswith("round 0\n")
    assert "x <= 1.50" in text
    assert "x > 1.50" in text
    assert "colour in {red}" in text
    assert "task in {0, 1}" in text
    assert "task in {2, 3}" in text
    n_leaves = sum(line.strip()[0] in "+-" for line in text.splitlines()[1:])
    assert n_leaves == model.trees_.leaf_start[1]


def test_rounds_are_chosen():
    model, _ = make_model()
    assert export_text(model).count("round") == 1
    assert export_text(model, rounds=[0, 1]).count("round") == 2
    assert export_text(model, rounds=-1).startswith("round 1\n")
    with pytest.raises(ValueError, match="There is no round 2: the model has 2"):
        export_text(model, rounds=2)


def test_trees_of_classes_are_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    model = MultiTaskGradientBoostingClassifier(n_estimators=1, random_state=0)
    text = export_text(model.fit(X, y))
    assert [f"round 0, class {k}" in text for k in range(3)] == [True] * 3
