"""F-lambda plots."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.metrics import f_lambda_curve
from kinlearn.report import FLambdaDisplay

Y = np.repeat([0, 1], [960, 40])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def _labels(hits, alarms):
    """Predictions with so many true and false positives."""
    found = np.zeros(1000, dtype=int)
    found[960 : 960 + hits] = 1
    found[:alarms] = 1
    return found


def test_the_three_algorithms_of_the_thesis():
    # Table 2.2: precision and recall (0.2, 0.6), (0.3, 0.3), (0.45, 0.225), all of
    # them with F1 = 0.3
    predictions = {
        "1": _labels(24, 96),
        "2": _labels(12, 28),
        "3": _labels(9, 11),
    }
    display = FLambdaDisplay.from_predictions(Y, predictions, lambda_=1e4)
    ends = [(0.2, 0.6), (0.3, 0.3), (0.45, 0.225)]
    for line, (precision, recall) in zip(display.lines_, ends, strict=True):
        x, f = line.get_data()
        assert_allclose(f[[0, -1]], [precision, recall], rtol=1e-4)
        assert_allclose(f[x == 0], [0.3], rtol=1e-12)


def test_lines_are_the_curves():
    curves = {
        name: f_lambda_curve(Y, _labels(*counts), against="specificity", lambda_=7.0)
        for name, counts in {"timid": (10, 5), "bold": (35, 300)}.items()
    }
    display = FLambdaDisplay.from_curves(curves, linewidth=3)
    for line, curve in zip(display.lines_, curves.values(), strict=True):
        assert_array_equal(line.get_xdata(), curve.x)
        assert_array_equal(line.get_ydata(), curve.f)
        assert line.get_linewidth() == 3
    legend = display.ax_.get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["timid", "bold"]
    assert display.ax_.get_xlim() == (-1.0, 1.0)
    assert "specificity" in display.ax_.get_xlabel()
    assert r"\log 7" in display.ax_.get_xlabel()
    looks = {(line.get_color(), line.get_linestyle()) for line in display.lines_}
    assert len(looks) == 2


def test_one_classifier_needs_no_legend():
    display = FLambdaDisplay.from_predictions(Y, _labels(20, 20))
    assert len(display.lines_) == 1
    assert display.ax_.get_legend() is None


def test_given_axes_are_used():
    figure, ax = plt.subplots()
    display = FLambdaDisplay.from_predictions(Y, _labels(20, 20), ax=ax, color="red")
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.lines_[0].get_color() == "red"
    assert plt.get_fignums() == [figure.number]


def test_curves_on_different_axes_are_refused():
    a, b = (f_lambda_curve(Y, _labels(20, 20), lambda_=v) for v in (10.0, 100.0))
    with pytest.raises(ValueError, match=r"10 and precision, 100 and precision"):
        FLambdaDisplay.from_curves({"a": a, "b": b})


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="no curve"):
        FLambdaDisplay.from_predictions(Y, {})
