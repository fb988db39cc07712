"""Cells of all parts, in the form in which the kernels of one table search them.

A row of the kernels is here a cell: a bin of a feature within a task, that has the sum
of its rows. Groups and parts of groups are those of `sort_entries`, in the same order.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinlearn._kernels.boosting.stumps._stumps import Cells
from kinlearn.boosting.stumps._table import BLOCK
from kinlearn.boosting.stumps.partitions._rows import MISSING, Trial

__all__ = ["PartCells"]


@dataclass(frozen=True, eq=False)
class PartCells:
    """A table of sums."""

    cells: Any  # what the kernels read
    code: np.ndarray  # (n_cells,) bins of the cells
    end: np.ndarray  # (n_groups, 3) cells up to the ends of each group's parts
    feature_common: np.ndarray  # (n_features,) the bin of most rows of each feature
    # (n_tasks, n_features, 256) number of each cell; `n_cells` for common bins
    # and those without rows
    places: np.ndarray
    n_cells: int  # number of cells
    n_bins: np.ndarray  # (n_features,) bins of each feature
    # task, feature, common bin and number of cells of each group
    group_task: np.ndarray
    # task, feature, common bin and number of cells of each group
    group_feature: np.ndarray
    # task, feature, common bin and number of cells of each group
    group_common: np.ndarray
    # task, feature, common bin and number of cells of each group
    group_size: np.ndarray

    @classmethod
    def of(cls, counts: np.ndarray, n_bins: np.ndarray) -> Self:
        """From the numbers of rows."""
        n_tasks, n_features = counts.shape[:2]
        feature_common = counts[:, :, :MISSING].sum(axis=0).argmax(axis=1)
        groups, bins, ends = [], [], []
        for first in range(0, n_features, BLOCK):
            for t in range(n_tasks):
                for f in range(first, min(first + BLOCK, n_features)):
                    count = counts[t, f]
                    most = int(count[:MISSING].argmax())
                    if count[most] == count.sum() and most == feature_common[f]:
                        continue
                    here = np.flatnonzero(count[:MISSING])
                    below, above = here[here < most], here[here > most][::-1]
                    lost = np.flatnonzero(count[MISSING:]) + MISSING
                    groups.append((t, f, most))
                    bins.append(np.concatenate([below, above, lost]))
                    ends.append([len(below), len(above), len(lost)])
        task, feature, common = np.array(groups, dtype=np.int32).reshape(-1, 3).T.copy()
        end = np.cumsum(np.array(ends, dtype=np.int64)).reshape(-1, 3)
        code = np.concatenate([np.empty(0, np.uint8), *bins]).astype(np.uint8)
        n_cells = len(code)
        size = np.diff(end[:, 2], prepend=0)
        places = np.full(counts.shape, n_cells, dtype=np.int32)
        places[np.repeat(task, size), np.repeat(feature, size), code] = np.arange(
            n_cells
        )
        feature_common = feature_common.astype(np.uint8)
        table = cls(
            None, code, end, feature_common, places, n_cells, n_bins, task, feature,
            common, size,
        )  # fmt: skip
        return replace(table, cells=table.with_rows(1))

    def with_rows(self, n_rows: int) -> Cells:
        """The table with several rows for each cell."""
        n = self.n_cells * n_rows
        by_feature = np.lexsort((self.group_task, self.group_feature)).astype(np.int32)
        # the last of its bin, where a cut may be; none follows missing values
        last = np.arange(n) % n_rows == n_rows - 1
        code = np.repeat(self.code, n_rows)
        return Cells(
            np.append(np.zeros(self.n_tasks, np.intp), n),
            (2 * np.arange(n) + (last & (code != MISSING))).astype(np.int32),
            code, self.group_task, self.group_feature,
            self.group_common.astype(np.uint8), n_rows * self.end,
            self.feature_common,
            np.searchsorted(
                self.group_feature[by_feature], np.arange(len(self.n_bins) + 1)
            ),
            by_feature, self.n_bins,
        )  # fmt: skip

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.places)

    def most_tests(self, per_task: bool) -> int:
        """No more tests than that can be tried; see `SortedCells.most_tests`."""
        tests = 2 * self.group_size + 1
        if per_task and len(tests):
            tests = np.bincount(self.group_task, tests).max()
        return max(int(np.sum(tests)), 1)

    def sides(
        self, sums: np.ndarray, task: int, test: Trial
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums of the rows of a task on both sides of a test."""
        place = self.places[task, test.feature]
        there = np.flatnonzero(place < self.n_cells)
        values = sums[place[there]].astype(np.int64)
        total = sums[self.n_cells + task].astype(np.int64)
        goes = np.where(there == MISSING, test.missing_left, there <= test.cut)
        left = values[goes].sum(axis=0)
        group = (self.group_task == task) & (self.group_feature == test.feature)
        if self.group_common[np.flatnonzero(group)[0]] <= test.cut:
            left = left + total - values.sum(axis=0)
        return left, total - left
