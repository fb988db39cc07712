"""Passes of multi-task trees level by level, against obvious twins."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._kernels._random import fill_below
from kinlearn._kernels.trees.decision._growth import Settings
from kinlearn._kernels.trees.decision._model import TreeArrays
from kinlearn._kernels.trees.decision._partitions import (
    SumGrower,
    count_cells,
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
    goes_left = np.arange(N_BINS) <= cut[:, None]
    goes_left[0, [3, 255]] = True  # not a cut: of categories
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
        sides=np.packbits(goes_left, axis=1, bitorder="little").view(np.uint64),
        child=child,
        gone_start=np.cumsum([0, *map(len, gone)]),
        gone=np.concatenate(gone).astype(np.int32),
        opened=opened,
    )
    for k, (tree, node, left) in enumerate([(0, 0, True), (1, 2, True), (1, 2, False)]):
        rows = p["order"][tree, p["start"][node] : p["end"][node]]
        is_left = goes_left[node, p["bins"][rows, feature[node]]]
        stays = ~np.isin(cell_task[p["cells"][rows]], gone[k])
        expected = rows[(is_left == left) & stays]
        assert len(expected) > 3
        assert_array_equal(moved[tree, opened[0, k] : opened[1, k]], expected)


def grower(n_features, *, n_bins=4, max_features=1, categorical=None):
    """Nodes with two labels of one task."""
    settings = Settings(
        criterion=2,
        purity=1.0,
        max_depth=9,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=max_features,
    )
    zeros = np.zeros(2, dtype=np.int32)
    return SumGrower(
        np.full(n_features, n_bins, dtype=np.int32),
        zeros,
        np.arange(2, dtype=np.int32),
        1,
        settings,
        categorical,
    )


def test_features_are_drawn_without_return():
    nodes = grower(20)
    state, features = 12345, list(range(20))
    for k in range(20):
        draw = np.empty(1, dtype=np.int64)
        state = fill_below(state, 20 - k, draw)
        j = k + int(draw[0])
        features[k], features[j] = features[j], features[k]
    assert nodes.order(12345).tolist() == features
    assert nodes.order(12345).tolist() == features  # and put back


def entropy(weights):
    share = weights[weights > 0] / weights.sum()
    return -np.sum(share * np.log(share))


def split(nodes, tree, table, order):
    """Split the root by weights of feature, bin and cell."""
    total = table[0].sum(axis=0)
    key, weight, start = [], [], [0]
    for f in order:
        at = np.flatnonzero(table[f])
        key.append(at)  # bin times two cells, and the cell
        weight.append(table[f].reshape(-1)[at])
        start.append(start[-1] + len(at))
    key, weight = np.concatenate(key), np.concatenate(weight)
    cells = np.arange(2)
    order = np.array(order, dtype=np.int32)
    return nodes.split(
        tree, 0, cells, total, total, order, np.array(start), key, weight, weight, 0
    )


def test_the_split_is_the_best_of_all_cuts():
    rng = np.random.default_rng(1)
    table = rng.integers(1, 20, (2, 4, 2))  # feature, bin, cell of one task
    table[1] *= 0
    table[1, 2] = table[0].sum(axis=0)  # constant
    total = table[0].sum(axis=0)
    nodes, tree = grower(2), TreeArrays()
    assert nodes.arrive(tree, 0, 0, np.arange(2), total, total).all()
    assert split(nodes, tree, table, [1]) is None  # another feature is needed
    left, feature, sides, weight, rows = split(nodes, tree, table, [1, 0])
    gains = []
    for cut in range(3):
        below = table[0, : cut + 1].sum(axis=0)
        inside = sum(w.sum() * entropy(w) for w in (below, total - below))
        gains.append(entropy(total) - inside / total.sum())
    best = int(np.argmax(gains))
    assert (left, feature) == (1, 0)
    bits = np.unpackbits(sides.view(np.uint8), bitorder="little")
    assert_array_equal(np.flatnonzero(bits[:4]), np.arange(best + 1))
    assert_array_equal(weight, table[0, : best + 1].sum(axis=0))
    assert_array_equal(rows, weight)
    grown, *_ = tree.finish(1)
    assert grown["bin"][0] == best
    np.testing.assert_allclose(grown["gain"][0], max(gains))


def test_categories_are_split_by_their_labels():
    table = np.array([[[90, 10], [5, 95], [92, 8], [7, 93]]])
    nodes = grower(1, categorical=np.ones(1, dtype=np.uint8))
    tree = TreeArrays()
    total = table[0].sum(axis=0)
    assert nodes.arrive(tree, 0, 0, np.arange(2), total, total).all()
    left, _, sides, weight, _ = split(nodes, tree, table, [0])
    bits = np.unpackbits(sides.view(np.uint8), bitorder="little")
    assert left == 1
    assert np.flatnonzero(bits[:4]).tolist() in ([0, 2], [1, 3])
    assert_array_equal(np.sort(weight), [12, 188] if bits[1] else [18, 182])
    grown, _, _, sets = tree.finish(1, np.ones(1, dtype=np.uint8))
    assert grown["bin"][0] == 0
    assert sets.shape == (1, 4)


def test_branches_are_grafted_and_numbered_from_the_left():
    table = np.array([[[9, 1], [1, 9]]])
    nodes, trees = grower(1, n_bins=2), [TreeArrays(), TreeArrays()]
    total = table[0].sum(axis=0)
    for tree in trees:
        nodes.arrive(tree, 0, 0, np.arange(2), total, total)
        split(nodes, tree, table, [0])
    branch = trees[1].finish(1)
    for leaf in (2, 1):  # in any order
        trees[0].graft(leaf, branch)
    grown, *_ = trees[0].finish(1)
    assert grown["left"].tolist() == [1, 3, 5, -1, -1, -1, -1]
