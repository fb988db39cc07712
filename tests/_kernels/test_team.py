"""Threads that do pieces of work together inside of a kernel."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._kernels._team import Team
from kinlearn._kernels.boosting.gradient._leaf_rows import LeafRows

N = 100_000


def begin(team, pairs, rows):
    bins = np.zeros((N, 1), dtype=np.uint8)
    n_bins, task = np.ones(1, dtype=np.int32), np.zeros(N, dtype=np.int32)
    leaf_rows = LeafRows(bins, n_bins, task, 1, 2, team)
    sums = np.empty(2, dtype=np.int64)
    leaf_rows.begin(pairs, rows, sums)
    return sums


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    pairs = rng.integers(-(2**40), 2**40, size=(N, 2))
    return pairs, np.arange(N, dtype=np.int32)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_jobs_are_done_in_full_by_any_number_of_threads(n_threads, problem):
    pairs, rows = problem
    team = Team(n_threads)
    assert team.n_threads == n_threads
    with ThreadPoolExecutor(max(n_threads - 1, 1)) as pool:
        for _ in range(3):  # a team can be opened again
            team.open()
            helpers = [pool.submit(team.serve, i) for i in range(n_threads - 1)]
            for _ in range(20):
                assert_array_equal(begin(team, pairs, rows), pairs.sum(axis=0))
            team.close()
            for helper in helpers:
                helper.result(timeout=60)


def test_helpers_that_never_come_hold_nobody_up(problem):
    pairs, rows = problem
    team = Team(4)
    assert_array_equal(begin(team, pairs, rows), pairs.sum(axis=0))  # not open
    team.open()
    assert_array_equal(begin(team, pairs, rows), pairs.sum(axis=0))
    team.close()


def test_a_helper_sleeps_between_jobs_and_leaves_when_the_team_closes(problem):
    pairs, rows = problem
    team = Team(2)
    team.open()
    helper = threading.Thread(target=team.serve, args=(0,))
    helper.start()
    helper.join(0.05)  # long after it fell asleep
    assert helper.is_alive()
    assert_array_equal(begin(team, pairs, rows), pairs.sum(axis=0))
    helper.join(0.05)
    team.close()
    helper.join(60)
    assert not helper.is_alive()


def test_a_helper_too_many_is_refused():
    with pytest.raises(ValueError, match="Helper 1 of 1"):
        Team(2).serve(1)
