import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import fbeta_score, precision_score, recall_score

from kinlearn.metrics import f_lambda_curve, sensitivity_specificity_f_score


def rows_with(tp, fn, fp, tn):
    y_true = np.repeat([1, 1, 0, 0], [tp, fn, fp, tn])
    return y_true, np.repeat([1, 0, 1, 0], [tp, fn, fp, tn])


@pytest.mark.parametrize("seed", range(10))
def test_every_point_is_scikit_learns_f_beta(seed):
    rng = np.random.default_rng(seed)
    y_true, y_pred = rng.integers(0, 2, size=(2, 40))
    weight = rng.random(40)
    curve = f_lambda_curve(y_true, y_pred, n_points=7, sample_weight=weight)
    expected = [
        fbeta_score(y_true, y_pred, beta=beta, sample_weight=weight)
        for beta in curve.beta
    ]
    assert_allclose(curve.f, expected)
    assert_allclose(curve.recall, recall_score(y_true, y_pred, sample_weight=weight))
    assert_allclose(curve.other, precision_score(y_true, y_pred, sample_weight=weight))


def test_the_axis_is_the_normalised_logarithm_of_beta():
    curve = f_lambda_curve(*rows_with(3, 1, 2, 9), lambda_=20, n_points=5)
    assert_allclose(curve.x, [-1, -0.5, 0, 0.5, 1])
    assert_allclose(np.log10(curve.beta) / np.log10(20), curve.x, atol=1e-12)
    assert_allclose(curve.beta[[0, -1]], [1 / 20, 20])


@pytest.mark.parametrize(
    ("counts", "precision", "recall"),
    [
        ((6, 4, 24, 0), 0.2, 0.6),
        ((3, 7, 7, 3), 0.3, 0.3),
        ((9, 31, 11, 0), 0.45, 0.225),
    ],
)
def test_table_2_2_same_f1_different_curves(counts, precision, recall):
    curve = f_lambda_curve(*rows_with(*counts), lambda_=1e4)
    assert_allclose(curve.f[50], 0.3)
    # Figure 2.8: precision at the left end, recall at the right one
    assert_allclose(curve.f[[0, -1]], [precision, recall], rtol=1e-6)


def test_against_specificity():
    y_true, y_pred = rows_with(9, 1, 4, 6)
    curve = f_lambda_curve(y_true, y_pred, against="specificity", lambda_=1e4)
    assert_allclose(curve.f[50], sensitivity_specificity_f_score(y_true, y_pred))
    assert_allclose(curve.f[[0, -1]], [0.6, 0.9], rtol=1e-6)
    assert (curve.against, curve.other, curve.recall) == ("specificity", 0.6, 0.9)


def test_nothing_found_is_zero_everywhere():
    assert_allclose(f_lambda_curve([0, 1, 1], [0, 0, 0], pos_label=1).f, 0)


@pytest.mark.parametrize(
    ("y_true", "against", "which"),
    [([0, 0], "precision", "positive"), ([1, 1], "specificity", "negative")],
)
def test_is_undefined_without_rows_of_a_class(y_true, against, which):
    with pytest.warns(UndefinedMetricWarning, match=f"no {which} row"):
        curve = f_lambda_curve(y_true, [0, 1], against=against, pos_label=1)
    assert np.isnan(curve.f).all()


def test_result_is_frozen():
    curve = f_lambda_curve([0, 1], [0, 1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        curve.f = None


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lambda_": 1}, "finite number above 1"),
        ({"lambda_": np.inf}, "recall and other"),
        ({"n_points": 1}, "n_points == 1"),
        ({"against": "accuracy"}, "'precision' or 'specificity'"),
    ],
)
def test_bad_settings_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        f_lambda_curve([0, 1], [0, 1], **params)
