"""Leaderboard, scores by task, gains and verdicts by task."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.audit.statistics._scores import (
    Contender,
    pooling_gains,
    summarise,
    task_gains,
    task_scores,
)
from tests.reference.audit_cubes import make_cube


def noise(*shape, seed=0, scale=0.01):
    return np.random.default_rng(seed).normal(0, scale, shape)


def test_leaderboard_has_the_means_of_each_contender():
    values = noise(3, 2, 5, 4) + np.array([0.6, 0.7, 0.8])[:, None, None, None]
    micro = noise(3, 2, 5, seed=1) + 0.5
    rows = summarise(make_cube(values, micro=micro))
    assert [row.name for row in rows] == ["m0", "m1", "m2"]
    assert [row.form for row in rows] == ["alone", "pooled", "pooled"]
    assert_allclose([row.macro for row in rows], values.mean(axis=(1, 2, 3)))
    assert_allclose([row.micro for row in rows], micro.mean(axis=(1, 2)))
    assert_allclose([row.mean_rank for row in rows], [3, 2, 1])
    by_fold = values.mean(axis=-1)
    se = by_fold.reshape(3, -1).std(axis=1, ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert_allclose([row.macro_se for row in rows], se)
    assert [row.n_tasks for row in rows] == [4, 4, 4]


def test_ranks_share_ties_and_leave_out_who_lacks_a_task():
    # by task: 0 and 1 tie and 3 is last; 1 wins
    values = np.zeros((4, 1, 2, 2))
    values[:, 0, :, 0] = np.array([[0.3, 0.1 + 0.2, 0.9, 0.1]]).T
    values[:, 0, :, 1] = np.array([[0.2, 0.3, 0.9, 0.1]]).T
    values[2, 0, :, 1] = np.nan
    rows = summarise(make_cube(values))
    assert_allclose([row.mean_rank for row in rows], [1.75, 1.25, np.nan, 3])
    assert rows[2].n_tasks == 1


def test_a_contender_that_failed_everywhere_has_no_figures():
    values = noise(2, 1, 5, 3)
    values[1] = np.nan
    failed = summarise(make_cube(values))[1]
    figures = (failed.macro, failed.macro_se, failed.micro, failed.mean_rank)
    assert_allclose(figures, np.nan)
    assert failed.n_tasks == 0


def test_scores_by_task_are_means_over_folds():
    values = noise(2, 2, 5, 3)
    values[1, 0, 0, 2] = np.nan
    rows = task_scores(make_cube(values, tasks=np.array(["a", "b", "c"])))
    assert [(row.contender, row.task) for row in rows[2:4]] == [
        ("m0", "c"),
        ("m1", "a"),
    ]
    assert_allclose([row.mean for row in rows], np.nanmean(values, (1, 2)).ravel())
    assert [row.n_folds for row in rows] == [10] * 5 + [9]


def test_tasks_are_sorted_into_helped_hurt_unclear_and_not_scored():
    values = np.stack([np.full((3, 5, 4), 0.5), 0.5 + noise(3, 5, 4)])
    values[1, ..., 0] += 0.2
    values[1, ..., 1] -= 0.2
    values[1, ..., 3] = np.nan
    cube = make_cube(values, tasks=np.array(["a", "b", "c", "d"]), n_rows=[9, 8, 7, 6])
    gains = task_gains(cube, "m1", "m0")
    words = ["helped", "hurt", "unclear", "not scored"]
    assert [gain.verdict for gain in gains] == words
    assert [gain.task for gain in gains] == ["a", "b", "c", "d"]
    assert [gain.n_rows for gain in gains] == [9, 8, 7, 6]
    expected = (values[1] - values[0]).mean(axis=(0, 1))
    assert_allclose([gain.gain for gain in gains], expected)
    assert gains[0].low > 0 > gains[1].high
    # three tests were done, not four
    assert_allclose(gains[2].p_holm, gains[2].p)
    assert_allclose(min(g.p_holm for g in gains[:2]), 3 * min(g.p for g in gains[:2]))


def test_swapping_the_two_mirrors_the_gains():
    cube = make_cube(noise(2, 3, 5, 6, scale=1))
    there, back = task_gains(cube, "m1", "m0"), task_gains(cube, "m0", "m1")
    assert_allclose([g.gain for g in there], [-g.gain for g in back])
    assert_allclose([g.low for g in there], [-g.high for g in back])
    assert_allclose([g.p for g in there], [g.p for g in back])


def test_holm_keeps_a_verdict_back_that_one_test_would_give():
    one = np.stack([np.zeros((1, 5, 1)), 0.05 + noise(1, 5, 1, scale=0.03)])
    (single,) = task_gains(make_cube(one), "m1", "m0")
    assert single.verdict == "helped"
    many = np.concatenate([one, np.stack([np.zeros((1, 5, 30)), noise(1, 5, 30)])], -1)
    first, *_ = task_gains(make_cube(many), "m1", "m0")
    assert_allclose(first.p, single.p)
    assert first.low > 0
    assert first.verdict == "unclear"


def test_the_same_model_twice_is_unclear_in_spite_of_rounding():
    values = noise(1, 3, 5, 4) + 0.7
    values = np.concatenate([values, values * (1 + 2e-16)])
    gains = task_gains(make_cube(values), "m1", "m0")
    assert {gain.verdict for gain in gains} == {"unclear"}
    assert [gain.gain for gain in gains] == [0] * 4


@pytest.mark.parametrize("n_splits", [1, 2, 5])
def test_a_constant_gain_on_few_rows_is_no_certainty(n_splits):
    values = np.stack([np.zeros((1, n_splits, 1)), np.ones((1, n_splits, 1))])
    (gain,) = task_gains(make_cube(values), "m1", "m0")
    assert gain.gain == 1
    assert gain.verdict == "unclear"
    assert_allclose([gain.low, gain.high, gain.p, gain.p_holm], np.nan)


def test_few_positive_rows_widen_the_interval():
    values = noise(2, 10, 5, 1)
    (many,) = task_gains(make_cube(values, n_units=[10]), "m1", "m0")
    (few,) = task_gains(make_cube(values, n_units=[5]), "m1", "m0")
    assert few.high - few.low > many.high - many.low


@pytest.mark.parametrize(
    ("n_units", "reason"),
    [
        ([10], None),
        ([4], "too few rows to tell: 4 rows outside its most common class, 5 are"),
        ([1], "too few rows to tell: 1 row outside its most common class, 5 are"),
    ],
)
def test_a_task_with_too_few_rows_has_scores_and_no_interval(n_units, reason):
    values = noise(2, 10, 5, 1, scale=0.1)
    (found,) = task_gains(make_cube(values, n_units=n_units), "m1", "m0")
    assert_allclose([found.alone, found.sharing], values.mean(axis=(1, 2, 3)))
    assert_allclose(found.gain, found.sharing - found.alone)
    limits = [found.low, found.high, found.p, found.p_holm]
    if reason is None:
        assert found.reason is None
        assert not np.isnan(limits).any()
    else:
        assert found.reason.startswith(reason)
        assert found.verdict == "unclear"
        assert_allclose(limits, np.nan)


def test_tasks_with_too_few_rows_are_no_tests():
    values = np.stack([np.zeros((1, 5, 1)), 0.05 + noise(1, 5, 1, scale=0.03)])
    values = np.concatenate([values, np.stack([np.zeros((1, 5, 30)), noise(1, 5, 30)])],
                            axis=-1)  # fmt: skip
    first, *others = task_gains(make_cube(values, n_units=[10, *[4] * 30]), "m1", "m0")
    assert first.verdict == "helped"
    assert_allclose(first.p_holm, first.p)
    assert {gain.verdict for gain in others} == {"unclear"}


def test_intervals_stay_within_what_is_possible():
    rng = np.random.default_rng(0)
    values = rng.integers(2, size=(2, 1, 5, 40)).astype(float)  # an AUC of two rows
    gains = task_gains(make_cube(values, width=1.0), "m1", "m0")
    for gain in gains:
        assert_allclose(gain.gain, gain.sharing - gain.alone, atol=1e-12)
        if gain.reason is None:
            assert -1 <= gain.low <= gain.gain <= gain.high <= 1
            assert gain.high - gain.low < 2
        else:
            assert_allclose([gain.low, gain.high], np.nan)
    reasons = {gain.reason for gain in gains}
    assert reasons <= {
        None,
        "too few rows to tell: any gain is possible",
        "the same gain on all folds",
    }
    assert None in reasons


def test_scores_are_of_the_folds_in_which_both_have_one():
    values = noise(2, 1, 5, 1, scale=1)
    values[0, 0, 0] = values[1, 0, 1] = np.nan
    (found,) = task_gains(make_cube(values), "m1", "m0")
    assert_allclose([found.alone, found.sharing], values[:, 0, 2:, 0].mean(axis=1))
    assert_allclose(found.gain, found.sharing - found.alone)
    assert found.n_folds == 3


def test_pooling_is_compared_within_families():
    shift = np.array([0.5, 0.3, 0.5, 0.6])[:, None, None, None]
    contenders = [
        Contender("trees alone", "trees", "alone"),
        Contender("trees pooled", "trees", "pooled"),
        Contender("svm pooled", "svm", "pooled"),
        Contender("trees mt", "trees", "multi-task"),
    ]
    cube = make_cube(noise(4, 3, 5, 6) + shift, contenders=contenders)
    (found,) = pooling_gains(cube)
    assert (found.pooled, found.alone) == ("trees pooled", "trees alone")
    assert (found.n_helped, len(found.hurt), found.n_tasks) == (0, 6, 6)
    assert_allclose(found.gain, (cube.values[1] - cube.values[0]).mean())
    assert found.low < found.gain < found.high < 0


def test_a_cube_without_contenders_has_empty_tables():
    cube = make_cube(np.zeros((0, 2, 5, 3)), forms=[])
    assert summarise(cube) == task_scores(cube) == pooling_gains(cube) == []
