"""Displays of an audit: gains, affinity, rows per task, leaderboard."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.report import (
    LeaderboardDisplay,
    PerTaskGainDisplay,
    RowsPerTaskDisplay,
    TaskAffinityDisplay,
)
from tests.report.sharing_dicts import SITUATIONS, make_result

DISPLAYS = (
    LeaderboardDisplay,
    PerTaskGainDisplay,
    RowsPerTaskDisplay,
    TaskAffinityDisplay,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def _names(ax, axis="y"):
    return [label.get_text() for label in getattr(ax, f"get_{axis}ticklabels")()]


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("name", SITUATIONS)
def test_every_situation_is_drawn_or_refused_in_words(display, name):
    words = "holds no|nothing to draw"
    try:
        made = display.from_result(SITUATIONS[name]())
    except ValueError as error:
        assert any(part in str(error) for part in words.split("|"))  # noqa: PT017
        return
    assert made.ax_.get_xlabel() or display is TaskAffinityDisplay


@pytest.mark.parametrize("display", DISPLAYS)
def test_given_axes_are_used(display):
    figure, ax = plt.subplots()
    made = display.from_result(make_result(), ax=ax)
    assert made.ax_ is ax
    assert made.figure_ is figure


def test_gains_are_sorted_and_placed_with_their_intervals():
    result = make_result(unscored=["Pine"])
    display = PerTaskGainDisplay.from_result(result)
    scored = [gain for gain in result["gains"] if gain["gain"] is not None]
    expected = sorted(scored, key=lambda gain: gain["gain"], reverse=True)
    assert display.tasks_ == [gain["task"] for gain in expected]
    assert _names(display.ax_) == display.tasks_
    for verdict, container in display.intervals_.items():
        line, _, (bars,) = container
        assert container.get_label() == verdict
        found = {
            expected[round(y)]["task"]: x for x, y in zip(*line.get_data(), strict=True)
        }
        assert found == {
            g["task"]: g["gain"] for g in expected if g["verdict"] == verdict
        }
        for segment in bars.get_segments():
            gain = expected[round(segment[0, 1])]
            assert_allclose(segment[:, 0], [gain["low"], gain["high"]])
    assert set(display.intervals_) == {gain["verdict"] for gain in expected}
    markers = {c.lines[0].get_marker() for c in display.intervals_.values()}
    assert len(markers) == len(display.intervals_)


def test_of_many_tasks_both_ends_are_drawn():
    result = SITUATIONS["139 schools"]()
    display = PerTaskGainDisplay.from_result(result, max_tasks=7)
    order = sorted(result["gains"], key=lambda gain: -gain["gain"])
    expected = [g["task"] for g in [*order[:3], *order[-4:]]]
    assert display.tasks_ == expected
    assert "7 of 139 tasks" in display.ax_.get_xlabel()
    assert "RMSE saved" in display.ax_.get_xlabel()


def test_gain_without_interval_is_a_marker_alone():
    gains = [
        {"task": "a", "gain": 0.1, "low": None, "high": None, "verdict": "unclear"}
    ]
    display = PerTaskGainDisplay(gains).plot(legend=False)
    assert display.intervals_["unclear"].lines[0].get_xdata() == [0.1]
    assert display.ax_.get_legend() is None


def test_affinity_cells_follow_the_names():
    result = make_result()
    display = TaskAffinityDisplay.from_result(result)
    square = result["relatedness"]["affinity"]
    shown = _names(display.ax_)
    assert shown == _names(display.ax_, "x")
    assert sorted(shown) == sorted(square["tasks"])
    assert shown != square["tasks"]  # clustered
    image = np.asarray(display.im_.get_array())
    for i, a in enumerate(shown):
        for j, b in enumerate(shown):
            if a != b:
                place = square["tasks"].index(a), square["tasks"].index(b)
                assert image[i, j] == square["matrix"][place[0]][place[1]]
    assert len(display.text_) == len(shown) * (len(shown) - 1)
    plain = TaskAffinityDisplay.from_result(result, cluster=False, include_values=False)
    assert _names(plain.ax_) == square["tasks"]
    assert plain.text_ == []


def test_affinities_of_both_signs_meet_at_zero():
    matrix = [[1.0, -0.5, 0.2], [-0.5, 1.0, None], [0.2, None, 1.0]]
    display = TaskAffinityDisplay(matrix, ["a", "b", "c"]).plot()
    assert display.im_.norm.vmin == -0.5
    assert display.im_.norm.vmax == 0.5
    assert len(display.text_) == 4  # neither the diagonal nor what is not known


def test_affinity_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"each of 2 tasks; its shape is \(1, 3\)"):
        TaskAffinityDisplay([[1, 2, 3]], ["a", "b"]).plot()


@pytest.mark.parametrize("error_metric", [False, True])
def test_curve_lines_are_the_numbers_as_people_know_them(error_metric):
    result = make_result(error_metric=error_metric)
    display = RowsPerTaskDisplay.from_result(result)
    sign = -1 if error_metric else 1
    for drawn, line in zip(display.lines_, result["curve"]["lines"], strict=True):
        assert drawn.get_label() == line["contender"]
        assert_allclose(drawn.get_xdata(), result["curve"]["rows"])
        assert_allclose(drawn.get_ydata(), sign * np.array(line["mean"]))
    assert display.ax_.get_xscale() == "log"
    direction = "lower is better" if error_metric else "higher is better"
    assert direction in display.ax_.get_ylabel()


def test_where_the_lines_meet_is_said():
    result = make_result()
    result["curve"]["crossing"] = 31.6
    assert "32 rows" in RowsPerTaskDisplay.from_result(result).text_.get_text()
    result["curve"]["crossing"] = None
    assert RowsPerTaskDisplay.from_result(result).text_ is None


@pytest.mark.parametrize("error_metric", [False, True])
def test_leaderboard_is_best_first_and_better_is_right(error_metric):
    result = make_result(error_metric=error_metric, failed=["boosting, alone"])
    display = LeaderboardDisplay.from_result(result)
    ended = [c for c in result["contenders"] if c["macro"] is not None]
    ended.sort(key=lambda contender: contender["macro"], reverse=True)
    assert _names(display.ax_) == [contender["name"] for contender in ended]
    shown = [abs(contender["macro"]) for contender in ended]
    decimals = 2 if error_metric else 3
    assert [text.get_text() for text in display.text_] == [
        f"{value:.{decimals}f}" for value in shown
    ]
    assert display.ax_.xaxis_inverted() == error_metric


@pytest.mark.parametrize("display", DISPLAYS)
def test_what_is_no_result_is_refused(display):
    with pytest.raises(TypeError, match="got list"):
        display.from_result([])
