"""The heat map of task distances."""

import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import with_task
from kinlearn.relatedness import TaskDistances, task_distances
from kinlearn.report import TaskDistanceDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def _distances(n_tasks, names=None, method="ks"):
    points = np.random.default_rng(0).permutation(n_tasks).astype(float)
    tasks = np.arange(n_tasks) if names is None else names
    return TaskDistances(np.abs(points[:, None] - points), tasks, method=method)


def _labels(display, axis):
    return [
        label.get_text() for label in getattr(display.ax_, f"get_{axis}ticklabels")()
    ]


@pytest.mark.parametrize("cluster", [True, False])
def test_cells_and_labels_are_in_the_same_order(cluster):
    distances = _distances(9, [f"t{i}" for i in range(9)])
    display = TaskDistanceDisplay.from_distances(distances, cluster=cluster)
    shown = _labels(display, "x")
    assert shown == _labels(display, "y")
    expected = distances.tasks[distances.order()] if cluster else distances.tasks
    assert shown == expected.tolist()
    image = np.asarray(display.im_.get_array())
    for i, a in enumerate(shown):
        for j, b in enumerate(shown):
            assert image[i, j] == distances[a, b]


def test_from_data_draws_what_task_distances_gives():
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(60, 2)), np.repeat([3, 5, 8], 20))
    display = TaskDistanceDisplay.from_data(
        X, task=-1, method="hellinger", options={"n_bins": 4}, cluster=False
    )
    expected = task_distances(X, task=-1, method="hellinger", n_bins=4)
    assert_array_equal(display.distances.values, expected.values)
    assert_array_equal(display.im_.get_array(), expected.values)
    assert _labels(display, "x") == ["3", "5", "8"]


@pytest.mark.parametrize(
    ("method", "title"),
    [("mmd", "Maximum mean discrepancy"), ("learned affinity", "learned affinity")],
)
def test_colour_bar_names_the_method(method, title):
    display = TaskDistanceDisplay.from_distances(_distances(4, method=method))
    _, bar = display.figure_.axes
    assert bar.get_ylabel() == title
    assert display.im_.get_clim() == (0.0, 3.0)
    bare = TaskDistanceDisplay.from_distances(_distances(4), colorbar=False)
    assert len(bare.figure_.axes) == 1


@pytest.mark.parametrize(("n_tasks", "n_labels"), [(40, 40), (41, 21), (150, 38)])
def test_labels_are_thinned_above_forty(n_tasks, n_labels):
    distances = _distances(n_tasks)
    display = TaskDistanceDisplay.from_distances(distances)
    shown = _labels(display, "y")
    assert len(shown) == n_labels
    # those that are left still stand at their own rows
    rows = display.ax_.get_yticks()
    assert [str(t) for t in distances.tasks[distances.order()[rows]]] == shown
    assert ("is named" in display.ax_.get_xlabel()) == (n_tasks > 40)


@pytest.mark.parametrize("n_tasks", [2, 12, 38])
def test_nothing_leaves_the_figure_and_labels_do_not_overlap(n_tasks):
    names = [f"hospital number {i:02d}" for i in range(n_tasks)]
    display = TaskDistanceDisplay.from_distances(_distances(n_tasks, names))
    display.figure_.draw_without_rendering()
    width, height = display.figure_.get_size_inches() * display.figure_.dpi
    for label in display.ax_.get_xticklabels() + display.ax_.get_yticklabels():
        box = label.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(a.y0 >= b.y1 - 1 for a, b in pairwise(boxes))


def test_long_names_are_cut():
    names = ["a" * 60, "b" * 24]
    display = TaskDistanceDisplay.from_distances(_distances(2, names))
    assert sorted(_labels(display, "y")) == ["a" * 23 + "…", "b" * 24]


def test_numbers_in_the_cells_of_few_tasks():
    few = TaskDistanceDisplay.from_distances(_distances(12))
    assert len(few.text_) == 144
    texts = {text.get_position(): text.get_text() for text in few.text_}
    image = few.im_.get_array()
    assert all(
        texts[j, i] == f"{image[i, j]:.2f}" for i in range(12) for j in range(12)
    )
    assert TaskDistanceDisplay.from_distances(_distances(13)).text_ == []
    none = TaskDistanceDisplay.from_distances(_distances(3), include_values=False)
    assert none.text_ == []


def test_numbers_stand_out_from_their_cells():
    display = TaskDistanceDisplay.from_distances(_distances(12))
    for text in display.text_:
        column, row = text.get_position()
        cell = display.im_.cmap(display.im_.norm(display.im_.get_array()[row, column]))
        lightness = [
            np.dot([0.299, 0.587, 0.114], c[:3])
            for c in (cell, to_rgb(text.get_color()))
        ]
        assert abs(lightness[0] - lightness[1]) > 0.45


def test_given_axes_are_used():
    figure, axes = plt.subplots(1, 2)
    display = TaskDistanceDisplay(_distances(3)).plot(axes[1], im_kw={"vmax": 9.0})
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert_allclose(display.im_.get_clim(), (0.0, 9.0))
    assert plt.get_fignums() == [figure.number]


def test_one_task_and_equal_tasks_can_be_drawn():
    for n_tasks in (1, 3):
        distances = TaskDistances(np.zeros((n_tasks,) * 2), range(n_tasks), method="ks")
        display = TaskDistanceDisplay.from_distances(distances)
        display.figure_.draw_without_rendering()
        assert len(display.text_) == n_tasks**2


class NotInstalled:
    """Finds no Matplotlib."""

    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib":
            raise ModuleNotFoundError(name, name=name)


def test_matplotlib_is_only_needed_for_drawing(monkeypatch):
    # that the modules are imported without it is for tests/test_import.py
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NotInstalled(), *sys.meta_path])
    display = TaskDistanceDisplay(TaskDistances([[0.0]], ["a"], method="ks"))
    with pytest.raises(ImportError, match=r"pip install 'kinlearn\[report\]'"):
        display.plot()
