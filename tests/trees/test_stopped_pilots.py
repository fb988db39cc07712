"""Pilots that are told to stop choose among what they have compared."""

import numpy as np
import pytest

from kinlearn import with_task
from kinlearn.trees import MultiTaskExtraTreesRegressor
from kinlearn.trees._pilot import Pilot
from kinlearn.utils import stop_searches_if, told_to_stop


def fit(n_comparisons, monkeypatch, **options):
    """Stop after some comparisons; large leaves are the best."""
    done = []

    def loss(self, candidate):
        done.append(candidate)
        return -candidate.settings.min_weight_leaf - 100.0 * candidate.offset

    monkeypatch.setattr(Pilot, "_loss", loss)
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(300, 2)), np.arange(300) % 3)
    y = rng.normal(size=300) + X[:, -1]
    forest = MultiTaskExtraTreesRegressor(2, task=-1, random_state=0, **options)
    with stop_searches_if(lambda: len(done) >= n_comparisons):
        forest.fit(X, y)
    assert not told_to_stop()
    return forest, done


def test_without_a_comparison_the_first_setting_is_taken(monkeypatch):
    forest, done = fit(0, monkeypatch)
    assert done == []
    assert forest.min_samples_leaf_ == 3
    assert not forest.task_offsets_.any()
    assert np.isfinite(forest.predict(np.c_[np.zeros((2, 2)), [0, 1]])).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_best_so_far_is_taken(monkeypatch, n):
    forest, done = fit(n, monkeypatch)
    assert len(done) == n
    best = max(each.settings.min_weight_leaf for each in done)
    assert forest.min_samples_leaf_ == best


def test_nothing_is_cut_without_a_word(monkeypatch):
    forest, done = fit(10_000, monkeypatch)
    assert forest.min_samples_leaf_ == max(d.settings.min_weight_leaf for d in done)
    assert forest.task_offsets_.any()


def test_offsets_that_were_asked_for_are_learned_all_the_same(monkeypatch):
    forest, done = fit(0, monkeypatch, task_offset=True)
    assert done == []
    assert forest.task_offsets_.any()
