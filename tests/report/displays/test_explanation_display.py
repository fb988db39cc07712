"""Pictures of explanations."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.report import ExplanationDisplay
from kinlearn.sharing import Explanation


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    yield
    plt.close("all")


def explanation(names=("age", "clinic"), what="prediction"):
    parts = np.array([[-2.0, 0.5]])
    return Explanation(
        parts, np.full((1, 2), 0.1), np.array([5.0]), 5.0 + parts.sum(axis=1),
        np.array(names, dtype=object), what, np.array([False]),
    )  # fmt: skip


def test_a_waterfall_goes_from_the_background_to_the_prediction():
    ax = ExplanationDisplay(explanation()).plot().ax_
    ends = [(b.get_x(), b.get_x() + b.get_width()) for b in ax.patches]
    assert_allclose(ends, [(5.0, 3.0), (3.0, 3.5)])
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["\N{MINUS SIGN}2", "+0.5", "mean of the background\n5",
                     "this row\n3.5"]  # fmt: skip


def test_all_of_a_waterfall_lies_in_the_frame():
    figure = ExplanationDisplay(explanation()).plot().figure_
    figure.draw_without_rendering()
    [ax] = figure.axes
    low, high = ax.get_xlim()
    assert low < 2.9
    assert high > 5.1
    frame = ax.get_window_extent()
    for text in ax.texts[:2]:
        assert text.get_window_extent().x1 < frame.x1


def test_hostile_names_are_drawn_as_they_are_written():
    found = explanation((r"$\frac{$", "\x1b[31m"), "probability of $\\frac{$")
    for display in (ExplanationDisplay(found).plot(row=0),):
        display.figure_.draw_without_rendering()
        assert display.names_ == [r"$\frac{$", r"\x1b[31m"]
