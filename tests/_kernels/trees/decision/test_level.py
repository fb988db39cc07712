"""Passes of multi-task trees level by level, against obvious twins."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._kernels._random import fill_below
from kinlearn._kernels.trees.decision._level import (
    best_cut,
    count_cells,
    drawn_features,
    move_bins,
)

N_BINS = 256


def problem(n=60, seed=0):
    """Rows of two trees, three open nodes: two of tree 0 and one of tree 1."""
    rng = np.random.default_rng(seed)
    bins = np.asfortranarray(rng.integers(0, 5, (n, 3)).astype(np.uint8))
    bins[rng.random(bins.shape) < 0.1] = 255
    return {
        "bins": bins,
        "cells": rng.integers(0, 6, n).astype(np.int32),
        "weights": rng.integers(1, 9, n),
        "counts": rng.integers(1, 4, (2, n)).astype(np.int32),
        "order": np.stack([rng.permutation(n), np.arange(n)]).astype(np.int32),
        "tree": np.array([0, 0, 1], dtype=np.int32),
        "start": np.array([3, 25, 0], dtype=np.int32),
        "end": np.array([25, 25, n], dtype=np.int32),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("counted", [False, True])
def test_cells_are_counted_by_request_and_bin(weighted, counted):
    p = problem()
    p |= {} if weighted else {"weights": None}
    p |= {} if counted else {"counts": None}
    request_start = np.array([0, 2, 3, 5])
    feature = np.array([2, 0, 1, 1, -1], dtype=np.int32)
    key, weight, rows = np.empty((3, 500), dtype=np.int64)
    n = count_cells(
        **p,
        request_start=request_start,
        feature=feature,
        n_cells=6,
        key=key,
        weight=weight,
        rows=rows,
    )
    expected: dict = {}
    for i, tree in enumerate(p["tree"]):
        for r in range(request_start[i], request_start[i + 1]):
            for row in p["order"][tree, p["start"][i] : p["end"][i]]:
                b = 0 if feature[r] < 0 else int(p["bins"][row, feature[r]])
                w = int(p["weights"][row]) if weighted else 1
                w *= int(p["counts"][tree, row]) if counted else 1
                at = (r * N_BINS + b) * 6 + int(p["cells"][row])
                before = expected.get(at, (0, 0))
                expected[at] = (before[0] + w, before[1] + 1)
    found = zip(weight[:n].tolist(), rows[:n].tolist(), strict=True)
    assert dict(zip(key[:n].tolist(), found, strict=True)) == expected


def test_rows_move_to_children_in_order():
    p = problem()
    p["order"] = np.sort(p["order"], axis=1)
    cell_task = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    moved = p["order"].copy()
    opened = np.zeros((2, 3), dtype=np.int32)
    feature, cut = np.array([[0, 1, 2], [1, 0, 2]], dtype=np.int32)
    child = np.array([[0, -1, 1], [-1, -1, 2]], dtype=np.int32)
    gone = [[], [1], [0, 2]]  # tasks, for each child
    move_bins(
        p["bins"],
        p["cells"],
        cell_task,
        3,
        moved,
        tree=p["tree"],
        start=p["start"],
        end=p["end"],
        feature=feature,
        cut=cut,
        missing_left=np.array([1, 0, 0], dtype=np.uint8),
        child=child,
        gone_start=np.cumsum([0, *map(len, gone)]),
        gone=np.concatenate(gone).astype(np.int32),
        opened=opened,
    )
    for k, (tree, node, left) in enumerate([(0, 0, True), (1, 2, True), (1, 2, False)]):
        rows = p["order"][tree, p["start"][node] : p["end"][node]]
        b = p["bins"][rows, feature[node]]
        goes_left = np.where(b == 255, node == 0, b <= cut[node])
        stays = ~np.isin(cell_task[p["cells"][rows]], gone[k])
        expected = rows[(goes_left == left) & stays]
        assert len(expected) > 3
        assert_array_equal(moved[tree, opened[0, k] : opened[1, k]], expected)


def test_features_are_drawn_without_return():
    out = np.empty(20, dtype=np.int32)
    drawn_features(12345, out)
    state, features = 12345, list(range(20))
    for k in range(20):
        draw = np.empty(1, dtype=np.int64)
        state = fill_below(state, 20 - k, draw)
        j = k + int(draw[0])
        features[k], features[j] = features[j], features[k]
    assert out.tolist() == features


def entropy(weights):
    share = weights[weights > 0] / weights.sum()
    return -np.sum(share * np.log(share))


def test_the_best_cut_is_that_of_all_cuts():
    rng = np.random.default_rng(1)
    table = rng.integers(1, 20, (2, 4, 2))  # feature, bin, cell of one task
    table[1] *= 0
    table[1, 2] = table[0].sum(axis=0)  # constant
    bins, cell = np.divmod(np.arange(8), 2)
    keep = np.concatenate([np.arange(8), [12, 13]])
    total = table[0].sum(axis=0)
    n_tried, found = best_cut(
        np.array([0, 8, 10]),
        np.array([1, 0], dtype=np.int32),
        np.array([4, 4], dtype=np.int32),
        np.tile(bins, 2)[keep].astype(np.int32),
        np.tile(cell, 2)[keep].astype(np.int32),
        table.reshape(-1)[keep],
        table.reshape(-1)[keep],
        cell_total=total,
        cell_group=np.zeros(2, dtype=np.int32),
        group_total=total.sum(keepdims=True),
        n_rows=int(total.sum()),
        criterion=2,
        min_samples_leaf=1,
        min_weight_leaf=0,
        max_features=2,
    )
    gains = []
    for cut in range(3):
        left = table[0, : cut + 1].sum(axis=0)
        parts = (left, total - left)
        inside = sum(w.sum() * entropy(w) for w in parts) / total.sum()
        gains.append(entropy(total) - inside)
    assert n_tried == 1
    assert found[:4] == (0, int(np.argmax(gains)), False, False)
    np.testing.assert_allclose(found[4], max(gains))
