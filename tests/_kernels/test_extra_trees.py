"""The tree kernels against their slow twin: same random numbers, same tree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._kernels.trees._extra_trees import grow_tree
from tests.reference import extra_trees as reference

CRITERIA = {"gini": 0, "entropy": 1}


def kernel_tree(p):
    """Grow the problem's tree with the kernel; weights and y are multiples of 1/8."""
    weighted = bool((p.weight != 1).any())
    y, number, b, w = None, None, None, None
    if weighted:
        w = np.round(p.weight * 8).astype(np.int64)
    if p.n_classes > 2:
        y = p.y.astype(np.int32)
    elif p.n_classes == 2:
        y = None if weighted else p.y.astype(np.int32)
        b = w * p.y if weighted else None
    else:
        number = p.y.astype(np.float64)
        b = np.round(p.weight * p.y * 64).astype(np.int64)
    b_unit = (1 / 8 if weighted else 1.0) if p.n_classes else 1 / 64
    X = np.asfortranarray(p.X, dtype=np.float32)
    return grow_tree(
        X.T,
        np.isnan(X).any(axis=0).astype(np.uint8),
        y,
        number,
        b,
        w,
        b_unit,
        1 / 8 if weighted else 1.0,
        p.n_classes if p.n_classes > 2 else 0,
        p.task.astype(np.int32),
        len(np.unique(p.task)),
        CRITERIA[p.criterion] if p.n_classes else 2,
        p.max_features,
        p.n_cuts,
        p.max_depth,
        p.task_split_prob,
        p.task_smoothing,
        p.min_samples_split,
        p.min_samples_leaf,
        p.min_impurity_decrease,
        p.seed,
        np.zeros(1, dtype=np.int32),
    )


def random_problem(seed):
    """Small, and full of ties, constants, missing values, and lone tasks."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)).astype(np.float32)
    for j in range(d):
        kind = rng.integers(6)
        if kind == 0:
            X[:, j] = np.round(X[:, j])
        elif kind == 1:
            X[:, j] = 3.25
        elif kind == 2:  # neighbouring floats: a cut must still split them
            X[:, j] = np.where(X[:, j] > 0, np.float32(1), np.nextafter(np.float32(1), 2))
        if rng.random() < 0.4:
            X[rng.random(n) < rng.choice([0.1, 0.5, 1.0], p=[0.6, 0.3, 0.1]), j] = np.nan
    n_classes = int(rng.choice([0, 2, 2, 3, 7]))
    if n_classes == 0:
        y = np.round(rng.normal(size=n) * 16) / 8
    else:
        y = rng.integers(0, n_classes, size=n)
    weight = None
    if rng.random() < 0.5:
        weight = rng.integers(0, 20, size=n) / 8
        weight[0] = 1.0
    n_tasks = int(rng.choice([1, 2, 5, 30]))
    task = np.unique(rng.integers(0, n_tasks, size=n), return_inverse=True)[1]
    return reference.Problem(
        X,
        y,
        n_classes=n_classes,
        weight=weight,
        task=task,
        criterion=str(rng.choice(["gini", "entropy"])),
        max_features=int(rng.integers(1, d + 1)),
        n_cuts=int(rng.choice([1, 1, 3])),
        task_split_prob=float(rng.choice([0, 0.3, 1])),
        task_smoothing=float(rng.choice([0, 1, 2.5])),
        min_samples_split=float(rng.choice([0, 2, 5])),
        min_samples_leaf=float(rng.choice([0, 1, 1, 4])),
        max_depth=int(rng.choice([1, 4, 2**31 - 1])),
        min_impurity_decrease=float(rng.choice([0, 0, 0.01])),
        seed=seed,
    )


def assert_same_tree(tree, nodes):
    arrays, default_left, weight, impurity, start, exceptions, values = tree[:7]
    rows, leaf_start = tree[7:]
    assert_array_equal(arrays["feature"], [node["feature"] for node in nodes])
    assert_array_equal(arrays["right"], [node["right"] for node in nodes])
    assert_array_equal(default_left, [node["default_left"] for node in nodes])
    assert_array_equal(weight, [node["weight"] for node in nodes])
    assert_allclose(impurity, [node["impurity"] for node in nodes], atol=1e-12)
    for node, kernel in zip(nodes, arrays, strict=True):
        slot = kernel["slot"]
        if node["feature"] >= 0:
            assert kernel["threshold"] == node["threshold"]
        elif node["feature"] == reference.TASK_SPLIT:
            kept = exceptions[start[slot] : start[slot + 1]]
            assert_array_equal(kept, node["exceptions"])
        else:
            assert_allclose(values[slot], node["value"], rtol=1e-12, atol=1e-12)
            assert_array_equal(rows[leaf_start[slot] : leaf_start[slot + 1]], node["rows"])


@pytest.mark.parametrize("block", range(20))
def test_trees_equal_the_reference(block):
    for seed in range(30 * block, 30 * (block + 1)):
        p = random_problem(seed)
        assert_same_tree(kernel_tree(p), reference.grow_tree(p))
