"""Shapley values against a slow twin, and what is exact."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.sharing.explain import _shapley
from kinlearn.sharing.explain._shapley import differing, draw_background, shapley_values


def curved(rows):
    """Interactions of all kinds."""
    return np.sin(rows[:, 0] * rows[:, 1]) + rows[:, 2] ** 2 * rows[:, 0] + rows.sum(1)


def slow_values(predict, x, b):
    """The mean over all orders of what a column changes."""
    out = np.zeros(len(x))
    orders = list(permutations(range(len(x))))
    for order in orders:
        row = b.copy()
        for j in order:
            before = predict(row[None])[0]
            row[j] = x[j]
            out[j] += predict(row[None])[0] - before
    return out / len(orders)


@pytest.mark.parametrize("p", [3, 4, 5])
def test_all_coalitions_are_all_orders(p):
    rng = np.random.default_rng(p)
    x, background = rng.normal(size=p), rng.normal(size=(3, p))
    found, top, ends = shapley_values(
        curved, x, background, 1, np.random.RandomState(0)
    )
    for b, values in zip(background, found, strict=True):
        assert_allclose(values, slow_values(curved, x, b), atol=1e-12)
    assert_allclose(top, curved(x[None])[0])
    assert_allclose(ends, curved(background))


def test_walks_add_up_and_come_near_all_orders(monkeypatch):
    rng = np.random.default_rng(0)
    x, background = rng.normal(size=5), rng.normal(size=(4, 5))
    exact = shapley_values(curved, x, background, 1, np.random.RandomState(0))[0]
    monkeypatch.setattr(_shapley, "MOST_EXACT", 0)
    for n_repeats in (1, 300):
        walked, top, ends = shapley_values(
            curved, x, background, n_repeats, np.random.RandomState(0)
        )
        assert_allclose(walked.sum(axis=1), top - ends, atol=1e-12)
    assert_allclose(walked, exact, atol=0.15)


def test_walks_are_exact_for_sums_of_columns_and_for_pairs(monkeypatch):
    monkeypatch.setattr(_shapley, "MOST_EXACT", 0)
    rng = np.random.default_rng(1)
    x, background = rng.normal(size=6), rng.normal(size=(3, 6))
    coef = rng.normal(size=6)
    found = shapley_values(
        lambda rows: rows @ coef, x, background, 1, np.random.RandomState(0)
    )[0]
    assert_allclose(found, coef * (x - background), atol=1e-12)
    # an order and its reverse: one of two columns comes first in each
    found = shapley_values(
        lambda rows: rows[:, 0] * rows[:, 1], x, background, 1, np.random.RandomState(0)
    )[0]
    expected = [
        slow_values(lambda rows: rows[:, 0] * rows[:, 1], x[:2], b[:2])
        for b in background
    ]
    assert_allclose(found[:, :2], expected, atol=1e-12)
    assert_allclose(found[:, 2:], 0.0, atol=1e-12)


def test_columns_that_agree_with_the_background_take_no_part():
    calls = []

    def predict(rows):
        calls.append(len(rows))
        return np.nansum(rows, axis=1)

    x = np.array([1.0, np.nan, 2.0, 5.0])
    background = np.array([[1.0, np.nan, 0.0, 5.0], [1.0, np.nan, 2.0, 5.0]])
    assert_array_equal(differing(x, background), [2])
    found = shapley_values(predict, x, background, 1, np.random.RandomState(0))[0]
    assert_array_equal(found, [[0, 0, 2, 0], [0, 0, 0, 0]])
    assert sum(calls) == 3 + 4
    same = shapley_values(predict, x, background[1:], 1, np.random.RandomState(0))
    assert_array_equal(same[0], 0.0)


def test_rows_are_predicted_in_pieces(monkeypatch):
    rng = np.random.default_rng(2)
    x, background = rng.normal(size=4), rng.normal(size=(3, 4))
    whole = shapley_values(curved, x, background, 1, np.random.RandomState(0))[0]
    monkeypatch.setattr(_shapley, "_MOST_CELLS", 20)
    pieces = shapley_values(curved, x, background, 1, np.random.RandomState(0))[0]
    assert_array_equal(whole, pieces)


def test_background_rows_are_drawn_by_weight():
    weight = np.where(np.arange(200) < 100, 1.0, 9.0)
    counts = np.zeros(200)
    for seed in range(200):
        rows = draw_background(weight, 20, np.random.RandomState(seed))
        assert len(np.unique(rows)) == 20
        counts[rows] += 1
    assert 5 < counts[100:].sum() / counts[:100].sum() < 10
    few = draw_background(np.ones(3), 20, np.random.RandomState(0))
    assert_array_equal(few, [0, 1, 2])
