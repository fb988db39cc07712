"""The choice of the weight between tasks by stability."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from kinlearn.cluster._stability import CANDIDATES, agreement, choose_lambda


def test_agreement_is_the_mean_rand_index_of_tasks():
    rng = np.random.default_rng(0)
    one, two = rng.integers(2, size=(2, 40))
    task = np.arange(40) % 2
    parts = [adjusted_rand_score(one[task == t], two[task == t]) for t in range(2)]
    assert_allclose(agreement(one, two, task, 2), np.mean(parts))
    assert agreement(one, 1 - one, task, 2) == 1


def test_a_task_in_one_piece_does_not_agree():
    task = np.repeat([0, 1], 4)
    assert agreement(task, task, task, 2) == 0
    halves = np.tile([0, 1], 4)
    assert agreement(halves, np.where(task == 0, halves, 0), task, 2) == 0.5


def _choose(noise):
    """A clusterer whose labels are wrong with a probability that lambda decides."""
    truth, task = np.tile([0, 1], 60), np.repeat([0, 1], 60)
    draws = np.random.default_rng(1)
    drawn = []

    def cluster(rows, value):
        drawn.append(rows)
        wrong = draws.random(len(rows)) < noise[value]
        return np.where(wrong, 1 - truth[rows], truth[rows])

    answer = choose_lambda(cluster, task, 2, np.arange(120), np.random.default_rng(0))
    for rows in drawn:
        assert_allclose(np.bincount(task[rows]), [42, 42])  # 70% of each task
        assert len(set(rows)) == len(rows)
    return answer


def test_the_stable_candidate_is_chosen():
    noise = dict(zip(CANDIDATES, (0.4, 0.4, 0.4, 0.0, 0.4), strict=True))
    best, scores = _choose(noise)
    assert best == 0.5
    assert scores[0.5] == 1


def test_of_equals_the_one_that_shares_least_is_chosen():
    best, scores = _choose(dict.fromkeys(CANDIDATES, 0.0))
    assert best == min(CANDIDATES)
    assert set(scores.values()) == {1.0}
