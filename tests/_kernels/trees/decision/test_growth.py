import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._kernels._random import stream_state
from kinlearn._kernels.trees.decision import _growth
from tests.reference import mt_tree as reference
from tests.seeds import seeds

CRITERIA = ["joint", "sum", "max"]


def make_problem(
    seed, *, n=60, n_features=4, n_tasks=3, n_labels=3, n_values=6, missing=0.0,
    max_weight=1, signal=0.7,
):  # fmt: skip
    """Binned rows whose label follows a feature that differs from task to task."""
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, n_values, (n, n_features)).astype(np.uint8)
    task = rng.integers(0, n_tasks, n).astype(np.int32)
    label = (bins[np.arange(n), task % n_features].astype(int) * n_labels) // n_values
    noise = rng.random(n) > signal
    label[noise] = rng.integers(0, n_labels, noise.sum())
    bins[rng.random(bins.shape) < missing] = reference.MISSING
    weight = rng.integers(1, max_weight + 1, n)
    n_bins = np.full(n_features, n_values, dtype=np.int32)
    return np.asfortranarray(bins), n_bins, task, label, weight


def options(**changed):
    defaults = {
        "criterion": "max", "purity": 1.0, "max_depth": 100, "min_samples_split": 2,
        "min_samples_leaf": 1, "min_weight_leaf": 0, "max_features": 100, "seed": 0,
    }  # fmt: skip
    return defaults | changed


def grow(bins, n_bins, task, label, weight, *, criterion, purity, max_depth,
         min_samples_split, min_samples_leaf, min_weight_leaf, max_features,
         seed, categorical=(), row_weight=1.0):  # fmt: skip
    """The kernel, with a cell for every pair of task and label that occurs."""
    pairs, cells = np.unique(np.stack([task, label]), axis=1, return_inverse=True)
    settings = _growth.Settings(
        criterion=CRITERIA.index(criterion), purity=purity, max_depth=max_depth,
        min_samples_split=min_samples_split, min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=0.0, max_features=max_features,
    )  # fmt: skip
    return _growth.grow_tree(
        bins, np.ascontiguousarray(bins), n_bins, cells.ravel().astype(np.int32),
        weight.astype(np.int64),
        pairs[0].astype(np.int32), pairs[1].astype(np.int32), int(task.max()) + 1,
        settings, min_weight_leaf, stream_state(seed, 0), 0,
        np.isin(np.arange(len(n_bins)), categorical).astype(np.uint8), row_weight,
    )  # fmt: skip


def decisions_of(tree, node):
    """Class weights of the tasks decided at a node, and those without rows."""
    _, decisions, values, _ = tree
    ends = np.append(decisions["first_value"][1:], len(values))
    found, inherited = {}, set()
    for d in np.flatnonzero(decisions["node"] == node):
        part = values[decisions["first_value"][d] : ends[d]]
        task = int(decisions["task"][d])
        found[task] = dict(
            zip(part["label"].tolist(), part["weight"].tolist(), strict=True)
        )
        if decisions["n_rows"][d] == 0:
            inherited.add(task)
    return found, inherited


def left_bins(tree, number):
    """The bins of a set of categories."""
    bits = np.unpackbits(tree[3][number].view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits[:255]).tolist())


def assert_equals_reference(tree, expected):
    waiting = [(0, expected)]
    n_nodes = 0
    while waiting:
        number, twin = waiting.pop()
        n_nodes += 1
        node = tree[0][number]
        assert (node["n_rows"], node["weight"]) == (twin.n_rows, twin.weight)
        assert_allclose(node["impurity"], twin.impurity, atol=1e-12)
        assert decisions_of(tree, number) == (twin.decisions, twin.inherited)
        assert node["feature"] == twin.feature
        if twin.left_set is None:
            assert node["bin"] == twin.bin
        else:
            assert left_bins(tree, node["bin"]) == twin.left_set
        assert bool(node["missing_left"]) == twin.missing_left
        assert_allclose(node["gain"], twin.gain, atol=1e-12)
        assert_allclose(node["decrease"], twin.decrease, rtol=1e-10, atol=1e-10)
        if twin.left is None:
            assert node["left"] == -1
        else:
            waiting += [(node["left"], twin.left), (node["left"] + 1, twin.right)]
    assert n_nodes == len(tree[0])


def check(problem, **changed):
    settings = options(**changed)
    tree = grow(*problem, **settings)
    assert_equals_reference(tree, reference.grow(*problem, **settings))
    return tree


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("seed", seeds(20, 80))
def test_tree_equals_reference(seed, categories, criterion):
    """Shapes, weights, missing values and settings drawn at random."""
    rng = np.random.default_rng(1000 + seed)
    problem = make_problem(
        seed,
        n=int(rng.integers(5, 120)),
        n_features=int(rng.integers(1, 7)),
        n_tasks=int(rng.choice([1, 2, 3, 8])),
        n_labels=int(rng.integers(2, 5)),
        n_values=int(rng.choice([2, 5, 40, 255])),
        missing=float(rng.choice([0.0, 0.2])),
        max_weight=int(rng.choice([1, 4])),
    )
    check(
        problem,
        criterion=criterion,
        purity=float(rng.choice([1.0, 0.8])),
        max_depth=int(rng.choice([2, 100])),
        min_samples_split=int(rng.choice([2, 10])),
        min_samples_leaf=int(rng.choice([1, 1, 5])),
        min_weight_leaf=int(rng.choice([0, 0, 8])),
        max_features=int(rng.choice([1, 2, 100])),
        seed=int(rng.integers(1 << 40)),
        categorical=np.flatnonzero(rng.random(7) < 0.6 * categories).tolist(),
        row_weight=float(rng.choice([1.0, 0.25, 2.0])),
    )


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(
    ("n_tasks", "n_labels"),
    [
        (1, 2),
        pytest.param(1, 5, marks=pytest.mark.slow),
        pytest.param(2, 2, marks=pytest.mark.slow),
        (2, 6),
    ],
)
def test_large_nodes_equal_reference(n_tasks, n_labels, missing, criterion):
    """Enough rows for a full histogram at the top of the tree."""
    problem = make_problem(
        7, n=1500, n_features=2, n_tasks=n_tasks, n_labels=n_labels, n_values=60,
        missing=missing,
    )  # fmt: skip
    check(problem, criterion=criterion, max_depth=3)
    check(problem, criterion=criterion, max_depth=3, categorical=[0])
    check(problem, criterion=criterion, max_depth=2, min_samples_leaf=100)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_small_tasks_equal_reference(criterion):
    problem = make_problem(3, n=300, n_features=3, n_tasks=120, n_values=30)
    check(problem, criterion=criterion, max_depth=6)
    check(problem, criterion=criterion, max_depth=6, categorical=[0, 2])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_heavy_weights_equal_reference(criterion):
    """Fixed-point weights are far larger than the table of x log x."""
    problem = list(make_problem(5, n=80, n_tasks=2, n_values=30))
    problem[4] = np.random.default_rng(0).integers(1, 1 << 40, 80)
    check(problem, criterion=criterion)


def test_rows_of_weight_zero_are_not_there():
    bins, n_bins, task, label, weight = make_problem(2, n=100)
    weight[::3] = 0
    kept = weight > 0
    part = np.asfortranarray(bins[kept]), n_bins, task[kept], label[kept], weight[kept]
    whole = grow(bins, n_bins, task, label, weight, **options())
    for a, b in zip(whole, grow(*part, **options()), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weight_two_equals_a_row_twice(criterion):
    bins, n_bins, task, label, weight = make_problem(4, max_weight=3, n_values=30)
    twice = np.repeat(np.arange(len(task)), weight)
    repeated = (
        np.asfortranarray(bins[twice]), n_bins, task[twice], label[twice],
        np.ones_like(twice),
    )  # fmt: skip
    settings = options(criterion=criterion)
    weighted = grow(bins, n_bins, task, label, weight, **settings)
    rows = grow(*repeated, **settings)
    for name in ("left", "feature", "bin", "weight"):
        assert_array_equal(weighted[0][name], rows[0][name])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_order_of_rows_and_tasks_does_not_matter(criterion):
    bins, n_bins, task, label, weight = make_problem(6, n_tasks=8, n=200, n_values=20)
    order = np.random.default_rng(0).permutation(len(task))
    shuffled = np.asfortranarray(bins[order]), n_bins, task[order], label[order]
    settings = options(criterion=criterion)
    first = grow(bins, n_bins, task, label, weight, **settings)
    again = grow(*shuffled, weight[order], **settings)
    renamed = grow(bins, n_bins, 7 - task, label, weight, **settings)
    for name in ("left", "feature", "bin", "n_rows"):
        assert_array_equal(first[0][name], again[0][name])
        assert_array_equal(first[0][name], renamed[0][name])


def test_every_way_down_decides_every_task_once():
    problem = make_problem(8, n=400, n_tasks=20, n_values=50)
    nodes, decisions, *_ = grow(*problem, **options(max_features=2, seed=3))
    decided = {v: set() for v in range(len(nodes))}
    for node, task in zip(decisions["node"], decisions["task"], strict=True):
        assert task not in decided[node]
        decided[node].add(int(task))
    for v, node in enumerate(nodes):  # children are numbered after their parents
        if node["left"] < 0:
            assert decided[v] == set(range(20))
        else:
            for child in (node["left"], node["left"] + 1):
                assert not decided[v] & decided[child]
                decided[child] |= decided[v]


def test_seed_decides_the_features():
    problem = make_problem(9, n=200, n_features=8, n_values=50)
    trees = [grow(*problem, **options(max_features=1, seed=s)) for s in (1, 1, 2)]
    assert_array_equal(trees[0][0], trees[1][0])
    assert trees[0][0].shape != trees[2][0].shape or (trees[0][0] != trees[2][0]).any()
