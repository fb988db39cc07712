"""The headline is chosen on other folds than those that score it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.audit.statistics._scores import task_gains
from kinlearn.audit.statistics._selection import nested_selection
from tests.reference.audit_cubes import make_cube


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def slow_twin(values, shares):
    """Chosen scores by explicit loops; complete cubes only."""
    n, n_repeats, n_splits, n_tasks = values.shape
    sharing, alone = np.empty((2, n_repeats, n_splits, n_tasks))
    for repeat in range(n_repeats):
        for split in range(n_splits):
            others = [s for s in range(n_splits) if s != split]
            for out, kind in ((sharing, True), (alone, False)):
                able = [c for c in range(n) if shares[c] is kind]
                means = [values[c, repeat, others].mean() for c in able]
                best = able[int(np.argmax(means))]
                out[repeat, split] = values[best, repeat, split]
    return sharing, alone


def test_headline_equals_a_twin_written_as_loops():
    forms = ["pooled", "alone", "multi-task", "alone", "task as feature"]
    values = noise(5, 3, 4, 6)
    headline = nested_selection(make_cube(values, forms))
    sharing, alone = slow_twin(values, [form != "alone" for form in forms])
    assert_allclose(headline.macro_sharing, sharing.mean())
    assert_allclose(headline.macro_alone, alone.mean())
    assert_allclose(headline.gain, (sharing - alone).mean())
    by_task = (sharing - alone).mean(axis=(0, 1))
    assert_allclose([gain.gain for gain in headline.gains], by_task)
    macro = values.mean(axis=(1, 2, 3))
    assert headline.sharing == f"m{[0, 2, 4][np.argmax(macro[[0, 2, 4]])]}"
    assert headline.alone == f"m{[1, 3][np.argmax(macro[[1, 3]])]}"
    assert_allclose(headline.naive_gain, macro[[0, 2, 4]].max() - macro[[1, 3]].max())
    assert sum(headline.how_often.values()) == 2 * 12
    assert headline.n_folds == 12
    assert headline.low < headline.gain < headline.high


def test_a_model_is_not_chosen_for_its_score_on_the_fold_at_hand():
    # Each sharing model shines on one fold only, which its rivals then choose.
    values = np.zeros((5, 1, 4, 1))
    for i in range(4):
        values[1 + i, 0, i] = 1
    headline = nested_selection(make_cube(values))
    assert headline.gain == 0
    assert headline.naive_gain == 0.25


def test_one_of_each_needs_no_choice():
    values = noise(2, 2, 5, 3)
    cube = make_cube(values)
    headline = nested_selection(cube)
    assert headline.gains == task_gains(cube, "m1", "m0")
    assert_allclose(headline.gain, headline.naive_gain)
    assert headline.how_often == {"m1": 10, "m0": 10}


def test_what_failed_somewhere_is_not_chosen():
    values = noise(3, 2, 4, 3)
    values[2] += 100
    values[2, 0, 0] = np.nan
    headline = nested_selection(make_cube(values))
    assert headline.sharing == "m1"
    assert "m2" not in headline.how_often


def test_if_all_have_gaps_those_with_the_fewest_compete():
    values = noise(3, 2, 4, 3)
    values[1, 0, 0] = np.nan
    values[2, 1, :2] = np.nan
    headline = nested_selection(make_cube(values))
    assert headline.sharing == "m1"
    expected = (values[1] - values[0]).reshape(8, 3)[1:].mean()
    assert_allclose(headline.gain, expected)
    assert_allclose(headline.macro_sharing - headline.macro_alone, headline.gain)


def test_tasks_without_scores_do_not_enter_the_means():
    values = noise(4, 2, 5, 3)
    values[..., 1] = np.nan
    headline = nested_selection(make_cube(values))
    fewer = nested_selection(make_cube(np.delete(values, 1, axis=-1)))
    assert_allclose(headline.gain, fewer.gain)
    assert [g.verdict for g in headline.gains][1] == "not scored"


@pytest.mark.parametrize(
    ("forms", "reason"),
    [
        (["alone", "alone"], "no model that shares has a score to compare with"),
        (["pooled", "multi-task"], "no model that does not share has a score"),
    ],
)
def test_one_kind_alone_gives_a_reason_instead_of_figures(forms, reason):
    headline = nested_selection(make_cube(noise(2, 2, 5, 3), forms))
    assert reason in headline.reason
    assert_allclose([headline.gain, headline.low, headline.naive_gain], np.nan)
    assert [gain.verdict for gain in headline.gains] == ["not scored"] * 3
    assert {headline.sharing is None, headline.alone is None} == {True, False}


def test_nothing_scored_gives_a_reason():
    headline = nested_selection(make_cube(np.full((2, 2, 5, 3), np.nan)))
    assert headline.reason == "no model has a score"
    headline = nested_selection(make_cube(np.zeros((0, 2, 5, 3)), forms=[]))
    assert headline.reason == "no model has a score"


def test_kinds_that_never_meet_give_a_reason():
    values = noise(2, 1, 4, 2)
    values[0, ..., 0] = np.nan
    values[1, ..., 1] = np.nan
    headline = nested_selection(make_cube(values))
    assert headline.reason == "no task was scored by models of both kinds"


def test_one_fold_leaves_nothing_to_choose_by():
    headline = nested_selection(make_cube(noise(3, 1, 1, 4)))
    assert "leaves no other fold to choose" in headline.reason
    single = nested_selection(make_cube(noise(2, 1, 1, 4)))
    assert single.reason is None
    assert_allclose(single.low, np.nan)
