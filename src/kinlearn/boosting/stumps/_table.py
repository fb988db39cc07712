"""Features as sorted cells: the form in which stumps are searched for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn._binning import Bins, bin_features, bin_sparse, feature_edges, join_bins
from kinlearn._kernels.boosting.stumps._search_multiclass import LabelWeights
from kinlearn._kernels.boosting.stumps._stumps import BLOCK, Cells, sort_entries
from kinlearn.boosting.stumps._rows import BoostedRows, Sums, split_weights

__all__ = ["LabelTable", "SortedCells", "search_ranges", "sort_cells"]


def sort_cells(
    blocks: Iterable[np.ndarray],
    order: np.ndarray,
    indptr: np.ndarray,
    most: int,
    common: tuple[np.ndarray, np.ndarray] | None = None,
) -> dict[str, Any]:
    """Sort the cells of blocks of features: arguments of `Cells`.

    `most` is an upper limit of what is stored. `common` are the common bins by task and
    feature, and by feature; None is the most frequent of these rows.
    """
    # Memory that is never written to is never taken.
    entry, bins = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.uint8)
    groups, of_features, first, n_filled = [], [], 0, 0
    for codes in blocks:
        here = slice(first, first + codes.shape[1])
        n_pairs = (len(indptr) - 1) * codes.shape[1]
        found = (
            np.empty(n_pairs, dtype=np.int32),
            np.empty(n_pairs, dtype=np.int32),
            np.empty(n_pairs, dtype=np.uint8),
            np.empty((n_pairs, 3), dtype=np.int64),
        )
        common_bins, of_feature = None, np.empty(codes.shape[1], dtype=np.uint8)
        if common is not None:
            common_bins, of_feature = common[0][:, here], common[1][here].copy()
        n_groups, n_filled = sort_entries(
            codes, order, indptr, first, n_filled, common_bins, entry, bins, of_feature,
            *found,
        )  # fmt: skip
        groups.append([each[:n_groups] for each in found])
        of_features.append(of_feature)
        first = here.stop
    names = ("group_task", "group_feature", "group_common", "part_end")
    return {
        "entry": entry[:n_filled],
        "bins": bins[:n_filled],
        "feature_common": np.concatenate(of_features),
        **{
            name: np.concatenate(each)
            for name, each in zip(names, zip(*groups, strict=True), strict=True)
        },
    }


@dataclass(frozen=True, eq=False)
class SortedCells:
    """A table whose cells are sorted by task, feature and bin."""

    bins: Bins  # edges of the bins
    cells: Cells  # what the kernels read
    n_tasks: int
    group_task: np.ndarray  # (n_groups,) the pairs that have something to search in
    group_feature: np.ndarray  # (n_groups,) the pairs that have something to search in
    group_end: np.ndarray  # (n_groups,) cells of the groups up to each one
    has_missing: bool  # whether some value is missing

    @classmethod
    def of(
        cls,
        X: Any,
        order: np.ndarray,
        indptr: np.ndarray,
        weight: np.ndarray | None,
        max_bins: int,
        cuts: Sequence[np.ndarray] | None = None,
    ) -> Self:
        """Bin the features of some rows, task by task, and sort their cells."""
        n_features, most = X.shape[1], len(order) * X.shape[1]
        if sp.issparse(X):
            X = X.tocsc()
            X.sum_duplicates()
            most = X.nnz
        edges: list[Bins] = []

        def blocks() -> Iterator[np.ndarray]:
            for first in range(0, n_features, BLOCK):
                here = slice(first, min(first + BLOCK, n_features))
                bins, codes = _bins(X[:, here], weight, max_bins, cuts and cuts[here])
                edges.append(bins)
                yield codes

        arrays = sort_cells(blocks(), order, indptr, most)
        sizes = np.concatenate([np.diff(bins.indptr) for bins in edges])
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        bins = Bins(np.concatenate([bins.edges for bins in edges]), ends)
        return cls.from_arrays(bins, indptr, arrays)

    @classmethod
    def from_arrays(
        cls, bins: Bins, indptr: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> Self:
        """From what `sort_cells` gives."""
        above, end = arrays["part_end"][:, 1], arrays["part_end"][:, 2].copy()
        return cls(
            bins=bins,
            cells=Cells(indptr, **arrays, n_bins=bins.n_bins),
            n_tasks=len(indptr) - 1,
            group_task=arrays["group_task"],
            group_feature=arrays["group_feature"],
            group_end=end,
            has_missing=bool((above < end).any()),
        )

    @property
    def n_cells(self) -> int:
        """Number of cells that are stored."""
        return int(self.group_end[-1]) if len(self.group_end) else 0

    @cached_property
    def most_tests(self) -> tuple[int, int]:
        """No more tests than that can be tried, of all tasks, and of one.

        A group of e cells has at most e cuts, each with missing values on either
        side, and one that sets these apart.
        """
        tests = 2 * np.diff(self.group_end, prepend=0) + 1
        of_task = np.bincount(self.group_task, tests, minlength=1)
        return max(int(tests.sum()), 1), max(int(of_task.max()), 1)

    def ranges(self, n_ranges: int) -> list[tuple[int, int]]:
        """Stretches of groups with about as many cells each."""
        n_groups = len(self.group_end)
        if not self.n_cells:
            return []
        # a group costs something even if it has few cells
        cost = self.group_end + 8 * np.arange(1, n_groups + 1)
        inner = np.searchsorted(cost, cost[-1] * np.arange(1, n_ranges) / n_ranges)
        bounds = np.unique(np.concatenate([[0], inner, [n_groups]]))
        return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def _bins(
    block: Any,
    weight: np.ndarray | None,
    max_bins: int,
    cuts: Sequence[np.ndarray] | None,
) -> tuple[Bins, np.ndarray]:
    if not cuts:
        bin_block = bin_sparse if sp.issparse(block) else bin_features
        return bin_block(block, weight, max_bins)
    block = block.toarray() if sp.issparse(block) else block
    edges = [
        np.union1d(given, feature_edges(column, weight, max(max_bins - len(given), 2)))
        for column, given in zip(block.T, cuts, strict=True)
    ]
    bins = join_bins(edges)
    return bins, bins.assign(block)


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Weights of the labels of all rows, as the kernels of MH read them."""

    cells: Cells
    rows: BoostedRows
    first: np.ndarray  # (n_tasks + 1,) where the weights of each task begin
    _last: dict[str, Any] = field(default_factory=dict)

    def weights(self, sums: Sums) -> LabelWeights:
        """Of all rows."""
        rows = self.rows
        if rows.own is None:
            return LabelWeights(self.first, rows.n_labels, rows.label, sums.cells)
        if self._last.get("of") is not sums.cells:  # each root wants them again
            split = split_weights(self.first, rows.n_labels, rows.own, sums.cells)
            self._last.update({"of": sums.cells, "weights": split})
        return self._last["weights"]

    def divided(
        self, sums: Sums, left: np.ndarray
    ) -> tuple[Cells, LabelWeights, np.ndarray]:
        """A table, its weights, and which of its rows are on the left of a root."""
        return self.cells, self.weights(sums), left


# Cells of a range: a tenth of a second or so, after which Ctrl-C is noticed.
_CELLS = 1 << 23
# Fewer cells are not worth a second thread.
_FEW_CELLS = 1 << 16


@contextmanager
def search_ranges(
    table: SortedCells, n_threads: int
) -> Iterator[Callable[[Callable[[int, int], Any]], list[Any]]]:
    """What calls a search for stretches of groups that cover the table.

    The stretches do not depend on the number of threads beyond where they end,
    and results come in their order, so who merges them by "the first of the best"
    gets the same for any number.
    """
    if table.n_cells < _FEW_CELLS:
        n_threads = 1
    ranges = table.ranges(max(n_threads, -(-table.n_cells // _CELLS)))
    if n_threads == 1:
        yield lambda search: [search(*groups) for groups in ranges]
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield lambda search: list(pool.map(lambda groups: search(*groups), ranges))
