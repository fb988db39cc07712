"""No task pays for the others: Kin against the better of alone and pooled.

A small part of ``python -m benchmarks.quality.kin_suite``, which plays more seeds, and
forests too.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp

from benchmarks.quality.kin_suite import KINDS, hurt_tasks, make_tasks, play

SEEDS = range(5)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("target", ["classification", "regression"])
def test_no_task_is_significantly_worse_than_alone_or_pooled(name, target):
    losses = play(name, target, ["linear"], SEEDS, n_folds=3)
    excess, hurt = hurt_tasks(losses)
    assert hurt == [], excess
    # nor by much in the mean, which few seeds could not show
    assert excess.mean() < 0.05


def test_sharing_pays_where_tasks_are_alike():
    """The same sums, for what the guarantee must not cost."""
    losses = play("related", "regression", ["linear"], SEEDS, n_folds=3)
    assert losses["kin"].mean() < losses["linear, alone"].mean()
    losses = play("opposed", "regression", ["linear"], SEEDS, n_folds=3)
    assert losses["kin"].mean() < 0.7 * losses["linear, pooled"].mean()


def test_hurt_tasks_are_those_of_the_t_test():
    rng = np.random.default_rng(0)
    alone = 1 + 0.1 * rng.normal(size=(8, 3))
    pooled = alone + np.array([0.5, -0.5, 0.5])  # the better one for the second task
    kin = np.minimum(alone, pooled) + 0.01 * rng.normal(size=(8, 3))
    kin[:, 2] += 0.2
    losses = {"kin": kin, "a": alone, "b": pooled}
    excess, hurt = hurt_tasks(losses)
    assert hurt == [2]
    better = alone.mean(axis=0) - [0, 0.5, 0]
    assert_allclose(excess, kin.mean(axis=0) / better - 1)
    p = ttest_1samp((kin - alone)[:, 2], 0, alternative="greater").pvalue
    assert p < 0.05 / 3
    assert hurt_tasks(losses, level=p * 2.9)[1] == []


def test_made_tasks_are_seeded_and_as_large_as_said():
    one, two = (make_tasks("tiny", "regression", 3) for _ in range(2))
    assert_allclose(one.X, two.X)
    assert np.bincount(one.X[:, -1].astype(int)).tolist() == list(KINDS["tiny"][0])
    other = make_tasks("tiny", "regression", 4)
    assert not np.allclose(one.X, other.X)
    assert set(make_tasks("tiny", "classification", 0, curved=True).y) == {0, 1}
