import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._kernels.transfer import _weighted_tree
from tests.reference import tradaboost as reference


def make_problem(seed, *, n=40, n_features=4, n_values=5, n_classes=2, missing=0.0):
    """Binned rows of unequal weight, mostly in bin 1, whose label is a noisy rule."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_values, (n, n_features))
    codes[rng.random(codes.shape) < 0.5] = 1
    y = (codes[:, 0] + codes[:, 1] * (codes[:, 2] > 1)) % n_classes
    noise = rng.random(n) < 0.2
    y[noise] = rng.integers(0, n_classes, noise.sum())
    codes[rng.random(codes.shape) < missing] = reference.MISSING
    weight = rng.integers(1, 50, n)
    is_target = rng.random(n) < 0.3
    is_target[0] = True
    return codes, y, weight, is_target


def as_lines(codes, n_values):
    """All bins; the missing one comes after the last."""
    lines = np.where(codes == reference.MISSING, n_values, codes).astype(np.uint8)
    empty = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8)
    return lines, *empty


def as_sparse(codes, n_values, common):
    """Only the bins that are not the common one."""
    lines = np.where(codes == reference.MISSING, n_values, codes).astype(np.uint8)
    kept = lines != common
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    columns = np.nonzero(kept)[1].astype(np.int32)
    nothing = np.empty((0, codes.shape[1]), np.uint8)
    return nothing, indptr, columns, lines[kept]


def grow(storage, problem, *, n_values, n_classes, trim, max_depth=99, rows=None):
    codes, y, weight, is_target = problem
    n, d = codes.shape
    rows = np.arange(n) if rows is None else rows
    answers = np.full(len(rows), -1, dtype=np.int32)
    nodes = _weighted_tree.grow_tree(
        *storage,
        np.ones(d, np.uint8),
        np.full(d, n_values, np.int32),
        rows.astype(np.int32),
        y[rows].astype(np.int32),
        weight[rows].astype(np.int64),
        is_target[rows].astype(np.uint8),
        n_classes,
        max_depth,
        reference.CHANCE if trim else 0.0,
        answers,
    )
    return nodes, answers


def depth_of(nodes):
    depth = np.zeros(len(nodes), dtype=int)
    for v in range(len(nodes)):
        if nodes["left"][v] >= 0:
            depth[nodes["left"][v] : nodes["left"][v] + 2] = depth[v] + 1
    return depth.max()


def walk(nodes, line, n_bins):
    v = 0
    while nodes["left"][v] >= 0:
        code = line[nodes["feature"][v]]
        left = code <= nodes["bin"][v]
        if code == n_bins:
            left = nodes["missing_left"][v]
        v = nodes["left"][v] + (not left)
    return nodes["label"][v]


@pytest.mark.parametrize("trim", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_tree_is_that_of_the_slow_twin(seed, n_classes, missing, trim):
    problem = make_problem(seed, n_classes=n_classes, missing=missing)
    wanted, depth = reference.grow_labels(*problem, n_classes, trim=trim)
    lines = as_lines(problem[0], 5)
    nodes, answers = grow(lines, problem, n_values=5, n_classes=n_classes, trim=trim)
    assert_array_equal(answers, wanted)
    assert depth_of(nodes) == depth
    by_walk = [walk(nodes, line, 5) for line in lines[0]]
    assert_array_equal(by_walk, wanted)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_rows_without_their_common_bins_give_the_same_tree(seed, missing):
    problem = make_problem(seed, n=120, n_features=7, n_classes=3, missing=missing)
    options = {"n_values": 5, "n_classes": 3, "trim": False}
    whole, answers = grow(as_lines(problem[0], 5), problem, **options)
    sparse, same = grow(as_sparse(problem[0], 5, 1), problem, **options)
    assert_array_equal(same, answers)
    assert_array_equal(sparse, whole)


@pytest.mark.parametrize("sparse", [True, False])
def test_only_the_rows_that_take_part_decide(sparse):
    problem = make_problem(5, n=90)
    some = np.flatnonzero(np.arange(90) % 3 > 0)
    store = as_sparse(problem[0], 5, 1) if sparse else as_lines(problem[0], 5)
    options = {"n_values": 5, "n_classes": 2, "trim": False}
    _, answers = grow(store, problem, rows=some, **options)
    part = tuple(each[some] for each in problem)
    wanted, _ = reference.grow_labels(*part, 2, trim=False)
    assert_array_equal(answers, wanted)


def test_depth_is_limited():
    problem = make_problem(1, n=200)
    lines = as_lines(problem[0], 5)
    nodes, answers = grow(
        lines, problem, n_values=5, n_classes=2, trim=False, max_depth=2
    )
    wanted, _ = reference.grow_labels(*problem, 2, trim=False, max_depth=2)
    assert depth_of(nodes) == 2
    assert_array_equal(answers, wanted)


def test_rows_of_one_class_are_one_leaf():
    codes, y, weight, is_target = make_problem(0)
    problem = codes, np.ones_like(y), weight, is_target
    nodes, answers = grow(
        as_lines(codes, 5), problem, n_values=5, n_classes=2, trim=True
    )
    assert len(nodes) == 1
    assert_array_equal(answers, 1)


def test_a_value_missing_for_the_first_time_goes_to_the_heavier_side():
    codes = np.array([[0], [2], [2]])
    problem = codes, np.array([0, 1, 1]), np.array([9, 2, 2]), np.ones(3, bool)
    options = {"n_values": 3, "n_classes": 2, "trim": False}
    nodes, _ = grow(as_lines(codes, 3), problem, **options)
    assert walk(nodes, [3], 3) == 0
    light = problem[0], problem[1], np.array([3, 2, 2]), problem[3]
    nodes, _ = grow(as_lines(codes, 3), light, **options)
    assert walk(nodes, [3], 3) == 1
