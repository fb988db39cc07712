"""Source and target: counts, means, shifts and noise as asked for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.datasets import make_transfer_pair


@pytest.mark.parametrize(
    ("n", "ratio", "rare"),
    [(1100, 0.1, 100), (100, 1.0, 50), (1010, 0.01, 10), (5, 0.01, 1), (2, 1.0, 1)],
)
def test_the_imbalance_ratio_is_exact(n, ratio, rare):
    X, y = make_transfer_pair(n, n, imbalance_ratio=ratio, random_state=0)
    for t in (0, 1):
        assert_array_equal(np.bincount(y[X[:, -1] == t]), [n - rare, rare])


def test_source_and_target_may_be_imbalanced_differently():
    X, y = make_transfer_pair(
        1000, 110, imbalance_ratio=0.1, source_imbalance_ratio=1.0, random_state=0
    )
    assert y[X[:, -1] == 0].sum() == 500
    assert y[X[:, -1] == 1].sum() == 10


def test_a_common_shift_moves_both_classes_together():
    *_, truth = make_transfer_pair(shift=1.5, return_truth=True, random_state=0)
    source, target = truth.means
    assert_allclose(np.linalg.norm(source - target, axis=1), [1.5, 1.5])
    assert_allclose(source[0] - target[0], source[1] - target[1])
    assert_allclose(np.linalg.norm(target[1] - target[0]), 2.0)


def test_a_label_dependent_shift_moves_each_class_its_own_way():
    *_, truth = make_transfer_pair(shift=(0.0, 3.0), return_truth=True, random_state=0)
    source, target = truth.means
    assert_array_equal(source[0], target[0])
    assert_allclose(np.linalg.norm(source[1] - target[1]), 3.0)
    *_, truth = make_transfer_pair(shift=(2.0, 3.0), return_truth=True, random_state=0)
    moves = truth.means[0] - truth.means[1]
    assert_allclose(np.linalg.norm(moves, axis=1), [2.0, 3.0])
    assert abs(moves[0] @ moves[1]) < 0.99 * 6.0


def test_no_shift_means_one_distribution():
    *_, truth = make_transfer_pair(shift=0, return_truth=True, random_state=0)
    assert_array_equal(truth.means[0], truth.means[1])


def test_rows_are_normal_round_the_means():
    X, y, truth = make_transfer_pair(
        20_000, 20_000, imbalance_ratio=1.0, return_truth=True, random_state=0
    )
    for t in (0, 1):
        for k in (0, 1):
            rows = X[(X[:, -1] == t) & (y == k), :-1]
            assert_allclose(rows.mean(axis=0), truth.means[t, k], atol=5 / 100)
            assert_allclose(np.cov(rows.T), np.eye(5), atol=5 * np.sqrt(2) / 100)


def test_several_sources_lie_farther_and_farther_away():
    frame, y, truth = make_transfer_pair(
        50, 20, n_sources=4, shift=2.0, as_frame=True, return_truth=True, random_state=0
    )
    gaps = np.linalg.norm(truth.means[:4, 0] - truth.means[4, 0], axis=1)
    assert_allclose(gaps, [0.5, 1.0, 1.5, 2.0])
    assert truth.target == 4
    assert frame["task"].value_counts().to_dict() == {
        "source_0": 50,
        "source_1": 50,
        "source_2": 50,
        "source_3": 50,
        "target": 20,
    }
    assert len(y) == 220


def test_only_source_labels_are_noisy():
    X, y, truth = make_transfer_pair(
        20_000, 2000, source_label_noise=0.2, return_truth=True, random_state=0
    )
    wrong = y != truth.clean_y
    target = X[:, -1] == truth.target
    assert not wrong[target].any()
    sigma = np.sqrt(0.2 * 0.8 / 20_000)
    assert_allclose(wrong[~target].mean(), 0.2, atol=5 * sigma)
