"""The covariance in parts against the matrix itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.boosting.mtboost._covariance import TaskCovariance
from tests.reference.mtboost import covariance, penalty, step


def _both(n_tasks, n_rounds, ridge=0.1, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((n_rounds, n_tasks)) * rng.uniform(0.1, 2, size=n_tasks)
    parts = TaskCovariance.start(n_tasks, ridge)
    for w in W:
        parts = parts.with_round(w)
    return parts, covariance(W if n_rounds else np.zeros((1, n_tasks)), ridge), W


@pytest.mark.parametrize("n_rounds", [0, 1, 3, 6, 20])
def test_matrix_is_the_root_of_the_second_moment(n_rounds):
    parts, expected, _ = _both(6, n_rounds)
    assert_allclose(parts.matrix(), expected, atol=1e-12)
    assert_allclose(np.trace(parts.matrix()), 1)
    assert len(parts.values) <= min(6, n_rounds)


@pytest.mark.parametrize("n_rounds", [0, 2, 20])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
def test_shrink_solves_the_penalised_step(n_rounds, lam):
    parts, omega, _ = _both(6, n_rounds)
    rng = np.random.default_rng(1)
    beta, curvature = rng.standard_normal(6), rng.uniform(0.1, 30, size=6)
    expected = step(beta, curvature, omega, lam)
    assert_allclose(parts.shrink(beta, curvature, lam), expected, rtol=1e-8)


def test_a_task_without_rows_follows_its_relatives():
    W = np.array([[1.0, 1.0, -1.0]] * 3)
    parts = TaskCovariance.start(3, 1e-3)
    for w in W:
        parts = parts.with_round(w)
    weights = parts.shrink(np.array([-5.0, -5.0, 0.0]), np.array([9.0, 9.0, 0.0]), 0.1)
    assert weights[0] > 0
    assert_allclose(weights[2], -weights[0], rtol=0.05)


def test_penalty_and_products_are_those_of_the_matrix():
    parts, omega, W = _both(5, 3)
    assert_allclose(parts.penalty, penalty(W, omega, 0.1))
    w = np.random.default_rng(2).standard_normal(5)
    assert_allclose(parts.times(w), omega @ w)


def test_no_matrix_of_trace_one_has_a_smaller_penalty():
    parts, omega, W = _both(4, 3)
    rng = np.random.default_rng(3)
    for _ in range(20):
        other = rng.standard_normal((4, 4)) * 0.1
        other = omega + other @ other.T
        assert penalty(W, other / np.trace(other), 0.1) >= parts.penalty - 1e-9


def test_draws_have_the_covariance():
    parts, omega, _ = _both(4, 2)
    rng = np.random.RandomState(0)
    draws = np.array([parts.draw(rng) for _ in range(20_000)])
    assert_allclose(draws.T @ draws / len(draws), omega, atol=0.02)


def test_a_round_that_repeats_adds_no_direction():
    parts = TaskCovariance.start(4, 0.1).with_round(np.arange(4.0))
    again = parts.with_round(2 * np.arange(4.0))
    assert again.values.shape == (1,)
    assert_allclose(again.values, np.sqrt(5 * 14))
    assert_allclose(parts.with_round(np.zeros(4)).matrix(), parts.matrix())
