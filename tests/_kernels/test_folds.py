import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.utils import deal_to_folds
from tests.reference.deal import deal


def random_cells(seed):
    rng = np.random.default_rng(seed)
    n_folds = int(rng.integers(2, 11))
    shape = rng.integers(1, 60), rng.integers(1, 6)
    if seed % 3 == 0:
        table = rng.integers(0, 3 * n_folds, size=shape)
    elif seed % 3 == 1:
        table = rng.poisson(rng.uniform(0.2, 3, size=shape[1]), size=shape)
    else:
        table = np.tile(rng.integers(0, 2 * n_folds, size=(1, shape[1])), (shape[0], 1))
    rows, columns = np.nonzero(table)
    return rows, columns, table[rows, columns], n_folds


def spread_by(keys, dealt):
    """Greatest difference between two folds within any value of keys."""
    sums = np.zeros((keys.max() + 1, dealt.shape[1]), dtype=int)
    np.add.at(sums, keys, dealt)
    return np.ptp(sums, axis=1).max()


@pytest.mark.parametrize("seed", range(60))
def test_deals_as_its_twin(seed):
    rows, columns, counts, n_folds = random_cells(seed)
    expected = deal(rows, columns, counts, n_folds)
    assert_array_equal(deal_to_folds(rows, columns, counts, n_folds), expected)


@pytest.mark.parametrize("seed", range(60))
def test_is_even_in_cells_and_rows_and_nearly_in_columns_and_total(seed):
    rows, columns, counts, n_folds = random_cells(seed)
    if not len(rows):
        return
    dealt = deal_to_folds(rows, columns, counts, n_folds)
    assert_array_equal(dealt.sum(axis=1), counts)
    assert np.ptp(dealt, axis=1).max() <= 1
    assert spread_by(rows, dealt) <= 1
    # No guarantee: at most 6 and 3 over 400 larger random tables.
    assert spread_by(columns, dealt) <= 6
    assert np.ptp(dealt.sum(axis=0)) <= 3


def test_one_positive_in_each_small_task_does_not_pile_up_in_one_fold():
    # Sorting by task and class and dealing row by row would put all positives,
    # the last row of each task of five, into the last of five folds.
    tasks, classes = np.repeat(np.arange(50), 2), np.tile([0, 1], 50)
    dealt = deal_to_folds(tasks, classes, np.tile([4, 1], 50), 5)
    assert_array_equal(dealt[1::2].sum(axis=0), [10] * 5)


def test_no_cells_is_no_work():
    assert deal_to_folds([], [], [], 3).shape == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0], [1], 2), "one length"),
        (([-1], [0], [1], 2), "rows must not be negative"),
        (([0], [-1], [1], 2), "columns must not be negative"),
        (([0], [0], [-1], 2), "counts must not be negative"),
    ],
)
def test_refuses_places_that_do_not_exist(arguments, message):
    with pytest.raises(ValueError, match=message):
        deal_to_folds(*arguments)
