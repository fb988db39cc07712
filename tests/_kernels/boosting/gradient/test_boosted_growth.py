"""Trees whose rows lie in partitions, from the kernels that Python can call."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn._kernels.boosting.gradient._boosted_growth import Growth
from kinlearn._kernels.boosting.gradient._find_split import SplitSearch
from kinlearn._kernels.boosting.gradient._grow_boosted import Grower
from kinlearn._kernels.boosting.gradient._leaf_rows import LeafRows
from kinlearn.boosting.gradient._model import LEAF, NODE, SPLIT, TASK

N, N_TASKS, MAX_LEAVES = 600, 9, 12
N_BINS = np.array([6, 9, 5, 7], dtype=np.int32)
UNITS = {"g_unit": 2.0**-40, "h_unit": 2.0**-40, "bits": 10}


def make_problem(seed):
    """Bins, tasks, and gradients in which both matter, as integers."""
    rng = np.random.default_rng(seed)
    bins = np.stack([rng.integers(0, n + 1, size=N) for n in N_BINS], axis=1)
    task = rng.integers(0, N_TASKS, size=N).astype(np.int32)
    level = rng.normal(size=9)
    g = 0.3 * bins[:, 0] + level[task] * (bins[:, 1] > 3) + level[bins[:, 2]]
    pairs = np.empty((N, 2), dtype=np.int64)
    pairs[:, 0] = np.rint((g - g.mean() + 0.3 * rng.normal(size=N)) * 2.0**40)
    pairs[:, 1] = (rng.integers(2**39, 2**40, size=N) << 10) + 1
    return bins.astype(np.uint8), task, pairs


def make_growth(*, direction=(0, 0, 0, 0), groups=(), max_features=4, task_splits=True):
    search = SplitSearch(
        N_BINS,
        np.array([0, 0, 1, 0], dtype=np.uint8),
        np.array(direction, dtype=np.int8),
        np.array(groups, dtype=np.uint8).reshape(-1, 4),
        N_TASKS,
        least_count=3,
        least_h=1e-3,
        max_features=max_features,
        l2=0.5,
        task_splits=task_splits,
    )
    search.begin(**UNITS, noise=0.1, seed=7)
    return Growth(search, max_leaves=MAX_LEAVES, max_depth=6)


def tree_of(growth):
    out = (
        np.empty(growth.n_nodes, dtype=NODE),
        *np.empty((3, growth.n_nodes)),
        np.empty(growth.n_set_bytes, dtype=np.uint8),
        np.empty(growth.n_leaves),
        np.empty((growth.n_leaves, 2)),
    )
    growth.copy_tree(*out)
    nodes, _, value, *_, leaf_value, _ = out
    leaf = nodes["feature"] == LEAF
    assert_array_equal(leaf_value[nodes["left"][leaf]], value[leaf])
    return out


def begin(bins, task, pairs):
    rows, sums = (
        LeafRows(bins, N_BINS, task, N_TASKS, MAX_LEAVES),
        np.empty(2, dtype=np.int64),
    )
    rows.begin(pairs, np.arange(len(bins), dtype=np.int32), sums)
    return rows, sums


def sums_of(partitions, leaf):
    """The histogram of a leaf and its sums by task, added over partitions."""
    cells = np.zeros((partitions[0].n_cells, 2), dtype=np.int64)
    tasks = np.zeros((N_TASKS, 2), dtype=np.int64)
    for rows in partitions:
        some, of_tasks = np.empty_like(cells), np.empty_like(tasks)
        rows.fill_leaf(leaf, some, of_tasks)
        cells += some
        tasks += of_tasks
    return cells, tasks


def grow_in_partitions(growth, partitions, sums):
    split = np.empty(1, dtype=SPLIT)
    bits = np.empty(growth.search.set_bytes, dtype=np.uint8)
    growth.begin(sums)
    assert growth.wants_split(0)
    growth.find_split(0, *sums_of(partitions, 0))
    while (leaf := growth.best_leaf()) >= 0:
        growth.copy_split(leaf, split, bits)
        other = growth.split_leaf(leaf)
        for rows in partitions:
            rows.part_leaf(leaf, other, split, bits)
        for child in (leaf, other):
            if growth.wants_split(child):
                growth.find_split(child, *sums_of(partitions, child))


CASES = {
    "plain": {},
    "rising": {"direction": [1, -1, 0, 0]},
    "groups": {"groups": [[1, 0, 1, 0], [0, 1, 0, 1]]},
    "draws": {"max_features": 2},
    "no task splits": {"task_splits": False},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_trees_do_not_depend_on_where_rows_lie(case, seed):
    bins, task, pairs = make_problem(seed)
    whole = make_growth(**CASES[case])
    rows, sums = begin(bins, task, pairs)
    Grower(whole, rows).grow(sums)

    in_partitions = make_growth(**CASES[case])
    order = np.random.default_rng(seed).permutation(N)
    places = np.split(order, [100, 110, 400])
    some = [begin(bins[p], task[p], pairs[p]) for p in places]
    partitions = [part for part, _ in some]
    grow_in_partitions(in_partitions, partitions, sum(part for _, part in some))

    for one, two in zip(tree_of(whole), tree_of(in_partitions), strict=True):
        assert_array_equal(one, two)
    assert whole.n_leaves > 6
    kinds = set(tree_of(whole)[0]["feature"].tolist())
    assert (TASK in kinds) == (case != "no task splits")


def test_rows_and_sums_by_task_are_those_of_the_leaves():
    bins, task, pairs = make_problem(0)
    growth = make_growth()
    rows, sums = begin(bins, task, pairs)
    Grower(growth, rows).grow(sums)
    n = growth.n_leaves
    by_leaf, start = np.empty(N, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    rows.leaf_rows(by_leaf, start)
    assert_array_equal(np.sort(by_leaf), np.arange(N))
    of_task = np.empty((n, N_TASKS, 2), dtype=np.int64)
    rows.task_sums(of_task)
    values, departures = np.arange(1.0, n + 1), np.arange(n * N_TASKS).reshape(n, -1)
    scores = np.zeros(N)
    rows.add_values(values, departures / 7, scores)
    for leaf in range(n):
        mine = by_leaf[start[leaf] : start[leaf + 1]]
        assert rows.leaf_size(leaf) == len(mine)
        assert (np.diff(mine) > 0).all()
        assert_array_equal(
            scores[mine], values[leaf] + departures[leaf, task[mine]] / 7
        )
        for t in range(N_TASKS):
            assert_array_equal(
                of_task[leaf, t], pairs[mine[task[mine] == t]].sum(axis=0)
            )


def test_a_split_and_the_parting_of_rows_by_it_agree():
    bins, task, pairs = make_problem(1)
    growth = make_growth()
    rows, sums = begin(bins, task, pairs)
    split = np.empty(1, dtype=SPLIT)
    bits = np.empty(growth.search.set_bytes, dtype=np.uint8)
    cells, tasks = sums_of([rows], 0)
    growth.search.find_split(
        cells,
        tasks,
        sums,
        lower=-np.inf,
        upper=np.inf,
        open=np.empty(0, dtype=np.uint8),
        path=0,
        split=split,
        bits=bits,
    )
    assert split["gain"][0] > 0
    rows.part_leaf(0, 1, split, bits)
    left, right = sums_of([rows], 0)[1].sum(axis=0), sums_of([rows], 1)[1].sum(axis=0)
    assert left.tolist() == [split["left_g"][0], split["left_hc"][0]]
    assert_array_equal(left + right, sums)
