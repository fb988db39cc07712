import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kinlearn.metrics import clustering_accuracy_score
from tests.reference import scores

row = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3))


@settings(deadline=None, max_examples=60)
@given(rows=st.lists(row, min_size=1, max_size=20))
def test_equals_the_best_of_all_matchings(rows):
    y_true, y_pred, weight = map(list, zip(*rows, strict=True))
    expected = scores.clustering_accuracy(y_true, y_pred, weight)
    got = clustering_accuracy_score(y_true, y_pred, sample_weight=weight)
    assert_allclose(got, expected)


def test_renaming_the_clusters_changes_nothing():
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.integers(0, 4, size=(2, 100))
    names = np.array(["w", "x", "y", "z"])
    expected = clustering_accuracy_score(y_true, y_pred)
    for _ in range(5):
        renamed = names[rng.permutation(4)][y_pred]
        assert_allclose(clustering_accuracy_score(y_true, renamed), expected)


def test_too_many_clusters_are_not_rewarded():
    assert_allclose(clustering_accuracy_score([0, 0, 1, 1], [0, 1, 2, 3]), 0.5)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clustering_accuracy_score([0, 1], [0])
