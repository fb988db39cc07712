"""The weights of the Kin estimators against slow twins."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.sharing.kin._combine import (
    Evidence,
    calibration,
    combine,
    loss_of,
    losses_of,
    sharpen,
    temperature,
)
from kinlearn.sharing.kin._weights import (
    SCALES,
    LogLoss,
    SquaredLoss,
    crowd_weights,
    evidence_of_rows,
    minimise_on_simplex,
    task_weights,
)
from tests.reference import stacking


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_simplex_minimum_is_the_best_of_all_supports(n):
    rng = np.random.default_rng(0)
    B = np.empty((40, n, n))
    for problem in range(40):
        root = rng.normal(size=(n, n))
        B[problem] = root @ root.T + 0.01 * np.eye(n)
    c = 3 * rng.normal(size=(40, n))
    start = rng.dirichlet(np.full(n, 0.3), size=40)
    found = minimise_on_simplex(B, c, start)
    twin = np.array(
        [stacking.best_on_simplex(*each) for each in zip(B, c, strict=True)]
    )
    assert_allclose(found, twin, atol=1e-8)
    corner = np.eye(n)[[0] * 40]
    assert_allclose(minimise_on_simplex(B, c, corner), twin, atol=1e-8)


def _answers(n, k, classes):
    """Candidates of different quality, in tasks of very different size."""
    rng = np.random.default_rng(0)
    task = rng.choice(4, size=n, p=[0.6, 0.3, 0.07, 0.03])
    weight = rng.integers(1, 3, size=n).astype(float)
    if classes:
        P = rng.uniform(0.05, 0.95, size=(n, k))
        P[task == 0, 0] = P[task == 0, 0] ** 0.2  # good for one task
        P[task == 1, 1] = P[task == 1, 1] ** 0.3
        return P, None, weight, task
    y = rng.normal(size=n)
    P = y[:, None] + rng.normal(size=(n, k)) * np.linspace(0.5, 2, k)
    P[task == 1] = P[task == 1][:, ::-1]
    return P, y, weight, task


@pytest.mark.parametrize("classes", [True, False])
def test_weights_are_those_of_the_slow_twin(classes):
    P, y, weight, task = _answers(150, 3, classes)
    variance = np.array([0.5, 1.0, 0.3, 2.0])
    one = np.zeros(len(task), dtype=int)
    if classes:
        all_rows = LogLoss(P, weight, one, 1)
        by_task = LogLoss(P, weight, task, 4)
    else:
        all_rows = SquaredLoss(y[:, None] - P, weight, one, variance[:1])
        by_task = SquaredLoss(y[:, None] - P, weight, task, variance)

    def twin(rows, v):
        target = None if classes else y[rows]
        v = None if classes else v
        return stacking.row_loss(P[rows], target, weight[rows], v)

    expected = stacking.crowd(twin(slice(None), variance[0]), 3)
    centre = crowd_weights(all_rows)
    assert_allclose(centre, expected, atol=2e-5)
    losses = [twin(task == t, variance[t]) for t in range(4)]
    weights, shares = stacking.shrunken(losses, centre)
    learned = task_weights(by_task, centre, 4)
    assert_allclose(learned.by_task, weights, atol=2e-5)
    assert_allclose(learned.scale_fractions, shares, atol=2e-5)


@pytest.mark.parametrize("classes", [True, False])
def test_losses_derivatives_are_differences(classes):
    rng = np.random.default_rng(0)
    P, y, weight, task = _answers(60, 3, classes)
    loss = (
        LogLoss(P, weight, task, 5)  # the last task has no rows
        if classes
        else SquaredLoss(y[:, None] - P, weight, task, np.ones(5))
    )
    w = rng.dirichlet(np.ones(3), size=5)
    gradient, curvature = loss.expand(w)
    for j in range(3):
        step = 1e-6 * np.eye(3)[j]
        slope = (loss.value(w + step) - loss.value(w - step)) / 2e-6
        assert_allclose(gradient[:, j], slope, rtol=1e-5, atol=1e-5)
        up, down = loss.expand(w + step)[0], loss.expand(w - step)[0]
        assert_allclose(curvature[:, j], (up - down) / 2e-6, rtol=1e-4, atol=1e-4)
    assert loss.value(w)[4] == 0


def test_small_tasks_follow_the_crowd_and_large_ones_their_own_data():
    """The same evidence per row, in tasks of different size."""
    rng = np.random.default_rng(0)
    n = 2_000
    task = np.r_[np.zeros(n, int), np.ones(n, int), np.full(4, 2)]
    truth = rng.normal(size=len(task))
    good = truth + 0.5 * rng.normal(size=len(task))
    bad = truth + rng.normal(size=len(task))
    first = task == 0
    P = np.column_stack([np.where(first, good, bad), np.where(first, bad, good)])
    crowd = np.array([0.7, 0.3])
    errors = truth[:, None] - P
    loss = SquaredLoss(errors, np.ones(len(task)), task, np.full(3, 0.5))
    learned = task_weights(loss, crowd, 3).by_task
    best = [
        np.clip(
            ((P[task == t, 0] - P[task == t, 1]) @ (truth - P[:, 1])[task == t])
            / ((P[task == t, 0] - P[task == t, 1]) ** 2).sum(),
            0,
            1,
        )
        for t in range(2)
    ]
    assert_allclose(learned[:2, 0], best, atol=0.01)
    # the third has the second's candidates, and stays nearer to the crowd
    assert learned[1, 0] < learned[2, 0]
    assert abs(learned[2, 0] - 0.7) < abs(learned[1, 0] - 0.7) / 2


def test_equal_tasks_keep_to_the_crowd():
    """Where tasks do not differ, the learned scales are small."""
    rng = np.random.default_rng(0)
    n_tasks, rows = 40, 100
    task = np.repeat(np.arange(n_tasks), rows)
    y = rng.normal(size=len(task))
    P = y[:, None] + rng.normal(size=(len(task), 3))
    evidence = Evidence(P.T.copy(), y, np.ones(len(y)), task, n_tasks)
    crowd = evidence.crowd()
    assert_allclose(crowd, 1 / 3, atol=0.03)
    learned = evidence.by_task(crowd)
    assert learned.scale_fractions[:2].sum() > 0.8
    assert np.abs(learned.by_task - crowd).max() < 0.05
    assert_allclose(learned.scale_fractions.sum(), 1)


def test_a_huge_task_does_not_speak_for_the_small_ones():
    rng = np.random.default_rng(0)
    task = np.r_[np.zeros(5_000, int), np.repeat(np.arange(1, 11), 30)]
    y = rng.normal(size=len(task))
    good, bad = y + 0.5 * rng.normal(size=len(y)), 2 * rng.normal(size=len(y))
    huge = task == 0
    P = np.stack([np.where(huge, good, bad), np.where(huge, bad, good)])
    evidence = Evidence(P, y, np.ones(len(y)), task, 11)
    assert evidence.crowd()[1] > 0.35
    # it does where all rows count alike, as rows of one task do
    assert Evidence(P, y, np.ones(len(y)), 0 * task, 1).crowd()[1] < 0.15


def test_weights_of_rows_are_repeated_rows():
    P, y, weight, task = _answers(200, 3, classes=False)
    times = np.repeat(np.arange(200), weight.astype(int))
    one = Evidence(P.T.copy(), y, weight, task, 4)
    two = Evidence(P[times].T.copy(), y[times], np.ones(len(times)), task[times], 4)
    assert_allclose(one.crowd(), two.crowd(), atol=1e-7)
    crowd = one.crowd()
    assert_allclose(one.by_task(crowd).by_task, two.by_task(crowd).by_task, atol=1e-7)


def test_a_task_without_rows_gets_the_crowd():
    P, y, weight, task = _answers(100, 2, classes=False)
    evidence = Evidence(P.T.copy(), y, weight, task, 6)
    crowd = evidence.crowd()
    assert_allclose(evidence.by_task(crowd).by_task[5], crowd, atol=1e-12)


def test_candidates_that_are_all_alike_share_alike():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    P = np.tile(y + 1, (4, 1))
    evidence = Evidence(P, y, np.ones(50), np.zeros(50, int), 1)
    assert_allclose(evidence.crowd(), 0.25)


def test_perfect_candidates_do_no_harm():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    P = np.stack([y, y + rng.normal(size=50)])
    crowd = Evidence(P, y, np.ones(50), np.zeros(50, int), 1).crowd()
    assert np.isfinite(crowd).all()
    assert crowd[0] > 0.9


@pytest.mark.parametrize(
    ("factor", "offset"), [(1, 1e9), (2.0**-600, 0), (2.0**480, 0)]
)
def test_neither_the_size_nor_the_level_of_y_matters(factor, offset):
    P, y, weight, task = _answers(200, 3, classes=False)
    plain = Evidence(P.T.copy(), y, weight, task, 4)
    other = Evidence(factor * P.T + offset, factor * y + offset, weight, task, 4)
    crowd = plain.crowd()
    assert_allclose(other.crowd(), crowd, atol=1e-5)
    assert_allclose(
        other.by_task(crowd).by_task, plain.by_task(crowd).by_task, atol=1e-5
    )


@pytest.mark.parametrize("error", [0.0, 1e-16, 1e-300])
def test_errors_of_rounding_rule_nobody_out(error):
    y = np.full(30, 3.0)
    P = np.stack([y, y + error, y * (1 + np.finfo(float).eps)])
    evidence = Evidence(P, y, np.ones(30), np.repeat([0, 1, 2], 10), 3)
    crowd = evidence.crowd()
    assert_allclose(crowd[0], crowd[1])
    assert crowd[2] > 0.1  # not ruled out
    assert_allclose(evidence.by_task(crowd).by_task, crowd[None].repeat(3, 0), atol=0.1)


@pytest.mark.parametrize("classes", [False, True])
def test_harm_of_the_last_candidate_is_that_of_mixing_it_in(classes):
    rng = np.random.default_rng(0)
    n = 60
    task, weight = np.arange(n) % 3, rng.integers(1, 3, n)
    if classes:
        first = rng.uniform(0.2, 0.8, size=(3, n))
        predictions = np.stack([first, 1 - first], axis=2)
        y = rng.integers(0, 2, n)
    else:
        predictions, y = rng.normal(size=(3, n)), rng.normal(size=n)
    found = Evidence(predictions, y, weight.astype(float), task, 3)
    before = replace(found, predictions=predictions[:-1])
    now = before.mixed(before.by_task(before.crowd()).by_task[task])
    then = 0.8 * now + 0.2 * predictions[-1]
    harm = np.repeat(losses_of(then, y) - losses_of(now, y), weight)
    expected = harm.mean() / (harm.std() / np.sqrt(len(harm)))
    assert_allclose(found.harm_of_last(0.2), expected)


def test_the_same_predictions_once_more_do_no_good():
    predictions = np.ones((2, 5))
    found = Evidence(predictions, np.arange(5.0), np.ones(5), np.zeros(5, int), 1)
    assert found.harm_of_last(0.1) == np.inf


def test_combination_is_the_weighted_sum():
    rng = np.random.default_rng(0)
    answers = rng.uniform(size=(3, 5, 2))
    weights = rng.dirichlet(np.ones(3), size=5)
    slow = [sum(weights[i, k] * answers[k, i] for k in range(3)) for i in range(5)]
    assert_allclose(combine(answers, weights), slow)
    assert_allclose(combine(answers[..., 0], weights), np.array(slow)[:, 0])


def test_temperature_is_the_best_of_a_grid():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(3_000, 3))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(3, p=p) for p in truth])
    weight = np.ones(len(y))
    for power in (0.5, 2.0):
        proba = sharpen(truth, power)  # too unsure, too sure
        found = temperature(proba, y, weight)
        assert_allclose(found, 1 / power, rtol=0.1)
        grid = np.exp(np.linspace(-1.3, 1.3, 200))
        losses = [
            3_000 * loss_of(sharpen(proba, g), y, weight) + (np.log(g) / 0.25) ** 2 / 2
            for g in grid
        ]
        assert_allclose(found, grid[np.argmin(losses)], rtol=0.02)
    # few rows change less
    few = temperature(sharpen(truth, 2.0)[:5], y[:5], weight[:5])
    assert abs(np.log(few)) < np.log(2)


def test_calibration_is_the_best_of_all_near_it():
    """Three classes whose probabilities are too sure and lean to the first."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(2_000, 3))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(3, p=p) for p in truth])
    weight = rng.uniform(0.5, 1.5, size=len(y))
    proba = truth**2 * [3.0, 1.0, 1.0]
    proba /= proba.sum(axis=1, keepdims=True)
    found = calibration(proba, y, weight)
    assert_allclose(found.power, 0.5, rtol=0.1)
    assert_allclose(found.shift[0] - found.shift[1:], -np.log(3) / 2, rtol=0.3)

    def loss(power, shift):
        log = power * np.log(proba) + shift
        log -= np.log(np.exp(log).sum(axis=1, keepdims=True))
        prior = ((np.log(power) / 0.5) ** 2 + ((shift / 0.5) ** 2).sum()) / 2
        return prior - weight @ log[np.arange(len(y)), y]

    least = loss(found.power, found.shift)
    for step in 0.01 * rng.normal(size=(50, 4)):
        assert loss(found.power * np.exp(step[0]), found.shift + step[1:]) >= least
    right = found.apply(proba)
    assert_allclose(right.sum(axis=1), 1)
    assert loss_of(right, y, weight) < loss_of(proba, y, weight) - 0.05
    # few rows change less
    few = calibration(proba[:3], y[:3], weight[:3])
    assert abs(np.log(few.power)) < abs(np.log(found.power))


def test_calibration_keeps_zeros_and_small_probabilities_apart():
    proba = np.array([[0.0, 0.3, 0.7], [1e-5, 1e-4, 1 - 1.1e-4], [1.0, 0.0, 0.0]])
    out = calibration(proba, np.array([0, 2, 0]), np.ones(3)).apply(proba)
    assert_allclose(out.sum(axis=1), 1)
    assert_array_equal(out == 0, proba == 0)
    assert out[1, 0] < out[1, 1] < out[1, 2]


def test_sharpening_keeps_zeros_and_order():
    proba = np.array([[0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])
    out = sharpen(proba, 2.0)
    assert_allclose(out, [[0, 0.09 / 0.58, 0.49 / 0.58], [1, 0, 0]])
    assert_array_equal(sharpen(proba, 1.0), proba)


def test_scales_begin_at_the_centre():
    assert SCALES[0] == 0
    assert list(SCALES) == sorted(SCALES)
    assert SCALES == stacking.SCALES


def test_evidence_of_a_task_counts_by_its_rarer_classes():
    rng = np.random.default_rng(0)
    task, y = rng.integers(0, 5, 60), rng.integers(0, 3, 60)
    y[task == 2] = 1  # one class
    task[task == 4] = 3  # no rows
    weight = rng.integers(1, 3, 60).astype(float)
    found = evidence_of_rows(y, weight, task, 5)
    for t in range(5):
        rows = np.repeat(y[task == t], weight[task == t].astype(int)).tolist()
        rare = len(rows) - max([rows.count(c) for c in set(rows)], default=0)
        assert found[t] == rare / (rare + 2)
    assert found[2] == found[4] == 0 < found[0]


def test_a_task_of_one_class_has_the_weights_of_the_crowd():
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1, 2], 60)
    y = rng.integers(0, 2, 180)
    y[task == 2] = 0
    truth = rng.uniform(0.05, 0.95, size=(3, 180))
    truth[0, task == 0], truth[1, task == 2] = 0.9, 0.9
    proba = np.empty((3, 180, 2))
    proba[:, range(180), y], proba[:, range(180), 1 - y] = truth, 1 - truth
    evidence = Evidence(proba, y, np.ones(180), task, 3)
    crowd = evidence.crowd()
    weights = evidence.by_task(crowd).by_task
    assert_allclose(weights[2], crowd, atol=1e-12)
    assert weights[0, 0] > crowd[0] + 0.1
