"""Intervals and verdicts keep their promises on problems with known answers.

A short version of ``benchmarks/quality/audit_statistics.py``; its long one
gives the tables of the guide. Every promise is tested together with a wrong
way of computing it, which must break it: that shows the test can fail.
"""

from dataclasses import replace

import pytest
from scipy.stats import binom

from benchmarks.quality.audit_statistics import (
    RARE,
    TWINS,
    Problem,
    coverage,
    false_verdicts,
    naive_interval,
    optimism,
    play,
    published_interval,
    twins,
)

N_RUNS = 150
UNEQUAL = Problem("unequal tasks", (12, 20, 30, 50, 80, 120), 0.3)


def fewest(n, share):
    """Successes that `n` trials reach but for one time in a thousand."""
    return binom.ppf(1e-3, n, share) / n


@pytest.fixture(scope="module")
def unequal():
    return list(play(UNEQUAL, N_RUNS))


def test_intervals_hold_the_expected_gain(unequal):
    by_task, overall, width = coverage(unequal)
    assert by_task.mean >= fewest(N_RUNS * len(UNEQUAL.sizes), 0.95)
    assert overall.mean >= fewest(N_RUNS, 0.95)
    assert width < 2.5  # coverage is not bought by saying nothing


def test_intervals_for_independent_folds_would_not_hold_it(unequal):
    by_task, _, _ = coverage(unequal, naive_interval)
    assert by_task.mean < fewest(N_RUNS * len(UNEQUAL.sizes), 0.95)


def test_repeats_do_not_narrow_the_intervals_of_unstable_models():
    # The gains of a task's twins are lucky or unlucky in all repeats alike.
    cubes = list(twins(60, 1, 1, replace(RARE, n_repeats=4)))
    n = 60 * len(RARE.sizes)
    assert coverage(cubes)[0].mean >= fewest(n, 0.93)
    assert coverage(cubes, published_interval)[0].mean < fewest(n, 0.93)


def test_no_word_is_said_where_nothing_differs():
    cubes = list(twins(N_RUNS, 1, 1))
    any_task, overall = false_verdicts(cubes, nested=True)
    most = binom.isf(1e-3, N_RUNS, 0.05) / N_RUNS
    assert any_task.mean <= most
    assert overall.mean <= most


def test_words_are_said_where_something_differs():
    # 200 rows a task, and tasks that have little in common: pooling hurts.
    apart = Problem("apart", (200,) * 6, 1.0)
    any_task, overall = false_verdicts(play(apart, 10), nested=True)
    assert any_task.mean == overall.mean == 1


def test_the_nested_headline_is_free_of_the_naive_winners_optimism():
    cubes = list(twins(N_RUNS, 8, 2, replace(TWINS, n_repeats=1)))
    naive, nested, _ = optimism(cubes)
    assert naive.mean > 4 * naive.se
    assert abs(nested.mean) < 4 * nested.se
