"""Weight drift by source and by label."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.datasets import make_transfer_pair
from kinlearn.report import WeightDriftDisplay
from kinlearn.transfer import TrAdaBoostClassifier, TrAdaBoostRegressor


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def model():
    X, y = make_transfer_pair(
        200, 40, n_sources=2, imbalance_ratio=0.3, as_frame=True, random_state=0
    )
    model = TrAdaBoostClassifier(task="task", target="target", n_estimators=7)
    return model.fit(X, y)


def test_lines_by_source(model):
    display = WeightDriftDisplay.from_estimator(model)
    labels = [line.get_label() for line in display.lines_]
    assert labels == ["source_0", "source_1", "target"]
    history = model.weight_history_["target"]
    for line, share in zip(display.lines_, history.task_share.T, strict=True):
        x, height = line.get_data()
        assert_array_equal(x, np.arange(1, 8))
        assert_allclose(height, share)


def test_lines_by_label_sum_to_one(model):
    display = WeightDriftDisplay.from_estimator(model, by="label", linewidth=3)
    assert [line.get_label() for line in display.lines_] == [
        "source, 0",
        "source, 1",
        "target",
    ]
    assert_allclose(sum(line.get_ydata() for line in display.lines_), 1)
    assert display.lines_[0].get_linewidth() == 3


def test_drawing_on_given_axes(model):
    _, ax = plt.subplots()
    assert WeightDriftDisplay.from_estimator(model, ax=ax).ax_ is ax


def test_clear_errors(model):
    with pytest.raises(ValueError, match="no target 'moon'; it has 'target'"):
        WeightDriftDisplay.from_estimator(model, target="moon")
    with pytest.raises(ValueError, match='"source" or "label"'):
        WeightDriftDisplay.from_estimator(model, by="round")
    X, y = make_transfer_pair(50, 20, random_state=0)
    several = TrAdaBoostRegressor(task=-1, n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="has 2 targets \\(0, 1\\)"):
        WeightDriftDisplay.from_estimator(several)
    with pytest.raises(ValueError, match="TrAdaBoostRegressor has no labels"):
        WeightDriftDisplay.from_estimator(several, target=1, by="label")
