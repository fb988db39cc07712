"""The engine: weights by round, against the twin and against the theorems."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.transfer._boost import Transfer, Weights, boost, voting_rounds
from kinlearn.transfer._weight_updates import (
    Update,
    find_correction,
    is_wrong,
    source_factor,
)
from tests.reference import tradaboost as reference

NAMES = ["dynamic", "dynamic_printed", "rare", "rare_printed", "balanced"]
CORRECTIONS = [None, 1.2, *NAMES]


class Script:
    """A learner that predicts what a function of round and weights does."""

    def __init__(self, predict):
        self.predict = predict
        self.weights = []

    def learn(self, weights):
        self.weights.append(weights.normalised())
        return self.predict(len(self.weights) - 1, weights.normalised())

    def finish(self):
        return np.array(self.weights)


def make_transfer(y, is_target, start=None, task=None):
    y, is_target = np.asarray(y, np.int32), np.asarray(is_target, bool)
    return Transfer(
        rows=np.arange(len(y), dtype=np.int32),
        y=y,
        task=is_target.astype(np.int32) if task is None else task,
        is_target=is_target,
        start=np.ones(len(y)) if start is None else start,
        n_tasks=2 if task is None else int(task.max()) + 1,
        n_classes=int(y.max()) + 1,
    )


def play(transfer, predict, correction, n_rounds, voters="second_half"):
    """Weights before each round, and the result."""
    boosted = boost(
        Weights(transfer),
        Script(predict),
        Update(is_wrong, find_correction(correction), ends=False),
        n_rounds=n_rounds,
        voters=voters,
    )
    return boosted.learners, boosted


def wrong_at_random(y, seed, rate=0.3):
    def predict(number, _):
        rng = np.random.default_rng([seed, number])
        flip = rng.random(len(y)) < rate
        return np.where(flip, (y + 1) % (y.max() + 1), y)

    return predict


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_and_votes_are_those_of_the_twin(correction, n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 60)
    is_target = np.arange(60) >= 45
    start = rng.integers(1, 4, 60).astype(float)
    # error rates that pass 1/2 now and then, for the restart
    predict = wrong_at_random(y, 1, rate=0.45)
    weights, boosted = play(
        make_transfer(y, is_target, start), predict, correction, 12, voters="all"
    )
    count = iter(range(12))
    twin, _, votes, errors = reference.boost(
        y, is_target, lambda w: predict(next(count), w), n_rounds=12, kind=correction,
        n_classes=n_classes, start=start,
    )  # fmt: skip
    assert (errors >= 0.5).any()
    assert_allclose(weights, twin, rtol=1e-9)
    assert_allclose(boosted.history.vote, votes, rtol=1e-9)
    assert_allclose(boosted.history.target_error, errors, rtol=1e-9)
    assert_allclose(boosted.votes, votes, rtol=1e-9)


# ------------------------------------------------------------------ the theorems

N_SOURCE, N_TARGET, N_ROUNDS = 10_000, 200, 20


def source_right_target_tenth_wrong():
    """All source rows right; by weight a tenth of the target is wrong."""
    y = np.zeros(N_SOURCE + N_TARGET, dtype=np.int32)
    y[::2] = 1
    is_target = np.arange(len(y)) >= N_SOURCE

    def predict(number, weight):
        # target rows come in groups that have exactly a tenth of the weight in
        # round 0; afterwards the lightest rows up to a tenth are wrong
        out = y.copy()
        rows = np.flatnonzero(is_target)
        share = weight[rows] / weight[rows].sum()
        order = np.argsort(-share, kind="stable")
        wrong, total = [], 0.0
        for r in order:
            if total + share[r] <= 0.1 + 1e-12:
                wrong.append(r)
                total += share[r]
        out[rows[wrong]] = 1 - out[rows[wrong]]
        return out

    return make_transfer(y, is_target), predict


def test_dynamic_correction_holds_the_weight_of_right_source_rows():
    transfer, predict = source_right_target_tenth_wrong()
    weights, boosted = play(transfer, predict, "dynamic", N_ROUNDS)
    assert (boosted.history.target_error > 0.05).all()
    assert_allclose(weights[:, :N_SOURCE], weights[0, 0], rtol=1e-10)
    assert_allclose(boosted.history.task_share[:, 0], N_SOURCE / (N_SOURCE + N_TARGET))


def test_weight_drift_of_tradaboost_is_that_of_the_theorem():
    # A round multiplies the target's weight by 2 (1 - e), the source's by 1.
    transfer, predict = source_right_target_tenth_wrong()
    weights, boosted = play(transfer, predict, None, N_ROUNDS + 1)
    growth = np.cumprod(2 * (1 - boosted.history.target_error))[:-1]
    share = N_SOURCE / (N_SOURCE + N_TARGET * np.append(1.0, growth))
    assert_allclose(boosted.history.task_share[:, 0], share, rtol=1e-10)
    # The spec's example: at an error of 0.1 over 85% is lost in 20 rounds.
    exact = (N_SOURCE + N_TARGET) / (N_SOURCE + N_TARGET * 1.8**N_ROUNDS)
    assert exact < 0.15
    assert weights[-1, 0] / weights[0, 0] < 0.15


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_target_weights_are_those_of_plain_adaboost(correction):
    """Theorem 5: within the target, the source changes nothing."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 80)
    is_target = np.arange(80) >= 50
    predict = wrong_at_random(y, 4, rate=0.2)
    weights, _ = play(make_transfer(y, is_target), predict, correction, 10)
    alone, _ = play(
        make_transfer(y[50:], np.ones(30, bool)),
        lambda t, w: predict(t, w)[50:],
        None,
        10,
    )
    of_target = weights[:, 50:] / weights[:, 50:].sum(axis=1, keepdims=True)
    assert_allclose(of_target, alone, rtol=1e-9)


def test_dynamic_keeps_the_target_weights_of_adaboost_exactly():
    """Theorem 5, in full: normalised over all rows, where all source is right."""
    transfer, predict = source_right_target_tenth_wrong()
    weights, _ = play(transfer, predict, "dynamic", 10)
    rows = slice(N_SOURCE, None)
    alone, _ = play(
        make_transfer(transfer.y[rows], np.ones(N_TARGET, bool)),
        lambda t, w: predict(t, np.r_[np.ones(N_SOURCE), w])[rows],
        None,
        10,
    )
    share = N_TARGET / (N_SOURCE + N_TARGET)
    assert_allclose(weights[:, rows], alone * share, rtol=1e-9)


def test_balanced_correction_holds_each_label_of_the_source():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.1).astype(np.int32)
    is_target = np.arange(400) >= 300

    def predict(number, _):  # the rare label is mostly wrong
        flip = np.random.default_rng(number).random(400) < np.where(y == 1, 0.7, 0.1)
        flip[is_target] = np.random.default_rng([1, number]).random(100) < 0.2
        return np.where(flip, 1 - y, y)

    _, boosted = play(make_transfer(y, is_target), predict, "balanced", 15)
    share = boosted.history.source_share
    assert_allclose(share, np.tile(share[0], (15, 1)), rtol=1e-9)


# --------------------------------------------------------------- what ends, or not


@pytest.mark.parametrize(
    ("n", "correction"),
    [
        pytest.param(1_000_000, "rare", marks=pytest.mark.slow),
        *((2_000, correction) for correction in CORRECTIONS),
    ],
)
def test_no_weight_underflows_in_200_rounds(n, correction):
    y = np.zeros(n + 3, dtype=np.int32)
    y[-1] = 1  # a source of one class, and a target class of one row
    is_target = np.arange(n + 3) >= n

    def predict(number, _):
        out = y.copy()
        out[: n // 2] = 1  # half of the source is always wrong
        out[n + number % 3] ^= 1
        return out

    learner = Script(predict)
    learner.weights = _Last()
    boosted = boost(
        Weights(make_transfer(y, is_target)),
        learner,
        Update(is_wrong, find_correction(correction), ends=False),
        n_rounds=200,
    )
    for values in vars(boosted.history).values():
        assert np.isfinite(values).all()
    assert np.isfinite(learner.weights.last).all()
    assert_allclose(learner.weights.last.sum(), 1)


class _Last(list):
    """Remembers how many and the last one: a million weights are too many."""

    last = None
    n = 0

    def append(self, value):
        self.last = value
        self.n += 1

    def __len__(self):
        return self.n


def test_a_target_error_of_one_half_restarts_the_target_and_fades_the_source():
    y = np.array([0, 1, 0, 1, 0, 1])
    is_target = np.array([False, False, False, False, True, True])
    start = np.array([1.0, 1, 1, 1, 3, 1])

    def predict(number, _):
        out = y.copy()
        if number == 0:
            out[5] = 0  # a quarter of the target
        if number == 1:
            out[[0, 4, 5]] = 1 - out[[0, 4, 5]]  # all of it, and a source row
        return out

    weights, boosted = play(make_transfer(y, is_target, start), predict, None, 3)
    assert_allclose(boosted.history.vote[1], 0)
    assert boosted.history.vote[[0, 2]].all()
    beta = source_factor(4, 3)
    assert_allclose(weights[2, 4] / weights[2, 5], 3)  # as in the beginning
    assert_allclose(weights[2, 0] / weights[2, 1], beta)  # wrong: twice
    before = weights[1, 1] / weights[1, 4:].sum()
    assert_allclose(weights[2, 1] / weights[2, 4:].sum(), beta * before)


def test_a_target_without_a_fault_begins_anew_and_boosting_goes_on():
    y = np.array([0, 1, 0, 1, 0, 1])
    is_target = np.arange(6) >= 3

    def predict(number, _):
        out = y.copy()
        if number == 0:
            out[3] = 0  # a third of the target
        if number == 1:
            out[0] = 1  # no fault in the target, one in the source
        return out

    weights, boosted = play(make_transfer(y, is_target), predict, "dynamic", 3)
    assert_allclose(weights[1, 3] / weights[1, 4], 2)
    assert_allclose(weights[2, 3:], weights[2, 3])
    assert_allclose(weights[2, 0] / weights[2, 1], source_factor(3, 3))
    assert_allclose(weights[2, 1] / weights[2, 3:].sum(), 1 / 3)
    assert_allclose(boosted.history.vote[1:], np.log(5))  # half of three rows


@pytest.mark.parametrize("error", [0.0, 1.0])
def test_without_a_source_boosting_ends_like_adaboost(error):
    y = np.array([0, 1, 0, 1])
    wrong = 1 - y if error else y
    weights, boosted = play(
        make_transfer(y, np.ones(4, bool)), lambda *_: wrong, None, 10
    )
    assert len(weights) == 1
    assert bool(boosted.votes[0]) is (error == 0)


def test_rounds_that_vote():
    assert_array_equal(np.flatnonzero(voting_rounds(30, "second_half"))[0], 14)
    assert voting_rounds(5, "second_half").tolist() == [0, 0, 1, 1, 1]
    assert voting_rounds(1, "second_half").tolist() == [1]
    assert voting_rounds(4, "all").all()


def test_the_first_half_votes_if_the_second_has_no_vote():
    y = np.array([0, 1, 0, 1, 0, 1])
    is_target = np.arange(6) >= 4

    def predict(number, _):
        return np.where(is_target & (number > 0), 1 - y, y)

    _, boosted = play(make_transfer(y, is_target), predict, None, 4)
    assert_array_equal(boosted.votes > 0, [True, False, False, False])
