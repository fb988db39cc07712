"""The tree kernels against their slow twin: same random numbers, same tree."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._kernels._random import stream_state
from kinlearn._kernels.trees.extra._grow_forest import Workspace, grow_tree
from kinlearn._kernels.trees.extra._predict import add_values, apply_trees
from tests.reference import extra_trees as reference

CRITERIA = {"gini": 0, "entropy": 1}
LAYOUTS = "columns", "rows", "both", "bytes"  # of X in memory; bytes beside rows
WORKSPACE = Workspace()  # one for all: what an earlier tree left must not matter


def some_bytes(X, seed):
    """A few bins at random places: the kernel must take any."""
    rng = np.random.default_rng(seed)
    bins = np.full(X.T.shape, 255, dtype=np.uint8)
    lowest = np.full((X.shape[1], 256), np.inf, dtype=np.float32)
    highest = -lowest
    for f, x in enumerate(X.T):
        edges = np.sort(rng.choice(x, size=rng.integers(1, 8)))
        names = np.sort(rng.choice(254, size=len(edges) + 1, replace=False))
        bins[f] = np.where(np.isnan(x), 255, names[np.searchsorted(edges, x)])
        np.fmin.at(lowest[f], bins[f], x)
        np.fmax.at(highest[f], bins[f], x)
    return SimpleNamespace(bins=bins, lowest=lowest, highest=highest)


def kernel_arguments(p, layout=None):
    """Rows, labels and settings; weights and y are multiples of 1/8."""
    layout = layout or LAYOUTS[p.seed % 4]
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
    X = np.ascontiguousarray(p.X)
    rows = SimpleNamespace(
        columns=X.T if layout in ("rows", "bytes") else np.ascontiguousarray(X.T),
        by_row=X if layout == "both" else None,
        feature_bytes=some_bytes(X, p.seed) if layout == "bytes" else None,
        has_missing=np.isnan(X).any(axis=0).astype(np.uint8),
        task=p.task.astype(np.int32),
        n_tasks=len(np.unique(p.task)),
    )
    w_unit = 1 / 8 if weighted else 1.0
    labels = SimpleNamespace(
        y=y,
        number=number,
        b=b,
        w=w,
        w_unit=w_unit,
        b_unit=w_unit if p.n_classes else 1 / 64,
        n_classes=p.n_classes if p.n_classes > 2 else 0,
    )
    settings = SimpleNamespace(
        criterion=CRITERIA[p.criterion] if p.n_classes else 2,
        max_features=p.max_features,
        n_cuts=p.n_cuts,
        max_depth=p.max_depth,
        task_split_prob=p.task_split_prob,
        task_smoothing=p.task_smoothing,
        min_weight_split=p.min_samples_split,
        min_weight_leaf=p.min_samples_leaf,
        min_impurity_decrease=p.min_impurity_decrease,
        categorical=p.categorical.astype(np.uint8) if p.categorical.any() else None,
    )
    return rows, labels, settings


def kernel_tree(p, layout=None, *, key=None, whole_weight=0.0, stop=0):
    """Grow the problem's tree with the kernel."""
    return grow_tree(
        *kernel_arguments(p, layout),
        stream_state(p.seed, 0) if key is None else key,
        whole_weight,
        np.array([stop], dtype=np.int32),
        WORKSPACE,
    )


def random_problem(seed, *, categories=False):
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
            X[:, j] = np.where(
                X[:, j] > 0, np.float32(1), np.nextafter(np.float32(1), 2)
            )
        if rng.random() < 0.4:
            X[rng.random(n) < rng.choice([0.1, 0.5, 1.0], p=[0.6, 0.3, 0.1]), j] = (
                np.nan
            )
    categorical = None
    if categories:
        categorical = rng.random(d) < 0.6
        codes = rng.integers(0, rng.choice([2, 6, 20, 254], size=d), size=(n, d))
        X = np.where(categorical & ~np.isnan(X), codes, X)
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
        categorical=categorical,
    )


def bits(sets):
    """By set, whether each code is in it."""
    return np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")


def assert_same_tree(tree, nodes):
    arrays, default_left, weight, impurity, start, exceptions, values = tree[:7]
    rows, leaf_start, *task_cuts, sets = tree[7:]
    assert_array_equal(arrays["feature"], [node["feature"] for node in nodes])
    assert_array_equal(arrays["right"], [node["right"] for node in nodes])
    assert_array_equal(default_left, [node["default_left"] for node in nodes])
    assert_array_equal(weight, [node["weight"] for node in nodes])
    assert_allclose(impurity, [node["impurity"] for node in nodes], atol=1e-12)
    for node, kernel in zip(nodes, arrays, strict=True):
        slot = kernel["slot"]
        if node["feature"] >= 0:
            assert kernel["threshold"] == node["threshold"]
            assert (slot >= 0) == (node["left_codes"] is not None)
            if slot >= 0:
                assert_array_equal(np.flatnonzero(bits(sets)[slot]), node["left_codes"])
        elif node["feature"] == reference.TASK_SPLIT:
            kept = exceptions[start[slot] : start[slot + 1]]
            assert_array_equal(kept, node["exceptions"])
            assert_allclose([a[slot] for a in task_cuts], node["task_cut"], atol=1e-9)
        else:
            assert_allclose(values[slot], node["value"], rtol=1e-12, atol=1e-12)
            assert_array_equal(
                rows[leaf_start[slot] : leaf_start[slot + 1]], node["rows"]
            )


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("block", range(20))
def test_trees_equal_the_reference(block, categories):
    for seed in range(30 * block, 30 * (block + 1)):
        p = random_problem(seed, categories=categories)
        assert_same_tree(kernel_tree(p), reference.grow_tree(p))


def keys_and_ends(nodes, key):
    """The random key of each node from that of the root, and where its branch ends."""
    keys, ends = [key] * len(nodes), [len(nodes)] * len(nodes)
    depth = [0] * len(nodes)
    for i, node in enumerate(nodes):
        if node["feature"] != reference.LEAF:
            right = node["right"]
            keys[i + 1], keys[right] = (stream_state(keys[i], s) for s in (1, 2))
            ends[i + 1], ends[right] = right, ends[i]
            depth[i + 1] = depth[right] = depth[i] + 1
        else:
            ends[i] = i + 1
    return keys, ends, depth


@pytest.mark.parametrize("block", range(4))
def test_a_branch_grown_alone_is_that_of_the_tree(block):
    n_branches = 0
    for seed in range(30 * block, 30 * (block + 1)):
        p = random_problem(seed + 900, categories=seed % 2 == 1)
        nodes, *by_node, start, exceptions, values = (tree := kernel_tree(p))[:7]
        rows, leaf_start, *of_splits, sets = tree[7:]
        leaf = np.cumsum(nodes["feature"] == reference.LEAF)
        split = np.cumsum(nodes["feature"] == reference.TASK_SPLIT)
        by_set = (nodes["feature"] >= 0) & (nodes["slot"] >= 0)
        counts = leaf, split, np.cumsum(by_set)
        first = [np.concatenate([[0], count]) for count in counts]
        for i, (key, end, depth) in enumerate(
            zip(*keys_and_ends(nodes, stream_state(p.seed, 0)), strict=True)
        ):
            (a, b), (c, d), (e, f) = (count[[i, end]] for count in first)
            there = np.sort(rows[leaf_start[a] : leaf_start[b]])
            tasks, task = np.unique(p.task[there], return_inverse=True)
            part = replace(
                p,
                X=p.X[there],
                y=p.y[there],
                weight=p.weight[there],
                task=task,
                max_depth=p.max_depth - depth,
            )
            layout = LAYOUTS[(seed + i) % 4]
            whole = p.weight.sum()
            alone = kernel_tree(part, layout, key=key, whole_weight=whole)
            n_branches += end - i > 1
            assert_array_equal(alone[12], sets[e:f])
            for name, less in (("feature", 0), ("threshold", 0), ("right", i)):
                assert_array_equal(alone[0][name], nodes[name][i:end] - less)
            for found, expected in zip(alone[1:4], by_node, strict=True):
                assert_array_equal(found, expected[i:end])
            assert_array_equal(alone[4], start[c : d + 1] - start[c])
            assert_array_equal(tasks[alone[5]], exceptions[start[c] : start[d]])
            assert_array_equal(alone[6], values[a:b])
            assert_array_equal(there[alone[7]], rows[leaf_start[a] : leaf_start[b]])
            for found, expected in zip(alone[9:12], of_splits, strict=True):
                assert_array_equal(found, expected[c:d])
    assert n_branches > 50


def starts(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def joined(trees):
    """The arrays of several trees end to end, as prediction takes them."""
    return {
        "nodes": np.concatenate([tree[0] for tree in trees]),
        "default_left": np.concatenate([tree[1] for tree in trees]),
        "tree_start": starts([len(tree[0]) for tree in trees]),
        "leaf_start": starts([len(tree[6]) for tree in trees]),
        "split_start": starts([len(tree[4]) - 1 for tree in trees]),
        "exception_start": starts(np.concatenate([np.diff(t[4]) for t in trees])),
        "exceptions": np.concatenate([tree[5] for tree in trees]),
        "values": np.concatenate([tree[6] for tree in trees]),
        "set_start": starts([len(tree[12]) for tree in trees]),
        "sets": np.concatenate([tree[12] for tree in trees]),
    }


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_prediction_equals_a_walk_down_the_reference(seed, categories, missing):
    p = random_problem(seed + 5000, categories=categories)
    p.min_samples_leaf, p.max_depth = 1, 2**31 - 1
    trees, twins = [], []
    for tree in range(3):
        p.seed = tree
        trees.append(kernel_tree(p))
        twins.append(reference.grow_tree(p))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, p.X.shape[1])).astype(np.float32)
    X = np.where(p.categorical, rng.integers(0, 254, size=X.shape), X)
    X = X.astype(np.float32)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    task = rng.integers(-1, p.task.max() + 3, size=len(X)).astype(np.int32)
    forest = joined(trees)
    where = [
        [reference.find_leaf(nodes, x, t)[0] for x, t in zip(X, task, strict=True)]
        for nodes in twins
    ]
    no_values = {k: v for k, v in forest.items() if k not in ("leaf_start", "values")}
    leaves = np.empty((3, len(X)), dtype=np.int32)
    apply_trees(**no_values, X=X, task=task, missing=missing, out=leaves)
    assert_array_equal(leaves, where)

    expected = np.sum(
        [
            [nodes[k]["value"] for k in reached]
            for nodes, reached in zip(twins, where, strict=True)
        ],
        axis=0,
    )
    far = {**forest, "exceptions": forest["exceptions"] * 1_000}
    for some, X_some, task_some in [
        (forest, X, task),  # packed trees
        (far, X, np.where(task < 0, -1, task * 1_000).astype(np.int32)),  # many tasks
        (forest, np.asfortranarray(X), task),  # trees as they are
    ]:
        out = np.zeros_like(expected)
        add_values(
            **some,
            X=X_some,
            task=task_some,
            missing=missing,
            first_tree=0,
            last_tree=3,
            out=out,
        )
        assert_allclose(out, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("n", "n_classes", "max_features"),
    [
        (12_000, 0, 20),  # branches are copied together: 2 MB hold 5,242 rows,
        (12_000, 2, 20),
        (12_000, 4, 20),
        (45_000, 2, 20),  # and 16 MB hold 41,943 of X that lies by rows;
        (12_000, 2, 3),  # with few features that does not pay
    ],
)
def test_copying_branches_together_changes_nothing(n, n_classes, max_features, layout):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, 100)).astype(np.float32)
    X[:, 3] = np.where(X[:, 3] > 1, np.nan, 1.0)
    X[:, 4:20] = 7.0  # constants spoil what is foreseen of the draws
    X[:, 20:40] = rng.integers(0, 30, size=(n, 20))
    signal = X[:, 0] + X[:, 1] + rng.normal(size=n)
    y = np.round(signal * 8) / 8 if n_classes == 0 else np.digitize(signal, [-1, 0, 1])
    p = reference.Problem(
        X,
        np.minimum(y, n_classes - 1) if n_classes else y,
        n_classes=n_classes,
        task=rng.integers(0, 50, size=n),
        max_features=max_features,
        task_split_prob=0.3,
        min_samples_leaf=n / 60,
        seed=1,
        categorical=np.isin(np.arange(100), range(20, 40)),
    )
    assert_same_tree(kernel_tree(p, layout), reference.grow_tree(p))


@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_bytes_change_nothing(seed, weighted, n_classes):
    rng = np.random.default_rng(seed)
    n = 1_000
    X = rng.normal(size=(n, 12)).astype(np.float32)
    X[:, 1] = np.round(2 * X[:, 1])
    X[:, 2] = 5.0
    X[:, 3] = np.exp(8 * X[:, 3])
    X[:, 4] = 3e38 * np.tanh(X[:, 4])  # the range is no float32
    X[:, 5] = np.where(X[:, 5] > 0, np.float32(1), np.nextafter(np.float32(1), 2))
    X[:, 6] = X[:, 6] > 2.5
    X[rng.random(n) < 0.2, 7] = np.nan
    X[:, 8] = np.where(X[:, 8] > 1, np.nan, 1.0)
    X[:, 9] = np.nan
    X[:, 10] = rng.integers(0, 60, size=n)
    X[rng.random(n) < 0.1, 10] = np.nan
    X[n // 2 : n // 2 + 200] = X[:200]  # rows that are the same
    signal = (
        np.isin(X[:, 10], range(0, 60, 2))
        + X[:, 0]
        + X[:, 1]
        + np.nan_to_num(X[:, 7])
        + rng.normal(size=n)
    )
    y = np.round(signal * 8) / 8
    if n_classes:
        y = np.minimum(np.digitize(signal, [-1, 0, 1]), n_classes - 1)
    p = reference.Problem(
        X,
        y,
        n_classes=n_classes,
        weight=rng.integers(0, 9, size=n) / 8 if weighted else None,
        task=rng.integers(0, 30, size=n),
        max_features=1 if seed == 3 else 4,  # 1: without blocks
        n_cuts=5 if seed == 2 else 1,
        task_split_prob=0.3,
        min_samples_leaf=10,
        seed=seed,
        categorical=np.arange(12) == 10,
    )
    tree = kernel_tree(p, "bytes")
    assert_same_tree(tree, reference.grow_tree(p))
    for one, other in zip(tree, kernel_tree(p, "rows"), strict=True):
        assert_array_equal(one, other)


def test_zero_weight_is_no_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = rng.integers(0, 2, size=200)
    weight = rng.integers(0, 3, size=200).astype(float)
    kept = np.repeat(np.arange(200), weight.astype(int))
    task = rng.integers(0, 5, size=200)
    settings = {"n_classes": 2, "max_features": 2, "task_split_prob": 0.5, "seed": 3}
    a = kernel_tree(reference.Problem(X, y, weight=weight, task=task, **settings))
    b = kernel_tree(reference.Problem(X[kept], y[kept], task=task[kept], **settings))
    for one, other in zip(a[:7], b[:7], strict=True):
        assert_array_equal(one, other)


def test_growth_stops_when_told():
    p = reference.Problem(np.arange(9.0)[:, None], np.arange(9) % 2, n_classes=2)
    assert kernel_tree(p) is not None
    assert kernel_tree(p, stop=1) is None
