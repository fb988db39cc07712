"""The picture of what own, shared and pooled models contribute."""

import matplotlib.pyplot as plt
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from kinlearn import KinRegressor, with_task
from kinlearn.report import SharingDisplay

SHARING = {
    "a": {"own": 0.1, "pooled": 0.3, "shared": 0.6},
    "b": {"own": 0.5, "pooled": 0.5, "shared": 0.0},
    "c": {"own": 0.0, "pooled": 0.0, "shared": 1.0},
}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_bars_stand_end_to_end_and_fill_the_width():
    display = SharingDisplay(SHARING).plot()
    assert display.tasks_ == ["b", "a", "c"]
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == display.tasks_
    own, shared, pooled = (display.bars_[part] for part in ("own", "shared", "pooled"))
    assert_allclose([bar.get_width() for bar in own], [0.5, 0.1, 0.0])
    assert_allclose([bar.get_x() for bar in shared], [0.5, 0.1, 0.0])
    ends = [bar.get_x() + bar.get_width() for bar in pooled]
    assert_allclose(ends, 1)


def test_of_many_tasks_both_ends_are_drawn():
    many = {
        t: {"own": t / 100, "pooled": 0.0, "shared": 1 - t / 100} for t in range(100)
    }
    display = SharingDisplay(many).plot(max_tasks=5)
    assert display.tasks_ == [99, 98, 2, 1, 0]
    assert "5 of 100 tasks" in display.ax_.get_xlabel()


def test_from_an_estimator():
    X = with_task([[0.0], [1.0], [2.0], [3.0]] * 6, [0, 1] * 12)
    y = [0, 1, 2, 3] * 6
    y = [value + 0.1 * k for k, value in enumerate(y)]
    model = KinRegressor(task=-1, families=["linear"], n_folds=2).fit(X, y)
    _, ax = plt.subplots()
    display = SharingDisplay.from_estimator(model, ax=ax, legend=False)
    assert display.ax_ is ax
    assert set(display.tasks_) == {0, 1}
    with pytest.raises(TypeError, match="Ridge has no sharing_"):
        SharingDisplay.from_estimator(Ridge())


def test_an_estimator_that_is_not_fitted_is_told_apart():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        SharingDisplay.from_estimator(KinRegressor())
