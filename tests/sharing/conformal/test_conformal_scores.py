"""Quantiles of scores, scales of tasks, and coverage out of fold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.sharing.conformal._scores import (
    ConformalScores,
    errors_of_classes,
    errors_of_numbers,
    task_scales,
)


def task_weights(task, weight, t, level):
    """Weights of all rows in the quantile of task t, written from the docs."""
    rows = np.bincount(task, weight)
    typical = np.median(rows[rows > 0])
    crowd = weight * np.sqrt(typical / np.maximum(rows, typical))[task]
    others = crowd[task != t].sum()
    part = min(1.0, 10 / (1 - level) / others) if others else 1.0
    return np.where(task == t, weight, part * crowd)


def slow_quantile(score, weight, level):
    """The least score up to which there is enough, with one infinite row more."""
    target = level * (weight.sum() + 1)
    for s in np.unique(score):
        if weight[score <= s].sum() >= target - 1e-9:
            return s
    return np.inf


def random_scores(rng, most=40):
    n, n_tasks = rng.integers(1, most), rng.integers(1, 6)
    score = rng.integers(0, 15, n).astype(float)
    weight = rng.integers(1, 4, n).astype(float)
    return score, rng.integers(0, n_tasks, n), weight, n_tasks


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_quantiles_are_those_of_the_weights(level):
    rng = np.random.default_rng(0)
    for _ in range(50):
        score, task, weight, n_tasks = random_scores(rng)
        radius = ConformalScores.of(score, task, weight, n_tasks).radius(level)
        expected = [
            slow_quantile(score, task_weights(task, weight, t, level), level)
            for t in range(n_tasks)
        ]
        assert_array_equal(radius[:-1], expected)
        assert radius[-1] == np.inf  # no task was left out


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_unseen_quantiles_count_tasks_alike(level):
    rng = np.random.default_rng(1)
    for _ in range(50):
        score, task, weight, n_tasks = random_scores(rng)
        scores = ConformalScores.of(score, task, weight, n_tasks)
        found = scores.with_unseen(score, task, weight).radius(level)[-1]
        share = weight / np.bincount(task, weight)[task]
        assert found == slow_quantile(score, share, level)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_rows_out_of_fold_are_judged_by_the_others(level):
    rng = np.random.default_rng(2)
    for _ in range(20):
        score, task, _, n_tasks = random_scores(rng)
        n = len(score)
        ones = np.ones(n)
        made = ConformalScores.of(score, task, ones, n_tasks)
        rows, hits = made.with_unseen(score, task, ones).covered(level)
        expected = np.zeros(n_tasks)
        for i in range(n):
            weight = task_weights(task, ones, task[i], level)
            weight[i] = 0.0
            expected[task[i]] += score[i] <= slow_quantile(score, weight, level)
        assert_array_equal(rows, np.bincount(task, minlength=n_tasks))
        assert_array_equal(hits, expected)


@pytest.mark.parametrize("level", [0.5, 0.8])
def test_tasks_left_out_are_judged_by_the_other_tasks(level):
    rng = np.random.default_rng(3)
    for _ in range(20):
        score, task, weight, n_tasks = random_scores(rng)
        made = ConformalScores.of(score, task, weight, n_tasks)
        _, hits = made.with_unseen(score, task, weight).covered_unseen(level)
        share = weight / np.bincount(task, weight)[task]
        for t in np.unique(task):
            others = task != t
            limit = slow_quantile(score[others], share[others], level)
            own = task == t
            assert_allclose(hits[t], weight[own] @ (score[own] <= limit))


def test_a_weight_of_two_is_two_rows():
    rng = np.random.default_rng(4)
    error, task = rng.random(30), rng.integers(0, 3, 30)
    weight = rng.integers(1, 4, 30)
    once = ConformalScores.of(error, task, weight.astype(float), 3, scaled=True)
    rows = np.repeat(np.arange(30), weight)
    often = ConformalScores.of(error[rows], task[rows], None, 3, scaled=True)
    assert_allclose(once.radius(0.8), often.radius(0.8))
    assert_allclose(once.covered(0.8), often.covered(0.8))
    nothing = ConformalScores.of(
        np.append(error, 99.0), np.append(task, 0), np.append(weight, 0.0), 3
    )
    assert nothing.score.max() < 99


def test_a_small_task_borrows_and_a_large_one_has_its_own():
    rng = np.random.default_rng(5)
    error = np.concatenate([rng.random(5000), 10 * rng.random(3), 10 * rng.random(999)])
    task = np.repeat([0, 1, 2], [5000, 3, 999])
    radius = ConformalScores.of(error, task, None, 3).radius(0.9)
    assert_allclose(radius[0], 0.9, rtol=0.05)
    assert_allclose(radius[2], 9.0, rtol=0.05)
    crowd = np.quantile(error[task != 1], 0.9)
    assert 0.9 < radius[1] < 9.0
    assert abs(radius[1] - crowd) < 6.0


def test_levels_beyond_the_rows_are_endless():
    scores = ConformalScores.of(np.arange(9.0), np.zeros(9, dtype=int), None, 1)
    assert scores.radius(0.9)[0] == 8.0  # 9 / 10
    assert scores.radius(0.91)[0] == np.inf
    assert_allclose(scores.highest_levels(), [0.9, 0.0])
    both = scores.with_unseen(np.arange(9.0), np.arange(9) % 3, None)
    assert both.highest_levels()[-1] == 0.75
    empty = ConformalScores.of(np.zeros(0), np.zeros(0, dtype=int), None, 2)
    assert_array_equal(empty.radius(0.5), np.inf)


def test_scales_are_credible_means():
    rng = np.random.default_rng(6)
    true = np.array([1.0, 1.0, 5.0])
    task = np.repeat([0, 1, 2], [400, 2, 400])
    error = true[task] * rng.random(len(task))
    scale, without = task_scales(error, task, np.ones(len(task)), 3)
    assert_allclose(scale[[0, 2]], [0.5, 2.5], rtol=0.1)
    means = [error[task == t].mean() for t in range(3)]
    assert means[1] < scale[1] < np.mean(means)  # drawn to the others
    changed = error.copy()
    changed[-1] += 0.001
    other = task_scales(changed, task, np.ones(len(task)), 3)[1]
    assert_allclose(other[-1], without[-1], rtol=1e-6)  # its own error is not in it


def test_equal_tasks_have_one_scale_and_nothing_is_divided_by_zero():
    task = np.repeat(np.arange(4), 5)
    error = np.tile(np.arange(5.0), 4)
    scale, without = task_scales(error, task, np.ones(20), 4)
    assert_allclose(scale, 2.0)
    assert_allclose(without, 2.0)
    for zero in (np.zeros(20), np.where(task == 0, 0.0, error)):
        scores = ConformalScores.of(zero, task, None, 4, scaled=True)
        assert np.isfinite(scores.score).all()
        assert np.isfinite(scores.radius(0.5)[:-1]).all()
    huge = ConformalScores.of(1e200 * error, task, None, 4, scaled=True)
    assert_allclose(huge.radius(0.5)[0], 1e200 * 2.0)


def test_errors():
    assert_array_equal(
        errors_of_numbers(np.array([1.0, 2.0]), np.array([3.0, 1.5])), [2.0, 0.5]
    )
    proba = np.array([[0.25, 0.75], [1.0, 0.0]])
    assert_array_equal(errors_of_classes(proba, np.array([1, 1])), [0.25, 1.0])
