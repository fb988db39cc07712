"""Features as sorted cells: the form in which stumps are searched for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn._kernels.boosting._stumps import Cells, send_rows, sort_entries
from kinlearn.boosting._sparse_bins import bin_sparse
from kinlearn.trees._binning import Bins, bin_features, feature_edges, join_bins

__all__ = ["BLOCK", "SortedCells"]

# Features that are binned at a time: they stay near each other in the search, so
# that the rows of a small task are read from the nearest cache.
BLOCK = 64


@dataclass(frozen=True, eq=False)
class SortedCells:
    """A table whose cells are sorted by task, feature and bin.

    Rows are numbered task by task from here on.

    Attributes
    ----------
    bins : Bins
        Edges of the bins.
    cells : Cells
        What the kernels read.
    order : int32 array of shape (n,)
        Rows of X, task by task.
    indptr : intp array of shape (n_tasks + 1,)
        Boundaries of the tasks in `order`.
    group_task, group_feature : int32 arrays of shape (n_groups,)
        The pairs that have something to search in.
    group_end : int64 array of shape (n_groups,)
        Cells of the groups up to each one.
    has_missing : bool
        Whether some value is missing.
    """

    bins: Bins
    cells: Any
    order: np.ndarray
    indptr: np.ndarray
    group_task: np.ndarray
    group_feature: np.ndarray
    group_end: np.ndarray
    has_missing: bool

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
        """Bin the features and sort the cells.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_all, n_features)
            NaN is a missing value.
        order : int32 array of shape (n,)
            Rows that take part, task by task.
        indptr : intp array of shape (n_tasks + 1,)
            Boundaries of the tasks in `order`.
        weight : float array of shape (n_all,), or None
            Weights where bins are quantiles.
        max_bins : int
            Largest number of bins of a feature.
        cuts : list of float64 arrays, default=None
            Numbers of each feature that must be edges, ascending; 250 at the most.

        Returns
        -------
        SortedCells
            What rounds search in.
        """
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
        """Stretches of groups with about as many cells each.

        Parameters
        ----------
        n_parts : int
            Number of stretches.

        Returns
        -------
        list of (int, int)
            First group of each, and the one after its last; none is empty.
        """
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
