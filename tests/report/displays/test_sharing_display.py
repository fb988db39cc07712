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


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("shape", [(1, 3), (2, 4), (1, 1)])
@pytest.mark.parametrize("name", ["", "Primary school of the "])
def test_the_legend_keeps_to_its_axes_and_off_the_bars(name, shape, layout):
    figure, axes = plt.subplots(*shape, figsize=(13, 6), squeeze=False, layout=layout)
    sharing = {f"{name}{task}": parts for task, parts in SHARING.items()}
    displays = [SharingDisplay(sharing).plot(ax) for ax in axes.flat]
    figure.canvas.draw()
    for display in displays:
        legend = display.ax_.get_legend().get_window_extent()
        box = display.ax_.get_window_extent()
        assert box.x0 <= legend.x0
        assert legend.x1 <= box.x1
        assert legend.y1 <= box.y1
        highest = display.bars_["own"][0].get_window_extent().y1
        assert legend.y0 >= highest


def test_without_a_legend_the_bars_have_all_room():
    ax = SharingDisplay(SHARING).plot(legend=False).ax_
    assert ax.get_legend() is None
    assert ax.get_ylim() == (2.5, -0.5)


def test_long_names_are_cut_where_they_are_alike():
    names = [f"Municipal hospital of the city of {c}" for c in ("Aberdeen", "Bergen")]
    display = SharingDisplay(dict.fromkeys(names, SHARING["a"])).plot()
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown == ["Municipa…ity of Aberdeen", "Municipa…ity of Bergen"]


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
