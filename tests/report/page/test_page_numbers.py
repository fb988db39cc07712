"""Scales, ticks, places and written numbers of the page."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.report._result import Numbers, cluster_order, plain, signed
from kinlearn.report.page._charts import HeatMap
from kinlearn.report.page._html import Html, join, seconds, tag
from kinlearn.report.page._svg import Scale, gain_limits, padded

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
NUMBERS = st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9)


@given(NUMBERS, NUMBERS, st.integers(2, 9))
def test_ticks_are_round_inside_and_not_too_many(a, b, at_most):
    low, high = padded([a, b])
    ticks, decimals = Scale(low, high).ticks(at_most)
    assert 1 <= len(ticks) <= at_most
    span = high - low
    assert min(ticks) >= low - 1e-6 * span
    assert max(ticks) <= high + 1e-6 * span
    steps = np.diff(ticks)
    if len(steps):
        assert_allclose(steps, steps[0], rtol=1e-6)
        written = [f"{tick:.{decimals}f}" for tick in ticks]
        assert len(set(written)) == len(ticks)
        assert_allclose([float(text) for text in written], ticks, atol=1e-3 * steps[0])


def test_scale_maps_ends_and_puts_outsiders_there():
    scale = Scale(2.0, 4.0, 10.0, 30.0)
    assert_allclose([scale(v) for v in (2, 3, 4, 1, 9)], [10, 20, 30, 10, 30])
    log = Scale(1.0, 100.0, 0.0, 50.0, log=True)
    assert_allclose([log(v) for v in (1, 10, 100)], [0, 25, 50])


def test_one_wild_interval_does_not_flatten_the_others():
    gains = [{"gain": 0.1, "low": 0.05, "high": 0.15}] * 30
    gains.append({"gain": 0.2, "low": -50.0, "high": 50.0})
    low, high = gain_limits(gains)
    assert -0.1 < low < 0
    assert 0.2 < high < 0.4  # every gain is inside


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0421, "+0.042"), (-0.0421, f"{MINUS}0.042"), (0.0, "0.000"), (None, DASH),
     (-0.0001, "0.000"), (0.0001, "0.000"), (-1234.5, f"{MINUS}1,234.500")],
)  # fmt: skip
def test_signed_numbers(value, expected):
    assert signed(value, 3) == expected
    assert plain(value, 3) == expected.removeprefix("+")


@pytest.mark.parametrize(
    ("macro", "greater_is_better", "expected"),
    [(0.7812, True, "0.781"), (1.0, True, "1.000"), (-12.3456, False, "12.35"),
     (-1234.5, False, "1,234"), (-0.0123456, False, "0.0123"), (0.0, True, "0.000")],
)  # fmt: skip
def test_scores_have_the_digits_that_matter(macro, greater_is_better, expected):
    data = {
        "metric": {"label": "m", "greater_is_better": greater_is_better},
        "contenders": [{"macro": macro}, {"macro": None}],
    }
    assert Numbers.of(data).score(macro) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, DASH), (0.0123, "12 ms"), (1.26, "1.3 s"), (99.0, "99.0 s"),
     (150.0, "2 min"), (7300.0, "2 h 2 min")],
)  # fmt: skip
def test_times_in_words(value, expected):
    assert seconds(value) == expected


def test_html_escapes_all_that_is_not_html():
    made = tag("p", "<&>", Html("<b>"), [1, None, "'"], title="\"'<", hidden=True)
    assert made == '<p title="&quot;&#x27;&lt;" hidden>&lt;&amp;&gt;<b>1\'</p>'
    assert tag("br", class_=None) == "<br>"
    assert (
        join("a", tag("i", class_="x", data_y=1.0)) == 'a<i class="x" data-y="1"></i>'
    )


def test_clustering_brings_kin_together():
    # two groups of three, dealt in turn
    group = np.arange(6) % 2
    affinity = np.where(group[:, None] == group, 0.9, 0.1)
    affinity[0, 3] = np.nan
    for values, greater in ((affinity, True), (1 - affinity, False)):
        order = cluster_order(values, affinity=greater)
        assert sorted(order) == list(range(6))
        assert np.abs(np.diff(group[order])).sum() == 1


def test_heat_map_keeps_the_largest_tasks_and_their_numbers():
    n = 90
    rng = np.random.default_rng(0)
    matrix = rng.uniform(size=(n, n))
    tasks = [f"t{k}" for k in range(n)]
    n_rows = {
        task: int(rows) for task, rows in zip(tasks, rng.permutation(n), strict=True)
    }
    heat = HeatMap({"tasks": tasks, "matrix": matrix.tolist()}, n_rows, affinity=True)
    assert heat.n_left_out == 30
    assert set(heat.tasks) == {task for task in tasks if n_rows[task] >= 30}
    places = [tasks.index(task) for task in heat.tasks]
    assert_array_equal(heat.values, matrix[np.ix_(places, places)])
    for task, near in zip(heat.tasks, heat.nearest(1), strict=True):
        (other, value), place = near[0], tasks.index(task)
        others = [p for p in places if p != place]
        assert value == matrix[place, others].max()
        assert matrix[place, tasks.index(other)] == value
