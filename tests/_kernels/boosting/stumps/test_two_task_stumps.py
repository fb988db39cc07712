"""The searches for two-task stumps against the plain twin."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._kernels.boosting.stumps._search_binary import HAS_AVX2
from kinlearn._kernels.boosting.stumps._stumps import best_cut, send_rows, sum_cells
from kinlearn.boosting.stumps._rows import BoostedRows, TableRows
from kinlearn.boosting.stumps._search import BinarySearch, MulticlassSearch, RootChoice
from kinlearn.boosting.stumps._table import LabelTable, SortedCells, search_ranges
from tests.reference import two_task_stumps as twin

MANY = 10_000


def make_table(rng, n=24, d=3, n_tasks=3, levels=5, missing=0.0):
    """A table of few values, its bins as the twin reads them, and the tasks."""
    X = rng.integers(levels, size=(n, d)).astype(float)
    X[rng.random((n, d)) < missing] = np.nan
    task = np.sort(np.concatenate([np.arange(n_tasks), rng.integers(n_tasks, size=n)]))
    task = task[:n]
    indptr = np.searchsorted(task, np.arange(n_tasks + 1)).astype(np.intp)
    table = SortedCells.of(X, np.arange(n, dtype=np.int32), indptr, None, 255)
    n_bins = table.bins.n_bins
    codes = np.where(np.isnan(X), twin.MISSING, table.bins.assign(X))
    return table, codes.tolist(), n_bins.tolist(), task.tolist()


class Weighted(TableRows):
    """Rows with weights that are given, as whole numbers."""

    def ask(self, method, *args):
        return getattr(self, method)(None, None, *args)

    def _whole(self, weights, scale):
        return self.given_weight


def rows_of(table, task, weight, label, n_labels, binary):
    indptr = np.searchsorted(task, np.arange(table.n_tasks + 1)).astype(np.intp)
    order, ones = np.arange(len(task), dtype=np.int32), np.ones(len(task))
    every = np.arange(table.n_tasks)
    chosen = BoostedRows(every, indptr, order, label, ones, ones, n_labels)
    rows = Weighted.of(chosen, table.cells, binary)
    rows.given_weight = weight
    return rows, LabelTable(table.cells, chosen, rows.first)


def find_by_signs(table, task, weight, choice, *, n_threads=1, number=0, **options):
    """The stump of a round, of signed weights."""
    label = (weight > 0).astype(np.int32)
    n_labels = np.full(table.n_tasks, 2, dtype=np.int32)
    rows, _ = rows_of(table, task, weight.astype(np.int32), label, n_labels, True)
    with search_ranges(table, n_threads) as run:
        search = BinarySearch(
            table=table, choice=choice, run=run, at_once=16, smoothing=0.0,
            weighting="optimal", **options,
        )  # fmt: skip
        return search.find(rows.ask, number).nodes


def find_by_scores(table, task, weight, label, n_labels, choice, smoothing):
    """The stump of a round, of weights of labels."""
    rows, labels = rows_of(table, task, weight, label, n_labels, False)
    with search_ranges(table, 1) as run:
        search = MulticlassSearch(
            table=table, choice=choice, run=run, at_once=1, smoothing=smoothing,
            labels=labels, n_labels=n_labels,
        )  # fmt: skip
        return search.find(rows.ask, 0).nodes


def edge_of_stump(nodes, codes, task, edge):
    """Edge of what the learner found, by walking the rows."""
    root = nodes[0]
    every = range(len(task))
    branches = twin.sides(codes, root.feature, root.cut, root.missing_left, every)
    out = 0.0
    for node, rows in zip(nodes, [every, *branches], strict=True):
        if node is not None and node.task >= 0:
            mine = [i for i in rows if task[i] == node.task]
            parts = twin.sides(codes, node.feature, node.cut, node.missing_left, mine)
            out += edge(node.task, *parts)
    return out


@pytest.mark.parametrize("avx2", [False, pytest.param(True, marks=pytest.mark.skipif(
    not HAS_AVX2, reason="the processor lacks AVX2"))])  # fmt: skip
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_tasks", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_sign_stump_is_the_best_of_all_roots(seed, n_tasks, missing, avx2):
    rng = np.random.default_rng(seed)
    table, codes, n_bins, task = make_table(rng, n_tasks=n_tasks, missing=missing)
    weight = rng.integers(1, 10**6, size=len(task))
    y = rng.choice([-1, 1], size=len(task))
    choice = RootChoice("best", MANY, 0)
    nodes = find_by_signs(table, task, weight * y, choice, avx2=avx2)

    def edge(_, left, right):
        return twin.sign_edge(weight, y, left, right)

    best = max(
        twin.best_of_root(codes, n_bins, task, edge, root, lambda i: weight[i])
        for root in twin.all_roots(codes, n_bins, task, edge)
    )
    assert edge_of_stump(nodes, codes, task, edge) == best
    for node in nodes[1:]:  # a child of another task, unless there is none
        assert node is None or n_tasks == 1 or node.task != nodes[0].task


@pytest.mark.parametrize("chooser", ["best", "best_per_task"])
@pytest.mark.parametrize("seed", range(4))
def test_roots_are_those_of_largest_edge(seed, chooser):
    rng = np.random.default_rng(seed)
    table, codes, n_bins, task = make_table(rng, missing=0.1)
    weight = rng.integers(1, 10**6, size=len(task))
    y = rng.choice([-1, 1], size=len(task))
    n_roots = 4
    nodes = find_by_signs(table, task, weight * y, RootChoice(chooser, n_roots, 0))

    def edge(_, left, right):
        return twin.sign_edge(weight, y, left, right)

    roots = sorted(twin.all_roots(codes, n_bins, task, edge), reverse=True)
    groups = [roots]
    if chooser == "best_per_task":
        groups = [[r for r in roots if r[1] == t] for t in range(3)]
    chosen = [root for group in groups for root in group[:n_roots]]
    best = max(
        twin.best_of_root(codes, n_bins, task, edge, root, lambda i: weight[i])
        for root in chosen
    )
    assert edge_of_stump(nodes, codes, task, edge) == best


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_tasks", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_score_stump_is_the_best_of_all_roots(seed, n_tasks, missing):
    rng = np.random.default_rng(seed)
    table, codes, n_bins, task = make_table(rng, n_tasks=n_tasks, missing=missing)
    n_labels = rng.integers(2, 5, size=n_tasks).astype(np.int32)
    y = np.array([rng.integers(n_labels[t]) for t in task], dtype=np.int32)
    weight = [rng.integers(1, 10**6, size=n_labels[t]).astype(float) for t in task]
    choice = RootChoice("best", MANY, 0)
    flat = np.concatenate(weight)
    nodes = find_by_scores(table, task, flat, y, n_labels, choice, 0.0)

    def edge(t, left, right):
        return twin.score_edge(weight, y, n_labels[t], left, right)

    best = max(
        twin.best_of_root(codes, n_bins, task, edge, root, lambda i: weight[i].sum())
        for root in twin.all_roots(codes, n_bins, task, edge)
    )
    assert_allclose(edge_of_stump(nodes, codes, task, edge), best, rtol=1e-10)


def test_scores_are_half_log_odds():
    rng = np.random.default_rng(0)
    table, codes, _, task = make_table(rng)
    n_labels = np.full(3, 3, dtype=np.int32)
    y = rng.integers(3, size=len(task)).astype(np.int32)
    weight = rng.integers(1, 100, size=(len(task), 3)).astype(float)
    choice = RootChoice("best", 5, 0)
    root, *_ = find_by_scores(table, task, weight.ravel(), y, n_labels, choice, 0.01)
    mine = [i for i in range(len(task)) if task[i] == root.task]
    parts = twin.sides(codes, root.feature, root.cut, root.missing_left, mine)
    eps = 0.01 * weight.sum()
    for part, scores in zip(parts, root.values, strict=True):
        for k in range(3):
            plus = sum(weight[i, k] for i in part if y[i] == k)
            minus = sum(weight[i, k] for i in part if y[i] != k)
            assert_allclose(scores[k], 0.5 * np.log((plus + eps) / (minus + eps)))


@pytest.mark.parametrize("chooser", ["best", "best_per_task", "stochastic"])
def test_ranges_and_threads_change_nothing(chooser, monkeypatch):
    from kinlearn.boosting.stumps import _table

    rng = np.random.default_rng(0)
    table, _, _, task = make_table(rng, n=400, d=30, levels=60, n_tasks=8)
    weight = rng.integers(-(10**5), 10**5, size=len(task)).astype(np.int32)
    choice = RootChoice(chooser, 20, 3)
    found = []
    for cells, threads in ((1 << 23, 1), (500, 1), (500, 3)):
        monkeypatch.setattr(_table, "_CELLS", cells)
        monkeypatch.setattr(_table, "_FEW_CELLS", 0)
        stump = find_by_signs(table, task, weight, choice, n_threads=threads)
        found.append(str(stump))
    assert found[0] == found[1] == found[2]


def test_stochastic_roots_are_drawn_by_inverse_score():
    # One task, one feature of four values: three stumps with known scores.
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], 2, axis=0)
    indptr = np.array([0, 8], dtype=np.intp)
    table = SortedCells.of(X, np.arange(8, dtype=np.int32), indptr, None, 255)
    weight = np.array([9, 9, 4, 4, -5, -5, 2, 2], dtype=np.int32)
    total = np.abs(weight).sum()
    edges = [abs(weight[:k].sum()) + abs(weight[k:].sum()) for k in (2, 4, 6)]
    odds = np.array([1 / ((1 - e / total) / 2) for e in edges])
    counts = np.zeros(3)
    n_draws = 4000
    task = np.zeros(8, dtype=np.int32)
    for seed in range(n_draws):
        choice = RootChoice("stochastic", 1, seed)
        counts[find_by_signs(table, task, weight, choice)[0].cut] += 1
    expected = odds / odds.sum()
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert (np.abs(counts / n_draws - expected) < 4 * error).all()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_rows_are_sent_as_the_bins_say(missing):
    rng = np.random.default_rng(1)
    table, codes, n_bins, task = make_table(rng, missing=missing)
    side = np.empty(len(task), dtype=np.uint8)
    for feature in range(3):
        for cut in range(n_bins[feature]):
            for t in range(3):
                send_rows(table.cells, feature, cut, True, t, side)
            expected = [twin.goes_left(row[feature], cut, True) for row in codes]
            assert_array_equal(side, expected)


def test_sparse_table_has_the_same_cells():
    import scipy.sparse as sp

    rng = np.random.default_rng(2)
    X = rng.integers(4, size=(60, 150)) * (rng.random((60, 150)) < 0.2)
    X = X.astype(float)
    order = np.arange(60, dtype=np.int32)
    indptr = np.array([0, 25, 60], dtype=np.intp)
    task = np.repeat([0, 1], [25, 35])
    weight = rng.integers(-(10**5), 10**5, size=60).astype(np.int32)
    found = []
    for table in (X, sp.csr_array(X), sp.csc_matrix(X)):
        cells = SortedCells.of(table, order, indptr, None, 255)
        choice = RootChoice("best", 30, 0)
        found.append(str(find_by_signs(cells, task, weight, choice)))
        assert cells.group_end[-1] <= np.count_nonzero(X)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("n_labels", [0, 2, 3])
@pytest.mark.parametrize("seed", range(15))
def test_best_cut_by_trying_all(seed, n_labels):
    rng = np.random.default_rng(seed)
    n_bins = int(rng.integers(1, 6))
    width = max(2 * n_labels, 1)
    sums = np.zeros((256, width + 2))
    sums[:n_bins, -1] = rng.integers(0, 3, n_bins)
    sums[255, -1] = rng.integers(0, 2)
    sums[:, :width] = sums[:, -1:] * rng.integers(1, 50, (256, width))
    sums[:, -2] = sums[:, :width].sum(axis=1)
    if n_labels == 0:
        sums[:, 0] = np.rint(sums[:, 0] * rng.uniform(-1, 1, 256))

    def edge(cut, missing_left):
        goes = np.arange(256) <= cut
        goes[255] = missing_left
        sides = [sums[rows, :width].sum(axis=0) for rows in (goes, ~goes)]
        if n_labels == 0:
            return sum(abs(side[0]) for side in sides)
        # what the best scores leave is twice the root of what is for and against
        left = [2 * np.sqrt(s[:n_labels] * s[n_labels:]).sum() for s in sides]
        return sums[:, :width].sum() - sum(left)

    found = best_cut(sums, n_bins, n_labels)
    tried = [edge(cut, left) for cut in range(n_bins) for left in (False, True)]
    assert_allclose(edge(*found), max(tried), rtol=1e-12)
    if sums[255, -1] == 0:  # nothing is missing: to the heavier side
        size = sums[:, -2]
        assert found[1] == (2 * size[: found[0] + 1].sum() >= size.sum())


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_rows_are_added_up_by_cell(dtype):
    rng = np.random.default_rng(0)
    values = rng.integers(-50, 50, (20, 3)).astype(dtype)
    rows = rng.integers(20, size=30).astype(np.int32)
    ends = np.array([4, 5, 17, 30])
    cell = np.array([2, 0, 5, 3], dtype=np.int32)
    out = np.ones((6, 3), dtype=dtype)
    sum_cells(
        2 * rows + rng.integers(2, size=30, dtype=np.int32), ends, cell, values, out
    )
    expected = np.ones((6, 3))
    for number, mine in zip(cell, np.split(rows, ends[:-1]), strict=True):
        expected[number] += values[mine].sum(axis=0)
    assert_array_equal(out, expected)
