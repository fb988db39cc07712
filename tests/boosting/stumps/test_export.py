"""Two-task stumps in words."""

import numpy as np
import pytest

from kinlearn import with_task
from kinlearn.boosting import (
    AbstainingAdaBoostClassifier,
    MTBoostClassifier,
    export_text,
)


def test_names_of_features_tasks_and_labels():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 2)), columns=["age", "dose"])
    frame["ward"] = np.repeat(["north", "south", "west"], 30)
    y = np.where(frame["age"] > 0, "ill", "well")
    model = AbstainingAdaBoostClassifier(4, task="ward").fit(frame, y)
    text = export_text(model, rounds=0, decimals=1)
    assert text.startswith("round 0, vote ")
    assert "age <= " in text
    assert ": ill" in text
    assert ", then" in text
    assert "task north" in text
    assert export_text(model).count("round ") == 3
    assert export_text(model, rounds=[1, 3]).count("round ") == 2
    assert export_text(model, rounds=-1).startswith("round 3")


def test_words_lead_to_the_predictions_of_the_model():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 1)).round(2)
    task = np.arange(80) % 2
    y = (X[:, 0] > 0.1 * task).astype(int)
    model = AbstainingAdaBoostClassifier(1, task=-1).fit(with_task(X, task), y)
    lines = export_text(model, decimals=6).splitlines()[1:]
    above = model.stumps_.nodes[0, 0]
    for line in lines[:1]:
        threshold = float(line.split("<=")[1].split("->")[0])
        np.testing.assert_allclose(threshold, above["threshold"], atol=1e-6)
        label = int(line.split(": ")[1].split(",")[0])
        owner = int(line.split("task ")[1].split(":")[0])
        rows = (task == owner) & (X[:, 0] <= threshold)
        assert (model.predict(with_task(X, task))[rows] == label).all()


def test_scores_of_mh_and_missing_values_are_told():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    X[rng.random(X.shape) < 0.2] = np.nan
    task = np.arange(120) % 2
    model = AbstainingAdaBoostClassifier(3, task=-1).fit(with_task(X, task), y)
    text = export_text(model)
    assert "vote" not in text
    assert "(+" in text
    assert "missing" in text


def test_other_models_are_refused():
    X, y = np.array([[0.0], [1], [2], [3]]), [0, 0, 1, 1]
    with pytest.raises(TypeError, match="got MTBoostClassifier"):
        export_text(MTBoostClassifier(n_estimators=2).fit(X, y))


def test_a_round_that_is_not_there_is_refused():
    X = np.array([[0.0], [1], [2], [3]])
    model = AbstainingAdaBoostClassifier(5).fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="no round 7: the model has 1"):
        export_text(model, rounds=7)
