import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from imblearn.metrics import (
    geometric_mean_score,
    sensitivity_score,
    specificity_score,
)
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import balanced_accuracy_score, recall_score

from kinlearn.metrics import (
    g_mean_score,
    rare_class_recall_score,
    sensitivity_specificity_f_score,
)
from tests.reference import scores

SCORES = [g_mean_score, sensitivity_specificity_f_score, rare_class_recall_score]
TWINS = {
    g_mean_score: scores.g_mean,
    sensitivity_specificity_f_score: scores.sensitivity_specificity_f,
    rare_class_recall_score: scores.rare_class_recall,
}


def problem(seed, n_classes=2, n=40):
    """Labels of which every class occurs in the truth, and weights."""
    rng = np.random.default_rng(seed)
    y_true = np.r_[np.arange(n_classes), rng.integers(0, n_classes, size=n)]
    keep = rng.random(len(y_true)) < 0.6
    y_pred = np.where(keep, y_true, rng.integers(0, n_classes, size=len(y_true)))
    return y_true, y_pred, rng.integers(1, 4, size=len(y_true)).astype(float)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_g_mean_equals_imbalanced_learn(seed, n_classes):
    y_true, y_pred, weight = problem(seed, n_classes)
    for correction in (0.0, 0.01):
        expected = geometric_mean_score(
            y_true, y_pred, sample_weight=weight, correction=correction
        )
        got = g_mean_score(y_true, y_pred, sample_weight=weight, correction=correction)
        assert_allclose(got, expected)


@pytest.mark.parametrize("seed", range(20))
def test_f_is_the_harmonic_mean_of_imbalanced_learns_rates(seed):
    y_true, y_pred, weight = problem(seed)
    got = sensitivity_specificity_f_score(y_true, y_pred, sample_weight=weight)
    # repeated rows: imbalanced-learn's weighted specificity can exceed one
    repeat = weight.astype(int)
    y_true, y_pred = y_true.repeat(repeat), y_pred.repeat(repeat)
    sensitivity = sensitivity_score(y_true, y_pred)
    specificity = specificity_score(y_true, y_pred)
    assert_allclose(got, 2 * sensitivity * specificity / (sensitivity + specificity))
    # Theorem 8 of the thesis, in terms of two other libraries' scores
    g_mean = geometric_mean_score(y_true, y_pred)
    assert_allclose(got, g_mean**2 / balanced_accuracy_score(y_true, y_pred))


def test_beta_weighs_sensitivity():
    y_true = [1] * 10 + [0] * 10
    y_pred = [1] * 9 + [0] * 7 + [1] * 4  # sensitivity 0.9, specificity 0.6
    f = sensitivity_specificity_f_score
    assert_allclose(f(y_true, y_pred, beta=1e6), 0.9)
    assert_allclose(f(y_true, y_pred, beta=1e-6), 0.6)
    assert_allclose(f(y_true, y_pred, beta=2), 5 * 0.6 * 0.9 / (4 * 0.6 + 0.9))
    assert_allclose(f(y_true, y_pred, beta=2, pos_label=0), f(y_true, y_pred, beta=0.5))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rare_class_recall_is_scikit_learns_recall_of_that_class(seed, n_classes):
    y_true, y_pred, weight = problem(seed, n_classes)
    support = np.bincount(y_true, weights=weight)
    rarest = np.flatnonzero(support == support.min()).max()
    for label in (None, 1):
        wanted = rarest if label is None else label
        expected = recall_score(
            y_true, y_pred, labels=[wanted], average="macro", sample_weight=weight
        )
        got = rare_class_recall_score(y_true, y_pred, label=label, sample_weight=weight)
        assert_allclose(got, expected)


rows = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        npst.arrays(int, n, elements=st.integers(0, 1)),
        npst.arrays(int, n, elements=st.integers(0, 1)),
        npst.arrays(float, n, elements=st.integers(0, 3)),
    )
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("score", SCORES)
@settings(deadline=None, max_examples=60)
@given(rows=rows)
def test_equals_its_twin_and_weights_are_repeated_rows(score, rows):
    y_true, y_pred, weight = rows
    if not weight.any():
        return
    got = score(y_true, y_pred, sample_weight=weight)
    assert_allclose(got, TWINS[score](y_true, y_pred, weight), atol=1e-12)
    repeat = weight.astype(int)
    assert_allclose(got, score(y_true.repeat(repeat), y_pred.repeat(repeat)))


@pytest.mark.parametrize("score", SCORES)
def test_labels_may_be_strings_and_any_sequence(score):
    y_true, y_pred, _ = problem(3)
    names = np.array(["no", "yes"], dtype=object)
    expected = score(y_true, y_pred)
    assert_allclose(score(names[y_true], names[y_pred]), expected)
    assert_allclose(score(names[y_true].tolist(), names[y_pred].tolist()), expected)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("y_pred", [[1, 1, 1], [0, 1, 0]])
def test_one_class_is_undefined_not_a_number_made_up(score, y_pred):
    with pytest.warns(UndefinedMetricWarning, match="fewer than two classes"):
        assert np.isnan(score([1, 1, 1], y_pred))


def test_recall_of_an_absent_class_is_undefined():
    with pytest.warns(UndefinedMetricWarning, match="no row of class 'c'"):
        assert np.isnan(rare_class_recall_score(["a", "b"], ["a", "b"], label="c"))


def test_a_class_that_is_only_predicted_does_not_count_in_the_g_mean():
    assert_allclose(g_mean_score([0, 0, 1, 1], [0, 2, 1, 1]), np.sqrt(0.5))


@pytest.mark.parametrize(
    ("y_true", "y_pred", "params", "message"),
    [
        ([0, 1, 2], [0, 1, 1], {}, "for two classes; y_true and y_pred hold"),
        ([0, 1], [0, 1], {"pos_label": 7}, "pos_label is 7"),
        ([0, 1], [0], {}, "inconsistent numbers of samples"),
        ([0, 1], [0.5, 1.5], {}, "Unknown label type"),
        ([0, 1], [0, 1], {"sample_weight": [-1.0, 1.0]}, "Negative values"),
    ],
)
def test_bad_input_is_refused(y_true, y_pred, params, message):
    with pytest.raises(ValueError, match=message):
        sensitivity_specificity_f_score(y_true, y_pred, **params)
