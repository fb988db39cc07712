"""Features as sorted cells: the form in which stumps are searched for."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn._binning import Bins, bin_features, bin_sparse, feature_edges, join_bins
from kinlearn._kernels.boosting.stumps._stumps import Cells, send_rows, sort_entries

__all__ = ["BLOCK", "SortedCells", "search_parts"]

# Features that are binned at a time: they stay near each other in the search, so
# that the rows of a small task are read from the nearest cache.
BLOCK = 64


@dataclass(frozen=True, eq=False)
class SortedCells:
    """A table whose cells are sorted by task, feature and bin.

    Rows are numbered task by task from here on.
    """

    bins: Bins  # edges of the bins
    cells: Any  # what the kernels read
    order: np.ndarray  # (n,) rows of X, task by task
    indptr: np.ndarray  # (n_tasks + 1,) boundaries of the tasks in `order`
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
        """Bin the features and sort the cells."""
        n_features = X.shape[1]
        n_tasks = len(indptr) - 1
        if sp.issparse(X):
            X = X.tocsc()
            X.sum_duplicates()
            most = X.nnz
        else:
            most = len(order) * n_features
        # An upper limit; memory that is never written to is never taken.
        entry, code = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.uint8)
        common = np.empty(n_features, dtype=np.uint8)
        edges, groups, n_filled = [], [], 0
        for first in range(0, n_features, BLOCK):
            last = min(first + BLOCK, n_features)
            given = cuts and cuts[first:last]
            bins, codes = _bins(X[:, first:last], weight, max_bins, given)
            edges.append(bins)
            room = n_tasks * (last - first)
            found = (
                np.empty(room, dtype=np.int32),
                np.empty(room, dtype=np.int32),
                np.empty(room, dtype=np.uint8),
                np.empty((room, 3), dtype=np.int64),
            )
            n_groups, n_filled = sort_entries(
                codes, order, indptr, first, n_filled, entry, code,
                common[first:last], *found,
            )  # fmt: skip
            groups.append([each[:n_groups] for each in found])
        task, feature, group_common, part_end = (
            np.concatenate(part) for part in zip(*groups, strict=True)
        )
        bins = _join_bins(edges)
        by_feature = np.lexsort((task, feature)).astype(np.int32)
        cells = Cells(
            indptr, entry[:n_filled], code[:n_filled], task, feature, group_common,
            part_end, common,
            np.searchsorted(feature[by_feature], np.arange(n_features + 1)),
            by_feature, bins.n_bins,
        )  # fmt: skip
        end = part_end[:, 2].copy()
        lost = bool((part_end[:, 1] < end).any())
        return cls(bins, cells, order, indptr, task, feature, end, lost)

    @property
    def n_rows(self) -> int:
        """Number of rows that take part."""
        return len(self.order)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.indptr) - 1

    def most_tests(self, per_task: bool) -> int:
        """No more tests than that can be tried, of all tasks or of one.

        A group of e cells has at most e cuts, each with missing values on either
        side, and one that sets these apart.
        """
        tests = 2 * np.diff(self.group_end, prepend=0) + 1
        if per_task and len(tests):
            tests = np.bincount(self.group_task, tests).max()
        return max(int(np.sum(tests)), 1)

    def rows(self, task: int) -> slice:
        """The rows of a task, as a slice."""
        return slice(self.indptr[task], self.indptr[task + 1])

    def send(
        self, feature: int, cut: int, missing_left: bool, task: int, side: np.ndarray
    ) -> None:
        """Fill in which rows of a task a test sends to the left."""
        send_rows(self.cells, feature, cut, missing_left, task, side)

    def ranges(self, n_parts: int) -> list[tuple[int, int]]:
        """Stretches of groups with about as many cells each."""
        n_groups = len(self.group_end)
        # a group costs something even if it has few cells
        cost = self.group_end + 8 * np.arange(1, n_groups + 1)
        total = cost[-1] if n_groups else 0
        inner = np.searchsorted(cost, total * np.arange(1, n_parts) / n_parts)
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


def _join_bins(parts: Sequence[Bins]) -> Bins:
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return Bins(np.concatenate([part.edges for part in parts]), indptr)


# Cells of a part: a tenth of a second or so, after which Ctrl-C is noticed.
_CELLS = 1 << 23
# Fewer cells are not worth a second thread.
_FEW_CELLS = 1 << 16


@contextmanager
def search_parts(
    table: SortedCells, n_threads: int
) -> Iterator[Callable[[Callable[[int, int], Any]], list[Any]]]:
    """What calls a search for stretches of groups that cover the table.

    The stretches do not depend on the number of threads beyond where they end,
    and results come in their order, so who merges them by "the first of the best"
    gets the same for any number.
    """
    n_cells = int(table.group_end[-1]) if len(table.group_end) else 0
    if n_cells < _FEW_CELLS:
        n_threads = 1
    ranges = table.ranges(max(n_threads, -(-n_cells // _CELLS)))
    if n_threads == 1:
        yield lambda search: [search(*part) for part in ranges]
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield lambda search: list(pool.map(lambda part: search(*part), ranges))
