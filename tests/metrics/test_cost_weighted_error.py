import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import confusion_matrix, zero_one_loss

from kinlearn.metrics import cost_weighted_error
from tests.reference import scores


def problem(seed, n_classes=2):
    rng = np.random.default_rng(seed)
    y_true, y_pred = rng.integers(0, n_classes, size=(2, 50))
    return y_true, y_pred, rng.random(50)


@pytest.mark.parametrize("seed", range(10))
def test_equals_equation_4_18(seed):
    y_true, y_pred, _ = problem(seed)
    cost_fp, cost_fn = 5.0, 2.0
    (_, n_fp), (n_fn, _) = table = confusion_matrix(y_true, y_pred)
    n_n, n_p = table.sum(axis=1)
    part = cost_fp / cost_fn
    expected = (n_fn + n_fp * part) / (n_p + n_n * part)
    got = cost_weighted_error(y_true, y_pred, cost_fp=cost_fp, cost_fn=cost_fn)
    assert_allclose(got, expected)
    matrix = [[0, cost_fp], [cost_fn, 0]]
    assert_allclose(cost_weighted_error(y_true, y_pred, cost_matrix=matrix), expected)


@pytest.mark.parametrize("seed", range(10))
def test_cost_matrix_equals_its_twin(seed):
    y_true, y_pred, weight = problem(seed, 4)
    matrix = np.random.default_rng(seed).random((4, 4))
    np.fill_diagonal(matrix, 0)
    labels = [2, 0, 3, 1]
    cost = {
        a: {b: matrix[i, j] for j, b in enumerate(labels)} for i, a in enumerate(labels)
    }
    got = cost_weighted_error(
        y_true, y_pred, cost_matrix=matrix, labels=labels, sample_weight=weight
    )
    assert_allclose(got, scores.cost_weighted_error(y_true, y_pred, weight, cost))


@pytest.mark.parametrize("seed", range(5))
def test_equal_costs_are_the_plain_error(seed):
    y_true, y_pred, weight = problem(seed)
    expected = zero_one_loss(y_true, y_pred, sample_weight=weight)
    for normalize in (True, False):
        got = cost_weighted_error(
            y_true, y_pred, normalize=normalize, sample_weight=weight
        )
        assert_allclose(got, expected)


def test_not_normalised_is_the_mean_cost():
    got = cost_weighted_error([0, 0, 1, 1], [1, 0, 0, 1], cost_fn=5, normalize=False)
    assert_allclose(got, (1 + 5) / 4)


def test_the_positive_class_can_be_named():
    y_true, y_pred = ["ill", "ill", "well"], ["well", "ill", "ill"]
    got = cost_weighted_error(y_true, y_pred, cost_fn=5, pos_label="ill")
    assert_allclose(got, (5 + 1) / (5 + 5 + 1))


def test_is_undefined_if_no_row_can_cost_anything():
    with pytest.warns(UndefinedMetricWarning, match="no error could cost"):
        assert np.isnan(cost_weighted_error([0, 0], [0, 1], cost_fp=0, pos_label=1))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"cost_fp": -1}, "cost_fp must be a finite number >= 0"),
        ({"cost_fn": np.nan}, "cost_fn must be a finite number >= 0"),
        ({"cost_fp": 0, "cost_fn": 0}, "one must be positive"),
        ({"cost_matrix": [[0, 1]]}, "cost_matrix has shape"),
        ({"cost_matrix": [[0, -1], [1, 0]]}, "must be non-negative"),
        ({"cost_matrix": [[1, 1], [1, 0]]}, "zero on the diagonal"),
        ({"cost_matrix": [[0, 0], [0, 0]]}, "not all zero"),
        ({"cost_matrix": [[0, 1], [1, 0]], "labels": [0, 2]}, "labels= lacks"),
    ],
)
def test_bad_costs_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        cost_weighted_error([0, 1, 1], [0, 1, 0], **params)
